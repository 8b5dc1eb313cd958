package ocr

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"toolsvc/executors/browser/vision"
)

// browser is one Chromium for all tests of the package; each picture gets a tab of its own.
var browser struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	shared.Close()
	if browser.stop != nil {
		browser.stop()
	}
	os.Exit(code)
}

// shared is one grounder for the tests that need no other: its engines take a while to load.
var shared = New(Options{})

func sharedGrounder(t testing.TB) *Grounder {
	t.Helper()
	if err := shared.Available(); err != nil {
		t.Fatal(err)
	}
	return shared
}

func chromium(t testing.TB) context.Context {
	t.Helper()
	browser.once.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("force-color-profile", "srgb"))
		allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, stop := chromedp.NewContext(allocator)
		browser.ctx, browser.stop = ctx, func() { stop(); stopAllocator() }
		browser.err = chromedp.Do(ctx)
	})
	if browser.err != nil {
		t.Fatalf("start Chromium: %v", browser.err)
	}
	return browser.ctx
}

// shoot opens an empty page of this size, evaluates the script, stores its value in result, and
// takes a screenshot.
func shoot(t testing.TB, w, h int, scale float64, script string, result any) vision.Screenshot {
	t.Helper()
	tab, closeTab := chromedp.NewContext(chromium(t))
	defer closeTab()
	ctx, cancel := context.WithTimeout(tab, time.Minute)
	defer cancel()
	if err := chromedp.Do(tab, chromedp.EmulateViewport(int64(w), int64(h), chromedp.EmulateScale(scale))); err != nil {
		t.Fatalf("open a tab: %v", err) // without a deadline, which would be that of the tab's whole life
	}
	value, err := chromedp.Run(ctx, chromedp.Evaluate[json.RawMessage](script))
	if err == nil {
		err = json.Unmarshal(value, result)
	}
	if err != nil {
		t.Fatalf("draw: %v", err)
	}
	shot := vision.Screenshot{Scale: scale}
	if shot.PNG, err = chromedp.Run(ctx, chromedp.CaptureScreenshot()); err != nil {
		t.Fatalf("take a screenshot: %v", err)
	}
	return shot
}

//go:embed testdata/canvas.js
var canvasScript string

// canvas is a page of buttons to draw, see testdata/canvas.js.
type canvas struct {
	Theme  string   `json:"theme"`
	Size   int      `json:"size"` // of the letters, in CSS pixels
	Font   string   `json:"font"` // with SIZE for the size
	Labels []string `json:"labels"`
	Gap    int      `json:"gap"` // between buttons
	Seed   int      `json:"seed"`
	Width  int      `json:"width"`
	Height int      `json:"height"`
}

// drawn is a button and where it is, in CSS pixels.
type drawn struct {
	Text       string
	X, Y, W, H float64
}

func (d drawn) box() vision.Rect { return vision.Rect{X: d.X, Y: d.Y, W: d.W, H: d.H} }

func (c canvas) shoot(t testing.TB, scale float64) (vision.Screenshot, []drawn) {
	t.Helper()
	if c.Width == 0 {
		c.Width, c.Height = 1280, 800
	}
	if c.Font == "" {
		c.Font = "SIZE sans-serif"
	}
	if c.Gap == 0 {
		c.Gap = 20
	}
	spec, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var truth []drawn
	shot := shoot(t, c.Width, c.Height, scale, fmt.Sprintf("%s\ndrawPage(%s)", canvasScript, spec), &truth)
	if len(truth) != len(c.Labels) {
		t.Fatalf("%d of %d buttons were drawn", len(truth), len(c.Labels))
	}
	return shot, truth
}
