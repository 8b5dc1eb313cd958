package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"toolsvc/gemini"
	"toolsvc/store"
	"toolsvc/tool"
	"toolsvc/verification"
)

// Patience with an action that is under way but not yet verified: fresh evidence is taken again until the verdict is success or this
// much time has passed since the action settled.
const (
	patience      = 2500 * time.Millisecond
	patienceFirst = 25 * time.Millisecond // the first wait between two looks; each next one is twice as long
	patienceMax   = 250 * time.Millisecond
)

// rollbackLimit and closeLimit bound what is done after an attempt's own time has run out.
const rollbackLimit = 10 * time.Second

// Journal keeps the write-ahead records of dispatches.
type Journal interface {
	// MarkDispatch returns only when the record would survive a crash of process and machine.
	MarkDispatch(ctx context.Context, m store.Mark) error
	// Dispatch returns the record of the attempt, if there is one.
	Dispatch(ctx context.Context, callID string, attempt int) (store.Mark, bool, error)
}

// Artifacts keeps evidence by content digest.
type Artifacts interface {
	PutArtifact(ctx context.Context, mediaType string, data []byte) (digest string, err error)
	Artifact(ctx context.Context, digest string) (mediaType string, data []byte, err error)
}

// attempter makes attempts: the one place that knows the order of things, for every executor.
type attempter struct {
	journal   Journal
	artifacts Artifacts
	// documents answers conditions that name files; nil without a workspace.
	documents Documents
	// verifier is the model that is asked where conditions do not decide; nil without one.
	verifier Verifier
	// progress is told when the attempt turns to verifying.
	progress func(ctx context.Context)
}

// attempt makes one attempt at the call: resolve, look, record, dispatch, settle, look again, judge, and roll back where that is due.
// It never returns an error: whatever happens is in the report.
func (a *attempter) attempt(ctx context.Context, exec tool.Executor, call *tool.Call, conds *verification.Conditions, in AttemptInput) (rep Report) {
	start, class, plan := time.Now(), in.Step.Class, in.Plan
	rep = begun(in)
	defer func() { rep.Record.DurationMS = time.Since(start).Milliseconds() }()

	limited, cancel := context.WithTimeout(ctx, call.Spec.TimeLimit)
	defer cancel()
	var att tool.Attempt
	err := acting(limited, call, "begin", func(ctx context.Context) (err error) {
		att, err = exec.Begin(ctx, call, plan)
		return err
	})
	if err != nil {
		return rep.failed(limited, err)
	}
	defer func() {
		if err := att.Close(); err != nil && rep.Error == nil && rep.Record.Failure != "" {
			rep.Error = tool.ErrorFrom(err)
		}
		rep = rep.conceal(att, call.Raw)
	}()

	if conds.HasPreconditions() {
		now, err := a.observe(limited, att, conds.Needs())
		if err != nil {
			return rep.failed(limited, err)
		}
		if v := conds.CheckPreconditions(now); v.Verdict != tool.VerdictSuccess {
			rep.Verification = &v
			return rep.failed(limited, tool.Failf(tool.PreconditionFailed, "nothing was done: %s", v.Explanation))
		}
	}
	if err := acting(limited, call, "resolve", att.Resolve); err != nil {
		return rep.failed(limited, err)
	}
	rep.Record.Phase = tool.PhaseResolved
	before, err := a.observe(limited, att, conds.Needs())
	if err != nil {
		return rep.failed(limited, err)
	}
	beforeText, beforeDigest, err := a.keep(limited, before)
	if err != nil {
		return rep.failed(limited, err)
	}
	if class != tool.ReadOnly {
		err := a.journal.MarkDispatch(limited, store.Mark{RunID: call.RunID, CallID: call.ID, Attempt: in.dispatch(), At: time.Now(), Evidence: beforeText})
		again := errors.Is(err, store.ErrMarked) && class.Repeatable() // an attempt that was lost, and may be made again
		if err != nil && !again {
			return rep.failed(limited, fmt.Errorf("record the dispatch before it is made: %w", err))
		}
	}

	var picture *gemini.Picture
	if a.verifier != nil && in.Verify == tool.VerifyAlways && class != tool.ReadOnly {
		picture = pictureOf(limited, att)
	}
	rep.Record.Phase = tool.PhaseDispatched
	if class != tool.ReadOnly {
		rep.Record.Effect = tool.EffectUnknown
	}
	if err := acting(limited, call, "dispatch", att.Dispatch); err != nil {
		if f := new(tool.Failed); errors.As(err, &f) && !f.Dispatched { // the executor's word that nothing was sent
			rep.Record.Phase, rep.Record.Effect = tool.PhaseResolved, tool.EffectNone
		}
		return a.abandon(ctx, att, class, rep.failed(limited, err))
	}
	var out tool.Outcome
	err = acting(limited, call, "settle", func(ctx context.Context) (err error) {
		out, err = att.Settle(ctx)
		return err
	})
	if err != nil {
		return a.abandon(ctx, att, class, rep.failed(limited, err))
	}
	rep.Record.Phase = tool.PhaseSettled
	if a.progress != nil {
		a.progress(limited)
	}
	_ = acting(limited, call, "verify", func(limited context.Context) error { // what it comes to is in the report
		rep = a.verify(ctx, limited, att, call, conds, in, rep, before, beforeDigest, picture, out)
		return nil
	})
	return rep
}

// abandon ends an attempt that failed after its dispatch: what it left is taken back where that can be done without knowing more, also when
// its run was cancelled.
func (a *attempter) abandon(ctx context.Context, att tool.Attempt, class tool.EffectClass, rep Report) Report {
	tx, ok := att.(tool.Transactional)
	if ok && tx.RollbackAfterError() && rep.Record.Phase.Dispatched() && class == tool.Reversible {
		a.rollBack(context.WithoutCancel(ctx), att, &rep, tool.Verification{})
	}
	return rep
}

// verify judges fresh evidence, patiently, and rolls back a proven failure. limited bounds the looking; ctx lets a rollback happen
// although the attempt's own time is over.
func (a *attempter) verify(ctx, limited context.Context, att tool.Attempt, call *tool.Call, conds *verification.Conditions, in AttemptInput,
	rep Report, before *tool.Evidence, beforeDigest string, picture *gemini.Picture, out tool.Outcome) Report {
	class := in.Step.Class
	rep.Record.Effect, rep.Proof = out.Effect, out.Proof
	var result json.RawMessage
	if out.Result != nil {
		text, err := call.Spec.EncodeResult(out.Result)
		if err != nil {
			return rep.failed(limited, &tool.Failed{Failure: tool.MalformedResponse, Dispatched: true, Cause: err,
				Message: fmt.Sprintf("the result of %s breaks its own contract: %v", call.Spec.ID, err)})
		}
		result = text
	}
	var after *tool.Evidence
	var v tool.Verification
	deadline := time.Now().Add(patience)
	for wait := patienceFirst; ; wait = min(2*wait, patienceMax) {
		var err error
		if after, err = a.observe(limited, att, conds.Needs()); err != nil {
			return rep.failed(limited, err)
		}
		v = conds.Judge(before, after, result)
		if out.Final || !worthWaiting(class, v.Verdict, out.Effect) || time.Now().After(deadline) || !pause(limited, wait) {
			break
		}
	}
	_, afterDigest, err := a.keep(limited, after)
	if err != nil {
		return rep.failed(limited, err)
	}
	v = concealed(v, tool.At(call.Raw, secretsOf(att))) // a model is not told
	v, rep.Usage = a.opine(limited, att, call, in, v, before, after, picture)
	v.Evidence = tool.EvidenceRefs{Before: beforeDigest, After: afterDigest}
	rep.Verification = &v
	rep.Record.Failure = classify(class, v.Verdict, out.Effect)
	verdict := v.Verdict
	if rep.Record.Failure == tool.NoEffect { // proof that nothing came of it refutes what it was aimed at, whatever the conditions leave open
		verdict = tool.VerdictFailure
	}
	learnt := learn(ctx, att, verdict)
	if rep.Record.Failure == "" {
		rep.Result, rep.Record.Message = result, learnt
		return rep
	}
	rep.Record.Message = v.Explanation
	switch {
	case rep.Record.Failure == tool.NoEffect:
		rep.Record.Message = "The action had no effect: " + out.Proof
	case out.Proof != "" && !strings.Contains(v.Explanation, out.Proof):
		rep.Record.Message += " " + out.Proof // what is known of it besides: the end of a command's errors, say
	}
	if learnt != "" {
		rep.Record.Message += " " + learnt
	}
	rep.Error = tool.NewError(rep.Record.Failure, rep.Record.Message)
	if worthRollingBack(class, v.Verdict, out.Effect) {
		a.rollBack(ctx, att, &rep, v)
	}
	return rep
}

// observe collects evidence, with the files that conditions name where the executor does not know of files.
func (a *attempter) observe(ctx context.Context, att tool.Attempt, needs tool.Needs) (*tool.Evidence, error) {
	e, err := att.Observe(ctx, needs)
	if err != nil || a.documents == nil || len(needs.Documents) == 0 || e.Values["documents"] != nil {
		return e, err
	}
	docs, err := a.documents.Observe(ctx, needs)
	if err != nil {
		return nil, fmt.Errorf("look at the files that the conditions name: %w", err)
	}
	if e.Values == nil {
		e.Values = map[string]any{}
	}
	e.Values["documents"] = docs
	return e, nil
}

// learnLimit bounds the learning from a verdict.
const learnLimit = 5 * time.Second

// learn tells an attempt that learns how it was judged. When that cannot be kept, the verdict stands all the same; the sentence that is
// returned says so.
func learn(ctx context.Context, att tool.Attempt, v tool.Verdict) string {
	l, ok := att.(tool.Learner)
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, learnLimit)
	defer cancel()
	if err := l.Learn(ctx, v); err != nil {
		return "What this attempt teaches could not be kept: " + err.Error()
	}
	return ""
}

// rollBack undoes what the attempt changed and puts the account of it into the report.
func (a *attempter) rollBack(ctx context.Context, att tool.Attempt, rep *Report, v tool.Verification) {
	ctx, cancel := context.WithTimeout(ctx, rollbackLimit)
	defer cancel()
	notice := &tool.RollbackNotice{FailedChecks: v.Failed()}
	rb, err := att.Rollback(ctx)
	switch {
	case err != nil:
		notice.RestoredTo = "unknown: the rollback itself failed: " + err.Error()
		rep.Error = tool.NewErrorWithCause(rep.Record.Failure, rep.Record.Message, err)
	case rb.Performed:
		notice.Performed, notice.RestoredTo = true, fmt.Sprintf("before attempt %d", rep.Record.Number)
		if rb.RestoredTo != "" {
			notice.RestoredTo += ": " + rb.RestoredTo
		}
		rep.Record.RolledBack = true
	default:
		notice.RestoredTo = "not restored: " + rb.Refused
		if strings.HasPrefix(rb.Refused, string(tool.RollbackRefused)) { // somebody else changed the same thing meanwhile
			rep.Record.Failure = tool.RollbackRefused
			rep.Record.Message += " It could not be taken back: " + rb.Refused
		}
	}
	rep.Rollback = notice
}

// keepLimit bounds the wait for a store that is locked, full or away: after a dispatch, the verdict is lost with its evidence.
const keepLimit = 10 * time.Second

// keep stores evidence as an artifact.
func (a *attempter) keep(ctx context.Context, e *tool.Evidence) (text []byte, digest string, err error) {
	text, _, err = e.Encode()
	if err != nil {
		return nil, "", err
	}
	digest, err = keepEvidence(ctx, a.artifacts, text)
	return text, digest, err
}

// keepEvidence stores encoded evidence, and waits where the store may take it a moment later.
func keepEvidence(ctx context.Context, to Artifacts, text []byte) (digest string, err error) {
	for start := time.Now(); ; {
		digest, err = to.PutArtifact(ctx, "application/json", text)
		switch {
		case err == nil:
			return digest, nil
		case !mayPass(err) || time.Since(start) > keepLimit || !pause(ctx, 250*time.Millisecond):
			return "", fmt.Errorf("keep the evidence: %w", err)
		}
	}
}

// mayPass reports that the same may be kept a moment later.
func mayPass(err error) bool {
	return errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrDiskFull) || errors.Is(err, store.ErrUnavailable)
}

// failed puts an executor's error into the report. When the attempt's time has run out, or the run was cancelled, that is the failure,
// whatever the executor made of it.
func (rep Report) failed(ctx context.Context, err error) Report {
	f := tool.AsFailed(err)
	failure, msg := f.Failure, f.Message
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		failure, msg = tool.Timeout, "the attempt took longer than its time limit: "+msg
	case ctx.Err() != nil:
		failure, msg = tool.Cancelled, "the call was cancelled: "+msg
	}
	if f.Dispatched && !rep.Record.Phase.Dispatched() {
		rep.Record.Phase, rep.Record.Effect = tool.PhaseDispatched, tool.EffectUnknown
	}
	rep.Record.Failure, rep.Record.Message = failure, msg
	rep.What = f.What
	rep.Candidates, rep.RetryAfterMS = f.Candidates, f.RetryAfter.Milliseconds()
	errors.As(err, &rep.Issues)
	rep.Error = tool.ErrorFrom(err)
	return rep
}

// pause waits d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// reconcile finds out, by observing only, what became of a dispatch whose attempt died. Elsewhere says why that cannot be observed here; ""
// when it can.
func (a *attempter) reconcile(ctx context.Context, exec tool.Executor, call *tool.Call, conds *verification.Conditions, in AttemptInput, elsewhere string) Report {
	start, class := time.Now(), in.Step.Class
	rep := begun(in)
	mark, marked, err := a.journal.Dispatch(ctx, call.ID, in.dispatch())
	if err != nil { // without the journal nothing is known; the caller retries this activity
		rep.Record.Phase, rep.Record.Effect = tool.PhaseDispatched, tool.EffectUnknown
		return rep.failed(ctx, fmt.Errorf("read the record of the dispatch: %w", err))
	}
	if !marked {
		return rep.failed(ctx, tool.Failf(tool.WorkerLost, "the worker was lost before anything was dispatched"))
	}
	rep.Record.Phase, rep.Record.Effect = tool.PhaseDispatched, tool.EffectUnknown
	lost := &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: true, Message: "the worker was lost after the dispatch, and what can be observed does not tell whether it had its effect"}
	if class.Repeatable() {
		lost.Failure = tool.WorkerLost
	}
	if in.After != "" {
		lost.Failure, lost.Message = in.After, fmt.Sprintf("the attempt ended with %s after the dispatch, and what can be observed does not tell whether it had its effect", in.After)
	}
	if elsewhere != "" {
		lost.Message += ": " + elsewhere
		return rep.failed(ctx, lost)
	}
	rec, ok := exec.(tool.Reconciler)
	if !ok {
		return rep.failed(ctx, lost)
	}
	before := new(tool.Evidence)
	if err := json.Unmarshal(mark.Evidence, before); err != nil {
		return rep.failed(ctx, fmt.Errorf("read the evidence from before the dispatch: %w", err))
	}
	limited, cancel := context.WithTimeout(ctx, call.Spec.TimeLimit)
	defer cancel()
	att, out, err := rec.Reconcile(limited, call, before)
	if err != nil {
		lost.Cause = err
		return rep.failed(ctx, lost)
	}
	defer att.Close() //nolint:errcheck // nothing was held but a look at the page
	rep = a.verify(ctx, limited, att, call, conds, in, rep, before, tool.Digest(mark.Evidence), nil, out)
	rep.Record.DurationMS = time.Since(start).Milliseconds()
	if rep.Record.Failure == tool.VerificationUncertain || rep.Record.Failure == tool.VerificationFailed && !rep.Record.RolledBack {
		rep.Record.Failure, rep.Record.Message = lost.Failure, lost.Message+". "+rep.Record.Message
	}
	return rep.conceal(att, call.Raw)
}
