package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// Bounds of scrolling until something appears.
const (
	maxScrolls  = 400
	scrollLimit = 45 * time.Second
	growWait    = 1200 * time.Millisecond // for a list that loads more when its end is reached
	rowWait     = 150 * time.Millisecond  // for the rows of a virtualised list to be drawn
)

// scrolled is what scrolling came to.
type scrolled struct {
	X, Y  float64 // how far
	End   bool
	View  bool // what was scrolled for is in view
	words string
	frame *page.Frame
	box   int // what was scrolled; 0 when an element was brought into view
	from  page.Point
}

// stepped is what the page says of one step.
type stepped struct {
	ID    int     `json:"id"`
	Left  float64 `json:"left"`
	Top   float64 `json:"top"`
	Moved bool    `json:"moved"`
	Start bool    `json:"start"`
	End   bool    `json:"end"`
	Size  float64 `json:"size"` // of what is scrolled, along the direction
	Page  float64 `json:"page"` // of its visible part
	Words string  `json:"words"`
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
}

// scroll scrolls, as the arguments say.
func (a *attempt) scroll(ctx context.Context) error {
	frame, id := a.tab.Main(), 0
	if a.loc != nil {
		frame, id = a.loc.frame, a.loc.id
	}
	w := &a.work.scrolled
	w.frame = frame
	a.sent, a.work.sure = a.tab.Mark(), true
	if a.act.direction == "" && a.act.until == nil {
		return a.intoView(ctx, a.loc)
	}
	dir := a.act.direction
	if dir == "" {
		dir = "down"
	}
	var s stepped
	if err := frame.Eval(ctx, &s, "scrollBox", id, dir, 0); err != nil {
		return err
	}
	w.box, w.words, w.from = s.ID, s.Words, page.Point{X: s.Left, Y: s.Top}
	if a.act.until == nil {
		w.View = true
		amount := float64(a.act.amount)
		if amount == 0 {
			amount = s.Page * 0.85
		}
		a.dispatched = true
		return a.step(ctx, &s, dir, amount)
	}
	return a.scrollUntil(ctx, s, dir)
}

// step scrolls once, by the page's own means and, where that moves nothing, by the mouse wheel.
func (a *attempt) step(ctx context.Context, s *stepped, dir string, amount float64) error {
	w := &a.work.scrolled
	if err := w.frame.Eval(ctx, s, "scrollBox", w.box, dir, amount); err != nil {
		return err
	}
	if !s.Moved && !s.End && w.frame.IsMain() { // something that follows the wheel by itself
		dx, dy := map[string]float64{"left": -amount, "right": amount}[dir], map[string]float64{"up": -amount, "down": amount}[dir]
		if err := a.tab.Wheel(ctx, page.Point{X: s.X, Y: s.Y}, dx, dy); err != nil {
			return err
		}
		if err := w.frame.Eval(ctx, s, "scrollBox", w.box, dir, 0); err != nil {
			return err
		}
	}
	w.X, w.Y, w.End = s.Left-w.from.X, s.Top-w.from.Y, s.End
	return nil
}

// intoView brings an element into view.
func (a *attempt) intoView(ctx context.Context, loc *located) error {
	w := &a.work.scrolled
	var r *struct {
		DX    float64 `json:"dx"`
		DY    float64 `json:"dy"`
		View  bool    `json:"view"`
		Words string  `json:"words"`
	}
	a.dispatched = true
	if err := loc.frame.Eval(ctx, &r, "intoView", loc.id); err != nil {
		return err
	}
	if r == nil {
		return errStale
	}
	for f, p := loc.frame, loc.frame.Parent(); p != nil; f, p = p, p.Parent() { // the frame itself must be in view as well
		id, err := f.Owner(ctx)
		if err != nil {
			return err
		}
		if err := p.Eval(ctx, nil, "intoView", id); err != nil {
			return err
		}
	}
	w.X, w.Y, w.View, w.words = w.X+r.DX, w.Y+r.DY, r.View, r.Words
	return nil
}

// scrollUntil scrolls on until the target appears: from here to the end, then from the beginning to here.
func (a *attempt) scrollUntil(ctx context.Context, s stepped, dir string) error {
	w := &a.work.scrolled
	sought := a.sub(action{kind: kindWait, target: a.act.until})
	stop := time.Now().Add(scrollLimit)
	wrapped, amount := false, float64(a.act.amount)
	for range maxScrolls {
		err := sought.spot(ctx)
		if err == nil {
			return a.intoView(ctx, sought.loc)
		}
		if f := new(tool.Failed); !errors.As(err, &f) || f.Failure != tool.TargetNotFound {
			return dispatchedAs(err, a.dispatched)
		}
		if time.Now().After(stop) {
			break
		}
		if s.End {
			grown, err := a.grows(ctx, &s, dir)
			switch {
			case err != nil:
				return err
			case grown:
				continue
			case wrapped || s.Start:
				return a.notThere(w)
			}
			wrapped = true
			a.dispatched = true
			if err := a.step(ctx, &s, map[string]string{"down": "up", "up": "down", "left": "right", "right": "left"}[dir], 1e9); err != nil {
				return err
			}
			s.End = false
		} else {
			by := amount
			if by == 0 || by > s.Page {
				by = max(s.Page*0.85, 40)
			}
			a.dispatched = true
			if err := a.step(ctx, &s, dir, by); err != nil {
				return err
			}
		}
		if err := a.drawn(ctx); err != nil {
			return err
		}
	}
	return a.notThere(w)
}

func (a *attempt) notThere(w *scrolled) error {
	return &tool.Failed{Failure: tool.TargetNotFound, Dispatched: a.dispatched, Message: fmt.Sprintf("%s did not appear although %s was scrolled to its end.", capital(words(a.act.until)), w.words)}
}

// spot looks for the target once, without waiting.
func (a *attempt) spot(ctx context.Context) error {
	loc, err := a.ground(ctx, tool.SourceCDP)
	if err == nil {
		a.loc = loc
	}
	return err
}

// drawn waits until rows that came into view are drawn.
func (a *attempt) drawn(ctx context.Context) error {
	var rested bool
	err := a.work.scrolled.frame.Eval(ctx, &rested, "drawn", rowWait.Milliseconds())
	if page.Moved(err) && a.tab.Dead() == nil {
		return nil
	}
	return err
}

// grows waits at the end of a list for more of it.
func (a *attempt) grows(ctx context.Context, s *stepped, dir string) (bool, error) {
	size := s.Size
	for end := time.Now().Add(growWait); ; {
		if err := a.work.scrolled.frame.Eval(ctx, s, "scrollBox", a.work.scrolled.box, dir, 0); err != nil {
			return false, err
		}
		if s.Size > size+1 || !s.End {
			return true, nil
		}
		if time.Now().After(end) || a.tab.Busy(a.sent) == 0 && time.Until(end) < growWait*2/3 {
			return false, nil
		}
		if err := a.awaitChange(ctx, 100*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// settleScroll says where scrolling led.
func (a *attempt) settleScroll(ctx context.Context) (tool.Outcome, error) {
	w := a.work.scrolled
	moved := w.X != 0 || w.Y != 0
	if err := a.drawn(ctx); err != nil {
		return tool.Outcome{}, err
	}
	a.fixed, a.facts = true, facts{Delivered: true}
	effect, proof := tool.EffectNone, "It was there already, so nothing was scrolled."
	if moved {
		a.facts.Changes = []string{"scroll"}
		effect, proof = tool.EffectConfirmed, fmt.Sprintf("%s was scrolled by %.0f to the right and %.0f down.", capital(w.words), w.X, w.Y)
	}
	o, err := a.look(ctx, tool.Needs{})
	if err != nil {
		return tool.Outcome{}, err
	}
	return tool.Outcome{Result: &gen.ScrollResult{URL: o.url, Title: o.title, ActedOn: w.words, Changed: moved, ScrolledX: int(w.X), ScrolledY: int(w.Y), AtEnd: w.End, InView: w.View},
		Effect: effect, Proof: proof}, nil
}

// scrollBack undoes a scroll, and says whether it is where it was.
func (a *attempt) scrollBack(ctx context.Context) (tool.Rollback, error) {
	w := a.work.scrolled
	if w.box == 0 {
		return refused("what was scrolled to bring the element into view is not known")
	}
	var back bool
	if err := w.frame.Eval(ctx, &back, "scrollTo", w.box, w.from.X, w.from.Y); err != nil {
		return tool.Rollback{}, err
	}
	if !back {
		return refused("it cannot be scrolled back to where it was")
	}
	return tool.Rollback{Performed: true, RestoredTo: "scrolled back to where it was"}, nil
}
