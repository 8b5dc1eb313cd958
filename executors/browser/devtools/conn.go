package devtools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
)

// Limit bounds every wait for an answer whose context has no deadline.
const Limit = 30 * time.Second

// maxUnheard bounds the events that a session keeps until someone listens.
const maxUnheard = 10_000

var (
	// ErrDetached: the session's tab or frame was closed, crashed, or moved to another process.
	ErrDetached = errors.New("the tab or frame is gone")
	// ErrLost: the browser ended, or the connection to it broke.
	ErrLost = errors.New("the connection to the browser is lost")
)

// Conn is a connection to a browser. It is safe for concurrent use.
type Conn struct {
	ws     *remote.Conn
	writes sync.Mutex // keeps the order of ids and of messages the same

	mu       sync.Mutex
	next     int64
	pending  map[int64]*reply
	sessions map[target.SessionID]*Session
	lost     chan struct{}
	lostWhy  error
	trace    func(Exchange)
}

// Exchange is a command and its answer, as [Conn.Trace] tells of it.
type Exchange struct {
	Method string
	Params []byte // JSON
	// Sent and Answered are when it was written and when its answer was read.
	Sent, Answered time.Time
}

// Trace has f told of every command that is answered from now on, until it is given nil; for measurements. f must not wait, nor ask the
// connection anything.
func (c *Conn) Trace(f func(Exchange)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace = f
}

// reply is the answer that a command waits for.
type reply struct {
	session target.SessionID
	done    chan struct{}
	msg     *cdproto.Message
	err     error
	sent    Exchange // filled in only while traced
}

// Dial connects to the browser's own endpoint, ws://127.0.0.1:PORT/devtools/browser/ID.
func Dial(ctx context.Context, url string) (*Conn, error) {
	ws, err := remote.DialContext(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("connect to the browser at %s: %w", url, err)
	}
	c := &Conn{ws: ws, pending: map[int64]*reply{}, sessions: map[target.SessionID]*Session{}, lost: make(chan struct{})}
	c.sessions[""] = newSession(c, "")
	go c.read()
	return c, nil
}

// Browser is the session of the browser itself.
func (c *Conn) Browser() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[""]
}

// Session returns the session of an attached target, nil when there is none.
func (c *Conn) Session(id target.SessionID) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

// Attach opens a session with a tab.
func (c *Conn) Attach(ctx context.Context, id target.ID) (*Session, error) {
	flat := true
	r, err := Call(ctx, c.Browser(), target.AttachToTarget, target.AttachToTargetParams{TargetID: id, Flatten: &flat})
	if err != nil {
		return nil, fmt.Errorf("attach to tab %s: %w", id, err)
	}
	if s := c.Session(r.SessionID); s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("attach to tab %s: %w", id, ErrDetached)
}

// Lost is closed when the connection has ended.
func (c *Conn) Lost() <-chan struct{} { return c.lost }

// Close ends the connection. The browser goes on.
func (c *Conn) Close() error {
	c.end(fmt.Errorf("%w: it was closed", ErrLost))
	return c.ws.Close()
}

// end fails everything that waits.
func (c *Conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lostWhy != nil {
		return
	}
	c.lostWhy = why
	for id, r := range c.pending {
		r.err = why
		close(r.done)
		delete(c.pending, id)
	}
	for _, s := range c.sessions {
		s.end()
	}
	close(c.lost)
}

// read takes messages off the wire until it ends.
func (c *Conn) read() {
	for {
		msg := new(cdproto.Message)
		if err := c.ws.Read(context.Background(), msg); err != nil {
			c.end(fmt.Errorf("%w: %v", ErrLost, err))
			return
		}
		if msg.ID != 0 {
			c.answer(msg)
		} else {
			c.event(msg)
		}
	}
}

func (c *Conn) answer(msg *cdproto.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.pending[msg.ID]; r != nil {
		r.msg = msg
		close(r.done)
		delete(c.pending, msg.ID)
		if c.trace != nil && r.sent.Method != "" {
			r.sent.Answered = time.Now()
			c.trace(r.sent)
		}
	}
}

func (c *Conn) event(msg *cdproto.Message) {
	switch string(msg.Method) {
	case target.AttachedToTarget.Method:
		var e target.EventAttachedToTarget
		if decode(msg.Params, &e) == nil {
			c.mu.Lock()
			if c.sessions[e.SessionID] == nil {
				c.sessions[e.SessionID] = newSession(c, e.SessionID)
			}
			c.mu.Unlock()
		}
	case target.DetachedFromTarget.Method:
		var e target.EventDetachedFromTarget
		if decode(msg.Params, &e) == nil {
			c.detach(e.SessionID)
		}
	}
	if s := c.Session(msg.SessionID); s != nil {
		s.hear(Event{Session: s, Method: string(msg.Method), Params: msg.Params})
	}
}

// Drop gives a session up whose target has crashed: it would never answer. Everything that waits for it fails with [ErrDetached].
func (c *Conn) Drop(s *Session) { c.detach(s.ID) }

// detach fails what still waits for an answer of the session.
func (c *Conn) detach(id target.SessionID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return
	}
	delete(c.sessions, id)
	for n, r := range c.pending {
		if r.session == id {
			r.err = ErrDetached
			close(r.done)
			delete(c.pending, n)
		}
	}
	s.end()
}

// send writes a command, and returns what its answer will be put into.
func (c *Conn) send(s *Session, method string, params any) *reply {
	r := &reply{session: s.ID, done: make(chan struct{})}
	fail := func(err error) *reply {
		r.err = err
		close(r.done)
		return r
	}
	text, err := jsonv2.Marshal(params, chromedp.DefaultMarshalOptions)
	if err != nil {
		return fail(fmt.Errorf("encode %s: %w", method, err))
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	c.mu.Lock()
	switch {
	case c.lostWhy != nil:
		c.mu.Unlock()
		return fail(c.lostWhy)
	case s.ended():
		c.mu.Unlock()
		return fail(ErrDetached)
	}
	c.next++
	id := c.next
	c.pending[id] = r
	if c.trace != nil {
		r.sent = Exchange{Method: method, Params: text, Sent: time.Now()}
	}
	c.mu.Unlock()
	if err := c.ws.Write(context.Background(), &cdproto.Message{ID: id, SessionID: s.ID, Method: cdproto.MethodType(method), Params: text}); err != nil {
		c.end(fmt.Errorf("%w: %v", ErrLost, err))
	}
	return r
}

// forget drops a command whose answer nobody wants any more.
func (c *Conn) forget(r *reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, p := range c.pending {
		if p == r {
			delete(c.pending, id)
			return
		}
	}
}

// Pending is a command that was sent.
type Pending[R any] struct {
	s      *Session
	method string
	reply  *reply
}

// Start sends the command without waiting for its answer, so that several travel together.
func Start[P, R any](s *Session, cmd cdp.Command[P, R], params P) *Pending[R] {
	return &Pending[R]{s: s, method: cmd.Method, reply: s.conn.send(s, cmd.Method, params)}
}

// Wait waits for the answer. The browser's own refusal is a *cdproto.Error.
func (p *Pending[R]) Wait(ctx context.Context) (R, error) {
	var res R
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, Limit)
		defer cancel()
	}
	select {
	case <-p.reply.done:
	case <-ctx.Done():
		p.s.conn.forget(p.reply)
		return res, fmt.Errorf("%s: no answer from the browser: %w", p.method, ctx.Err())
	}
	switch {
	case p.reply.err != nil:
		return res, fmt.Errorf("%s: %w", p.method, p.reply.err)
	case p.reply.msg.Error != nil:
		return res, fmt.Errorf("%s: %w", p.method, p.reply.msg.Error)
	}
	if err := decode(p.reply.msg.Result, &res); err != nil {
		return res, fmt.Errorf("%s: decode the answer: %w", p.method, err)
	}
	return res, nil
}

// Call sends the command and waits for its answer.
func Call[P, R any](ctx context.Context, s *Session, cmd cdp.Command[P, R], params P) (R, error) {
	return Start(s, cmd, params).Wait(ctx)
}

func decode(text jsonv2.Value, into any) error {
	if len(text) == 0 {
		return nil
	}
	return jsonv2.Unmarshal(text, into, chromedp.DefaultUnmarshalOptions)
}
