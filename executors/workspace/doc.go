// Package workspace backs up a folder before an attempt that may write into it, and takes back exactly what the attempt changed when it
// failed: files, directories, symbolic links, hard links, modes, owners, extended attributes and modification times, whether one of our
// tools wrote them or a shell command did. The planner calls [Workspace.Begin], [Workspace.Observe] and then [Workspace.Rollback] or
// [Workspace.Commit]; the layer below it ([Workspace.Snapshot], [Workspace.Changes], [Workspace.Restore]) can be used by itself.
//
// It guarantees:
//   - what the attempt did not touch is never touched, and what something else changed after the attempt is never overwritten: then
//     nothing is restored at all, and a [*Refused] says what differs;
//   - a restore happens as a whole or not at all, also when the process is killed or the disk is full: it is journaled, and the next
//     [Open] finishes or undoes it ([Workspace.Recovered]);
//   - a restore says that it is complete only after the folder was read again and found as it was before;
//   - what is not backed up (ignored folders, files that are too large, sockets, other file systems, what may not be read) is watched by
//     its metadata and named in the result when the attempt changed it. It is never passed over in silence;
//   - no symbolic link leads an operation out of the folder;
//   - everything is bounded: files, bytes, snapshots and age ([Options]).
//
// What makes it cheap: a snapshot reads only files whose size, inode, times of modification and of status change, mode or link count differ from
// the last one; the status-change time cannot be set back by a program, so "same size, old mtime" hides nothing. A file that was changed so
// shortly before it was read that a later change could carry the same time is read again the next time (racy.go). Contents are kept by
// their SHA-256 as clones where the file system can (FICLONE), and as copies elsewhere; never as hard links to the files of the workspace,
// because a program that writes in place would change the backup with the file.
//
// What it cannot see: a write through a shared memory mapping that was dirty before the snapshot and is written back after the next one, and who made a
// change while an attempt was under way. A change by a person during the attempt counts as the attempt's. Between two attempts that overlap,
// the paths that changed while both were under way are told apart from neither, so their rollback is refused ([Conflict]).
//
// It works on Linux; [Open] says so elsewhere.
package workspace
