//go:build linux

package supervise

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// An order is carried out once for its directory; what cannot be started says so, and leaves a record of it.
func TestLaunch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	l := &Launcher{NoSpare: true}
	t.Cleanup(l.Close)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	order := func(name string, change func(*Order)) Order {
		o := Order{Kind: KindRun, Dir: filepath.Join(dir, name), Key: name, Argv: []string{sh, "-c", "echo x >> " + dir + "/times"}, Cwd: dir, Limit: 20 * time.Second,
			Grace: 50 * time.Millisecond, Whole: 100, Head: 10, Tail: 10, Confine: Confinement{Off: true}}
		if change != nil {
			change(&o)
		}
		return o
	}
	for range 2 {
		err := l.Launch(ctx, order("once", nil))
		var no *NotStarted
		if err != nil && (!errors.As(err, &no) || !no.Again) {
			t.Fatal(err)
		}
	}
	if r, err := Wait(ctx, filepath.Join(dir, "once")); err != nil || r.State != StateEnded || r.ExitCode != 0 || !r.Layers.Subreaper {
		t.Errorf("%+v, %v", r, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "times")); err != nil || string(text) != "x\n" {
		t.Errorf("it ran otherwise than once: %q, %v", text, err)
	}
	for name, change := range map[string]func(*Order){
		"no-program":   func(o *Order) { o.Argv = []string{"/nowhere/sh"} },
		"no-directory": func(o *Order) { o.Cwd = "/nowhere" },
	} {
		var no *NotStarted
		if err := l.Launch(ctx, order(name, change)); !errors.As(err, &no) || !no.Missing {
			t.Errorf("%s: %v", name, err)
		}
		if r, err := Wait(ctx, filepath.Join(dir, name)); err != nil || r.State != StateFailed || r.Problem == "" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for name, change := range map[string]func(*Order){
		"no limit": func(o *Order) { o.Limit = 0 }, "no kind": func(o *Order) { o.Kind = "" }, "no command": func(o *Order) { o.Argv = nil },
	} {
		var no *NotStarted
		if err := l.Launch(ctx, order("bad", change)); !errors.As(err, &no) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Wait(ctx, filepath.Join(dir, "bad")); !errors.Is(err, ErrNoRecord) {
		t.Errorf("%v", err)
	}
}
