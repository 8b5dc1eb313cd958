// Package verification turns evidence into verdicts.
//
// A condition is a CEL expression (https://cel.dev). The conditions of a call are the postconditions of its tool's design and the
// caller's own expectations. [Compile] checks them before anything runs; [Conditions.Needs] says which costly evidence they read, so
// that only that is collected; [Conditions.Judge] evaluates them over the evidence and gives each a receipt: what was expected, what
// was observed. [CompilePreconditions] does the same for what must hold before a tool runs, and [EffectClass] decides with the same
// language how grave a call is.
//
// It guarantees:
//   - a verdict depends on nothing but the evidence, the arguments and the result: the same input gives the same bytes, on any
//     machine, at any time;
//   - it is three-valued and fails closed: a condition whose evidence is missing, malformed or too large, or that does not evaluate,
//     is undecided and never passes; a call without conditions is uncertain, because nothing was verified;
//   - every condition is evaluated, and every problem of every condition is reported in one pass, with its position and the nearest
//     known name: an unknown variable, field or function, a comparison of text with a number, a condition that is no condition;
//   - conditions come from callers that are not trusted: their number, length, depth, memory and time are bounded before they run
//     (by an estimate over the largest evidence allowed) and while they run (by a cost limit).
//
// The planner calls it from workflows and activities. Everything exported is safe for concurrent use.
package verification
