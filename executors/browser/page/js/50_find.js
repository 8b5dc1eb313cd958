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

// beside measures how near a text is: how many of the rivals share the smallest part of the page that holds both, and how far it is.
function beside(e, text, rivals) {
  const want = fold(text);
  const box = e.getBoundingClientRect();
  for (let p = up(e), i = 0; p && i < 25; p = up(p), i++) {
    if (!fold(p.textContent).includes(want) && !(p.shadowRoot && fold(p.shadowRoot.textContent).includes(want)) && !hasLabel(p, want)) continue;
    let best = Infinity, exact = false;
    walk(p, x => {
      if (x === e || e.contains(x) || x.contains(e)) return;
      const own = fold([...x.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join(' '));
      if (!own.includes(want) && !(x.childElementCount < 3 && fold(x.textContent).includes(want)) && !fold(attr(x, 'aria-label')).includes(want) && !(x.value && typeof x.value === 'string' && fold(x.value).includes(want))) return;
      const whole = fold(x.textContent) === want || own === want || fold(attr(x, 'aria-label')) === want || (typeof x.value === 'string' && fold(x.value) === want);
      if (exact && !whole) return;
      if (whole && !exact) { exact = true; best = Infinity; } // the text itself beats a longer one that holds it
      const b = x.getBoundingClientRect();
      const dx = Math.max(b.left - box.right, box.left - b.right, 0), dy = Math.max(b.top - box.bottom, box.top - b.bottom, 0);
      best = Math.min(best, Math.hypot(dx, dy * 2));
    });
    if (best === Infinity) continue;
    return {rivals: rivals.filter(x => contains(p, x)).length, distance: Math.round(best), exact};
  }
  return null;
}
const hasLabel = (p, want) => [...p.querySelectorAll('[aria-label],input,textarea')].slice(0, 50).some(x => fold(attr(x, 'aria-label')).includes(want) || (x.type !== 'password' && fold(x.value).includes(want)));

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
const seeable = e => [e, ...(e.labels || [])].some(x => painted(x) && reachable(x));
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

function candidate(e, q, rivals) {
  return {
    id: number(keep(e)), role: role(e), names: names(e), tag: e.tagName.toLowerCase(), interactive: interactive(e), clickable: clickable(e),
    shown: editable(e) || e.tagName === 'SELECT' ? '' : clip(norm(e.innerText), 200), editable: editable(e), visible: seeable(e), enabled: enabled(e), hidden: !!e.closest('[aria-hidden=true]'),
    within: containers(e), near: nearText(e), path: path(e), words: describe(e), box: boxOf(e), at: now(), beside: q && q.near ? beside(e, q.near, rivals) : null,
  };
}

// gather returns the elements that a query may mean, in document order.
function gather(q) {
  if (q.ref) { const e = alive(element(q.ref)); return e && e.isConnected ? [e] : []; }
  if (q.selector) {
    let list;
    try { list = queryAll(q.selector); } catch { return null; }
    return q.name ? list.filter(e => names(e).some(n => fold(n).includes(fold(q.name)))) : list;
  }
  const want = fold(q.name);
  if (!want) return [];
  const found = new Set();
  for (const root of roots()) {
    for (const e of root.querySelectorAll(INTERACTIVE + ',' + HANDLED + ',label,img,[aria-label],[title],[alt],canvas,iframe,[role]')) {
      if (fold(attr(e, 'aria-label')).includes(want) || fold(attr(e, 'placeholder')).includes(want) || fold(attr(e, 'title')).includes(want) || fold(attr(e, 'alt')).includes(want) ||
        (e.value && e.type !== 'password' && typeof e.value === 'string' && /^(submit|button|reset)$/.test(e.type) && fold(e.value).includes(want)) ||
        ((interactive(e) || e.matches(HANDLED)) && (e.labels || e.hasAttribute('aria-labelledby') || e.textContent.length < 2000) && names(e).some(n => fold(n).includes(want))) ||
        (attr(e, 'aria-labelledby') && fold(name(e)).includes(want))) found.add(e);
    }
    const w = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let t = w.nextNode(); t; t = w.nextNode()) {
      const p = t.parentElement;
      if (!p || !t.data.trim() || /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|TITLE|OPTION)$/.test(p.tagName)) continue;
      for (let e = p, i = 0; e && i < 3; e = e.parentElement, i++) { // a text may be broken up by inline markup
        const s = e.textContent;
        if (s.length > 300) break;
        if (fold(s).includes(want)) { found.add(e); break; }
      }
    }
  }
  return [...found].sort((a, b) => a === b ? 0 : order(a, b));
}

function order(a, b) {
  const ra = a.getRootNode(), rb = b.getRootNode();
  if (ra === rb) return a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  const top = e => { let r = e.getRootNode(); while (r instanceof ShadowRoot) { e = r.host; r = e.getRootNode(); } return e; };
  const x = top(a), y = top(b);
  return x === y ? 0 : x.compareDocumentPosition(y) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}

// merge drops what stands for something else in the list: a label for its field, a wrapper for what it wraps.
function merge(list) {
  const set = new Set(list);
  return list.filter(e => {
    if (e.tagName === 'LABEL' && e.control && set.has(e.control)) return false;
    for (const l of e.labels || []) if (l !== e && l.contains(e)) continue;
    if (!interactive(e)) {
      for (const x of list) if (x !== e && e.contains(x) && (interactive(x) || sameText(x, e))) return false; // the inner one says it all
      for (let p = up(e); p; p = up(p)) if (set.has(p) && (interactive(p) || p.tagName === 'LABEL' && p.control) && sameText(p, e)) return false;
    } else for (const x of list) if (x !== e && e.contains(x) && interactive(x) && sameText(x, e) && role(x) !== 'generic') return false;
    return true;
  });
}
const sameText = (a, b) => fold(name(a) || a.textContent) === fold(name(b) || b.textContent);

// find answers a query: {name, selector, ref, near, text}. A broken selector is an error.
function find(q) {
  let list = gather(q);
  if (!list) return {error: 'bad selector'};
  const total = list.length;
  list = merge(list);
  const seenOnes = list.filter(seeable);
  if (seenOnes.length) list = seenOnes.concat(q.selector || q.ref ? list.filter(e => !seeable(e)) : []);
  list = list.slice(0, MAX_FOUND);
  return {total, found: list.map(e => candidate(e, q, list))};
}

// late resolves when a query finds something, or after max ms; to whether it does.
function late(q, max) {
  return new Promise(resolve => {
    const end = now() + max;
    let timer, last = 0;
    const done = ok => { waiting.delete(check); clearTimeout(timer); resolve(ok); };
    const look = () => { last = now(); const l = gather(q); return !!l && l.some(visible); };
    const check = () => {
      clearTimeout(timer);
      const t = now();
      if (t - last < 16) { timer = setTimeout(check, 16 - (t - last)); return; } // at most once a frame
      if (look()) return done(true);
      if (t >= end) return done(false);
      timer = setTimeout(check, end - t);
    };
    waiting.add(check);
    check();
  });
}

// surfaces tells what a DOM search cannot see into, and how busy the page is.
function surfaces() {
  const big = e => { const b = e.getBoundingClientRect(); return b.width * b.height > 1500 && visible(e); };
  let opaque = queryAll('canvas,embed,object').filter(big).length, pictures = queryAll('img,svg,input[type=image]').filter(e => big(e) && !name(e)).length;
  for (const r of roots()) for (const e of r.querySelectorAll('*')) if (e.tagName.includes('-') && !e.shadowRoot && !rootOfHost(e) && !e.childElementCount && big(e)) opaque++;
  return {opaque, pictures, hosts: closedHostCount(), busy: document.readyState !== 'complete' || !still(400) || !!document.querySelector('[aria-busy=true]'), ready: document.readyState, age: now() - seen.started};
}

// closedHostCount counts elements that have not been asked yet whether they hold a closed shadow tree.
function closedHostCount() {
  let n = 0;
  for (const r of roots()) for (const e of r.querySelectorAll(':defined')) if (e.tagName.includes('-') && !e.shadowRoot && !hostsAsked.has(e)) n++;
  if (document.body) for (const e of document.body.querySelectorAll('div:empty,span:empty,section:empty')) if (!e.shadowRoot && !hostsAsked.has(e) && n < 30 && e.getClientRects().length && e.getBoundingClientRect().height > 8) n++;
  return n;
}

// adopt gives numbers to elements that the accessibility tree found, and describes them.
function adopt(q, ...list) {
  for (const n of list) addRoot(n.getRootNode());
  list = list.map(n => n.nodeType === 1 ? n : n.parentElement || (n.getRootNode() || {}).host).filter(Boolean);
  return list.map(e => candidate(e, q, list));
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
