package page

import "time"

const (
	// restlessFor is how close together two documents of a frame began, or were asked for, for it to count as one that is being loaded
	// again and again.
	restlessFor = 2 * time.Second
	// restAtLeast is how long such a frame must have kept its document. A busy machine tells of several loads in one go, so that they
	// look closer together than they are.
	restAtLeast = 600 * time.Millisecond
	// underWayLimit bounds how long a navigation may be under way for the old document to count as one that is about to go: a server
	// may never answer.
	underWayLimit = 3 * time.Second
	// underWayAgain is when to look again whether it has arrived.
	underWayAgain = 20 * time.Millisecond
)

// pace is how often a frame's document is replaced. A navigation is told of three times: when it is asked for, when it begins, and when its
// document arrives. One that is replaced by the next before it arrived is only told of the first two times.
type pace struct {
	arrivals [4]time.Time // when the latest documents began, the latest last
	asks     [2]time.Time // when the page latest asked for another one
	underWay time.Time    // since when a navigation is; zero while none is
}

// arrive takes note of a new document. Those that hold no page of their own do not count.
func (p *pace) arrive(url string, now time.Time) {
	p.underWay = time.Time{}
	if url != "about:blank" && url != "about:srcdoc" {
		p.arrivals = [...]time.Time{p.arrivals[1], p.arrivals[2], p.arrivals[3], now}
	}
}

// ask takes note of a request for a new document.
func (p *pace) ask(now time.Time) { p.asks = [...]time.Time{p.asks[1], now} }

// unrest is how long it is until the document can be taken to stay. A frame that is loaded again and again must keep it for twice the
// longest that one of the latest documents lasted: a page that loads a frame by the clock does so now a little earlier, now a little later.
func (p pace) unrest(now time.Time) time.Duration {
	if !p.underWay.IsZero() && now.Sub(p.underWay) < underWayLimit {
		return underWayAgain
	}
	var longest time.Duration
	restless := !p.asks[0].IsZero() && p.asks[1].Sub(p.asks[0]) <= restlessFor
	for i := len(p.arrivals) - 1; i > 0 && !p.arrivals[i-1].IsZero(); i-- {
		lasted := p.arrivals[i].Sub(p.arrivals[i-1])
		if lasted > restlessFor {
			break
		}
		restless, longest = true, max(longest, lasted)
	}
	if !restless {
		return 0
	}
	latest := p.arrivals[len(p.arrivals)-1]
	if p.asks[1].After(latest) {
		latest = p.asks[1]
	}
	return max(0, max(restAtLeast, 2*longest)-now.Sub(latest))
}
