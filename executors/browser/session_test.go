package browser

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"toolsvc/executors/browser/devtools"
)

// A session that cannot be made leaves no tab behind: each try would leave another, until the machine has no memory.
func TestSessionThatCannotBeMadeLeavesNoTab(t *testing.T) {
	t.Parallel()
	x := durable(t, tempDir(t))
	if err := x.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := &visit{t: t, x: x, run: "r_unkept", url: "about:blank"}
	if err := os.MkdirAll(x.pool.marks.file(p.run)+".new", 0o700); err != nil { // its checkpoint cannot be written
		t.Fatal(err)
	}
	contexts := func() int {
		r, err := devtools.Call(t.Context(), x.pool.conn.Browser(), target.GetBrowserContexts, cdp.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		return len(r.BrowserContextIDs)
	}
	before := contexts()
	for range 3 {
		if d := p.do("navigate", map[string]any{"url": p.url}); d.err == nil || !strings.Contains(d.err.Error(), "keep the checkpoint") {
			t.Fatalf("%v", d.err)
		}
	}
	for end := time.Now().Add(20 * time.Second); contexts() > before; { // Chromium takes its time to close them
		if time.Now().After(end) {
			t.Fatalf("%d places in the browser became %d", before, contexts())
		}
	}
}

// Whoever waits for another session to be made ready waits no longer than its call may take.
func TestWaitForASessionEndsWithTheCall(t *testing.T) {
	t.Parallel()
	x := durable(t, tempDir(t))
	x.pool.starting <- struct{}{}
	defer func() { <-x.pool.starting }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := x.pool.acquire(ctx, "r_waits"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := x.Warm(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// What an earlier process left in the browser is closed only where it is known that no run uses it.
func TestCheckpointsThatCannotBeReadAreNoSignOfIdleness(t *testing.T) {
	t.Parallel()
	c := checkpoints{dir: filepath.Join(t.TempDir(), "runs")}
	if used, err := c.recent("b", time.Hour); err != nil || len(used) > 0 {
		t.Errorf("before the first run: %v, %v", used, err)
	}
	if err := c.save(&checkpoint{RunID: "r_1", Browser: "b", Context: "kept"}); err != nil {
		t.Fatal(err)
	}
	if used, err := c.recent("b", time.Hour); err != nil || !used["kept"] {
		t.Errorf("%v, %v", used, err)
	}
	if err := os.Mkdir(c.file("r_2"), 0o700); err != nil { // as good as unreadable
		t.Fatal(err)
	}
	if used, err := c.recent("b", time.Hour); err == nil {
		t.Errorf("%v are all that are used, although one could not be read", used)
	}
}
