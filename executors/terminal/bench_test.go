//go:build linux

package terminal

import (
	"os/exec"
	"testing"
	"time"

	"toolsvc/executors/terminal/supervise"
)

// One command from Begin to the evidence after it; the floor beside it is os/exec alone.
func BenchmarkRun(b *testing.B) {
	bench := newBench(b)
	for b.Loop() {
		bench.do("run", args{"command": "/bin/true"}).ok()
	}
}

// The same with a supervisor that is ready, as between the calls of an agent.
func BenchmarkRunAfterPause(b *testing.B) {
	bench := newBench(b)
	for b.Loop() {
		b.StopTimer()
		bench.x.launcher.Warm()
		time.Sleep(300 * time.Millisecond) // the supervisor is started, and waits
		b.StartTimer()
		bench.do("run", args{"command": "/bin/true"}).ok()
	}
}

func BenchmarkRunFloor(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("bash", "-c", "/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// A command typed into an open shell, to its exit code and the prompt.
func BenchmarkTypeCommand(b *testing.B) {
	bench := newBench(b)
	bench.do("open", nil).ok()
	for b.Loop() {
		bench.do("type", args{"text": ":", "submit": true}).ok()
	}
}

// One character there and its echo back, without the settling.
func BenchmarkRoundTrip(b *testing.B) {
	bench := newBench(b)
	d := bench.do("open", nil).ok()
	dir := d.att.(*sessionAttempt).dir
	for i := 0; b.Loop(); i++ {
		if _, err := supervise.Look(bench.ctx, dir, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenAndClose(b *testing.B) {
	bench := newBench(b)
	for b.Loop() {
		bench.do("open", nil).ok()
		bench.do("close", nil).ok()
	}
}
