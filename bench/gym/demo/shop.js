// Harbor Records. Each fault below is one that real pages have; truth (gym.goal, gym.wrong, gym.effect) is kept apart from what is shown.
"use strict";
const euro = (n) => "€" + n.toFixed(2);

// The listening booth is painted: no element stands behind its buttons.
{
  const canvas = $("booth"), g = canvas.getContext("2d");
  const songs = ["Harbor Lights", "Slack Water"];
  const buttons = [{ label: "Play", x: 236, y: 118, w: 124, h: 46, fill: "#f6cf9a", ink: "#123b3f" }, { label: "Skip", x: 376, y: 118, w: 124, h: 46, fill: "#1c5157", ink: "#ffffff" }];
  let song = 0, playing = false;
  const paint = () => {
    const scale = devicePixelRatio, w = canvas.clientWidth, h = canvas.clientHeight;
    canvas.width = w * scale; canvas.height = h * scale; g.setTransform(scale, 0, 0, scale, 0, 0);
    g.fillStyle = "#123b3f"; g.fillRect(0, 0, w, h);
    for (const [r, c] of [[82, "#0a2426"], [64, "#12393c"], [62, "#0a2426"], [46, "#12393c"], [44, "#0a2426"], [26, "#f6cf9a"], [5, "#123b3f"]]) { g.fillStyle = c; g.beginPath(); g.arc(118, h / 2, r, 0, 7); g.fill(); }
    g.textAlign = "left"; g.textBaseline = "alphabetic";
    g.fillStyle = "#ffffff"; g.font = "700 27px Georgia, serif"; g.fillText(songs[song], 236, 58);
    g.fillStyle = "#b9d3d0"; g.font = "16px sans-serif"; g.fillText("The Low Tide", 236, 88);
    for (const b of buttons) {
      g.fillStyle = b.fill; g.beginPath(); g.roundRect(b.x, b.y, b.w, b.h, 10); g.fill();
      g.fillStyle = b.ink; g.font = "600 18px sans-serif"; g.textAlign = "center"; g.textBaseline = "middle"; g.fillText(b.label, b.x + b.w / 2, b.y + b.h / 2 + 1);
    }
    for (let i = 0; i < 16; i++) { const bar = 16 + Math.abs(Math.sin(i * 1.9 + song)) * 110; g.fillStyle = playing ? "#f6cf9a" : "#1c5157"; g.fillRect(w - 196 + i * 11, h - 26 - bar, 6, bar); }
  };
  const say = () => { $("booth-status").textContent = playing ? "Playing " + songs[song] : "Silence"; paint(); };
  canvas.addEventListener("click", (event) => {
    const b = buttons.find((b) => event.offsetX >= b.x && event.offsetX < b.x + b.w && event.offsetY >= b.y && event.offsetY < b.y + b.h);
    if (!b) return gym.note("click beside the booth's buttons");
    if (b === buttons[1]) { song = 1 - song; gym.wrong("skipped"); return say(); }
    playing = !playing; b.label = playing ? "Stop" : "Play";
    playing ? gym.effect("plays " + songs[song]) : gym.wrong("stopped");
    say();
  });
  paint();
  addEventListener("resize", paint);
}

// The shelf: its button loses the first click, and what it opens comes late. Both records have the same button.
const cart = { title: "", base: 0, extra: 0, off: 0 };
let eaten = false, opened = false;
$("arrivals").addEventListener("click", async () => {
  if (!eaten) { eaten = true; return gym.note("click ignored"); }
  if (opened) return gym.note("open already");
  opened = true;
  gym.effect("opened the new arrivals");
  $("shelf-title").textContent = "Arrived this week";
  $("arrivals").hidden = true;
  $("shelf").className = "pair";
  $("shelf").innerHTML = '<div class="offer"><div class="sleeve skeleton" style="height:auto"></div><div class="stack"><span class="skeleton"></span></div></div>'.repeat(2);
  const records = await (await fetch("/demo/arrivals?delay=" + gym.number("late", 900))).json();
  $("shelf").replaceChildren(...records.map((record) => {
    const offer = document.createElement("section");
    offer.className = "offer";
    offer.setAttribute("aria-label", record.title);
    offer.innerHTML = '<div class="sleeve"></div><div class="stack"><h3></h3><p class="soft by"></p><p class="small about"></p><p class="price"></p></div><button class="btn">Add to cart</button>';
    offer.querySelector(".sleeve").classList.toggle("b", record.cover === "b");
    offer.querySelector("h3").textContent = record.title;
    offer.querySelector(".by").textContent = record.by;
    offer.querySelector(".about").textContent = record.about;
    offer.querySelector(".price").textContent = euro(record.price);
    offer.querySelector("button").addEventListener("click", () => add(record));
    return offer;
  }));
});

function add(record) {
  if (cart.title) return gym.wrong("added " + record.title + " besides " + cart.title);
  record.title === "Low Tide Sessions" ? gym.effect("added " + record.title) : gym.wrong("added " + record.title);
  cart.title = record.title;
  cart.base = record.price;
  $("cart").innerHTML = "<strong></strong><span class='soft'>In the cart</span>";
  $("cart").firstChild.textContent = record.title;
  $("format").disabled = false;
  // Whoever buys is asked about cookies; the banner lies over the button that places the order.
  $("cookies").hidden = false;
  show();
}

$("necessary").addEventListener("click", () => { gym.effect("cookies refused"); $("cookies").hidden = true; });
$("accept").addEventListener("click", () => { gym.wrong("cookies accepted"); $("cookies").hidden = true; });

$("format").addEventListener("change", () => { cart.extra = Number($("format").value); gym.effect("format " + $("format").selectedOptions[0].textContent); show(); });

// The name is checked while it is typed. The parcel service fails at the first name that it is asked about.
let name = "", failed = false, timer = 0;
$("who").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(checkName, gym.number("check", 200)); });
function checkName() {
  const value = $("who").value.trim();
  if (value === name) return;
  if (value && !failed) {
    failed = true;
    gym.note("the parcel service failed");
    document.body.append($("sorry-text").content.cloneNode(true));
    $("close").addEventListener("click", close);
    $("close").focus();
    return;
  }
  name = value;
  gym.effect(value ? "parcel for " + value : "no name");
  $("parcel").textContent = value ? "Parcel for " + value : "";
  $("parcel").className = "status good";
  show();
}
function close() {
  $("veil").remove();
  $("who").focus();
}
addEventListener("keydown", (event) => { if (event.key === "Escape" && $("veil")) close(); });

addEventListener("message", ({ data, origin }) => {
  if (origin !== location.origin || !data || !data.voucher) return;
  cart.off = data.voucher.worth;
  $("discount").textContent = cart.off ? "Voucher " + data.voucher.code + ": −" + euro(cart.off) : "";
  show();
});

$("terms").addEventListener("change", () => { gym.effect($("terms").checked ? "terms accepted" : "terms withdrawn"); show(); });

function show() {
  $("total").textContent = euro(cart.title ? cart.base + cart.extra - cart.off : 0);
  $("order").disabled = !(cart.title && $("format").value && name && $("terms").checked);
}

let sent = 0;
$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  if ($("order").disabled) return gym.note("order refused");
  sent++ ? gym.wrong("ordered again") : gym.goal("ordered");
  const answer = await (await fetch("/demo/orders?delay=" + gym.number("pay", 700) + "&session=" + encodeURIComponent(gym.session), { method: "POST", body: JSON.stringify(cart) })).json();
  $("form").innerHTML = '<div class="thanks" role="status" aria-label="Order status"><h3></h3><p></p><p class="soft">It leaves the harbor tomorrow morning.</p></div>';
  $("form").querySelector("h3").textContent = "Thank you, " + name + ".";
  $("form").querySelector("p").textContent = "Order " + answer.number + ": " + cart.title + ", " + euro(cart.base + cart.extra - cart.off);
});
