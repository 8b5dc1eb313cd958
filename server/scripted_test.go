package server

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"toolsvc/planner"
	"toolsvc/server/auth"
	"toolsvc/store"
	"toolsvc/tool"
)

// scripted stands for the planner: what a test does not script is an error.
type scripted struct {
	call        func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error)
	prepare     *planner.Service
	start       func(ctx context.Context, in planner.Input) error
	startOnce   func(ctx context.Context, in planner.Input, key, digest string) (string, error)
	state       func(ctx context.Context, run string) (*planner.State, error)
	ended       func(ctx context.Context, run string) (bool, error)
	list        func(ctx context.Context, limit int, waiting bool) ([]planner.Summary, error)
	appendCalls func(ctx context.Context, run string, reqs []tool.Request, key string) ([]string, error)
	result      func(ctx context.Context, run, call string) (*tool.Result, error)
	answer      func(ctx context.Context, run, question string, answer json.RawMessage, by string) (*tool.Result, error)
	approve     func(ctx context.Context, run, approval string, approved bool, digest, by string) (*tool.Result, error)
	control     func(ctx context.Context, what, run string) error
}

var _ auth.Service = (*scripted)(nil)

var errNotScripted = errors.New("the test does not script this")

func (s *scripted) Call(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
	if s.call == nil {
		return nil, errNotScripted
	}
	return s.call(ctx, req, lang)
}

func (s *scripted) PreparePlan(p *planner.Plan, reqs []tool.Request, lang string) (planner.Input, error) {
	if s.prepare == nil {
		return planner.Input{}, errNotScripted
	}
	return s.prepare.PreparePlan(p, reqs, lang)
}

func (s *scripted) PrepareGoal(goal, instructions string, p tool.Policy, lang string) (planner.Input, error) {
	return (&planner.Service{}).PrepareGoal(goal, instructions, p, lang)
}

func (s *scripted) Start(ctx context.Context, in planner.Input) error {
	if s.start == nil {
		return errNotScripted
	}
	return s.start(ctx, in)
}

func (s *scripted) StartOnce(ctx context.Context, in planner.Input, key, digest string) (string, error) {
	if s.startOnce == nil {
		return in.RunID, s.Start(ctx, in)
	}
	return s.startOnce(ctx, in, key, digest)
}

func (s *scripted) State(ctx context.Context, run string) (*planner.State, error) {
	if s.state == nil {
		return nil, errNotScripted
	}
	return s.state(ctx, run)
}

func (s *scripted) Ended(ctx context.Context, run string) (bool, error) {
	if s.ended == nil {
		return false, planner.ErrUnknownRun
	}
	return s.ended(ctx, run)
}

func (s *scripted) List(ctx context.Context, limit int) ([]planner.Summary, error) {
	if s.list == nil {
		return nil, errNotScripted
	}
	return s.list(ctx, limit, false)
}

func (s *scripted) ListWaiting(ctx context.Context, limit int) ([]planner.Summary, error) {
	if s.list == nil {
		return nil, errNotScripted
	}
	return s.list(ctx, limit, true)
}

func (s *scripted) Append(ctx context.Context, run string, reqs []tool.Request, key string) ([]string, error) {
	if s.appendCalls == nil {
		return nil, errNotScripted
	}
	return s.appendCalls(ctx, run, reqs, key)
}

func (s *scripted) Result(ctx context.Context, run, call string) (*tool.Result, error) {
	if s.result == nil {
		return nil, errNotScripted
	}
	return s.result(ctx, run, call)
}

func (s *scripted) Answer(ctx context.Context, run, question string, answer json.RawMessage, by string) (*tool.Result, error) {
	if s.answer == nil {
		return nil, errNotScripted
	}
	return s.answer(ctx, run, question, answer, by)
}

func (s *scripted) Approve(ctx context.Context, run, approval string, approved bool, digest, by string) (*tool.Result, error) {
	if s.approve == nil {
		return nil, errNotScripted
	}
	return s.approve(ctx, run, approval, approved, digest, by)
}

func (s *scripted) Pause(ctx context.Context, run string) error {
	return s.controlled(ctx, "pause", run)
}
func (s *scripted) Resume(ctx context.Context, run string) error {
	return s.controlled(ctx, "resume", run)
}
func (*scripted) CancelCall(context.Context, string, string) error { return nil }

func (s *scripted) Cancel(ctx context.Context, run string) error {
	return s.controlled(ctx, "cancel", run)
}

func (s *scripted) controlled(ctx context.Context, what, run string) error {
	if s.control == nil {
		return errNotScripted
	}
	return s.control(ctx, what, run)
}

// openStore is a real store, with one run of events in it.
func openStore(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// counted counts how many watchers there are.
type counted struct {
	*store.Store
	mu   sync.Mutex
	open int
}

func (c *counted) Watch(ctx context.Context, run string, after int64) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		c.add(1)
		defer c.add(-1)
		c.Store.Watch(ctx, run, after)(yield)
	}
}

func (c *counted) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

var someTime = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)
