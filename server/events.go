package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"toolsvc/gen/runs"
	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/store"
)

// Bounds of streams.
const (
	// DefaultMaxStreams is how many streams are open at once when Options say nothing.
	DefaultMaxStreams = 256
	// keepAlive is how often something is written to a stream on which nothing happens: it keeps proxies from closing it, and finds
	// out clients that are gone, and runs that were ended in Temporal.
	keepAlive = 15 * time.Second
	// writeTimeout is how long a client may take to take in one event; one that is slower has to connect again.
	writeTimeout = 30 * time.Second
	// reconnectMS tells browsers how soon to connect again, in milliseconds.
	reconnectMS = 2000
	// eventPage is how many events are read at once.
	eventPage = 200
)

// Events reads the events of runs. store.Store is one.
type Events interface {
	// Watch yields the events of the run with an id above afterID, those that are there and those to come, each once and in order, until
	// ctx ends.
	Watch(ctx context.Context, runID string, afterID int64) iter.Seq2[store.Event, error]
	// Events returns up to limit events of the run with an id above afterID.
	Events(ctx context.Context, runID string, afterID int64, limit int) ([]store.Event, error)
}

var runID = regexp.MustCompile(`^r_[A-Za-z0-9_-]{1,62}$`)

// events answers GET /v1/runs/{run}/events with server-sent events. They are written here and not by Goa, whose own break on newlines in
// data, and send nothing before the first event.
func (s *runService) events(w http.ResponseWriter, r *http.Request) {
	ctx, run := r.Context(), r.PathValue("run")
	note(ctx, slog.String("run_id", clip(run)))
	after, refused := whereFrom(r)
	if !runID.MatchString(run) {
		refused = refuse(ctx, kindInvalidParameter, parameterRules["run"]+" Nothing was done.")
	}
	if refused != nil {
		writeProblem(w, refused)
		return
	}
	over, leave, err := s.join(ctx, run)
	if err != nil {
		writeProblem(w, asRefusal(ctx, err))
		return
	}
	defer leave()
	if over {
		if rest, err := s.watch.Events(ctx, run, after, 1); err == nil && len(rest) == 0 {
			w.WriteHeader(http.StatusNoContent) // which also tells a browser not to connect again
			return
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // or nginx would hold events back
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	defer control.SetWriteDeadline(time.Time{}) //nolint:errcheck // the connection may be gone
	write := func(format string, args ...any) error {
		if err := control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return err
		}
		return control.Flush()
	}
	if err := write("retry: %d\n\n", reconnectMS); err != nil {
		return
	}
	sent := 0
	err = s.follow(ctx, run, after, over, func(e store.Event) error {
		sent++
		return write("id: %d\nevent: %s\ndata: %s\n\n", e.ID, e.Kind, eventData(e))
	}, func() error { return write(": still here\n\n") })
	note(ctx, slog.Int("events", sent))
	if err != nil && ctx.Err() == nil && !errors.Is(err, errStopping) { // the client connects again, and goes on where it was
		s.log.WarnContext(ctx, "a stream of events broke off", "request_id", requestID(ctx), "run_id", run, "error", err)
	}
}

// whereFrom is the id of the last event that the client has: from Last-Event-ID, which a browser sends when it connects again, or else from
// the parameter after.
func whereFrom(r *http.Request) (int64, *refusal) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return 0, refuse(r.Context(), kindInvalidParameter, "Last-Event-ID and after are the id of an event: a number of 0 or more. Nothing was done.")
	}
	return after, nil
}

// Watch streams the events of a run over gRPC.
func (s *runService) Watch(ctx context.Context, p *runs.WatchPayload, stream runs.WatchServerStream) error {
	note(ctx, slog.String("run_id", p.Run))
	over, leave, err := s.join(ctx, p.Run)
	if err != nil {
		return asRefusal(ctx, err)
	}
	defer leave()
	err = s.follow(ctx, p.Run, value(p.After), over, func(e store.Event) error {
		return stream.Send(&runs.Event{ID: e.ID, RunID: p.Run, Type: e.Kind, At: instant(e.At), Data: eventData(e)})
	}, nil)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errStopping):
		return refuse(ctx, kindUnavailable, "toolsvc is stopping. Watch again, after the last event that came.")
	case err != nil:
		return s.refusal(ctx, p.Run, err, "The stream broke off. Watch again, after the last event that came. The log tells more under this request_id.")
	}
	return nil
}

// join takes a place among the streams and reports whether the run is over. Its error is a refusal.
func (s *runService) join(ctx context.Context, run string) (over bool, leave func(), err error) {
	if s.watch == nil {
		return false, nil, refuse(ctx, kindUnknownRun, "Events are not kept by this toolsvc.")
	}
	leave, refused := s.enterStream(ctx)
	if refused != nil {
		return false, nil, refused
	}
	if over, err = s.caller.Ended(ctx, run); err != nil {
		leave()
		return false, nil, s.refusal(ctx, run, err, fault)
	}
	return over, leave, nil
}

// follow sends the events of a run after the given one, until the run is over and all is sent. alive is called now and then while nothing
// happens; it may be nil. The errors are those of send and alive, of the store, and errStopping.
func (s *runService) follow(ctx context.Context, run string, after int64, over bool, send func(store.Event) error, alive func() error) error {
	last := after
	deliver := func(e store.Event) error {
		last = e.ID
		return send(e)
	}
	if !over {
		if err := s.live(ctx, run, after, deliver, alive); err != nil {
			return err
		}
	}
	for { // what is left; nothing more is written
		page, err := s.watch.Events(ctx, run, last, eventPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := deliver(e); err != nil {
				return err
			}
		}
		if len(page) < eventPage {
			return nil
		}
	}
}

// live sends events as they come, and returns nil when the run is over.
func (s *runService) live(ctx context.Context, run string, after int64, send func(store.Event) error, alive func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type item struct {
		event store.Event
		err   error
	}
	coming := make(chan item) // no buffer: what a slow client has not taken stays in the store
	go func() {
		defer close(coming)
		for e, err := range s.watch.Watch(ctx, run, after) {
			select {
			case coming <- item{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	tick := time.NewTicker(s.keepAlive)
	defer tick.Stop()
	for {
		select {
		case it, ok := <-coming:
			switch {
			case !ok:
				return ctx.Err()
			case it.err != nil:
				return it.err
			}
			if err := send(it.event); err != nil {
				return err
			}
			if endsRun(it.event) {
				return nil
			}
		case <-tick.C:
			if alive != nil {
				if err := alive(); err != nil {
					return err
				}
			}
			if over, err := s.caller.Ended(ctx, run); err == nil && over { // somebody ended it in Temporal; without Temporal, the stream waits
				return nil
			}
		case <-s.draining.Done():
			return errStopping
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// endsRun reports whether the event says that its run has ended.
func endsRun(e store.Event) bool {
	if e.Kind != store.KindRun {
		return false
	}
	var change planner.RunChange
	return json.Unmarshal(e.Data, &change) == nil && change.Outcome != planner.OutcomeRunning && change.Outcome != ""
}

// eventData is the data of an event as callers read it. Narration holds its own id, which is not known before it is stored.
func eventData(e store.Event) json.RawMessage {
	if e.Kind != store.KindNarration {
		return e.Data
	}
	var n narration.Event
	if json.Unmarshal(e.Data, &n) != nil {
		return e.Data
	}
	n.ID = e.ID
	return rawJSON(n)
}

// asRefusal is the refusal in err; there is one, except when the client has gone.
func asRefusal(ctx context.Context, err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	return refuse(ctx, kindClientGone, "The client went away.")
}
