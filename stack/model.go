package stack

import (
	"context"
	"errors"
	"fmt"

	"toolsvc/gemini"
	"toolsvc/planner"
	"toolsvc/repair"
)

// openModel makes the client of the model; nil when there is no key, so that the model's tiers are skipped and say so.
func openModel(o gemini.Options) (*gemini.Client, error) {
	c, err := gemini.New(gemini.FromEnvironment(o))
	if errors.Is(err, gemini.ErrNoKey) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reach the model: %w", err)
	}
	return c, nil
}

// useModel gives the worker what a model can do for it: toolsvc's own, or else that of whoever makes a call.
func useModel(a *planner.Activities, c *gemini.Client, callers *callersModel) {
	if c == nil {
		if callers != nil {
			a.Repairer, a.Verifier = callers, callers
		}
		return
	}
	a.Planner = planner.Gemini{Client: c}
	a.Repairer = repairer{c}
	a.Verifier = c
}

// repairer lets Gemini correct payloads.
type repairer struct{ client *gemini.Client }

func (r repairer) Repair(ctx context.Context, in repair.RepairRequest) (repair.RepairReply, error) {
	out, err := r.client.Repair(ctx, gemini.RepairRequest{Spec: in.Spec, Payload: in.Payload, Issues: in.Issues, MaxTokens: int(in.MaxTokens)})
	return repair.RepairReply{Payload: out.Payload, Model: out.Model, InputTokens: out.Usage.InputTokens, OutputTokens: out.Usage.OutputTokens}, err
}
