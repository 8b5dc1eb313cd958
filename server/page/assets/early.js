// Runs before the first paint, so that the page appears at once in the language and the colours that were chosen.
(() => {
  const root = document.documentElement;
  let chosen = {};
  try {
    chosen = { lang: localStorage.getItem('toolsvc.lang'), theme: localStorage.getItem('toolsvc.theme') };
  } catch { /* storage is switched off: the choices hold until the page is left */ }
  const known = ['en', 'ko', 'ja'];
  const preferred = [chosen.lang, ...navigator.languages.map((l) => l.toLowerCase().split('-')[0])];
  root.lang = preferred.find((l) => known.includes(l)) || 'en';
  if (chosen.theme === 'light' || chosen.theme === 'dark') root.dataset.theme = chosen.theme;
})();
