// Forms made from JSON Schemas (2020-12, as the tools' payloads and the questions have them). What a form cannot show with fields of its own
// is written as JSON, so that every schema can be answered. The rules of a schema are checked by the server, which knows them all.
import { h, add, fill, data, id, json, icon } from './dom.js';
import { t } from './i18n.js';

const escape = (name) => String(name).replace(/~/g, '~0').replace(/\//g, '~1');
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// value at a pointer, or undefined.
const at = (value, names) => names.reduce((v, n) => (v !== null && typeof v === 'object' ? v[n] : undefined), value);

// resolved follows $ref within the schema, and takes the one alternative beside null.
function resolved(root, schema, depth = 0) {
  let s = schema && typeof schema === 'object' ? schema : {};
  if (depth < 8 && typeof s.$ref === 'string' && s.$ref.startsWith('#/')) {
    const target = at(root, s.$ref.slice(2).split('/').map((n) => n.replace(/~1/g, '/').replace(/~0/g, '~')));
    const { $ref, ...rest } = s;
    s = { ...resolved(root, target, depth + 1), ...rest };
  }
  const others = (s.anyOf || s.oneOf || []).filter((o) => o.type !== 'null');
  if (depth < 8 && others.length === 1) s = { ...s, ...resolved(root, others[0], depth + 1) };
  return s;
}

// words of a field: its title, or its name without underscores.
const heading = (name, schema) => (typeof schema.title === 'string' ? schema.title : String(name).replace(/_/g, ' '));

const scalar = (s) => s.enum || ['string', 'integer', 'number', 'boolean'].includes(s.type);

// Field is one value of a form. set(v) shows a value, get() is what is written, or undefined when nothing is.
class Field {
  constructor(path, name, schema, required, control, get, put) {
    Object.assign(this, { path, name, schema, get, put, control, touched: false });
    this.note = h('p', { class: 'issue', id: id('issue'), hidden: true });
    const about = h('p', { class: 'hint', id: id('hint') }, schema.description ? data(schema.description) : null);
    this.about = about.id;
    control.setAttribute('aria-describedby', `${about.id} ${this.note.id}`);
    if (required) control.setAttribute('aria-required', 'true');
    control.addEventListener('input', () => { this.touched = true; });
    control.addEventListener('change', () => { this.touched = true; });
    this.element = h('div', { class: 'field' },
      h('label', { for: control.id }, data(heading(name, schema)), required ? h('span', { class: 'needed' }, ' ', t('form.required')) : null),
      about, control, this.note);
  }

  issue(message) {
    this.note.hidden = !message;
    fill(this.note, message ? [icon('failed'), data(message)] : []);
    if (message) this.control.setAttribute('aria-invalid', 'true');
    else this.control.removeAttribute('aria-invalid');
  }
}

// control makes the element of a value, with how it is read and written.
function control(schema) {
  const common = { id: id('field') };
  const options = schema.enum || (schema.const !== undefined ? [schema.const] : null);
  if (options || schema.type === 'boolean') {
    const choices = options || [true, false];
    const e = h('select', common, h('option', { value: '' }, '—'),
      choices.map((c, i) => h('option', { value: i }, c === true ? t('yes') : c === false ? t('no') : String(c))));
    return [e, () => (e.value === '' ? undefined : choices[Number(e.value)]), (v) => { const i = choices.findIndex((c) => same(c, v)); e.value = i < 0 ? '' : String(i); }];
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    const e = h('input', { ...common, type: 'text', inputmode: 'decimal', autocomplete: 'off' });
    // What is no number is sent as it is: the server says what is wrong with it.
    return [e, () => (e.value.trim() === '' ? undefined : /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(e.value.trim()) ? Number(e.value) : e.value), (v) => { e.value = v ?? ''; }];
  }
  if (schema.type === 'string') {
    const secret = schema.writeOnly === true || schema.format === 'password';
    const long = !secret && !schema.format && (schema.maxLength === undefined || schema.maxLength > 200);
    const e = long ? h('textarea', { ...common, rows: 2 }) : h('input', { ...common, type: secret ? 'password' : 'text', autocomplete: 'off', maxlength: schema.maxLength });
    return [e, () => (e.value === '' ? undefined : e.value), (v) => { e.value = typeof v === 'string' ? v : v === undefined ? '' : JSON.stringify(v); }];
  }
  const items = schema.type === 'array' && schema.items && typeof schema.items === 'object' ? schema.items : null;
  if (items && items.type === 'string') {
    const e = h('textarea', { ...common, rows: 3, placeholder: t('form.lines') });
    return [e, () => (e.value === '' ? undefined : e.value.split('\n').filter((l) => l !== '')), (v) => { e.value = Array.isArray(v) ? v.join('\n') : ''; }];
  }
  const e = h('textarea', { ...common, rows: 4, class: 'code', spellcheck: 'false', placeholder: 'JSON' });
  return [e, () => (e.value.trim() === '' ? undefined : JSON.parse(e.value)), (v) => { e.value = v === undefined ? '' : JSON.stringify(v, null, 2); }];
}

// Form is a form for an object. needed are the pointers that have to be filled in: their fields come first, the others wait behind a fold.
// prior is the object so far; an answer holds only what was changed.
export class Form {
  fields = [];
  #schema; #prior; #surplus = [];

  constructor(schema, { prior = {}, needed = [], example } = {}) {
    this.#schema = schema || {};
    this.#prior = prior && typeof prior === 'object' ? prior : {};
    this.element = h('div', { class: 'form' });
    const root = resolved(this.#schema, this.#schema);
    const wanted = (path) => needed.length === 0 || needed.some((n) => n === path || n.startsWith(`${path}/`) || path.startsWith(`${n}/`) || n === '');
    const first = h('div', { class: 'fields' });
    const others = h('div', { class: 'fields' });
    this.#object(root, [], '', 0, wanted, first, others);
    add(this.element, first);
    for (const path of needed) this.#unknown(path, first);
    if (others.childElementCount) add(this.element, h('details', { class: 'more' }, h('summary', {}, t('form.others', { n: others.childElementCount })), others));
    if (example !== undefined && example !== null) {
      add(this.element, h('details', { class: 'more' }, h('summary', {}, t('form.example')), json(example),
        h('button', { type: 'button', class: 'quiet', onclick: () => this.take(example) }, t('form.fill'))));
    }
  }

  #object(schema, names, path, depth, wanted, first, others) {
    const required = Array.isArray(schema.required) ? schema.required : [];
    for (const [name, raw] of Object.entries(schema.properties || {})) {
      const s = resolved(this.#schema, raw);
      const here = `${path}/${escape(name)}`;
      const into = wanted(here) ? first : others;
      if (s.type === 'object' && s.properties && depth < 3 && !scalar(s)) {
        const inside = h('div', { class: 'fields' });
        const rest = h('div', { class: 'fields' });
        this.#object(s, [...names, name], here, depth + 1, wanted, inside, rest);
        const group = (children, label) => h('fieldset', {}, h('legend', {}, data(label)), s.description ? h('p', { class: 'hint' }, data(s.description)) : null, children);
        if (inside.childElementCount) {
          add(into, group([inside, rest.childElementCount ? h('details', { class: 'more' }, h('summary', {}, t('form.others', { n: rest.childElementCount })), rest) : null], heading(name, s)));
        } else if (rest.childElementCount) {
          add(others, group(rest, heading(name, s)));
        }
        continue;
      }
      const field = new Field(here, name, s, required.includes(name) && wanted(here), ...control(s));
      field.names = [...names, name];
      const before = at(this.#prior, field.names);
      if (before !== undefined && before !== '[redacted]') field.put(before);
      field.before = before;
      this.fields.push(field);
      add(into, field.element);
    }
  }

  // unknown offers to remove what the schema does not know.
  #unknown(path, into) {
    const names = path.split('/').slice(1).map((n) => n.replace(/~1/g, '/').replace(/~0/g, '~'));
    if (!names.length || at(this.#prior, names) === undefined || this.fields.some((f) => f.path === path || f.path.startsWith(`${path}/`) || path.startsWith(`${f.path}/`))) return;
    const box = h('input', { type: 'checkbox', id: id('remove'), checked: true });
    add(into, h('div', { class: 'field choice' }, box, h('label', { for: box.id }, t('form.remove', { path }))));
    this.#surplus.push({ names, box });
  }

  // take fills in values for the fields that are empty or wrong.
  take(example) {
    for (const f of this.fields) {
      const v = at(example, f.names);
      if (v !== undefined && !f.element.closest('details:not([open])')) {
        f.put(v);
        f.touched = true;
      }
    }
  }

  // answer is what was changed, as a merge patch (RFC 7396); null when something that has to be JSON is not, which is then said.
  answer() {
    const patch = {};
    const put = (names, v) => {
      let o = patch;
      for (const n of names.slice(0, -1)) o = o[n] ??= {};
      o[names.at(-1)] = v;
    };
    let ok = true;
    for (const f of this.fields) {
      f.issue('');
      let v;
      try {
        v = f.get();
      } catch (e) {
        f.issue(e.message);
        f.control.focus();
        ok = false;
        continue;
      }
      if (v === undefined ? f.touched && f.before !== undefined : !same(v, f.before) || f.touched) put(f.names, v === undefined ? null : v);
    }
    for (const { names, box } of this.#surplus) if (box.checked) put(names, null);
    return ok ? patch : null;
  }

  // show puts issues beside their fields, and returns those that belong to none.
  show(issues) {
    for (const f of this.fields) f.issue('');
    return issues.filter((i) => {
      const f = this.fields.find((x) => x.path === i.path) || this.fields.find((x) => i.path && i.path.startsWith(`${x.path}/`));
      f?.issue(i.message);
      i.field = f;
      return !f;
    });
  }
}
