//go:build linux

package workspace

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"toolsvc/tool"
)

// shell is an executor that runs its call's arguments as a script.
type shell struct{ dir string }

func (s shell) Applies(*tool.Call, tool.Source) bool { return true }

func (s shell) Begin(_ context.Context, call *tool.Call, _ tool.Plan) (tool.Attempt, error) {
	return &script{dir: s.dir, text: string(call.Raw)}, nil
}

type script struct{ dir, text string }

func (s *script) Observe(context.Context, tool.Needs) (*tool.Evidence, error) {
	return new(tool.Evidence), nil
}
func (s *script) Resolve(context.Context) error { return nil }
func (s *script) Dispatch(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "bash", "-ec", s.text)
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return &tool.Failed{Failure: tool.Internal, Dispatched: true, Message: string(out), Cause: err}
	}
	return nil
}
func (s *script) Settle(context.Context) (tool.Outcome, error) {
	return tool.Outcome{Effect: tool.EffectConfirmed}, nil
}
func (s *script) Rollback(context.Context) (tool.Rollback, error) {
	return tool.Rollback{Refused: "a command cannot be undone"}, nil
}
func (s *script) Close() error { return nil }

func TestGuard(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w, root := opened(t, somewhere)
	guard := w.Guard(shell{root})
	before := picture(t, root)
	attempt := func(id, text string) tool.Attempt {
		t.Helper()
		att, err := guard.Begin(ctx, &tool.Call{ID: id, RunID: "r", Raw: []byte(text)}, tool.Plan{Number: 1})
		if err != nil {
			t.Fatal(err)
		}
		return att
	}
	do := func(att tool.Attempt, fails bool) {
		t.Helper()
		err := att.Dispatch(ctx)
		if (err != nil) != fails {
			t.Fatal(err)
		}
		if err == nil {
			if _, err := att.Settle(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	rollback := func(att tool.Attempt) tool.Rollback {
		t.Helper()
		rb, err := att.Rollback(ctx)
		if err := errors.Join(err, att.Close()); err != nil {
			t.Fatal(err)
		}
		return rb
	}

	failed := attempt("c_1", everything)
	do(failed, false)
	if rb := rollback(failed); !rb.Performed {
		t.Fatalf("%+v", rb)
	}
	samePicture(t, "after the rollback", before, picture(t, root))

	broken := attempt("c_2", `echo half >> a.txt; false`) // fails half-way
	do(broken, true)
	if rb := rollback(broken); !rb.Performed {
		t.Fatalf("%+v", rb)
	}
	samePicture(t, "after the rollback of a command that failed", before, picture(t, root))

	undone := attempt("c_3", `true`)
	if rb := rollback(undone); rb.Performed || rb.Refused != "a command cannot be undone" {
		t.Errorf("nothing was dispatched, and the executor's own rollback says %+v", rb)
	}

	reads, err := guard.Begin(ctx, &tool.Call{ID: "c_6", RunID: "r", Raw: []byte(`cat a.txt`), Spec: &tool.Spec{Effect: tool.ReadOnly}}, tool.Plan{Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	do(reads, false)
	if n := len(w.attempts); n != 0 {
		t.Errorf("%d backups for a tool that only reads", n)
	}

	clash := attempt("c_4", `echo ours >> a.txt`)
	do(clash, false)
	sh(t, root, `echo theirs >> a.txt`)
	if rb := rollback(clash); rb.Performed || !strings.Contains(rb.Refused, "rollback_refused") {
		t.Errorf("%+v", rb)
	}
	if n := len(w.attempts); n != 1 {
		t.Errorf("%d backups are kept; a refused rollback's is", n)
	}

	lost := attempt("c_5", `echo lost >> solo`) // its worker dies after the dispatch
	if err := lost.Dispatch(ctx); err != nil {
		t.Fatal(err)
	}
	if _, _, err := guard.(tool.Reconciler).Reconcile(ctx, &tool.Call{ID: "c_5", RunID: "r"}, nil); err == nil {
		t.Error("an executor that cannot reconcile leaves nothing unknown")
	}
}
