package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"toolsvc/narration"
	"toolsvc/narration/terminal"
	"toolsvc/planner"
	"toolsvc/stack"
	"toolsvc/store"
	"toolsvc/tool"
)

// runCmd runs a plan, of steps or of stages.
type runCmd struct {
	Plan      string            `arg:"" optional:"" predictor:"plan" help:"The plan's file; - for standard input."`
	Goal      string            `help:"What is to be reached, in words: a model plans the calls. It needs GEMINI_API_KEY or --gemini-url."`
	Var       map[string]string `help:"A variable of the plan: --var base=http://127.0.0.1:8090. May be repeated." short:"e"`
	Resume    string            `help:"Watch a run that is there already, to its end." placeholder:"r_…"`
	From      string            `help:"Begin with this stage of the plan: those before it were verified by an earlier run, and are not repeated." placeholder:"stage"`
	NoHealing bool              `help:"One attempt a step, for comparison."`
	JSON      bool              `name:"json" help:"Print the run's final state as JSON to standard output."`
	policyFlags
}

func (c *runCmd) Run(ctx context.Context, common *Common, std streams) error {
	given := 0
	for _, s := range []string{c.Plan, c.Goal, c.Resume} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return usage("give a plan's file, or --goal and what is to be reached, or --resume and a run")
	}
	policy, err := c.policy()
	if err != nil {
		return err
	}
	ctx, shown, done, err := common.traced(ctx, std, "run")
	if err != nil {
		return err
	}
	defer done()
	log := common.logger(std)
	servers, err := common.openBackends(ctx, log, every)
	if err != nil {
		return err
	}
	defer servers.done(ctx, log)
	known, err := servers.registry()
	if err != nil {
		return usage("%w", err)
	}
	var plan *planFile
	if c.Plan != "" {
		if plan, err = readPlan(c.Plan, c.Var, c.From); err != nil {
			return err
		}
		// All of the plan is checked before anything is started.
		if _, err := plan.prepare(std, known, common.lang(plan.Plan)); err != nil {
			return err
		}
	} else if c.From != "" {
		return usage("--from names a stage of a plan: give the plan's file too")
	}
	s, err := common.open(ctx, std, stack.Options{Ephemeral: true, Toolsets: servers.toolsets(), Telemetry: shown})
	if err != nil {
		return err
	}
	servers.keep = s.Store
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the run's end is what counts
	runID := c.Resume
	if plan != nil {
		if plan.asks() && !s.Service.HasModel && !s.Attached {
			return errNoModel("the plan has agents, which need a model")
		}
		if runID, err = startPlan(ctx, std, s, plan, common.lang(plan.Plan), c.NoHealing, &policy); err != nil {
			return err
		}
		fmt.Fprintf(std.err, "Run %s\n", runID)
	}
	if c.Goal != "" {
		if !s.Service.HasModel && !s.Attached {
			return errNoModel("a goal needs a model")
		}
		in, err := s.Service.PrepareGoal(c.Goal, "", policy, common.lang(nil))
		if err != nil {
			return usage("%w", err)
		}
		if err := s.Service.Start(ctx, in); err != nil {
			return &exit{exitInfrastructure, err}
		}
		runID = in.RunID
		fmt.Fprintf(std.err, "Run %s\n", runID)
	}
	st, err := follow(ctx, std.err, s, runID)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := writeJSON(std.out, st); err != nil {
			return err
		}
	} else if err := printTable(std.out, s, st); err != nil {
		return err
	}
	switch {
	case len(st.Questions) > 0:
		return &exit{status: exitWaiting}
	case st.Outcome != planner.OutcomeSucceeded:
		return &exit{status: exitFailed}
	}
	return nil
}

func errNoModel(why string) error {
	return &exit{exitInfrastructure, fmt.Errorf("%s: set GEMINI_API_KEY, or point --gemini-url at a service that speaks Gemini's protocol", why)}
}

// planFile is a plan with what the command line says of it.
type planFile struct {
	*planner.Plan
	file string
	vars map[string]string
	from string
}

// readPlan reads a plan, without starting anything.
func readPlan(file string, vars map[string]string, from string) (*planFile, error) {
	in := os.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usage("read the plan: %w", err)
		}
		defer f.Close() //nolint:errcheck // read only
		in = f
	}
	var text bytes.Buffer
	plan, err := planner.ParsePlan(io.TeeReader(in, &text))
	if err != nil {
		return nil, usage("%s: %w", file, err)
	}
	for name := range vars { // a misspelt one would leave the plan's own value in force
		if _, known := plan.Vars[name]; known || bytes.Contains(text.Bytes(), []byte("${"+name+"}")) {
			continue
		}
		known := slices.Sorted(maps.Keys(plan.Vars))
		near := tool.Nearest(name, known)
		switch {
		case near != "":
			return nil, usage("--var %s: %s has no variable of that name; did you mean %s?", name, file, near)
		case len(known) > 0:
			return nil, usage("--var %s: %s has no variable of that name; it has %s", name, file, strings.Join(known, ", "))
		}
		return nil, usage("--var %s: %s has no variables", name, file)
	}
	if from != "" && len(plan.Stages) == 0 {
		return nil, usage("%s has no stages, so there is none to begin with; --from is for plans with stages", file)
	}
	return &planFile{plan, file, vars, from}, nil
}

// asks reports whether a stage that will run needs a model.
func (p *planFile) asks() bool {
	began := p.from == ""
	for _, s := range p.Stages {
		began = began || s.Name == p.from
		if began && s.Agent != nil {
			return true
		}
	}
	return false
}

// prepare checks every step and every stage. When one is not right, every mistake of every one is printed, and the error ends the program.
func (p *planFile) prepare(std streams, service *planner.Service, lang string) (planner.Input, error) {
	var in planner.Input
	var err error
	if len(p.Stages) > 0 {
		in, err = service.PreparePipeline(p.Plan, p.vars, lang, p.from)
	} else {
		in, err = service.PrepareSteps(p.Plan, p.vars, lang)
	}
	var bad *planner.PlanError
	if errors.As(err, &bad) {
		for _, line := range bad.Lines(p.file) {
			fmt.Fprintln(std.err, line)
		}
		return in, usage("%s: %s; nothing was started", p.file, bad)
	}
	if err != nil {
		return in, usage("%s: %w", p.file, err)
	}
	return in, nil
}

// startPlan starts the run of a plan.
func startPlan(ctx context.Context, std streams, s *stack.Stack, plan *planFile, lang string, noHealing bool, policy *tool.Policy) (string, error) {
	in, err := plan.prepare(std, s.Service, lang)
	if err != nil {
		return "", err
	}
	in.NoHealing = noHealing
	if policy != nil {
		in.Policy = in.Policy.Or(*policy)
	}
	if err := s.Service.Start(ctx, in); err != nil {
		return "", &exit{exitInfrastructure, err}
	}
	return in.RunID, nil
}

// follow prints the run's narration until the run has ended, and returns its last state. When ctx ends first, the run is cancelled.
func follow(ctx context.Context, w io.Writer, s *stack.Stack, runID string) (*planner.State, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	narrated := make(chan struct{})
	go func() {
		defer close(narrated)
		narrate(watching, w, s.Store, runID)
	}()
	ended, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var st *planner.State
	var err error
	over := make(chan struct{})
	go func() {
		defer close(over)
		st, err = s.Service.Wait(ended, runID)
	}()
	asked := make(chan *planner.State, 1)
	go awaitQuestion(ended, s, runID, asked)
	select {
	case <-over:
	case waiting := <-asked: // nobody here can answer: say how, and leave the run as it is
		stop()
		if err := printQuestions(w, waiting.Questions); err != nil {
			return nil, err
		}
		return waiting, nil
	}
	if ctx.Err() != nil { // interrupted: end the run too, in its own time
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		if err := s.Service.Cancel(ending, runID); err != nil {
			return nil, &exit{exitInfrastructure, err}
		}
		if _, err := s.Service.Wait(ending, runID); err != nil && ending.Err() != nil { // what a stage did so far is taken back meanwhile
			return nil, &exit{exitFailed, fmt.Errorf("interrupted; run %s is being cancelled, and ends when toolsvc runs again", runID)}
		}
		return nil, &exit{exitFailed, fmt.Errorf("interrupted; run %s is cancelled", runID)}
	}
	if err != nil {
		return nil, &exit{exitInfrastructure, err}
	}
	select { // the last events are written before the run ends; reading them takes a moment
	case <-narrated:
	case <-time.After(5 * time.Second):
	}
	return st, nil
}

// awaitQuestion delivers the run's state as soon as it waits for an answer.
func awaitQuestion(ctx context.Context, s *stack.Stack, runID string, asked chan<- *planner.State) {
	for e, err := range s.Store.Watch(ctx, runID, 0) {
		if err != nil {
			return
		}
		if e.Kind != store.KindQuestion && e.Kind != store.KindApproval {
			continue
		}
		st, err := s.Service.State(ctx, runID)
		if err == nil && len(st.Questions) > 0 {
			asked <- st
			return
		}
	}
}

// narrate prints the run's narration as it comes, until the run's last event or the end of ctx. What the run of a stage tells stands below its
// stage, indented.
func narrate(ctx context.Context, w io.Writer, events *store.Store, runID string) {
	out := terminal.New(w)
	stage := func() {} // waits until the run of the stage in hand has told everything
	for e, err := range events.Watch(ctx, runID, 0) {
		if err != nil {
			if ctx.Err() == nil {
				fmt.Fprintln(w, "toolsvc: the narration ended:", err)
			}
			return
		}
		switch e.Kind {
		case store.KindNarration:
			stage()
			if err := out.Event(e.Data); err != nil { // nobody reads any more
				return
			}
			if told, err := narration.Decode(e.ID, e.Data); err == nil && told.Stage == narration.ExecutingStep && told.Source == "" {
				stage = narrateStage(ctx, w, events, planner.StageRunID(runID, told.Step, told.Attempt))
			}
		case store.KindRun:
			var change struct {
				Outcome planner.Outcome `json:"outcome"`
			}
			if json.Unmarshal(e.Data, &change) == nil && change.Outcome != planner.OutcomeRunning {
				stage()
				return
			}
		}
	}
}

// narrateStage prints what the run of a stage tells, indented. What it returns waits for its end, a moment at the most: a stage whose
// preconditions do not hold has no run.
func narrateStage(ctx context.Context, w io.Writer, events *store.Store, runID string) (wait func()) {
	ctx, stop := context.WithCancel(ctx)
	told := make(chan struct{})
	go func() {
		defer close(told)
		narrate(ctx, indented{w}, events, runID)
	}()
	return func() {
		defer stop()
		select {
		case <-told:
		case <-time.After(300 * time.Millisecond): // longer than the store takes to notice what another process wrote
		}
		stop()
		<-told
	}
}

// indented writes lines four columns to the right.
type indented struct{ w io.Writer }

func (i indented) Write(line []byte) (int, error) {
	if _, err := fmt.Fprintf(i.w, "    %s", line); err != nil {
		return 0, err
	}
	return len(line), nil
}

// printTable prints a line a step.
func printTable(w io.Writer, s *stack.Stack, st *planner.State) error {
	fmt.Fprintln(w)
	if err := terminal.Table(w, st.Language, st.Rows()); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nRun %s: %s.\n", st.RunID, st.Outcome)
	if p := st.Planning; p != nil && p.Answer != "" {
		fmt.Fprintf(w, "Answer: %s\n", p.Answer)
	}
	if p := st.Planning; p != nil && p.Finalized != "" {
		fmt.Fprintf(w, "The planner was stopped: %s.\n", strings.TrimSuffix(p.Finalized, "."))
	}
	for _, step := range st.Steps {
		r := step.Result
		switch {
		case r == nil:
		case strings.HasPrefix(string(step.Tool), "stage.") && (r.Error != nil || len(r.Attempts) > 1):
			printAttempts(w, step.Title, r)
		case r.Error != nil && step.Status == planner.StatusFailed:
			fmt.Fprintf(w, "%s: %s\n", step.Title, r.Error.Message)
		}
	}
	if url := s.Service.RunURL(st.RunID); url != "" {
		fmt.Fprintf(w, "In Temporal's UI (while toolsvc runs; start it again with \"toolsvc serve\"): %s\n", url)
	}
	return nil
}

// printAttempts says of each attempt at a stage what came of it, with the checks that failed.
func printAttempts(w io.Writer, title string, r *tool.Result) {
	fmt.Fprintf(w, "%s:\n", title)
	for _, a := range r.Attempts {
		switch {
		case a.Failure == "":
			fmt.Fprintf(w, "  attempt %d: verified\n", a.Number)
		case a.RolledBack:
			fmt.Fprintf(w, "  attempt %d: %s, taken back. %s\n", a.Number, a.Failure, a.Message)
		default:
			fmt.Fprintf(w, "  attempt %d: %s. %s\n", a.Number, a.Failure, a.Message)
		}
	}
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
