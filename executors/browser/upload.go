package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// Bounds of an upload.
const (
	maxUpload   = 100 << 20       // bytes of one file
	chooserWait = 2 * time.Second // for the file chooser that a click shall open
)

// stage copies the files out of the workspace to a place that only this process writes to: the browser reads them later, and what a path
// means may have changed by then. Nothing outside of the workspace can be reached, by links neither.
func (a *attempt) stage() error {
	if a.x.opts.Workspace == "" {
		return tool.Failf(tool.ToolUnavailable, "Files can be uploaded only when a workspace is set; start the service with one.")
	}
	root, err := os.OpenRoot(a.x.opts.Workspace)
	if err != nil {
		return &tool.Failed{Failure: tool.ToolUnavailable, Message: fmt.Sprintf("The workspace cannot be opened: %v.", err), Cause: err}
	}
	defer root.Close() //nolint:errcheck // it was only read
	a.work.staged = nil
	for i, p := range a.act.paths {
		to, err := a.stageOne(root, i, p)
		if err != nil {
			return err
		}
		a.work.staged = append(a.work.staged, to)
	}
	return nil
}

func (a *attempt) stageOne(root *os.Root, i int, name string) (string, error) {
	rel := name
	if filepath.IsAbs(name) {
		r, err := filepath.Rel(a.x.opts.Workspace, name)
		if err != nil {
			return "", tool.Failf(tool.PolicyDenied, "%s is not in the workspace.", name)
		}
		rel = r
	}
	f, err := root.Open(filepath.Clean(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", tool.Failf(tool.InvalidArguments, "The workspace has no file %s.", name)
	case err != nil:
		return "", &tool.Failed{Failure: tool.PolicyDenied, Message: fmt.Sprintf("%s may not be read: it is not a file inside the workspace.", name), Cause: err}
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, err)
	case !info.Mode().IsRegular():
		return "", tool.Failf(tool.InvalidArguments, "%s is not a file.", name)
	case info.Size() > maxUpload:
		return "", tool.Failf(tool.InvalidArguments, "%s has %d bytes; at most %d can be uploaded.", name, info.Size(), maxUpload)
	}
	dir := filepath.Join(a.x.uploads(a.call.RunID), fmt.Sprintf("%s-%d", tool.Digest([]byte(a.call.ID))[len("sha256:"):][:16], i))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("ready %s for the browser: %w", name, err)
	}
	to := filepath.Join(dir, filepath.Base(rel))
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("ready %s for the browser: %w", name, err)
	}
	_, err = io.Copy(out, io.LimitReader(f, maxUpload))
	if err = errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("ready %s for the browser: %w", name, err)
	}
	return to, nil
}

// uploads is where the files of a run lie while the browser may read them; it is removed with the run's session.
func (x *Executor) uploads(run string) string {
	return filepath.Join(x.opts.StateDir, "uploads", tool.Digest([]byte(run))[len("sha256:"):][:32])
}

// fileField is what the page says of a target that shall take files.
type fileField struct {
	// ID of the file field: the target itself, the one that its label is for, or the only one in it; 0 when there is none.
	ID       int    `json:"id"`
	Multiple bool   `json:"multiple"`
	Disabled bool   `json:"disabled"`
	Folder   bool   `json:"folder"`
	Words    string `json:"words"`
}

// upload gives the page files: through its file field; or the chooser that a click on the target opens; or by dropping them onto it.
func (a *attempt) upload(ctx context.Context) error {
	var f fileField
	if err := a.loc.frame.Eval(ctx, &f, "fileField", a.loc.id); err != nil {
		return err
	}
	if f.ID != 0 {
		switch {
		case f.Disabled:
			return tool.Failf(tool.Disabled, "%s is disabled.", capital(f.Words))
		case len(a.work.staged) > 1 && !f.Multiple:
			return tool.Failf(tool.InvalidArguments, "%s takes one file, not %d.", capital(f.Words), len(a.work.staged))
		}
		if _, err := a.arm(ctx, "set", false); err != nil {
			return err
		}
		a.work.input = f.ID
		a.sent, a.dispatched, a.work.sure = a.tab.Mark(), true, true
		return a.loc.frame.SetFiles(ctx, f.ID, a.work.staged)
	}
	if err := a.gate(ctx, a.loc, true); err != nil {
		return err
	}
	if err := a.tab.Choosing(ctx, true); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = a.tab.Choosing(ctx, false) // a tab that is gone opens no choosers
	}()
	if err := a.mouse(ctx, "left", 0); err != nil {
		return err
	}
	c, err := a.tab.AwaitChooser(ctx, chooserWait)
	if err != nil {
		return err
	}
	if c != nil {
		if len(a.work.staged) > 1 && !c.Multiple {
			return &tool.Failed{Failure: tool.InvalidArguments, Dispatched: true, Message: fmt.Sprintf("The chooser that %s opens takes one file, not %d.", a.loc.words, len(a.work.staged))}
		}
		if err := a.tab.Give(ctx, c, a.work.staged); err != nil {
			return err
		}
		a.work.sure, a.work.given = true, true
		return nil
	}
	for _, r := range a.collect(ctx) {
		if r.rep.Changed { // the click did something else: nothing more is tried on top of it
			return &tool.Failed{Failure: tool.VerificationFailed, Dispatched: true, Message: fmt.Sprintf("%s opened no file chooser, but something else happened.", capital(a.loc.words))}
		}
	}
	again, err := a.lift(ctx, a.loc)
	if err != nil || again {
		return errors.Join(err, errStale)
	}
	if _, err := a.arm(ctx, "set", false); err != nil {
		return err
	}
	a.work.types = []string{"drop"}
	a.sent = a.tab.Mark() // the click did nothing: what is watched begins here
	return a.tab.DropFiles(ctx, a.loc.x, a.loc.y, a.work.staged)
}

// filesTaken are the names of the files that the page was told of.
func (a *attempt) filesTaken(ctx context.Context) []string {
	names := []string{}
	for _, r := range a.collect(ctx) {
		names = append(names, r.rep.Files...)
	}
	if len(names) == 0 && a.work.given { // a field that is no part of the document tells nobody but its own script
		for _, f := range a.work.staged {
			names = append(names, filepath.Base(f))
		}
	}
	if len(names) == 0 && a.work.input != 0 {
		_ = a.loc.frame.Eval(ctx, &names, "filesOf", a.work.input) // a field that is gone holds none
	}
	if names == nil {
		names = []string{}
	}
	return names
}

// takeBack empties the file field again.
func (a *attempt) takeBack(ctx context.Context, did *[]string) error {
	if a.work.input == 0 {
		return nil
	}
	var empty bool
	err := a.loc.frame.Eval(ctx, &empty, "emptyFiles", a.work.input)
	if page.Moved(err) {
		return nil // shows in the comparison
	}
	if empty {
		*did = append(*did, "took the files out of the field")
	}
	return err
}
