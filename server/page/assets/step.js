// One step of a run: a line that tells how it stands, and behind it everything that is known of it.
import { h, add, fill, data, took, json, icon, web, set } from './dom.js';
import { t, label } from './i18n.js';
import { state, source, chip } from './badges.js';
import { Shots, framed } from './shots.js';
import { artifact } from './api.js';

// healed reports whether a step was verified only after an attempt that was not.
export const healed = (result) => Boolean(result && !result.error && !result.status && (result.attempts || []).length > 1);

// recalled is what heal memory did for a step, in the words of the executor; null when it did nothing.
export function recalled(result) {
  const said = typeof result?.result?.acted_on === 'string' ? result.result.acted_on : '';
  return /\bwhen it was last verified\b/.test(said) ? said : null;
}

// Step shows one step. Its body is made when it is opened, and again when there is something new.
export class Step {
  #summary; #body; #shown = ''; #now = null;
  result = null;
  // mended is how many things were done to bring it about: healed, repaired, rolled back, remembered.
  mended = 0;

  constructor(number) {
    this.number = number;
    this.#summary = h('summary', {});
    this.#body = h('div', { class: 'body' });
    this.details = h('details', { class: 'step' }, this.#summary, this.#body);
    this.element = h('div', { class: 'place', id: `step-${number}`, role: 'listitem' }, this.details);
    this.details.addEventListener('toggle', () => this.#fill());
  }

  // update takes the state of the step; it changes nothing when nothing is new.
  update(step, lang) {
    const result = step.result && !step.result.status ? step.result : this.result;
    this.step = step;
    const shown = JSON.stringify([step.title, step.status, step.tool, result && [result.call_id, result.error?.code, result.attempts?.length]]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.result = result;
    this.mended = healed(result) + (result?.repairs?.length || 0) + (result?.attempts || []).filter((a) => a.rolled_back).length + (recalled(result) !== null);
    const tried = (result?.attempts || []).map((a) => a.source).filter((s, i, all) => all.indexOf(s) === i);
    set(this.details, 'class', `step is-${step.status}`);
    fill(this.#summary,
      h('span', { class: 'number', 'aria-hidden': 'true' }, this.number),
      h('span', { class: 'what' }, h('span', { class: 'title', lang, dir: 'auto' }, step.title || step.tool), h('code', { class: 'tool' }, step.tool)),
      h('span', { class: 'signs' },
        healed(result) ? chip('chip.healed', null, 'good') : null,
        result?.repairs?.length ? chip('chip.repaired', { n: result.repairs.length }) : null,
        result?.attempts?.some((a) => a.rolled_back) ? chip('chip.rolled_back') : null,
        recalled(result) ? chip('chip.remembered') : null,
        step.expect_failure ? chip('chip.expected') : null,
        tried.map(source), result ? took(result.telemetry?.duration_ms, { class: 'took' }) : null, state('status', step.status)));
    this.#now = null;
    if (this.details.open) this.#fill(true);
    else this.#body.replaceChildren();
  }

  // doing shows what the step is busy with.
  doing(text, lang) {
    if (this.result) return;
    if (!this.#now) {
      this.#now = h('span', { class: 'doing', lang, dir: 'auto' });
      this.#summary.querySelector('.what')?.append(this.#now);
    }
    this.#now.textContent = text;
  }

  #fill(anew) {
    if (!this.details.open || (this.#body.childElementCount && !anew)) return;
    const r = this.result;
    if (!r) {
      fill(this.#body, h('p', { class: 'hint' }, t(`step.${this.step.status === 'waiting' ? 'waits' : this.step.status === 'skipped' ? 'skipped' : 'none'}`)), this.#ids());
      return;
    }
    fill(this.#body, failure(r), verdict(r), attempts(r), repairs(r), hint(r),
      r.verification?.evidence ? new Shots(r.verification.evidence).element : null, outcome(r), cost(r), this.#ids());
  }

  #ids() {
    const url = web(this.result?.run_link?.url);
    const evidence = this.result?.verification?.evidence || {};
    const link = (digest, key) => (artifact(digest) ? h('a', { href: artifact(digest), target: '_blank', rel: 'noopener' }, t(key), h('span', { class: 'hidden' }, t('opens.new'))) : null);
    return h('p', { class: 'ids' }, h('code', {}, this.step.call_id), link(evidence.before, 'evidence.before'), link(evidence.after, 'evidence.after'),
      url ? h('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, icon('link'), t('temporal'), h('span', { class: 'hidden' }, t('opens.new'))) : null);
  }
}

function failure(r) {
  if (!r.error) return null;
  const causes = [];
  for (let c = r.error.cause; c && causes.length < 16; c = c.cause) causes.push(h('li', {}, data(c.message || '')));
  return h('div', { class: 'failure' }, h('p', { class: 'strong' }, icon('failed'), r.error.code ? label('failure', r.error.code) : t('status.failed'), r.error.code ? [' ', h('code', {}, r.error.code)] : null),
    h('p', { dir: 'auto' }, r.error.message), causes.length ? h('details', { class: 'more' }, h('summary', {}, t('error.causes', { n: causes.length })), h('ol', {}, causes)) : null);
}

function verdict(r) {
  const v = r.verification;
  if (!v) return null;
  const checks = v.checks || [];
  const cell = (key, value) => h('td', { role: 'cell', 'data-label': t(key) }, value === '' || value === undefined ? h('span', { class: 'hint' }, '—') : h('span', { dir: 'auto', class: 'break' }, value));
  return h('section', {}, h('h5', {}, t('verdict.title'), ' ', state('verdict', v.verdict)),
    h('p', {}, data(v.explanation || ''), ' ', h('span', { class: 'hint' }, t('verdict.confidence', { confidence: v.confidence, threshold: v.threshold }))),
    checks.length ? h('table', { class: 'checks', role: 'table' }, h('caption', {}, t('checks.title', { n: checks.length })),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ['check', 'expected', 'observed', 'result'].map((c) => h('th', { scope: 'col', role: 'columnheader' }, t(`checks.${c}`))))),
      h('tbody', { role: 'rowgroup' }, checks.map((c) => h('tr', { class: c.passed ? '' : 'bad', role: 'row' },
        h('th', { scope: 'row', role: 'rowheader' }, data(c.name), c.condition ? h('code', { class: 'condition break', dir: 'ltr' }, c.condition) : null),
        cell('checks.expected', c.expected), cell('checks.observed', c.observed),
        h('td', { role: 'cell', 'data-label': t('checks.result') }, c.passed ? state('check', 'success') : state('check', c.undecided ? 'uncertain' : 'failure')))))) : null);
}

function attempts(r) {
  const list = r.attempts || [];
  if (!list.length) return null;
  return h('section', {}, h('h5', {}, t('attempts.title', { n: list.length })),
    h('ol', { class: 'attempts' }, list.map((a) => h('li', { class: a.failure ? 'bad' : 'good' },
      h('p', {}, source(a.source), ' ', a.input ? [label('input', a.input), ' · '] : null, label('phase', a.phase), ' · ', label('effect', a.effect), ' · ', took(a.duration_ms),
        a.rolled_back ? [' ', chip('chip.rolled_back')] : null),
      a.failure ? h('p', { class: 'why' }, icon('failed'), label('failure', a.failure), ' ', h('code', {}, a.failure)) : null,
      a.message ? h('p', { class: 'hint', dir: 'auto' }, a.message) : null))));
}

// repairs lists what was corrected in a payload.
export function repairs(r, heading = 'repairs.title') {
  const list = r.repairs || [];
  if (!list.length) return null;
  return h('section', {}, h('h5', {}, t(heading, { n: list.length })), h('ul', { class: 'repairs' }, list.map(repair)));
}

const repair = (p) => h('li', {}, h('code', { class: 'break' }, p.path || '/'), ' ', p.from ? h('del', { class: 'break' }, data(p.from)) : null, ' → ', p.to ? h('ins', { class: 'break' }, data(p.to)) : t('repairs.removed'),
  ' ', h('span', { class: 'hint' }, label('tier', p.tier), ' · ', h('code', {}, p.rule)));

function hint(r) {
  const next = r.retry_hint;
  if (!next) return null;
  return h('section', { class: 'next' }, h('h5', {}, t('hint.title'), ' ', h('code', {}, next.reason)), h('p', { dir: 'auto' }, next.message),
    next.issues?.length ? h('ul', { class: 'issues' }, next.issues.map((i) => h('li', {}, i.path ? [h('code', {}, i.path), ' '] : null, data(i.message)))) : null,
    next.candidates?.length ? h('ul', {}, next.candidates.map((c) => h('li', {}, data([c.role, `“${c.name}”`, c.within && `· ${c.within}`, c.near && `· ${c.near}`].filter(Boolean).join(' '))))) : null,
    next.rollback ? h('p', {}, t(next.rollback.performed ? 'rollback.done' : 'rollback.not'), ' ', data(next.rollback.restored_to),
      next.rollback.failed_checks?.length ? h('span', { class: 'hint' }, ' ', t('rollback.checks'), ' ', data(next.rollback.failed_checks.join(', '))) : null) : null,
    next.retry_after_ms ? h('p', {}, t('hint.wait'), ' ', took(next.retry_after_ms)) : null);
}

function outcome(r) {
  if (r.result === undefined || r.result === null) return null;
  const digest = typeof r.result === 'object' && typeof r.result.artifact === 'string' && r.result.width > 0 ? r.result.artifact : null;
  return h('section', {}, digest && artifact(digest) ? [h('h5', {}, t('result.picture')), h('div', { class: 'shot' }, framed(digest, 'result.picture.alt'))] : null,
    h('details', { class: 'more' }, h('summary', {}, t('result.title')), json(r.result)));
}

function cost(r) {
  const c = r.telemetry || {};
  const part = (key, value) => (value ? h('div', {}, h('dt', {}, t(key)), h('dd', {}, value)) : null);
  const ms = (v) => (v ? took(v) : null);
  return add(h('dl', { class: 'cost' }), part('cost.duration', took(c.duration_ms ?? 0)), part('cost.queued', ms(c.queued_ms)), part('cost.waited', ms(c.waited_ms)),
    part('cost.model', c.model ? data(c.model) : null), part('cost.tokens', c.input_tokens || c.output_tokens ? `${c.input_tokens} / ${c.output_tokens}` : null),
    part('cost.children', r.children_count || null));
}
