// Package temporalclient is the light half of toolsvc's way to Temporal: it dials a frontend, names toolsvc's search attributes, builds
// links into the web UI, and finds a Temporal that another process of toolsvc runs on this machine.
//
// It guarantees:
//   - configuration comes from Temporal's own environment configuration (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS, API key, profile,
//     file), with explicit [Options] on top, so that whatever reaches a cluster with the Temporal CLI reaches it with toolsvc;
//   - an error says what was tried on which address, and matches [ErrUnreachable], [ErrNamespaceNotFound] or [ErrDenied];
//   - [ReadEndpoint] only reports a server that is running now: the record counts only while its owner holds the lock of the state
//     directory;
//   - it never links the Temporal server. Package temporalserver does, and imports this package; only cmd/toolsvc imports that one.
//
// Called by cmd/toolsvc, by package planner (search attributes, readiness) and by package temporalserver (lock and record).
package temporalclient
