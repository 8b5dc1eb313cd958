// What actions need from inside of the page: focus, selection, values.

// ready brings the focus into a field and selects what an insertion shall replace. It says how the text is to be put in.
function begin(id, append) {
  const e = alive(element(id));
  if (!e || !e.isConnected) return {failure: 'stale'};
  const kind = e.tagName === 'INPUT' ? e.type : e.isContentEditable ? 'contenteditable' : e.tagName.toLowerCase();
  if (e.readOnly) return {failure: 'readonly', words: describe(e)};
  if (!editable(e) && !/^(color|range)$/.test(kind)) return {failure: 'not_a_field', words: describe(e)};
  if (deepActive() !== e) e.focus({preventScroll: true});
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

// holds is what a field holds now; for a password only whether it is the text that was meant.
function holds(id, text) {
  const e = alive(element(id));
  if (!e) return null;
  const v = e.isContentEditable ? editableText(e) : String(e.value);
  return {same: v === text, empty: v === '', length: v.length, hash: hash(7, v)};
}

// put sets a value where typing is impossible (dates, colours, sliders) or must be undone, with the events that a user's change has.
function put(id, value) {
  const e = alive(element(id));
  if (!e) return false;
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
