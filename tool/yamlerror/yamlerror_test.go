package yamlerror

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What is broken, what the library that reads files says of it, and where it is.
func TestAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, library string // "" when it names no line
		line, column  int
		says          string
	}{
		"a list that is not closed":       {"steps: [", "line 1", 1, 9, "did not find expected node content"},
		"the same in the last line":       {"name: x\nsteps: [\n\n\n", "line 4", 2, 9, "did not find expected node content"},
		"a mapping that is not closed":    {"steps:\n  - tool: a\n    args: {a: 1\n  - tool: b\n", "line 2", 4, 9, "(while parsing a flow mapping that begins in line 3, column 11)"},
		"a list that is closed too late":  {"name: x\nsteps:\n  - tool: a\n    args: [1, 2\n    intent: y\n", "line 3", 5, 11, "begins in line 4, column 11"},
		"two braces":                      {"name: x\nsteps:\n  - {tool: a, args: {b: c}}}\n", "line 2", 3, 28, "did not find expected '-' indicator"},
		"indented less than its step":     {"steps:\n  - tool: a\n   args: {}\n", "line 1", 3, 4, "indented otherwise than the entries above it"},
		"indented more than its step":     {"steps:\n  - tool: a\n     args: {}\n", "line 3", 3, 10, "the indentation of the others"},
		"a key between two levels":        {"name: x\nsteps:\n  - tool: a\n name: y\n", "line 3", 4, 2, "indented otherwise than the keys above it"},
		"a key after a list":              {"- a\nname: x\n", "line 1", 2, 1, "or lacks its dash"},
		"a block that ends too early":     {"name: x\nsteps: |\n    a\n  b\n c\n", "line 3", 4, 3, "begins in line 1, column 1"},
		"a tab":                           {"name: x\nsteps:\n\t- tool: a\n", "line 3", 3, 1, "it is a tab, and only spaces indent"},
		"a colon in a text":               {"name: x\nsteps:\n  - tool: a\n    intent: say: it\n", "line 4", 4, 16, "needs quotes"},
		"the same in Korean":              {"name: 한국어\nsteps:\n  - intent: 한국어: 글\n", "line 3", 3, 16, "needs quotes"},
		"a quotation in the first line":   {"name: \"x\nsteps:\n  - tool: a\n", "line 4", 1, 7, "is not closed"},
		"a quotation further down":        {"a: 1\nb: 2\nname: 'x\nsteps:\n  - tool: a\n", "line 3", 3, 7, "is not closed"},
		"no key":                          {"name: x\nfoo\nsteps: []\n", "line 2", 2, 1, "no key with a colon"},
		"no key at the end":               {"name: x\nsteps: []\nfoo\n", "line 3", 3, 1, "no key with a colon"},
		"a character that begins nothing": {"name: x\nsteps:\n  - tool: @a\n", "line 3", 3, 11, "cannot start any token"},
		"an alias of nothing":             {"name: x\nsteps:\n  - tool: *a\n", "", 3, 11, "unknown anchor 'a' referenced"},
		"an escape that there is not":     {"name: x\na: {command: \"a\\qb\"}\n", "line 2", 2, 16, "unknown escape character"},
		"a control character":             {"name: x\nü: \x01\n", "", 2, 4, "control characters are not allowed"},
		"no UTF-8":                        {"name: \xff\n", "", 1, 7, "invalid leading UTF-8 octet"},
		"a tag that is not closed":        {"name: x\r\nsteps: !<foo\r\n", "line 2", 2, 13, "did not find the expected '>'"},
	} {
		var node yaml.Node
		err := yaml.Unmarshal([]byte(c.text), &node)
		if err == nil || c.library == "" && strings.Contains(err.Error(), "line ") || !strings.Contains(err.Error(), c.library) {
			t.Errorf("%s: the library says %v, and the table %q", name, err, c.library)
		}
		e, ok := errors.AsType[*Error](At([]byte(c.text), err))
		if !ok {
			t.Errorf("%s: no place", name)
			continue
		}
		if e.Line != c.line || e.Column != c.column || !strings.Contains(e.Message, c.says) || e.Text != strings.TrimSuffix(strings.Split(c.text, "\n")[c.line-1], "\r") {
			t.Errorf("%s: line %d, column %d: %s in %q; want line %d, column %d: %s", name, e.Line, e.Column, e.Message, e.Text, c.line, c.column, c.says)
		}
		if !errors.Is(e, err) {
			t.Errorf("%s: what the library said is lost", name)
		}
	}
}

// The line is shown as it stands, with a mark below the column where that can be drawn.
func TestMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		e    Error
		want string
	}{
		"plain":     {Error{Line: 12, Column: 3, Message: "m", Text: "\tab"}, "line 12, column 3: m\n    12 |  ab\n       |   ^"},
		"the end":   {Error{Line: 1, Column: 3, Message: "m", Text: "ab"}, "line 1, column 3: m\n    1 | ab\n      |   ^"},
		"wide":      {Error{Line: 1, Column: 3, Message: "m", Text: "한국어"}, "line 1, column 3: m\n    1 | 한국어"},
		"long":      {Error{Line: 1, Column: 500, Message: "m", Text: strings.Repeat("x", 600)}, "line 1, column 500: m\n    1 | " + strings.Repeat("x", maxText) + "…"},
		"not UTF-8": {Error{Line: 1, Column: 1, Message: "m", Text: "\xff"}, "line 1, column 1: m\n    1 | \xff\n      | ^"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// What is no mistake of syntax has its place already, or none.
func TestAtLeavesOthers(t *testing.T) {
	t.Parallel()
	var v struct{ A int }
	text := []byte("a: x\n")
	if err := yaml.Unmarshal(text, &v); err == nil || At(text, err) != err {
		t.Errorf("%v became %v", err, At(text, err))
	}
	if err := At([]byte("a: ["), nil); err != nil {
		t.Error(err)
	}
}

// No text makes it fail, or leads out of the text.
func FuzzAt(f *testing.F) {
	for _, s := range []string{"", "[", "a: [\n\n", "\"", "a\n\xff", "\ufeffa: [", "\xff\xfea\x00:\x00 \x00[\x00", "a:\n\t- b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, ok := errors.AsType[*Error](At(text, errors.New("x")))
		if !ok {
			return
		}
		if e.Line < 1 || e.Line > strings.Count(string(text), "\n")+1 || e.Column < 1 || e.Error() == "" {
			t.Errorf("%q: line %d, column %d", text, e.Line, e.Column)
		}
	})
}
