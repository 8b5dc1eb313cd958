package page

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"

	"toolsvc/executors/browser/devtools"
)

// Chooser is a file chooser that the page opened.
type Chooser struct {
	session *devtools.Session
	node    cdp.BackendNodeID
	// Multiple: it takes several files.
	Multiple bool
}

// Choosing says whether a file chooser stays open until it is given files; otherwise each is cancelled at once.
func (t *Tab) Choosing(ctx context.Context, yes bool) error {
	t.mu.Lock()
	t.chooser = nil
	t.mu.Unlock()
	cancel := !yes
	_, err := devtools.Call(ctx, t.session, cdppage.SetInterceptFileChooserDialog, cdppage.SetInterceptFileChooserDialogParams{Enabled: true, Cancel: &cancel})
	if err != nil {
		return fmt.Errorf("watch for file choosers: %w", because(ctx, err))
	}
	return nil
}

// AwaitChooser waits for a file chooser; nil when none opens within max.
func (t *Tab) AwaitChooser(ctx context.Context, max time.Duration) (*Chooser, error) {
	wait, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	err := t.await(wait, func() bool { return t.chooser != nil })
	if err != nil && ctx.Err() != nil {
		return nil, because(ctx, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.chooser, nil
}

// Give hands files to a chooser.
func (t *Tab) Give(ctx context.Context, c *Chooser, files []string) error {
	if c.node == 0 {
		return fmt.Errorf("the page asked for files through an interface that takes none from here")
	}
	if _, err := devtools.Call(ctx, c.session, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files, BackendNodeID: c.node}); err != nil {
		return fmt.Errorf("choose the files: %w", because(ctx, err))
	}
	return nil
}

// SetFiles puts files into a file field, given by its number.
func (f *Frame) SetFiles(ctx context.Context, id int, files []string) error {
	objects, err := f.objects(ctx, fmt.Sprintf("[__toolsvc.element(%d)].filter(Boolean)", id))
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return ErrNavigated
	}
	if _, err := devtools.Call(ctx, f.Session(), dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files, ObjectID: objects[0]}); err != nil {
		return fmt.Errorf("choose the files: %w", because(ctx, err))
	}
	return nil
}

// DropFiles drops files from outside at a point of the viewport.
func (t *Tab) DropFiles(ctx context.Context, x, y float64, files []string) error {
	return t.dropAt(ctx, x, y, &input.DragData{Items: []*input.DragDataItem{}, Files: files, DragOperationsMask: 1})
}
