// Package source knows of source files where their comments and strings are, how comments are written, and which functions, types and
// regions they have.
//
// It reads with a small scanner for each language, not with a compiler: enough to tell code from comments and strings, and so to insert a
// comment where it is one and to prove that the code is what it was. Functions and types are known of Go (through go/parser); of other
// languages only the regions that are marked by comments (#region, MARK:).
//
// It guarantees: a comment is never put inside of a string, a heredoc, a block scalar, another comment, or behind a line that goes on
// (a backslash at its end); where that would be, the error says so. No text makes it panic.
package source
