// Package stack puts the parts of toolsvc together in one process: the store, the executors, Temporal (embedded, or a given cluster),
// the worker and the service. The command line, the benchmarks and the end-to-end tests all start here, so that they run the same
// thing.
package stack
