// Package browser is the executor of the browser tools (design/browser.go): it acts on web pages in a real Chromium, and proves what
// its actions did.
//
// It guarantees:
//   - nothing is dispatched at an element that was not found by the rules of package match, or did not pass the gate (there, visible,
//     still, enabled, uncovered); and a mouse event that reaches another element all the same is stopped before the page sees it;
//   - between equally good candidates it never guesses: ambiguous_target names them all;
//   - [tool.EffectNone] only with proof; when the evidence does not decide, [tool.EffectUnknown]. What counts as an effect is written in
//     effect.go;
//   - a run keeps its tab when toolsvc is killed and started again; when Chromium died, the run's session is rebuilt from its last
//     checkpoint;
//   - a password never appears in evidence or results.
//
// The layers below: chromium (the process), devtools (the protocol), page (a tab and the script inside it), match (which element is
// meant), vision (what only a picture shows). The planner calls it through the interfaces of package tool.
package browser
