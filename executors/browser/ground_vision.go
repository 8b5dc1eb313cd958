package browser

import (
	"context"
	"fmt"
	"time"

	"toolsvc/executors/browser/page"
	"toolsvc/executors/browser/vision"
	"toolsvc/tool"
)

// visionPatience is how long a target may take to appear in the picture.
const visionPatience = 1500 * time.Millisecond

// seeing reports whether pictures can be read here. The answer is kept for a while, because asking may start a program.
func (x *Executor) seeing() bool {
	g := x.opts.Vision
	if g == nil {
		return false
	}
	x.seen.mu.Lock()
	defer x.seen.mu.Unlock()
	if time.Since(x.seen.at) > 30*time.Second {
		x.seen.ok, x.seen.at = g.Available() == nil, time.Now()
	}
	return x.seen.ok
}

// groundVision finds the target in a picture of the viewport.
func (a *attempt) groundVision(ctx context.Context) (*located, error) {
	g, t := a.x.opts.Vision, a.act.target
	if g == nil {
		return nil, tool.Failf(tool.ToolUnavailable, "nothing here can read pictures")
	}
	if err := g.Available(); err != nil {
		return nil, tool.Failf(tool.ToolUnavailable, "pictures cannot be read: %w", err)
	}
	q := vision.Query{Name: str(t.Name), Description: str(t.Description), Within: str(t.Within), Near: str(t.Near), Role: str(t.Role)}
	ctx = vision.WithRun(ctx, a.call.RunID)
	end := time.Now().Add(visionPatience)
	for last := []byte(nil); ; {
		shot, err := a.tab.Screenshot(ctx, nil)
		if err != nil {
			return nil, err
		}
		if string(shot) != string(last) { // the same picture says the same
			last = shot
			cs, err := g.Locate(ctx, vision.Screenshot{PNG: shot, Scale: a.x.opts.DeviceScaleFactor}, q)
			if err != nil {
				return nil, tool.Failf(tool.ToolUnavailable, "the picture of the page could not be read: %w", err)
			}
			if len(cs) > 0 {
				a.shot = shot
				return a.fromPicture(ctx, cs)
			}
		}
		left := time.Until(end)
		if left <= 0 {
			return nil, tool.Failf(tool.TargetNotFound, "The picture of the page does not show %s.", words(t))
		}
		if err := a.awaitChange(ctx, min(left, 200*time.Millisecond)); err != nil {
			return nil, err
		}
	}
}

// fromPicture chooses a candidate, and finds out what element is at its place.
func (a *attempt) fromPicture(ctx context.Context, cs []vision.Candidate) (*located, error) {
	t := a.act.target
	c := cs[0]
	switch {
	case t.Nth != nil:
		if *t.Nth > len(cs) {
			return nil, tool.Failf(tool.TargetNotFound, "The picture shows %q, but not %d of them.", str(t.Name), *t.Nth)
		}
		c = inReadingOrder(cs)[*t.Nth-1]
	case vision.Ambiguous(cs):
		f := tool.Failf(tool.AmbiguousTarget, "The picture shows several things that fit %s equally well.", words(t))
		for i, c := range cs {
			if i == 0 || vision.Ambiguous([]vision.Candidate{cs[0], c}) {
				f.Candidates = append(f.Candidates, tool.Candidate{Name: c.Text, Role: str(t.Role), Within: c.Within, Near: c.Near})
			}
		}
		return nil, f
	}
	x, y := c.Box.Center()
	label := c.Text
	if label == "" {
		label = words(t)
	}
	loc := &located{x: x, y: y, seen: true, box: box{c.Box.X, c.Box.Y, c.Box.W, c.Box.H}, words: fmt.Sprintf("%q, seen at (%.0f, %.0f)", label, x, y)}
	if err := a.descend(ctx, loc, a.tab.Main(), x, y); err != nil {
		return nil, err
	}
	return loc, nil
}

// descend finds the element at a point, into frames.
func (a *attempt) descend(ctx context.Context, loc *located, f *page.Frame, x, y float64) error {
	for range 10 {
		var e *struct {
			ID       int      `json:"id"`
			Frame    bool     `json:"frame"`
			Words    string   `json:"words"`
			Enabled  bool     `json:"enabled"`
			Lacking  []string `json:"lacking"`
			Canvas   bool     `json:"canvas"`
			Editable bool     `json:"editable"`
		}
		if err := f.Eval(ctx, &e, "at", x, y); err != nil {
			return err
		}
		if e == nil {
			return tool.Failf(tool.TargetNotFound, "Nothing is at the place where the picture shows %s.", words(a.act.target))
		}
		loc.frame, loc.id, loc.fx, loc.fy, loc.canvas = f, e.ID, x, y, e.Canvas
		if !e.Frame {
			if !e.Enabled {
				msg := capital(e.Words) + " is disabled"
				for i, l := range e.Lacking {
					msg += map[bool]string{true: ": ", false: "; "}[i == 0] + l
				}
				return tool.Failf(tool.Disabled, "%s.", msg)
			}
			return nil
		}
		child := a.childAt(ctx, f, e.ID)
		if child == nil {
			return nil
		}
		var o *frameOwner
		if err := f.Eval(ctx, &o, "owner", e.ID, 0, 0); err != nil || o == nil {
			return err
		}
		f, x, y = child, x-o.X, y-o.Y
	}
	return nil
}

// childAt is the frame whose element has this number in its parent's world.
func (a *attempt) childAt(ctx context.Context, parent *page.Frame, owner int) *page.Frame {
	for _, f := range a.tab.Frames() {
		if f.Parent() == parent {
			if id, err := f.Owner(ctx); err == nil && id == owner {
				return f
			}
		}
	}
	return nil
}

func inReadingOrder(cs []vision.Candidate) []vision.Candidate {
	out := append([]vision.Candidate(nil), cs...)
	for i := 1; i < len(out); i++ {
		for j := i; j > 0 && before(out[j].Box, out[j-1].Box); j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

// before reports whether a is read before b: above it, or left of it in the same line.
func before(a, b vision.Rect) bool {
	if a.Y+a.H <= b.Y+b.H/2 {
		return true
	}
	if b.Y+b.H <= a.Y+a.H/2 {
		return false
	}
	return a.X < b.X
}
