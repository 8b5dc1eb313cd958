// What happens in the page: DOM mutations, trusted events, media, scrolling. It watches from the start of the document, so that at
// the moment of an action it is known which parts change by themselves.

const now = () => performance.now();
const seen = {started: now(), batches: 0, records: 0, shape: 0, last: 0, lastInput: -1e9, loaded: 0, scrolls: 0, alone: -1e9}; // last: the latest change that is not noise; shape: changes of what simple selectors match; alone: the latest that neither input nor loading caused
const history = new WeakMap(); // node → signature → {n, start, last, gap}: how often, and when, something changed there by itself
const waiting = new Set();     // callbacks after each batch of mutations
const watched = new WeakSet();
const concealed = new WeakSet(); // fields that were of type password

// bucket is the time within which repeated changes of one place count as one.
const BUCKET = 80;

// place is the element that a record is about; signature says what kind of change it was.
const place = r => r.type === 'characterData' ? r.target.parentNode || r.target : r.target;
function signature(r) {
  if (r.type === 'attributes') return '@' + r.attributeName;
  if (r.type === 'characterData') return '#text';
  const n = r.addedNodes[0] || r.removedNodes[0];
  return !n || n.nodeType !== 1 ? '#text' : '<' + n.tagName + (typeof n.className === 'string' ? '.' + n.className.split(' ')[0] : '');
}

function remember(r, t) {
  const p = place(r), s = signature(r);
  let m = history.get(p);
  if (!m) history.set(p, m = new Map());
  if (m.size > 50) return {n: 3, last: t, gap: 0};
  let h = m.get(s);
  if (!h) m.set(s, h = {n: 0, start: -1e9, last: t, gap: 0});
  if (t - h.start > BUCKET) { h.n++; h.gap = h.n > 1 ? t - h.start : 0; h.start = t; }
  h.last = t;
  return h;
}

const observer = new MutationObserver(batch);
function observeRoot(root) {
  if (watched.has(root)) return;
  watched.add(root);
  observer.observe(root, {subtree: true, childList: true, attributes: true, characterData: true, attributeOldValue: true, characterDataOldValue: true});
}

// reshapes reports whether a change may change what a simple selector matches.
const isElement = n => n.nodeType === 1;
const reshapes = r => r.type === 'attributes' ? listedAttrs.has(r.attributeName) : r.type === 'childList' && ([...r.addedNodes].some(isElement) || [...r.removedNodes].some(isElement));

// flush takes in the changes that the browser has not told of yet.
function flush() { const records = observer.takeRecords(); if (records.length) batch(records); }

function batch(records) {
  const t = now();
  seen.batches++;
  seen.records += records.length;
  if (records.some(reshapes)) seen.shape++;
  const own = t - seen.lastInput < 400 || !seen.loaded || t - seen.loaded < 150; // what input or loading causes is not the page's own doing
  let noise = !own;
  for (const r of records) {
    if (r.type === 'childList') for (const n of r.addedNodes) if (n.nodeType === 1) { if (n.shadowRoot) observeRoot(n.shadowRoot); newcomer(n); }
    if (r.attributeName === 'type' && r.oldValue === 'password') concealed.add(r.target);
    if (armed) armed.note(r, t);
    if (!own && remember(r, t).n < 3) noise = false;
  }
  if (!noise) seen.last = t;
  if (!own) seen.alone = t;
  for (const f of [...waiting]) f(t);
}

observeRoot(document);
addEventListener('load', () => { seen.loaded = now(); }, true);
if (document.readyState === 'complete') seen.loaded = now();

// Trusted events. The capture listener on the window was here before any script of the page, so it hears them first.
const POINTER = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick', 'contextmenu', 'dblclick'];
const KEYS = ['keydown', 'keypress', 'keyup', 'beforeinput', 'input', 'change', 'submit'];
const SIGNS = ['scroll', 'toggle', 'play', 'pause', 'seeked', 'ended', 'volumechange', 'fullscreenchange', 'beforeprint', 'copy', 'cut', 'paste', 'selectstart'];
const guarded = new Set(POINTER);
for (const type of [...POINTER, ...KEYS]) addEventListener(type, e => {
  if (!e.isTrusted) return;
  seen.lastInput = now();
  if (armed) armed.hear(e);
}, {capture: true, passive: false});
// Heard only by actions that are made of them, because they come in masses otherwise.
const MOVES = ['pointerover', 'mouseover', 'mousemove'], DRAGS = ['dragstart', 'drop', 'dragend'];
for (const type of MOVES) addEventListener(type, e => { if (armed && armed.mode === 'hover' && e.isTrusted) armed.hear(e); }, {capture: true, passive: true});
for (const type of DRAGS) addEventListener(type, e => { if (armed && e.isTrusted) armed.hear(e); }, {capture: true, passive: true});
for (const type of SIGNS) addEventListener(type, e => { if (armed) armed.sign(e); }, {capture: true, passive: true});
addEventListener('scroll', () => { seen.scrolls++; }, {capture: true, passive: true});
// A form that is refused by the browser says so in a bubble that is no part of the page.
addEventListener('invalid', e => { if (armed) armed.refuse(e); }, {capture: true, passive: true});
addEventListener('hashchange', () => { if (armed) armed.react('the address changed'); }, true);

// still reports whether nothing has changed for so many milliseconds.
const still = ms => now() - seen.last >= ms;

// rest resolves when the page is loaded and nothing has changed for quiet ms, or after max ms; to whether it came to rest.
function rest(quiet, max) {
  return new Promise(resolve => {
    const end = now() + max;
    let timer;
    const done = ok => { waiting.delete(check); clearTimeout(timer); document.removeEventListener('readystatechange', check); resolve(ok); };
    const check = () => {
      clearTimeout(timer);
      const t = now(), wait = seen.last + quiet - t, loading = document.readyState === 'loading';
      if (!loading && wait <= 0) return done(true);
      if (t >= end) return done(false);
      timer = setTimeout(check, Math.min(loading ? end - t : Math.max(wait, 1), end - t));
    };
    waiting.add(check);
    document.addEventListener('readystatechange', check);
    check();
  });
}

// frame resolves after a frame, to its timestamp; or after 100 ms where nothing is drawn, to 0.
const frame = () => new Promise(r => { const t = setTimeout(() => r(0), 100); requestAnimationFrame(at => { clearTimeout(t); r(at); }); });
