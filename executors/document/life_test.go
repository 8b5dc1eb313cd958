package document_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"toolsvc/executors/document"
	"toolsvc/executors/document/files"
	"toolsvc/tool"
)

// versions keeps contents in memory, as the store keeps them on disk.
type versions struct {
	mu   sync.Mutex
	data map[string][]byte
	err  error
}

func (v *versions) PutArtifact(_ context.Context, _ string, data []byte) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return "", v.err
	}
	if v.data == nil {
		v.data = map[string][]byte{}
	}
	d := tool.Digest(data)
	v.data[d] = data
	return d, nil
}

func (v *versions) Artifact(_ context.Context, digest string) (string, []byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if data, ok := v.data[digest]; ok {
		return "application/octet-stream", data, nil
	}
	return "", nil, errors.New("there is no such artifact")
}

// Between what was read and what is written, nobody else's change is lost.
func TestSomebodyElseChangesTheFile(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"f.md": "# A\n\na\n"})
	read := w.call("read", `{"path":"f.md"}`).ok(t)
	w.put("f.md", "# A\n\ntheirs\n")
	digest := read.result["digest"].(string)
	w.call("insert", `{"path":"f.md","position":"end","text":"x","if_digest":"`+digest+`"}`).fails(t, tool.PreconditionFailed, "not as if_digest says", "Read it again")
	w.call("write", `{"path":"f.md","content":"x","if_digest":"`+digest+`"}`).fails(t, tool.PreconditionFailed)
	w.call("write", `{"path":"f.md","content":"# A\n\ntheirs\n","if_digest":"`+digest+`"}`).ok(t) // it is there already
	if w.get("f.md") != "# A\n\ntheirs\n" {
		t.Errorf("%q", w.get("f.md"))
	}

	// In the last moment, after the evidence was taken.
	r := w.callWith(w.x, hooks{beforeDispatch: func() { w.put("f.md", "# A\n\nagain\n") }}, "replace", `{"path":"f.md","old":"theirs","new":"ours"}`)
	r.fails(t, tool.PreconditionFailed, "changed by somebody else", "Nothing was written")
	if w.get("f.md") != "# A\n\nagain\n" || r.err.Dispatched {
		t.Errorf("%q", w.get("f.md"))
	}
	r = w.callWith(w.x, hooks{beforeDispatch: func() { w.put("dir/new.md", "theirs") }}, "write", `{"path":"dir/new.md","content":"ours"}`)
	r.fails(t, tool.PreconditionFailed)
	if w.get("dir/new.md") != "theirs" || w.files() != "dir/ dir/new.md f.md" {
		t.Errorf("%q, %s", w.get("dir/new.md"), w.files())
	}
	// Before its evidence was taken: the place is found anew, in what is there now.
	x := w.open(document.Options{})
	r = w.callWith(x, hooks{afterDispatch: func() { w.put("f.md", w.get("f.md")+"\nmore\n") }}, "replace", `{"path":"f.md","old":"again","new":"ours"}`)
	r.fails(t, tool.VerificationFailed, "rest_unchanged")
	if r.rollback == nil || r.rollback.Performed || !strings.Contains(r.rollback.Refused, "+more") || w.get("f.md") != "# A\n\nours\n\nmore\n" {
		t.Errorf("rollback %+v, %q", r.rollback, w.get("f.md"))
	}
}

// A place that moved between finding it and looking at the file is found anew, because nothing was dispatched yet.
func TestThePlaceIsFoundAnew(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"f.txt": "a\nb\n"})
	r := w.callWith(w.x, hooks{killed: true}, "replace", `{"path":"f.txt","old":"b","new":"c"}`)
	att, err := w.x.Begin(t.Context(), r.call, tool.Plan{Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.put("f.txt", "a\nb\n")
	if err := att.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.put("f.txt", "new line\na\nb\n")
	if _, err := att.Observe(t.Context(), tool.Needs{}); err != nil {
		t.Fatal(err)
	}
	if err := att.Dispatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.get("f.txt") != "new line\na\nc\n" {
		t.Errorf("%q", w.get("f.txt"))
	}
}

// After a failed postcondition the bytes, the mode and the time are those from before, and folders that were made are gone.
func TestRollback(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"f.md": "\xEF\xBB\xBF# A\r\n\na\r\n"})
	path := filepath.Join(w.dir, "f.md")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool, args string }{
		{"replace", `{"path":"f.md","old":"a\n","new":"b\n"}`}, {"insert", `{"path":"f.md","position":"end","text":"x"}`},
		{"write", `{"path":"f.md","content":"x"}`}, {"write_section", `{"path":"f.md","heading":"A","content":"x"}`},
	} {
		r := w.call(c.tool, c.args, `document.lines == 0`).fails(t, tool.VerificationFailed, "expect[0]")
		if r.rollback == nil || !r.rollback.Performed || !strings.Contains(r.rollback.RestoredTo, "mode 0640") {
			t.Errorf("%s: rollback %+v", c.tool, r.rollback)
		}
		now, err := os.Stat(path)
		if err != nil || w.get("f.md") != "\xEF\xBB\xBF# A\r\n\na\r\n" || now.Mode() != was.Mode() || !now.ModTime().Equal(was.ModTime()) {
			t.Errorf("%s: %q %v %v, was %v %v", c.tool, w.get("f.md"), now.Mode(), now.ModTime(), was.Mode(), was.ModTime())
		}
	}
	r := w.call("write", `{"path":"a/b/new.md","content":"x"}`, `document.lines == 9`)
	if r.rollback == nil || !r.rollback.Performed || w.files() != "f.md" {
		t.Errorf("rollback %+v, %s", r.rollback, w.files())
	}
	r = w.callWith(w.x, hooks{afterSettle: func() { w.put("a/b/theirs", "x") }}, "write", `{"path":"a/b/new.md","content":"x"}`, `document.lines == 9`)
	if r.rollback == nil || r.rollback.Performed || !strings.Contains(r.rollback.Refused, "a/b, a") && !strings.Contains(r.rollback.Refused, "a, a/b") || w.get("a/b/new.md") != "(no file)" {
		t.Errorf("rollback %+v, %s", r.rollback, w.files())
	}
	r = w.callWith(w.x, hooks{afterSettle: func() { _ = os.Remove(path) }}, "write", `{"path":"f.md","content":"x"}`, `document.lines == 9`)
	if r.rollback == nil || r.rollback.Performed || !strings.Contains(r.rollback.Refused, "removed by somebody else") {
		t.Errorf("rollback %+v", r.rollback)
	}
}

// reconcile finds out what became of a call whose process was lost, with another executor that remembers nothing but what is kept.
func (w *workspace) reconcile(o document.Options, lost *ran) (*ran, error) {
	x := w.open(o)
	att, out, err := x.Reconcile(w.t.Context(), lost.call, stored(w.t, lost.before))
	r := &ran{attempt: att, outcome: out, call: lost.call, conds: lost.conds, class: lost.class, before: lost.before}
	if err == nil {
		w.verify(r)
	}
	return r, err
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	const before = "# A\n\na\n"
	for _, c := range []struct {
		name         string
		file         string // after the loss
		forget       bool   // nothing is kept
		effect       tool.Effect
		verdict      tool.Verdict
		tool, args   string
		expect       string
		rolledBack   string // the file after a rollback
		proof, after string
	}{
		{name: "written", file: "# A\n\nb\n", effect: tool.EffectConfirmed, verdict: tool.VerdictSuccess, proof: "what was to be written"},
		{name: "not written", file: before, effect: tool.EffectNone, verdict: tool.VerdictFailure, proof: "is as it was"},
		{name: "changed by somebody else", file: "# A\n\nc\n", effect: tool.EffectUnknown, verdict: tool.VerdictFailure, proof: "somebody else changed it"},
		{name: "written, and failed", file: "# A\n\nb\n", effect: tool.EffectConfirmed, verdict: tool.VerdictFailure, expect: `document.lines == 9`, rolledBack: before},
		{name: "written, and nothing is kept", file: "# A\n\nb\n", forget: true, effect: tool.EffectConfirmed, verdict: tool.VerdictUncertain},
		{name: "written, failed, and nothing is kept", file: "# A\n\nb\n", forget: true, effect: tool.EffectConfirmed, verdict: tool.VerdictFailure, expect: `document.lines == 9`, rolledBack: "refused"},
		{name: "created", file: "x\n", tool: "write", args: `{"path":"d/f.md","content":"x\n"}`, effect: tool.EffectConfirmed, verdict: tool.VerdictSuccess},
		{name: "created, and failed", file: "x\n", tool: "write", args: `{"path":"d/f.md","content":"x\n"}`, effect: tool.EffectConfirmed, verdict: tool.VerdictFailure, expect: `document.lines == 9`, rolledBack: "(no file)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, nil)
			name := "f.md"
			if c.tool == "" {
				c.tool, c.args = "replace", `{"path":"f.md","old":"a\n","new":"b\n"}`
				w.put(name, before)
			} else {
				name = "d/f.md"
			}
			o := document.Options{Versions: &versions{}}
			var expect []string
			if c.expect != "" {
				expect = []string{c.expect}
			}
			lost := w.callWith(w.open(o), hooks{killed: true}, c.tool, c.args, expect...)
			if lost.err != nil {
				t.Fatal(lost.err)
			}
			w.put(name, c.file)
			if c.forget {
				o.Versions = nil
			}
			r, err := w.reconcile(o, lost)
			if err != nil {
				t.Fatal(err)
			}
			if r.outcome.Effect != c.effect || r.verdict.Verdict != c.verdict || !strings.Contains(r.outcome.Proof, c.proof) {
				t.Errorf("%s, %s: %s\n%s", r.outcome.Effect, r.verdict.Verdict, r.outcome.Proof, r.verdict.Explanation)
			}
			switch {
			case c.rolledBack == "refused":
				if r.rollback == nil || r.rollback.Performed || !strings.Contains(r.rollback.Refused, "not kept") {
					t.Errorf("rollback %+v", r.rollback)
				}
			case c.rolledBack != "":
				if r.rollback == nil || !r.rollback.Performed || w.get(name) != c.rolledBack {
					t.Errorf("rollback %+v, %q", r.rollback, w.get(name))
				}
				if c.rolledBack == "(no file)" && w.files() != "" {
					t.Errorf("left: %s", w.files())
				}
			}
		})
	}
}

// The temporary file of a lost attempt is removed when its content is known, and kept when it is somebody else's.
func TestReconcileLeftovers(t *testing.T) {
	t.Parallel()
	for content, kept := range map[string]bool{"# A\n\na\n": false, "# A\n\nb\n": false, "# A\n\n": false, "": false, "theirs": true} {
		w := newWorkspace(t, map[string]string{"f.md": "# A\n\na\n"})
		o := document.Options{Versions: &versions{}}
		lost := w.callWith(w.open(o), hooks{killed: true}, "replace", `{"path":"f.md","old":"a\n","new":"b\n"}`)
		temp := files.Temporary("f.md", lost.call.ID)
		w.put(temp, content)
		r, err := w.reconcile(o, lost)
		if err != nil {
			t.Fatal(err)
		}
		if (w.get(temp) != "(no file)") != kept || (r.outcome.Effect == tool.EffectUnknown) != kept || kept != strings.Contains(r.outcome.Proof, temp) {
			t.Errorf("%q: left %q; %s: %s", content, w.get(temp), r.outcome.Effect, r.outcome.Proof)
		}
	}
}

// A lost idempotent call is made again, and finds its work done.
func TestMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"f.md": "# A\n\na\n"})
	for _, c := range []struct{ tool, args string }{
		{"write_section", `{"path":"f.md","heading":"B","content":"b"}`}, {"write", `{"path":"g.md","content":"x","if_digest":"none"}`},
	} {
		lost := w.callWith(w.x, hooks{killed: true}, c.tool, c.args)
		if lost.err != nil {
			t.Fatal(lost.err)
		}
		if r := w.call(c.tool, c.args).ok(t); r.outcome.Effect != tool.EffectNone {
			t.Errorf("%s was written twice", c.tool)
		}
	}
	if w.get("f.md") != "# A\n\na\n\n# B\n\nb\n" {
		t.Errorf("%q", w.get("f.md"))
	}
}

// What cannot be kept for a rollback is not written.
func TestNothingIsWrittenThatCannotBeRolledBack(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"f.txt": "a"})
	x := w.open(document.Options{Versions: &versions{err: errors.New("the disk is full")}})
	w.callWith(x, hooks{}, "write", `{"path":"f.txt","content":"b"}`).fails(t, tool.ToolUnavailable, "disk is full")
	if w.get("f.txt") != "a" {
		t.Errorf("%q", w.get("f.txt"))
	}
}

// Modes and symbolic links stay; a link that leads out is refused by every tool.
func TestModesAndLinks(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"real/run.sh": "#!/bin/sh\necho a\n"})
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := errors.Join(os.Chmod(filepath.Join(w.dir, "real/run.sh"), 0o755), os.WriteFile(outside, []byte("secret"), 0o644),
		os.Symlink("real/run.sh", filepath.Join(w.dir, "run")), os.Symlink(outside, filepath.Join(w.dir, "out.md")), os.Symlink("real", filepath.Join(w.dir, "dir"))); err != nil {
		t.Fatal(err)
	}
	r := w.call("replace", `{"path":"run","old":"echo a","new":"echo b"}`).ok(t)
	info, err := os.Lstat(filepath.Join(w.dir, "real/run.sh"))
	if err != nil || info.Mode() != 0o755 || w.get("real/run.sh") != "#!/bin/sh\necho b\n" || r.result["path"] != "real/run.sh" {
		t.Errorf("%v %v %q %v", info.Mode(), err, w.get("real/run.sh"), r.result)
	}
	if link, err := os.Lstat(filepath.Join(w.dir, "run")); err != nil || link.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", link, err)
	}
	w.call("write", `{"path":"dir/new.md","content":"x"}`).ok(t)
	if w.get("real/new.md") != "x" {
		t.Error(w.files())
	}
	for name, args := range map[string]string{"read": `{"path":"out.md"}`, "write": `{"path":"out.md","content":"x"}`, "outline": `{"path":"out.md"}`, "diff": `{"path":"run","other":"out.md"}`,
		"insert": `{"path":"out.md","position":"end","text":"x"}`, "write_section": `{"path":"out.md","heading":"A","content":"x"}`} {
		if f := w.call(name, args).failure(); f != tool.PolicyDenied {
			t.Errorf("%s: %q", name, f)
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "secret" {
		t.Errorf("%q %v", b, err)
	}
}

// Many runs edit one file at the same time: every edit that is verified is there.
func TestConcurrentRuns(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"log.md": "# Log\n"})
	var all sync.WaitGroup
	var mu sync.Mutex
	var done []string
	for i := range 4 {
		all.Go(func() {
			for j := range 10 {
				line := fmt.Sprintf("entry %d-%d", i, j)
				r := w.call("insert", `{"path":"log.md","position":"end","text":"`+line+`"}`)
				switch r.failure() {
				case "":
					mu.Lock()
					done = append(done, line)
					mu.Unlock()
				case tool.PreconditionFailed: // another run was faster
				case tool.VerificationFailed: // another run wrote behind it, before the evidence was taken
					mu.Lock()
					done = append(done, line) // its rollback was refused: it stands
					mu.Unlock()
					if r.rollback == nil || r.rollback.Performed {
						t.Errorf("%s: %+v", r.verdict.Explanation, r.rollback)
					}
				default:
					t.Errorf("%s: %v", line, r.err)
				}
			}
		})
	}
	all.Wait()
	text := w.get("log.md")
	for _, line := range done {
		if strings.Count(text, line+"\n") != 1 {
			t.Errorf("%q is there %d times", line, strings.Count(text, line+"\n"))
		}
	}
	if got := strings.Count(text, "entry"); got != len(done) || got == 0 {
		t.Errorf("%d entries, %d were done", got, len(done))
	}
}

// Who keeps backups of the workspace is told of every write before it happens, until it cannot be taken back any more; and can forbid it.
func TestEditingIsTold(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"f.md": "# A\n"})
	var told []string
	open := 0
	x := w.open(document.Options{Editing: func(_ context.Context, runID, callID, path string) (func(), error) {
		if runID == "" || callID == "" || w.get(path) != "# A\n" {
			t.Errorf("run %q, call %q, and the file is %q", runID, callID, w.get(path))
		}
		told, open = append(told, path), open+1
		return func() { open-- }, nil
	}})
	r := w.callWith(x, hooks{afterDispatch: func() {
		if open != 1 {
			t.Errorf("%d edits are under way", open)
		}
	}}, "insert", `{"path":"f.md","position":"end","text":"more"}`)
	if err := errors.Join(r.attempt.Close(), r.attempt.Close()); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || told[0] != "f.md" || open > 0 {
		t.Errorf("told of %v, %d under way", told, open)
	}
	told = nil
	w.callWith(x, hooks{}, "read", `{"path":"f.md"}`)
	if len(told) > 0 {
		t.Errorf("told of %v by a call that only reads", told)
	}
	x = w.open(document.Options{Editing: func(context.Context, string, string, string) (func(), error) { return nil, errors.New("not now") }})
	before := w.get("f.md")
	w.callWith(x, hooks{}, "insert", `{"path":"f.md","position":"end","text":"never"}`).fails(t, tool.ToolUnavailable, "not now")
	if w.get("f.md") != before {
		t.Errorf("%q", w.get("f.md"))
	}
}
