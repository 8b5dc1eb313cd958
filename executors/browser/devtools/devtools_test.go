package devtools_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"toolsvc/executors/browser/chromium"
	"toolsvc/executors/browser/devtools"
)

// connect starts a browser with one tab.
func connect(t *testing.T) (*chromium.Process, *devtools.Conn, *devtools.Session) {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolsvc-devtools-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	proc, conn, _, err := chromium.Acquire(ctx, chromium.Options{StateDir: dir, Width: 800, Height: 600})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		if err := proc.End(); err != nil {
			t.Error(err)
		}
		for range 50 { // children of the browser may write a moment longer
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	r, err := devtools.Call(ctx, conn.Browser(), target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := conn.Attach(ctx, r.TargetID)
	if err != nil {
		t.Fatal(err)
	}
	return proc, conn, s
}

func evaluate(s *devtools.Session, expr string, await bool) *devtools.Pending[runtime.EvaluateResult] {
	yes := true
	return devtools.Start(s, runtime.Evaluate, runtime.EvaluateParams{Expression: expr, ReturnByValue: &yes, AwaitPromise: &await})
}

// TestWaitsEnd: whatever waits for an answer that never comes, ends with its context, its session, or the connection.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	proc, conn, s := connect(t)
	if r, err := evaluate(s, "6*7", false).Wait(t.Context()); err != nil || string(r.Result.Value) != "42" {
		t.Fatalf("%v, %v", r, err)
	}
	const never = "new Promise(()=>{})"

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := evaluate(s, never, true).Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("context: %v", err)
	}

	waiting := evaluate(s, never, true)
	if _, err := devtools.Call(t.Context(), conn.Browser(), target.DetachFromTarget, target.DetachFromTargetParams{SessionID: s.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := waiting.Wait(t.Context()); !errors.Is(err, devtools.ErrDetached) {
		t.Errorf("session: %v", err)
	}
	if _, err := evaluate(s, "1", false).Wait(t.Context()); !errors.Is(err, devtools.ErrDetached) {
		t.Errorf("an ended session: %v", err)
	}

	r, err := devtools.Call(t.Context(), conn.Browser(), target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := conn.Attach(t.Context(), r.TargetID)
	if err != nil {
		t.Fatal(err)
	}
	waiting = evaluate(other, never, true)
	if err := proc.End(); err != nil {
		t.Fatal(err)
	}
	if _, err := waiting.Wait(t.Context()); !errors.Is(err, devtools.ErrLost) && !errors.Is(err, devtools.ErrDetached) {
		t.Errorf("connection: %v", err)
	}
	<-conn.Lost()
	if _, err := evaluate(conn.Browser(), "1", false).Wait(t.Context()); !errors.Is(err, devtools.ErrLost) {
		t.Errorf("a lost connection: %v", err)
	}
}

// TestEventsAreNotLost: what happened before anyone listened is told first, in order.
func TestEventsAreNotLost(t *testing.T) {
	t.Parallel()
	_, _, s := connect(t)
	if _, err := devtools.Call(t.Context(), s, runtime.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := evaluate(s, "console.log("+string(rune('0'+i))+")", false).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var heard []string
	s.Listen(func(ev devtools.Event) {
		if e, ok := devtools.As(ev, runtime.ConsoleAPICalled); ok {
			heard = append(heard, string(e.Args[0].Value))
		}
	})
	if len(heard) != 3 || heard[0] != "0" || heard[2] != "2" {
		t.Errorf("heard %v", heard)
	}
}
