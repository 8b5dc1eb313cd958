package planner

import (
	"context"
	"errors"
	"testing"
	"time"

	"toolsvc/tool"
)

// What a stopped worker leaves of an attempt: what is over counts, what was taken back is made again later, everything else is looked at.
func TestGivenBack(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancelCause(context.Background())
	cancel(errHandedOver)
	cancelled, stop := context.WithCancel(context.Background())
	stop()
	cut := Report{Record: tool.AttemptRecord{Phase: tool.PhaseDispatched, Effect: tool.EffectUnknown, Failure: tool.Cancelled}}
	early := Report{Record: tool.AttemptRecord{Phase: tool.PhaseResolved, Effect: tool.EffectNone, Failure: tool.Cancelled}}
	undone := cut
	undone.Record.RolledBack = true
	done := Report{Record: tool.AttemptRecord{Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed}}
	failed := Report{Record: tool.AttemptRecord{Phase: tool.PhaseResolved, Effect: tool.EffectNone, Failure: tool.TargetNotFound}}
	for name, c := range map[string]struct {
		ctx     context.Context
		rep     Report
		failure tool.Failure
		looked  bool
	}{
		"it goes on":                          {context.Background(), done, "", false},
		"it was over":                         {over, done, "", false},
		"it had failed by itself":             {over, failed, tool.TargetNotFound, false},
		"cut off after its dispatch":          {over, cut, "", true},
		"cut off before it":                   {over, early, "", true},
		"taken back":                          {over, undone, tool.ToolUnavailable, false},
		"cancelled by its run, not by a stop": {cancelled, cut, tool.Cancelled, false},
	} {
		rep, err := givenBack(c.ctx, c.rep)
		if errors.Is(err, errHandedOver) != c.looked || err == nil && rep.Record.Failure != c.failure {
			t.Errorf("%s: %+v, %v", name, rep.Record, err)
		}
	}
	rep, _ := givenBack(over, undone)
	d := Decide(Situation{Class: tool.Reversible, Sources: []tool.Source{tool.SourceSystem}, Attempts: []tool.AttemptRecord{rep.Record}, Healing: true,
		RetryAfter: time.Duration(rep.RetryAfterMS) * time.Millisecond, WaitLeft: time.Minute})
	if d.Action != ActionWait {
		t.Errorf("what was taken back is followed by %+v", d)
	}
}

func TestHandOverEndsAttempts(t *testing.T) {
	t.Parallel()
	a := &Activities{}
	before, cancel := a.handover.until(t.Context())
	defer cancel()
	if before.Err() != nil {
		t.Fatal("it ended too early")
	}
	a.HandOver()
	a.HandOver()
	<-before.Done()
	after, cancel := a.handover.until(t.Context())
	defer cancel()
	<-after.Done()
	if !errors.Is(context.Cause(before), errHandedOver) || !errors.Is(context.Cause(after), errHandedOver) {
		t.Error(context.Cause(before), context.Cause(after))
	}
}
