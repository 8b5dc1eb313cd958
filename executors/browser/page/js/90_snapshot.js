// The page as a compact tree: one line for what has a role and a name, with states and a reference.

const STRUCTURE = new Set(['generic', 'presentation', 'paragraph', 'none']);

// snapshot renders the tree under an element (0: all). Frames are marked with \u0001N\u0001, N the number of their element, for the caller to fill in.
function snapshot(id, prefix, max) {
  const lines = [];
  let size = 0, cut = false;
  const push = (depth, s) => {
    const line = '  '.repeat(Math.min(depth, 20)) + '- ' + s;
    if (size + line.length > max) { cut = true; return false; }
    size += line.length + 1;
    lines.push(line);
    return true;
  };
  const text = s => clip(norm(s), 200);
  const visit = (n, depth, inName) => {
    if (cut) return;
    if (n.nodeType === 3) { const t = text(n.data); if (t && !inName) push(depth, 'text: ' + t); return; }
    if (n.nodeType !== 1 || /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|HEAD|META|LINK|BR)$/.test(n.tagName)) return;
    if (attr(n, 'aria-hidden') === 'true' && !n.querySelector(INTERACTIVE)) return;
    const st = getComputedStyle(n);
    if (st.display === 'none') return;
    const shown = st.visibility !== 'hidden' && st.display !== 'contents';
    const r = role(n), act = shown && (interactive(n) || n.matches(HANDLED) || (r === 'generic' && st.cursor === 'pointer' && getComputedStyle(n.parentElement || n).cursor !== 'pointer'));
    if (/^(IFRAME|FRAME)$/.test(n.tagName)) { if (push(depth, `iframe ${quote(name(n))} [ref=${prefix}e${number(keep(n))}]`.replace('  ', ' '))) lines.push('\u0001' + number(n) + '\u0001' + (depth + 1)); return; }
    const nm = HOLDS.has(r) || FROM_CONTENT.has(r) || act || !STRUCTURE.has(r) ? name(n) || (act && r === 'generic' ? text(n.innerText) : '') : '';
    let inside = inName, d = depth;
    if (shown && (act || (!STRUCTURE.has(r) && (nm || !['group', 'list', 'row', 'table'].includes(r) || r === 'table')))) {
      let s = act && r === 'generic' ? 'clickable' : r;
      if (nm) s += ' ' + quote(clip(nm, 200));
      if (r === 'heading') s += ` [level=${attr(n, 'aria-level') || n.tagName[1] || ''}]`;
      const c = checkedOf(n); if (c !== undefined) s += n.indeterminate || attr(n, 'aria-checked') === 'mixed' ? ' [mixed]' : c ? ' [checked]' : '';
      if (!enabled(n) && act) s += ' [disabled]';
      if (expandedOf(n) !== undefined) s += expandedOf(n) ? ' [expanded]' : ' [collapsed]';
      if (flag(n, 'aria-pressed')) s += ' [pressed]';
      if (flag(n, 'aria-selected') || (n.tagName === 'OPTION' && n.selected)) s += ' [selected]';
      if (n.required || attr(n, 'aria-required') === 'true') s += ' [required]';
      if (deepActive() === n) s += ' [focused]';
      s += ` [ref=${prefix}e${number(keep(n))}]`;
      const v = editable(n) || n.tagName === 'SELECT' || r === 'slider' || r === 'progressbar' ? (n.type === 'password' ? (n.value ? '••••' : '') : n.tagName === 'SELECT' ? [...n.selectedOptions].map(o => norm(o.label)).join(', ') : valueOf(n)) : '';
      if (v) s += ': ' + clip(norm(v), 200);
      if (!push(depth, s)) return;
      d = depth + 1;
      if (editable(n)) return;
      if (n.tagName === 'SELECT') { for (const o of [...n.options].slice(0, 100)) push(d, `option ${quote(norm(o.label))}` + (o.selected ? ' [selected]' : '')); return; }
      inside = FROM_CONTENT.has(r) && !['row', 'listitem', 'cell', 'gridcell'].includes(r) || (act && r === 'generic') ? true : r === 'cell' || r === 'gridcell' || r === 'listitem' ? !!nm && !n.querySelector(INTERACTIVE) : false;
    } else if (shown && r === 'paragraph' && !n.querySelector('*')) { const t = text(n.textContent); if (t && !inName) push(depth, 'text: ' + t); return; }
    const kids = n.shadowRoot ? n.shadowRoot.childNodes : n.tagName === 'SLOT' && n.assignedNodes().length ? n.assignedNodes() : n.childNodes;
    for (const k of kids) visit(k, d, inside);
  };
  const root = id ? alive(element(id)) : document.body;
  if (root) visit(root, 0, false);
  return {lines, cut};
}
const quote = s => s ? JSON.stringify(s) : '';
