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

// Shot is a picture that is being taken.
type Shot struct {
	sent *devtools.Pending[cdppage.CaptureScreenshotResult]
}

// shotQuality is what a JPEG picture for people is worth: text stays legible, and the file is a tenth of a PNG's.
const shotQuality = 70

// Shoot starts to take a JPEG picture of the viewport for people to look at, and does not wait for it.
func (t *Tab) Shoot() *Shot {
	yes, quality := true, int64(shotQuality)
	return &Shot{sent: devtools.Start(t.session, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{Format: cdppage.CaptureScreenshotFormatJpeg, Quality: &quality, OptimizeForSpeed: &yes})}
}

// Wait returns the picture.
func (s *Shot) Wait(ctx context.Context) ([]byte, error) {
	r, err := s.sent.Wait(ctx)
	if err != nil {
		return nil, fmt.Errorf("take a picture: %w", because(ctx, err))
	}
	return r.Data, nil
}
