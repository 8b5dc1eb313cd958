// Package vision is the last grounding source of the browser executor: it finds
// a target in a screenshot when neither the accessibility tree nor the DOM can
// (a canvas, a WebGL surface, an image, an aria-hidden widget).
//
// It holds only the interface and the plain data that cross it. Grounders live in
// packages of their own: vision/ocr reads the words on the screen without any key
// or network; a model behind the same interface may also find what has no words.
//
// What a Grounder guarantees to the browser executor, its only caller:
//   - it never invents a place: what it is not sure enough of is not returned, so
//     an empty list means "not found by this source", never "click somewhere near";
//   - it never chooses between equals: several candidates that fit equally well
//     are all returned, and the executor reports ambiguous_target;
//   - it has no effect on the page, so any call may be repeated or abandoned;
//   - every box is in CSS pixels of the screenshot's own coordinate system.
package vision

import (
	"context"
	"errors"
)

// ErrUnavailable is wrapped by errors of Available, Locate and Read that mean that something is not
// installed, so that the caller can report tool_unavailable. Their text says how to install it.
var ErrUnavailable = errors.New("vision is not available")

// Screenshot is one picture of a page, or of a part of it.
type Screenshot struct {
	// PNG is the encoded picture.
	PNG []byte
	// Scale is the number of device pixels per CSS pixel (window.devicePixelRatio
	// times the capture's own scale). Zero means 1.
	Scale float64
}

// Rect is a rectangle in CSS pixels. Its origin is the top left corner of the
// screenshot, which for a screenshot of the viewport is the viewport's corner.
type Rect struct{ X, Y, W, H float64 }

// Empty reports whether the rectangle has no area. The zero Rect is empty.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Center is the point to click.
func (r Rect) Center() (x, y float64) { return r.X + r.W/2, r.Y + r.H/2 }

// Contains reports whether the point lies in the rectangle; the left and top edges
// belong to it, the right and bottom ones do not.
func (r Rect) Contains(x, y float64) bool {
	return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H
}

// Intersect is the common part of two rectangles, the zero Rect if there is none.
func (r Rect) Intersect(o Rect) Rect {
	x0, y0 := max(r.X, o.X), max(r.Y, o.Y)
	x1, y1 := min(r.X+r.W, o.X+o.W), min(r.Y+r.H, o.Y+o.H)
	if x1 <= x0 || y1 <= y0 {
		return Rect{}
	}
	return Rect{x0, y0, x1 - x0, y1 - y0}
}

// Union is the smallest rectangle that holds both; an empty one adds nothing.
func (r Rect) Union(o Rect) Rect {
	if r.Empty() {
		return o
	}
	if o.Empty() {
		return r
	}
	x0, y0 := min(r.X, o.X), min(r.Y, o.Y)
	x1, y1 := max(r.X+r.W, o.X+o.W), max(r.Y+r.H, o.Y+o.H)
	return Rect{x0, y0, x1 - x0, y1 - y0}
}

// Query says what to find. Either Name or Description must say something; a query
// with neither finds nothing.
type Query struct {
	// Name is the visible text of the target, or the text it is labelled with.
	Name string
	// Description says in words what the target looks like, for a model. A grounder
	// without a model uses only the words of it that name a visible label.
	Description string
	// Within is the heading or name of the panel, dialog or section that holds the
	// target. When it is given, a target outside of it is not returned.
	Within string
	// Near is text beside the target. When it is given, the target closest to it
	// is preferred; a grounder that cannot see that text returns nothing.
	Near string
	// Role is the ARIA role of the target, a hint only ("button", "textbox").
	Role string
	// Region limits the search to a part of the screenshot, in CSS pixels. Zero
	// means all of it.
	Region Rect
}

// Candidate is one place in the screenshot that answers a query.
type Candidate struct {
	// Box is the place; its centre is what to click.
	Box Rect
	// Text is what was read there (empty for a target without text).
	Text string
	// Confidence is between 0 and 1: how sure the grounder is that the target is
	// here. Values of one grounder can be compared with each other and with a floor.
	Confidence float64
	// Exact says that Text is the query's name, letter for letter.
	Exact bool
	// Within is the heading seen above or left of the candidate, in the words read. It is
	// there to tell twins apart: a grounder need not look for it when there is only one candidate.
	Within string
	// Near is the text seen closest beside the candidate, in the words read; as for Within.
	Near string
}

type runKey struct{}

// WithRun says for which run a grounder is asked, so that what it may use can be bounded by run.
func WithRun(ctx context.Context, runID string) context.Context {
	return context.WithValue(ctx, runKey{}, runID)
}

// RunOf is the run of [WithRun]; "" without one.
func RunOf(ctx context.Context) string {
	id, _ := ctx.Value(runKey{}).(string)
	return id
}

// Grounder finds targets in screenshots. Implementations are safe for use by
// several goroutines.
type Grounder interface {
	// Name is "ocr" or the name of a model, for receipts and badges.
	Name() string
	// Available is nil if the grounder can work, and otherwise says what is missing
	// and how to install it.
	Available() error
	// Locate returns the places that answer the query, best first. Several equally
	// good ones (equal Exact, confidences within SameConfidence) are the caller's
	// ambiguity to report. No place is an empty list, not an error; an error means
	// that it could not look: missing engine, broken picture, ended context.
	Locate(ctx context.Context, s Screenshot, q Query) ([]Candidate, error)
	// Read returns the text in a region (zero: everywhere), line by line from top
	// to bottom. No text is an empty string.
	Read(ctx context.Context, s Screenshot, region Rect) (string, error)
}

// SameConfidence is the difference of confidence below which two candidates count
// as equally good.
const SameConfidence = 0.1

// Ambiguous reports whether the first candidate of a list that Locate returned has
// an equal further down.
func Ambiguous(cs []Candidate) bool {
	return len(cs) > 1 && cs[0].Exact == cs[1].Exact && cs[0].Confidence-cs[1].Confidence < SameConfidence
}
