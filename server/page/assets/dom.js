// Making elements. Strings become text, never markup, whatever they hold: they come from pages, tools and callers.
import { Said, say, moment, duration } from './i18n.js';

const tame = /^(?:[a-z]+|aria-[a-z]+|data-[a-z-]+)$/i;

// h makes an element: h('p', { class: 'note', onclick: f }, 'text', t('skip'), other). Attributes that are null, undefined or false are left
// out; those beginning with "on" are listeners; null, undefined and false among the children too.
export function h(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) set(e, name, value);
  add(e, children);
  return e;
}

// set sets one attribute.
export function set(e, name, value) {
  if (value === null || value === undefined || value === false) {
    e.removeAttribute(name);
    return;
  }
  if (name.startsWith('on')) {
    if (typeof value !== 'function') throw new TypeError(`${name} is not a function`);
    e.addEventListener(name.slice(2), value);
    return;
  }
  if (!tame.test(name) || name === 'style' || name === 'srcdoc') throw new TypeError(`the attribute ${name} is not set here`);
  if (value instanceof Said) {
    const list = e.dataset.ta ? JSON.parse(e.dataset.ta).filter(([n]) => n !== name) : [];
    e.dataset.ta = JSON.stringify([...list, [name, value.key, value.values]]);
    e.setAttribute(name, say(value.key, value.values));
    return;
  }
  if ((name === 'href' || name === 'src') && !near(value)) throw new TypeError(`${value} is not followed`);
  e.setAttribute(name, value === true ? '' : String(value));
}

// near reports whether an address may be followed: one of this server, or one of the web; nothing that runs.
const near = (url) => /^(?:\/(?!\/)|#|https?:\/\/)/.test(url);

// web is an address that was given by somebody, when it may be followed, or null.
export const web = (url) => (typeof url === 'string' && /^https?:\/\//i.test(url) ? url : null);

// add appends children: elements, texts, lists of them.
export function add(e, ...children) {
  for (const c of children.flat(Infinity)) {
    if (c === null || c === undefined || c === false) continue;
    if (c instanceof Node) e.append(c);
    else if (c instanceof Said) e.append(said(c));
    else e.append(document.createTextNode(String(c)));
  }
  return e;
}

// fill replaces what e holds.
export function fill(e, ...children) {
  e.replaceChildren();
  return add(e, children);
}

function said(text) {
  const e = document.createElement('span');
  e.dataset.t = text.key;
  if (text.values) e.dataset.tv = JSON.stringify(text.values);
  e.textContent = say(text.key, text.values);
  return e;
}

// data is a text from outside: its direction of writing does not reach beyond it.
export const data = (text, attributes) => h('bdi', attributes, text);

// time is a moment that follows the language.
export function time(iso, style = 'full', attributes = {}) {
  return h('time', { datetime: iso, 'data-style': style, title: style === 'full' ? null : iso, ...attributes }, moment(iso, style));
}

// took is a duration that follows the language.
export const took = (ms, attributes) => h('span', { 'data-ms': ms, ...attributes }, duration(ms));

// json shows a value as JSON text.
export const json = (value, attributes) => h('pre', { class: 'json', tabindex: '0', dir: 'ltr', ...attributes }, JSON.stringify(value, null, 2));

// icon is a sign that stands beside a text that says the same.
export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  for (const [k, v] of Object.entries({ viewBox: '0 0 16 16', width: 16, height: 16, class: 'icon', 'aria-hidden': 'true' })) svg.setAttribute(k, v);
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', icons[name]);
  svg.append(path);
  return svg;
}

const icons = {
  verified: 'M3 8.5 6.5 12 13 4.5',
  failed: 'M4 4l8 8M12 4l-8 8',
  waiting: 'M8 4v4.5M8 11.5v.5',
  running: 'M5 3.5 12 8l-7 4.5z',
  queued: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  skipped: 'M4 8h8',
  uncertain: 'M6 6a2 2 0 1 1 2.6 2c-.4.2-.6.6-.6 1M8 12v.01',
  link: 'M9.5 3H13v3.5M13 3 7.5 8.5M7 4H3.5v8.5H12V9',
  down: 'M8 3v9M4.5 8.5 8 12l3.5-3.5',
};

let last = 0;

// id makes an id that no other element has.
export const id = (prefix) => `${prefix}-${(last += 1)}`;
