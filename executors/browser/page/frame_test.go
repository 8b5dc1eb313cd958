package page

import (
	"testing"
	"time"
)

func TestUnrest(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		began []int // when documents began, in milliseconds
		now   int
		want  time.Duration
	}{
		"no document":                   {nil, 100, 0},
		"one document":                  {[]int{0}, 1, 0},
		"one replaced another":          {[]int{0, 100}, 150, 150 * time.Millisecond},
		"that was a while ago":          {[]int{0, 100}, 301, 0},
		"the longest of them counts":    {[]int{0, 400, 500}, 600, 700 * time.Millisecond},
		"what lasted long is its own":   {[]int{0, 2500, 2600}, 2700, 100 * time.Millisecond},
		"replaced after a long while":   {[]int{0, 2500}, 2501, 0},
		"only the latest are looked at": {[]int{0, 1900, 2000, 2100, 2200}, 2250, 150 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var arrivals [4]time.Time
			for _, ms := range c.began {
				arrivals = [...]time.Time{arrivals[1], arrivals[2], arrivals[3], start.Add(time.Duration(ms) * time.Millisecond)}
			}
			if got := unrest(arrivals, start.Add(time.Duration(c.now)*time.Millisecond)); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
