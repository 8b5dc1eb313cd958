// Package tool is the contract of toolsvc at run time: what a call is, what it may answer, and how a tool is described.
//
// It guarantees:
//   - every call ends in one [Result], in which a result and an error exclude each other, and in which a result only stands
//     beside a verdict of success ([Result.Validate]);
//   - every [RetryHint] is legal: it can only be made by the constructors of this package, none of which can invite a caller to
//     repeat a call whose effect is unknown;
//   - the strict decoder behind the generated codecs reports all violations of a payload in one pass, as [Issues].
//
// Every other package of toolsvc speaks in these types. Package tool imports nothing of ours.
package tool
