// The list of runs.
import { h, fill, time, icon } from './dom.js';
import { t } from './i18n.js';
import { state } from './badges.js';
import { problem } from './problem.js';
import * as api from './api.js';

const every = 5000; // milliseconds between two looks, while the page is seen
const outcomes = ['running', 'succeeded', 'failed', 'cancelled', 'idle'];

export class RunsPage {
  #runs = []; #waiting = new Set(); #limit = 100; #rows = new Map();
  #list; #message; #outcome; #only; #words; #more; #count; #empty; #timer = 0; #loading = false;

  constructor(main) {
    const shown = () => this.#show();
    this.#outcome = h('select', { id: 'outcome', onchange: shown }, h('option', { value: '' }, t('runs.all')), outcomes.map((o) => h('option', { value: o }, t(`outcome.${o}`))));
    this.#only = h('input', { type: 'checkbox', id: 'waiting', onchange: () => this.#load() });
    this.#words = h('input', { type: 'search', id: 'words', autocomplete: 'off', placeholder: t('runs.find'), 'aria-label': t('runs.find'), oninput: shown });
    this.#list = h('ul', { class: 'runs', 'aria-labelledby': 'runs-title' });
    this.#message = h('div', { role: 'alert' });
    this.#count = h('p', { class: 'count', role: 'status' });
    this.#empty = h('p', { class: 'empty', hidden: true });
    this.#more = h('button', { type: 'button', hidden: true, onclick: () => { this.#limit = 1000; this.#load(); } }, t('runs.more'));
    const name = h('input', { type: 'text', id: 'run-id', autocomplete: 'off', spellcheck: 'false', placeholder: 'r_…', pattern: 'r_[A-Za-z0-9_\\-]{1,62}', required: true });
    fill(main, h('div', { class: 'bar' }, h('h1', { id: 'runs-title', tabindex: '-1' }, t('runs.title')), this.#count),
      h('div', { class: 'filters', role: 'search', 'aria-label': t('runs.filter') }, this.#words, h('label', { for: 'outcome', class: 'hidden' }, t('runs.outcome')), this.#outcome,
        h('span', { class: 'choice' }, this.#only, h('label', { for: 'waiting' }, t('runs.waiting')))),
      this.#message, this.#list, this.#empty, this.#more,
      h('form', { class: 'open-run', onsubmit: (e) => { e.preventDefault(); if (e.currentTarget.reportValidity()) location.assign(`/runs/${encodeURIComponent(name.value.trim())}`); } },
        h('label', { for: 'run-id' }, t('runs.open')), name, h('button', { type: 'submit' }, t('runs.go'))));
    document.title = 'toolsvc';
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.#load(); });
    this.#load();
  }

  async #load() {
    if (this.#loading) return;
    this.#loading = true;
    clearTimeout(this.#timer);
    try {
      const [waiting, all] = await Promise.all([api.listRuns(this.#limit, true), this.#only.checked ? null : api.listRuns(this.#limit, false)]);
      this.#waiting = new Set(waiting.runs.map((r) => r.run_id));
      this.#runs = (all || waiting).runs;
      fill(this.#message);
      this.#show();
    } catch (e) {
      if (!(e instanceof api.Refused)) throw e; // a mistake in this page
      fill(this.#message, problem(e));
    }
    this.#loading = false;
    if (!document.hidden) this.#timer = setTimeout(() => this.#load(), every);
  }

  #show() {
    const words = this.#words.value.trim().toLowerCase();
    const outcome = this.#outcome.value;
    const fits = this.#runs.filter((r) => (!outcome || r.outcome === outcome) && (!words || `${r.title} ${r.run_id}`.toLowerCase().includes(words)) && (!this.#only.checked || this.#waiting.has(r.run_id)));
    const keep = new Set();
    let before = null;
    for (const r of fits) { // rows that are there stay, and with them the focus
      const waits = this.#waiting.has(r.run_id);
      const shown = `${r.outcome} ${waits} ${r.title}`;
      let row = this.#rows.get(r.run_id);
      if (!row || row.shown !== shown) {
        const made = this.#row(r, waits);
        const focused = row?.element.contains(document.activeElement);
        row?.element.replaceWith(made);
        row = { element: made, shown };
        this.#rows.set(r.run_id, row);
        if (focused) made.querySelector('a').focus();
      }
      const place = before ? before.nextSibling : this.#list.firstChild;
      if (row.element !== place) this.#list.insertBefore(row.element, place);
      before = row.element;
      keep.add(r.run_id);
    }
    for (const [id, row] of this.#rows) {
      if (!keep.has(id)) {
        row.element.remove();
        this.#rows.delete(id);
      }
    }
    fill(this.#count, t('runs.count', { n: fits.length }));
    this.#empty.hidden = fits.length > 0;
    fill(this.#empty, t(this.#runs.length ? 'runs.none.fits' : this.#only.checked ? 'runs.none.waits' : 'runs.none'));
    this.#more.hidden = this.#limit === 1000 || this.#runs.length < this.#limit;
  }

  #row(r, waits) {
    return h('li', {}, h('a', { href: `/runs/${encodeURIComponent(r.run_id)}` }, h('span', { class: 'title', dir: 'auto' }, r.title || r.run_id), h('code', {}, r.run_id)),
      waits ? h('span', { class: 'badge is-waiting' }, icon('waiting'), t('runs.waits')) : null, state('outcome', r.outcome), time(r.started, 'short'));
  }
}
