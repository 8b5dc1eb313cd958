package browser

import (
	"context"
	"sync"
	"time"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// Pictures for people: what the page looked like immediately before an action, with the place where it is aimed, and after it. They prove
// nothing and decide nothing, so a call never fails for want of one: a picture that does not come in time, that cannot be kept, or that
// would show a secret is left out of the evidence.

// How long evidence waits for its picture when everything else is there. Before the dispatch it is little: the call is delayed by it.
const (
	shotBefore = 60 * time.Millisecond
	shotAfter  = 250 * time.Millisecond
)

// keepLimit bounds the keeping of a picture.
const keepLimit = 5 * time.Second

// shots are the pictures of one attempt.
type shots struct {
	taken *shot          // the one that is being taken, for the next look
	wait  sync.WaitGroup // for those that are being kept
	kept  string         // the digest of the latest
}

// shot is a picture that is being taken, with what tells whether the page still looks like it.
type shot struct {
	sent  *page.Shot
	frame []*page.Frame
	stamp []*page.Call
}

// stamp changes with everything that a frame's own record knows to change its looks: the latest change of the DOM that is not noise, the
// latest input, the number of scrolls.
type stamp [3]float64

// shoot starts to take a picture for the next look, where one is wanted: of actions only, and not of an empty tab. It takes three frames of
// the browser's, so it is begun while the attempt waits for the page anyway.
func (a *attempt) shoot(ctx context.Context) {
	a.shots.taken = nil
	if !a.x.opts.Screenshots || a.x.opts.Artifacts == nil || !a.act.acts() && !a.act.travels() || a.fixed {
		return
	}
	if u := a.tab.Main().URL(); u == "" || u == "about:blank" || a.tab.Loading() {
		return
	}
	s := &shot{frame: a.tab.Frames()}
	for _, f := range s.frame {
		s.stamp = append(s.stamp, f.Start(ctx, "stamp"))
	}
	s.sent = a.tab.Shoot()
	a.shots.taken = s
}

// shows reports whether the page still looked like the picture when it was looked at.
func (s *shot) shows(ctx context.Context, o *sight) bool {
	if len(s.frame) != len(o.stamps) {
		return false
	}
	for i, c := range s.stamp {
		var was stamp
		if is, ok := o.stamps[s.frame[i]]; c.Into(ctx, &was) != nil || !ok || is != was {
			return false
		}
	}
	return true
}

// picturedIn waits, bounded, for the picture of a look, and has it kept. nil means that there is none.
func (a *attempt) picturedIn(ctx context.Context, o *sight) *tool.Artifact {
	limit := shotBefore
	if a.settled {
		limit = shotAfter
	} else if !a.resolved {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if a.shots.taken == nil || !a.shots.taken.shows(ctx, o) {
		a.shoot(ctx)
	}
	if a.shots.taken == nil || o.secret {
		return nil
	}
	data, err := a.shots.taken.sent.Wait(ctx)
	a.shots.taken = nil
	if err != nil || len(data) == 0 {
		return nil
	}
	art := &tool.Artifact{Name: "screenshot", MediaType: "image/jpeg", Digest: tool.Digest(data)}
	if !a.settled {
		art.Mark = a.mark()
	}
	if art.Digest != a.shots.kept {
		a.shots.kept = art.Digest
		a.shots.wait.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), keepLimit)
			defer cancel()
			// A picture that could not be kept is shown as gone; the verdict does not need it.
			_, _ = a.x.opts.Artifacts.Put(ctx, art.MediaType, data)
		})
	}
	return art
}

// mark is where the action is aimed, in pixels of the picture; nil when it is aimed at no place on it.
func (a *attempt) mark() *tool.Mark {
	if a.loc == nil {
		return nil
	}
	l, s := a.loc, a.x.opts.DeviceScaleFactor
	x, y := l.x, l.y
	if x == 0 && y == 0 { // no pointer goes there
		if !l.frame.IsMain() {
			return nil
		}
		x, y = l.fx, l.fy
	}
	if x < 0 || y < 0 || x > float64(a.x.opts.Width) || y > float64(a.x.opts.Height) {
		return nil
	}
	m := &tool.Mark{X: x * s, Y: y * s}
	if l.box.W > 0 && l.box.H > 0 {
		m.Left, m.Top, m.Width, m.Height = (x-(l.fx-l.box.X))*s, (y-(l.fy-l.box.Y))*s, l.box.W*s, l.box.H*s
	}
	return m
}
