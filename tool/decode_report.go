package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// finding is an issue before it is redacted and put into words.
type finding struct {
	Issue
	count         int    // how long the value is, where that is what counts
	unit          string // what count counts, when the constraint does not say
	keyConstraint string // the rule that a key of a map breaks
	detail        string // what is wrong with the syntax
	position      string // where, for people
}

// maxGot bounds Issue.Got, and maxPath Issue.Path, in bytes.
const (
	maxGot  = 128
	maxPath = 4 << 10
)

// clipped renders a value for Issue.Got, on one line. In JSON, control characters stand only between tokens.
func clipped(raw []byte) string {
	return clip(oneLine(string(raw[:min(len(raw), maxGot+utf8.UTFMax)])), maxGot-len("…"))
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// quoteText renders s as a JSON string; what is not UTF-8 in it is replaced.
func quoteText(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s[:min(len(s), maxGot+4)])
	if err != nil {
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s[:min(len(s), maxGot)], "�")) // now valid
	}
	return b
}

// report redacts the findings of a document and puts them into words.
func report(found []finding, doc *Document) Issues {
	issues := make(Issues, len(found))
	for i, f := range found {
		if len(doc.Secrets) > 0 && f.position != "" {
			f.detail = "it is broken" // the detail may show what stands there
		}
		secret := doc.hides(f)
		if secret && f.Got != "" {
			f.Got = Redacted
		}
		if !secret {
			f.Suggestion = suggestion(f)
		}
		if len(f.Path) > maxPath { // of an endless key only what holds it is named
			f.Path = f.Path[:strings.LastIndexByte(f.Path[:maxPath], '/')]
		}
		f.Message = sentence(f, doc.Noun)
		issues[i] = f.Issue
	}
	return issues
}

// hides reports whether the value that f shows is a secret, holds one, or may be one whose name is misspelt.
func (doc *Document) hides(f finding) bool {
	if len(doc.Secrets) == 0 || f.Got == "" {
		return false
	}
	path := strings.Split(f.Path, "/")
	if f.Constraint == "additionalProperties" {
		path = path[:len(path)-1] // any name beside a secret's may stand for it
	}
	for _, s := range doc.Secrets {
		secret := strings.Split(s, "/")
		n := min(len(path), len(secret))
		same := true
		for i := 1; i < n; i++ {
			same = same && (secret[i] == "*" || secret[i] == path[i])
		}
		if same {
			return true // the path leads to the secret, into it, or to what holds it
		}
	}
	return false
}

func suggestion(f finding) string {
	word := f.Path[strings.LastIndexByte(f.Path, '/')+1:]
	switch f.Constraint {
	case "additionalProperties":
	case "enum":
		text, err := jsontext.AppendUnquote(nil, f.Got)
		if err != nil { // not a string
			return ""
		}
		word = string(text)
	default:
		return ""
	}
	for _, near := range nearest(word, f.Allowed, 1) {
		if 2*distance(word, near) < max(len(word), len(near)) { // else it shares too little to be meant
			return near
		}
	}
	return ""
}

// syntaxFinding describes broken JSON; at is where the decoder stands.
func syntaxFinding(err error, text []byte, at int64) finding {
	f := finding{detail: err.Error()}
	f.Constraint, f.Offset = ConstraintSyntax, at
	var broken *jsontext.SyntacticError
	if errors.As(err, &broken) {
		f.Offset, f.Path, f.detail = broken.ByteOffset, string(broken.JSONPointer), broken.Err.Error()
	}
	f.Offset = min(max(f.Offset, 0), int64(len(text)))
	switch {
	case f.detail == "exceeded max depth": // jsontext itself allows 10,000 levels
		f.Constraint, f.Limit, f.Path = ConstraintMaxDepth, MaxDepth, ""
		return f
	case len(bytes.TrimSpace(text)) == 0:
		f.detail = "it is empty"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		f.Offset, f.detail = int64(len(text)), "it ends too early"
	}
	f.detail = strings.TrimPrefix(f.detail, "jsontext: ")
	f.position = position(text, f.Offset)
	return f
}

// position says where an offset is, for people.
func position(text []byte, offset int64) string {
	before := text[:offset]
	line := bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf(" at line %d, column %d", line+1, column)
}
