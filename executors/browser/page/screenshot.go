package page

import (
	"context"
	"fmt"

	cdppage "github.com/chromedp/cdproto/page"

	"toolsvc/executors/browser/devtools"
)

// Clip is a part of the page, in CSS pixels from the top left corner of the document.
type Clip struct{ X, Y, W, H float64 }

// Screenshot takes a PNG picture of the viewport, or of a part of the page, which may reach beyond the viewport.
func (t *Tab) Screenshot(ctx context.Context, clip *Clip) ([]byte, error) {
	yes := true
	p := cdppage.CaptureScreenshotParams{OptimizeForSpeed: &yes}
	if clip != nil {
		p.Clip = &cdppage.Viewport{X: clip.X, Y: clip.Y, Width: clip.W, Height: clip.H, Scale: 1}
		p.CaptureBeyondViewport = &yes
	}
	r, err := devtools.Call(ctx, t.session, cdppage.CaptureScreenshot, p)
	if err != nil {
		return nil, fmt.Errorf("take a screenshot: %w", because(ctx, err))
	}
	return r.Data, nil
}
