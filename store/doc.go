// Package store keeps what toolsvc remembers besides Temporal: the events of runs, the journal of dispatches, idempotency keys,
// heal memory and artifacts. The planner's activities write to it; the surfaces read from it.
//
// It guarantees:
//   - events of a run are numbered 1, 2, 3, … without a gap and without a double, whoever writes at the same time, in this process
//     or another one, and whenever a writer is killed; an event is there whole or not at all;
//   - appending an event again under the same key adds nothing, so a repeated activity is heard once ([Store.AppendEvents]);
//   - a watcher sees every event after a given one exactly once, in order, and later ones as they come ([Store.Watch]);
//   - a dispatch mark is on the disk before [Store.MarkDispatch] returns, and a second mark for the same attempt is refused:
//     what was marked may have been sent;
//   - the first claim of an idempotency key wins, and is on the disk before [Store.ClaimKey] returns;
//   - a memory that was erased ([Store.EraseMemory]) does not come back, and what is kept of memories is bounded;
//   - an artifact that is read is the one that was put: its content is checked against its digest.
//
// A kill of the process loses nothing that was returned. A loss of power loses no mark and no claim; it may lose the events of the
// last moments, never some in the middle.
//
// The tables live in one SQLite file in the state directory, in WAL mode, which several processes on one machine may use at once; it must
// be a local file system. Or they live in a schema of a PostgreSQL database ([Options.URL]), for several machines, with the same guarantees
// (a loss of power loses nothing there that was confirmed, as far as the server keeps its word); what differs is in the two drivers,
// sqlite.go and postgres.go, and every test runs against both. Artifacts live in a bucket of gocloud.dev/blob, by default a folder in the
// state directory; several machines need one that they share (s3://…).
//
// Consumers declare the small interfaces they need; [*Store] satisfies them.
package store
