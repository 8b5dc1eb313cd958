// What actions need from inside of the page: focus, selection, values.

// beginArmed arms, and then begins at once.
function beginArmed(o, append, want) { arm(o); return begin(o.id, append, want); }

// begin brings the focus into a field and selects what an insertion shall replace. It says how the text is to be put in, whether the field
// had the focus already, whether it is in the document itself (plain), where all events of it are heard, and what it holds (held, beside the
// wanted text).
function begin(id, append, want) {
  const e = alive(element(id)), had = deepActive() === e, s = focusField(id, append);
  if (armed && e && !s.failure) armed.typeOnlyInto(e);
  return {...s, had, plain: !!e && e.getRootNode() === document, held: typeof want === 'string' ? holds(id, want) : null};
}
function focusField(id, append) {
  const e = alive(element(id));
  if (!e || !e.isConnected) return {failure: 'stale'};
  const kind = e.tagName === 'INPUT' ? e.type : e.isContentEditable ? 'contenteditable' : e.tagName.toLowerCase();
  if (e.readOnly) return {failure: 'readonly', words: describe(e)};
  if (!editable(e) && !/^(color|range)$/.test(kind)) return {failure: 'not_a_field', words: describe(e)};
  if (deepActive() !== e) e.focus({preventScroll: true});
  const host = editorHost(e);
  if (host) return {kind: 'editor', editor: true, set: false, value: editorText(host), focused: focusedOf(e)};
  if (/^(date|time|datetime-local|month|week|color|range)$/.test(kind)) return {kind, set: true, value: e.value};
  if (kind === 'contenteditable') {
    const r = document.createRange(), s = e.getRootNode().getSelection ? e.getRootNode().getSelection() : getSelection();
    r.selectNodeContents(e);
    if (append) r.collapse(false);
    s.removeAllRanges(); s.addRange(r);
  } else if (append) {
    try { e.setSelectionRange(e.value.length, e.value.length); } catch { /* number and e-mail fields have no selection: the caret is at the end */ }
  } else e.select();
  return {kind, set: false, value: kind === 'contenteditable' ? editableText(e) : e.value, focused: focusedOf(e)};
}

// holds is what a field holds now, and whether it has the focus; for a password only whether it is the text that was meant.
function holds(id, text) {
  const e = alive(element(id));
  if (!e) return null;
  const v = fieldText(e);
  return {same: v === text, empty: v === '', length: v.length, hash: hash(7, v), focused: focusedOf(e)};
}

// editorHolds resolves to whether an editor comes to hold the text, within max ms: it draws its lines with the next frame.
const editorHolds = (id, text, max) => until(() => { const e = alive(element(id)); return !!e && fieldText(e) === text; }, max);

// typed is holds after typing, and editorTyped editorHolds: with how many events were kept from something else that had got the focus (strays),
// and how many the field took, in all (took) and of text (text).
const endEntry = () => armed ? armed.typedAll() : {strays: 0, took: 0, text: 0};
function typed(id, text) { const n = endEntry(), h = holds(id, text); return h && {...h, ...n}; }
async function editorTyped(id, text, max) { const n = endEntry(); return {...n, is: !n.strays && await editorHolds(id, text, max)}; }

// pasteText gives a field text as a paste does.
function pasteText(id, text) {
  const e = alive(element(id));
  if (!e) return false;
  const data = new DataTransfer();
  data.setData('text/plain', text);
  e.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true, composed: true}));
  return true;
}

// put sets a value where typing is impossible (dates, colours, sliders) or must be undone, with the events that a user's change has.
function put(id, value) {
  const e = alive(element(id));
  if (!e || editorHost(e)) return false; // an editor's text is its own; setting the field would change nothing
  if (e.isContentEditable) { if (editableText(e) !== value) { e.focus({preventScroll: true}); e.innerText = value; e.dispatchEvent(new InputEvent('input', {bubbles: true, composed: true})); } return editableText(e) === value; }
  if (e.value !== value) {
    e.value = value;
    e.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
    e.dispatchEvent(new Event('change', {bubbles: true}));
  }
  return e.value === value;
}

// choose selects options by value or label. Labels win over values only where no value is the same.
function choose(id, wanted) {
  const e = alive(element(id));
  if (!e || !e.isConnected) return {failure: 'stale'};
  if (e.tagName !== 'SELECT') return {failure: 'not_a_select', words: describe(e), list: listTrigger(e) || role(e) === 'listbox'};
  if (wanted.length > 1 && !e.multiple) return {failure: 'single', words: describe(e)};
  const opts = [...e.options], pick = [];
  for (const w of wanted) {
    const tiers = [o => norm(o.label) === norm(w), o => o.value === w, o => fold(o.label) === fold(w), o => fold(o.value) === fold(w)];
    let hit = null;
    for (const t of tiers) { const hs = opts.filter(t); if (hs.length) { if (hs.length > 1 && new Set(hs.map(h => h.value)).size > 1) return {failure: 'ambiguous_option', option: w, options: hs.map(o => norm(o.label) + ' (' + o.value + ')').slice(0, 10)}; hit = hs[0]; break; } }
    if (!hit) return {failure: 'no_option', option: w, options: opts.slice(0, 30).map(o => norm(o.label))};
    if (hit.disabled || hit.closest('optgroup[disabled]')) return {failure: 'option_disabled', option: w};
    pick.push(hit);
  }
  return {pick: pick.map(o => o.index), already: opts.every(o => o.selected === pick.includes(o)), before: opts.filter(o => o.selected).map(o => o.index)};
}

// choices says what can be chosen in a list that the page made itself, and how it is to be opened.
function choices(id) {
  const e = alive(element(id)), none = {role: 'option', open: false, many: false, types: false, chosen: []};
  if (!e) return none;
  const r = role(e), kinds = r === 'radiogroup' || e.tagName === 'FIELDSET' ? ['radio'] : attr(e, 'aria-haspopup') === 'menu' ? ['menuitem', 'menuitemradio', 'option'] :
    attr(e, 'aria-haspopup') === 'tree' ? ['treeitem'] : ['option'];
  const list = r === 'listbox' || r === 'radiogroup' || e.tagName === 'FIELDSET' ? e : listOf(e);
  const many = !!list && attr(list, 'aria-multiselectable') === 'true';
  const opts = list ? [...list.querySelectorAll(kinds.map(k => `[role=${k}]`).join(',') + (kinds[0] === 'radio' ? ',input[type=radio]' : ''))] : [];
  return {role: kinds[0], open: opts.some(visible), many, types: editable(e) || e.tagName === 'INPUT', chosen: many ? opts.filter(o => attr(o, 'aria-selected') === 'true' || attr(o, 'aria-checked') === 'true').map(o => name(o)) : []};
}
function listOf(e) {
  const ids = (attr(e, 'aria-controls') || attr(e, 'aria-owns') || '').split(/\s+/).filter(Boolean), root = e.getRootNode();
  for (const i of ids) { const c = (root.getElementById && root.getElementById(i)) || document.getElementById(i); if (c) return c; }
  return e.querySelector('[role=listbox]');
}
function ownOption(id, label) {
  const e = alive(element(id)), list = e && (role(e) === 'listbox' ? e : listOf(e));
  if (!list) return 0;
  const hits = [...list.querySelectorAll('[role=option],[role=treeitem],[role=menuitem],[role=radio]')].filter(o => visible(o) && fold(name(o)) === fold(label));
  return hits.length === 1 ? number(keep(hits[0])) : 0;
}

// fileField is the file field that a target stands for.
function fileField(id) {
  const e = alive(element(id)), none = {id: 0, multiple: false, disabled: false, folder: false, words: e ? describe(e) : ''};
  if (!e) return none;
  const isFile = x => !!x && x.tagName === 'INPUT' && x.type === 'file';
  let f = isFile(e) ? e : e.tagName === 'LABEL' && isFile(e.control) ? e.control : null;
  if (!f) { const inside = queryWithin(e, 'input[type=file]'); if (inside.length === 1) f = inside[0]; }
  return f ? {id: number(keep(f)), multiple: f.multiple, disabled: f.matches(':disabled'), folder: f.webkitdirectory === true, words: describe(f)} : none;
}
function emptyFiles(id) {
  const e = alive(element(id));
  if (!e || !e.files) return false;
  e.value = '';
  e.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
  e.dispatchEvent(new Event('change', {bubbles: true}));
  return !e.files.length;
}
const filesOf = id => { const e = alive(element(id)); return e && e.files ? [...e.files].slice(0, 100).map(f => f.name) : []; };

// setOptions selects the options with these indexes, and no others.
function setOptions(id, indexes) {
  const e = alive(element(id));
  if (!e) return false;
  e.focus({preventScroll: true});
  let changed = false;
  for (const o of e.options) { const want = indexes.includes(o.index); if (o.selected !== want) { o.selected = want; changed = true; } }
  if (changed) {
    if (armed) armed.enter();
    e.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
    e.dispatchEvent(new Event('change', {bubbles: true}));
  }
  return [...e.options].every(o => o.selected === indexes.includes(o.index));
}

// keyFor focuses the element and says which key activates it; '' when none does.
function keyFor(id, focusOnly) {
  const e = alive(element(id));
  if (!e || !e.isConnected) return {failure: 'stale'};
  if (!focusOnly && !stillMeant(e)) return {failure: 'stale'};
  const r = role(e), native = /^(BUTTON|A|INPUT|SUMMARY|SELECT|TEXTAREA|AREA)$/.test(e.tagName);
  e.focus({preventScroll: true});
  const focused = focusedOf(e);
  if (focusOnly) return {focused};
  let key = '';
  if (focused) {
    if (/^(checkbox|radio|switch)$/.test(r)) key = native ? 'Space' : 'Space';
    else if (e.tagName === 'A' || e.tagName === 'AREA' || r === 'link') key = native ? 'Enter' : '';
    else if (native && (r === 'button' || e.tagName === 'SUMMARY')) key = 'Enter';
    else if (/^(button|menuitem|tab|option)$/.test(r)) key = 'Enter';
  }
  return {focused, key};
}

// activate clicks the element as its own method does, without a mouse and without keys.
function activate(id) {
  const e = alive(element(id));
  if (!e || !e.isConnected || !e.click) return false;
  if (armed) armed.enter();
  e.click();
  return true;
}

// blurTo gives the focus back.
function restoreFocus(id) { const e = id ? element(id) : null; if (e && e.isConnected) e.focus({preventScroll: true}); else if (deepActive()) deepActive().blur(); }

// closer finds the control that closes a dialog without agreeing to anything.
const CLOSE = /^(close|cancel|dismiss|no|not now|later|back|×|✕|✖|x|닫기|취소|아니요|閉じる|キャンセル|いいえ)$/i;
const ONLY = /^(ok|okay|got it|understood|확인|了解|はい|continue|close|dismiss)$/i;
function closer(id) {
  const d = element(id);
  if (!d || !d.isConnected || !painted(d)) return {gone: true};
  const cs = queryWithin(d, 'button,[role=button],input[type=button],a[href]').filter(visible);
  let c = cs.find(x => CLOSE.test(norm(name(x))) || CLOSE.test(norm(x.textContent)));
  if (!c && cs.length === 1 && ONLY.test(norm(name(cs[0]))) && (role(d) === 'alertdialog' || ERRORISH.test(textOf(d)))) c = cs[0]; // an error with one way out: acknowledging it agrees to nothing
  return {gone: false, close: c ? number(keep(c)) : 0, words: c ? describe(c) : ''};
}
const queryWithin = (e, s) => [...e.querySelectorAll(s), ...(e.shadowRoot ? e.shadowRoot.querySelectorAll(s) : [])];

// dims is the size of a picture of the element, in CSS pixels of the page.
function rectOf(id) {
  const e = alive(element(id));
  if (!e) return null;
  const r = e.getBoundingClientRect();
  return {x: r.left + scrollX, y: r.top + scrollY, w: r.width, h: r.height};
}
const pageSize = () => ({w: Math.max(document.documentElement.scrollWidth, innerWidth), h: Math.max(document.documentElement.scrollHeight, innerHeight), vw: innerWidth, vh: innerHeight, dpr: devicePixelRatio});

function read(id) {
  const e = alive(element(id));
  if (!e) return null;
  const v = valueOf(e);
  return {text: editable(e) || e.tagName === 'SELECT' ? (e.tagName === 'SELECT' ? [...e.selectedOptions].map(o => norm(o.label)).join(', ') : v || '') : pageText(e), value: v === undefined ? '' : v, has: v !== undefined, words: describe(e)};
}

const hiddenSoon = (id, max) => until(() => { const e = element(id); return !e || !e.isConnected || !painted(e); }, max);
const checkedSoon = (id, want, max) => until(() => { const e = alive(element(id)); return !!e && !!checkedOf(e) === want; }, max);
