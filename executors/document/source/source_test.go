package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"a/b.go": "go", "X.PY": "python", "a.tsx": "", "a.ts": "typescript", "Makefile": "makefile", "Dockerfile": "config", "a.h": "c",
		"run": "shell", "run.md": "", "a.yml": "yaml", "index.html": "html", "go.mod": "gomod"} {
		got := ""
		if l := Of(name, "#!/bin/sh\n"); l != nil {
			got = l.Name
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if l := Of("tool", "#!/usr/bin/env python3\n"); l != pythonLang {
		t.Errorf("%+v", l)
	}
}

// What is a comment in each language, and what only looks like one.
func TestComments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, src, want string }{
		{"a.go", "a := \"// no\" // yes\nb := `\n// no\n` /* c\n d */\nr := '\"' // q\n", `["yes" "c\n d" "q"]`},
		{"a.c", "char c = '\\''; // a\n#define X \"/* no */\" /* b */\nint d = 1; /* open", `["a" "b" "open"]`},
		{"a.cpp", "auto s = R\"x( // no )\" )x\"; // a\nint n = 1'000'000; // b\nchar q = '\"'; // c", `["a" "b" "c"]`},
		{"a.py", "x = '#no' # a\ny = \"\"\"\n# no\n\"\"\"\nz = 'it\\'s # no' # b\n'''# no''' # c", `["a" "b" "c"]`},
		{"a.js", "const u = 'http://x' // a\nconst r = /[/*\"]/ // b\nlet d = a / b; // c\nconst t = `// no ${ f('}') /* d */ } // no` // e\nreturn /\\// // f\nif (x) { y } /* g */\n", `["a" "b" "c" "d" "e" "f" "g"]`},
		{"a.ts", "let a = b /* x */ / 2 // y\nlet s = `${`${1 /* in */}`}` // z", `["x" "y" "in" "z"]`},
		{"a.sh", "echo \"# no\" '#no' a#no $# ${#x} # a\ncat <<EOF # b\n# no\nEOF\n# c\ncat <<-'E'\n\t# no\n\tE\n# d\nx=$((1 << 2)) # e\necho \\# # f", `["a" "b" "c" "d" "e" "f"]`},
		{"a.yaml", "a: 'x # no' # a\nb: it's # b\nc: |\n  # no\n\n  no # no\nd: x#no\n# c\ne: \"a\n  # no\" # d\n- f: >-\n    # no\n  g: 1 # e\nurl: http://x/#no", `["a" "b" "c" "d" "e"]`},
		{"a.html", "<!-- a -->\n<p title='<!-- no -->'>x // no</p><script>\nlet a = 1 // b\nlet s = '<!-- no -->'\n</script>\n<style>/* c */ p { color: red }</style><textarea><!-- no --></textarea><!-- d", `["a" "b" "c" "d"]`},
		{"a.xml", "<?xml version='1.0'?><a><![CDATA[<!-- no -->]]><!-- a --></a>", `["a"]`},
		{"a.css", "/* a */ a { content: '/* no */' } /* b */", `["a" "b"]`},
		{"a.sql", "SELECT '-- no', \"--no\" -- a\nFROM t /* b */", `["a" "b"]`},
		{"a.toml", "a = \"# no\" # a\nb = '''\n# no\n''' # b", `["a" "b"]`},
		{"Makefile", "all: # a\n\techo x#no\n# b", `["a" "b"]`},
		{"a.json", "{\"a\": \"// no\"}", `[]`},
	} {
		var got []string
		for _, n := range Of(c.file, c.src).Comments(c.src) {
			got = append(got, n.Text)
		}
		if s := fmt.Sprintf("%q", got); s != c.want {
			t.Errorf("%s %q\n got %s\nwant %s", c.file, c.src, s, c.want)
		}
	}
}

func insertLines(t *testing.T, file, src string, line int, text, indent string) (string, error) {
	t.Helper()
	at := 0
	for range line - 1 {
		at += strings.IndexByte(src[at:], '\n') + 1
	}
	s, err := Of(file, src).Lines(src, at, text, indent)
	return src[:at] + s + src[at:], err
}

func TestInsertLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, src string
		line      int
		text      string
		want      string // of an error: "! " and a part of it
	}{
		{"a.go", "package a\n\nfunc f() {}\n", 3, "f does nothing.\n\nReally.", "package a\n\n// f does nothing.\n//\n// Really.\nfunc f() {}\n"},
		{"a.go", "var s = `\nx\n`\n", 2, "no", "! inside of a text"},
		{"a.go", "/* a\nb */\n", 2, "no", "! inside of another comment"},
		{"a.go", "import (\n)\nimport \"C\"\n", 3, "no", "! C code"},
		{"a.py", "def f():\n    pass\n", 2, "x", "def f():\n# x\n    pass\n"},
		{"a.py", "x = 1 + \\\n  2\n", 2, "no", "! backslash"},
		{"a.py", "'''\nx\n'''\n", 3, "no", "! inside of a text"},
		{"a.py", "#!/usr/bin/python\nx\n", 1, "no", "! first line"},
		{"a.py", "# coding: latin-1\nx\n", 1, "no", "! encoding"},
		{"a.py", "#!/usr/bin/python\nx\n", 2, "yes", "#!/usr/bin/python\n# yes\nx\n"},
		{"a.js", "let a = `\nx\n`;\n", 2, "no", "! inside of a text"},
		{"a.ts", "let a = 1;\n", 1, "a", "// a\nlet a = 1;\n"},
		{"a.c", "#define A \\\n  1\n", 2, "no", "! backslash"},
		{"a.c", "int a;\n", 1, "x \\", "! backslash"},
		{"a.sh", "cat <<A <<B\nx\nA\ny\nB\necho\n", 2, "no", "! inside of a text"},
		{"a.sh", "cat <<A <<B\nx\nA\ny\nB\necho\n", 4, "no", "! inside of a text"},
		{"a.sh", "cat <<A <<B\nx\nA\ny\nB\necho\n", 6, "yes", "cat <<A <<B\nx\nA\ny\nB\n# yes\necho\n"},
		{"a.yaml", "a: |\n  x\nb: 1\n", 2, "no", "! inside of a text"},
		{"a.yaml", "a: |\n  x\nb: 1\n", 3, "yes", "a: |\n  x\n# yes\nb: 1\n"},
		{"a.html", "<p>\nx\n</p>\n", 2, "a\nb", "<p>\n<!-- a\n     b -->\nx\n</p>\n"},
		{"a.html", "<p\n class=x>\n", 2, "no", "! inside of a tag"},
		{"a.html", "<p>\n", 1, "a -- b", "! end the comment"},
		{"a.html", "<script>\nf()\n</script>\n", 2, "js", "<script>\n// js\nf()\n</script>\n"},
		{"a.html", "<style>\np {}\n</style>\n", 2, "css", "<style>\n/* css */\np {}\n</style>\n"},
		{"a.html", "<textarea>\nx\n</textarea>\n", 2, "no", "! "},
		{"a.css", "a {}\n", 1, "a */ b", "! end the comment"},
		{"a.json", "{}\n", 1, "no", "! has no comments"},
	} {
		got, err := insertLines(t, c.file, c.src, c.line, c.text, "")
		if want, bad := strings.CutPrefix(c.want, "! "); bad {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q line %d: %q, %v; want an error with %q", c.file, c.src, c.line, got, err, want)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s %q line %d\n got %q (%v)\nwant %q", c.file, c.src, c.line, got, err, c.want)
		}
	}
	if s, err := goLang.Lines("\tx\n", 0, "a\nb", "\t"); err != nil || s != "\t// a\n\t// b\n" {
		t.Errorf("indented: %q, %v", s, err)
	}
}

func TestTrailing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, src, want string }{
		{"a.go", "x := 1", " // why"},
		{"a.py", "x = 1", "  # why"},
		{"a.css", "a {}", " /* why */"},
		{"a.go", "x := 1 // already", ""},
		{"a.go", "/* x */", " // why"},
		{"a.c", "#define A \\", ""},
		{"a.go", "s := `", ""},
	} {
		got, err := Of(c.file, c.src).Trailing(c.src+"\nend", len(c.src), "why")
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %q: %q, %v; want %q", c.file, c.src, got, err, c.want)
		}
	}
}

func TestTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, before, lines, after string
		action                     Action
		want                       string // "! " and a part of the error
		commented                  bool
	}{
		{"a.go", "", "\tx()\n\n\t\ty()\n", "", ToComment, "\t// x()\n\n\t// \ty()\n", true},
		{"a.go", "", "\t// x()\n\n\t// \ty()\n", "", Toggle, "\tx()\n\n\t\ty()\n", false},
		{"a.go", "", "\t// x()\n\ty()\n", "", Toggle, "\t// // x()\n\t// y()\n", true},
		{"a.go", "", "// x\n", "", ToComment, "// x\n", true},
		{"a.go", "", "x\n", "", FromComment, "x\n", false},
		{"a.py", "if a:\n", "    b()\n    c()", "\n", Toggle, "    # b()\n    # c()", true},
		{"a.yaml", "", "a: 1 # x\n", "b: 2\n", Toggle, "# a: 1 # x\n", true},
		{"a.html", "", "  <p>x</p>\n", "", Toggle, "  <!-- <p>x</p> -->\n", true},
		{"a.html", "", "  <!-- <p>x</p> -->\n", "", Toggle, "  <p>x</p>\n", false},
		{"a.html", "", "<p><!-- x --></p>\n", "", Toggle, "! nested", false},
		{"a.css", "", "a { b: c }\n", "", Toggle, "/* a { b: c } */\n", true},
		{"a.go", "", "x := `\n", "y`\n", Toggle, "! goes on behind them", false},
		{"a.go", "x := `\n", "y`\n", "", Toggle, "! inside of a text", false},
		{"a.c", "", "#define A \\\n", "  1\n", Toggle, "! backslash", false},
		{"a.c", "#define A \\\n", "  1\n", "", Toggle, "! backslash", false},
		{"a.sh", "", "a\n#b\n", "", FromComment, "a\nb\n", false},
		{"a.sh", "", "  \n\n", "", Toggle, "! nothing", false},
		{"a.js", "", "/* a */ b()\n", "", Toggle, "// /* a */ b()\n", true},
	} {
		src := c.before + c.lines + c.after
		got, commented, err := Of(c.file, src).Turn(src, len(c.before), len(c.before)+len(c.lines), c.action)
		if want, bad := strings.CutPrefix(c.want, "! "); bad {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q %s: %q, %v; want an error with %q", c.file, c.lines, c.action, got, err, want)
			}
		} else if err != nil || got != c.want || commented != c.commented {
			t.Errorf("%s %q %s: %q, %v, %v; want %q", c.file, c.lines, c.action, got, commented, err, c.want)
		}
	}
}

// Turning lines into comments and back gives the same lines, wherever it is done.
func TestTurnAndBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, lines string }{
		{"a.go", "\tif x {\n\t\ty()\n\t}\n"}, {"a.py", "  a\n\n    b\n"}, {"a.yaml", "a:\n  - b\n"}, {"a.html", "<p>\n  x\n</p>\n"}, {"a.css", "a {\n  b: c;\n}\n"}, {"a.sh", "a  \n\tb"},
	} {
		l := Of(c.file, "")
		there, _, err := l.Turn(c.lines, 0, len(c.lines), Toggle)
		if err != nil {
			t.Fatal(err)
		}
		back, _, err := l.Turn(there, 0, len(there), Toggle)
		if err != nil || back != c.lines {
			t.Errorf("%s: %q became %q, then %q (%v)", c.file, c.lines, there, back, err)
		}
		if code := l.Code(there); code != "" {
			t.Errorf("%s: %q still holds the code %q", c.file, there, code)
		}
	}
}

func TestSymbols(t *testing.T) {
	t.Parallel()
	src := "package a\n\n// #region Types\ntype Server struct {\n}\n\ntype (\n\tA int\n\tB[T any] []T\n)\n// #endregion\n\n// Start starts.\nfunc (s *Server) Start() {\n}\n\nfunc (b B[T]) Len() int { return 0 }\n\nfunc main() {}\n\nfunc broken( {\n"
	var got []string
	all := goLang.Symbols(src)
	for _, s := range all {
		got = append(got, fmt.Sprintf("%s %s %d %q", s.Kind, s.Name, s.Level, src[s.Start:s.End]))
	}
	for _, want := range []string{`type Server 1 "type Server struct {\n}\n"`, `type A 2 "\tA int\n"`, `method Server.Start 1 "func (s *Server) Start() {\n}\n"`, `method B.Len 1 "func (b B[T]) Len() int { return 0 }\n"`, `function main 1 "func main() {}\n"`} {
		if !slices.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if all[0].Kind != "region" || all[0].Name != "Types" || !strings.HasSuffix(src[:all[0].End], "// #endregion\n") {
		t.Errorf("region %+v", all[0])
	}
	for name, want := range map[string]string{"main": "main", "func main": "main", "Server.Start": "Server.Start", "(*Server).Start": "Server.Start", "Start": "Server.Start", "type Server": "Server", "region Types": "Types", "func Server": "", "x": ""} {
		found := ""
		for _, i := range FindSymbol(all, name) {
			found += all[i].Name
		}
		if found != want {
			t.Errorf("%q finds %q, want %q", name, found, want)
		}
	}
	py := "# region A\nx\n#region B\n# endregion\n# endregion\ny\n"
	got = nil
	for _, s := range pythonLang.Symbols(py) {
		got = append(got, fmt.Sprintf("%s %d %q", s.Name, s.Level, py[s.Start:s.End]))
	}
	if want := []string{`A 1 "# region A\nx\n#region B\n# endregion\n# endregion\n"`, `B 2 "#region B\n# endregion\n"`}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestParses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, src string
		ok, known bool
	}{
		{"a.go", "package a\n", true, true}, {"a.go", "package a\nfunc {", false, true}, {"a.json", "{\"a\":1}", true, true}, {"a.json", "{", false, true},
		{"a.yaml", "a: 1\n---\nb: [2]\n", true, true}, {"a.yaml", "a: [", false, true}, {"a.py", "x", false, false},
	} {
		if ok, known := Of(c.file, "").Parses(c.src); ok != c.ok || known != c.known {
			t.Errorf("%s %q: %v %v", c.file, c.src, ok, known)
		}
	}
}

var fuzzed = []string{"a.go", "a.c", "a.cpp", "a.java", "a.js", "a.py", "a.sh", "a.yaml", "a.html", "a.xml", "a.css", "a.sql", "a.toml", "Makefile", "a.ini"}

// FuzzScan: no text makes a scanner panic; tokens come in order and lie inside of the text; a comment that can be inserted is one, and the code
// is what it was.
func FuzzScan(f *testing.F) {
	for i := range fuzzed {
		for _, s := range []string{"", "\"'`/*", "x // y\n", "<<A\n#\nA\n", "a: |\n  b\n#c", "<script>//</script><!--", "R\"x(\n)x\"", "`${`${/a/}`}`", "'''\n#'''#", "\\\n#"} {
			f.Add(uint8(i), s, uint8(1))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, src string, line uint8) {
		l := Of(fuzzed[int(which)%len(fuzzed)], "")
		at := 0
		for _, k := range l.Tokens(src) {
			if k.Start < at-1 || k.End < k.Start || k.End > len(src) || k.Start < 0 {
				t.Fatalf("%s %q: tokens %+v", l.Name, src, l.Tokens(src))
			}
			at = k.End
		}
		offset := 0
		for range line % 8 {
			j := strings.IndexByte(src[offset:], '\n')
			if j < 0 {
				break
			}
			offset += j + 1
		}
		if s, err := l.Lines(src, offset, "fuzz: a comment", "  "); err == nil {
			after := src[:offset] + s + src[offset:]
			if l.Code(after) != l.Code(src) {
				t.Fatalf("%s %q: the code changed: %q", l.Name, src, after)
			}
			if !slices.ContainsFunc(l.Comments(after), func(n Note) bool { return strings.Contains(n.Text, "fuzz: a comment") }) {
				t.Fatalf("%s %q: %q holds no such comment", l.Name, src, after)
			}
		}
		end := lineEnd(src, offset, len(src))
		_, _, _ = l.Turn(src, offset, min(end+1, len(src)), Toggle)
		for _, s := range l.Symbols(src) {
			if s.Start < 0 || s.Start > s.End || s.End > len(src) {
				t.Fatalf("%s %q: symbol %+v", l.Name, src, s)
			}
		}
	})
}
