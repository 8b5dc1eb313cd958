// The narration of a run: a long list of which only the part in sight exists, with a filter, and one line that tells what is happening now.
import { h, fill, data, time, icon, set } from './dom.js';
import { t, label } from './i18n.js';
import { source } from './badges.js';
import { WindowedList } from './window.js';

const every = 1500; // milliseconds between two announcements: a screen reader has to come to the end of a sentence

// Narration shows events. lang is the language in which they are told.
export class Narration {
  #all = []; #list = null; #box; #level = ''; #words = ''; #jump; #count; #lang = null;

  constructor() {
    this.#box = h('div', { class: 'log', tabindex: '0', role: 'region', 'aria-label': t('narration.title') });
    const level = h('select', { id: 'narration-level', onchange: () => { this.#level = level.value; this.#filter(); } },
      ['', 'success', 'warning', 'error'].map((l) => h('option', { value: l }, t(`narration.level.${l || 'all'}`))));
    const words = h('input', { type: 'search', id: 'narration-words', autocomplete: 'off', placeholder: t('narration.find'), 'aria-label': t('narration.find'), oninput: () => { this.#words = words.value.toLowerCase(); this.#filter(); } });
    this.#jump = h('button', { type: 'button', class: 'jump', hidden: true, onclick: () => { this.#list.end(); this.#box.focus({ preventScroll: true }); } }, icon('down'), t('narration.follow'));
    this.#count = h('span', { class: 'count', role: 'status' });
    this.element = h('section', { class: 'narration', 'aria-labelledby': 'narration-title' },
      h('div', { class: 'bar' }, h('h2', { id: 'narration-title', tabindex: '-1' }, t('narration.title')), this.#count),
      h('div', { class: 'filters' }, h('label', { for: 'narration-level', class: 'hidden' }, t('narration.level')), level, words),
      h('div', { class: 'log-frame' }, this.#box, this.#jump));
    this.#list = new WindowedList(this.#box, (e) => row(e, this.#lang), { estimate: 44, label: t('narration.title'), onfollow: (on) => { this.#jump.hidden = on; } });
    document.addEventListener('languagechange-page', () => this.#list.refresh());
  }

  // speaks says in which language the narration is told.
  speaks(lang) {
    if (lang === this.#lang) return;
    this.#lang = lang;
    set(this.#list.element, 'lang', lang);
  }

  append(events) {
    this.#all.push(...events);
    this.#list.append(events.filter((e) => this.#fits(e)));
    this.#counted();
  }

  #fits(e) {
    return (!this.#level || e.level === this.#level) && (!this.#words || e.text.toLowerCase().includes(this.#words));
  }

  #filter() {
    this.#list.replace(this.#all.filter((e) => this.#fits(e)));
    this.#list.end();
    this.#counted();
  }

  #counted() {
    const some = this.#level || this.#words;
    fill(this.#count, some ? t('narration.some', { n: this.#list.length, all: this.#all.length }) : t('narration.count', { n: this.#all.length }));
    set(this.#count, 'role', some ? 'status' : null); // the growing of the list is not announced
  }
}

const levels = { success: 'verified', warning: 'waiting', error: 'failed', info: null };

function row(e, lang) {
  const place = e.step ? h('a', { class: 'place', href: `#step-${e.step}`, 'aria-label': t('narration.step', { step: e.step, steps: e.steps, attempt: e.attempt || 1 }) }, e.steps >= e.step ? `${e.step}/${e.steps}` : e.step, e.attempt > 1 ? ` · ${e.attempt}` : null) : h('span', { class: 'place' });
  return h('li', { class: `row is-${Object.hasOwn(levels, e.level) ? e.level : 'info'}` }, time(e.at, 'time', { class: 'at' }), place,
    h('span', { class: 'said' }, levels[e.level] ? [icon(levels[e.level]), h('span', { class: 'hidden' }, label('level', e.level), ': ')] : null, h('span', { lang, dir: 'auto', title: label('stage', e.stage) }, e.text)), source(e.source));
}

// Now is the line that tells what is happening: on the screen at once, to a screen reader at most every second and a half.
export class Now {
  #text; #stage; #badge; #spoken; #due = 0; #last = 0; #pending = null;

  constructor() {
    this.#stage = h('span', { class: 'stage' });
    this.#text = h('span', { class: 'text' });
    this.#badge = h('span', {});
    this.#spoken = h('p', { class: 'hidden', role: 'status', 'aria-live': 'polite' });
    this.element = h('div', { class: 'now', hidden: true }, h('p', { 'aria-hidden': 'true' }, this.#stage, this.#text, this.#badge), this.#spoken);
  }

  show(e, lang) {
    this.element.hidden = false;
    set(this.element, 'class', `now is-${Object.hasOwn(levels, e.level) ? e.level : 'info'}`);
    fill(this.#stage, label('stage', e.stage));
    fill(this.#text, data(e.text, { lang }));
    fill(this.#badge, source(e.source));
    this.#pending = { text: e.text, lang };
    if (!this.#due) this.#due = setTimeout(() => this.#speak(), Math.max(0, this.#last + every - performance.now()));
  }

  #speak() {
    this.#due = 0;
    this.#last = performance.now();
    set(this.#spoken, 'lang', this.#pending.lang);
    this.#spoken.textContent = this.#pending.text;
  }
}
