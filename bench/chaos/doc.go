//go:build linux

// Command chaos breaks toolsvc at random while it works, and then checks from outside that nothing was lost, nothing was done twice, and
// nothing was called a success that was none.
//
//	go run ./bench/chaos -rounds 300 -seed 1 -parallel 2
//
// A round is three or four runs at once over the HTTP surface of the real program (orders on a page, commands, edits of documents, a goal
// that a model plans for), and up to three faults at random moments: the process killed or stopped for a while, Chromium killed, answers
// lost on their way, the store locked, its disk full, Temporal cut off or killed, a model that is slow or fails. What a round does follows from its
// seed and number; when things happen follows from the machine, too.
//
// The truth comes from outside: a page server that counts orders, the files of the workspace, the stream of events, the histories in
// Temporal. [judge] and [agree] hold the invariants. Every violation is printed with what is needed to repeat it; the exit status is 1 then.
//
// It needs Linux: it mounts a small file system to fill (only as root; otherwise that fault is left out), and looks into /proc.
package main
