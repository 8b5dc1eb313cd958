//go:build linux

package supervise

import (
	"encoding/json"
	"net"
	"time"
)

// socketFile is where a supervisor answers, in its directory.
const socketFile = "s"

// request is a question to a supervisor, one for each connection.
type request struct {
	Op string `json:"op"` // wait, end, look, send, settle
	// Scrollback is how many lines above the screen to look at.
	Scrollback int `json:"scrollback,omitempty"`
	// Send is what to send.
	Send *Input `json:"send,omitempty"`
	// Patience is how long to wait, for what.
	Patience *Patience `json:"patience,omitempty"`
}

// response is its answer.
type response struct {
	Problem string   `json:"problem,omitempty"`
	Screen  *Screen  `json:"screen,omitempty"`
	Sent    *Sent    `json:"sent,omitempty"`
	Settled *Settled `json:"settled,omitempty"`
}

// answer answers until the socket is closed.
func (s *supervisor) answer() {
	defer s.awaited.Done()
	for {
		c, err := s.socket.Accept()
		if err != nil {
			return
		}
		s.awaited.Add(1)
		go func() {
			defer s.awaited.Done()
			defer c.Close() //nolint:errcheck // the other side has its answer, or has gone
			s.respond(c)
		}()
	}
}

// requestLimit bounds the reading of a question and the writing of an answer.
const requestLimit = 5 * time.Second

func (s *supervisor) respond(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(requestLimit))
	var q request
	if err := json.NewDecoder(c).Decode(&q); err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{})
	gone := make(chan struct{}) // the asker has gone
	go func() {
		defer close(gone)
		_, _ = c.Read(make([]byte, 1)) // nothing more is sent; it returns when the connection ends
	}()
	var a response
	switch q.Op {
	case "wait":
	case "end":
		select {
		case s.end <- EndedRequest:
		default: // it is ending already
		}
	default:
		if s.session == nil {
			a.Problem = "this is no session"
			break
		}
		a = s.session.respond(q, gone, s.over)
	}
	if q.Op == "wait" || q.Op == "end" {
		select {
		case <-s.over:
		case <-gone:
			return
		}
	}
	_ = c.SetWriteDeadline(time.Now().Add(requestLimit))
	_ = json.NewEncoder(c).Encode(a) // the asker may have gone
}
