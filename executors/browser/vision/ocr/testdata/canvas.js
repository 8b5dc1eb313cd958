// Draws a page of buttons on a canvas, so that no text is in the DOM, and returns where
// each one is: [{text, x, y, w, h, theme}], in CSS pixels.
function drawPage(spec) {
  let seed = spec.seed;
  const random = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648; };
  const pages = {
    light: '#ffffff', dark: '#121212', coloured: '#eef1f5', pastel: '#fffaf0', outline: '#ffffff', outlineDark: '#1b2430',
    faint: '#f4f4f4', gradient: '#f7f7fb', photo: '#e9e9e9', noise: '#d8dce0', rough: '#e9e9e9', wallpaper: '#000000',
  };
  const solid = ['#1a73e8', '#d93025', '#188038', '#f9ab00', '#9334e6', '#00796b', '#5f6368', '#c2185b'];
  const pastel = ['#fde2e4', '#e2ece9', '#dfe7fd', '#fff1e6', '#e8dff5', '#fcf6bd'];
  const dpr = window.devicePixelRatio;
  document.body.style.margin = '0';
  const canvas = document.createElement('canvas');
  canvas.width = spec.width * dpr; canvas.height = spec.height * dpr;
  canvas.style.cssText = `width:${spec.width}px;height:${spec.height}px;display:block`;
  document.body.replaceChildren(canvas);
  const c = canvas.getContext('2d');
  c.scale(dpr, dpr);
  c.fillStyle = pages[spec.theme]; c.fillRect(0, 0, spec.width, spec.height);

  const texture = (x, y, w, h, paint) => {
    const iw = Math.round(w * dpr), ih = Math.round(h * dpr);
    const data = new ImageData(iw, ih);
    for (let j = 0; j < ih; j++) for (let i = 0; i < iw; i++) {
      const p = paint(i / dpr, j / dpr), k = 4 * (j * iw + i);
      data.data[k] = p[0]; data.data[k + 1] = p[1]; data.data[k + 2] = p[2]; data.data[k + 3] = 255;
    }
    c.putImageData(data, Math.round(x * dpr), Math.round(y * dpr));
  };
  // Value noise of several octaves: hills, edges and grain, as in a photograph.
  const lattice = new Map();
  const at = (i, j) => { const k = i * 7919 + j; if (!lattice.has(k)) lattice.set(k, random()); return lattice.get(k); };
  const value = (x, y) => {
    const i = Math.floor(x), j = Math.floor(y), u = x - i, v = y - j;
    const s = u * u * (3 - 2 * u), t = v * v * (3 - 2 * v);
    return (at(i, j) * (1 - s) + at(i + 1, j) * s) * (1 - t) + (at(i, j + 1) * (1 - s) + at(i + 1, j + 1) * s) * t;
  };
  const photo = (x, y) => {
    const hill = value(x / 60, y / 40), leaf = value(x / 9, y / 7), grain = random();
    const l = 30 + 60 * hill + 30 * leaf + 12 * grain;
    return [l * 0.8, l, l * 0.7 + 20 * leaf];
  };

  const rough = (x, y) => {
    const l = 15 + 70 * value(x / 40, y / 30) + 60 * value(x / 6, y / 5) + 35 * random();
    return [l, l * 0.9, l * 0.6];
  };
  if (spec.theme === 'wallpaper') texture(0, 0, spec.width, spec.height, rough);

  const truth = [];
  const button = (text, x, y, w, h, n) => {
    const r = spec.theme === 'coloured' ? h / 2 : 4;
    let ink = '#202124';
    c.beginPath(); c.roundRect(x, y, w, h, r);
    switch (spec.theme) {
      case 'light': c.fillStyle = '#f1f3f4'; c.fill(); c.strokeStyle = '#dadce0'; c.lineWidth = 1; c.stroke(); break;
      case 'dark': c.fillStyle = n % 2 ? '#303134' : '#8ab4f8'; c.fill(); ink = n % 2 ? '#e8eaed' : '#202124'; break;
      case 'coloured': c.fillStyle = solid[n % solid.length]; c.fill(); ink = n % solid.length === 3 ? '#202124' : '#ffffff'; break;
      case 'pastel': c.fillStyle = pastel[n % pastel.length]; c.fill(); ink = solid[(n * 5) % 3]; break;
      case 'outline': c.strokeStyle = solid[n % solid.length]; c.lineWidth = 1 + n % 2; c.stroke(); ink = solid[n % 3]; break;
      case 'outlineDark': c.strokeStyle = '#cfd8dc'; c.lineWidth = 1 + n % 2; c.stroke(); ink = '#eceff1'; break;
      case 'faint': c.fillStyle = '#e6e6e6'; c.fill(); ink = '#767676'; break;
      case 'gradient': {
        const g = c.createLinearGradient(x, y, n % 2 ? x : x + w, y + h);
        g.addColorStop(0, solid[n % solid.length]); g.addColorStop(1, solid[(n + 4) % solid.length]);
        c.fillStyle = g; c.fill(); ink = '#ffffff'; break;
      }
      case 'photo': texture(x, y, w, h, (i, j) => photo(x + i, y + j)); ink = '#ffffff'; break;
      case 'rough': texture(x, y, w, h, (i, j) => rough(x + i, y + j)); ink = n % 3 ? '#ffffff' : '#ffeb3b'; break;
      case 'wallpaper': ink = '#ffffff'; break;
      case 'noise': {
        const light = n % 2;
        texture(x, y, w, h, () => { const v = (light ? 200 : 40) + (random() - 0.5) * 50; return [v, v + 5, v + 10]; });
        ink = light ? '#101010' : '#ffffff'; break;
      }
    }
    c.fillStyle = ink; c.textBaseline = 'middle'; c.textAlign = 'center';
    c.fillText(text, x + w / 2, y + h / 2);
    truth.push({ text, x, y, w, h });
  };

  c.font = spec.font.replace('SIZE', spec.size + 'px');
  let x = 24, y = 24, n = spec.seed % 8;
  for (const text of spec.labels) {
    const w = Math.ceil(c.measureText(text).width) + 2 * Math.round(spec.size * 0.9), h = Math.round(spec.size * 2.2);
    if (x + w > spec.width - 24) { x = 24; y += h + 18; }
    button(text, x, y, w, h, n++);
    x += w + spec.gap;
  }
  return truth;
}
