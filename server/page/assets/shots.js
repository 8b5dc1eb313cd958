// Screenshots: before and after an action, with the place where it was aimed, and what differs between them.
import { h, fill, icon } from './dom.js';
import { t, say } from './i18n.js';
import * as api from './api.js';

const rows = 64; // rows of pixels that are compared at once, so that the page stays responsive

// picture finds the screenshot in stored evidence.
async function picture(digest) {
  if (!digest || !api.artifact(digest)) return null;
  const evidence = await api.readArtifact(digest);
  const shot = (evidence?.artifacts || []).find((a) => a.name === 'screenshot' && api.artifact(a.digest));
  return shot ? { digest: shot.digest, mark: shot.mark } : null;
}

// Shots shows the screenshots that the evidence of a verdict names; nothing when it names none.
export class Shots {
  element = h('div', { class: 'shots', hidden: true });
  #before = null; #after = null; #stage; #buttons = {}; #difference = null; #note;

  constructor(evidence) {
    this.#load(evidence).catch(() => {
      this.element.hidden = false;
      fill(this.element, h('p', { class: 'hint' }, t('shots.gone')));
    });
  }

  async #load(evidence) {
    [this.#before, this.#after] = await Promise.all([picture(evidence.before), picture(evidence.after)]);
    if (!this.#before && !this.#after) return;
    this.element.hidden = false;
    this.#stage = h('div', { class: 'shot' });
    this.#note = h('p', { class: 'hint', role: 'status' });
    const offer = [this.#before && 'before', this.#after && 'after', this.#before && this.#after && 'difference'].filter(Boolean);
    fill(this.element, h('h5', {}, t('shots.title')),
      h('div', { class: 'segments', role: 'group', 'aria-label': t('shots.title') }, offer.map((what) => {
        this.#buttons[what] = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.#show(what) }, t(`shots.${what}`));
        return this.#buttons[what];
      })), this.#stage, this.#note);
    this.#show(this.#before ? 'before' : 'after');
  }

  #show(what) {
    for (const [name, b] of Object.entries(this.#buttons)) b.setAttribute('aria-pressed', String(name === what));
    fill(this.#note);
    if (what === 'difference') {
      this.#compare();
      return;
    }
    const shot = what === 'before' ? this.#before : this.#after;
    fill(this.#stage, framed(shot.digest, `shots.alt.${what}`, what === 'before' ? shot.mark : null));
    if (what === 'before' && shot.mark) fill(this.#note, t('shots.marked'));
  }

  async #compare() {
    const pending = this.#difference ??= difference(api.artifact(this.#before.digest), api.artifact(this.#after.digest));
    fill(this.#note, t('shots.comparing'));
    try {
      const { canvas, changed, total } = await pending;
      if (this.#buttons.difference.getAttribute('aria-pressed') !== 'true') return;
      canvas.setAttribute('role', 'img');
      canvas.setAttribute('aria-label', say('shots.alt.difference'));
      fill(this.#stage, canvas);
      fill(this.#note, changed ? t('shots.changed', { percent: (100 * changed / total).toFixed(changed / total < 0.01 ? 3 : 1), pixels: changed }) : t('shots.same'));
    } catch {
      this.#difference = null;
      fill(this.#note, t('shots.gone'));
    }
  }
}

// framed is a picture that opens in full, with the place marked where the action was aimed. mark is in pixels of the picture.
export function framed(digest, alt, mark) {
  const url = api.artifact(digest);
  const img = h('img', { src: url, alt: t(alt), decoding: 'async' });
  const frame = h('a', { href: url, target: '_blank', rel: 'noopener', class: 'framed' }, img, h('span', { class: 'hidden' }, t('opens.new')));
  const place = () => {
    const { naturalWidth: w, naturalHeight: height } = img;
    if (!w || !mark) return;
    const part = (e, left, top) => {
      e.style.left = `${100 * left / w}%`;
      e.style.top = `${100 * top / height}%`;
      return e;
    };
    if (mark.width > 0 && mark.height > 0) {
      const box = part(h('span', { class: 'mark-box' }), mark.left, mark.top);
      box.style.width = `${100 * mark.width / w}%`;
      box.style.height = `${100 * mark.height / height}%`;
      frame.append(box);
    }
    frame.append(part(h('span', { class: 'mark-point' }), mark.x, mark.y));
  };
  if (img.complete && img.naturalWidth) place();
  else img.addEventListener('load', place, { once: true });
  img.addEventListener('error', () => fill(frame, h('span', { class: 'hint' }, icon('failed'), t('shots.gone'))), { once: true });
  return frame;
}

const loaded = (url) => new Promise((done, failed) => {
  const img = new Image();
  img.onload = () => done(img);
  img.onerror = () => failed(new Error(`${url} cannot be shown`));
  img.src = url;
});

const pause = () => new Promise((done) => { setTimeout(done, 0); });

// difference draws the second picture, faded, with what differs from the first in a strong colour.
export async function difference(beforeURL, afterURL) {
  const [a, b] = await Promise.all([loaded(beforeURL), loaded(afterURL)]);
  const width = Math.max(a.naturalWidth, b.naturalWidth);
  const height = Math.max(a.naturalHeight, b.naturalHeight);
  const drawn = (img) => {
    const c = h('canvas', { width, height });
    const g = c.getContext('2d', { willReadFrequently: true });
    g.drawImage(img, 0, 0);
    return [c, g];
  };
  const [, ga] = drawn(a);
  const [canvas, gb] = drawn(b);
  let changed = 0;
  for (let y = 0; y < height; y += rows) {
    const n = Math.min(rows, height - y);
    const pa = ga.getImageData(0, y, width, n).data;
    const out = gb.getImageData(0, y, width, n);
    const pb = out.data;
    for (let i = 0; i < pb.length; i += 4) {
      const differs = Math.abs(pa[i] - pb[i]) + Math.abs(pa[i + 1] - pb[i + 1]) + Math.abs(pa[i + 2] - pb[i + 2]) + Math.abs(pa[i + 3] - pb[i + 3]) > 12;
      if (differs) {
        changed += 1;
        pb[i] = 214; pb[i + 1] = 0; pb[i + 2] = 120; pb[i + 3] = 255;
      } else {
        const grey = 0.3 * pb[i] + 0.59 * pb[i + 1] + 0.11 * pb[i + 2];
        pb[i] = pb[i + 1] = pb[i + 2] = 255 - (255 - grey) * 0.35;
        pb[i + 3] = 255;
      }
    }
    gb.putImageData(out, 0, y);
    await pause();
  }
  return { canvas, changed, total: width * height };
}
