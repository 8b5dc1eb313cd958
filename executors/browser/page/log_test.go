package page

import (
	"strings"
	"time"
)

// logged puts requests into a log, and returns how many count as caused.
func logged(before, after []string, old bool) (int, bool) {
	t := &Tab{}
	t.log.init()
	now := time.Now()
	t.log.arrived = now
	if old {
		t.log.arrived = now.Add(-time.Minute / 2)
	}
	add := func(list []string) {
		for _, s := range list {
			method, url, _ := strings.Cut(s, " ")
			t.log.add(&Request{Method: method, URL: "http://h" + url, At: now})
		}
	}
	add(before)
	m := t.mark()
	add(after)
	rs, sure := t.caused(m)
	return len(rs), sure
}
