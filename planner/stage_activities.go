package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
	schema := st.ResultSchema
	if len(schema) == 0 {
		schema = json.RawMessage(stageResultSchema)
	}
	return &tool.Spec{ID: tool.ID("stage." + st.Name), Title: st.Name, Effect: tool.Reversible, Sources: []tool.Source{tool.SourceSystem},
		Preconditions: st.Before, Postconditions: st.After, TimeLimit: DefaultStageLimit,
		PayloadSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`), ResultSchema: schema,
		Rollback: "Takes back what the attempt changed in the workspace. Refused when somebody else changed the same files meanwhile."}
}

// specOf finds a step's spec: that of its tool, or of its stage.
func (a *Activities) specOf(s Step) *tool.Spec {
	if s.Stage != nil {
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

// look collects what the conditions of a stage read.
func (a *Activities) look(ctx context.Context, needs tool.Needs) (*tool.Evidence, error) {
	e := &tool.Evidence{Values: map[string]any{}}
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
	go beat(ctx)
	at, st := in.Attempt, in.Attempt.Step.Stage
	out := StageBegun{Report: begun(at)}
	fail := func(err error) (StageBegun, error) {
		out.Report = out.Report.failed(ctx, err)
		return out, nil
	}
	a.narrate(ctx, at.RunID, attemptBegan(at)...)
	conds, err := st.conditions()
	if err != nil {
		return fail(err)
	}
	before, err := a.look(ctx, conds.Needs())
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
	if out.Before, err = a.Artifacts.PutArtifact(ctx, "application/json", text); err != nil {
		return out, fmt.Errorf("keep the evidence: %w", err)
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
	go beat(ctx)
	at, st := in.Attempt, in.Attempt.Step.Stage
	rep := begun(at)
	rep.Record.Phase, rep.Record.Effect = tool.PhaseSettled, tool.EffectConfirmed
	rep.Record.DurationMS = 0
	a.narrate(ctx, at.RunID, attemptVerifies(at))
	conds, err := st.conditions()
	if err != nil {
		return rep.failed(ctx, err), nil
	}
	token := ""
	if a.Backups != nil {
		token = a.Backups.Token(at.Step.CallID, at.dispatch())
		if err := a.Backups.Observe(ctx, token); err != nil {
			return rep, fmt.Errorf("look at what the stage changed: %w", err)
		}
	}
	result, err := st.result(in.Child)
	if err == nil {
		err = a.judge(ctx, &rep, in, conds, result)
	}
	if err != nil {
		rep = rep.failed(ctx, err)
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
		a.takeBack(ctx, &rep, token)
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
	after, err := a.look(ctx, conds.Needs())
	if err != nil {
		return err
	}
	v := conds.Judge(before, after, result)
	afterText, _, err := after.Encode()
	if err != nil {
		return err
	}
	digest, err := a.Artifacts.PutArtifact(ctx, "application/json", afterText)
	if err != nil {
		return fmt.Errorf("keep the evidence: %w", err)
	}
	v.Evidence = tool.EvidenceRefs{Before: in.Before, After: digest}
	rep.Verification = &v
	switch {
	case v.Verdict == tool.VerdictSuccess && in.Child.Ended:
		return nil
	case v.Verdict == tool.VerdictSuccess: // the state is right, but whoever worked at it did not come to an end
		v.Verdict, v.Confidence, v.Explanation = tool.VerdictFailure, 0, "The conditions hold, but the work did not come to its end: "+in.Child.Why
		return tool.Failf(tool.PostconditionFailed, "the stage did not come to its end: %s", in.Child.Why)
	case v.Verdict == tool.VerdictUncertain:
		return &tool.Failed{Failure: tool.VerificationUncertain, Dispatched: true, Message: v.Explanation}
	}
	msg := v.Explanation
	if !in.Child.Ended && in.Child.Why != "" {
		msg += " Besides, " + in.Child.Why
	}
	return &tool.Failed{Failure: tool.PostconditionFailed, Dispatched: true, Message: msg}
}

// takeBack rolls an attempt at a stage back, and puts the account of it into the report.
func (a *Activities) takeBack(ctx context.Context, rep *Report, token string) {
	notice := &tool.RollbackNotice{}
	if rep.Verification != nil {
		notice.FailedChecks = rep.Verification.Failed()
	}
	rb, err := a.Backups.Rollback(ctx, token)
	switch {
	case err != nil:
		notice.RestoredTo = "unknown: the rollback itself failed: " + err.Error()
		rep.Error = tool.NewErrorWithCause(rep.Record.Failure, rep.Record.Message, err)
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
	if len(st.ResultSchema) > 0 {
		if !json.Valid([]byte(out.Answer)) {
			return nil, tool.Failf(tool.MalformedResponse, "the agent's answer is not JSON")
		}
		return json.RawMessage(out.Answer), nil
	}
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
