// Scrolling: the part of the page that scrolls, one step of it, and bringing an element into view.

const AXES = {up: ['y', -1], down: ['y', 1], left: ['x', -1], right: ['x', 1]};
const room = (e, axis) => axis === 'y' ? e.scrollHeight - e.clientHeight : e.scrollWidth - e.clientWidth;
function scrolls(e, axis) {
  if (e === document.scrollingElement) return room(e, axis) > 1 && !/hidden|clip/.test(getComputedStyle(e)[axis === 'y' ? 'overflowY' : 'overflowX']);
  return room(e, axis) > 1 && /auto|scroll|overlay/.test(getComputedStyle(e)[axis === 'y' ? 'overflowY' : 'overflowX']);
}

// scroller is what scrolls around an element; without one, the page, or where that does not scroll, the largest part of it that does.
function scroller(e, axis) {
  for (let p = e; p; p = up(p)) if (p !== document.body && scrolls(p, axis)) return p;
  if (e) { for (const c of queryWithin(e, '*')) if (scrolls(c, axis) && visible(c)) return c; }
  const d = document.scrollingElement || document.documentElement;
  if (scrolls(d, axis)) return d;
  let best = null, size = 0;
  for (const r of roots()) for (const c of r.querySelectorAll('div,main,section,ul,ol,article,nav,aside,table,tbody,pre,textarea')) {
    if (room(c, axis) <= 1 || !scrolls(c, axis) || !visible(c)) continue;
    const s = c.clientWidth * c.clientHeight;
    if (s > size) { best = c; size = s; }
  }
  return best || d;
}

// scrollBox scrolls what is around the element (or is it, by its number from an earlier call) by so many pixels, and says where it stands.
function scrollBox(id, dir, by) {
  const [axis, sign] = AXES[dir], given = id ? alive(element(id)) : null;
  const e = given && scrolls(given, axis) ? given : scroller(given, axis);
  const page = e === document.scrollingElement, at = () => axis === 'y' ? e.scrollTop : e.scrollLeft;
  const was = at();
  if (by) e.scrollBy({left: axis === 'x' ? sign * by : 0, top: axis === 'y' ? sign * by : 0, behavior: 'instant'});
  const is = at(), r = page ? {left: 0, top: 0, width: innerWidth, height: innerHeight} : e.getBoundingClientRect();
  const first = Math.abs(is) <= 1, last = Math.abs(is) >= room(e, axis) - 1; // to the left of right-to-left text positions are negative
  const ahead = getComputedStyle(e).direction === 'rtl' && axis === 'x' ? sign < 0 : sign > 0;
  return {id: number(keep(e)), left: e.scrollLeft, top: e.scrollTop, moved: is !== was, start: ahead ? first : last, end: ahead ? last : first,
    size: axis === 'y' ? e.scrollHeight : e.scrollWidth, page: page ? (axis === 'y' ? innerHeight : innerWidth) : (axis === 'y' ? e.clientHeight : e.clientWidth),
    words: page ? 'the page' : describe(e), x: r.left + r.width / 2, y: r.top + r.height / 2};
}

function scrollTo(id, left, top) {
  const e = element(id);
  if (!e || !e.isConnected) return false;
  e.scrollTo({left, top, behavior: 'instant'});
  return Math.abs(e.scrollLeft - left) <= 1 && Math.abs(e.scrollTop - top) <= 1;
}

// inView reports whether the middle of the element lies in the viewport, and in all that clips it.
function inView(e) {
  e = stand(e);
  const b = boxOf(e), x = b.x + b.w / 2, y = b.y + Math.min(b.h, innerHeight) / 2;
  if (!(b.w > 0 && b.h > 0) || x < 0 || y < 0 || x > innerWidth || y > innerHeight) return false;
  for (let p = up(e); p && p.tagName !== 'BODY' && p.tagName !== 'HTML'; p = up(p)) {
    const st = getComputedStyle(p);
    if (st.position === 'fixed') break;
    if (!/(auto|scroll|hidden|clip)/.test(st.overflow + st.overflowX + st.overflowY)) continue;
    const r = p.getBoundingClientRect();
    if (x < r.left || x > r.right || y < r.top || y > r.bottom) return false;
  }
  return true;
}

async function intoView(id) {
  const e = alive(element(id));
  if (!e || !e.isConnected) return null;
  const from = boxOf(e);
  if (!inView(e)) { stand(e).scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'}); await frame(); }
  const to = boxOf(e);
  return {dx: Math.round(from.x - to.x), dy: Math.round(from.y - to.y), view: inView(e), words: describe(e)};
}

// together brings two elements into view at once, where they fit.
async function together(a, b) {
  const x = alive(element(a)), y = alive(element(b));
  if (!x || !y) return false;
  for (const [p, q] of [[x, y], [y, x]]) {
    p.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'});
    q.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'});
    if (inView(p) && inView(q)) break;
  }
  await frame();
  return inView(x) && inView(y);
}

// middle is the middle of the visible part of an element, in the frame's viewport; null where none is.
function middle(id) {
  const e = alive(element(id));
  if (!e || !e.isConnected) return null;
  const b = boxOf(e), L = Math.max(b.x, 0), T = Math.max(b.y, 0), R = Math.min(b.x + b.w, innerWidth), B = Math.min(b.y + b.h, innerHeight);
  return R - L < 1 || B - T < 1 ? null : {X: (L + R) / 2, Y: (T + B) / 2};
}

// drawn resolves when what came into view has been drawn: two frames, and then until nothing changes, at most max ms.
async function drawn(max) {
  await frame();
  await frame();
  return rest(20, max);
}
