// What an element is called and what it is: roles and accessible names after ARIA in HTML and accname 1.2, as far as a page's DOM
// tells them. The accessibility source asks Chromium itself; this serves the DOM source, evidence and snapshots.

// HIDDEN are characters that nobody sees: soft hyphens, marks of direction, word joiners.
const HIDDEN = /[\u00ad\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069]+/g;
const norm = s => (s || '').replace(HIDDEN, '').replace(/[\s\u00a0\u200b]+/g, ' ').trim();
const clip = (s, n) => s.length > n ? s.slice(0, n) + '…' : s;
const attr = (e, n) => e.getAttribute ? e.getAttribute(n) : null;

// up is the parent in the composed tree: out of a shadow root to its host.
const up = e => e.assignedSlot || e.parentElement || (e.getRootNode && e.getRootNode() instanceof ShadowRoot ? e.getRootNode().host : null);

function contains(a, b) {
  for (let e = b; e; e = up(e)) if (e === a) return true;
  return false;
}

// walk calls f with every element under root, open shadow trees included, in document order.
function walk(root, f) {
  const w = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT);
  if (root.nodeType === 1) {
    if (root.shadowRoot) walk(root.shadowRoot, f);
  }
  for (let e = w.nextNode(); e; e = w.nextNode()) {
    f(e);
    if (e.shadowRoot) walk(e.shadowRoot, f);
  }
}

// roots are the document and all open shadow trees in it; customs the elements of names that the page made up, which may hold closed ones. They
// are looked for again when elements came in, and from time to time, because a tree may be attached to an element that is there: at most ten
// times a second, and on large pages so seldom that the looking takes no more than a hundredth of the time.
let rootsNow = null, rootsAt = 0, rootsCost = 0, customs = [];
function roots() {
  const t = performance.now();
  if (rootsNow && t - rootsAt < Math.max(100, 100 * rootsCost)) return rootsNow;
  rootsNow = [document]; rootsAt = t; customs = [];
  const visit = e => { if (e.shadowRoot) rootsNow.push(e.shadowRoot); if (e.localName.includes('-')) customs.push(e); };
  walk(document, visit);
  for (const w of closedRoots) { const r = w.deref(); if (!r) closedRoots.delete(w); else if (r.isConnected && !rootsNow.includes(r)) { rootsNow.push(r); walk(r, e => { if (!e.shadowRoot || !rootsNow.includes(e.shadowRoot)) visit(e); }); } }
  for (const r of rootsNow) observeRoot(r);
  rootsCost = performance.now() - t;
  return rootsNow;
}

// newcomer takes in an element that came into the document: one that has, or may have, a shadow tree changes what roots finds.
function newcomer(n) {
  if (!rootsNow) return;
  if (n.shadowRoot || n.localName.includes('-')) { rootsNow = null; return; }
  if (!n.firstElementChild) return;
  const w = document.createTreeWalker(n, NodeFilter.SHOW_ELEMENT);
  for (let e = w.nextNode(); e; e = w.nextNode()) if (e.shadowRoot || e.localName.includes('-')) { rootsNow = null; return; }
}

// Closed shadow trees are handed in from outside, because scripts cannot reach them by themselves.
const closedRoots = new Set(), closedKnown = new WeakSet(), hostsAsked = new WeakSet();
function addRoot(r) {
  if (!(r instanceof ShadowRoot) || r.mode !== 'closed' || closedKnown.has(r)) return;
  closedKnown.add(r);
  closedRoots.add(new WeakRef(r));
  rootsNow = null;
  asked();
}
const rootOfHost = h => { for (const w of closedRoots) { const r = w.deref(); if (r && r.host === h) return r; } return null; };

// closedHosts are elements that may hold a closed shadow tree, each told once.
function closedHosts() {
  asked();
  const out = [];
  for (const r of roots()) for (const e of r.querySelectorAll('*')) {
    if (!e.tagName.includes('-') && !/^(DIV|SPAN|SECTION|MAIN|ARTICLE|ASIDE|NAV|HEADER|FOOTER|P)$/.test(e.tagName)) continue;
    if (e.shadowRoot || hostsAsked.has(e) || out.length >= 30) continue;
    if (!e.tagName.includes('-') && (e.childNodes.length || !visible(e))) continue;
    hostsAsked.add(e);
    out.push(e);
  }
  return out;
}

// union is the elements under a root that any of some simple selectors matches, in no order. The browser answers each of them at once, from an
// index or by one comparison an element; a list of them in one query it compares with every element.
function union(root, selectors) {
  const out = new Set();
  for (const s of selectors) for (const e of listed(root, s)) out.add(e);
  return out;
}

// listed is what a simple selector matches under a root. For whole trees it is kept for as long as no element comes or goes, and no attribute
// changes that such a selector names: on a large page looking is most of the time that a look takes.
let lists = new WeakMap(), listsShape = -1;
const listedAttrs = new Set();
function listed(root, selector) {
  if (root.nodeType === 1) return root.querySelectorAll(selector);
  flush();
  if (listsShape !== seen.shape) { lists = new WeakMap(); listsShape = seen.shape; }
  let m = lists.get(root);
  if (!m) lists.set(root, m = new Map());
  let list = m.get(selector);
  if (!list) {
    for (const a of selector.matchAll(/\[([\w-]+)/g)) listedAttrs.add(a[1]);
    m.set(selector, list = root.querySelectorAll(selector));
  }
  return list;
}
function unionAll(selectors) {
  const out = [];
  for (const r of roots()) for (const e of union(r, selectors)) out.push(e);
  return out;
}

function queryAll(selector) {
  const out = [];
  for (const r of roots()) out.push(...r.querySelectorAll(selector));
  return out;
}

function visible(e) {
  if (!e.isConnected) return false;
  if (e.checkVisibility && !e.checkVisibility({visibilityProperty: true})) return false;
  if (e.tagName === 'OPTION') return true;
  for (const r of e.getClientRects()) if (r.width > 0 && r.height > 0) return true;
  if (getComputedStyle(e).display === 'contents') return [...e.children].some(visible);
  return false;
}

// painted is visible and not fully transparent anywhere above.
const painted = e => visible(e) && (!e.checkVisibility || e.checkVisibility({opacityProperty: true, visibilityProperty: true}));

const INPUT_ROLES = {button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', color: 'button', checkbox: 'checkbox',
  radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox', hidden: ''};
const TAG_ROLES = {BUTTON: 'button', SUMMARY: 'button', TEXTAREA: 'textbox', OPTION: 'option', IMG: 'img', NAV: 'navigation', MAIN: 'main',
  ASIDE: 'complementary', ARTICLE: 'article', UL: 'list', OL: 'list', MENU: 'list', LI: 'listitem', TABLE: 'table', TR: 'row', TD: 'cell',
  TH: 'columnheader', DIALOG: 'dialog', PROGRESS: 'progressbar', METER: 'meter', OUTPUT: 'status', FIELDSET: 'group', DETAILS: 'group',
  HR: 'separator', P: 'paragraph', IFRAME: 'iframe', FRAME: 'iframe', FIGURE: 'figure', CANVAS: 'canvas', VIDEO: 'video', AUDIO: 'audio',
  H1: 'heading', H2: 'heading', H3: 'heading', H4: 'heading', H5: 'heading', H6: 'heading', OPTGROUP: 'group', DATALIST: 'listbox', SEARCH: 'search'};

function role(e) {
  const given = norm(attr(e, 'role')).split(' ')[0].toLowerCase();
  if (given) return given === 'image' ? 'img' : given === 'none' ? 'presentation' : given;
  switch (e.tagName) {
    case 'A': case 'AREA': return e.hasAttribute('href') ? 'link' : 'generic';
    case 'INPUT': {
      const t = e.type;
      if (t in INPUT_ROLES) return INPUT_ROLES[t];
      return e.list ? 'combobox' : 'textbox';
    }
    case 'SELECT': return e.multiple || e.size > 1 ? 'listbox' : 'combobox';
    case 'SECTION': return labelled(e) ? 'region' : 'generic';
    case 'FORM': return labelled(e) ? 'form' : 'generic';
    case 'HEADER': return e.closest('article,aside,main,nav,section') ? 'generic' : 'banner';
    case 'FOOTER': return e.closest('article,aside,main,nav,section') ? 'generic' : 'contentinfo';
  }
  if (TAG_ROLES[e.tagName]) return TAG_ROLES[e.tagName];
  if (e.isContentEditable && !(e.parentElement && e.parentElement.isContentEditable)) return 'textbox';
  return 'generic';
}

const labelled = e => e.hasAttribute('aria-label') || e.hasAttribute('aria-labelledby') || e.hasAttribute('title');
const FROM_CONTENT = new Set(['button', 'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'radio', 'checkbox', 'switch', 'tab',
  'treeitem', 'heading', 'cell', 'gridcell', 'columnheader', 'rowheader', 'row', 'tooltip', 'listitem']);

function byIDs(e, ids) {
  const root = e.getRootNode();
  return norm(ids.split(/\s+/).map(i => root.getElementById && root.getElementById(i)).filter(Boolean).map(x => attr(x, 'aria-label') || textOf(x)).join(' '));
}

// textOf is the text of a subtree as a name reads it: hidden parts left out, images by their alternatives.
function textOf(e, depth = 0) {
  if (depth > 12) return '';
  let s = '';
  const nodes = e.shadowRoot ? e.shadowRoot.childNodes : e.tagName === 'SLOT' && e.assignedNodes().length ? e.assignedNodes() : e.childNodes;
  for (const n of nodes) {
    if (n.nodeType === 3) { s += n.data; continue; }
    if (n.nodeType !== 1 || n.tagName === 'STYLE' || n.tagName === 'SCRIPT' || n.tagName === 'TEMPLATE') continue;
    if (attr(n, 'aria-hidden') === 'true' || n.hidden) continue;
    const st = getComputedStyle(n);
    if (st.display === 'none' || st.visibility === 'hidden') continue;
    const l = attr(n, 'aria-label') || (n.tagName === 'IMG' || n.tagName === 'AREA' ? attr(n, 'alt') : '') ||
      (n.tagName.toLowerCase() === 'svg' ? (n.querySelector('title') || {}).textContent : '');
    const t = l || (n.tagName === 'INPUT' || n.tagName === 'TEXTAREA' ? (n.type === 'password' ? '' : n.value) :
      n.tagName === 'SELECT' ? [...n.selectedOptions].map(o => o.label).join(' ') : textOf(n, depth + 1));
    s += st.display === 'inline' || st.display === 'contents' ? t : ' ' + t + ' ';
  }
  return s;
}

function labelText(e) {
  if (!e.labels || !e.labels.length) return '';
  return norm([...e.labels].map(l => {
    let s = '';
    for (const n of l.childNodes) s += n.nodeType === 3 ? n.data : n.nodeType === 1 && n !== e && !n.contains(e) ? attr(n, 'aria-label') || textOf(n) :
      n.nodeType === 1 && n !== e ? ' ' + textOf(n) : '';
    return s;
  }).join(' '));
}

// name is the accessible name.
function name(e) {
  const by = attr(e, 'aria-labelledby');
  if (by) { const s = byIDs(e, by); if (s) return clip(s, 500); }
  const l = norm(attr(e, 'aria-label'));
  if (l) return clip(l, 500);
  const r = role(e);
  switch (e.tagName) {
    case 'INPUT':
      if (e.type === 'submit' || e.type === 'reset' || e.type === 'button') return norm(e.value) || {submit: 'Submit', reset: 'Reset'}[e.type] || norm(attr(e, 'title'));
      if (e.type === 'image') return norm(attr(e, 'alt') || attr(e, 'title') || 'Submit');
      // fall through
    case 'TEXTAREA': case 'SELECT': case 'METER': case 'PROGRESS': case 'OUTPUT':
      return clip(labelText(e) || norm(attr(e, 'title')) || norm(attr(e, 'placeholder')), 500);
    case 'IMG': case 'AREA': return norm(attr(e, 'alt') || attr(e, 'title'));
    case 'FIELDSET': { const g = e.querySelector(':scope > legend'); return g ? norm(textOf(g)) : norm(attr(e, 'title')); }
    case 'TABLE': return e.caption ? norm(textOf(e.caption)) : norm(attr(e, 'title'));
    case 'FIGURE': { const g = e.querySelector(':scope > figcaption'); return g ? norm(textOf(g)) : ''; }
    case 'DETAILS': { const g = e.querySelector(':scope > summary'); return g ? norm(textOf(g)) : ''; }
    case 'IFRAME': case 'FRAME': return norm(attr(e, 'title') || attr(e, 'name'));
    case 'OPTION': return norm(e.label);
    case 'BUTTON': if (e.labels && e.labels.length && !norm(textOf(e))) return labelText(e);
  }
  if (e.tagName.toLowerCase() === 'svg') return norm((e.querySelector('title') || {}).textContent);
  if (FROM_CONTENT.has(r)) return clip(norm(textOf(e)) || norm(attr(e, 'title')), 500);
  return norm(attr(e, 'title')) || (e.isContentEditable ? norm(attr(e, 'placeholder') || attr(e, 'data-placeholder')) : '');
}

// Which elements people act on.
const INTERACTIVE = 'button,a[href],area[href],input:not([type=hidden]),select,textarea,summary,option,[role=button],[role=link],[role=tab],[role=menuitem],' +
  '[role=menuitemcheckbox],[role=menuitemradio],[role=option],[role=checkbox],[role=radio],[role=switch],[role=combobox],[role=textbox],[role=searchbox],' +
  '[role=slider],[role=spinbutton],[role=treeitem],[contenteditable=""],[contenteditable=true],[contenteditable=plaintext-only]';
const HANDLED = '[onclick],[onmousedown],[onpointerdown],[tabindex]:not([tabindex="-1"])';
const interactive = e => e.matches(INTERACTIVE);
const editable = e => e.isContentEditable || e.tagName === 'TEXTAREA' || (e.tagName === 'INPUT' &&
  !/^(button|submit|reset|image|checkbox|radio|file|hidden|color|range)$/.test(e.type));

function enabled(e) {
  if (e.matches(':disabled')) return false;
  for (let p = e; p; p = up(p)) if (attr(p, 'aria-disabled') === 'true' || p.inert) return false;
  return true;
}

// describe is the element in words: button "Play".
function describe(e) {
  if (!e || !e.tagName) return 'nothing';
  const r = role(e), n = name(e) || (r === 'generic' ? clip(norm(e.textContent), 40) : '');
  const what = r && r !== 'generic' && r !== 'presentation' ? r : e.tagName.toLowerCase();
  return what + (n ? ` "${clip(n, 60)}"` : e.id ? `#${e.id}` : e.classList && e.classList.length ? '.' + e.classList[0] : '');
}

// path is a short CSS selector that leads to the element in its own tree.
function path(e) {
  const root = e.getRootNode(), parts = [];
  const alone = s => { try { return root.querySelectorAll(s).length === 1; } catch { return false; } };
  for (let p = e; p && p.nodeType === 1 && parts.length < 6; p = p.parentElement) {
    if (p.id && alone('#' + CSS.escape(p.id))) { parts.unshift('#' + CSS.escape(p.id)); return parts.join(' > '); }
    const t = p.tagName.toLowerCase(), same = p.parentElement ? [...p.parentElement.children].filter(c => c.tagName === p.tagName) : [p];
    parts.unshift(same.length > 1 ? `${t}:nth-of-type(${same.indexOf(p) + 1})` : t);
    if (alone(parts.join(' > '))) break;
  }
  return parts.join(' > ');
}

// Code editors (CodeMirror 5, Monaco, Ace and their like) take text through a field that cannot be seen, and draw the lines themselves.

// editorHost is the editor around such a field; null for every other element.
function editorHost(e) {
  if (!e || e.tagName !== 'TEXTAREA') return null;
  const known = e.closest('.CodeMirror,.monaco-editor,.ace_editor,[data-code-editor]');
  if (known) return known;
  const b = e.getBoundingClientRect();
  if (b.width * b.height > 400 && painted(e) && getComputedStyle(e).opacity !== '0') return null;
  for (let p = up(e), i = 0; p && i < 6 && p.tagName !== 'BODY'; p = up(p), i++) {
    const r = p.getBoundingClientRect();
    if (r.width * r.height > 4000 && editorLines(p).length) return p;
  }
  return null;
}

// editorLines are the lines that the editor draws, from top to bottom. Of a long text those are the ones in view.
const LINES = ['.view-line', '.CodeMirror-line', '.ace_line', '.cm-line', '[data-line]', '.line'];
function editorLines(host) {
  for (const s of LINES) {
    const list = [...host.querySelectorAll(s)];
    if (list.length) return list.map(l => ({l, y: l.getBoundingClientRect().top})).sort((a, b) => a.y - b.y).map(x => x.l);
  }
  return [];
}
const editorText = host => editorLines(host).map(l => l.textContent.replace(/\u00a0/g, ' ').replace(/[\u200b\u200c\ufeff]/g, '')).join('\n');

// fieldText is what a field holds.
const fieldText = e => { const h = editorHost(e); return h ? editorText(h) : e.isContentEditable ? editableText(e) : String(e.value); };
