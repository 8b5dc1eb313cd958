package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/repair"
	"toolsvc/tool"
	"toolsvc/verification"
)

const (
	activityCorrect = "Correct"
	correctLimit    = 2 * time.Minute // for all that the model is asked about one payload
)

// CorrectInput is what the Correct activity works from.
type CorrectInput struct {
	RunID    string `json:"run_id"`
	Language string `json:"language"`
	Step     Step   `json:"step"`
	// Budget is how many tokens may be used; 0 is no bound.
	Budget int64 `json:"budget,omitempty"`
}

// Corrected is what came of it: a Step that validates, or nothing.
type Corrected struct {
	Step   *Step `json:"step,omitempty"`
	Tokens int64 `json:"tokens,omitempty"`
	Output int64 `json:"output,omitempty"` // of Tokens, the model's own
	// NoModel: there is no model, so none needs to be asked in this run again.
	NoModel bool `json:"no_model,omitempty"`
	// Why says what was wrong with the proposal.
	Why string `json:"why,omitempty"`
}

func (r *run) correct(ctx workflow.Context, s Step) (c Corrected, err error) {
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: correctLimit,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second, MaximumAttempts: 3},
		Summary:             clip(fmt.Sprintf("let the model correct the payload of %s", s.Tool)),
	})
	err = workflow.ExecuteActivity(actx, activityCorrect, CorrectInput{RunID: r.in.RunID, Language: r.in.Language, Step: s, Budget: r.tokensLeft()}).Get(ctx, &c)
	if err != nil && !temporal.IsCanceledError(err) && ctx.Err() == nil {
		return Corrected{Why: err.Error()}, nil // a model that cannot be reached is no reason to end the run: the next tier follows
	}
	return c, err
}

// tokensLeft is how many of the policy's tokens are left; 0 when there is no bound, -1 when they are used up.
func (r *run) tokensLeft() int64 {
	if r.in.Policy.TokenBudget == 0 {
		return 0
	}
	if left := r.in.Policy.TokenBudget - r.state.Tokens; left > 0 {
		return left
	}
	return -1
}

// Correct asks the model for a payload, and takes it only when it validates and keeps what was right.
func (a *Activities) Correct(ctx context.Context, in CorrectInput) (Corrected, error) {
	switch {
	case a.Repairer == nil:
		return Corrected{NoModel: true, Why: "there is no model"}, nil
	case in.Budget < 0:
		return Corrected{NoModel: true, Why: "the run's tokens are used up"}, nil
	}
	spec := a.Registry.Lookup(in.Step.Tool)
	if spec == nil || in.Step.Draft == nil {
		return Corrected{Why: "there is nothing to correct"}, nil
	}
	opened, err := a.Sealer.open(in.Step)
	if err != nil {
		return Corrected{}, err
	}
	in.Step = opened
	model := repair.Model{Repairer: a.Repairer, MaxTokens: in.Budget, Check: func(text json.RawMessage, payload tool.Payload) tool.Issues {
		_, issues := verification.Compile(spec, text, payload.Expectations())
		return issues
	}}
	out, err := model.Correct(withCall(ctx, in.RunID, in.Step.CallID), spec, repair.Payload(spec, in.Step.Draft.Payload, repair.Lossless))
	c := Corrected{Tokens: out.InputTokens + out.OutputTokens, Output: out.OutputTokens, Why: strings.Join(out.Refusals, " ")}
	if err != nil {
		c.Why = tool.AsFailed(err).Message
		return c, nil // the next tier follows
	}
	if !out.OK() {
		return c, nil
	}
	step, rejected, err := prepareStep(a.Registry, a.Executors, tool.Request{CallID: in.Step.CallID, RunID: in.RunID, Tool: in.Step.Tool, Arguments: out.Payload}, in.Language)
	if err != nil {
		return c, err
	}
	if rejected != nil {
		c.Why = rejected.Error.Message
		return c, nil
	}
	step.Repairs, step.ExpectFailure, step.Model = out.Repairs, in.Step.ExpectFailure, out.Model
	if step, err = a.Sealer.seal(step); err != nil {
		return c, err
	}
	c.Step = &step
	return c, nil
}
