package planner

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/tool"
)

const (
	activityCorrect = "Correct"
	// maxModelRepairs bounds how often a model is asked about one payload.
	maxModelRepairs = 2
	correctLimit    = 60 * time.Second
)

// Corrector lets a model propose a payload.
type Corrector interface {
	// Correct proposes a payload for a draft, and says what it changed. An error is a *tool.Failed.
	Correct(ctx context.Context, spec *tool.Spec, d Draft, budget int64) (payload []byte, repairs []tool.Repair, tokens int64, err error)
}

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
	// NoModel: there is no model, so none needs to be asked in this run again.
	NoModel bool `json:"no_model,omitempty"`
	// Again: another try may do better.
	Again bool `json:"again,omitempty"`
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

// Correct asks the model for a payload, and takes it only when it validates.
func (a *Activities) Correct(ctx context.Context, in CorrectInput) (Corrected, error) {
	if a.Corrector == nil {
		return Corrected{NoModel: true, Why: "there is no model"}, nil
	}
	if in.Budget < 0 {
		return Corrected{NoModel: true, Why: "the run's tokens are used up"}, nil
	}
	spec := a.Registry.Lookup(in.Step.Tool)
	if spec == nil || in.Step.Draft == nil {
		return Corrected{Why: "there is nothing to correct"}, nil
	}
	payload, repairs, tokens, err := a.Corrector.Correct(ctx, spec, *in.Step.Draft, in.Budget)
	if err != nil {
		return Corrected{Tokens: tokens, Why: tool.AsFailed(err).Message}, nil
	}
	step, rejected, err := prepareStep(a.Registry, a.Executors, tool.Request{CallID: in.Step.CallID, RunID: in.RunID, Tool: in.Step.Tool, Arguments: payload}, in.Language)
	if err != nil {
		return Corrected{Tokens: tokens}, err
	}
	if rejected != nil {
		return Corrected{Tokens: tokens, Again: true, Why: rejected.Error.Message}, nil
	}
	step.Repairs = append(in.Step.Repairs, repairs...)
	return Corrected{Step: &step, Tokens: tokens}, nil
}
