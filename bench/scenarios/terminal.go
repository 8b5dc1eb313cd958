package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"toolsvc/bench/scenarios/report"
	"toolsvc/gemini"
	"toolsvc/gemini/geminitest"
	"toolsvc/planner"
	"toolsvc/stack"
)

// terminalBench makes the runs of the terminal. A run is a pipeline of one stage, whose agent is a script behind the real wire protocol of
// Gemini: it opens a session, runs go vet, fixes the finding, runs go vet again, and reports. It knows nothing of faults, and gives up at
// the first call that is not verified; what becomes of that is toolsvc's affair: the stage is taken back and made again, with another
// session.
type terminalBench struct {
	stack   *stack.Stack
	machine *machine
	model   *geminitest.Server
	dir     string
}

func openTerminalBench(ctx context.Context, _ options) (_ bench, err error) {
	b := &terminalBench{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close(context.WithoutCancel(ctx)))
		}
	}()
	if b.dir, err = os.MkdirTemp("", "toolsvc-scenarios-"); err != nil {
		return nil, err
	}
	if b.machine, err = newMachine(b.dir); err != nil {
		return nil, err
	}
	if b.model, err = geminitest.Serve("127.0.0.1:0", &geminitest.Script{Turns: []geminitest.Turn{{Name: "agent", Times: geminitest.Always, Handle: agentTurn}}}); err != nil {
		return nil, err
	}
	// The first go vet on a machine compiles what the module imports, which says nothing about tools.
	if err := b.machine.reset(nil); err != nil {
		return nil, err
	}
	if err := b.machine.vet(ctx); err == nil || !strings.Contains(err.Error(), finding) {
		return nil, fmt.Errorf("go vet does not find what it should find: %w", err)
	}
	b.stack, err = stack.Open(ctx, stack.Options{StateDir: b.machine.state(), Workspace: b.machine.workspace(), Ephemeral: true, UIPort: -1, NoVision: true, NoMemory: true,
		Gemini: gemini.Options{APIKey: "none", BaseURL: b.model.URL()}})
	return b, err
}

func (b *terminalBench) close(ctx context.Context) error {
	var errs []error
	if b.stack != nil {
		errs = append(errs, b.stack.Close(ctx))
	}
	if b.model != nil {
		for _, why := range b.model.Refused() {
			errs = append(errs, errors.New("the model's stand-in refused a request: "+why))
		}
		b.model.Close()
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// agentCalls are what the agent does, in order.
var agentCalls = []geminitest.FunctionCall{
	geminitest.Call("terminal_open", map[string]any{"cwd": "harbor"}),
	geminitest.Call("terminal_type", map[string]any{"text": "go vet ./...", "submit": true, "timeout_ms": 20000,
		"expect": []string{"exit_code == 1", `stdout.contains("` + finding + `")`}}),
	geminitest.Call("document_replace", map[string]any{"path": "harbor/main.go", "old": "%s lamps", "new": "%d lamps"}),
	geminitest.Call("terminal_type", map[string]any{"text": "go vet ./...", "submit": true, "timeout_ms": 20000, "expect": []string{"exit_code == 0"}}),
	geminitest.Call("document_write", map[string]any{"path": "harbor/REPORT.md", "content": reportText, "if_exists": "refuse"}),
}

// agentTurn is what the agent says next: the call after those that it has made since it was last told its goal, when all of them succeeded.
func agentTurn(r *geminitest.Request) geminitest.Reply {
	made, failed := 0, false
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			switch {
			case c.Role == "user" && p.Text != "":
				made, failed = 0, false
			case p.Call != nil:
				made++
			case p.Response != nil:
				failed = failed || !bytes.Contains(p.Response.Response, []byte(`"status":"success"`))
			}
		}
	}
	if failed {
		return geminitest.Text("I could not do it.")
	}
	if made == len(agentCalls) {
		return geminitest.Text("The finding is reported and fixed.")
	}
	return geminitest.Calls(agentCalls[made])
}

// plan is the run: one stage, whose conditions read the files. The report is written last, so that it stands for all that comes before it.
func (b *terminalBench) plan() *planner.Plan {
	return &planner.Plan{Name: "go vet", Stages: []planner.PlanStage{{
		Name: "vet", Title: "Report and fix what go vet finds", Attempts: planner.MaxAttempts,
		Agent: &planner.PlanAgent{Goal: "Run go vet ./... in the folder harbor, fix what it finds, run it again, and report the finding in harbor/REPORT.md.",
			Tools: []string{"terminal.*", "document.*"}},
		Before: []planner.PlanCondition{{Name: "not_reported_yet", If: `!document("harbor/REPORT.md").exists`}},
		After: []planner.PlanCondition{
			{Name: "fixed", If: `document("harbor/main.go").text.contains("%d lamps are lit")`},
			{Name: "reported", If: `document("harbor/REPORT.md").exists && document("harbor/REPORT.md").text.contains("` + finding + `")`},
		},
	}}}
}

func (b *terminalBench) make(ctx context.Context, r *report.Run) error {
	if err := b.machine.reset(r.Faults); err != nil {
		return err
	}
	before, err := b.machine.found()
	if err != nil {
		return err
	}
	in, err := b.stack.Service.PreparePipeline(b.plan(), nil, "en", "")
	if err != nil {
		return err
	}
	in.NoHealing = !r.Healing
	began := time.Now()
	if err := b.stack.Service.Start(ctx, in); err != nil {
		return err
	}
	st, err := b.stack.Service.Wait(ctx, in.RunID)
	if err != nil {
		return err
	}
	r.MS = time.Since(began).Milliseconds()
	if r.Landed, err = b.machine.landed(r.Faults); err != nil {
		return err
	}
	tell(r, st)
	r.Missed = missed(r, []string{"session"}, st)
	found, err := b.machine.found()
	if err != nil {
		return err
	}
	r.Goal, r.Wrong = judgeWork(found, before)
	if r.Goal == 1 {
		if err := b.machine.vet(ctx); err != nil { // the real one has the last word
			r.Goal, r.Message = 0, err.Error()
		}
	}
	return nil
}
