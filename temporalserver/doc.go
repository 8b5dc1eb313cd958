// Package temporalserver runs a real Temporal server with SQLite persistence, and Temporal's web UI, inside this process, so that toolsvc
// is durable without anything else being installed.
//
// It guarantees:
//   - when [Start] returns, a workflow can be started at once;
//   - what the server has accepted survives kill -9, a restart of the process, and a power cut: every commit is on the disk before it is
//     acknowledged (unless [Options.RelaxedSync] trades the power cut for speed);
//   - one process at a time runs on a state directory; the second one is told who the first is and where it listens;
//   - a database of another schema is refused before anything touches it, and a schema is either complete or absent;
//   - nothing in here ends the process: what the server calls fatal becomes an error of Start, or arrives on [Server.Failed];
//   - everything listens on the loopback interface only. Temporal itself has no authentication here: whoever may connect to this
//     machine's loopback may use it.
//
// The package links some 130 MB of server. Only cmd/toolsvc and this package's own tests import it; everything else uses package
// temporalclient.
package temporalserver
