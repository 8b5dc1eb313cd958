// Draws shapes and texts on a canvas of the size of the page, in order.
function draw(width, height, ops) {
  const dpr = window.devicePixelRatio;
  document.body.style.margin = '0';
  const canvas = document.createElement('canvas');
  canvas.width = width * dpr; canvas.height = height * dpr;
  canvas.style.cssText = `width:${width}px;height:${height}px;display:block`;
  document.body.replaceChildren(canvas);
  const c = canvas.getContext('2d');
  c.scale(dpr, dpr);
  for (const o of ops) {
    c.beginPath();
    if (o.path) {
      c.fillStyle = o.fill; c.fill(new Path2D(o.path));
      continue;
    }
    if (o.text) {
      c.font = o.font; c.fillStyle = o.fill; c.textBaseline = 'middle'; c.textAlign = o.align || 'left';
      c.fillText(o.text, o.x, o.y);
      continue;
    }
    c.roundRect(o.x, o.y, o.w, o.h, o.radius || 0);
    if (o.fill) { c.fillStyle = o.fill; c.fill(); }
    if (o.stroke) { c.strokeStyle = o.stroke; c.lineWidth = 1; c.stroke(); }
  }
  return [];
}
