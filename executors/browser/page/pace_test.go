package page

import (
	"testing"
	"time"
)

func TestUnrest(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	for name, c := range map[string]struct {
		asked, began []int // when documents were asked for, and when they began, in milliseconds
		underWay     int   // since when a navigation is, 0 while none is
		now          int
		want         time.Duration
	}{
		"no document":                         {nil, nil, 0, 100, 0},
		"one document":                        {[]int{0}, []int{10}, 0, 11, 0},
		"one replaced another":                {nil, []int{0, 100}, 0, 150, 550 * time.Millisecond},
		"that was a while ago":                {nil, []int{0, 100}, 0, 701, 0},
		"the longest of them counts":          {nil, []int{0, 400, 500}, 0, 600, 700 * time.Millisecond},
		"what lasted long is its own":         {nil, []int{0, 2500, 2600}, 0, 2700, 500 * time.Millisecond},
		"replaced after a long while":         {nil, []int{0, 2500}, 0, 2501, 0},
		"only the latest are looked at":       {nil, []int{0, 1900, 2000, 2100, 2200}, 0, 2250, 550 * time.Millisecond},
		"asked for twice, arrived once":       {[]int{0, 0}, []int{30}, 0, 130, 500 * time.Millisecond},
		"asked for once more since":           {[]int{0, 200}, []int{30}, 0, 250, 550 * time.Millisecond},
		"asked for again after a long while":  {[]int{0, 3000}, []int{30, 3030}, 0, 3040, 0},
		"the next one is under way":           {[]int{3000}, []int{30}, 3001, 3002, underWayAgain},
		"the next one does not come":          {[]int{3000}, []int{30}, 3001, 6001, 0},
		"under way again and again":           {[]int{100, 400}, []int{30}, 401, 900, underWayAgain},
		"asked for twice, neither of it came": {[]int{100, 400}, []int{30}, 0, 900, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p pace
			for _, ms := range c.asked {
				p.ask(at(ms))
			}
			for _, ms := range c.began {
				p.arrive("http://127.0.0.1/in", at(ms))
			}
			if c.underWay > 0 {
				p.underWay = at(c.underWay)
			}
			if got := p.unrest(at(c.now)); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestEmptyDocumentsAreNoArrivals(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := pace{underWay: now}
	for range 3 {
		p.arrive("about:blank", now)
	}
	if got := p.unrest(now); got != 0 {
		t.Errorf("%v, want none", got)
	}
}
