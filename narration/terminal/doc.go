// Package terminal shows narration on a terminal, or in a file that its output goes to: a line for each event while a run goes on, and a
// table of its steps at the end. The command line calls it.
//
// It guarantees:
//   - an event is written at once, so that those of several runs never mix; in a file it is one line;
//   - colours and clipping to the window happen only on a terminal; NO_COLOR (no-color.org) and TERM=dumb are honoured; what goes to a
//     file or a pipe is plain text, whole;
//   - Korean and Japanese, whose characters take two columns, are clipped and aligned by columns;
//   - no text can steer the terminal: control characters are left out.
package terminal
