//go:build linux

// Package supervise runs one command or one terminal session in a process of its own, the supervisor, which outlives the worker that
// asked for it.
//
// The supervisor is this very program, started again under another name; [Hook], called first thing in main, turns it into one. It
// guarantees:
//   - a command is started at most once for an order, and its record on disk says whether it was started, whether it ended, and with
//     what; a worker that comes later reads the record, or waits with [Wait] for the same command;
//   - whatever the command starts is ended with it. The supervisor is a subreaper (prctl PR_SET_CHILD_SUBREAPER), so also a process
//     that left the session, the process group and its parent stays a descendant, and is found;
//   - the time limit holds although the worker is gone;
//   - what is kept of the output is bounded, and holds its beginning and its end;
//   - the command can touch only the files that its [Confinement] lists, where the kernel has Landlock; [Layers] says what is enforced;
//   - secrets are masked before anything is written to disk or told to anyone.
//
// It knows nothing of tools. Package terminal calls it.
package supervise
