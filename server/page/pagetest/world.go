// Package pagetest is a world for the live page to be tested and pictured in: the real HTTP surface, the real store with its events and
// artifacts, and the real tools' contracts; only the planner behind them is scripted, because real runs need Temporal and a browser of their
// own. The tests of the page, its benchmark and the command that takes the pictures for the documentation use it.
package pagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"toolsvc/gen/toolsets"
	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/server"
	"toolsvc/server/auth"
	"toolsvc/server/page"
	"toolsvc/store"
	"toolsvc/tool"
)

// World is a served page with runs that a test writes.
type World struct {
	// Server is the HTTP surface; its CloseClientConnections cuts all streams.
	Server *httptest.Server
	Store  *store.Store

	mu   sync.Mutex
	runs map[string]*planner.State
	// waits are the questions' runs, answered what came of them.
	answered []Answered
	tell     int
}

// Answered is an answer that was accepted.
type Answered struct {
	Run, Question string
	Answer        json.RawMessage
}

var _ auth.Service = (*World)(nil)

// Start serves the page on loopback, with a store in dir, until Close.
func Start(ctx context.Context, dir string) (*World, error) {
	w := &World{runs: map[string]*planner.State{}}
	var err error
	if w.Store, err = store.Open(ctx, dir, store.Options{}); err != nil {
		return nil, err
	}
	live, err := page.New()
	if err != nil {
		return nil, errors.Join(err, w.Store.Close())
	}
	s, err := server.New(server.Options{Caller: w, Registry: toolsets.Registry(), Events: w.Store, Artifacts: w.Store, Page: live,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, w.Store.Close())
	}
	w.Server = httptest.NewServer(s.HTTPHandler())
	return w, nil
}

// Close ends everything.
func (w *World) Close() error {
	w.Server.CloseClientConnections()
	w.Server.Close()
	return w.Store.Close()
}

// Put makes a run, or replaces it.
func (w *World) Put(st planner.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[st.RunID] = &st
}

// Change changes a run.
func (w *World) Change(run string, f func(*planner.State)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w.runs[run])
}

// Answers are the answers that were accepted so far.
func (w *World) Answers() []Answered {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.answered)
}

// Say appends narration to the events of a run.
func (w *World) Say(ctx context.Context, run string, said ...narration.Event) error {
	events := make([]store.Event, len(said))
	for i, e := range said {
		var err error
		if events[i], err = w.event(store.KindNarration, e, e.At); err != nil {
			return err
		}
	}
	_, err := w.Store.AppendEvents(ctx, run, events)
	return err
}

// Happen appends an event of another kind to a run: of a tool.Result, a tool.Question, a planner.Closing or a planner.RunChange.
func (w *World) Happen(ctx context.Context, run, kind string, data any) error {
	e, err := w.event(kind, data, time.Now())
	if err != nil {
		return err
	}
	_, err = w.Store.AppendEvents(ctx, run, []store.Event{e})
	return err
}

func (w *World) event(kind string, data any, at time.Time) (store.Event, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return store.Event{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell++
	return store.Event{Kind: kind, Key: fmt.Sprintf("e%d", w.tell), Data: text, At: at}, nil
}

// Keep stores a picture and evidence that holds it, and returns the digest of the evidence.
func (w *World) Keep(ctx context.Context, png []byte, mark *tool.Mark) (string, error) {
	digest, err := w.Store.PutArtifact(ctx, "image/png", png)
	if err != nil {
		return "", err
	}
	e := tool.Evidence{Values: map[string]any{}, Artifacts: []tool.Artifact{{Name: "screenshot", MediaType: "image/png", Digest: digest, Mark: mark}}}
	text, _, err := e.Encode()
	if err != nil {
		return "", err
	}
	return w.Store.PutArtifact(ctx, "application/json", text)
}

// State implements auth.Service.
func (w *World) State(_ context.Context, run string) (*planner.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := w.runs[run]
	if st == nil {
		return nil, planner.ErrUnknownRun
	}
	c := *st
	c.Steps, c.Questions = slices.Clone(st.Steps), slices.Clone(st.Questions)
	return &c, nil
}

// Ended implements auth.Service.
func (w *World) Ended(ctx context.Context, run string) (bool, error) {
	st, err := w.State(ctx, run)
	if err != nil {
		return false, err
	}
	return st.Outcome != planner.OutcomeRunning, nil
}

func (w *World) list(limit int, waiting bool) []planner.Summary {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []planner.Summary
	for _, st := range w.runs {
		if !waiting || len(st.Questions) > 0 {
			list = append(list, planner.Summary{RunID: st.RunID, Title: st.Title, Outcome: st.Outcome, Started: st.Began})
		}
	}
	slices.SortFunc(list, func(a, b planner.Summary) int { return b.Started.Compare(a.Started) })
	return list[:min(limit, len(list))]
}

// List implements auth.Service.
func (w *World) List(_ context.Context, limit int) ([]planner.Summary, error) {
	return w.list(limit, false), nil
}

// ListWaiting implements auth.Service.
func (w *World) ListWaiting(_ context.Context, limit int) ([]planner.Summary, error) {
	return w.list(limit, true), nil
}

// Answer implements auth.Service as the planner does: an answer is merged into the payload, which the tool's own decoder judges. An accepted
// one closes the question.
func (w *World) Answer(ctx context.Context, run, question string, answer json.RawMessage, _ string) (*tool.Result, error) {
	st, err := w.State(ctx, run)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(st.Questions, func(q tool.Question) bool { return q.ID == question })
	if i < 0 {
		return nil, planner.ErrQuestionClosed
	}
	q := st.Questions[i]
	res := &tool.Result{CallID: q.CallID, RunID: run, Tool: q.Tool}
	if q.Kind == tool.AskArguments {
		spec := toolsets.Registry().Lookup(q.Tool)
		payload, err := merged(q.PriorInput, answer)
		if err != nil {
			return nil, err
		}
		if _, issues := spec.Decode(payload); len(issues) > 0 {
			res.Status, res.Question, res.RetryHint = tool.StatusNeedsInput, &q, tool.HintArguments(spec, issues, payload)
			res.Error = &tool.Error{Code: tool.InvalidArguments, Message: "The answer is not valid, so the question stays open. " + issues.Error()}
			return res, nil
		}
	}
	return res, w.close(ctx, run, q, answer, "answered")
}

func (w *World) close(ctx context.Context, run string, q tool.Question, answer json.RawMessage, how string) error {
	w.Change(run, func(st *planner.State) {
		st.Questions = slices.DeleteFunc(slices.Clone(st.Questions), func(o tool.Question) bool { return o.ID == q.ID })
		w.answered = append(w.answered, Answered{run, q.ID, answer})
	})
	kind := store.KindQuestion
	if q.Kind == tool.AskApproval {
		kind = store.KindApproval
	}
	return w.Happen(ctx, run, kind, planner.Closing{RunID: run, Question: q, How: how, By: "test", Language: "en"})
}

// merged is RFC 7396 on one level below the top, which is as deep as the questions of the tests go.
func merged(prior, answer json.RawMessage) ([]byte, error) {
	into, patch := map[string]any{}, map[string]any{}
	if len(prior) > 0 {
		if err := json.Unmarshal(prior, &into); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(answer, &patch); err != nil {
		return nil, err
	}
	apply(into, patch)
	return json.Marshal(into)
}

func apply(into, patch map[string]any) {
	for k, v := range patch {
		below, ok := v.(map[string]any)
		old, was := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case ok && was:
			apply(old, below)
		default:
			into[k] = v
		}
	}
}

// Approve implements auth.Service: the digest must be that of the question.
func (w *World) Approve(ctx context.Context, run, approval string, approved bool, digest, _ string) (*tool.Result, error) {
	st, err := w.State(ctx, run)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(st.Questions, func(q tool.Question) bool { return q.ID == approval })
	if i < 0 {
		return nil, planner.ErrQuestionClosed
	}
	q := st.Questions[i]
	if approved && digest != q.Digest {
		return &tool.Result{CallID: q.CallID, RunID: run, Tool: q.Tool, Status: tool.StatusNeedsInput, Question: &q,
			Error: &tool.Error{Code: tool.InvalidArguments, Message: "An approval has to repeat the digest of the question."}}, nil
	}
	answer, err := json.Marshal(map[string]any{"approved": approved, "digest": digest})
	if err != nil {
		return nil, err
	}
	return &tool.Result{CallID: q.CallID, RunID: run, Tool: q.Tool}, w.close(ctx, run, q, answer, "answered")
}

// Pause implements auth.Service.
func (w *World) Pause(_ context.Context, run string) error { return w.pause(run, true) }

// Resume implements auth.Service.
func (w *World) Resume(_ context.Context, run string) error { return w.pause(run, false) }

func (w *World) pause(run string, on bool) error {
	if _, err := w.State(context.Background(), run); err != nil {
		return err
	}
	w.Change(run, func(st *planner.State) { st.Paused = on })
	return nil
}

// CancelCall implements auth.Service: no call here goes on for long.
func (w *World) CancelCall(context.Context, string, string) error { return nil }

// Cancel implements auth.Service.
func (w *World) Cancel(ctx context.Context, run string) error {
	if _, err := w.State(ctx, run); err != nil {
		return err
	}
	return w.End(ctx, run, planner.OutcomeCancelled)
}

// End ends a run.
func (w *World) End(ctx context.Context, run string, how planner.Outcome) error {
	w.Change(run, func(st *planner.State) { st.Outcome = how })
	return w.Happen(ctx, run, store.KindRun, planner.RunChange{RunID: run, Outcome: how})
}

// errNotScripted: the page never does this.
var errNotScripted = errors.New("the live page does not call this")

// Call implements auth.Service.
func (w *World) Call(context.Context, tool.Request, string) (*tool.Result, error) {
	return nil, errNotScripted
}

// PreparePlan implements auth.Service.
func (w *World) PreparePlan(*planner.Plan, []tool.Request, string) (planner.Input, error) {
	return planner.Input{}, errNotScripted
}

// PrepareGoal implements auth.Service.
func (w *World) PrepareGoal(string, string, tool.Policy, string) (planner.Input, error) {
	return planner.Input{}, errNotScripted
}

// Start implements auth.Service.
func (w *World) Start(context.Context, planner.Input) error { return errNotScripted }

// StartOnce implements auth.Service.
func (w *World) StartOnce(context.Context, planner.Input, string, string) (string, error) {
	return "", errNotScripted
}

// Append implements auth.Service.
func (w *World) Append(context.Context, string, []tool.Request, string) ([]string, error) {
	return nil, errNotScripted
}

// Result implements auth.Service.
func (w *World) Result(context.Context, string, string) (*tool.Result, error) {
	return nil, errNotScripted
}
