//go:build linux

// Command load loads the real program over HTTP, up to saturation and beyond, and says what becomes of throughput, latency and memory.
//
//	go run ./bench/load                       the curves over concurrency, what a healthy step costs, and what of a click is not the browser's
//	go run ./bench/load -soak 3000            thousands of runs on one server: memory, goroutines and files have to stay flat
//
// Clients work in a closed loop: each sends its next call when it has the answer to the last. Beyond the bound of the server a call is refused
// (429), and its client comes again after the time that the answer names, as docs/reference/http.md asks for. The figures are printed as
// Markdown; -svg draws the curves. The exit status is 1 when a call failed that should not have, or a soak was not flat.
//
// It needs Linux: memory and files are read from /proc. Goroutines are read from /metrics, where the server has it.
package main
