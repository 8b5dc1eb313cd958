// The texts of the page, and what is translated in place when another language is chosen: nothing is built anew, so that what somebody is
// writing into a form, the focus and the places of scrolling stay.
import { texts } from './texts.js';

export const languages = { en: 'English', ko: '한국어', ja: '日本語' };

// language is the present one.
export const language = () => (texts[document.documentElement.lang] ? document.documentElement.lang : 'en');

// has reports whether there is a text of that key.
export const has = (key) => Object.hasOwn(texts.en, key);

// say is the text of a key, with the values put in; "key.one" is used when the value n is 1.
export function say(key, given) {
  const values = given || {};
  const table = texts[language()];
  const one = values.n === 1 && Object.hasOwn(table, `${key}.one`);
  const text = table[one ? `${key}.one` : key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(values, name) ? format(values[name]) : whole));
}

const format = (v) => (typeof v === 'number' ? v.toLocaleString(language()) : String(v));

// Said is a text that follows the language. dom.js makes elements and attributes of it.
export class Said {
  constructor(key, values) {
    this.key = key;
    this.values = values;
  }
}

// t names a text that follows the language.
export const t = (key, values) => new Said(key, values);

// label words a value of a closed list, such as a failure; a value of a later version of toolsvc is shown as it is.
export const label = (list, value) => (has(`${list}.${value}`) ? t(`${list}.${value}`) : String(value));

// duration words milliseconds.
export function duration(ms) {
  if (!(ms >= 0)) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return say('duration.seconds', { s: s.toLocaleString(language(), { maximumFractionDigits: 1 }) });
  if (s < 3600) return say('duration.minutes', { m: Math.floor(s / 60), s: Math.round(s % 60) });
  return say('duration.hours', { h: Math.floor(s / 3600), m: Math.round((s % 3600) / 60) });
}

const styles = {
  time: { hour: '2-digit', minute: '2-digit', second: '2-digit' },
  full: { dateStyle: 'medium', timeStyle: 'medium' },
  short: { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' },
};
const formats = new Map();

// moment words a time. Formats are kept: making one costs more than using it a hundred times.
export function moment(iso, style) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  const key = `${language()} ${style}`;
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(language(), styles[style]));
  return formats.get(key).format(at);
}

// translate words everything below root anew.
export function translate(root) {
  for (const e of root.querySelectorAll('[data-t]')) e.textContent = say(e.dataset.t, values(e.dataset.tv));
  for (const e of root.querySelectorAll('[data-ta]')) {
    for (const [name, key, v] of JSON.parse(e.dataset.ta)) e.setAttribute(name, say(key, v));
  }
  for (const e of root.querySelectorAll('time[data-style]')) e.textContent = moment(e.dateTime, e.dataset.style);
  for (const e of root.querySelectorAll('[data-ms]')) e.textContent = duration(Number(e.dataset.ms));
}

const values = (text) => (text ? JSON.parse(text) : undefined);

// speak chooses a language, and keeps the choice.
export function speak(l) {
  document.documentElement.lang = l;
  try {
    localStorage.setItem('toolsvc.lang', l);
  } catch { /* it holds until the page is left */ }
  translate(document);
  document.dispatchEvent(new CustomEvent('languagechange-page'));
}
