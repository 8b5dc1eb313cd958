// What identifies an element, for the heal memory (package memory): fingerprints of one element, or of all that an action may be meant for.
// The texts of a fingerprint never come from what fields hold.

const FIELD = 'input,textarea,select,option,[contenteditable=""],[contenteditable=true],[contenteditable=plaintext-only],[role=textbox],[role=searchbox],script,style,noscript,template';

// plain is the visible text of a node without what fields hold.
function plain(n, most = 200) {
  if (!n) return '';
  if (n.nodeType === 3) return norm(n.data);
  if (n.nodeType !== 1 || n.matches(FIELD) || n.matches('[aria-hidden=true]') || !visible(n)) return '';
  if (!n.querySelector(FIELD)) return norm(clip(n.textContent, 4 * most)).slice(0, most);
  let s = '';
  const w = document.createTreeWalker(n, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, {acceptNode: x => x.nodeType === 1 ? (x.matches(FIELD) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP) : NodeFilter.FILTER_ACCEPT});
  for (let t = w.nextNode(); t && s.length < most; t = w.nextNode()) s += ' ' + t.data;
  return norm(s).slice(0, most);
}

// calledFor is the accessible name, without what fields hold.
function calledFor(e) {
  const by = attr(e, 'aria-labelledby'), root = e.getRootNode();
  if (by && root.getElementById) { const s = norm(by.split(/\s+/).map(i => root.getElementById(i)).map(x => x && (attr(x, 'aria-label') || plain(x))).filter(Boolean).join(' ')); if (s) return s; }
  if (editable(e) || e.tagName === 'SELECT') return attr(e, 'aria-label') || norm([...e.labels || []].map(l => plain(l)).join(' ')) || norm(attr(e, 'title')) || norm(attr(e, 'placeholder'));
  if (!e.matches('input') && e.querySelector(FIELD)) return attr(e, 'aria-label') || plain(e);
  return name(e) || (role(e) === 'generic' ? plain(e) : '');
}

// beside is the nearest text before or after the element, at most four levels up.
function besideText(e, step) {
  for (let n = e, i = 0; n && n.tagName !== 'BODY' && i < 4; n = up(n), i++) {
    for (let s = n[step], k = 0; s && k < 8; s = s[step], k++) { const t = plain(s, 80); if (t) return t; }
  }
  return '';
}

// rowOf are the texts, the title first, of the row, list item or card that the element belongs to, one of several of the same kind, that none
// of the others has.
function rowOf(e) {
  for (let p = up(e), i = 0; p && p.tagName !== 'BODY' && i < 7; p = up(p), i++) {
    const r = role(p), mates = p.parentElement ? [...p.parentElement.children].filter(c => c.tagName === p.tagName && c.className === p.className) : [];
    if (mates.length < 2 || !(r === 'row' || r === 'listitem' || r === 'article' || mates.length > 2 && mates.slice(0, 20).every(m => m.querySelector(INTERACTIVE)))) continue;
    if (p.querySelectorAll(INTERACTIVE).length > 12) return [];
    const mine = x => x.contains(e) || e.contains(x) || [...e.labels || []].some(l => l.contains(x) || x.contains(l));
    const others = mates.filter(m => m !== p).slice(0, 200).map(m => norm(m.textContent)), texts = [];
    const add = t => { if (t && texts.length < 4 && !texts.includes(t) && !others.some(o => o.includes(t))) texts.push(t); };
    for (const x of p.querySelectorAll(HEADING + ',strong,b,[role=rowheader]')) if (!mine(x) && !x.querySelector(INTERACTIVE)) add(plain(x, 80));
    const w = document.createTreeWalker(p, NodeFilter.SHOW_TEXT);
    for (let t = w.nextNode(); t && texts.length < 4; t = w.nextNode()) { const x = t.parentElement; if (norm(t.data) && !mine(x) && !x.closest(INTERACTIVE + ',' + FIELD) && visible(x)) add(norm(t.data).slice(0, 80)); }
    return texts;
  }
  return [];
}

function hrefOf(e) {
  if (!e.matches('a[href],area[href]')) return '';
  try { const u = new URL(e.href); return (u.origin === location.origin ? '' : u.origin) + u.pathname + (/^#!?\//.test(u.hash) ? u.hash.split('?')[0] : ''); } catch { return ''; }
}

// fingerprintOf describes one element. peers are the elements of the page by role, in document order.
function fingerprintOf(e, peers) {
  const r = role(e), held = containers(e), b = e.getBoundingClientRect(), list = peers.get(r) || [];
  const trail = [];
  for (let p = up(e); p && p.tagName !== 'BODY' && trail.length < 10; p = up(p)) { const x = role(p); trail.push(x === 'generic' || x === 'presentation' ? p.tagName.toLowerCase() : x); }
  const first = (...names) => { for (const n of names) { const v = norm(attr(e, n)); if (v) return v; } return ''; };
  const within = held.filter(h => h.kind !== 'heading' && h.kind !== 'id' && h.kind !== 'row' && h.kind !== 'listitem').map(h => h.name);
  const heading = held.find(h => h.kind === 'heading') || held.find(h => /^(region|article|dialog|main|generic|form|group|complementary)$/.test(h.kind));
  return {
    role: r, name: calledFor(e), tag: e.tagName.toLowerCase(), lang: norm(attr(e.closest('[lang]') || document.documentElement, 'lang')),
    id: norm(e.id), test_id: first('data-testid', 'data-test-id', 'data-test', 'data-cy', 'data-qa', 'data-automation-id'),
    form_name: /^(INPUT|SELECT|TEXTAREA|BUTTON)$/.test(e.tagName) ? first('name') : '', type: /^(INPUT|BUTTON)$/.test(e.tagName) ? first('type') : '', placeholder: first('placeholder', 'data-placeholder'),
    href: hrefOf(e), classes: [...e.classList].slice(0, 16), path: trail, within: within.slice(0, 5), heading: heading ? heading.name : '', row: rowOf(e),
    before: besideText(e, 'previousSibling'), after: besideText(e, 'nextSibling'), index: list.indexOf(e) + 1, of: list.includes(e) ? list.length : 0, w: Math.round(b.width), h: Math.round(b.height),
  };
}

// peersOf sorts the elements that people act on by role.
function peersOf(list) {
  const m = new Map();
  for (const e of list) { const r = role(e); if (!m.has(r)) m.set(r, []); m.get(r).push(e); }
  return m;
}

// actedOn are all elements that an action may be meant for, in document order; also those that only their pointer shows to take clicks, and
// those of the role that is wanted.
function actedOn(wanted) {
  const out = new Set();
  for (const root of roots()) {
    for (const e of root.querySelectorAll(INTERACTIVE + ',' + HANDLED)) if (e.tagName !== 'OPTION') out.add(e);
    let k = 0;
    for (const e of root.querySelectorAll('div,span,li,td,p,img,svg,i,label')) {
      if (++k > 4000) break;
      if (!out.has(e) && getComputedStyle(e).cursor === 'pointer' && e.parentElement && getComputedStyle(e.parentElement).cursor !== 'pointer' && !e.querySelector(INTERACTIVE) && !(e.tagName === 'LABEL' && e.control)) out.add(e);
    }
    if (wanted && wanted !== 'generic') for (const e of root.querySelectorAll(`[role],${Object.keys(TAG_ROLES).filter(t => TAG_ROLES[t] === wanted).join(',') || 'x-none'}`)) if (role(e) === wanted) out.add(e);
  }
  return [...out].sort((a, b) => a === b ? 0 : order(a, b));
}

// fingerprint of one element, by its number; null when it is gone. On a large page its place among others is left out, because finding
// that takes longer than the rest.
function fingerprint(n) {
  const e = element(n);
  return e && e.isConnected ? fingerprintOf(e, document.getElementsByTagName('*').length > 3000 ? new Map() : peersOf(queryAll(INTERACTIVE))) : null;
}

// fingerprints of all elements that an action may be meant for and that can be seen. More than most are not compared: too_many says so.
function fingerprints(wanted, most) {
  const list = actedOn(wanted).filter(e => visible(e) || e.labels && e.labels.length);
  if (list.length > most) return {too_many: list.length, found: []};
  const peers = peersOf(queryAll(INTERACTIVE));
  return {too_many: 0, found: list.filter(seeable).map(e => ({id: number(keep(e)), words: describe(e), box: boxOf(e), element: fingerprintOf(e, peers)}))};
}

Object.assign(globalThis.__toolsvc, {fingerprint, fingerprints});
