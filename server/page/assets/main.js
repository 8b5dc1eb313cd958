// The frame of the page: language, colours, and which page it is.
import { h, fill, add } from './dom.js';
import { t, languages, language, speak } from './i18n.js';
import { RunPage } from './run.js';
import { RunsPage } from './runs.js';

const root = document.documentElement;

function theme(value) {
  if (value === 'auto') delete root.dataset.theme;
  else root.dataset.theme = value;
  try {
    if (value === 'auto') localStorage.removeItem('toolsvc.theme');
    else localStorage.setItem('toolsvc.theme', value);
  } catch { /* it holds until the page is left */ }
}

const chosen = h('select', { id: 'language', onchange: () => speak(chosen.value) }, Object.entries(languages).map(([code, name]) => h('option', { value: code, lang: code }, name)));
chosen.value = language();
const colours = h('select', { id: 'theme', onchange: () => theme(colours.value) }, ['auto', 'light', 'dark'].map((v) => h('option', { value: v }, t(`theme.${v}`))));
colours.value = root.dataset.theme || 'auto';

add(document.getElementById('top'), h('div', { class: 'choices' },
  h('label', { for: 'language', class: 'hidden' }, t('language')), chosen, h('label', { for: 'theme', class: 'hidden' }, t('theme')), colours));
fill(document.getElementById('skip'), t('skip'));
root.lang = language();

const main = document.getElementById('main');
const run = /^\/runs\/([A-Za-z0-9_-]+)$/.exec(location.pathname);
if (run) new RunPage(run[1], main);
else new RunsPage(main);
