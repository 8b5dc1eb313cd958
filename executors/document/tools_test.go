package document_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolsvc/tool"
)

const guide = `---
title: Guide
---
# Guide

Intro with a [link](other.md#there).

## Setup

Install it.

### Linux

Use apt.

## Core Concepts

### Retry

**Easy**: again. **Normal**: later.

#### Expert

Never blindly.

## End

Bye.
`

func TestRead(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"g.md": guide, "w.txt": "one\r\ntwo\r\nthree", "empty": "", "a.go": "package a\n\nfunc f() {\n}\n", "latin": "caf\xe9"})
	for _, c := range []struct{ args, text, lines string }{
		{`{"path":"w.txt"}`, "one\ntwo\nthree", "1-3"},
		{`{"path":"w.txt","start_line":2}`, "two\nthree", "2-3"},
		{`{"path":"w.txt","start_line":2,"end_line":2}`, "two\n", "2-2"},
		{`{"path":"w.txt","end_line":1,"line_numbers":true}`, "     1\tone\n", "1-1"},
		{`{"path":"g.md","heading":"Setup"}`, "## Setup\n\nInstall it.\n\n### Linux\n\nUse apt.\n\n", "8-15"},
		{`{"path":"g.md","heading":"Setup > Linux"}`, "### Linux\n\nUse apt.\n\n", "12-15"},
		{`{"path":"g.md","heading":"Setup","start_line":10,"end_line":10}`, "Install it.\n", "10-10"},
		{`{"path":"g.md","match":"blindly"}`, "Never blindly.\n", "24-24"},
		{`{"path":"g.md","match":"Bye.\n","max_chars":2}`, "By", "28-28"},
		{`{"path":"empty"}`, "", "0-0"},
		{`{"path":"a.go","heading":"f"}`, "func f() {\n}\n", "3-4"},
	} {
		r := w.call("read", c.args).ok(t)
		if r.result["text"] != c.text || fmt.Sprintf("%v-%v", r.result["line"], r.result["end_line"]) != c.lines {
			t.Errorf("%s: %q, lines %v-%v; want %q, %s", c.args, r.result["text"], r.result["line"], r.result["end_line"], c.text, c.lines)
		}
		if r.result["truncated"] != strings.Contains(c.args, "max_chars") || r.outcome.Effect != tool.EffectNone {
			t.Errorf("%s: %v %s", c.args, r.result, r.outcome.Effect)
		}
	}
	w.call("read", `{"path":"latin"}`).fails(t, tool.PreconditionFailed, "0xE9", "byte 3", "Latin-1")
	w.call("read", `{"path":"guide.md"}`).fails(t, tool.TargetNotFound, "no file guide.md")
	w.call("read", `{"path":"h.md"}`).fails(t, tool.TargetNotFound, "Is g.md meant?")
	w.call("read", `{"path":"../x"}`).fails(t, tool.PolicyDenied, "outside")
	w.call("read", `{"path":"w.txt","start_line":9}`).fails(t, tool.TargetNotFound, "has 3 lines")
	w.call("read", `{"path":"w.txt","start_line":3,"end_line":1}`).fails(t, tool.PreconditionFailed)
	w.call("read", `{"path":"g.md","heading":"Stup"}`).fails(t, tool.TargetNotFound, `Is "Setup" meant (line 8)?`)
	w.call("read", `{"path":"w.txt","heading":"Setup"}`).fails(t, tool.TargetNotFound, "text")
	w.call("read", `{"path":"g.md","heading":"Setup","start_line":1,"end_line":2}`).fails(t, tool.PreconditionFailed, "not all in")
}

func TestOutline(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"g.md": guide + "```go\n", "a.go": "package a\n\ntype T struct{}\n\nfunc (t T) Run() {\n}\n", "a.py": "# region Setup\nx = 1\n# endregion\n", "a.txt": "x"})
	r := w.call("outline", `{"path":"g.md","max_items":3}`).ok(t)
	if got := fmt.Sprint(r.result["items"]); !strings.Contains(got, "map[end_line:15 kind:heading level:2 line:8 path:Guide > Setup title:Setup]") || r.result["truncated"] != true {
		t.Errorf("%v", r.result)
	}
	if fmt.Sprint(r.result["fences"]) != "[map[closed:false end_line:29 language:go line:29]]" || fmt.Sprint(r.result["front_matter"], r.result["front_matter_end"]) != "[title] 3" {
		t.Errorf("%v", r.result)
	}
	r = w.call("outline", `{"path":"a.go"}`).ok(t)
	if got := fmt.Sprint(r.result["items"]); got != "[map[end_line:3 kind:type level:1 line:3 path:T title:T] map[end_line:6 kind:method level:1 line:5 path:T.Run title:T.Run]]" || r.result["format"] != "go" {
		t.Error(got)
	}
	r = w.call("outline", `{"path":"a.py"}`).ok(t)
	if got := fmt.Sprint(r.result["items"], r.result["note"]); !strings.Contains(got, "kind:region") || !strings.Contains(got, "only regions are known") {
		t.Error(got)
	}
	w.call("outline", `{"path":"a.txt"}`).ok(t)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, args, after string }{
		{"a new file", "", `{"path":"f.md","content":"# A\r\nb"}`, "# A\nb"},
		{"a new file with CRLF", "", `{"path":"f.md","content":"a\nb\n","line_endings":"crlf"}`, "a\r\nb\r\n"},
		{"line endings stay", "x\r\ny\r\n", `{"path":"f.md","content":"a\nb\n"}`, "a\r\nb\r\n"},
		{"the final newline stays", "x\n", `{"path":"f.md","content":"a\nb"}`, "a\nb\n"},
		{"no final newline", "x", `{"path":"f.md","content":"a\nb"}`, "a\nb"},
		{"the mark stays", "\xEF\xBB\xBFx\n", `{"path":"f.md","content":"ä\n"}`, "\xEF\xBB\xBFä\n"},
		{"UTF-16 stays", "\xFF\xFEx\x00\r\x00\n\x00", `{"path":"f.md","content":"ä\n"}`, "\xFF\xFE\xe4\x00\r\x00\n\x00"},
		{"emptied", "x\n", `{"path":"f.md","content":""}`, ""},
		{"other line endings", "x\r\n", `{"path":"f.md","content":"a\nb\n","line_endings":"lf"}`, "a\nb\n"},
		{"mixed becomes one", "x\r\ny\nz\r\n", `{"path":"f.md","content":"a\nb\n"}`, "a\r\nb\r\n"},
		{"the same again", "a\n", `{"path":"f.md","content":"a\n"}`, "a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, nil)
			if c.before != "" {
				w.put("f.md", c.before)
			}
			r := w.call("write", c.args).ok(t)
			if got := w.get("f.md"); got != c.after {
				t.Errorf("the file holds %q, want %q", got, c.after)
			}
			if r.result["created"] != (c.before == "") || r.result["changed"] != (c.before != c.after) || r.result["digest"] != tool.Digest([]byte(c.after)) {
				t.Errorf("%v", r.result)
			}
			if want := map[bool]tool.Effect{true: tool.EffectConfirmed, false: tool.EffectNone}[c.before != c.after]; r.outcome.Effect != want {
				t.Errorf("effect %s: %s", r.outcome.Effect, r.outcome.Proof)
			}
			w.call("write", c.args).ok(t) // and once more: the same state
			if got := w.get("f.md"); got != c.after {
				t.Errorf("written twice, the file holds %q", got)
			}
			if files := w.files(); files != "f.md" {
				t.Errorf("the workspace holds %s", files)
			}
		})
	}
	w := newWorkspace(t, map[string]string{"a": "x", "latin": "caf\xe9", "locked": "x"})
	if err := os.Chmod(filepath.Join(w.dir, "locked"), 0o444); err != nil {
		t.Fatal(err)
	}
	w.call("write", `{"path":"a","content":"y","if_exists":"refuse"}`).fails(t, tool.PreconditionFailed, "there already")
	w.call("write", `{"path":"a","content":"y","if_digest":"none"}`).fails(t, tool.PreconditionFailed, "not as if_digest says")
	w.call("write", `{"path":"latin","content":"y"}`).fails(t, tool.PreconditionFailed, "Latin-1")
	w.call("write", `{"path":"a/b","content":"y"}`).fails(t, tool.PreconditionFailed)
	w.call("write", `{"path":"locked","content":"y"}`).fails(t, tool.PreconditionFailed, "read-only")
	w.call("write", `{"path":"new","content":"a\u0000b"}`).fails(t, tool.PreconditionFailed, "zero character")
	w.call("write", `{"path":"new","content":"\ufeffb"}`).fails(t, tool.PreconditionFailed, "byte-order mark")
	w.call("write", `{"path":"deep/er/new","content":"y","if_digest":"none"}`).ok(t)
	if w.get("a") != "x" || w.get("deep/er/new") != "y" || w.get("locked") != "x" {
		t.Error(w.files())
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	const file = "one\r\ntwo two\r\n\r\nthree\nfour"
	for _, c := range []struct{ args, after string }{
		{`"old":"one","new":"1"`, "1\r\ntwo two\r\n\r\nthree\nfour"},
		{`"old":"one\ntwo","new":"1\n2\n3"`, "1\r\n2\r\n3 two\r\n\r\nthree\nfour"},
		{`"old":"two","new":"2","count":2`, "one\r\n2 2\r\n\r\nthree\nfour"},
		{`"old":"two","new":"2","count":0`, "one\r\n2 2\r\n\r\nthree\nfour"},
		{`"old":"two","new":"2","nth":2`, "one\r\ntwo 2\r\n\r\nthree\nfour"},
		{`"old":"three\n","new":""`, "one\r\ntwo two\r\n\r\nfour"},
		{`"start_line":2,"end_line":3,"new":"x\ny\n"`, "one\r\nx\r\ny\r\nthree\nfour"},
		{`"start_line":5,"new":"x\n"`, "one\r\ntwo two\r\n\r\nthree\nx"},
		{`"start_line":1,"new":""`, "two two\r\n\r\nthree\nfour"},
		{`"old":"two","new":"2","start_line":4,"end_line":4`, "! not in the lines 4 to 4"},
		{`"old":"two","new":"2"`, "! occurs 2 times"},
		{`"old":"two","new":"2","count":3`, "! occurs 2 times"},
		{`"old":"two","new":"2","nth":3`, "! no number 3"},
		{`"old":"Three","new":"3"`, "! is not in f.txt"},
		{`"old":" one","new":"1"`, "! Line 1 comes near"},
		{`"start_line":6,"new":"x"`, "! has 5 lines"},
		{`"old":"one","new":"one"`, "! changed"},
	} {
		w := newWorkspace(t, map[string]string{"f.txt": file})
		r := w.call("replace", `{"path":"f.txt",`+c.args+`}`)
		if why, bad := strings.CutPrefix(c.after, "! "); bad {
			r.fails(t, r.failure(), why)
			if r.failure() == "" || w.get("f.txt") != file {
				t.Errorf("%s: %s, %q", c.args, r.failure(), w.get("f.txt"))
			}
			continue
		}
		r.ok(t)
		if got := w.get("f.txt"); got != c.after {
			t.Errorf("%s: %q, want %q", c.args, got, c.after)
		}
	}
}

// What is meant twice is listed, with what tells the places apart.
func TestAmbiguousPlacesAreListed(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"g.md": "# A\n\n## Setup\n\nrun it\n\n# B\n\n## Setup\n\nrun it\n"})
	r := w.call("replace", `{"path":"g.md","old":"run it","new":"x"}`).fails(t, tool.AmbiguousTarget, "2 times", "line 5, line 11")
	if got := fmt.Sprint(r.err.Candidates); got != `[the match on line 5 "run it" in "A > Setup" the match on line 11 "run it" in "B > Setup"]` {
		t.Error(got)
	}
	r = w.call("read", `{"path":"g.md","heading":"Setup"}`).fails(t, tool.AmbiguousTarget, "line 3, line 9")
	if got := fmt.Sprint(r.err.Candidates); got != `[the heading on line 3 "Setup" in "A" the heading on line 9 "Setup" in "B"]` {
		t.Error(got)
	}
	w.call("replace", `{"path":"g.md","old":"run it","new":"x","heading":"B > Setup"}`).ok(t)
	w.call("write_section", `{"path":"g.md","heading":"Setup","nth":1,"content":"y"}`).ok(t)
	if got := w.get("g.md"); got != "# A\n\n## Setup\n\ny\n\n# B\n\n## Setup\n\nx\n" {
		t.Errorf("%q", got)
	}
	w.call("read", `{"path":"g.md","heading":"Setup","nth":3}`).fails(t, tool.TargetNotFound, "only 2 headings")
}

func TestInsert(t *testing.T) {
	t.Parallel()
	const file = "# A\n\na\n\n## B\n\nb\n\n# C\nc"
	for _, c := range []struct{ args, after string }{
		{`"line":3,"text":"x\n"`, "# A\n\na\nx\n\n## B\n\nb\n\n# C\nc"},
		{`"line":1,"position":"before","text":"x\ny"`, "x\ny\n# A\n\na\n\n## B\n\nb\n\n# C\nc"},
		{`"line":10,"text":"x\n"`, "# A\n\na\n\n## B\n\nb\n\n# C\nc\nx"},
		{`"match":"b","text":"x"`, "# A\n\na\n\n## B\n\nb\nx\n\n# C\nc"},
		{`"match":"b\n\n# C","position":"before","text":"x"`, "# A\n\na\n\n## B\n\nx\nb\n\n# C\nc"},
		{`"match":"b\n\n# C","text":"x"`, "# A\n\na\n\n## B\n\nb\n\n# C\nx\nc"},
		{`"heading":"B","text":"x"`, "# A\n\na\n\n## B\nx\n\nb\n\n# C\nc"},
		{`"heading":"B","position":"before","text":"x\n"`, "# A\n\na\n\nx\n## B\n\nb\n\n# C\nc"},
		{`"heading":"B","position":"end","text":"x"`, "# A\n\na\n\n## B\n\nb\n\nx\n\n# C\nc"},
		{`"heading":"A","position":"end","text":"x"`, "# A\n\na\n\n## B\n\nb\n\nx\n\n# C\nc"},
		{`"heading":"C","position":"end","text":"x\n"`, "# A\n\na\n\n## B\n\nb\n\n# C\nc\n\nx"},
		{`"position":"before","text":"x"`, "x\n# A\n\na\n\n## B\n\nb\n\n# C\nc"},
		{`"position":"end","text":"x"`, "# A\n\na\n\n## B\n\nb\n\n# C\nc\nx"},
		{`"heading":"A","match":"a","text":"x"`, "# A\n\na\nx\n\n## B\n\nb\n\n# C\nc"},
		{`"heading":"C","match":"a","text":"x"`, "! elsewhere in the file: line 3"},
		{`"line":11,"text":"x"`, "! has 10 lines"},
	} {
		w := newWorkspace(t, map[string]string{"f.md": file})
		r := w.call("insert", `{"path":"f.md",`+c.args+`}`)
		if why, bad := strings.CutPrefix(c.after, "! "); bad {
			r.fails(t, r.failure(), why)
			continue
		}
		r.ok(t)
		if got := w.get("f.md"); got != c.after {
			t.Errorf("%s:\n got %q\nwant %q", c.args, got, c.after)
		}
	}
	w := newWorkspace(t, map[string]string{"empty": "", "w.txt": "a\r\nb\r\n"})
	w.call("insert", `{"path":"empty","position":"end","text":"x"}`).ok(t)
	w.call("insert", `{"path":"w.txt","line":1,"text":"x\ny"}`).ok(t)
	if w.get("empty") != "x\n" || w.get("w.txt") != "a\r\nx\r\ny\r\nb\r\n" {
		t.Errorf("%q %q", w.get("empty"), w.get("w.txt"))
	}
	w.call("insert", `{"path":"new","position":"end","text":"x"}`).fails(t, tool.TargetNotFound)
}

func TestWriteSection(t *testing.T) {
	t.Parallel()
	const file = "# T\n\nintro\n\n## A\n\nold\n\n### Sub\n\nsub\n\n## B\nb\n"
	for _, c := range []struct{ name, before, args, after string }{
		{"replaced, with its subsections", file, `"heading":"A","content":"new\n\n### Other\n\nx\n"`, "# T\n\nintro\n\n## A\n\nnew\n\n### Other\n\nx\n\n## B\nb\n"},
		{"its own text only", file, `"heading":"A","content":"new","keep_subsections":true`, "# T\n\nintro\n\n## A\n\nnew\n\n### Sub\n\nsub\n\n## B\nb\n"},
		{"with the heading in the content", file, `"heading":"T > A","content":"## A\n\nnew"`, "# T\n\nintro\n\n## A\n\nnew\n\n## B\nb\n"},
		{"the last, without a blank line", file, `"heading":"B","content":"new\n"`, "# T\n\nintro\n\n## A\n\nold\n\n### Sub\n\nsub\n\n## B\nnew\n"},
		{"emptied", file, `"heading":"A","content":""`, "# T\n\nintro\n\n## A\n\n## B\nb\n"},
		{"an empty one", "# T\n## A\n## B\n", `"heading":"A","content":"x"`, "# T\n## A\n\nx\n\n## B\n"},
		{"an unended heading", "# T", `"heading":"T","content":"x"`, "# T\n\nx"},
		{"CRLF", "# T\r\n\r\nold\r\n", `"heading":"T","content":"a\nb"`, "# T\r\n\r\na\r\nb\r\n"},
		{"created at the end", file, `"heading":"C","content":"c"`, file + "\n## C\n\nc\n"},
		{"created under its parent", file, `"heading":"A > Deep","content":"c"`, "# T\n\nintro\n\n## A\n\nold\n\n### Sub\n\nsub\n\n### Deep\n\nc\n\n## B\nb\n"},
		{"created after", file, `"heading":"C","content":"c","after":"A"`, "# T\n\nintro\n\n## A\n\nold\n\n### Sub\n\nsub\n\n## C\n\nc\n\n## B\nb\n"},
		{"created before", file, `"heading":"C","content":"c","before":"T > A"`, "# T\n\nintro\n\n## C\n\nc\n\n## A\n\nold\n\n### Sub\n\nsub\n\n## B\nb\n"},
		{"created with a level", file, `"heading":"C","content":"c","level":1`, file + "\n# C\n\nc\n"},
		{"created as written", file, `"heading":"# C","content":"# C\nc"`, file + "\n# C\nc\n"},
		{"created without content", file, `"heading":"C","content":""`, file + "\n## C\n"},
		{"beside others at the top", "# A\n\na\n\n# B\n\nb", `"heading":"C","content":"c"`, "# A\n\na\n\n# B\n\nb\n\n# C\n\nc"},
		{"in a new file", "", `"heading":"Overview","content":"o"`, "# Overview\n\no\n"},
		{"behind text without headings", "text", `"heading":"A","content":"a"`, "text\n\n# A\n\na"},
		{"a heading with markup", "# T\n\n## Use `go vet`\n\nx\n", `"heading":"Use go vet","content":"y"`, "# T\n\n## Use `go vet`\n\ny\n"},
		{"front matter stays", "---\na: 1\n---\n# T\nx\n", `"heading":"T","content":"y"`, "---\na: 1\n---\n# T\ny\n"},
		{"a missing one is refused", file, `"heading":"Aa","content":"c","if_missing":"refuse"`, `! Is "A" meant`},
		{"a missing parent", file, `"heading":"X > C","content":"c"`, `! no heading "X"`},
		{"of another level", file, `"heading":"A","content":"### A\n\nx"`, "! of level 3, but"},
		{"not below its parent", file, `"heading":"A > C","content":"c","level":2`, "! would not be below"},
		{"inside of an open fence", "# T\n\n```\ncode\n", `"heading":"C","content":"c"`, "! fenced code"},
		{"a fence left open", file, `"heading":"A","content":"` + "```" + `\ncode"`, "! other_sections_unchanged"},
		{"a heading that breaks out", file, `"heading":"A","content":"x\n\n## Mine\n"`, "! other_sections_unchanged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, nil)
			if c.before != "" {
				w.put("f.md", c.before)
			}
			r := w.call("write_section", `{"path":"f.md",`+c.args+`}`)
			if why, bad := strings.CutPrefix(c.after, "! "); bad {
				r.fails(t, r.failure(), why)
				if r.failure() == "" || w.get("f.md") != c.before {
					t.Errorf("%s: the file holds %q", r.failure(), w.get("f.md"))
				}
				return
			}
			r.ok(t)
			if got := w.get("f.md"); got != c.after {
				t.Errorf("\n got %q\nwant %q", got, c.after)
			}
			if twice := w.call("write_section", `{"path":"f.md",`+c.args+`}`).ok(t); w.get("f.md") != c.after || twice.outcome.Effect != tool.EffectNone {
				t.Errorf("written twice: %s, %q", twice.outcome.Effect, w.get("f.md"))
			}
		})
	}
	w := newWorkspace(t, map[string]string{"a.go": "package a\n"})
	w.call("write_section", `{"path":"a.go","heading":"x","content":"y"}`).fails(t, tool.PreconditionFailed, "not Markdown")
	w.call("write_section", `{"path":"new.md","heading":"x","content":"y","if_missing":"refuse"}`).fails(t, tool.TargetNotFound)
}

func TestComment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, before, args, after string }{
		{"a.go", "package a\n\nfunc main() {\n\tx()\n}\n", `"heading":"main","text":"main starts.\nAnd ends."`, "package a\n\n// main starts.\n// And ends.\nfunc main() {\n\tx()\n}\n"},
		{"a.go", "package a\n\nfunc main() {\n\tx()\n}\n", `"match":"x()","text":"why"`, "package a\n\nfunc main() {\n\t// why\n\tx()\n}\n"},
		{"a.go", "package a\r\n\r\nvar x = 1\r\n", `"line":3,"position":"end_of_line","text":"one"`, "package a\r\n\r\nvar x = 1 // one\r\n"},
		{"a.go", "package a\n\nfunc f() {\n\tx()\n\ty()\n}\n", `"line":4,"end_line":5,"action":"toggle"`, "package a\n\nfunc f() {\n\t// x()\n\t// y()\n}\n"},
		{"a.go", "package a\n\nfunc f() {\n\t// x()\n\t// y()\n}\n", `"line":4,"end_line":5,"action":"toggle"`, "package a\n\nfunc f() {\n\tx()\n\ty()\n}\n"},
		{"a.go", "package a\n\nfunc f() {\n}", `"heading":"f","action":"comment"`, "package a\n\n// func f() {\n// }"},
		{"a.py", "def f():\n    return 1", `"line":2,"position":"after","text":"done"`, "def f():\n    return 1\n    # done"},
		{"a.ts", "let a = 1;\n", `"line":1,"text":"a"`, "// a\nlet a = 1;\n"},
		{"a.js", "f()\n", `"line":1,"action":"comment"`, "// f()\n"},
		{"a.c", "int a;\n", `"match":"int a;","position":"end_of_line","text":"a"`, "int a; // a\n"},
		{"a.sh", "#!/bin/sh\necho\n", `"line":2,"text":"say"`, "#!/bin/sh\n# say\necho\n"},
		{"a.html", "<p>\n  x\n</p>\n", `"line":2,"text":"say"`, "<p>\n  <!-- say -->\n  x\n</p>\n"},
		{"a.yaml", "a:\n  b: 1\n", `"match":"b: 1","text":"b"`, "a:\n  # b\n  b: 1\n"},
		{"a.go", "package a\n// gone\n", `"line":2,"action":"uncomment"`, "package a\ngone\n"},
		{"a.go", "package a\nx := 1 // y\n", `"line":2,"action":"uncomment"`, "package a\nx := 1 // y\n"},
		{"a.go", "package a\nvar s = `\nx\n`\n", `"line":3,"text":"no"`, "! inside of a text"},
		{"a.sh", "#!/bin/sh\necho\n", `"line":1,"text":"no"`, "! first line"},
		{"a.md", "# A\n", `"line":1,"text":"no"`, "! insert <!-- … -->"},
		{"a.foo", "x\n", `"line":1,"text":"no"`, "! not known how comments are written"},
		{"a.go", "package a\n", `"line":1,"text":"x","action":"toggle"`, "! give one of them"},
		{"a.go", "package a\n", `"line":2,"text":"x"`, "! has 1 lines"},
	} {
		w := newWorkspace(t, map[string]string{c.file: c.before})
		r := w.call("comment", `{"path":"`+c.file+`",`+c.args+`}`)
		if why, bad := strings.CutPrefix(c.after, "! "); bad {
			r.fails(t, r.failure(), why)
			if w.get(c.file) != c.before {
				t.Errorf("%s: the file holds %q", c.args, w.get(c.file))
			}
			continue
		}
		r.ok(t)
		if got := w.get(c.file); got != c.after {
			t.Errorf("%s %s:\n got %q\nwant %q", c.file, c.args, got, c.after)
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"a": "one\ntwo\nthree\n", "b": "one\n2\nthree\n", "c": "one\r\ntwo\r\nthree\r\n"})
	r := w.call("diff", `{"path":"a","other":"b","context":0}`).ok(t)
	if r.result["diff"] != "--- a\n+++ b\n@@ -2 +2 @@\n-two\n+2\n" || fmt.Sprint(r.result["added"], r.result["removed"], r.result["equal"]) != "1 1 false" {
		t.Errorf("%v", r.result)
	}
	if r = w.call("diff", `{"path":"a","other":"c"}`).ok(t); r.result["diff"] != "" || r.result["equal"] != false {
		t.Errorf("%v", r.result)
	}
	if r = w.call("diff", `{"path":"a","text":"one\ntwo\nthree\n"}`).ok(t); r.result["diff"] != "" || r.result["equal"] != true {
		t.Errorf("%v", r.result)
	}
	wrote := w.call("replace", `{"path":"a","old":"three","new":"3"}`).ok(t)
	r = w.call("diff", `{"path":"a","digest":"`+wrote.result["previous_digest"].(string)+`","max_chars":60}`).ok(t)
	if d := r.result["diff"].(string); !strings.Contains(d, "+++ a\n") || r.result["truncated"] != true {
		t.Errorf("%v", r.result)
	}
	w.call("diff", `{"path":"a","digest":"sha256:`+strings.Repeat("0", 64)+`"}`).fails(t, tool.TargetNotFound, "no earlier content")
	w.call("diff", `{"path":"a","other":"bb"}`).fails(t, tool.TargetNotFound, "Is b meant?")
	w.call("diff", `{"path":"a","other":"b","text":"x"}`).fails(t, tool.PreconditionFailed, "one thing")
}
