// Package telemetry shows operators what toolsvc does: metrics for Prometheus, traces for OpenTelemetry, and structured logs.
//
// It guarantees:
//   - what is counted of calls, attempts, repairs, questions and runs is derived from the events that the store has kept, each counted once, by
//     the process that stored it, however often an activity or a workflow task is repeated ([Telemetry.Observe]). So it agrees with what
//     callers got, and with what the live page shows;
//   - labels hold names of tools and values of closed enumerations; neither labels nor spans nor log lines hold arguments, results, addresses
//     of pages, or messages that may quote them;
//   - without an exporter in the environment (OTEL_EXPORTER_OTLP_ENDPOINT and its kin) nothing is dialled and no span is recorded.
//
// The stack puts it together; surfaces get it as middleware. One value belongs to one process; nothing is global.
package telemetry
