// The page of one run.
import { h, add, fill, data, time, took, icon, web, set } from './dom.js';
import { t, label } from './i18n.js';
import { state, chip } from './badges.js';
import { Stream } from './stream.js';
import { Step, healed, recalled } from './step.js';
import { Asked } from './question.js';
import { Narration, Now } from './narration.js';
import { problem } from './problem.js';
import * as api from './api.js';

const calm = 300; // milliseconds after an event before the state is asked for
const rest = 2000; // the same after an event that says all that is shown at once
const block = 20; // steps that are laid out together or, out of sight, not at all: the browser asks in every frame which ones are in sight
const slice = 8; // milliseconds of work in one frame: a run may have a thousand steps

const frame = () => new Promise((done) => { if (document.hidden) setTimeout(done); else requestAnimationFrame(done); });

// mended tells, a row each, what was done to bring a step about.
function mended(s) {
  const r = s.result;
  const row = (...what) => h('li', {}, h('a', { href: `#step-${s.number}` }, t('narration.place', { step: s.number })), what.map((x) => [' ', x]));
  return [
    ...(healed(r) ? [row(chip('chip.healed', null, 'good'), label('failure', r.attempts[0].failure || 'no_effect'), '→', label('badge', r.attempts.at(-1).source))] : []),
    ...(r.repairs || []).map((p) => row(chip('chip.repaired', { n: 1 }), h('code', { class: 'break' }, p.path || '/'), p.from ? h('del', {}, data(p.from)) : '', '→', p.to ? h('ins', {}, data(p.to)) : t('repairs.removed'))),
    ...(r.attempts || []).filter((a) => a.rolled_back).map((a) => row(chip('chip.rolled_back'), t('rollback.attempt', { attempt: a.number }), label('failure', a.failure || 'verification_failed'))),
    ...(recalled(r) ? [row(chip('chip.remembered'), data(recalled(r)))] : []),
  ];
}

export class RunPage {
  #run; #state = null; #steps = []; #byCall = new Map(); #asked = new Map(); #results = new Map();
  #narration = new Narration(); #now = new Now(); #stream = null; #due = 0; #at = 0; #loading = false; #again = false; #cost = calm; #wait = 1000; #link = null;
  #listed = new Map();
  #head; #facts; #controls; #message; #questions; #list; #healing; #connection; #stepsTitle; #answer;

  constructor(run, main) {
    this.#run = run;
    this.#head = h('div', { class: 'run-title' }, h('h1', { tabindex: '-1' }, run));
    this.#facts = h('p', { class: 'facts' });
    this.#connection = h('span', { class: 'connection', role: 'status' });
    this.#controls = h('div', { class: 'controls', role: 'group', 'aria-label': t('controls.title') });
    this.#message = h('div', { class: 'messages', role: 'alert' });
    this.#questions = h('section', { class: 'asks', 'aria-labelledby': 'asks-title', hidden: true }, h('h2', { id: 'asks-title', tabindex: '-1' }, t('asks.title')));
    this.#answer = h('section', { class: 'answer', hidden: true });
    this.#healing = h('section', { class: 'healing', hidden: true });
    this.#list = h('div', { class: 'steps', role: 'list', 'aria-labelledby': 'steps-title' });
    this.#stepsTitle = h('h2', { id: 'steps-title', tabindex: '-1' }, t('steps.title'));
    fill(main, h('div', { class: 'run-head' }, h('p', { class: 'back' }, h('a', { href: '/' }, '← ', t('runs.title'))), this.#head, this.#facts, h('div', { class: 'bar' }, this.#controls, this.#connection)),
      this.#message, this.#now.element, this.#questions,
      h('div', { class: 'columns' }, h('section', { class: 'steps-part', 'aria-labelledby': 'steps-title' }, this.#answer, this.#healing, h('div', { class: 'bar' }, this.#stepsTitle), this.#list),
        this.#narration.element));
    document.title = `${run} · toolsvc`;
    this.#load();
  }

  async #load() {
    if (this.#loading) {
      this.#again = true;
      return;
    }
    this.#loading = true;
    const began = performance.now();
    try {
      await this.#show(await api.showRun(this.#run));
      fill(this.#message);
      this.#wait = 1000;
      this.#stream ??= new Stream(this.#run, (events) => this.#take(events), (s) => this.#connected(s));
    } catch (e) {
      if (!(e instanceof api.Refused)) throw e; // a mistake in this page
      fill(this.#message, problem(e));
      if (e.status === 0 || e.status === 429 || e.status >= 500) { // it may pass
        setTimeout(() => this.#load(), this.#wait);
        this.#wait = Math.min(2 * this.#wait, 30000);
      }
    } finally {
      this.#loading = false;
      this.#cost = Math.max(calm, 5 * (performance.now() - began)); // a state that takes long is asked for seldom
      if (this.#again) {
        this.#again = false;
        this.#soon();
      }
    }
  }

  // soon asks for the state, once for all that happens in the meantime.
  #soon(wait = 0) {
    const at = performance.now() + Math.max(wait, this.#cost);
    if (this.#due && this.#at <= at) return;
    clearTimeout(this.#due);
    this.#at = at;
    this.#due = setTimeout(() => {
      this.#due = 0;
      this.#load();
    }, at - performance.now());
  }

  #take(events) {
    const said = [];
    let stale = false; // something happened that the events do not tell
    let news = false;
    for (const { kind, data: d } of events) {
      if (kind === 'narration') {
        said.push(d);
        if (d.step > this.#steps.length) stale = true;
        news = this.#begun(d) || news;
        continue;
      }
      if (kind === 'tool_result' && this.#ended(d)) {
        news = true;
        continue;
      }
      stale = true;
      if (kind === 'run') this.#outcome(d.outcome);
      else if (d.how) this.#closed(d.question?.id);
    }
    if (said.length) {
      this.#narration.append(said);
      this.#now.show(said.at(-1), this.#state.language);
    }
    if (news) this.#sum();
    if (stale) this.#soon();
    else if (news) this.#soon(rest);
  }

  // begun shows what a step is busy with, and reports whether it was not under way before.
  #begun(said) {
    const step = this.#steps[said.step - 1];
    if (!step || step.result) return false;
    const waited = step.step.status === 'queued';
    if (waited) step.update({ ...step.step, status: 'running' }, this.#state.language);
    step.doing(said.text, this.#state.language);
    return waited;
  }

  // ended shows the result of a step, and reports whether that is news.
  #ended(result) {
    if (!result.call_id || result.status) return false;
    this.#results.set(result.call_id, result);
    const step = this.#byCall.get(result.call_id);
    if (!step || step.result) return false;
    step.update({ ...step.step, status: result.error ? (step.step.expect_failure === result.error.code ? 'verified' : 'failed') : 'verified', result }, this.#state.language);
    return true;
  }

  #outcome(outcome) {
    if (!outcome || !this.#state || this.#state.outcome === outcome) return;
    if (this.#state.outcome !== 'running' && outcome === 'running') return; // of the past, read again
    this.#state.outcome = outcome;
    this.#title();
    this.#buttons();
  }

  async #show(s) {
    const first = this.#state === null;
    this.#state = s;
    this.#narration.speaks(s.language);
    this.#link ??= (s.steps || []).map((st) => web(st.result?.run_link?.url)).find(Boolean) ?? null;
    this.#title();
    this.#buttons();
    this.#ask(s.questions || []);
    let began = performance.now();
    for (const [i, st] of (s.steps || []).entries()) {
      if (performance.now() - began > slice) {
        await frame();
        began = performance.now();
      }
      let step = this.#steps[i];
      if (!step) {
        step = new Step(i + 1);
        this.#steps.push(step);
        if (i % block === 0) this.#list.append(h('div', { class: 'block', role: 'none' }));
        this.#list.lastChild.append(step.element);
      }
      this.#byCall.set(st.call_id, step);
      const kept = this.#results.get(st.call_id);
      step.update(kept && !st.result ? { ...st, result: kept } : st, s.language);
    }
    this.#sum();
    this.#said(s);
    if (first) {
      const failed = this.#steps.find((x) => x.step.status === 'failed');
      if (failed) failed.details.open = true;
      if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
    }
  }

  #title() {
    const s = this.#state;
    const name = s.title || s.goal || s.run_id;
    const paused = s.paused && s.outcome === 'running';
    const waits = s.questions?.length && s.outcome === 'running';
    fill(this.#head, h('h1', { tabindex: '-1', dir: 'auto', lang: s.language }, name), paused ? state('outcome', 'paused') : waits ? state('outcome', 'waiting') : state('outcome', s.outcome));
    document.title = `${waits ? '● ' : ''}${name} · toolsvc`;
    const link = this.#link;
    fill(this.#facts, h('code', {}, s.run_id), s.began ? [' · ', time(s.began)] : null, ' · ', label('kind', s.kind), s.model ? [' · ', data(s.model)] : null,
      s.tokens ? [' · ', t('run.tokens', { n: s.tokens })] : null, s.waited_ms ? [' · ', t('run.waited'), ' ', took(s.waited_ms)] : null,
      s.with_people_ms ? [' · ', t('run.people'), ' ', took(s.with_people_ms)] : null,
      link ? [' · ', h('a', { href: link, target: '_blank', rel: 'noopener noreferrer' }, icon('link'), t('temporal'), h('span', { class: 'hidden' }, t('opens.new')))] : null);
  }

  #buttons() {
    const s = this.#state;
    const want = s.outcome !== 'running' ? '' : s.paused ? 'resume cancel' : 'pause cancel';
    if (this.#controls.dataset.want === want) return;
    const focused = this.#controls.contains(document.activeElement);
    this.#controls.dataset.want = want;
    fill(this.#controls, want.split(' ').filter(Boolean).map((what) => h('button', { type: 'button', class: what === 'cancel' ? 'danger' : '', 'data-control': what, onclick: (e) => this.#control(what, e.currentTarget) }, t(`controls.${what}`))));
    if (focused) (this.#controls.querySelector('button') || this.#head.querySelector('h1')).focus();
  }

  async #control(what, button) {
    if (what === 'cancel' && !button.dataset.sure) { // a second press means it
      button.dataset.sure = 'yes';
      fill(button, t('controls.cancel.sure'));
      button.addEventListener('blur', () => {
        delete button.dataset.sure;
        fill(button, t('controls.cancel'));
      }, { once: true });
      return;
    }
    if (button.getAttribute('aria-disabled')) return;
    button.setAttribute('aria-disabled', 'true');
    try {
      await api.control(this.#run, what);
      await this.#load();
    } catch (e) {
      fill(this.#message, problem(e));
    } finally {
      button.removeAttribute('aria-disabled');
    }
  }

  #ask(questions) {
    for (const q of questions) {
      if (this.#asked.has(q.id)) continue;
      const asked = new Asked(q, () => this.#load());
      this.#asked.set(q.id, asked);
      this.#questions.append(asked.element);
    }
    for (const id of this.#asked.keys()) if (!questions.some((q) => q.id === id)) this.#closed(id);
    this.#questions.hidden = this.#asked.size === 0;
  }

  #closed(id) {
    const asked = this.#asked.get(id);
    if (!asked) return;
    this.#asked.delete(id);
    const focused = asked.element.contains(document.activeElement);
    asked.element.remove();
    this.#questions.hidden = this.#asked.size === 0;
    if (this.#state) {
      this.#state.questions = (this.#state.questions || []).filter((q) => q.id !== id);
      this.#title();
    }
    if (focused) ([...this.#asked.values()][0]?.heading || this.#stepsTitle).focus(); // the focus is not lost with what held it
  }

  // sum tells in numbers how the run stands, and lists what was healed.
  #sum() {
    const of = (status) => this.#steps.filter((s) => s.step.status === status).length;
    const parts = ['verified', 'failed', 'running', 'waiting', 'queued', 'skipped'].map((status) => [status, of(status)]).filter(([, n]) => n);
    fill(this.#stepsTitle, t('steps.title'), ' ', parts.map(([status, n]) => h('span', { class: `tally is-${status}` }, n, ' ', t(`status.${status}`))));
    this.#heal();
  }

  // heal lists what was repaired, healed, remembered and rolled back. What a step came to does not change any more, so each is listed once; and no
  // row is made before somebody looks.
  #heal() {
    let n = 0;
    for (const s of this.#steps) n += s.mended;
    this.#healing.hidden = n === 0;
    if (!n || this.#healing.dataset.n === String(n)) return;
    this.#healing.dataset.n = n;
    if (!this.#healing.firstChild) fill(this.#healing, h('details', { open: n <= 6, ontoggle: () => this.#mended() }, h('summary', {}, h('h2', {})), h('ul', {})));
    fill(this.#healing.querySelector('h2'), t('healing.title', { n }));
    this.#mended();
  }

  #mended() {
    if (!this.#healing.querySelector('details').open) return;
    const list = this.#healing.querySelector('ul');
    let next = null;
    for (let i = this.#steps.length - 1; i >= 0; i -= 1) {
      const s = this.#steps[i];
      if (!s.mended) continue;
      if (!this.#listed.has(s)) {
        const items = mended(s);
        for (const e of items) list.insertBefore(e, next);
        this.#listed.set(s, items[0]);
      }
      next = this.#listed.get(s);
    }
  }

  #said(s) {
    this.#answer.hidden = !s.answer && !(s.goal && s.title);
    fill(this.#answer, s.goal && s.title ? [h('h2', {}, t('run.goal')), h('p', { dir: 'auto', class: 'quote' }, s.goal)] : null,
      s.answer ? [h('h2', {}, t('run.answer')), h('p', { dir: 'auto', class: 'quote' }, s.answer)] : null, s.finalized ? h('p', { class: 'hint' }, data(s.finalized)) : null);
  }

  #connected(s) {
    set(this.#connection, 'class', `connection is-${s}`);
    set(this.#connection, 'data-state', s);
    fill(this.#connection, t(`connection.${s}`));
    if (s === 'over') this.#soon();
  }
}
