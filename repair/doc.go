// Package repair corrects payloads before they are refused, cheapest means first, and never makes one worse.
//
// [Payload] is pure: it takes a tool's spec and the payload as it came, and goes through two tiers.
//
//   - Syntax: text that is meant to be JSON and is not, in ways that have one reading only: comments, trailing commas, other quotes,
//     Python literals, Markdown around it, and so on.
//   - Lossless: values that are right but stand there in another type or spelling than the schema wants: "5" for 5, a scalar for an
//     array of one, LEFT for left, timeoutMs for timeout_ms, a payload inside {"arguments": …}.
//
// [WithModel] is the next tier: it puts what is left to a [Repairer], such as a language model, and checks the answer.
//
// It guarantees:
//   - a payload that is valid as it stands is returned untouched, at the cost of decoding it once;
//   - a payload counts as repaired only when the spec's own decoder accepts it;
//   - what had no issue keeps its value, in every tier; no field is dropped, clamped, cut or filled in, and text that breaks off is
//     completed only where nothing else could follow;
//   - where two readings are possible, none is chosen: the caller gets the issues instead;
//   - every correction is listed as a [tool.Repair], with secrets redacted;
//   - time and memory are bounded (see limits.go).
//
// docs/reference/repair.md lists all rules. The planner calls this package before it answers a call with issues.
package repair
