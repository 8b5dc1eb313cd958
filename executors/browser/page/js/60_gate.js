// The gate: what must hold before an action is sent. Everything here only looks, except for scrolling.

// stand is what to aim at for an element: itself, or its label, or its editor, when it is a field that is not shown itself.
const stand = e => editorHost(e) || (visible(e) || !e.labels ? e : [...e.labels].find(visible) || e);

// boxOf is the part of the element to aim at: its first line box that has an area.
function boxOf(e) {
  e = stand(e);
  const rs = [...e.getClientRects()].filter(r => r.width > 0 && r.height > 0);
  const r = rs.length > 1 && getComputedStyle(e).display === 'inline' ? rs[0] : e.getBoundingClientRect();
  if (!(r.width > 0 && r.height > 0) && rs.length === 0) for (const c of e.children) { const b = boxOf(c); if (b.w > 0 && b.h > 0) return b; }
  return {x: r.left, y: r.top, w: r.width, h: r.height};
}
const same = (a, b) => a.x === b.x && a.y === b.y && a.w === b.w && a.h === b.h;

// deepAt is the element at a point, into open shadow trees.
function deepAt(x, y) {
  let e = document.elementFromPoint(x, y);
  while (e && e.shadowRoot) {
    const i = e.shadowRoot.elementFromPoint(x, y);
    if (!i || i === e) break;
    e = i;
  }
  return e;
}

// takes reports whether a click on what was hit reaches the element.
function takes(e, hit) {
  if (!hit) return false;
  if (contains(e, hit)) return true;
  const host = editorHost(e);
  if (host && contains(host, hit)) return true;
  if (e.labels) for (const l of e.labels) if (contains(l, hit)) return true;
  for (let r = e.getRootNode(); r instanceof ShadowRoot; r = r.host.getRootNode()) if (r.mode === 'closed' && r.host === hit) return true;
  if (getComputedStyle(e).pointerEvents === 'none' && contains(hit, e)) return true;
  return false;
}

// pointOn finds a point where a click reaches the element, and says what is in the way when there is none.
function pointOn(e) {
  const b = boxOf(e), L = Math.max(b.x, 0), T = Math.max(b.y, 0), R = Math.min(b.x + b.w, innerWidth), B = Math.min(b.y + b.h, innerHeight);
  if (R - L <= 0 || B - T <= 0) return {out: true, box: b};
  let cover = null;
  for (const [fx, fy] of [[.5, .5], [.25, .5], [.75, .5], [.5, .25], [.5, .75], [.1, .1], [.9, .1], [.1, .9], [.9, .9]]) {
    const x = L + (R - L) * fx, y = T + (B - T) * fy, hit = deepAt(x, y);
    if (takes(e, hit)) return {x, y, box: b};
    cover = cover || hit;
  }
  return {cover, box: b};
}

// lacking says what stands between a disabled element and its being enabled: unticked boxes and empty fields of its form that must be filled.
function lacking(e) {
  const form = e.form || e.closest('form') || e.closest('[role=form],fieldset,dialog,section,article,main') || document.body;
  const out = [];
  for (const f of form.querySelectorAll('input,select,textarea,[role=checkbox],[role=switch]')) {
    if (f === e || f.disabled || !visible(f) && !(f.labels && [...f.labels].some(visible))) continue;
    const req = f.required || attr(f, 'aria-required') === 'true', r = role(f), n = name(f) || attr(f, 'name') || f.id || r;
    if ((r === 'checkbox' || r === 'switch') && !(f.checked || attr(f, 'aria-checked') === 'true')) out.push({w: req ? 0 : 2, s: `the box "${clip(n, 80)}" is not ticked`});
    else if (r === 'radio' && req && !form.querySelector(`input[type=radio][name="${CSS.escape(f.name)}"]:checked`)) out.push({w: 0, s: `no choice is made for "${clip(f.name || n, 80)}"`});
    else if ((editable(f) || f.tagName === 'SELECT') && !f.value) out.push({w: req ? 0 : 3, s: `the field "${clip(n, 80)}" is empty`});
    else if (f.willValidate && !f.validity.valid) out.push({w: 1, s: `the field "${clip(n, 80)}" is not valid: ${clip(f.validationMessage, 80)}`});
  }
  out.sort((a, b) => a.w - b.w);
  const must = out.filter(o => o.w < 2);
  return (must.length ? must : out).slice(0, 4).map(o => o.s);
}

// coverOf describes what is in the way: its outermost own layer, and a control that closes it when it is of a kind that is harmless to close.
const REFUSE = /^(reject( all)?( cookies)?|decline( all)?|refuse( all)?|deny( all)?|necessary( cookies)? only|only necessary( cookies)?|(use |accept )?(only )?(essential|necessary|required)( cookies)?( only)?|no,? thanks|no thank you|not now|maybe later|dismiss|skip|close|close (dialog|popup|banner|modal|this)|continue without (accepting|agreeing)|×|✕|✖|x|모두 거부|거부|닫기|필수만( 허용)?|나중에|拒否する?|すべて拒否|閉じる|必要なもののみ|後で)$/i;
const COOKIE = /cookie|consent|gdpr|privacy|쿠키|クッキー|プライバシー/i;
const NEWSLETTER = /newsletter|subscribe|sign up for (our|the)|mailing list|special offers?|뉴스레터|구독|メールマガジン|ニュースレター/i;
function layerOf(hit, e) {
  let layer = hit;
  for (let p = hit; p && p.tagName !== 'BODY' && p.tagName !== 'HTML' && !contains(p, e); p = up(p)) layer = p;
  return layer;
}
// passing reports whether what is in the way may go by itself: a veil that says that the page is at work holds nothing to act on.
// notice reports a small layer that tells of something and goes by itself.
const NOTICE = /toast|snack-?bar|notistack|sonner|growl/i, CLOSES = /^(close|dismiss|close (notification|message|this)|×|✕|✖|x|닫기|閉じる)$/i;
function notice(layer) {
  const b = layer.getBoundingClientRect();
  return b.width * b.height < innerWidth * innerHeight / 4 && !layer.matches('dialog,[role=dialog],[role=alertdialog],[aria-modal=true]') &&
    NOTICE.test([layer.id, attr(layer, 'class') || '', layer.localName].join(' '));
}
function passing(hit, e) {
  if (notice(layerOf(hit, e))) return true;
  const acts = 'a[href],button,input,select,textarea,summary,[tabindex],[role=button],[role=link],[role=listbox],[role=option],[role=dialog],[role=alertdialog],[aria-modal=true],dialog';
  const layer = layerOf(hit, e);
  return !layer.matches(acts) && !layer.querySelector(acts) && !queryAll('dialog[open],[role=dialog],[role=alertdialog],[aria-modal=true]').some(visible);
}
function coverOf(hit, e) {
  const list = hit.closest && hit.closest('[role=listbox],[role=option],[role=grid][id],datalist,.pac-container,.autocomplete,.suggestions');
  const act = deepActive();
  if (list && act && (editable(act) || role(act) === 'combobox')) {
    const box = list.closest('[role=listbox]') || list;
    return {words: `the suggestions of ${describe(act)}`, kind: 'suggestion list', close: number(keep(box)), control: '', blur: true};
  }
  const layer = layerOf(hit, e);
  let kind = '', close = null;
  const words = clip(norm((attr(layer, 'aria-label') || '') + ' ' + layer.id + ' ' + (typeof layer.className === 'string' ? layer.className : '') + ' ' + textOf(layer)), 3000);
  let scope = layer;
  if (!norm(layer.textContent)) { // a backdrop: its dialog is beside it
    const d = queryAll('dialog[open],[role=dialog],[role=alertdialog],[aria-modal=true]').filter(visible);
    if (d.length === 1) scope = d[0];
  }
  const all = scope === layer ? words : clip(norm(scope.id + ' ' + textOf(scope)), 3000);
  if (COOKIE.test(all)) kind = 'cookie banner';
  else if (NEWSLETTER.test(all) && !/password|log ?in|checkout|pay/i.test(all)) kind = 'newsletter popup';
  if (!kind && notice(layer)) {
    const c = [...layer.querySelectorAll('button,a,[role=button]')].filter(visible).find(c => CLOSES.test(norm(name(c))));
    if (c) return {words: describe(layer), kind: 'notice', close: number(keep(c)), control: describe(c)};
  }
  if (kind) {
    const cs = [...scope.querySelectorAll('button,a,[role=button],input[type=button],input[type=submit]')].filter(visible).filter(c => REFUSE.test(norm(name(c))) || REFUSE.test(norm(c.textContent)));
    const rank = c => /reject|declin|refus|deny|거부|拒否/i.test(name(c)) ? 0 : /necessary|essential|required|필수|必要/i.test(name(c)) ? 1 : 2;
    cs.sort((a, b) => rank(a) - rank(b));
    close = cs.length ? number(keep(cs[0])) : null;
  }
  return {words: describe(scope) + (scope !== layer ? '' : !name(scope) && norm(scope.textContent) ? ` (“${clip(norm(textOf(scope)), 80)}”)` : ''), kind, close, control: close ? describe(element(close)) : ''};
}

// outside reports whether the middle of the element is out of view.
function outside(e) {
  const b = boxOf(e);
  const cx = b.x + b.w / 2, cy = b.y + b.h / 2;
  let clipped = cx < 0 || cy < 0 || cx > innerWidth || cy > innerHeight;
  for (let p = up(e); p && !clipped && p.tagName !== 'BODY' && p.tagName !== 'HTML'; p = up(p)) {
    const st = getComputedStyle(p);
    if (/(auto|scroll|hidden|clip)/.test(st.overflow + st.overflowX + st.overflowY)) { const r = p.getBoundingClientRect(); clipped = cx < r.left || cx > r.right || cy < r.top || cy > r.bottom; }
    if (st.position === 'fixed') break;
  }
  return clipped;
}

// scroll brings the element into view where it is not, and reports whether it had to.
function scroll(e) {
  e = stand(e);
  const clipped = outside(e);
  if (clipped || window !== top) e.scrollIntoView({block: clipped ? 'center' : 'nearest', inline: clipped ? 'center' : 'nearest', behavior: 'instant'});
  return clipped;
}

// What an animation moves a box by.
const GEOMETRY = /^(transform|translate|rotate|scale|zoom|left|right|top|bottom|inset\w*|margin\w*|padding\w*|width|height|(min|max)(Width|Height)|offset\w*|fontSize|lineHeight|gap|flex\w*)$/;

// carried reports whether an animation is under way that may move the element: its own, or one of what holds it.
function carried(e) {
  for (const a of document.getAnimations()) {
    const f = a.effect, t = a.playState === 'running' && f && f.target;
    if (!t || !contains(t, e) || f.getComputedTiming().progress === null) continue;
    try { if (f.getKeyframes().some(k => Object.keys(k).some(p => GEOMETRY.test(p)))) return true; } catch { return true; }
  }
  return false;
}

// Pulse counts the frames over which a box stood still. Only frames that were really drawn tell that something stands still: on a machine
// that starves, a moving box looks the same for as long as no frame comes. Where nothing is drawn at all, many such looks stand for one.
const CARRIED_FRAMES = 6, UNDRAWN = 2;
class Pulse {
  constructor() { this.n = 0; this.last = 0; this.blanks = 0; }
  reset() { this.n = 0; this.blanks = 0; }
  beat(at, carried) {
    if (at > this.last) { this.last = at; this.n++; this.blanks = 0; } else if (!at && !carried && ++this.blanks >= UNDRAWN) { this.n++; this.blanks = 0; }
  }
  still(carried) { return this.n >= (carried ? CARRIED_FRAMES : 2); }
}

// gate waits until the element can be acted on, and returns where; or what stands in the way.
// o: {id, pointer: a point is needed, known: {box, at} from an earlier look, max ms, ahead}
// ahead: it is not certain yet that the element is meant. Then nothing is scrolled, and whatever is not as it should be is answered with
// 'later': a look that may scroll and wait has to follow.
async function gate(o) {
  let e = alive(element(o.id));
  if (!e || !e.isConnected) return {failure: 'stale'};
  if (o.ahead && (window !== top || outside(stand(e)))) return {failure: 'later'};
  const end = now() + o.max;
  let scrolled = !o.ahead && scroll(e), box = boxOf(e), since = now(), moved = false, replaced = 0, centred = false, at = 0;
  const pulse = new Pulse();
  if (scrolled) await frame();
  // An earlier look at the same box, at least a frame ago, on a page where nothing has changed or moves: then it is still already.
  const early = o.known && !scrolled && now() - o.known.at >= 15 && same(o.known.box, box) && still(60) && !document.getAnimations().some(a => a.playState === 'running' && a.effect && a.effect.target && contains(a.effect.target, e));
  if (early) pulse.n = 1;
  for (let first = true;; first = false) {
    if (!(first && early)) at = await frame();
    const rides = carried(e), step = () => { if (first && early) pulse.n++; else pulse.beat(at, rides); };
    if (!e.isConnected) {
      const twin = alive(e);
      if (!twin || ++replaced > 200) return {failure: 'stale', replaced};
      e = twin; number(e);
      const b = boxOf(e);
      if (same(b, box)) step(); else { pulse.reset(); box = b; }
    } else {
      const b = boxOf(e);
      if (same(b, box)) step(); else { pulse.reset(); box = b; moved = true; }
    }
    const late = now() >= end && !moved && !replaced && !rides; // hardly a frame was drawn, and in none of them did it move
    if ((pulse.still(rides) || late) && visible(stand(e))) {
      if (o.ahead) {
        const p = enabled(e) ? pointOn(e) : {};
        return p.x === undefined ? {failure: 'later'} : {id: number(keep(e)), x: p.x, y: p.y, box: p.box, words: describe(e), moved, ms: now() - since};
      }
      if (!enabled(e)) { const lacks = lacking(e); if (now() - since >= (o.patience || 0) * (lacks.length ? 1 : 4)) return {failure: 'disabled', lacking: lacks, words: describe(e)}; }
      else if (!o.pointer) break;
      else {
        const p = pointOn(e);
        if (p.x !== undefined) return {id: number(keep(e)), x: p.x, y: p.y, box: p.box, words: describe(e), moved, ms: now() - since};
        if (p.out) { if (scrolled) return {failure: 'covered', words: describe(e), cover: {words: 'the edge of the page: it lies outside of what can be scrolled to', kind: '', close: null}}; scroll(e); scrolled = true; e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'}); pulse.reset(); continue; }
        if (!centred) { centred = true; e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'}); pulse.reset(); await frame(); continue; } // out from under a sticky header
        if (now() - since >= (o.patience || 0) * (p.cover && passing(p.cover, e) ? 6 : 1)) return {failure: 'covered', words: describe(e), cover: p.cover ? coverOf(p.cover, e) : {words: 'nothing that can be named', kind: '', close: null}};
      }
    }
    if (now() >= end) {
      if (!visible(stand(e))) return {failure: 'hidden', words: describe(e)};
      return {failure: 'moving', words: describe(e)};
    }
  }
  return {id: number(keep(e)), x: 0, y: 0, box, words: describe(e), moved, ms: now() - since};
}

// begun are the gates that a search began at what it found, so that the frames that pass until it is decided count. Each is told once.
const begun = new Map(), BEGUN_FRESH = 100, MAX_BEGUN = 3;
function beginGates(found, max) {
  begun.clear();
  if (window !== top || found.length > MAX_BEGUN) return;
  for (const f of found) {
    const g = {at: now(), answer: gate({id: f.id, pointer: true, max, ahead: true})};
    g.answer.catch(() => {}); // told to whoever asks
    begun.set(f.id, g);
  }
}
// gateAhead is the gate that was begun at an element, or one that begins now.
function gateAhead(o) {
  const g = begun.get(o.id);
  begun.clear();
  return g && now() - g.at < BEGUN_FRESH ? g.answer : gate(o);
}

// aim is the last look before the dispatch: the point again, at this very moment.
function aim(id) {
  const e = alive(element(id));
  if (!e || !e.isConnected) return null;
  const p = pointOn(e);
  return p.x === undefined ? null : {id: number(keep(e)), x: p.x, y: p.y};
}

// owner looks at a frame's element from the page that holds it: where its content begins, how it is scaled, and what a point in it hits.
function owner(e, x, y) {
  const b = e.getBoundingClientRect(), st = getComputedStyle(e);
  const sx = e.offsetWidth ? b.width / e.offsetWidth : 1, sy = e.offsetHeight ? b.height / e.offsetHeight : 1;
  const ox = b.left + (e.clientLeft + parseFloat(st.paddingLeft || 0)) * sx, oy = b.top + (e.clientTop + parseFloat(st.paddingTop || 0)) * sy;
  const px = ox + x * sx, py = oy + y * sy, hit = deepAt(px, py);
  const inside = px >= 0 && py >= 0 && px < innerWidth && py < innerHeight;
  return {id: number(keep(e)), x: px, y: py, ok: hit === e, inside, cover: hit && hit !== e ? coverOf(hit, e) : null, within: containers(e), name: name(e), w: b.width, h: b.height};
}

// at describes what is at a point, for actions that were found in a picture.
function at(x, y) {
  const hit = deepAt(x, y);
  if (!hit) return null;
  let e = hit;
  for (let p = hit; p; p = up(p)) if (interactive(p)) { e = p; break; }
  if (e.tagName === 'LABEL' && e.control) e = e.control;
  return {id: number(keep(e)), frame: e.tagName === 'IFRAME' || e.tagName === 'FRAME', words: describe(e), enabled: enabled(e), lacking: enabled(e) ? [] : lacking(e), canvas: e.tagName === 'CANVAS', editable: editable(e)};
}

// look remembers where the elements with these numbers are, so that the gate can tell whether they moved since.
function look(ids) {
  const out = {};
  for (const id of ids) { const e = element(id); if (e) out[id] = {box: boxOf(e), at: now()}; }
  return out;
}

// gone resolves when the element cannot be seen any more, or after max ms.
const gone = (id, max) => until(() => { const e = element(id); return !e || !e.isConnected || !painted(e) || deepAt(boxOf(e).x + boxOf(e).w / 2, boxOf(e).y + boxOf(e).h / 2) === null; }, max);

// blurAway takes the focus off a field, so that its suggestions close; resolves to whether they did, with the field's value as it was.
async function blurAway(id, max) {
  const act = deepActive(), list = element(id), value = act && valueOf(act);
  if (act && act.blur) act.blur();
  const ok = await hiddenSoon(id, max);
  return {ok, same: !act || valueOf(act) === value, field: act ? number(keep(act)) : 0};
}
