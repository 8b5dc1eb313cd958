// Numbers for elements. A number stays with its element while that lives, also across a restart of toolsvc, because the registry
// lives in the page. References in snapshots (e12) are these numbers.

const byElement = new WeakMap(), byNumber = new Map();
let lastNumber = 0;

function number(e) {
  let n = byElement.get(e);
  if (!n) {
    n = ++lastNumber;
    byElement.set(e, n);
    byNumber.set(n, new WeakRef(e));
    if (byNumber.size % 5000 === 0) for (const [k, r] of byNumber) if (!r.deref()) byNumber.delete(k);
  }
  return n;
}

const element = n => { const r = byNumber.get(n); return r ? r.deref() || null : null; };

// traits are what an element that is rendered anew keeps: a twin has the same.
function traits(e) {
  return [e.tagName, e.id, attr(e, 'name'), attr(e, 'type'), attr(e, 'role'), attr(e, 'href'), attr(e, 'data-testid'), name(e), clip(norm(e.textContent), 80)].join('\u0001');
}

const kept = new WeakMap(); // element → its traits, while it was alive

// keep remembers what the element looks like, so that its twin can be told after it is replaced.
function keep(e) { kept.set(e, traits(e)); return e; }

// alive is the element, or the one element that has replaced it: same traits, and no other one has them.
function alive(e) {
  if (!e || e.isConnected) return e;
  const t = kept.get(e);
  if (!t) return null;
  let twin = null, many = false;
  walk(document, x => { if (x.tagName === e.tagName && traits(x) === t) { many = !!twin; twin = twin || x; } });
  if (!twin || many) return null;
  kept.set(twin, t);
  return twin;
}
