// Finding elements by what people call them. find only gathers: it returns everything that may be meant, with its names, and leaves the
// choice to the matching rules of toolsvc (package match), which are the same for every source.

const MAX_FOUND = 60;
const fold = s => norm(s).toLowerCase();

// names are all strings by which a person may call the element, the accessible name first.
function names(e) {
  const out = [name(e)];
  const add = s => { s = clip(norm(s), 300); if (s && !out.includes(s)) out.push(s); };
  if (e.tagName !== 'SELECT' && !editable(e) && (e.childElementCount < 40)) {
    const t = e.textContent;
    if (t.length < 400) { add(e.innerText); add(t); }
  }
  add(attr(e, 'placeholder')); add(attr(e, 'title')); add(attr(e, 'alt')); add(labelText(e)); add(attr(e, 'data-label'));
  if (e.tagName === 'INPUT' && /^(submit|button|reset)$/.test(e.type)) add(e.value);
  if (/^(INPUT|SELECT|TEXTAREA|BUTTON)$/.test(e.tagName)) add(attr(e, 'name'));
  if (editable(e) && !out[0]) { // a field whose label is only near it
    const p = e.previousElementSibling, q = !p && e.parentElement && e.parentElement.previousElementSibling;
    const l = p || q;
    if (l && !interactive(l) && norm(l.textContent).length < 80) add(l.textContent);
  }
  for (const i of e.querySelectorAll ? [...e.querySelectorAll('img[alt],[aria-label],svg title')].slice(0, 5) : []) add(attr(i, 'alt') || attr(i, 'aria-label') || i.textContent);
  return out.filter(Boolean);
}

function clickable(e) {
  if (interactive(e) || e.matches(HANDLED) || e.tagName === 'LABEL') return true;
  return getComputedStyle(e).cursor === 'pointer';
}

// containers are the names of what holds the element, nearest first.
const HOLDS = new Set(['region', 'navigation', 'main', 'complementary', 'banner', 'contentinfo', 'form', 'search', 'dialog', 'alertdialog', 'group', 'radiogroup',
  'toolbar', 'menu', 'menubar', 'tablist', 'tabpanel', 'listbox', 'tree', 'grid', 'table', 'row', 'list', 'listitem', 'article', 'figure', 'feed', 'iframe']);
const HEADING = 'h1,h2,h3,h4,h5,h6,[role=heading],legend,caption,summary,figcaption';
function containers(e) {
  const out = [];
  const add = (n, kind) => { n = clip(norm(n), 120); if (n && !out.some(o => o.name === n)) out.push({name: n, kind}); };
  let heading = false;
  for (let p = up(e), from = e, i = 0; p && p.tagName !== 'HTML' && i < 30 && out.length < 14; from = p, p = up(p), i++) {
    const r = role(p);
    if (!heading) for (let s = from.previousElementSibling, k = 0; s && k < 30; s = s.previousElementSibling, k++) {
      const h = s.matches(HEADING) ? s : s.matches('header,hgroup') || r === 'dialog' ? s.querySelector(HEADING) : null;
      if (h && !h.contains(e)) { add(textOf(h), 'heading'); heading = /^(SECTION|ARTICLE|MAIN|ASIDE|DIALOG|BODY|DIV|FORM)$/.test(p.tagName); break; }
    }
    if (p.tagName === 'BODY') break;
    const n = HOLDS.has(r) || labelled(p) ? name(p) : '';
    if (n) add(n, r);
    const h = p.querySelector(':scope > h1,:scope > h2,:scope > h3,:scope > h4,:scope > h5,:scope > h6,:scope > [role=heading],:scope > legend,:scope > caption,:scope > summary,:scope > figcaption,:scope > header h1,:scope > header h2,:scope > header h3,:scope > header h4,:scope > thead th');
    if (h && !h.contains(e)) { add(textOf(h), r); }
    if (r === 'row' || r === 'listitem') { const c = p.querySelector('th,td,[role=rowheader],[role=cell]'); if (c && !c.contains(e)) add(c.textContent, r); }
    if (p.id && p.id.length < 40) add(p.id, 'id');
    const d = attr(p, 'data-testid') || attr(p, 'data-panel'); if (d) add(d, 'id');
  }
  return out;
}

// wholly makes a test of whether a text has the wanted one in it as whole words, and a number as the whole number: INV-104 is not in INV-1041, nor
// 1.2 in 1.25. Scripts that put no spaces between words have no such borders.
const WORDY = /[\p{L}\p{N}_]/u, UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
function wholly(wanted) {
  const want = tight(wanted);
  let re = null;
  try { re = new RegExp([...want].map(c => c.replace(/[.*+?^${}()|[\]\\\/]/g, '\\$&')).join(GAP), 'giu'); } catch { re = null; }
  return text => {
    if (typeof text !== 'string' || !want) return false;
    if (!re) return tight(text) === want;
    re.lastIndex = 0;
    for (let m; (m = re.exec(text));) {
      if (!goesOn(text, m.index) && !goesOn(text, m.index + m[0].length)) return true;
      re.lastIndex = m.index + 1;
    }
    return false;
  };
}
// goesOn reports whether a word or a number goes on across this place of a text.
function goesOn(text, at) {
  const a = [...text.slice(Math.max(0, at - 2), at)].pop() || '', b = [...text.slice(at, at + 2)][0] || '';
  if (!a || !b) return false;
  if (/\d/.test(a) && /^[.,:/\u2013-]?\d/.test(text.slice(at, at + 2)) || /\d/.test(b) && /\d[.,:/\u2013-]?$/.test(text.slice(Math.max(0, at - 2), at))) return true;
  return WORDY.test(a) && WORDY.test(b) && !UNSPACED.test(a) && !UNSPACED.test(b);
}

// What made an element fit a query when it was found, so that it can be seen whether it still does: pages write other texts into the rows and
// buttons that they have.
const meantBy = new WeakMap(), besideOf = new WeakMap();
function stillMeant(e) {
  const m = e && meantBy.get(e);
  if (!m) return true;
  if (m.name && !names(e).some(wholly(m.name))) return false;
  if (m.within && !containers(e).some(c => m.within(c.name))) return false;
  if (m.near) {
    const {x, part, says} = m.near;
    if (!x.isConnected || !contains(part, e) || !contains(part, x) || !says(x)) return false;
  }
  return true;
}

// besides measures, for all candidates at once, how near a text is to them: of the smallest part of the page that holds the text and any
// of them, how many it holds (rivals), and how far the text is. The text itself beats a longer one that holds it. Those that no such part
// holds are not in the answer.
function besides(list, text) {
  const want = tight(text), within = new Map(), out = new Map(), has = wholly(text);
  for (const e of list) for (let p = up(e), i = 0; p && i < 40; p = up(p), i++) within.set(p, (within.get(p) || 0) + 1);
  const set = new Set(list), anchors = [];
  const offer = (x, s) => { if (!set.has(x) && anchors.length < 200 && has(s)) anchors.push({x, exact: tight(s) === want}); };
  const given = x => [attr(x, 'aria-label'), attr(x, 'alt'), x.type === 'password' ? '' : x.value].filter(v => typeof v === 'string' && v.length < 400);
  const ownTexts = x => [...x.childNodes].filter(n => n.nodeType === 3).map(n => n.data);
  for (const root of roots()) {
    const w = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), done = new Set();
    for (let t = w.nextNode(); t; t = w.nextNode()) {
      let x = t.parentElement;
      if (x && t.data.length < 400 && !/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE)$/.test(x.tagName)) offer(x, t.data); // by itself: other texts may follow it without a space
      for (let i = 0; x && i < 3 && !done.has(x); x = x.parentElement, i++) {
        done.add(x);
        const s = x.textContent;
        if (s.length > 400 || /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE)$/.test(x.tagName)) break;
        offer(x, s);
      }
    }
    for (const x of root.querySelectorAll('[aria-label],input,textarea,img[alt]')) for (const v of given(x)) offer(x, v);
  }
  const says = x => has(x.textContent) || ownTexts(x).some(has) || given(x).some(has);
  for (const {x, exact} of anchors) {
    if (!visible(x)) continue;
    const box = x.getBoundingClientRect();
    for (let p = x, i = 0; p && i < 40; p = up(p), i++) {
      const rivals = within.get(p) || 0;
      if (!rivals) continue;
      if (rivals > 500) break;
      for (const e of list) {
        if (!contains(p, e) || e === x || contains(e, x)) continue;
        const b = e.getBoundingClientRect();
        const dx = Math.max(b.left - box.right, box.left - b.right, 0), dy = Math.max(b.top - box.bottom, box.top - b.bottom, 0);
        const m = {rivals, distance: Math.round(Math.hypot(dx, dy * 2)), exact}, old = out.get(e);
        if (!old || m.exact && !old.exact || m.exact === old.exact && (m.rivals < old.rivals || m.rivals === old.rivals && m.distance < old.distance)) { out.set(e, m); besideOf.set(e, {x, part: p, says}); }
      }
      break;
    }
  }
  return out;
}

// nearText is a text beside the element that tells it from others.
function nearText(e) {
  for (let p = up(e), i = 0; p && i < 4 && p.tagName !== 'BODY'; p = up(p), i++) {
    for (const c of p.children) if (c !== e && !c.contains(e) && !c.querySelector(INTERACTIVE) && !interactive(c) && visible(c)) {
      const t = norm(c.textContent);
      if (t && t.length < 60) return t;
    }
  }
  return '';
}

// seeable reports whether a person could come to see the element: it, or the label of a field that is drawn otherwise, is painted, and can
// be scrolled to.
const seeable = e => [editorHost(e) || e, ...(e.labels || [])].some(x => painted(x) && reachable(x));
function reachable(e) {
  const r = e.getBoundingClientRect(), d = document.scrollingElement || document.documentElement;
  let fixed = false;
  for (let p = e; p; p = up(p)) {
    const st = getComputedStyle(p);
    if (st.position === 'fixed') { fixed = true; break; }
    if (p !== e && st.overflow !== 'visible') {
      const b = p.getBoundingClientRect();
      if (b.width < 1 || b.height < 1) return false; // a closed panel
      if (st.overflowX === 'hidden' && st.overflowY === 'hidden' && p.tagName !== 'BODY' && p.tagName !== 'HTML' && (r.right <= b.left - p.scrollWidth || r.left >= b.right + p.scrollWidth)) return false;
    }
  }
  if (fixed) return r.right > 0 && r.bottom > 0 && r.left < innerWidth && r.top < innerHeight;
  const rtl = getComputedStyle(d).direction === 'rtl', spare = Math.max(0, d.scrollWidth - d.clientWidth);
  const x0 = rtl ? -spare : 0, x1 = rtl ? d.clientWidth : Math.max(d.scrollWidth, innerWidth);
  return r.right + scrollX > x0 && r.left + scrollX < x1 && r.bottom + scrollY > 0 && r.top + scrollY < Math.max(d.scrollHeight, innerHeight);
}

// candidate describes an element as far as choosing needs it. details adds what tells it apart in words, for a few.
function candidate(e, q, near) {
  const called = names(e), held = q && q.within ? containers(e) : [], inside = q && q.within ? wholly(q.within) : null;
  meantBy.set(e, {
    name: q && q.name && called.some(wholly(q.name)) ? q.name : '', within: inside && held.some(c => inside(c.name)) ? inside : null,
    near: near && near.get(e) ? besideOf.get(e) : null,
  });
  return {
    id: number(keep(e)), role: role(e), names: called, tag: e.tagName.toLowerCase(), interactive: interactive(e), clickable: clickable(e),
    shown: editable(e) || e.tagName === 'SELECT' ? '' : clip(norm(e.innerText), 200), editable: editable(e), visible: seeable(e), enabled: enabled(e),
    words: describe(e), box: boxOf(e), at: now(), beside: near ? near.get(e) || null : null, within: held,
  };
}

const details = ids => ids.map(i => { const e = element(i); return e ? {id: i, within: containers(e), near: nearText(e), path: path(e)} : {id: i, within: [], near: '', path: ''}; });

const tight = s => (s || '').replace(/[\s\u00a0\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069]+/g, '').toLowerCase(); // texts are compared without spaces: block elements part words without any
const GATHERED = ['button', 'a', 'area', 'input', 'select', 'textarea', 'summary', 'option', 'label', 'img', 'iframe', 'canvas', '[role]', '[contenteditable]', '[onclick]', '[onmousedown]',
  '[onpointerdown]', '[tabindex]', '[aria-label]', '[aria-labelledby]', '[title]', '[alt]', '[placeholder]'];
const MAX_GATHERED = 3000, MAX_PARTIAL = 40;

// gather returns the elements that a query may mean, in document order: all whose text or label is the wanted one, and some that hold it.
// It errs on the side of too many.
const GAP = '[\\s\\u00ad\\u200b-\\u200f\\u202a-\\u202e\\u2060\\u2066-\\u2069]*'; // what may stand between two characters without parting a word
// sieve is a quick test that every text passes which tight would make hold the wanted one. Most texts of a page fail it, and are not looked at
// any further.
function sieve(want) {
  if (want.length > 200 || /[\u0130\u0131\u0307\u017f\u212a\u212b]/.test(want)) return {test: () => true}; // letters whose case is not one to one
  try { return new RegExp([...want].map(c => c.replace(/[.*+?^${}()|[\]\\\/]/g, '\\$&')).join(GAP), 'iu'); } catch { return {test: () => true}; }
}

// scopes are the parts of the page that may be what is called so, found from their names; more than they are, never fewer. An empty list says
// that nothing is called exactly so. Only of the page itself: what is around a frame counts for all that is in it.
function scopes(within) {
  if (window !== top) return [];
  const want = tight(within), re = sieve(want), out = new Set();
  if (!want) return [];
  const is = s => typeof s === 'string' && s.length <= 400 && re.test(s) && tight(s) === want;
  const add = e => { if (e && e !== document.body && e !== document.documentElement) out.add(e); };
  for (const r of roots()) {
    for (const e of union(r, ['[aria-label]', '[title]', '[aria-labelledby]', '[data-testid]', '[data-panel]', '[id]', '[name]'])) {
      if (is(attr(e, 'aria-label')) || is(attr(e, 'title')) || is(attr(e, 'data-testid')) || is(attr(e, 'data-panel')) || is(e.id) || is(attr(e, 'name'))) add(e);
      else if (e.hasAttribute('aria-labelledby') && is(byIDs(e, attr(e, 'aria-labelledby')))) add(e);
    }
    for (const h of union(r, HEADING.split(',').concat(['th', 'td', '[role=rowheader]', '[role=cell]', 'tr', 'li', '[role=row]', '[role=listitem]']))) {
      const t = h.textContent;
      if (t.length > 400 || !re.test(t) || tight(t) !== want && !is(textOf(h))) continue;
      add(h);
      for (let p = up(h), i = 0; p && p !== document.body && i < 3; p = up(p), i++) add(p); // what it heads, or is in
      const d = h.closest('dialog,[role=dialog],[role=alertdialog],header,hgroup,table,fieldset,figure,details,tr,li,[role=row],[role=listitem]');
      if (d) { add(d); if (/^(HEADER|HGROUP)$/.test(d.tagName)) add(up(d)); }
      if (up(h) === document.body) return []; // it heads the page
    }
  }
  const list = [...out];
  return list.filter(e => !list.some(o => o !== e && contains(o, e)));
}

function gather(q, parts) {
  if (q.ref) { const e = alive(element(q.ref)); return e && e.isConnected ? [e] : []; }
  if (q.selector) {
    let list;
    try { list = queryAll(q.selector); } catch { return null; }
    return q.name ? list.filter(e => names(e).some(n => fold(n).includes(fold(q.name)))) : list;
  }
  const want = tight(q.name);
  if (!want) return [];
  const whole = new Set(), part = new Set(), re = sieve(want);
  const offer = (e, s) => {
    if (typeof s !== 'string' || !s || s.length > 2000 || !re.test(s)) return false;
    const t = tight(s);
    if (t === want) whole.add(e); else if (t.includes(want)) part.add(e); else return false;
    return true;
  };
  const where = parts ? parts.concat(roots().filter(r => r instanceof ShadowRoot && parts.some(p => contains(p, r.host)))) : roots();
  for (const root of where) {
    for (const e of union(root, GATHERED)) {
      const given = offer(e, attr(e, 'aria-label')) | offer(e, attr(e, 'placeholder')) | offer(e, attr(e, 'title')) | offer(e, attr(e, 'alt')) | offer(e, attr(e, 'data-label'));
      if (given) continue;
      if (e.hasAttribute('aria-labelledby')) offer(e, byIDs(e, attr(e, 'aria-labelledby')));
      if (e.tagName === 'INPUT' && /^(submit|button|reset)$/.test(e.type)) offer(e, e.value || name(e));
      else if (e.labels && e.labels.length) offer(e, labelText(e));
      if (/^(INPUT|SELECT|TEXTAREA|BUTTON)$/.test(e.tagName)) offer(e, attr(e, 'name'));
      if (editable(e)) names(e).forEach(n => offer(e, n));
      else if (interactive(e) && e.tagName !== 'SELECT' || e.matches(HANDLED) || e.tagName === 'LABEL') {
        if (!offer(e, e.textContent) && e.shadowRoot) offer(e, textOf(e));
        if (e.childElementCount) for (const i of [...e.querySelectorAll('img[alt],[aria-label],svg title')].slice(0, 5)) offer(e, attr(i, 'alt') || attr(i, 'aria-label') || i.textContent);
      }
    }
    const w = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), done = new Set();
    for (let t = w.nextNode(); t; t = w.nextNode()) {
      for (let e = t.parentElement, i = 0; e && i < 3 && !done.has(e); e = e.parentElement, i++) { // a text may be broken up by inline markup
        done.add(e);
        if (/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|TITLE|OPTION|BODY|HTML)$/.test(e.tagName)) break;
        const s = e.textContent;
        if (s.length > 300 || offer(e, s)) break;
      }
    }
    if (q.options) for (const e of root.querySelectorAll('option')) offer(e, e.label);
  }
  const list = [...whole].slice(0, MAX_GATHERED).concat([...part].filter(e => !whole.has(e)).slice(0, Math.max(MAX_PARTIAL, whole.size ? 0 : 200)));
  return list.sort((a, b) => a === b ? 0 : order(a, b));
}

function order(a, b) {
  const ra = a.getRootNode(), rb = b.getRootNode();
  if (ra === rb) return a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  const top = e => { let r = e.getRootNode(); while (r instanceof ShadowRoot) { e = r.host; r = e.getRootNode(); } return e; };
  const x = top(a), y = top(b);
  return x === y ? 0 : x.compareDocumentPosition(y) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}

// merge drops what stands for something else in the list: a label for its field, a wrapper for what it wraps.
function merge(list, wanted) {
  const set = new Set(list), drop = new Set();
  for (const x of list) {
    if (x.tagName === 'LABEL' && x.control && set.has(x.control)) drop.add(x);
    for (let p = up(x), i = 0; p && i < 40; p = up(p), i++) {
      if (!set.has(p) || wanted && role(p) === wanted && role(x) !== wanted) continue; // a region is not its heading, where the region is asked for
      const xi = interactive(x), pi = interactive(p);
      if (!pi && (xi || sameText(x, p))) drop.add(p);                              // the inner one says it all
      else if (pi && xi && role(x) !== 'generic' && sameText(x, p)) drop.add(p);
      else if (!xi && (pi || p.tagName === 'LABEL' && p.control) && sameText(p, x)) drop.add(x);
    }
  }
  return list.filter(e => !drop.has(e));
}
const sameText = (a, b) => tight(name(a) || a.textContent) === tight(name(b) || b.textContent) || tight(a.innerText) === tight(b.innerText); // the second leaves hidden parts out

// find answers a query: {name, selector, ref, near, within, nth, ahead: begin the gates, of so many ms at most}. A broken selector is an error.
function find(q) {
  const parts = q.within && q.name && !q.selector && !q.ref ? scopes(q.within) : [];
  let list = parts.length ? gather(q, parts) : null;
  if (!list || !list.length) list = gather(q);
  if (!list) return {error: 'bad selector'};
  const total = list.length;
  list = merge(list, q.role);
  const shown = list.filter(e => visible(e) || (e.labels && [...e.labels].some(visible)) || editorHost(e));
  if (shown.length || !(q.selector || q.ref)) list = shown;
  const near = q.near ? besides(list, q.near) : null;
  if (near && near.size) list = list.filter(e => near.has(e));
  if (list.length > MAX_FOUND) {
    const seen = list.filter(seeable);
    if (seen.length) list = seen;
  }
  list = list.slice(0, q.within ? MAX_GATHERED : Math.max(MAX_FOUND, (q.nth || 0) + 1));
  const found = list.map(e => candidate(e, q, near));
  const told = found.some(f => f.visible) ? found.filter(f => f.visible || q.selector || q.ref) : found;
  if (q.ahead) beginGates(told, q.ahead);
  return {total, found: told};
}

// offered are the names of what one can act on, at most max, for whoever asked for something that is not there.
function offered(max) {
  const out = [];
  for (const r of roots()) for (const e of r.querySelectorAll(INTERACTIVE)) {
    if (out.length >= max) return out;
    const n = visible(e) ? name(e) : '';
    if (n && n.length <= 200) out.push({role: role(e), name: n});
  }
  return out;
}

// surfaces tells what a DOM search cannot see into, and how busy the page is. What was found is good for a moment, as long as nothing changes.
let surfacesNow = null, surfacesAt = 0, surfacesRecords = -1;
function surfaces() {
  const t = now();
  if (!surfacesNow || surfacesRecords !== seen.records || t - surfacesAt > 250) {
    const big = e => { const b = e.getBoundingClientRect(); return b.width * b.height > 1500 && visible(e); };
    let opaque = unionAll(['canvas', 'embed', 'object']).filter(big).length;
    const pictures = unionAll(['img', 'svg', 'input']).filter(e => (e.tagName !== 'INPUT' || e.type === 'image') && big(e) && !name(e)).length;
    for (const e of customs) if (e.isConnected && !e.shadowRoot && !rootOfHost(e) && !e.childElementCount && big(e)) opaque++;
    surfacesNow = {opaque, pictures, hosts: closedHostCount(), elements: document.getElementsByTagName('*').length};
    surfacesAt = t; surfacesRecords = seen.records;
  }
  return {...surfacesNow, busy: document.readyState !== 'complete' || !still(400) || !!document.querySelector('[aria-busy=true]'), ready: document.readyState, age: t - seen.started};
}
// rested is rest, and what surfaces tells then.
const rested = async (quiet, max) => { await rest(quiet, max); return surfaces(); };
// asked forgets what surfaces found, because hosts were asked since.
const asked = () => { surfacesNow = null; };

// closedHostCount counts elements that have not been asked yet whether they hold a closed shadow tree.
function closedHostCount() {
  let n = 0;
  roots();
  for (const e of customs) if (e.isConnected && !e.shadowRoot && !hostsAsked.has(e) && e.matches(':defined')) n++;
  if (document.body) for (const e of document.body.querySelectorAll('div:empty,span:empty,section:empty')) if (!e.shadowRoot && !hostsAsked.has(e) && n < 30 && e.getClientRects().length && e.getBoundingClientRect().height > 8) n++;
  return n;
}

// adopt gives numbers to elements that the accessibility tree found, and describes them.
function adopt(q, ...list) {
  for (const n of list) addRoot(n.getRootNode());
  list = list.map(n => n.nodeType === 1 ? n : n.parentElement || (n.getRootNode() || {}).host).filter(Boolean);
  const near = q && q.near ? besides(list, q.near) : null;
  return list.map(e => candidate(e, q, near));
}

// changed resolves at the next change that is not noise, or after max ms.
function changed(max) {
  return new Promise(resolve => {
    const before = seen.last;
    let timer;
    const done = () => { waiting.delete(check); for (const t of SIGNS_OF_CHANGE) removeEventListener(t, done, true); clearTimeout(timer); resolve(seen.last !== before); };
    const check = () => { if (seen.last !== before) done(); };
    waiting.add(check);
    for (const t of SIGNS_OF_CHANGE) addEventListener(t, done, true);
    timer = setTimeout(done, max);
  });
}
