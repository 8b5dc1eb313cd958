package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"toolsvc/bench/gym"
	"toolsvc/examples/demo"
	"toolsvc/planner"
	"toolsvc/stack"
)

// demoCmd runs the main job on a local page full of failures.
type demoCmd struct {
	NoHealing bool `help:"One attempt a step, to see what healing is for."`
}

func (c *demoCmd) Run(ctx context.Context, common *Common, std streams) error {
	site, err := gym.Start()
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	defer site.Close() //nolint:errcheck // it served what it had to
	plan, err := planner.ParsePlan(demo.Plan())
	if err != nil {
		return err
	}
	shop := &planFile{Plan: plan, file: "examples/demo/plan.yaml", vars: map[string]string{"base": site.URL}}
	fmt.Fprintf(std.err, "Serving the demo shop at %s/demo, starting Temporal and Chromium …\n\n", site.URL)
	began := time.Now()
	s, err := common.open(ctx, std, stack.Options{Ephemeral: true})
	if err != nil {
		return err
	}
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the demo's end is what counts
	runID, err := startPlan(ctx, std, s, shop, common.lang(plan), c.NoHealing, nil)
	if err != nil {
		return err
	}
	st, err := follow(ctx, std.err, s, runID)
	if err != nil {
		return err
	}
	if err := printTable(std.out, s, st); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Took %s. The shop counted %d order(s).\n", time.Since(began).Round(100*time.Millisecond), site.DemoOrders())
	self, err := os.Executable()
	if err != nil {
		self = "toolsvc"
	}
	if common.StateDir != defaultStateDir() {
		self += " --state-dir " + common.StateDir
	}
	fmt.Fprintf(std.out, "\nLook at the run again:   %s show %s\nIn Temporal's UI:        %s serve\nWhat there is to read:   README.md, docs/architecture.md\n", self, runID, self)
	if !st.Succeeded() {
		return &exit{status: exitFailed}
	}
	return nil
}
