package page

import (
	"testing"
	"time"
)

func TestSending(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		request         Request
		sending, failed int
	}{
		{"under way", Request{Method: "POST", Open: true}, 1, 0},
		{"answered", Request{Method: "POST", Open: true, Status: 200}, 0, 0},
		{"refused", Request{Method: "POST", Status: 500}, 0, 1},
		{"without an answer", Request{Method: "PUT", Problem: "net::ERR_CONNECTION_RESET"}, 0, 1},
		{"only reads", Request{Method: "GET", Open: true}, 0, 0},
		{"broken off by the page", Request{Method: "GET", Problem: "net::ERR_ABORTED"}, 0, 0},
		{"not found", Request{Method: "GET", Status: 404}, 0, 1},
		{"a beacon", Request{Method: "POST", Open: true, Type: "ping"}, 0, 0},
		{"a stream", Request{Method: "POST", Open: true, Stream: true}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tab := &Tab{}
			tab.log.init()
			m := tab.mark()
			r := c.request
			r.URL, r.At = "http://h/api", time.Now()
			tab.log.add(&r)
			rs, _ := tab.Caused(m)
			if got, failed := tab.Sending(m), Refused(rs); got != c.sending || failed != c.failed {
				t.Errorf("%d under way and %d refused, wanted %d and %d", got, failed, c.sending, c.failed)
			}
		})
	}
}
