// An armed action: the record of what one dispatch did. It is made before the dispatch, and it stays in the page, so that a new process
// can read it.
//
// It also guards the dispatch: it is the last hit test. A mouse event that reaches another element than the one that was meant is
// stopped before the page sees it.

let armed = null;

// entries are the events by which text gets into a field.
const entries = new Set(['keydown', 'keypress', 'beforeinput']);

const COSMETIC_CLASS = /(^|[-_])(focus(ed|-visible|-within|-ring)?|hover(ed|ing)?|press(ed|ing)?|touch(ed)?|ripple\w*|waves?\w*|ink|mouse-?\w*|keyboard-?\w*)$/i;
const COSMETIC_ATTR = /^(tabindex|data-(focus\w*|hover\w*|press\w*|focus-visible-added|headlessui-\w*))$/i;
const RIPPLE = /(ripple|wave|ink)/i;

// cosmetic reports a change that pointing and focusing make by themselves, without any reaction of the page.
function cosmetic(r) {
  if (r.type === 'attributes') {
    if (COSMETIC_ATTR.test(r.attributeName)) return true;
    if (r.attributeName !== 'class') return false;
    const a = new Set((r.oldValue || '').split(/\s+/).filter(Boolean)), b = new Set((attr(r.target, 'class') || '').split(/\s+/).filter(Boolean));
    const diff = [...a].filter(x => !b.has(x)).concat([...b].filter(x => !a.has(x)));
    return diff.every(x => COSMETIC_CLASS.test(x));
  }
  if (r.type !== 'childList') return false;
  return [...r.addedNodes, ...r.removedNodes].every(n => n.nodeType === 1 && !norm(n.textContent) && RIPPLE.test(String(n.className && n.className.baseVal !== undefined ? n.className.baseVal : n.className)));
}

// weak reports a change that may as well be a clock's: only digits of a text, or an attribute.
const undigit = s => norm(s).replace(/\d+/g, '0');
function weak(r) {
  if (r.type === 'attributes') return true;
  if (r.type === 'characterData') return undigit(r.oldValue) === undigit(r.target.data) && /\d/.test(r.target.data);
  const text = ns => [...ns].map(n => n.textContent).join('');
  return r.addedNodes.length > 0 && r.removedNodes.length > 0 && undigit(text(r.addedNodes)) === undigit(text(r.removedNodes)) && /\d/.test(text(r.addedNodes));
}

class Armed {
  constructor(o) {
    this.call = o.call;
    this.el = o.id ? alive(element(o.id)) : null;
    this.guard = !!o.guard;       // mouse events must reach el
    this.block = !!o.block;       // the action is meant for another frame: no mouse event may reach this one
    this.mode = o.mode || 'mouse';
    this.at = now();
    this.base = stateNow();
    this.heard = {};              // trusted events that reached el (or the page, without el), by type
    this.elsewhere = {};          // trusted events that reached something else
    this.blocked = 0;
    this.blockedBy = '';
    this.down = null;             // whether the press was accepted
    this.withheld = false;        // the click was kept from an element that is not what was meant any more
    this.sync = false;            // inside the task of a delivered event
    this.syncs = 0;               // changes made in that task
    this.first = 0;               // when the first change came
    this.lastChange = 0;
    this.attrs = new Map();       // node → attribute → old value
    this.texts = new Map();
    this.added = new Set();
    this.removed = new Map();
    this.origin = new Map();      // node that was taken out → where it was, to tell whether it came back to its place
    this.sigs = new Map();        // node → signature → {sync, times}
    this.overflow = 0;
    this.cosmetics = 0;
    this.noise = 0;
    this.signs = new Set();
    this.onChange = null;
    this.focus = deepActive();
    this.refused = [];            // what the browser said of fields that kept a form from being sent
    this.valid = this.mode === 'key' || this.el && /^(button|link)$/.test(role(this.el)) ? unionAll(FIELDS).slice(0, 500).filter(f => attr(f, 'aria-invalid') !== 'true') : [];
    this.animated = new WeakSet(document.getAnimations ? document.getAnimations() : []);
    this.moves = 0;
    this.restless = this.at - seen.alone < 10000 || this.at - (seen.loaded || seen.started) < 3000; // a page that changes by itself, or may not have shown yet that it does
    this.held = 0;
    this.entry = 0;               // since when keyboard input may reach el only; 0 while it may go anywhere
    this.strays = 0;              // what was kept from something else meanwhile
    this.took = {};               // what el took of it, by type
    if (this.el) keep(this.el);
  }

  // typeOnlyInto has keyboard input reach nothing but the field from now on: a page may move the focus on between the last look and the first key.
  // It ends by itself when nobody ends it.
  typeOnlyInto(e) { if (this.mode === 'type' && this.el === e) { this.entry = now(); this.strays = 0; this.took = {}; } }
  typedAll() { this.entry = 0; return {strays: this.strays, took: Object.values(this.took).reduce((a, b) => a + b, 0), text: this.took.beforeinput || 0}; }

  meant(path) {
    const e = this.el;
    if (this.block) return false;
    if (!e) return true;
    if (path.includes(e)) return true;
    const host = editorHost(e);
    if (host && path.includes(host)) return true;
    for (let r = e.getRootNode(); r instanceof ShadowRoot; r = r.host.getRootNode()) if (path.includes(r.host) && r.mode === 'closed') return true;
    if (e.labels) for (const l of e.labels) if (path.includes(l)) return true;
    if (!e.isConnected) { // rendered anew since: its twin counts
      const twin = alive(e);
      if (twin && path.includes(twin)) { this.el = twin; byNumber.set(byElement.get(e), new WeakRef(twin)); byElement.set(twin, byElement.get(e)); return true; }
    }
    return false;
  }

  hear(e) {
    const path = e.composedPath();
    if (this.guard && guarded.has(e.type) && now() - this.at < 5000) {
      if (this.down && this.mode === 'double' && e.type === 'pointerdown') this.down = this.meant(path); // the second click, too, must reach it
      if (this.down === null) this.down = e.type === 'pointerdown' || e.type === 'mousedown' ? this.meant(path) && stillMeant(this.el) : null;
      if (this.down === false) {
        e.stopImmediatePropagation();
        e.preventDefault();
        this.blocked++;
        this.blockedBy = describe(path[0]);
        return;
      }
    }
    // Between the press and the click the page may have written another thing's text into the element. What the press itself changed is no such
    // thing. The click is then withheld, and did not reach its target.
    if (this.guard && this.down && this.mode === 'mouse' && /up$|^click$/.test(e.type) && !this.syncs && !stillMeant(this.el)) this.withheld = true;
    if (this.withheld && guarded.has(e.type)) {
      e.stopImmediatePropagation();
      e.preventDefault();
      return;
    }
    if (this.entry && entries.has(e.type) && now() - this.entry < 5000) {
      if (!this.meant(path)) {
        e.stopImmediatePropagation();
        e.preventDefault();
        this.strays++;
        return;
      }
      this.took[e.type] = (this.took[e.type] || 0) + 1;
    }
    this.noteFiles(e, path[0]);
    const mine = this.down || this.meant(path);
    const into = mine ? this.heard : this.elsewhere;
    into[e.type] = (into[e.type] || 0) + 1;
    if (mine) {
      this.enter();
      if (this.mode === 'drag') { // all that changes while the button is held is caused by it, again and again as that may be
        if (e.type === 'pointerdown') this.held = Infinity;
        else if (/^(pointerup|mouseup|drop|dragend)$/.test(e.type)) this.held = now() + 100;
      }
      if (e.type === 'input' || e.type === 'change') this.react();
      if (e.type === 'click' || e.type === 'keydown' || e.type === 'input' || e.type === 'auxclick' || e.type === 'contextmenu' ||
        e.type === 'dblclick' || e.type === 'drop' || e.type === 'mouseup') tell({heard: e.type, call: this.call});
    }
  }

  // noteFiles keeps the names of files that the page is given; it may empty its field at once.
  noteFiles(e, t) {
    const list = e.type === 'change' && t && t.type === 'file' ? t.files : e.type === 'drop' && e.dataTransfer ? e.dataTransfer.files : null;
    if (list && list.length) this.files = [...list].slice(0, 100).map(f => f.name);
  }

  // enter marks what happens until the end of this task as caused by the event. Animation frames may come before the message that ends it,
  // so the time of the frame must still be the same as well (inTask).
  enter() {
    this.lookAtAnimations(); // those that were there before it
    this.entered = now();
    this.sync = true;
    this.frameTime = document.timeline.currentTime;
    const n = this.turn = (this.turn || 0) + 1;
    const c = new MessageChannel();
    c.port1.onmessage = () => { if (this.turn === n) this.sync = false; c.port1.close(); this.lookAtAnimations(true); };
    c.port2.postMessage(0);
  }

  // lookAtAnimations counts animations that a script began since (element.animate leaves no trace in the DOM). Transitions and animations
  // of style sheets begin with a change of a class, which is counted, or by pointing, which does not count. What began in the task of an event
  // is caused by it, however late that event came; anything else only shortly after.
  lookAtAnimations(caused) {
    if (!document.getAnimations) return;
    for (const a of document.getAnimations()) {
      if (this.animated.has(a)) continue;
      this.animated.add(a);
      if (!(a instanceof CSSTransition) && !(a instanceof CSSAnimation) && a.playState !== 'idle' && (caused || now() - Math.max(this.at, this.entered || 0) < 400)) { this.moves++; this.react(); }
    }
  }

  inTask() { return this.sync && document.timeline.currentTime === this.frameTime; }

  note(r, t) {
    if (cosmetic(r)) { this.cosmetics++; return; }
    const sync = this.inTask();
    const p = place(r), s = signature(r);
    if (!sync) {
      const m = history.get(p), h = m && m.get(s);
      if (h && h.n >= 2 && this.at - h.last < Math.max(4000, 3 * h.gap)) { this.noise++; return; }
    }
    let m = this.sigs.get(p);
    if (!m) { if (this.sigs.size > 2000) { this.overflow++; return; } this.sigs.set(p, m = new Map()); }
    let h = m.get(s);
    if (!h) m.set(s, h = {sync: false, times: [], weak: true, known: !!(history.get(p) && history.get(p).get(s))});
    h.sync = h.sync || sync || this.held > t;
    h.weak = h.weak && weak(r);
    if (!h.times.length || t - h.times[h.times.length - 1] > BUCKET) h.times.push(t);
    if (sync) this.syncs++;
    if (r.type === 'attributes') {
      let a = this.attrs.get(r.target);
      if (!a) this.attrs.set(r.target, a = new Map());
      if (!a.has(r.attributeName)) a.set(r.attributeName, {old: r.oldValue, h});
    } else if (r.type === 'characterData') {
      if (!this.texts.has(r.target)) this.texts.set(r.target, {old: r.oldValue, h});
    } else {
      for (const n of r.addedNodes) { if (this.removed.has(n)) this.removed.delete(n); else if (!this.origin.has(n)) this.added.add(n); this.source(n, h); }
      for (const n of r.removedNodes) { if (this.added.has(n) && !norm(n.textContent)) this.added.delete(n); else if (!this.added.has(n)) {
        this.removed.set(n, r.target);
        if (!this.origin.has(n)) this.origin.set(n, {parent: r.target, prev: r.previousSibling, next: r.nextSibling});
      } this.source(n, h); }
    }
    this.react();
  }

  // refuse takes note of a field that the browser did not accept, where it told the user: it brings the focus there, and shows a bubble.
  refuse(e) {
    const f = e.composedPath()[0];
    if (this.refused.length < 10) setTimeout(() => { if (!e.defaultPrevented && deepActive() === f) this.refused.push(`${describe(f)} was not accepted: ${clip(norm(f.validationMessage), 200)}`); });
  }

  // refusals are what keeps a form from being sent, in the browser's words or the page's: fields that were called invalid since.
  refusals() {
    const out = [...this.refused];
    for (const f of this.valid) {
      if (out.length >= 10) break;
      if (attr(f, 'aria-invalid') !== 'true' || f === this.focus || !visible(stand(f))) continue;
      const why = norm(byIDs(f, attr(f, 'aria-errormessage') || attr(f, 'aria-describedby') || ''));
      out.push(`${describe(f)} was not accepted${why ? ': ' + clip(why, 200) : ''}`);
    }
    return out;
  }

  source(n, h) { (this.from = this.from || new WeakMap()).set(n, h); }

  sign(e) {
    const t = e.composedPath()[0];
    if (e.type === 'scroll' || e.type === 'selectstart') { if (e.type === 'scroll') this.scrolled = t; }
    else this.signs.add(e.type);
    this.react();
  }

  react(why) {
    const t = now();
    if (why) this.signs.add(why);
    if (!this.first) this.first = t;
    this.lastChange = t;
    if (this.onChange) this.onChange();
  }

  // net counts the changes that stand: what was restored, replaced by the same, or repeats by itself is none. What came, said something and
  // went again counts, because it tells of an effect; how many of the changes are of that kind is passed.
  net() {
    const late = [];
    const stands = h => {
      if (!h || h.sync) return true;
      if (h.times.length >= (h.weak || h.known ? 2 : 3)) return false; // it repeats by itself
      late.push(h);
      return true;
    };
    let n = this.overflow, passed = 0;
    for (const [e, m] of this.attrs) for (const [k, {old, h}] of m) if (attr(e, k) !== old && stands(h)) n++;
    for (const [x, {old, h}] of this.texts) if (x.data !== old && stands(h)) n++;
    const gone = [...this.removed.keys()].filter(x => !x.isConnected);
    const came = [...this.added].slice(0, 400);
    const used = new Set();
    for (const x of came) {
      const same = gone.length < 400 ? gone.find(g => g.isEqualNode(x)) : null;
      if (same) { used.add(same); continue; }
      if ((x.isConnected || norm(x.textContent)) && stands(this.from && this.from.get(x))) { n++; if (!x.isConnected) passed++; }
    }
    for (const g of gone) if (!used.has(g) && stands(this.from && this.from.get(g))) n++;
    for (const [x, o] of this.origin) { // moved elsewhere
      if (!x.isConnected || this.removed.has(x)) continue;
      if ((x.parentNode !== o.parent || x.previousSibling !== o.prev && x.nextSibling !== o.next) && stands(this.from && this.from.get(x))) n++;
    }
    return {n, late, passed};
  }

  // report says what is known of the effect so far.
  report() {
    this.lookAtAnimations();
    const {n, late, passed} = this.net(), base = this.base, cur = stateNow();
    const changes = [];
    for (const k of ['form', 'storage', 'style', 'media', 'url', 'layer', 'scroll']) if (base[k] !== cur[k]) changes.push(k);
    const f = deepActive();
    let focus = false;
    if (f !== this.focus) {
      const t = this.el;
      focus = this.mode === 'key' || (!!f && editable(f)) || (!!f && !!t && f.tagName !== 'BODY' && !contains(t, f) && !contains(f, t));
    }
    if (focus) changes.push('focus');
    if (this.moves) changes.push('animation');
    const young = this.at - (seen.loaded || seen.started) < 1500;
    const unsure = n > 0 && late.length > 0 && !this.syncs && !changes.length && !this.signs.size && late.every(h => h.known || young && h.weak);
    // What came well after the event, on a page that changes by itself, may as well be the page's own, where no request ties it to the event.
    const doubtful = n > 0 && late.length > 0 && !this.syncs && !changes.length && !this.signs.size && this.restless && this.first - (this.entered || this.at) > 120;
    return {
      call: this.call, heard: this.heard, elsewhere: this.elsewhere, blocked: this.blocked, blockedBy: this.blockedBy,
      mutations: n, passed, sync: this.syncs, cosmetics: this.cosmetics, noise: this.noise, changes, signs: [...this.signs],
      unsure, doubtful, since: this.first ? now() - this.first : -1, quiet: this.lastChange ? now() - this.lastChange : -1, age: now() - this.at,
      changed: n > 0 || changes.length > 0 || this.signs.size > 0, files: this.files || [],
      animations: document.getAnimations ? document.getAnimations().filter(a => a.playState === 'running').length : 0,
    };
  }

  // settle resolves when the page has reacted and come to rest for quiet ms, or has not reacted within first ms from now, or after max ms.
  // With least it resolves no earlier than that, whatever happens.
  settle({first, quiet, max, least}) {
    return new Promise(resolve => {
      let timer;
      const begun = now(), end = begun + max;
      const done = () => { this.onChange = null; clearTimeout(timer); resolve(this.report()); };
      const check = () => {
        clearTimeout(timer);
        const t = now();
        if (t >= end) return done();
        if (t < begun + (least || 0)) { timer = setTimeout(check, begun + least - t); return; }
        const due = this.lastChange ? Math.min(end, this.lastChange + quiet) : Math.min(end, begun + first);
        if (t < due) { timer = setTimeout(check, due - t); return; }
        if (this.lastChange && t < begun + first && !this.report().changed) { timer = setTimeout(check, Math.min(end, begun + first) - t); return; }
        done();
      };
      this.onChange = check;
      check();
    });
  }
}

const FIELDS = ['input', 'select', 'textarea', '[role=textbox]', '[role=combobox]', '[role=spinbutton]', '[role=radiogroup]', '[role=checkbox]'];

function deepActive() {
  let a = document.activeElement;
  while (a && a.shadowRoot && a.shadowRoot.activeElement) a = a.shadowRoot.activeElement;
  return a;
}

function hash(h, s) {
  for (let i = 0; i < s.length; i++) h = (Math.imul(h, 31) + s.charCodeAt(i)) | 0;
  return h;
}

const MAX_HASHED = 65536;

// stateNow sums up what can change without a mutation.
function stateNow() {
  let form = 7, media = '', n = 0;
  let open = 0;
  for (const e of unionAll(['input', 'textarea', 'select', 'video', 'audio', '[popover]'])) {
    if (e.hasAttribute('popover')) { try { if (e.matches(':popover-open')) open++; } catch { open = 0; } }
    if (/^(VIDEO|AUDIO)$/.test(e.tagName)) { media += [e.paused, e.ended, e.muted, e.volume, e.currentSrc].join() + ';'; continue; }
    if (!/^(INPUT|TEXTAREA|SELECT)$/.test(e.tagName) || ++n > 2000) continue;
    form = hash(form, e.tagName === 'SELECT' ? [...e.selectedOptions].map(o => o.index).join() : e.type === 'checkbox' || e.type === 'radio' ? (e.indeterminate ? 'i' : '') + e.checked : e.value.slice(0, 2000));
  }
  let storage = 3;
  try {
    for (const s of [localStorage, sessionStorage]) {
      let room = MAX_HASHED;
      for (let i = 0; i < s.length && room > 0; i++) { const k = s.key(i), v = s.getItem(k) || ''; room -= k.length + v.length; storage = hash(storage, k + '=' + v.slice(0, 4096)); }
    }
    storage = hash(storage, document.cookie);
  } catch { storage = 0; }
  let style = '';
  for (const s of [...document.styleSheets].slice(0, 100)) { let c = -1; try { c = s.cssRules.length; } catch { c = -1; } style += c + (s.disabled ? 'd' : '') + ','; }
  for (const r of roots()) if (r.adoptedStyleSheets) for (const s of r.adoptedStyleSheets) style += '+' + s.cssRules.length;
  let layer = document.fullscreenElement ? 'f' : '';
  layer += open;
  return {form, media, storage, style, url: location.href, layer, scroll: armed && armed.scrolled ? 1 : 0};
}

// arm starts the record of an action, and tells how much of the page only a picture can show.
function arm(o) {
  armed = null;
  armed = new Armed(o);
  armed.base.scroll = 0;
  return {opaque: surfaces().opaque};
}

// ready takes the last look at the point and arms in one go. It answers nothing when the element is not there, or covered, any more.
function ready(o) {
  const p = aim(o.id);
  if (!p || !stillMeant(alive(element(o.id)))) return null; // its texts are another's by now
  return {...p, ...arm(o)};
}

// disarm ends the guard; the record stays.
function disarm() { if (armed) armed.guard = false; }

// tell sends a word to toolsvc that outlives this document.
function tell(o) { try { globalThis.__toolsvcTell(JSON.stringify(o)); } catch { /* nobody listens: the record stays here */ } }
