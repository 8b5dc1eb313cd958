package planner

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"toolsvc/gemini"
	"toolsvc/tool"
	"toolsvc/verification"
)

// Backups take the workspace back to where an attempt at a stage began. Each method may be called again after a crash.
type Backups interface {
	// Begin backs the workspace up before an attempt.
	Begin(ctx context.Context, runID, callID string, attempt int) error
	// Token names the backup of an attempt.
	Token(callID string, attempt int) string
	// Observe records what the attempt left, right after it ended.
	Observe(ctx context.Context, token string) error
	Rollback(ctx context.Context, token string) (tool.Rollback, error)
	// Commit keeps what the attempt did and drops the backup.
	Commit(ctx context.Context, token string) error
}

// Documents look at the files that conditions name.
type Documents interface {
	Observe(ctx context.Context, needs tool.Needs) (map[string]any, error)
}

// stageResultSchema is the schema of a stage's result.
const stageResultSchema = `{"type":"object","properties":{"answer":{"type":"string"},"calls":{"type":"integer"},"run_id":{"type":"string"}},"required":["answer","calls","run_id"],"additionalProperties":false}`

// spec is the stage as a tool, so that its conditions, results and hints are made as those of any tool.
func (st *Stage) spec() *tool.Spec {
	return &tool.Spec{ID: tool.ID("stage." + st.Name), Title: st.Name, Effect: tool.Reversible, Sources: []tool.Source{tool.SourceSystem},
		Preconditions: st.Before, Postconditions: st.After, TimeLimit: DefaultStageLimit,
		PayloadSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`), ResultSchema: json.RawMessage(stageResultSchema),
		Rollback: "Takes back what the attempt changed in the workspace. Refused when somebody else changed the same files meanwhile."}
}

// specOf finds a step's spec: that of its tool, or of its stage.
func (a *Activities) specOf(s Step) *tool.Spec {
	if s.Stage != nil && !s.Stage.Agent {
		return s.Stage.spec()
	}
	return a.Registry.Lookup(s.Tool)
}

// compile compiles the conditions, and lists everything that is wrong with them.
func (st *Stage) compile() (*verification.Conditions, tool.Issues) {
	return verification.Compile(st.spec(), json.RawMessage(`{}`), nil)
}

func (st *Stage) conditions() (*verification.Conditions, error) {
	conds, issues := st.compile()
	if len(issues) > 0 {
		return nil, &tool.Failed{Failure: tool.InvalidArguments, Message: issues.Error(), Cause: issues}
	}
	return conds, nil
}

// stageConditions are those of a stage, or of the tool whose call it is, over the call's arguments.
func (a *Activities) stageConditions(s Step) (*tool.Spec, *verification.Conditions, error) {
	if !s.Stage.Agent {
		conds, err := s.Stage.conditions()
		return nil, conds, err
	}
	spec := a.Registry.Lookup(s.Tool)
	if spec == nil || spec.Agent == nil { // another version of toolsvc accepted it
		return nil, nil, tool.Failf(tool.ToolUnavailable, "this worker has no agent for %s", s.Tool)
	}
	s, err := a.Sealer.open(s)
	if err != nil {
		return nil, nil, err
	}
	payload, issues := spec.Decode(s.Arguments)
	if len(issues) > 0 {
		return nil, nil, &tool.Failed{Failure: tool.InvalidArguments, Message: issues.Error(), Cause: issues}
	}
	conds, issues := verification.Compile(spec, s.Arguments, payload.Expectations())
	if len(issues) > 0 {
		return nil, nil, &tool.Failed{Failure: tool.InvalidArguments, Message: issues.Error(), Cause: issues}
	}
	return spec, conds, nil
}

// record is what an agent's calls came to, from the events of its run: the variable state of its tool's conditions.
func (a *Activities) record(ctx context.Context, made []Made) (map[string]any, error) {
	calls := []any{}
	for _, m := range made {
		res, err := loggedResult(ctx, a.Log, m.Run, m.Call)
		if err != nil {
			return nil, fmt.Errorf("look at what the agent's calls came to: %w", err)
		}
		call := map[string]any{"tool": string(m.Tool), "verified": res.OK(), "failure": ""}
		if res.Error != nil {
			call["failure"] = string(res.Error.Code)
		}
		if res.OK() {
			v, err := plainly(res.Result)
			if err != nil {
				return nil, fmt.Errorf("decode the result of call %s: %w", m.Call, err)
			}
			call["result"] = v
		}
		calls = append(calls, call)
	}
	return map[string]any{"calls": calls}, nil
}

// plainly decodes JSON; integers stay exact.
func plainly(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return numbers(v), err
}

func numbers(v any) any {
	switch x := v.(type) {
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return i
		}
		f, _ := x.Float64() //nolint:errcheck // what is too large is infinite, which no condition takes for a number that it knows
		return f
	case map[string]any:
		for k, e := range x {
			x[k] = numbers(e)
		}
	case []any:
		for i, e := range x {
			x[i] = numbers(e)
		}
	}
	return v
}

// look collects what the conditions of a stage read. agent is true for those of a tool that an agent backs, whose calls are made.
func (a *Activities) look(ctx context.Context, needs tool.Needs, agent bool, made []Made) (*tool.Evidence, error) {
	e := &tool.Evidence{Values: map[string]any{}}
	if agent {
		state, err := a.record(ctx, made)
		if err != nil {
			return nil, err
		}
		e.Values["state"] = state
	}
	if len(needs.Documents) == 0 {
		return e, nil
	}
	if a.Documents == nil {
		return nil, tool.Failf(tool.ToolUnavailable, "the stage's conditions name files, and this worker has no workspace: start toolsvc with --workspace")
	}
	docs, err := a.Documents.Observe(ctx, needs)
	if err != nil {
		return nil, err
	}
	e.Values["documents"] = docs
	return e, nil
}

// StageBegin checks what must hold before a stage, and backs the workspace up. It may be repeated.
func (a *Activities) StageBegin(ctx context.Context, in StageInput) (StageBegun, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go a.beat(ctx)
	at := in.Attempt
	out := StageBegun{Report: begun(at)}
	out.Report.Worker = a.Worker
	fail := func(err error) (StageBegun, error) {
		out.Report = out.Report.failed(ctx, err)
		return out, nil
	}
	a.narrate(ctx, at.RunID, attemptBegan(at)...)
	if in.Open != nil { // the work is done; it is only answered for
		out.Ready, out.Before = true, in.Open.Before
		return out, nil
	}
	spec, conds, err := a.stageConditions(at.Step)
	if err != nil {
		return fail(err)
	}
	before, err := a.look(ctx, conds.Needs(), spec != nil, nil)
	if err != nil {
		return fail(err)
	}
	if v := conds.CheckPreconditions(before); v.Verdict != tool.VerdictSuccess {
		out.Report.Verification = &v
		return fail(tool.Failf(tool.PreconditionFailed, "nothing was done: %s", v.Explanation))
	}
	text, _, err := before.Encode()
	if err != nil {
		return fail(err)
	}
	if out.Before, err = keepEvidence(ctx, a.Artifacts, text); err != nil {
		return out, err
	}
	if a.Backups != nil {
		if err := a.Backups.Begin(ctx, at.RunID, at.Step.CallID, at.dispatch()); err != nil {
			return fail(&tool.Failed{Failure: tool.ToolUnavailable, Message: "the workspace could not be backed up, so nothing was done: " + err.Error(), Cause: err})
		}
	}
	out.Ready = true
	return out, nil
}

// StageEnd checks what must hold after a stage, and takes back what the attempt changed where it does not. It may be repeated.
func (a *Activities) StageEnd(ctx context.Context, in StageInput) (Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go a.beat(ctx)
	at, st := in.Attempt, in.Attempt.Step.Stage
	rep := begun(at)
	attempt := at.dispatch()
	if in.Open != nil { // the run that answered has done nothing; what is judged is the work that it answers for
		attempt = in.Open.Attempt
		in.Child.Effect, in.Child.Outside, in.Child.Made = in.Open.Work.Effect, in.Open.Work.Outside, in.Open.Work.Made
		if in.Child.Cause == nil {
			in.Child.Cause = in.Open.Work.Cause
		}
	}
	rep.Record.Phase, rep.Record.Effect = tool.PhaseSettled, cmp.Or(in.Child.Effect, tool.EffectConfirmed)
	rep.Record.DurationMS = 0
	a.narrate(ctx, at.RunID, attemptVerifies(at))
	spec, conds, err := a.stageConditions(at.Step)
	if err != nil {
		return rep.failed(ctx, err), nil
	}
	token := ""
	if a.Backups != nil {
		token = a.Backups.Token(at.Step.CallID, attempt)
		if err := a.Backups.Observe(ctx, token); err != nil {
			return rep, fmt.Errorf("look at what the stage changed: %w", err)
		}
	}
	var result json.RawMessage
	switch {
	case spec == nil:
		result, err = st.result(in.Child)
	case !in.Child.Ended:
		err = in.Child.failed()
	default:
		result, err = in.Child.answer(spec)
	}
	if err == nil {
		err = a.judge(ctx, &rep, in, conds, result)
	}
	if err != nil {
		rep = rep.failed(ctx, err)
		rep.Final = spec != nil && in.Child.final()
		rep.Reask = spec != nil && rep.Record.Failure == tool.MalformedResponse && !in.Last
	}
	if rep.Reask {
		return rep, nil // the backup stays, until it is known whether the work counts
	}
	if rep.Record.Failure == "" {
		rep.Result = result
		if a.Backups != nil {
			if err := a.Backups.Commit(ctx, token); err != nil {
				return rep, fmt.Errorf("drop the stage's backup: %w", err)
			}
		}
		return rep, nil
	}
	if a.Backups != nil {
		a.takeBack(ctx, &rep, token, in.Child.Outside)
	}
	return rep, nil
}

// judge decides whether the attempt at a stage counts.
func (a *Activities) judge(ctx context.Context, rep *Report, in StageInput, conds *verification.Conditions, result json.RawMessage) error {
	_, text, err := a.Artifacts.Artifact(ctx, in.Before)
	if err != nil {
		return fmt.Errorf("read the evidence from before the stage: %w", err)
	}
	before := new(tool.Evidence)
	if err := json.Unmarshal(text, before); err != nil {
		return fmt.Errorf("read the evidence from before the stage: %w", err)
	}
	after, err := a.look(ctx, conds.Needs(), in.Attempt.Step.Stage.Agent, in.Child.Made)
	if err != nil {
		return err
	}
	v := conds.Judge(before, after, result)
	afterText, _, err := after.Encode()
	if err != nil {
		return err
	}
	digest, err := keepEvidence(ctx, a.Artifacts, afterText)
	if err != nil {
		return err
	}
	v.Evidence = tool.EvidenceRefs{Before: in.Before, After: digest}
	rep.Verification = &v
	switch {
	case v.Verdict == tool.VerdictSuccess && in.Child.Ended:
		return nil
	case v.Verdict == tool.VerdictSuccess: // the state is right, but whoever worked at it did not come to an end
		v.Verdict, v.Confidence, v.Explanation = tool.VerdictFailure, 0, "The conditions hold, but the work did not come to its end: "+in.Child.Why
		return &tool.Failed{Failure: tool.PostconditionFailed, Message: "the stage did not come to its end: " + in.Child.Why, Cause: in.Child.cause()}
	case v.Verdict == tool.VerdictUncertain:
		return &tool.Failed{Failure: tool.VerificationUncertain, Dispatched: true, Message: v.Explanation}
	}
	msg := v.Explanation
	if !in.Child.Ended && in.Child.Why != "" {
		msg += " Besides, " + in.Child.Why
	}
	return &tool.Failed{Failure: tool.PostconditionFailed, Dispatched: true, Message: msg, Cause: in.Child.cause()}
}

// takeBack rolls an attempt at a stage back, and puts the account of it into the report. outside are those whose effects are not in the
// workspace: the attempt does not count as rolled back when there are any.
func (a *Activities) takeBack(ctx context.Context, rep *Report, token string, outside []string) {
	notice := &tool.RollbackNotice{}
	if rep.Verification != nil {
		notice.FailedChecks = rep.Verification.Failed()
	}
	rb, err := a.Backups.Rollback(ctx, token)
	switch {
	case err != nil:
		notice.RestoredTo = "unknown: the rollback itself failed: " + err.Error()
		rep.Error = tool.NewErrorWithCause(rep.Record.Failure, rep.Record.Message, err)
	case rb.Performed && len(outside) > 0:
		notice.RestoredTo = fmt.Sprintf("the workspace is as before attempt %d, but what %s did was not taken back", rep.Record.Number, strings.Join(outside, ", "))
	case rb.Performed:
		notice.Performed, notice.RestoredTo = true, fmt.Sprintf("before attempt %d", rep.Record.Number)
		rep.Record.RolledBack = true
	default:
		notice.RestoredTo = "not restored: " + rb.Refused
		rep.Record.Failure = tool.RollbackRefused
		rep.Record.Message += " It could not be taken back: " + rb.Refused
	}
	rep.Rollback = notice
}

// result makes the stage's result from what its run came to.
func (st *Stage) result(out StageOutcome) (json.RawMessage, error) {
	text, err := json.Marshal(map[string]any{"answer": out.Answer, "calls": out.Calls, "run_id": out.RunID})
	if err != nil {
		return nil, errors.Join(errors.New("encode the stage's result"), err)
	}
	return text, nil
}

// rollbackWords tells a model of a rollback: that it was done, that the state is as before, and which checks failed.
func rollbackWords(n tool.RollbackNotice, v *tool.Verification) string {
	var checks []tool.Check
	if v != nil {
		checks = v.Checks
	}
	return gemini.RollbackWords(n, checks)
}
