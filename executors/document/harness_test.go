package document_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolsvc/executors/document"
	gen "toolsvc/gen/toolsets/document"
	"toolsvc/tool"
	"toolsvc/verification"
)

// workspace is a folder with an executor.
type workspace struct {
	t   testing.TB
	dir string
	x   *document.Executor
}

func newWorkspace(t testing.TB, files map[string]string) *workspace {
	t.Helper()
	dir := t.TempDir()
	w := &workspace{t: t, dir: dir}
	for name, text := range files {
		w.put(name, text)
	}
	w.x = w.open(document.Options{})
	return w
}

// open makes another executor of the workspace, as another process would.
func (w *workspace) open(o document.Options) *document.Executor {
	w.t.Helper()
	o.Root = w.dir
	x, err := document.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = x.Shutdown() })
	return x
}

func (w *workspace) put(name, text string) {
	w.t.Helper()
	p := filepath.Join(w.dir, name)
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(p); err == nil {
		mode = info.Mode()
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), mode)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) get(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "(no file)"
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// files lists all files and folders.
func (w *workspace) files() string {
	var got []string
	_ = filepath.WalkDir(w.dir, func(p string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(w.dir, p); err == nil && rel != "." {
			if d.IsDir() {
				rel += "/"
			}
			got = append(got, filepath.ToSlash(rel))
		}
		return err
	})
	return strings.Join(got, " ")
}

// ran is what a call came to.
type ran struct {
	err      *tool.Failed
	result   map[string]any
	verdict  tool.Verification
	outcome  tool.Outcome
	rollback *tool.Rollback
	before   *tool.Evidence
	after    *tool.Evidence
	class    tool.EffectClass
	attempt  tool.Attempt
	call     *tool.Call
	conds    *verification.Conditions
}

func (r *ran) failure() tool.Failure {
	switch {
	case r.err != nil:
		return r.err.Failure
	case r.verdict.Verdict == tool.VerdictFailure:
		return tool.VerificationFailed
	case r.verdict.Verdict != tool.VerdictSuccess:
		return tool.VerificationUncertain
	}
	return ""
}

// hooks let a test do something between the steps of a call.
type hooks struct {
	beforeDispatch, afterDispatch, afterSettle func()
	killed                                     bool // the call ends after its dispatch
}

func spec(t testing.TB, id string) *tool.Spec {
	t.Helper()
	for _, s := range gen.Specs() {
		if s.ID == tool.ID("document."+id) {
			return s
		}
	}
	t.Fatalf("there is no tool %s", id)
	return nil
}

// call makes a call as the planner does: preconditions, place, evidence, dispatch, settling, evidence, verdict, rollback.
func (w *workspace) call(name, args string, expect ...string) *ran {
	return w.callWith(w.x, hooks{}, name, args, expect...)
}

func (w *workspace) callWith(x *document.Executor, h hooks, name, args string, expect ...string) *ran {
	t := w.t
	t.Helper()
	s := spec(t, name)
	payload, issues := s.Decode([]byte(args))
	if issues != nil {
		t.Fatalf("%s %s: %v", name, args, issues)
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	conds, issues := verification.Compile(s, raw, expect)
	if issues != nil {
		t.Fatalf("%s: %v", name, issues)
	}
	class, err := verification.EffectClass(s, raw)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	r := &ran{class: class, conds: conds, call: &tool.Call{ID: tool.NewCallID(), RunID: "r_test", Step: 1, Spec: s, Args: payload, Raw: raw}}
	fail := func(err error) *ran {
		if !errors.As(err, &r.err) {
			t.Fatalf("%s %s: %v is no failure of the catalogue", name, args, err)
		}
		return r
	}
	att, err := x.Begin(ctx, r.call, tool.Plan{Number: 1, Source: tool.SourceSystem})
	if err != nil {
		return fail(err)
	}
	r.attempt = att
	t.Cleanup(func() { _ = att.Close() })
	if err := att.Resolve(ctx); err != nil {
		return fail(err)
	}
	if r.before, err = att.Observe(ctx, conds.Needs()); err != nil {
		return fail(err)
	}
	do(h.beforeDispatch)
	if err := att.Dispatch(ctx); err != nil {
		return fail(err)
	}
	do(h.afterDispatch)
	if h.killed {
		return r
	}
	if r.outcome, err = att.Settle(ctx); err != nil {
		return fail(err)
	}
	do(h.afterSettle)
	w.verify(r)
	return r
}

func do(f func()) {
	if f != nil {
		f()
	}
}

// verify judges fresh evidence and rolls back a proven failure.
func (w *workspace) verify(r *ran) {
	t := w.t
	t.Helper()
	var text json.RawMessage
	var err error
	if r.outcome.Result != nil {
		if text, err = r.call.Spec.EncodeResult(r.outcome.Result); err != nil {
			t.Fatalf("the result breaks its contract: %v", err)
		}
		if err := json.Unmarshal(text, &r.result); err != nil {
			t.Fatal(err)
		}
	}
	if r.after, err = r.attempt.Observe(t.Context(), r.conds.Needs()); err != nil {
		t.Fatal(err)
	}
	r.verdict = r.conds.Judge(stored(t, r.before), stored(t, r.after), text)
	if r.verdict.Verdict == tool.VerdictFailure && r.class != tool.ReadOnly && r.outcome.Effect != tool.EffectNone {
		rb, err := r.attempt.Rollback(t.Context())
		if err != nil {
			t.Fatalf("roll back: %v", err)
		}
		r.rollback = &rb
	}
}

// stored is evidence as it comes back from a store.
func stored(t testing.TB, e *tool.Evidence) *tool.Evidence {
	t.Helper()
	text, _, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back := new(tool.Evidence)
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// ok fails the test unless the call is verified.
func (r *ran) ok(t testing.TB) *ran {
	t.Helper()
	if r.err != nil {
		t.Fatalf("%v", r.err)
	}
	if r.verdict.Verdict != tool.VerdictSuccess {
		t.Fatalf("%s: %s\nrollback %+v", r.verdict.Verdict, r.verdict.Explanation, r.rollback)
	}
	return r
}

// fails fails the test unless the call failed so, and says why with all of these words.
func (r *ran) fails(t testing.TB, f tool.Failure, words ...string) *ran {
	t.Helper()
	message := r.verdict.Explanation
	if r.err != nil {
		message = r.err.Message
	}
	if r.failure() != f {
		t.Fatalf("failed with %q (%s), want %q", r.failure(), message, f)
	}
	for _, w := range words {
		if !strings.Contains(message, w) {
			t.Errorf("the message does not say %q: %s", w, message)
		}
	}
	return r
}

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
