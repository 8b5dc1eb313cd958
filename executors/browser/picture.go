package browser

import (
	"context"
	"image"
	"math"

	"toolsvc/executors/browser/page"
	"toolsvc/executors/browser/vision/pixdiff"
)

// rest is what pictures showed before the dispatch.
type rest struct {
	// before is the picture immediately before it; nil when none was needed.
	before []byte
	// restless is what changes by itself.
	restless image.Rectangle
	// moved: what was found in an earlier picture is not there any more.
	moved bool
}

// picture takes the picture before the dispatch, where only pictures can show a reaction: on pages with a canvas or a closed widget, for
// targets that were found in a picture, and when the options ask for it. Everywhere else the whole state of the page is in the DOM, in its
// style sheets, fields and media, which are watched without one.
func (a *attempt) picture(ctx context.Context, hover bool) error {
	opaque := a.x.opts.ComparePixels || a.loc != nil && a.loc.seen
	for _, f := range a.tab.Frames() {
		var s page.Surfaces
		if err := f.Eval(ctx, &s, "surfaces"); err == nil && s.Opaque > 0 {
			opaque = true
		}
	}
	a.facts.Opaque, a.rest = opaque, rest{}
	if !opaque {
		return nil
	}
	if hover { // so that what the pointer alone changes is in both pictures
		if err := a.tab.Hover(a.loc.x, a.loc.y, 0)(ctx); err != nil {
			return err
		}
	}
	one, err := a.tab.Screenshot(ctx, nil)
	if err != nil {
		return err
	}
	two, err := a.tab.Screenshot(ctx, nil)
	if err != nil {
		return err
	}
	_, a.rest.restless, err = pixdiff.DiffPNG(one, two, nil)
	if err != nil {
		return err
	}
	if a.shot != nil && a.loc != nil && a.loc.seen { // is the target still where the picture showed it?
		a.rest.moved, err = a.elsewhere(two)
		if err != nil {
			return err
		}
		a.shot = nil
	}
	a.rest.before = two
	return nil
}

// elsewhere reports whether most of the place where the target was seen looks otherwise now.
func (a *attempt) elsewhere(now []byte) (bool, error) {
	was, err := pixdiff.Decode(a.shot)
	if err != nil {
		return false, err
	}
	is, err := pixdiff.Decode(now)
	if err != nil {
		return false, err
	}
	r := a.pixels(a.loc.box, 0).Intersect(was.Bounds())
	if r.Empty() {
		return false, nil
	}
	// The colours of a hovered button change; its letters stay where they are. So the outlines are compared, not the colours.
	return outline(was.SubImage(r)) != outline(is.SubImage(r)) && share(was.SubImage(r), is.SubImage(r)) > 0.5 && !sameEdges(was.SubImage(r), is.SubImage(r)), nil
}

// outline is the size of a part of a picture.
func outline(m image.Image) image.Point { return m.Bounds().Size() }

// share is the share of pixels that differ.
func share(a, b image.Image) float64 {
	n, _ := pixdiff.Diff(a, b, nil)
	return float64(n) / float64(max(1, a.Bounds().Dx()*a.Bounds().Dy()))
}

// sameEdges compares where neighbouring pixels differ.
func sameEdges(a, b image.Image) bool {
	return math.Abs(edges(a)-edges(b)) < 0.1
}

func edges(m image.Image) float64 {
	r, n := m.Bounds(), 0
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X + 1; x < r.Max.X; x++ {
			if m.At(x, y) != m.At(x-1, y) {
				n++
			}
		}
	}
	return float64(n) / float64(max(1, r.Dx()*r.Dy()))
}

// pixels is a rectangle of the viewport in device pixels, with a margin in CSS pixels.
func (a *attempt) pixels(b box, margin float64) image.Rectangle {
	s := a.x.opts.DeviceScaleFactor
	return image.Rect(int(math.Floor((b.X-margin)*s)), int(math.Floor((b.Y-margin)*s)), int(math.Ceil((b.X+b.W+margin)*s)), int(math.Ceil((b.Y+b.H+margin)*s)))
}

// focusMargin is how far a focus ring may reach beyond its element, in CSS pixels.
const focusMargin = 8

// compare compares the picture now with the one from before the dispatch, where that was taken and nothing else tells of a reaction.
// What pointing at the target changes in its own box does not count, unless the box is a canvas.
func (a *attempt) compare(ctx context.Context) error {
	if a.rest.before == nil || a.facts.reacted() {
		return nil
	}
	now, err := a.tab.Screenshot(ctx, nil)
	if err != nil {
		return err
	}
	var ignore []image.Rectangle
	if !a.rest.restless.Empty() {
		ignore = append(ignore, a.rest.restless)
	}
	if a.loc != nil && !a.loc.canvas && !a.loc.seen {
		b := a.loc.box
		b.X, b.Y = a.loc.x-(a.loc.fx-b.X), a.loc.y-(a.loc.fy-b.Y)
		ignore = append(ignore, a.pixels(b, focusMargin))
	}
	n, where, err := pixdiff.DiffPNG(a.rest.before, now, ignore)
	if err != nil {
		return err
	}
	a.facts.Compared = true
	if n == 0 {
		if a.loc != nil && a.loc.canvas && !a.rest.restless.Empty() {
			at := image.Pt(int(a.loc.x*a.x.opts.DeviceScaleFactor), int(a.loc.y*a.x.opts.DeviceScaleFactor))
			a.facts.Restless = at.In(a.rest.restless)
		}
		return nil
	}
	again, err := a.tab.Screenshot(ctx, nil) // does it go on by itself?
	if err != nil {
		return err
	}
	if _, moving, err := pixdiff.DiffPNG(now, again, ignore); err != nil {
		return err
	} else if !moving.Empty() && where.In(moving.Inset(-2)) {
		// It still changes: a reaction under way, or an animation of the page's own. A later picture tells.
		if a.rest.restless.Empty() && a.facts.Watched < patience/2 {
			return nil
		}
		a.facts.Restless = true
		return nil
	}
	all, err := pixdiff.Decode(now)
	if err != nil {
		return err
	}
	a.facts.Pixels = float64(n) / float64(max(1, all.Bounds().Dx()*all.Bounds().Dy()))
	return nil
}
