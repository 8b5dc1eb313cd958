// What both pages need: their parameters, what landed, and dialogs.
"use strict";
const params = new URLSearchParams(location.search);
const session = params.get("session") || "visitor";
window.__landed = [];
// landed notes, once, that a fault has really taken effect.
const landed = (fault) => { if (!window.__landed.includes(fault)) window.__landed.push(fault); };
const $ = (id) => document.getElementById(id);
const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
// api is an address of the server's, with the session and a slow network where there is one.
const api = (path, more = {}) => {
  const q = new URLSearchParams({ session, ...more });
  if (params.get("readiness") === "slow") q.set("readiness", "slow");
  return "/scenarios/api/" + path + "?" + q;
};
// complain opens an error dialog, which its button closes.
function complain(title, text) {
  const veil = make("div", { className: "veil", innerHTML: '<div class="dialog" role="alertdialog" aria-modal="true" aria-labelledby="sorry"><h2 id="sorry"></h2><p></p><div class="row end"><button class="btn primary">Close</button></div></div>' });
  veil.querySelector("h2").textContent = title;
  veil.querySelector("p").textContent = text;
  veil.querySelector("button").addEventListener("click", () => veil.remove());
  document.body.append(veil);
  veil.querySelector("button").focus();
}
