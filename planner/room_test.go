package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

// Where nothing can be kept, nothing is accepted: Temporal is not even asked. (The Service has no client; asking would panic.)
func TestNothingIsAcceptedWithoutRoom(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	s := &Service{Registry: toolsets.Registry(), Room: func() error { return full }}
	args := json.RawMessage(`{"path":"a.md"}`)
	_, call := s.Call(t.Context(), tool.Request{Tool: "document.read", Arguments: args}, "en")
	_, appended := s.Append(t.Context(), "r_1", []tool.Request{{Tool: "document.read", Arguments: args}}, "")
	for name, err := range map[string]error{"call": call, "start": s.Start(t.Context(), Input{RunID: "r_1"}), "append": appended} {
		if !errors.Is(err, ErrNoRoom) || !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
	}
	res, err := s.Call(t.Context(), tool.Request{Tool: "document.read", Arguments: json.RawMessage(`{}`)}, "en")
	if err != nil || res.Error.Code != tool.MissingFields {
		t.Errorf("a payload that is wrong needs no room to be told so: %+v, %v", res, err)
	}
}

// What is under way when the disk becomes full is waited for as long as somebody may clear it, and no longer; what is known is told as it is.
func TestFilledMeanwhile(t *testing.T) {
	t.Parallel()
	waits := func(ctx context.Context) error { // as Temporal's client does
		<-ctx.Done()
		return client.NewWorkflowUpdateServiceTimeoutOrCanceledError(ctx.Err())
	}
	says := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	full := errors.New("full")
	for name, c := range map[string]struct {
		from, until time.Duration // while it is full
		ask         func(context.Context) error
		leaves      time.Duration // the caller; 0 never
		filled      bool
		within      time.Duration
	}{
		"it becomes full and stays so":       {from: time.Minute, until: time.Hour, ask: waits, filled: true, within: time.Minute + filledGrace + 2*filledEvery},
		"it is full from the beginning":      {until: time.Hour, ask: waits, filled: true, within: filledGrace + 2*filledEvery},
		"it is cleared at once":              {from: time.Second, until: time.Second + filledGrace, ask: waits, leaves: time.Minute, within: time.Minute},
		"the caller leaves before":           {until: time.Hour, ask: waits, leaves: time.Second, within: time.Second},
		"an answer that says no":             {until: time.Hour, ask: says(serviceerror.NewNotFound("x"))},
		"an answer":                          {until: time.Hour, ask: says(nil)},
		"an error that says nothing":         {until: time.Hour, ask: says(fmt.Errorf("x: %w", context.DeadlineExceeded)), filled: true},
		"Temporal cannot write":              {until: time.Hour, ask: says(serviceerror.NewUnavailable("database or disk is full")), filled: true},
		"Temporal is gone, the disk is not":  {from: time.Minute, until: time.Hour, ask: says(serviceerror.NewUnavailable("gone"))},
		"a wait that ends by Temporal's own": {from: time.Hour, until: time.Hour, ask: says(client.NewWorkflowUpdateServiceTimeoutOrCanceledError(context.DeadlineExceeded))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &Service{Filled: func() error {
					if at := time.Since(began); at >= c.from && at < c.until {
						return full
					}
					return nil
				}}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.leaves > 0 {
					time.AfterFunc(c.leaves, cancel)
				}
				err := s.whileRoom(ctx, "r_1", c.ask)
				filled, ok := errors.AsType[*FilledError](err)
				if ok != c.filled || ok && (filled.RunID != "r_1" || !errors.Is(err, full)) {
					t.Errorf("%v", err)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %s, more than %s", took, c.within)
				}
				if !ok && fmt.Sprint(err) != fmt.Sprint(c.ask(ctx)) && c.leaves == 0 {
					t.Errorf("%v was changed", err)
				}
				if errors.Is(explain(err), ErrUnavailable) && c.filled {
					t.Error("it is told as if nothing was accepted")
				}
			})
		})
	}
}
