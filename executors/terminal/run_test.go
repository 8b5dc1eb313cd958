//go:build linux

package terminal

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.do("run", args{"command": "echo out; echo err >&2; pwd"}).ok()
	r := d.ran()
	if r.Stdout != "out\n"+b.root+"\n" || r.Stderr != "err\n" || r.ExitCode != 0 {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(d.out.Proof, "exit code 0") {
		t.Error(d.out.Proof)
	}
	t.Log(d.took, d.out.Proof)
}

func TestSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	t.Logf("%+v", b.x.Layers())
	d := b.do("open", nil).ok()
	t.Logf("%+v %v", d.out.Result, d.took)
	d = b.do("type", args{"text": "echo hello; false", "submit": true}).ok()
	t.Logf("%+v %v %v", d.typed(), d.took, *d.typed().ExitCode)
	d = b.do("close", nil).ok()
	t.Logf("%+v %v", d.out.Result, d.took)
}
