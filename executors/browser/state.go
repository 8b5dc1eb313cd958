package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	"toolsvc/tool"
)

// checkpoint is what a run's session can be found again by, or be rebuilt from.
type checkpoint struct {
	RunID string `json:"run_id"`
	// Browser is the endpoint path of the browser that the tab is in; every start of a browser has another one.
	Browser string               `json:"browser"`
	Context cdp.BrowserContextID `json:"context"`
	Target  target.ID            `json:"target"`
	// URL is the last address, Cookies what it had stored in them.
	URL     string            `json:"url"`
	Cookies []*network.Cookie `json:"cookies,omitempty"`
	Storage *stored           `json:"storage,omitempty"`
}

// stored is what the page at the last address had put into its storage. Too much of it is not kept at all: half of a state is worse than none.
type stored struct {
	Origin  string            `json:"origin"`
	Local   map[string]string `json:"local"`
	Session map[string]string `json:"session"`
}

func (s *stored) empty() bool { return s == nil || len(s.Local)+len(s.Session) == 0 }

func (s *stored) same(o *stored) bool {
	if s.empty() || o.empty() {
		return s.empty() && o.empty()
	}
	return s.Origin == o.Origin && maps.Equal(s.Local, o.Local) && maps.Equal(s.Session, o.Session)
}

// checkpoints keeps one file a run.
type checkpoints struct{ dir string }

func (c checkpoints) file(run string) string {
	return filepath.Join(c.dir, tool.Digest([]byte(run))[len("sha256:"):][:32]+".json") // a run id is not a file name
}

func (c checkpoints) load(run string) (*checkpoint, error) {
	text, err := os.ReadFile(c.file(run))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the checkpoint of run %s: %w", run, err)
	}
	cp := new(checkpoint)
	if err := json.Unmarshal(text, cp); err != nil || cp.RunID != run {
		return nil, nil // written by another version: the run starts anew
	}
	return cp, nil
}

func (c checkpoints) save(cp *checkpoint) error {
	text, err := json.Marshal(cp)
	if err != nil {
		return fmt.Errorf("encode the checkpoint of run %s: %w", cp.RunID, err)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("keep the checkpoint of run %s: %w", cp.RunID, err)
	}
	f := c.file(cp.RunID)
	if err := os.WriteFile(f+".new", text, 0o600); err != nil {
		return fmt.Errorf("keep the checkpoint of run %s: %w", cp.RunID, err)
	}
	if err := os.Rename(f+".new", f); err != nil {
		return fmt.Errorf("keep the checkpoint of run %s: %w", cp.RunID, err)
	}
	return nil
}

// touch notes that the run was at work now.
func (c checkpoints) touch(run string) {
	now := time.Now()
	_ = os.Chtimes(c.file(run), now, now) // it only keeps a later process from closing the tab for being idle
}

// recent are the contexts of runs that were at work lately in this browser. On an error they are not all known.
func (c checkpoints) recent(browser string, within time.Duration) (map[cdp.BrowserContextID]bool, error) {
	used := map[cdp.BrowserContextID]bool{}
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list the checkpoints: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > within {
			continue
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(filepath.Join(c.dir, e.Name()))
		}
		if errors.Is(err, os.ErrNotExist) { // its run has ended just now
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the checkpoint %s: %w", e.Name(), err)
		}
		cp := new(checkpoint)
		if json.Unmarshal(text, cp) == nil && cp.Browser == browser {
			used[cp.Context] = true
		}
	}
	return used, nil
}

func (c checkpoints) remove(run string) error {
	if err := os.Remove(c.file(run)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the checkpoint of run %s: %w", run, err)
	}
	return nil
}
