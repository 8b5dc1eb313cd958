// Package yamlerror says where a text breaks YAML's syntax: line, column, and the line itself. Whoever reads a file that a person has written
// in YAML calls [At] with what the library that reads it has said.
//
// That library (v3 of go-yaml) counts lines from 0 for some errors and from 1 for others, names the line where the surrounding block begins
// instead of the one that is wrong, and names none in the first line, for aliases and for characters. The table of the test lists what it says
// of each. Its successor (v4) keeps both places; it is asked for them only here, so that what a file means is still decided by one library.
package yamlerror

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Error is a mistake of syntax. Its message has the place, what is wrong, and, in further lines, the line itself with a mark below the column.
type Error struct {
	// Line and Column count from 1; a column is a character, not a byte.
	Line, Column int
	Message      string
	// Text is the line, without its end.
	Text string
	err  error
}

func (e *Error) Unwrap() error { return e.err }

func (e *Error) Error() string {
	number := fmt.Sprint(e.Line)
	s := fmt.Sprintf("line %d, column %d: %s\n    %s | %s", e.Line, e.Column, e.Message, number, clip(e.Text))
	before := prefix(e.Text, e.Column-1)
	if len(before) > maxText || len(before) != utf8.RuneCountInString(before) { // nobody knows how wide a terminal shows other characters
		return s
	}
	return s + fmt.Sprintf("\n    %s | %s^", strings.Repeat(" ", len(number)), strings.Repeat(" ", len(before)))
}

// maxText bounds the line that is shown, in bytes.
const maxText = 160

func clip(s string) string {
	s = strings.ReplaceAll(s, "\t", " ") // so that the mark stands below its column
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// prefix is the first n characters of s.
func prefix(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// At returns err with its place in text, as an *[Error]. What is no mistake of syntax (a value of a wrong type, an unknown field), and what
// cannot be found again, is returned as it is: nil is nil.
func At(text []byte, err error) error {
	if err == nil {
		return nil
	}
	var node yaml.Node
	found, ok := errors.AsType[*yaml.LoadError](yaml.Unmarshal(text, &node))
	if !ok {
		return err
	}
	line, column := place(text, found)
	lines := strings.Split(strings.TrimRight(string(text), " \t\r\n"), "\n")
	if line > len(lines) { // the text has ended: its last line is where to look
		line, column = len(lines), utf8.RuneCountInString(lines[len(lines)-1])+1
	}
	e := &Error{Line: line, Column: column, Text: strings.TrimSuffix(lines[line-1], "\r"), err: err}
	e.Message = words(found, e)
	return e
}

// leftOpen are the messages of errors that are noticed only lines later; what is wrong is where the context begins.
var leftOpen = map[string]bool{"found unexpected end of stream": true, "could not find expected ':'": true}

// place is where a person has to look. Characters that are none have no mark, only a number of bytes before them.
func place(text []byte, e *yaml.LoadError) (line, column int) {
	switch {
	case leftOpen[e.Message] && e.ContextMark.Line > 0:
		return e.ContextMark.Line, e.ContextMark.Column
	case e.Mark.Line > 0:
		return e.Mark.Line, e.Mark.Column
	}
	before := string(text[:max(0, min(e.Mark.Index, len(text)))])
	last := before[strings.LastIndexByte(before, '\n')+1:]
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(last) + 1
}

// advice says what is usually meant by a mistake whose own message is about the grammar.
var advice = map[string]string{
	"did not find expected '-' indicator":            "the line is indented otherwise than the entries above it, or lacks its dash",
	"did not find expected key":                      "the line is indented otherwise than the keys above it, or is no key",
	"mapping values are not allowed in this context": "a text with a colon in it needs quotes, and a key the indentation of the others",
	"found unexpected end of stream":                 "a quotation mark that is opened here is not closed",
	"could not find expected ':'":                    "the line is no key with a colon",
}

func words(found *yaml.LoadError, at *Error) string {
	msg := found.Message
	if at.Column > 0 && strings.HasPrefix(strings.TrimPrefix(at.Text, prefix(at.Text, at.Column-1)), "\t") {
		msg += "; it is a tab, and only spaces indent"
	} else if more := advice[msg]; more != "" {
		msg += "; " + more
	}
	if c := found.ContextMark; c.Line > 0 && c.Line < at.Line && found.ContextMsg != "" {
		msg += fmt.Sprintf(" (%s that begins in line %d, column %d)", found.ContextMsg, c.Line, c.Column)
	}
	return msg
}
