package devtools

import (
	"sync"

	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// Session is the channel to one target: the browser, a tab, or an out-of-process frame.
type Session struct {
	// ID is "" for the browser itself.
	ID   target.SessionID
	conn *Conn

	mu      sync.Mutex
	handler func(Event)
	unheard []Event
	gone    chan struct{}
	once    sync.Once // closes gone
}

// Event is something that happened in a session's target.
type Event struct {
	Session *Session
	Method  string
	Params  jsonv2.Value
}

// As decodes the event when it is of that kind.
func As[E any](ev Event, kind cdp.Event[E]) (E, bool) {
	var e E
	if ev.Method != kind.Method {
		return e, false
	}
	return e, decode(ev.Params, &e) == nil
}

func newSession(c *Conn, id target.SessionID) *Session {
	return &Session{ID: id, conn: c, gone: make(chan struct{})}
}

// Conn is the connection that the session runs over.
func (s *Session) Conn() *Conn { return s.conn }

// Listen hands all events of the session, past ones first, to the handler, one at a time. The handler must not wait for an answer of
// the browser: it runs on the goroutine that reads them.
func (s *Session) Listen(handler func(Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range s.unheard {
		handler(ev)
	}
	s.unheard, s.handler = nil, handler
}

// Gone is closed when the session has ended.
func (s *Session) Gone() <-chan struct{} { return s.gone }

func (s *Session) hear(ev Event) {
	s.mu.Lock()
	h := s.handler
	if h == nil {
		if len(s.unheard) < maxUnheard {
			s.unheard = append(s.unheard, ev)
		}
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	h(ev)
}

// end and ended take no lock: the connection calls them while it holds its own, and a handler that runs under the session's lock may ask
// the connection something.
func (s *Session) end() { s.once.Do(func() { close(s.gone) }) }

func (s *Session) ended() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}
