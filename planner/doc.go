// Package planner runs calls: it queues them, makes attempts at them, decides what follows from each attempt, and keeps all of it
// durable in Temporal.
//
// It guarantees:
//   - calls of a run start in the order of arrival, each only after the one before it has ended ([Run]);
//   - an attempt that may have changed something is followed by another only when its effect is proven none, is rolled back, or may
//     be repeated by the design of the tool ([Decide]);
//   - before an action is dispatched, that is on record, so that a killed process can never lead to a blind repetition
//     ([Activities.Attempt], [Activities.Reconcile]);
//   - no result says success without a verdict of success over evidence from after the action ([Conclude]).
//
// What is decided (heal.go, conclude.go, classify.go) is pure; the workflow (workflow.go) is small and deterministic; effects live in
// activities (activities.go, attempt.go). Surfaces call [Service].
package planner
