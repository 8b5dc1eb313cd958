// The truth of a page: what really happened, kept apart from what the page shows.
//
// window.__truth counts how often the wanted effect happened (goal), how often an unwanted one (wrong), and all effects together
// (effects: goal, wrong and neutral ones), and keeps a log. Recording changes no DOM, paints nothing and sends no request, so it
// cannot be mistaken for evidence of an effect. It outlives a navigation inside the case (in window.name, because a change of
// the storage would be evidence) and reaches the top page from its frames (postMessage) and the opener from its windows
// (BroadcastChannel).
"use strict";
const gym = (() => {
  const params = new URLSearchParams(location.search);
  const key = "gym:" + location.pathname.split("/").slice(0, 3).join("/") + ":";
  const top = window.parent === window;
  const me = Math.random().toString(36).slice(2);
  const truth = { goal: 0, wrong: 0, effects: 0, log: [] };
  const seen = new Set();
  let count = 0, channel = null;
  window.__truth = truth;

  // take adds one entry, once, and passes it on to the page around this one.
  function take(entry) {
    if (seen.has(entry.id)) return;
    seen.add(entry.id);
    truth.log.push(entry);
    if (entry.kind === "goal") truth.goal++;
    if (entry.kind === "wrong") truth.wrong++;
    if (entry.kind !== "note") truth.effects++;
    if (top) window.name = key + JSON.stringify(truth.log); else window.parent.postMessage({ gym: entry }, "*");
    if (channel) channel.postMessage({ entries: [entry] });
  }
  const record = (kind, what) => take({ id: me + "-" + ++count, at: Math.round(performance.now()), kind, what });

  addEventListener("message", (event) => { if (event.data && event.data.gym) take(event.data.gym); });

  if (top) {
    // A page that was opened by address starts at zero; one that was reached from inside the case goes on counting.
    const how = performance.getEntriesByType("navigation")[0]?.type;
    const inside = document.referrer.startsWith(location.origin + location.pathname.split("/").slice(0, 3).join("/"));
    const recall = (text) => { if (text && text.startsWith(key)) JSON.parse(text.slice(key.length)).forEach(take); };
    if (how !== "navigate" || inside) recall(window.name); else { window.name = ""; sessionStorage.removeItem("gym"); }
    // The way back may bring an earlier page alive again, as it was, without loading it. What happened meanwhile it finds in the
    // storage, which is only written when a page is left; that may be a moment after the other page is shown.
    addEventListener("pagehide", () => sessionStorage.setItem("gym", window.name));
    addEventListener("pageshow", (event) => { if (event.persisted) for (const ms of [0, 50, 500]) setTimeout(() => recall(sessionStorage.getItem("gym")), ms); });
  }

  return {
    goal: (what) => record("goal", what),
    wrong: (what) => record("wrong", what),
    effect: (what) => record("effect", what), // neutral: neither wanted nor harmful
    note: (what) => record("note", what),     // no effect at all, only worth knowing: an ignored click
    // windows shares the truth with the other windows of this case and session.
    windows() {
      channel = new BroadcastChannel(key + params.get("session"));
      channel.onmessage = ({ data }) => {
        if (data.hello) channel.postMessage({ entries: truth.log });
        (data.entries || []).forEach(take);
      };
      channel.postMessage({ hello: true });
      if (truth.log.length) channel.postMessage({ entries: truth.log });
    },
    // text and number read a parameter of the page's address.
    text: (name, otherwise) => params.get(name) ?? otherwise,
    number: (name, otherwise) => {
      const n = Number.parseFloat(params.get(name));
      return Number.isFinite(n) && n >= 0 && n <= 60000 ? n : otherwise;
    },
    // session names the visit in the server's books.
    session: params.get("session") || "visitor",
    wait: (ms) => new Promise((done) => setTimeout(done, ms)),
  };
})();

const $ = (id) => document.getElementById(id);

// player is a play button's application: it starts the track, and, as players do, a second click stops it again, which nobody wanted.
function player(button, status, track = "Harbor Lights") {
  let playing = false;
  return () => {
    playing = !playing;
    if (playing) gym.goal("plays " + track); else gym.wrong("stopped " + track);
    status.textContent = playing ? "Playing " + track : "Stopped";
    status.classList.toggle("good", playing);
    if (button) button.textContent = playing ? "Stop" : "Play";
  };
}
