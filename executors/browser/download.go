package browser

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"toolsvc/executors/browser/devtools"
	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
)

// downloadWait bounds the wait for a download that an action began. What is not complete by then goes on, and is reported as such.
const downloadWait = 15 * time.Second

// watchDownloads has the browser save the downloads of a context where this process finds them; without a store for them they are refused.
func (p *pool) watchDownloads(conn *devtools.Conn, id cdp.BrowserContextID) {
	yes := true
	in := cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: id, EventsEnabled: &yes}
	if p.opts.Artifacts != nil && os.MkdirAll(p.downloads(), 0o700) == nil {
		in.Behavior, in.DownloadPath = cdpbrowser.SetDownloadBehaviorBehaviorAllowAndName, p.downloads()
	}
	devtools.Start(conn.Browser(), cdpbrowser.SetDownloadBehavior, in)
}

// downloads is the folder that the browser saves into, each file under a name that only it can have.
func (p *pool) downloads() string { return filepath.Join(p.opts.StateDir, "downloads") }

// downloadEvent takes in what the browser tells of downloads.
func (p *pool) downloadEvent(ev devtools.Event) {
	if e, ok := devtools.As(ev, cdpbrowser.DownloadWillBegin); ok {
		for _, t := range p.tabs() {
			if t.Has(e.FrameID) || t.Opened(target.ID(e.FrameID)) { // the second: a window that the page opened for it
				t.Download(page.File{GUID: e.GUID, Name: e.SuggestedFilename, URL: e.URL})
				return
			}
		}
	}
	if e, ok := devtools.As(ev, cdpbrowser.DownloadProgress); ok {
		bytes, done, problem := int64(max(e.ReceivedBytes, 0)), e.State != cdpbrowser.DownloadProgressStateInProgress, ""
		tooLarge := int64(max(e.ReceivedBytes, e.TotalBytes)) > p.opts.MaxDownload
		switch {
		case tooLarge:
			problem = fmt.Sprintf("it is larger than %d bytes", p.opts.MaxDownload)
		case e.State == cdpbrowser.DownloadProgressStateCanceled && p.opts.Artifacts == nil:
			problem = "there is no store for files"
		case e.State == cdpbrowser.DownloadProgressStateCanceled:
			problem = "it was cancelled"
		}
		if tooLarge && !done {
			p.mu.Lock()
			conn := p.conn
			p.mu.Unlock()
			devtools.Start(conn.Browser(), cdpbrowser.CancelDownload, cdpbrowser.CancelDownloadParams{GUID: e.GUID})
		}
		for _, t := range p.tabs() {
			if t.Downloading(e.GUID, bytes, done, problem) {
				return
			}
		}
	}
}

// saved waits for the downloads of the action, and keeps them in the store.
func (a *attempt) saved(ctx context.Context) []*gen.Download {
	if a.tab.Since(a.sent).Downloads == 0 {
		return nil
	}
	var out []*gen.Download
	for _, f := range a.tab.AwaitDownloads(ctx, a.sent, downloadWait) {
		d := &gen.Download{Name: f.Name, URL: clip(f.URL, 2000), Bytes: int(f.Bytes)}
		problem := f.Problem
		if !f.Done && problem == "" {
			problem = fmt.Sprintf("it was not complete after %s", downloadWait)
		}
		if problem == "" {
			digest, size, err := a.x.keep(ctx, f)
			if err != nil {
				problem = err.Error()
			} else {
				d.Artifact, d.Bytes = &digest, int(size)
			}
		}
		if problem != "" {
			d.Problem = &problem
		}
		out = append(out, d)
	}
	return out
}

// keep puts a file that was saved into the store, and removes it from the disk.
func (x *Executor) keep(ctx context.Context, f page.File) (digest string, size int64, err error) {
	name := filepath.Join(x.pool.downloads(), filepath.Base(f.GUID))
	defer os.Remove(name) //nolint:errcheck // what is left is removed with the state directory
	info, err := os.Stat(name)
	if err != nil {
		return "", 0, fmt.Errorf("the saved file cannot be read: %w", err)
	}
	if info.Size() > x.opts.MaxDownload {
		return "", 0, fmt.Errorf("it is larger than %d bytes", x.opts.MaxDownload)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", 0, fmt.Errorf("the saved file cannot be read: %w", err)
	}
	kind := mime.TypeByExtension(strings.ToLower(filepath.Ext(f.Name)))
	if kind == "" {
		kind = http.DetectContentType(data)
	}
	if digest, err = x.opts.Artifacts.Put(ctx, kind, data); err != nil {
		return "", 0, fmt.Errorf("it could not be kept: %w", err)
	}
	return digest, info.Size(), nil
}
