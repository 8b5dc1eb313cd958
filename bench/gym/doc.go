// Package gym is a set of web pages that fail on purpose, and the server for them.
//
// Each page is a small application with one fault of the failure catalogue (docs/reference/failures.md, "Acting on a page"), and
// keeps the truth about itself: window.__truth counts how often the wanted effect happened, how often an unwanted one, and all
// effects together. Whoever benchmarks a browser tool compares what the tool claims with this truth.
//
// The package guarantees:
//   - a page does the same each time: its faults come from counters and from timers with stated durations (parameters of its
//     address), never from chance;
//   - keeping the truth is invisible: it changes no DOM, paints nothing and sends no request;
//   - nothing is loaded from anywhere but the gym;
//   - where the effect is on the server (orders, votes, downloads), the server counts it itself, per session ([Gym.Truth]).
//
// [Cases] describes every page as data: which steps to take, and how they must end. The benchmark command runs the cases; the demo
// (examples/demo) plays one flow through the same faults; people find all pages at the server's root.
package gym
