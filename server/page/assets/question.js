// What waits for a person: questions and approvals.
import { h, add, fill, data, time, json, icon, id } from './dom.js';
import { t, label } from './i18n.js';
import { Form } from './form.js';
import * as api from './api.js';

// Asked is one open question. It stays as it is until it is closed, so that nothing that somebody writes into it is lost.
export class Asked {
  #q; #form = null; #problem; #buttons = []; #busy; #chosen = null; #changed;

  // changed is called when an answer was taken, or when the question turned out to be closed.
  constructor(question, changed) {
    this.#q = question;
    this.#changed = changed;
    const q = question;
    const heading = id('question');
    this.#problem = h('div', { class: 'problem', role: 'alert', tabindex: '-1', hidden: true });
    this.#busy = h('p', { class: 'hint', role: 'status' });
    this.heading = h('h3', { id: heading, tabindex: '-1' }, icon('waiting'), label('question', q.kind), q.tool ? [' ', h('code', {}, q.tool)] : null);
    this.element = h('section', { class: 'ask', 'aria-labelledby': heading, 'data-question': q.id },
      this.heading, h('p', { class: 'asked', dir: 'auto' }, q.text),
      h('p', { class: 'hint' }, q.reason ? [label('reason', q.reason), ' · '] : null, t('question.until'), ' ', time(q.expires_at, 'short')),
      this.#problem, this.#body());
  }

  get id() { return this.#q.id; }

  #body() {
    const q = this.#q;
    const form = h('form', { novalidate: true, onsubmit: (e) => { e.preventDefault(); this.#submit(); } });
    if (q.kind === 'approval') {
      add(form, h('h4', {}, t('approval.arguments')), json(q.prior_input ?? {}, { 'aria-label': t('approval.arguments') }),
        h('p', { class: 'digest' }, t('approval.digest'), ' ', h('code', { class: 'break' }, q.digest || '')), h('p', { class: 'hint' }, t('approval.exactly')));
      add(form, this.#actions([
        this.#button('approval.approve', 'primary', () => this.#send(() => api.approve(q.run_id, q.id, true, q.digest))),
        this.#button('approval.refuse', 'danger', () => this.#send(() => api.approve(q.run_id, q.id, false)))]));
      return form;
    }
    if (q.kind === 'outcome') {
      if (q.prior_input) add(form, h('details', { class: 'more' }, h('summary', {}, t('approval.arguments')), json(q.prior_input)));
      add(form, h('p', { class: 'hint' }, t('outcome.hint')));
      add(form, this.#actions([
        this.#button('outcome.yes', 'primary', () => this.#send(() => api.answer(q.run_id, q.id, { happened: true }))),
        this.#button('outcome.no', '', () => this.#send(() => api.answer(q.run_id, q.id, { happened: false })))]));
      return form;
    }
    const needed = [...new Set([...(q.missing_fields || []), ...(q.issues || []).map((i) => i.path)])];
    if (q.candidates?.length) add(form, this.#candidates());
    this.#form = new Form(q.schema, { prior: q.prior_input, needed: q.candidates?.length ? ['/target'] : needed, example: q.example_input });
    const loose = this.#form.show((q.issues || []).filter((i) => i.constraint !== 'required').map((i) => ({ ...i }))); // an empty field is no mistake yet
    if (loose.length) add(form, h('ul', { class: 'issues' }, loose.map((i) => h('li', {}, data(i.message)))));
    const fields = this.#form.element;
    if (q.candidates?.length) add(form, h('details', { class: 'more' }, h('summary', {}, t('question.otherwise')), fields));
    else add(form, fields);
    add(form, this.#actions([this.#button('question.send', 'primary', null)]));
    return form;
  }

  #candidates() {
    const group = id('candidate');
    return h('fieldset', { class: 'candidates' }, h('legend', {}, t('question.which')), this.#q.candidates.map((c) => {
      const input = h('input', { type: 'radio', name: group, id: id('choice'), onchange: () => { this.#chosen = c; } });
      return h('div', { class: 'field choice' }, input, h('label', { for: input.id }, c.role ? [h('span', { class: 'role' }, c.role), ' '] : null, data(`“${c.name}”`),
        c.within ? [' · ', t('candidate.within'), ' ', data(c.within)] : null, c.near ? [' · ', t('candidate.near'), ' ', data(c.near)] : null,
        c.selector ? [' ', h('code', { class: 'break' }, c.selector)] : null));
    }));
  }

  #button(key, kind, act) {
    const b = h('button', { type: act ? 'button' : 'submit', class: kind, onclick: act }, t(key));
    this.#buttons.push(b);
    return b;
  }

  #actions(buttons) { return h('div', { class: 'actions' }, buttons, this.#busy); }

  #submit() {
    if (!this.#form) return;
    const patch = this.#form.answer();
    if (patch === null) return;
    if (this.#chosen) {
      const { name, role, within, near, selector } = this.#chosen;
      patch.target = { ...patch.target, ...Object.fromEntries(Object.entries({ name, role, within, near, selector }).filter(([, v]) => v)) };
    }
    this.#send(() => api.answer(this.#q.run_id, this.#q.id, patch));
  }

  async #send(request) {
    if (this.#buttons.some((b) => b.getAttribute('aria-disabled'))) return;
    for (const b of this.#buttons) b.setAttribute('aria-disabled', 'true'); // and not disabled, which would take the focus away
    fill(this.#busy, t('question.sending'));
    this.#problem.hidden = true;
    try {
      await request();
      fill(this.#busy, t('question.taken'));
      this.#changed();
    } catch (e) {
      fill(this.#busy);
      this.#refused(e);
      for (const b of this.#buttons) b.removeAttribute('aria-disabled');
    }
  }

  // refused says what is wrong with an answer, and leads to the fields.
  #refused(e) {
    const result = e.problem || {};
    const issues = (result.retry_hint?.issues || result.issues || []).map((i) => ({ ...i }));
    this.#form?.show(issues);
    const lines = issues.map((i) => {
      const text = data(i.message || i.path);
      return h('li', {}, i.field ? h('a', { href: `#${i.field.control.id}`, onclick: (ev) => { ev.preventDefault(); reveal(i.field.control); } }, text) : text);
    });
    this.#problem.hidden = false;
    fill(this.#problem, h('p', { class: 'strong' }, e.status === 422 ? t('question.refused') : e.code === 'question_closed' ? t('question.closed') : e.status === 0 ? t('problem.unreachable') : t('question.failed')),
      lines.length ? h('ul', { class: 'issues' }, lines) : e.message && e.status !== 0 ? h('p', {}, data(e.message)) : null);
    this.#problem.focus();
    if (e.code === 'question_closed' || e.code === 'run_ended') this.#changed();
  }
}

// reveal goes to a field, opening the folds around it.
function reveal(control) {
  for (let d = control.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
  control.focus();
  control.scrollIntoView({ block: 'center' });
}
