package main

import (
	"context"
	"errors"
	"fmt"

	"toolsvc/planner"
	"toolsvc/stack"
)

// runsCmd lists runs.
type runsCmd struct {
	Limit int  `help:"How many at the most." default:"20"`
	JSON  bool `name:"json" help:"As JSON."`
}

func (c *runsCmd) Run(ctx context.Context, common *Common, std streams) error {
	s, err := common.open(ctx, std, stack.Options{UIPort: -1, NoWorker: true})
	if err != nil {
		return err
	}
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was changed
	runs, err := s.Service.List(ctx, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(std.out, runs)
	}
	for _, r := range runs {
		if _, err := fmt.Fprintf(std.out, "%s  %-10s %s  %s\n", r.RunID, r.Outcome, r.Started.Local().Format("2006-01-02 15:04:05"), r.Title); err != nil {
			return err
		}
	}
	return nil
}

// showCmd shows a run.
type showCmd struct {
	RunID string `arg:"" name:"run" help:"The run: r_…"`
	JSON  bool   `name:"json" help:"As JSON."`
}

func (c *showCmd) Run(ctx context.Context, common *Common, std streams) error {
	s, err := common.open(ctx, std, stack.Options{})
	if err != nil {
		return err
	}
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was changed
	st, err := s.Service.State(ctx, c.RunID)
	if errors.Is(err, planner.ErrUnknownRun) {
		return usage("%w", err)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(std.out, st)
	}
	return printTable(std.out, s, st)
}

// cancelCmd cancels a run.
type cancelCmd struct {
	RunID string `arg:"" name:"run" help:"The run: r_…"`
}

func (c *cancelCmd) Run(ctx context.Context, common *Common, std streams) error {
	s, err := common.open(ctx, std, stack.Options{UIPort: -1})
	if err != nil {
		return err
	}
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the cancellation is what counts
	if err := s.Service.Cancel(ctx, c.RunID); err != nil {
		if errors.Is(err, planner.ErrUnknownRun) {
			return overAlready(ctx, s, c.RunID, err)
		}
		return err
	}
	st, err := s.Service.Wait(ctx, c.RunID)
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err == nil && st.Outcome != planner.OutcomeCancelled { // it was faster
		return usage("run %s has ended already: %s", c.RunID, st.Outcome)
	}
	_, err = fmt.Fprintf(std.out, "run %s is cancelled\n", c.RunID)
	return err
}

// overAlready is the error of a request to a run that goes on no more: how it ended, where that is known, which Temporal does not say.
func overAlready(ctx context.Context, s *stack.Stack, runID string, err error) error {
	if st, serr := s.Service.State(ctx, runID); serr == nil {
		return usage("run %s has ended already: %s", runID, st.Outcome)
	}
	return usage("%w", err)
}
