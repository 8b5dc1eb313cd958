//go:build linux

package terminal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gen "toolsvc/gen/toolsets/terminal"
	"toolsvc/tool"
	"toolsvc/verification"
)

func TestMain(m *testing.M) {
	Supervise()
	if spec := os.Getenv("TERMINAL_TEST_WORKER"); spec != "" {
		actAsWorker(spec)
		return
	}
	os.Exit(m.Run())
}

// limit bounds a test's wait for anything.
const limit = 60 * time.Second

// bench is an executor in a workspace of its own, and one run.
type bench struct {
	t    testing.TB
	x    *Executor
	root string
	run  string
	ctx  context.Context
}

var runs atomic.Int64

func newBench(t testing.TB, options ...func(*Options)) *bench {
	t.Helper()
	o := Options{StateDir: t.TempDir(), Root: t.TempDir(), EndSessions: true, Limits: Limits{Grace: 200 * time.Millisecond}}
	for _, f := range options {
		f(&o)
	}
	return with(t, o)
}

func with(t testing.TB, o Options) *bench {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(func() {
		cancel()
		end, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := x.Shutdown(end); err != nil {
			t.Error(err)
		}
		if log, err := os.ReadFile(x.dir("supervisor.log")); err != nil || len(log) > 0 { // a panic, a race
			t.Errorf("a supervisor complains: %s %v", log, err)
		}
	})
	return &bench{t: t, x: x, root: x.rootPath, run: fmt.Sprintf("r_test_%d", runs.Add(1)), ctx: ctx}
}

// args are a payload, as JSON.
type args map[string]any

// call decodes a payload as a surface would.
func (b *bench) call(name string, a args) *tool.Call {
	b.t.Helper()
	return decode(b.t, b.run, fmt.Sprintf("c_test_%d", runs.Add(1)), name, a)
}

func decode(t testing.TB, run, id, name string, a args) *tool.Call {
	t.Helper()
	if a == nil {
		a = args{}
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range gen.Specs() {
		if s.ID.Name() == name {
			p, issues := s.Decode(text)
			if len(issues) > 0 {
				t.Fatalf("%s: %v", text, issues)
			}
			// Conditions read the payload with its defaults, as the planner hands it on.
			full, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			return &tool.Call{ID: id, RunID: run, Step: 1, Spec: s, Args: p, Raw: full}
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// done is what became of an attempt.
type done struct {
	t             testing.TB
	call          *tool.Call
	att           tool.Attempt
	before, after *tool.Evidence
	out           tool.Outcome
	err           error
	took          time.Duration
}

// do makes one attempt in the planner's order. It checks that the result keeps its contract.
func (b *bench) do(name string, a args) done { b.t.Helper(); return b.attempt(b.ctx, b.call(name, a)) }

func (b *bench) attempt(ctx context.Context, call *tool.Call) (d done) {
	b.t.Helper()
	d.t, d.call = b.t, call
	start := time.Now()
	defer func() { d.took = time.Since(start) }()
	if d.att, d.err = b.x.Begin(ctx, call, tool.Plan{Number: 1, Source: call.Spec.Sources[0]}); d.err != nil {
		return d
	}
	defer d.att.Close() //nolint:errcheck // it holds nothing that fails
	if d.err = d.att.Resolve(ctx); d.err != nil {
		return d
	}
	conds := d.conditions()
	if d.before, d.err = d.att.Observe(ctx, conds.Needs()); d.err != nil {
		return d
	}
	if d.err = d.att.Dispatch(ctx); d.err != nil {
		return d
	}
	if d.out, d.err = d.att.Settle(ctx); d.err != nil {
		return d
	}
	d.encoded()
	d.after, d.err = d.att.Observe(ctx, conds.Needs())
	return d
}

func (d done) conditions() *verification.Conditions {
	d.t.Helper()
	conds, issues := verification.Compile(d.call.Spec, d.call.Raw, d.call.Args.Expectations())
	if len(issues) > 0 {
		d.t.Fatal(issues)
	}
	return conds
}

func (d done) encoded() json.RawMessage {
	d.t.Helper()
	if d.out.Result == nil {
		return nil
	}
	text, err := d.call.Spec.EncodeResult(d.out.Result)
	if err != nil {
		d.t.Fatalf("the result breaks its contract: %v", err)
	}
	return text
}

// ok fails the test unless the attempt is verified.
func (d done) ok() done {
	d.t.Helper()
	if v := d.verdict(); v.Verdict != tool.VerdictSuccess {
		d.t.Fatalf("verdict %s: %s (%s)", v.Verdict, v.Explanation, d.out.Proof)
	}
	return d
}

func (d done) verdict() tool.Verification {
	d.t.Helper()
	if d.err != nil {
		d.t.Fatal(d.err)
	}
	return d.conditions().Judge(d.before, d.after, d.encoded())
}

// fails fails the test unless the attempt failed so.
func (d done) fails(f tool.Failure, dispatched bool, words ...string) *tool.Failed {
	d.t.Helper()
	if d.err == nil {
		d.t.Fatalf("it went all the way (%s), want %s", d.out.Proof, f)
	}
	got := tool.AsFailed(d.err)
	if got.Failure != f || got.Dispatched != dispatched {
		d.t.Fatalf("failed with %s, dispatched %v: %s; want %s, dispatched %v", got.Failure, got.Dispatched, got.Message, f, dispatched)
	}
	for _, w := range words {
		if !strings.Contains(got.Message, w) {
			d.t.Fatalf("the message does not say %q: %s", w, got.Message)
		}
	}
	return got
}

func (d done) ran() *gen.RunResult {
	d.t.Helper()
	if d.err != nil {
		d.t.Fatal(d.err)
	}
	return d.out.Result.(*gen.RunResult)
}

func (d done) typed() *gen.TypeResult {
	d.t.Helper()
	if d.err != nil {
		d.t.Fatal(d.err)
	}
	switch r := d.out.Result.(type) {
	case *gen.TypeResult:
		return r
	case *gen.PressResult:
		t := gen.TypeResult(*r)
		return &t
	}
	d.t.Fatalf("the result is a %T", d.out.Result)
	return nil
}

// write puts a file into the workspace.
func (b *bench) write(name, text string) {
	b.t.Helper()
	f := filepath.Join(b.root, name)
	if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// alive reports whether a process is there and no zombie.
func alive(pid string) bool {
	b, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/stat")
	if err != nil {
		return false
	}
	s := string(b)
	i := strings.LastIndexByte(s, ')')
	return i >= 0 && len(s) > i+2 && s[i+2] != 'Z' && s[i+2] != 'X'
}

// workerSpec is what a worker that will be killed is to do.
type workerSpec struct {
	StateDir, Root, Run, ID string
	Tool                    string
	Args                    args
	// Until is how far to go: "resolved", "dispatched".
	Until string
	// Before are calls to be made first, to their ends.
	Before []workerSpec
}

func (s workerSpec) options() Options {
	return Options{StateDir: s.StateDir, Root: s.Root, EndSessions: true, Limits: Limits{Grace: 100 * time.Millisecond}}
}

// actAsWorker is the main function of a worker that will be killed: it says how far it came, and then does nothing more.
func actAsWorker(text string) {
	var spec workerSpec
	fail := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	fail(json.Unmarshal([]byte(text), &spec))
	x, err := New(spec.options())
	fail(err)
	ctx := context.Background()
	make := func(s workerSpec) (tool.Attempt, error) {
		raw, err := json.Marshal(s.Args)
		if err != nil {
			return nil, err
		}
		for _, sp := range gen.Specs() {
			if sp.ID.Name() == s.Tool {
				p, issues := sp.Decode(raw)
				if len(issues) > 0 {
					return nil, issues
				}
				return x.Begin(ctx, &tool.Call{ID: s.ID, RunID: s.Run, Spec: sp, Args: p, Raw: raw}, tool.Plan{Number: 1, Source: sp.Sources[0]})
			}
		}
		return nil, fmt.Errorf("no tool %s", s.Tool)
	}
	for _, s := range append(spec.Before, spec) {
		att, err := make(s)
		fail(err)
		fail(att.Resolve(ctx))
		if s.Until == "resolved" {
			break
		}
		_, err = att.Observe(ctx, tool.Needs{})
		fail(err)
		fail(att.Dispatch(ctx))
		if s.Until == "" {
			_, err := att.Settle(ctx)
			fail(err)
		}
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // never: it is killed
}
