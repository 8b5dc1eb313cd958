package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"toolsvc/bench/scenarios/report"
	"toolsvc/bench/scenarios/site"
	"toolsvc/executors/browser/devtools"
	"toolsvc/planner"
	"toolsvc/stack"
	"toolsvc/tool"
)

// browserBench makes the runs of the player and of the code comment.
type browserBench struct {
	stack *stack.Stack
	site  *site.Site
	dir   string
}

func openBrowserBench(ctx context.Context, o options) (_ bench, err error) {
	b := &browserBench{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close(context.WithoutCancel(ctx)))
		}
	}()
	if b.dir, err = os.MkdirTemp("", "toolsvc-scenarios-"); err != nil {
		return nil, err
	}
	if b.site, err = site.Start(); err != nil {
		return nil, err
	}
	// Without the heal memory, so that no run learns from another.
	b.stack, err = stack.Open(ctx, stack.Options{StateDir: b.dir, Ephemeral: true, UIPort: -1, MaxSessions: 2 * max(1, o.parallel), NoMemory: true})
	return b, err
}

func (b *browserBench) close(ctx context.Context) error {
	var errs []error
	if b.stack != nil {
		errs = append(errs, b.stack.Close(ctx))
	}
	if b.site != nil {
		errs = append(errs, b.site.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// call is one step of a plan.
type call struct {
	tool tool.ID
	args map[string]any
}

func (b *browserBench) make(ctx context.Context, r *report.Run) error {
	session := tool.NewRunID()
	defer b.site.Forget(session)
	target := func(name, role, within string) map[string]any {
		return map[string]any{"name": name, "role": role, "within": within}
	}
	var calls []call
	actions := []string{"", "open", "play"} // what each step is
	switch r.Scenario {
	case "player":
		calls = []call{
			{"browser.navigate", map[string]any{"url": b.site.Address("player", session, r.Faults)}},
			{"browser.click", map[string]any{"target": target("Open", "button", "Low Tide Sessions"), "expect": []string{`page.text.contains("Opened Low Tide Sessions")`}}},
			{"browser.click", map[string]any{"target": target("Play", "button", "Harbor Lights"), "expect": []string{`page.text.contains("Playing Harbor Lights")`, `page.media.exists(m, !m.paused)`}}},
		}
	case "comment":
		actions = []string{"", "edit", "save"}
		calls = []call{
			{"browser.navigate", map[string]any{"url": b.site.Address("editor", session, r.Faults)}},
			{"browser.type", map[string]any{"target": target("Editor content", "textbox", "harbor.go"), "text": site.Improved}},
			{"browser.click", map[string]any{"target": target("Save", "button", "harbor.go"), "expect": []string{`page.text.contains("Saved harbor.go")`}}},
		}
	default:
		return fmt.Errorf("the scenario %q is not one of the browser's", r.Scenario)
	}
	in := planner.Input{RunID: tool.NewRunID(), Kind: planner.KindScript, Title: fmt.Sprintf("%s %d", r.Scenario, r.Number), Language: "en", NoHealing: !r.Healing, KeepSession: true}
	for _, c := range calls {
		text, err := json.Marshal(c.args)
		if err != nil {
			return err
		}
		step, rejected, err := b.stack.Service.Prepare(tool.Request{Tool: c.tool, Arguments: text, CallID: tool.NewCallID(), RunID: in.RunID}, "en")
		if err != nil {
			return err
		}
		if rejected != nil {
			return fmt.Errorf("the scenario's own call is refused: %s", rejected.Error.Message)
		}
		in.Steps = append(in.Steps, step)
	}
	began := time.Now()
	if err := b.stack.Service.Start(ctx, in); err != nil {
		return err
	}
	st, err := b.stack.Service.Wait(ctx, in.RunID)
	if err != nil {
		return err
	}
	r.MS = time.Since(began).Milliseconds()
	landed, stray, err := b.look(ctx, in.RunID)
	if cerr := b.stack.Browser.Close(ctx, in.RunID); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	r.Landed = landed
	if r.Faults["readiness"] == "slow" && b.site.Slowed(session) > 0 {
		r.Landed = append(r.Landed, "readiness=slow")
	}
	tell(r, st)
	r.Missed = missed(r, actions, st)
	switch r.Scenario {
	case "player":
		r.Goal, r.Wrong = judgePlays(b.site.Played(session))
	case "comment":
		content, saves := b.site.File(session, "harbor.go")
		_, others := b.site.File(session, "harbor_test.go")
		r.Goal, r.Wrong = judgeFile(content, saves, others+stray)
	}
	return nil
}

// tell takes what toolsvc says of a run.
func tell(r *report.Run, st *planner.State) {
	r.Said = st.Succeeded()
	for _, step := range st.Steps {
		if step.Result == nil {
			continue
		}
		r.Attempts = max(r.Attempts, len(step.Result.Attempts))
		for _, a := range step.Result.Attempts {
			r.Sources = append(r.Sources, string(a.Source))
		}
		if step.Status == planner.StatusFailed && step.Result.Error != nil {
			r.Failure, r.Message = string(step.Result.Error.Code), step.Result.Error.Message
			if h := step.Result.RetryHint; h != nil && h.Fields().Rollback != nil {
				r.Rollback = h.Fields().Rollback.RestoredTo
			}
		}
	}
}

// missed lists the faults that should have landed, because their action was reached, and did not. actions names the action of each step.
func missed(r *report.Run, actions []string, st *planner.State) (names []string) {
	for i, action := range actions {
		kind := r.Faults[action]
		if kind == "" || i >= len(st.Steps) || st.Steps[i].Status == planner.StatusSkipped {
			continue
		}
		if name := action + "=" + kind; !slices.Contains(r.Landed, name) {
			names = append(names, name)
		}
	}
	if kind := r.Faults["readiness"]; kind != "" && !slices.Contains(r.Landed, "readiness="+kind) {
		names = append(names, "readiness="+kind)
	}
	return names
}

// judgePlays compares what was played with what was wanted: Harbor Lights, once, and left playing.
func judgePlays(played []string) (goal, wrong int) {
	for _, p := range played {
		if p == "Harbor Lights" {
			goal++
		} else {
			wrong++
		}
	}
	return goal, wrong
}

// judgeFile compares a file with what was wanted of it: the improved text, saved once. others counts what was saved or written elsewhere.
func judgeFile(content string, saves, others int) (goal, wrong int) {
	if saves == 0 {
		return 0, others
	}
	if content != site.Improved {
		return 0, others + saves
	}
	return saves, others
}

// look asks the page which faults have landed, and how often text went astray, over a connection of its own, past toolsvc.
func (b *browserBench) look(ctx context.Context, runID string) (landed []string, stray int, err error) {
	url, err := b.stack.Browser.DebugURL(runID)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := devtools.Dial(ctx, url)
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close() //nolint:errcheck // the answer is what counts
	byValue := true
	res, err := devtools.Call(ctx, conn.Browser(), runtime.Evaluate, runtime.EvaluateParams{ReturnByValue: &byValue,
		Expression: `({landed: window.__landed || [], stray: window.__stray ? window.__stray() : 0})`})
	if err != nil {
		return nil, 0, err
	}
	if res.ExceptionDetails != nil || res.Result == nil {
		return nil, 0, errors.New("the page does not tell which faults have landed")
	}
	var page struct {
		Landed []string `json:"landed"`
		Stray  int      `json:"stray"`
	}
	if err := json.Unmarshal(res.Result.Value, &page); err != nil {
		return nil, 0, fmt.Errorf("read what the page tells: %w", err)
	}
	return page.Landed, page.Stray, nil
}
