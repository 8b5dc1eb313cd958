// Package terminal runs commands and interactive sessions for the tools of the toolset terminal, on real processes.
//
// It guarantees:
//   - a command is started at most once for an attempt, and ends with everything that it started: by itself, by its time limit, or because the
//     call was cancelled. A process that has left the session and its parent is ended too (package supervise);
//   - a worker that was killed loses nothing: the command goes on, its limit holds, and Reconcile finds out whether it ended, and with what. A
//     session goes on as well; an input that a lost worker may have sent is sent once, because the session remembers its key;
//   - commands run in the workspace (Options.Root) with a clean environment. Where the kernel has Landlock, they cannot change files outside of it
//     and see only what programs need; [Executor.Layers] says what is enforced;
//   - what is kept of an output is bounded, with its beginning and its end; a condition never reads a part as if it were the whole;
//   - secrets of a call are masked in output, screens and evidence.
//
// A command may do anything, so its effect is never proven to be none once it has been started, and a rollback here undoes nothing but text
// that was typed and not submitted: the workspace is restored by package workspace, around the attempt.
//
// The planner calls it, through tool.Executor, tool.Reconciler and tool.Releaser. A program that uses it calls [Supervise] first thing in main.
package terminal
