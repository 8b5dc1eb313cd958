package source

import (
	"fmt"
	"regexp"
	"strings"
)

// Note is a comment with its text, without comment marks.
type Note struct {
	Start, End int
	Text       string
}

// Comments lists the comments of a text.
func (l *Language) Comments(src string) []Note {
	var out []Note
	for _, t := range l.Tokens(src) {
		if t.Kind == Comment {
			out = append(out, Note{Start: t.Start, End: t.End, Text: l.of(t).bare(src[t.Start:t.End])})
		}
	}
	return out
}

func (l *Language) of(t Token) *Language {
	if t.Language != nil {
		return t.Language
	}
	return l
}

// bare takes the marks of a comment away.
func (l *Language) bare(s string) string {
	if l.Open != "" && strings.HasPrefix(s, l.Open) {
		return strings.TrimSpace(strings.TrimSuffix(s[len(l.Open):], l.Close))
	}
	for _, m := range l.Line {
		if rest, ok := strings.CutPrefix(s, m); ok {
			return strings.TrimSpace(rest)
		}
	}
	return strings.TrimSpace(s)
}

// Code is a text without its comments, without the space at the ends of lines, and without blank lines. Two texts of the same code differ in
// comments only.
func (l *Language) Code(src string) string {
	var b strings.Builder
	at := 0
	for _, t := range l.Tokens(src) {
		if t.Kind == Comment && t.Start >= at {
			b.WriteString(src[at:t.Start])
			at = t.End
		}
	}
	b.WriteString(src[at:])
	var lines []string
	for _, line := range strings.Split(b.String(), "\n") {
		if line = strings.TrimRight(line, " \t\r"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Lines writes a comment on lines of its own, to be inserted at the start of a line (or at the end of the text, behind a line feed). indent is
// the white space before each line. The error says why no comment can stand there.
func (l *Language) Lines(src string, offset int, text, indent string) (string, error) {
	at, err := l.place(src, offset)
	if err != nil {
		return "", err
	}
	if err := at.free(src, offset); err != nil {
		return "", err
	}
	s, err := at.write(text, indent)
	if err != nil {
		return "", err
	}
	return s, l.proveInserted(src, offset, s)
}

// Trailing writes a comment behind the code of a line, to be inserted at the line's end, before its line feed.
func (l *Language) Trailing(src string, offset int, text string) (string, error) {
	at, err := l.place(src, offset)
	if err != nil {
		return "", err
	}
	if strings.Contains(text, "\n") {
		return "", fmt.Errorf("a comment behind code has one line")
	}
	line := src[strings.LastIndexByte(src[:offset], '\n')+1 : offset]
	if at.continued && strings.HasSuffix(line, "\\") {
		return "", fmt.Errorf("the line goes on in the next one (it ends with a backslash), so no comment can stand behind it")
	}
	s, err := at.write(text, "")
	if err != nil {
		return "", err
	}
	s = strings.TrimSuffix(s, "\n")
	if strings.TrimSpace(line) != "" {
		s = " " + s
		if !strings.HasSuffix(line, " ") && at == pythonLang {
			s = " " + s // two spaces, as is the custom there
		}
	}
	return s, l.proveInserted(src, offset, s)
}

// place is the language of comments at a place that is not inside of a token.
func (l *Language) place(src string, offset int) (*Language, error) {
	if l.Open == "" && len(l.Line) == 0 {
		return nil, fmt.Errorf("%s has no comments", l.Name)
	}
	for _, t := range l.Tokens(src) {
		if t.Start < offset && (offset < t.End || offset == t.End && t.Kind == Comment && !l.of(t).closed(src[t.Start:t.End])) {
			return nil, fmt.Errorf("the place is inside of %s", [...]string{"another comment", "a text in quotes or a block of text", "a tag"}[t.Kind])
		}
	}
	at := l.languageAt(src, offset)
	if at == nil {
		return nil, fmt.Errorf("the place is inside of an element that holds nothing but text")
	}
	return at, nil
}

// closed reports whether a comment cannot go on behind its end.
func (l *Language) closed(s string) bool {
	return l.Open != "" && strings.HasPrefix(s, l.Open) && len(s) >= len(l.Open)+len(l.Close) && strings.HasSuffix(s, l.Close)
}

var codingCookie = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=]`)

// free reports what keeps a line from being put before the line that starts at offset.
func (l *Language) free(src string, offset int) error {
	before := src[:offset]
	if l.continued && strings.HasSuffix(before, "\\\n") {
		return fmt.Errorf("the line before goes on in this one (it ends with a backslash), so nothing can stand between")
	}
	line := src[offset:lineEnd(src, offset, len(src))]
	switch {
	case offset == 0 && strings.HasPrefix(src, "#!"):
		return fmt.Errorf("the first line (#!…) has to stay the first")
	case (l == xmlLang || l == htmlLang) && strings.TrimSpace(before) == "" && strings.HasPrefix(line, "<?xml"):
		return fmt.Errorf("the XML declaration has to stay the first line")
	case l == pythonLang && strings.Count(before, "\n") < 2 && codingCookie.MatchString(line):
		return fmt.Errorf("the declaration of the encoding has to stay in the first two lines")
	case l == goLang && strings.TrimSpace(line) == `import "C"`:
		return fmt.Errorf("a comment before import \"C\" would be read as C code")
	}
	return nil
}

// write renders a comment, with a line feed behind each line.
func (l *Language) write(text, indent string) (string, error) {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	var b strings.Builder
	if l.Block() {
		if strings.Contains(text, l.Close) || l.Open == "<!--" && (strings.Contains(text, "--") || strings.HasPrefix(text, ">") || strings.HasSuffix(text, "-")) {
			return "", fmt.Errorf("the text holds %q, which would end the comment", strings.TrimSuffix(l.Close, ">"))
		}
		for i, line := range lines {
			b.WriteString(indent)
			if i == 0 {
				b.WriteString(l.Open + " ")
			} else {
				b.WriteString(strings.Repeat(" ", len(l.Open)+1))
			}
			b.WriteString(strings.TrimRight(line, " \t"))
			if i == len(lines)-1 {
				b.WriteString(" " + l.Close)
			}
			b.WriteString("\n")
		}
		return b.String(), nil
	}
	for _, line := range lines {
		line = strings.TrimRight(line, " \t")
		if l.continued && strings.HasSuffix(line, "\\") {
			return "", fmt.Errorf("a line of the text ends with a backslash, which would take the next line into the comment")
		}
		b.WriteString(indent + l.Line[0])
		if line != "" {
			b.WriteString(" " + line)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// proveInserted makes sure that with the inserted comment the code is what it was.
func (l *Language) proveInserted(src string, offset int, s string) error {
	if l.Code(src[:offset]+s+src[offset:]) != l.Code(src) {
		return fmt.Errorf("a comment there would change the code")
	}
	return nil
}

// Action is what is done to lines.
type Action string

// The actions.
const (
	ToComment   Action = "comment"
	FromComment Action = "uncomment"
	Toggle      Action = "toggle"
)

// Turn turns the lines between two offsets (the start of a line, and behind the end of one) into comments, or back. It returns the new lines and
// whether they are comments now. Blank lines stay as they are.
func (l *Language) Turn(src string, from, to int, action Action) (lines string, commented bool, err error) {
	old := src[from:to]
	if strings.TrimSpace(old) == "" {
		return "", false, fmt.Errorf("there is nothing in the lines")
	}
	at, err := l.place(src, from)
	if err != nil {
		return "", false, err
	}
	end := from + len(strings.TrimRight(old, "\n"))
	for _, t := range l.Tokens(src) {
		if t.Start < end && t.End > to && strings.TrimSpace(src[to:min(t.End, len(src))]) != "" {
			return "", false, fmt.Errorf("what begins in the lines goes on behind them (%s)", [...]string{"a comment", "a text in quotes or a block of text", "a tag"}[t.Kind])
		}
	}
	if at.continued && (strings.HasSuffix(src[:from], "\\\n") || strings.HasSuffix(strings.TrimRight(old, "\n"), "\\")) {
		return "", false, fmt.Errorf("the lines are joined to others by a backslash; take those in as well")
	}
	all := at.allComments(old)
	if action == Toggle {
		action = ToComment
		if all {
			action = FromComment
		}
	}
	if action == FromComment {
		return at.uncomment(old), false, nil
	}
	if all {
		return old, true, nil
	}
	if lines, err = at.comment(old); err != nil {
		return "", false, err
	}
	if l.Code(src[:from]+lines+src[to:]) != l.Code(src[:from]+src[to:]) {
		return "", false, fmt.Errorf("the lines cannot be made comments without changing other code")
	}
	return lines, true, nil
}

// split takes a line apart: white space before it, the line, white space and the line feed behind it.
func split(line string) (indent, text, rest string) {
	text = strings.TrimLeft(line, " \t")
	indent = line[:len(line)-len(text)]
	rest = text[len(strings.TrimRight(text, " \t\n")):]
	return indent, text[:len(text)-len(rest)], rest
}

func (l *Language) isComment(text string) bool {
	if l.Block() {
		return l.closed(text)
	}
	return strings.HasPrefix(text, l.Line[0])
}

func (l *Language) allComments(lines string) bool {
	for line := range strings.Lines(lines) {
		if _, text, _ := split(line); text != "" && !l.isComment(text) {
			return false
		}
	}
	return true
}

func (l *Language) comment(lines string) (string, error) {
	common, first := "", true
	for line := range strings.Lines(lines) {
		indent, text, _ := split(line)
		switch {
		case text == "":
		case first:
			common, first = indent, false
		default:
			n := 0
			for n < len(common) && n < len(indent) && common[n] == indent[n] {
				n++
			}
			common = common[:n]
		}
	}
	var b strings.Builder
	for line := range strings.Lines(lines) {
		_, text, rest := split(line)
		if text == "" {
			b.WriteString(line)
			continue
		}
		body := strings.TrimSuffix(line[len(common):], rest)
		if !l.Block() {
			b.WriteString(common + l.Line[0] + " " + body + rest)
			continue
		}
		if strings.Contains(body, l.Close) || strings.Contains(body, l.Open) || l.Open == "<!--" && strings.Contains(body, "--") {
			return "", fmt.Errorf("a line holds a comment mark of its own, and comments of %s cannot be nested", l.Name)
		}
		b.WriteString(common + l.Open + " " + body + " " + l.Close + rest)
	}
	return b.String(), nil
}

func (l *Language) uncomment(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		indent, text, rest := split(line)
		if !l.isComment(text) {
			b.WriteString(line)
			continue
		}
		if l.Block() {
			text = strings.TrimSuffix(strings.TrimPrefix(text, l.Open), l.Close)
			text = strings.TrimSuffix(strings.TrimPrefix(text, " "), " ")
		} else {
			text = strings.TrimPrefix(strings.TrimPrefix(text, l.Line[0]), " ")
		}
		if text == "" {
			indent = ""
		}
		b.WriteString(indent + text + rest)
	}
	return b.String()
}
