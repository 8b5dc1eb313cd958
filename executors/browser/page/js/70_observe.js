// Evidence: the state of the page, of the target and of the elements that conditions ask for, in one look.

const MAX_TEXT = 100000, MAX_LIST = 50;
const ERRORISH = /error|fail(ed|ure)|invalid|went wrong|not (be )?(saved|sent|completed|possible|allowed|found)|could ?n.t|cannot|can.t|denied|refused|unable|problem|오류|실패|잘못|エラー|失敗|無効|できません/i;

// tickable reports whether e is, stands for, or holds a box whose tick can be read.
function tickable(e) {
  const box = x => !!x && (checkedOf(x) !== undefined || /^(checkbox|radio|switch|menuitemcheckbox|menuitemradio|option)$/.test(role(x)));
  return box(e) || e.tagName === 'LABEL' && box(e.control) || queryWithin(e, 'input[type=checkbox],input[type=radio],[aria-checked]').length > 0;
}
function checkedOf(e) {
  if ('checked' in e && /^(checkbox|radio)$/.test(e.type)) return e.indeterminate ? false : e.checked;
  const a = attr(e, 'aria-checked');
  return a === null ? undefined : a === 'true';
}
const flag = (e, n) => { const a = attr(e, n); return a === null ? undefined : a === 'true'; };
function expandedOf(e) {
  if (e.tagName === 'SUMMARY' && e.parentElement && e.parentElement.tagName === 'DETAILS') return e.parentElement.open;
  if (e.tagName === 'DETAILS') return e.open;
  return flag(e, 'aria-expanded');
}
function valueOf(e) {
  if (e.type === 'password') return undefined;
  const host = editorHost(e);
  if (host) return clip(editorText(host), 10000);
  if (/^(INPUT|TEXTAREA|SELECT|OUTPUT|METER|PROGRESS)$/.test(e.tagName)) return clip(String(e.value), 10000);
  if (e.isContentEditable) return clip(editableText(e), 10000);
  const a = attr(e, 'aria-valuetext') || attr(e, 'aria-valuenow');
  return a === null || a === '' ? undefined : a;
}
// editableText is the text of an editable region, a line a block: paragraphs are lines, whatever space is between them.
function editableText(e) {
  const lines = [''];
  let fresh = true; // nothing was put into the present line yet
  const newline = () => { lines.push(''); fresh = true; };
  const visit = n => {
    if (n.nodeType === 3) { if (n.data) { lines[lines.length - 1] += /^pre/.test(getComputedStyle(n.parentElement).whiteSpace) ? n.data : n.data.replace(/[\n\t]/g, ' '); fresh = false; } return; }
    if (n.nodeType !== 1) return;
    if (n.tagName === 'BR') { if (n.nextSibling || !/^(block|list-item)$/.test(getComputedStyle(n.parentElement).display) || n.previousSibling && n.parentElement === e) { newline(); started = true; } else fresh = false; return; }
    const st = getComputedStyle(n);
    if (st.display === 'none' || attr(n, 'contenteditable') === 'false' && !norm(n.textContent)) return;
    const block = n !== e && /^(block|list-item|flex|grid|table)/.test(st.display);
    if (block && started) newline();
    if (block) started = true;
    for (const c of n.childNodes) { visit(c); if (c.nodeType === 3 && c.data.trim() || c.nodeType === 1 && !/^(block|list-item)/.test(getComputedStyle(c).display)) started = true; }
  };
  let started = false;
  visit(e);
  return lines.join('\n').replace(/\u00a0/g, ' ').replace(/[\u200b\ufeff]/g, '').replace(/\n$/, '');
}
const focusedOf = e => deepActive() === e || (e.contains(document.activeElement) && e.isContentEditable);
const shownText = e => e.type === 'password' ? '' : clip(norm(e.innerText !== undefined ? e.innerText : e.textContent), 5000);

// target is the state of the element that is acted on; every field has a value, so that conditions never read nothing.
// wanted is the text, or the list of options, that an action is to leave there, when it is to leave one; with append, behind what was there.
function target(id, wanted, append) {
  const gone = {concealed: false, entered: false, exists: false, visible: false, enabled: false, focused: false, checked: false, selected: [], selected_labels: [], expanded: false, pressed: false, value: '', text: '', name: '', role: '', editable: false, tickable: false};
  const e = id ? alive(element(id)) : null;
  if (!e || !e.isConnected) return gone;
  const opts = e.tagName === 'SELECT' ? [...e.selectedOptions] : [];
  const custom = opts.length ? [] : queryIn(e, '[role=option][aria-selected=true],[role=treeitem][aria-selected=true],[role=option][aria-checked=true]');
  const picked = role(e) === 'radiogroup' || e.tagName === 'FIELDSET' ? [...e.querySelectorAll('input[type=radio],[role=radio]')].filter(checkedOf) : [];
  custom.push(...picked);
  const shown = listTrigger(e) ? [shownText(e), shownText(e).replace(/^[^:：]{1,60}[:：]\s*/, '')] : // “Genre: Jazz” shows Jazz
    attr(e, 'role') === 'combobox' && 'value' in e ? [e.value] : [];
  return {
    concealed: conceals(e), entered: Array.isArray(wanted) ? chosen(e, wanted) : typeof wanted === 'string' && editable(e) && (append ? fieldText(e).endsWith(wanted) : entered(fieldText(e), wanted, e)),
    exists: true, visible: visible(stand(e)), enabled: enabled(e), focused: focusedOf(e), checked: checkedOf(e) || false,
    selected: opts.length ? opts.map(o => o.value) : custom.map(o => attr(o, 'data-value') || (o.type === 'radio' ? o.value : norm(o.textContent))),
    selected_labels: opts.length ? opts.map(o => norm(o.label)) : (custom.length ? custom.map(o => name(o) || norm(o.textContent)) : []).concat(shown).filter(Boolean),
    expanded: expandedOf(e) || false, pressed: flag(e, 'aria-pressed') || false, value: conceals(e) ? '' : valueOf(e) || '', text: shownText(e), name: name(e), role: role(e), editable: editable(e), tickable: tickable(e),
  };
}
// chosen reports whether each wanted option is selected: the one that is written so, or, where none is, the one that differs in letter case only.
function chosen(e, wanted) {
  if (e.tagName !== 'SELECT') return false;
  const opts = [...e.options], same = [(o, w) => norm(o.label) === norm(w) || o.value === w, (o, w) => fold(o.label) === fold(w) || fold(o.value) === fold(w)];
  return wanted.every(w => { const tier = same.find(f => opts.some(o => f(o, w))); return !!tier && opts.some(o => o.selected && tier(o, w)); });
}
// entered reports whether a field holds what was typed, in the field's own form: without spaces around it, in capitals or small letters
// throughout, with the separators of a telephone number or a date, with a currency's sign and separated thousands. Nothing that has a meaning
// may be missing, added or changed.
function entered(has, wanted, e) {
  if (has === wanted) return true;
  const w = wanted.trim(), h = has.trim();
  if (!w || !h || e.type === 'password' || conceals(e)) return false;
  if (h === w || h === w.toUpperCase() || h === w.toLowerCase()) return true;
  const bare = s => s.replace(/[\s()/-]/g, '');
  if (/^\+?\d{6,}$/.test(bare(w)) && bare(h) === bare(w) && /^-/.test(h) === /^-/.test(w)) return true;
  if (!/^-?\d+(\.\d+)?$/.test(w)) return false;
  const m = /^(-?)[$€£¥₩]?\s?(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?\s?[$€£¥₩]?$/.exec(h);
  const grouped = !!m && m[2].includes(','), sign = /[$€£¥₩]/.test(h);
  return !!m && (sign || grouped && /^(en|ja|ko|zh)?\b/i.test(document.documentElement.lang)) && m[1] + m[2].replace(/,/g, '') + (m[3] || '') === w;
}
const listTrigger = e => e.tagName !== 'SELECT' && (attr(e, 'role') === 'combobox' || attr(e, 'aria-haspopup') === 'listbox') && e.tagName !== 'INPUT';
const queryIn = (e, s) => { const ids = attr(e, 'aria-controls') || attr(e, 'aria-owns'); const c = ids && document.getElementById(ids); return [...e.querySelectorAll(s), ...(c ? c.querySelectorAll(s) : [])]; };

function state(e) {
  const s = {exists: true, visible: visible(e), enabled: enabled(e), focused: focusedOf(e)};
  const put = (k, v) => { if (v !== undefined) s[k] = v; };
  put('checked', checkedOf(e));
  const picked = e.tagName === 'OPTION' ? e.selected : flag(e, 'aria-selected');
  if (e.tagName === 'SELECT') {
    put('selected', [...e.selectedOptions].map(o => o.value));
    put('selected_labels', [...e.selectedOptions].map(o => norm(o.label)));
  } else if (picked !== undefined) {
    put('selected', picked ? [e.tagName === 'OPTION' ? e.value : norm(e.textContent)] : []);
    put('selected_labels', picked ? [norm(e.label || e.textContent)] : []);
  }
  put('expanded', expandedOf(e));
  put('pressed', flag(e, 'aria-pressed'));
  put('value', valueOf(e));
  put('text', shownText(e));
  put('name', name(e));
  put('role', role(e));
  put('concealed', conceals(e));
  return s;
}

const ROLE_KIN = {textbox: ['textbox', 'searchbox'], checkbox: ['checkbox', 'switch', 'menuitemcheckbox'], img: ['img', 'image'], combobox: ['combobox', 'listbox'], button: ['button', 'summary']};
const roleFits = (want, is) => !want || want === is || (ROLE_KIN[want] || []).includes(is);

// ask answers element(name, role): the best of those whose name is the same, letter for letter or, failing that, but for case and spaces.
function ask(q) {
  const want = norm(q.name), low = want.toLowerCase();
  let best = 0, list = [];
  const offer = (rank, e) => { if (rank > best) { best = rank; list = [e]; } else if (rank === best) list.push(e); };
  const found = gather({name: q.name}) || [];
  for (const e of found) {
    if (!roleFits(q.role, role(e))) continue;
    const acc = name(e), all = names(e).slice(0, 6);
    const rank = acc === want ? 4 : all.includes(want) ? 3 : acc.toLowerCase() === low ? 2 : all.some(n => n.toLowerCase() === low) ? 1 : 0;
    if (rank) offer(rank, e);
  }
  if (!q.name && q.role) for (const e of queryAll('*')) if (role(e) === q.role) offer(1, e);
  list = merge(list);
  const shown = list.filter(visible);
  if (!list.length) return {rank: 0, state: {exists: false, visible: false, count: 0}};
  const s = state((shown.length ? shown : list)[0]);
  s.count = (shown.length ? shown : list).length;
  return {rank: best * 2 + (shown.length ? 1 : 0), state: s};
}

// pageText is the visible text, open shadow trees included.
function pageText(root = document.body) {
  if (!root) return '';
  let s = root.innerText || '';
  for (const r of roots()) if (r instanceof ShadowRoot && (root === document.body || contains(root, r.host)) && visible(r.host)) for (const c of r.children) if (c.innerText && c.tagName !== 'STYLE') s += '\n' + c.innerText;
  return s.length > MAX_TEXT ? s.slice(0, MAX_TEXT) : s;
}

function modals(list) {
  const out = [];
  for (const e of list) {
    if (!e.matches('dialog[open],[role=dialog],[role=alertdialog],[aria-modal=true]')) continue;
    if (!painted(e) || out.some(o => contains(o.e, e))) continue;
    if (e.tagName === 'DIALOG' && !e.matches(':modal') && attr(e, 'aria-modal') !== 'true' && attr(e, 'role') === null) continue;
    const h = e.querySelector(HEADING);
    const n = name(e) || (h ? norm(textOf(h)) : '') || clip(norm(textOf(e)), 80);
    const text = clip(norm(textOf(e)), 300);
    out.push({e, name: n, text, error: role(e) === 'alertdialog' ? ERRORISH.test(text) || true : ERRORISH.test(text), id: number(e)});
    if (out.length >= MAX_LIST) break;
  }
  return out;
}

// observe takes evidence. o: {target, elements, text, mark, picture}
function observe(o) {
  if (o.mark) marked = {call: o.mark, at: now(), target: o.target || 0, base: stateNow()};
  const list = unionAll(['dialog', '[role=dialog]', '[role=alertdialog]', '[aria-modal]', '[role=alert]', 'video', 'audio']).sort((a, b) => a === b ? 0 : order(a, b));
  const dialogs = modals(list);
  const errors = [];
  for (const e of list) { if (attr(e, 'role') !== 'alert') continue; const t = clip(norm(textOf(e)), 500); if (t && painted(e) && !errors.includes(t)) errors.push(t); if (errors.length >= MAX_LIST) break; }
  for (const d of dialogs) if (d.error && !errors.includes(d.text)) errors.push(d.text);
  if (armed && !o.mark) for (const t of armed.refusals()) if (!errors.includes(t)) errors.push(t);
  const down = errorPage();
  if (down) errors.push(down);
  return {
    url: location.href, title: document.title, ready: document.readyState === 'complete', state: document.readyState,
    modals: dialogs.map(d => ({name: d.name, text: d.text, error: d.error, id: d.id})), errors,
    media: list.filter(e => /^(VIDEO|AUDIO)$/.test(e.tagName)).slice(0, MAX_LIST).map(m => ({paused: m.paused, current_time: m.currentTime || 0, ended: m.ended})),
    text: o.text ? pageText() : '',
    target: o.target ? target(o.target, o.wanted, o.append) : null,
    elements: (o.elements || []).map(ask),
    effect: armed ? armed.report() : null,
    secret: !!o.picture && revealed(), stamp: stamp(),
  };
}

// errorPage is what a short page calls itself whose title or only heading says nothing but that a service failed: servers show such pages with
// status 200, too.
const SERVICE_ERROR = /^((oops|sorry|whoops)[,!.: ]*)?((4\d\d|50\d)\b.{0,40}|(the )?(service|server|site|page) (is )?((temporarily|currently) )?(unavailable|not found|down)|internal server error|server error|bad gateway|gateway time-?out|(an? )?(unexpected |internal |application )?error( (has )?occurred)?|something went wrong|access denied|forbidden|일시적인 오류가 발생했습니다|서비스를 사용할 수 없습니다|サービスを利用できません|エラーが発生しました)[.!…]*$/i;
function errorPage() {
  if (window !== top || !document.body) return '';
  const hs = document.querySelectorAll('h1');
  const said = document.title.split(/\s[-–—|·:]\s/).concat(hs.length === 1 && visible(hs[0]) ? [hs[0].textContent] : []).map(norm);
  const s = said.find(t => t.length < 80 && SERVICE_ERROR.test(t));
  return s && document.body.textContent.length < 3000 ? `The page says: “${s}”` : '';
}

// stamp changes with what is known to change the looks of the page.
const stamp = () => [seen.last, seen.lastInput, seen.scrolls];

// revealed reports whether a field shows a secret in plain: one that was a password's, or that is made for a secret. Nobody takes a picture
// of it. A field of type password shows dots.
const SECRET_USE = /\b(current-password|new-password|one-time-code|cc-number|cc-csc)\b/, SECRET_NAME = /passw|passcode|passphrase|\bpwd\b|\bcv[cv]\b/i;
function revealed() {
  return unionAll(['input']).some(e => e.type !== 'password' && e.type !== 'hidden' && e.value && conceals(e) && painted(e));
}
// conceals reports whether what a field holds is a secret.
const conceals = e => e.tagName === 'INPUT' && !/^(checkbox|radio|submit|button|image|reset)$/.test(e.type) && (e.type === 'password' || concealed.has(e) ||
  SECRET_USE.test(attr(e, 'autocomplete') || '') || SECRET_NAME.test([e.name, e.id, attr(e, 'aria-label') || ''].join(' ')));
let marked = null;

// recall tells a process that has just come what this page knows of the latest attempt at a call. Attempts are named CALL/NUMBER.
function recall(call) {
  const mine = x => !!x && typeof x.call === 'string' && x.call.startsWith(call + '/');
  const known = mine(marked), hit = mine(armed) && (!known || armed.call === marked.call);
  const cur = stateNow();
  return {
    known: known || hit, armed: hit ? armed.report() : null, target: hit && armed.el ? number(armed.el) : known ? marked.target : 0,
    moved: known ? Object.keys(marked.base).filter(k => k !== 'scroll' && marked.base[k] !== cur[k]) : [],
    input: known && seen.lastInput > marked.at, changed: known && seen.last > marked.at,
    requests: known ? performance.getEntriesByType('resource').filter(r => r.startTime > marked.at && !/favicon/.test(r.name)).length : 0,
  };
}

// waitText resolves when a text is visible (or gone), or after max ms; to whether it is.
function waitText(text, gone, max) {
  const want = norm(text);
  return until(() => norm(pageText()).includes(want) !== gone, max);
}

// until resolves when f holds, tried after every change, or after max ms.
function until(f, max) {
  return new Promise(resolve => {
    const end = now() + max;
    let timer, last = -1e9;
    const done = ok => { waiting.delete(check); for (const t of SIGNS_OF_CHANGE) removeEventListener(t, check, true); clearTimeout(timer); resolve(ok); };
    const check = () => {
      clearTimeout(timer);
      const t = now();
      if (t - last < 16) { timer = setTimeout(check, 16 - (t - last)); return; }
      last = t;
      if (f()) return done(true);
      if (t >= end) return done(false);
      timer = setTimeout(check, Math.min(end - t, 250)); // what changes without a mutation (a style sheet, an animation) is seen by this
    };
    waiting.add(check);
    for (const t of SIGNS_OF_CHANGE) addEventListener(t, check, true);
    check();
  });
}
const SIGNS_OF_CHANGE = ['input', 'change', 'toggle', 'transitionend', 'animationend', 'load', 'resize', 'scroll'];

// storageNow is what the page has in its storage; nothing when that is too much to keep.
const MAX_STORAGE = 262144;
function storageNow() {
  let room = MAX_STORAGE;
  const copy = s => { const o = {}; for (let i = 0; i < s.length; i++) { const k = s.key(i), v = s.getItem(k) || ''; room -= k.length + v.length; if (room < 0) return {}; o[k] = v; } return o; };
  try {
    const local = copy(localStorage), session = copy(sessionStorage);
    return room < 0 ? null : {origin: location.origin, local, session};
  } catch { return null; }
}
