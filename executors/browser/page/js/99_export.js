globalThis.__toolsvc = {
  version: VERSION, arm, disarm, rest, rested, blurAway, addRoot, closedHosts, gone, hiddenSoon, checkedSoon, find, offered, details, surfaces, adopt, gate, gateAhead, aim, ready, changed, at, owner: (id, x, y) => { const e = element(id); return e && e.isConnected ? owner(e, x, y) : null; }, look, observe, stamp, recall, waitText, until, begin, beginArmed, holds, typed, put, choose,
  scrollBox, scrollTo, intoView, together, middle, drawn, choices, ownOption, fileField, filesOf, emptyFiles, setOptions, keyFor, activate, restoreFocus, closer, rectOf, pageSize, read, snapshot, element, number, frame, describe, roots, alive, visible, enabled, stand, names, deepActive,
  settle: o => armed ? armed.settle(o) : Promise.resolve(null), report: () => armed ? armed.report() : null,
  hasFocus: () => document.hasFocus() && !/^I?FRAME$/.test((document.activeElement || {}).tagName || ''), target, scrolled: () => ({X: scrollX, Y: scrollY}),
  editorTyped, pasteText, storageNow, sinceChange: () => now() - seen.last, seen, frameNumber: 0, frameNo: n => { const t = globalThis.__toolsvc; if (!t.frameNumber && n) t.frameNumber = n; return t.frameNumber; },
};
