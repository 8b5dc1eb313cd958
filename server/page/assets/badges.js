// The small signs that stand for states and sources. A colour never says anything that a word beside it does not.
import { h, icon } from './dom.js';
import { t, label } from './i18n.js';

const icons = { verified: 'verified', succeeded: 'verified', success: 'verified', failed: 'failed', failure: 'failed', cancelled: 'skipped', waiting: 'waiting', running: 'running', queued: 'queued', skipped: 'skipped', idle: 'skipped', uncertain: 'uncertain', paused: 'queued' };

// state is the badge of a step's status, a run's outcome or a verdict.
export const state = (list, value) => h('span', { class: `badge is-${icons[value] ? value : 'skipped'}` }, icon(icons[value] || 'skipped'), label(list, value));

// source is the badge of how an attempt finds what to act on.
export const source = (name) => (name ? h('span', { class: `source of-${/^[a-z]+$/.test(name) ? name : 'other'}`, title: label('source', name) }, label('badge', name)) : null);

// chip is a short remark.
export const chip = (key, values, kind = '') => h('span', { class: `chip ${kind}` }, t(key, values));
