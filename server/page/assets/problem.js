// What went wrong between the page and the server, in words.
import { h, data, icon } from './dom.js';
import { t, has } from './i18n.js';

// problem is a notice for a refused request. The server's own words, which are in English, stand below those of the page.
export function problem(e) {
  const key = e.status === 0 ? 'problem.unreachable' : has(`problem.${e.code}`) ? `problem.${e.code}` : 'problem.other';
  return h('div', { class: 'notice bad' }, h('p', { class: 'strong' }, icon('failed'), t(key)), e.status ? h('p', { lang: 'en' }, data(e.message)) : null);
}
