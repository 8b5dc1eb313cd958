package browser

import (
	"bytes"
	"context"
	"image"
	"math"
	"slices"

	"toolsvc/executors/browser/page"
	"toolsvc/executors/browser/vision/pixdiff"
)

// rest is what pictures showed before the dispatch.
type rest struct {
	// before is the picture immediately before it; nil when none was needed.
	before []byte
	// restless is what changes by itself.
	restless []image.Rectangle
	// moved: what was found in an earlier picture is not there any more.
	moved bool
}

// picture takes the picture before the dispatch, where only pictures can show a reaction: on pages with a canvas or a closed widget, for
// targets that were found in a picture, and when the options ask for it. Everywhere else the whole state of the page is in the DOM, in its
// style sheets, fields and media, which are watched without one.
func (a *attempt) picture(ctx context.Context, hover bool) error {
	opaque := a.x.opts.ComparePixels || a.loc != nil && a.loc.canvas
	if a.opaque != nil { // told when the action was armed, a moment ago
		opaque, a.opaque = opaque || *a.opaque, nil
	} else {
		for _, f := range a.tab.Frames() {
			var s page.Surfaces
			if err := f.Eval(ctx, &s, "surfaces"); err == nil && s.Opaque > 0 {
				opaque = true
			}
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
	if a.rest.restless, err = patches(one, two, nil); err != nil {
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
	// The colours of a hovered button change; its letters stay where they are. So where the edges are counts for more than the colours.
	x, y := was.SubImage(r), is.SubImage(r)
	return share(x, y) > 0.5 && math.Abs(edges(x)-edges(y)) > 0.1, nil
}

// share is the share of pixels that differ.
func share(a, b image.Image) float64 {
	n, _ := pixdiff.Diff(a, b, nil)
	return float64(n) / float64(max(1, a.Bounds().Dx()*a.Bounds().Dy()))
}

// edges is the share of pixels that differ from the one before them in their row.
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
	ignore := slices.Clone(a.rest.restless)
	if a.loc != nil && !a.loc.canvas && !a.loc.seen {
		b := a.loc.box
		b.X, b.Y = a.loc.x-(a.loc.fx-b.X), a.loc.y-(a.loc.fy-b.Y)
		ignore = append(ignore, a.pixels(b, focusMargin))
	}
	changed, err := patches(a.rest.before, now, ignore)
	if err != nil {
		return err
	}
	a.facts.Compared = true
	if len(changed) == 0 {
		a.facts.Restless = a.atTarget(a.rest.restless)
		return nil
	}
	again, err := a.tab.Screenshot(ctx, nil) // does it go on by itself?
	if err != nil {
		return err
	}
	moving, err := patches(now, again, ignore)
	if err != nil {
		return err
	}
	// What still changes is a reaction under way, or an animation of the page's own. Unless it is the target that changes, a later picture
	// tells; what rests is a reaction.
	changed = slices.DeleteFunc(changed, func(r image.Rectangle) bool { return slices.Contains(moving, r) })
	if len(changed) == 0 {
		a.rest.restless = append(a.rest.restless, moving...)
		a.facts.Restless = a.atTarget(moving)
		return nil
	}
	n, _, err := pixdiff.DiffPNG(a.rest.before, now, append(ignore, moving...))
	if err != nil {
		return err
	}
	all, err := pixdiff.Decode(now)
	if err != nil {
		return err
	}
	a.facts.Pixels = float64(n) / float64(max(1, all.Bounds().Dx()*all.Bounds().Dy()))
	return nil
}

// atTarget reports whether one of the patches lies at the target.
func (a *attempt) atTarget(rs []image.Rectangle) bool {
	if a.loc == nil {
		return false
	}
	at := image.Pt(int(a.loc.x*a.x.opts.DeviceScaleFactor), int(a.loc.y*a.x.opts.DeviceScaleFactor))
	return slices.ContainsFunc(rs, func(r image.Rectangle) bool { return at.In(r) })
}

// patch is the side of the squares that pictures are compared by, in device pixels.
const patch = 32

// patches lists the squares in which two pictures differ.
func patches(a, b []byte, ignore []image.Rectangle) ([]image.Rectangle, error) {
	if bytes.Equal(a, b) {
		return nil, nil
	}
	was, err := pixdiff.Decode(a)
	if err != nil {
		return nil, err
	}
	is, err := pixdiff.Decode(b)
	if err != nil {
		return nil, err
	}
	n, all := pixdiff.Diff(was, is, ignore)
	if n == 0 {
		return nil, nil
	}
	var out []image.Rectangle
	for y := all.Min.Y / patch * patch; y < all.Max.Y; y += patch {
		for x := all.Min.X / patch * patch; x < all.Max.X; x += patch {
			r := image.Rect(x, y, x+patch, y+patch)
			var skip []image.Rectangle
			for _, i := range ignore {
				if o := i.Intersect(r); !o.Empty() {
					skip = append(skip, o.Sub(r.Min))
				}
			}
			if n, _ := pixdiff.Diff(was.SubImage(r), is.SubImage(r), skip); n > 0 {
				out = append(out, r)
			}
		}
	}
	return out, nil
}
