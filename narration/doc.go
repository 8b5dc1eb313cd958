// Package narration says in words what a run is doing, in English, Korean and Japanese: the live story that people read on the page, in the
// terminal and in the progress messages of MCP. The planner makes the events; the surfaces show them.
//
// It guarantees:
//   - every moment of a run is one of seven [Stages], with a [Level] and the badge of the source really used;
//   - every text exists in every language, with the same things named in it; an unknown language gets English;
//   - a text is one line of printable characters, at most [MaxText] runes: what a page or a caller put into a name can neither break a line,
//     nor steer a terminal, nor turn the direction of writing;
//   - what people type is never shown, nor any field that the design calls secret, and what looks like a password or a token in a command
//     or an address is replaced.
//
// Everything here is a pure function of its arguments. The texts stand in english.go, korean.go and japanese.go, a table for each.
package narration
