package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/user"

	"toolsvc/planner"
	"toolsvc/stack"
	"toolsvc/tool"
)

// answerCmd answers a question of a run.
type answerCmd struct {
	RunID    string `arg:"" name:"run" help:"The run: r_…"`
	Question string `arg:"" optional:"" help:"The question: q_… or a_…; the run's only one when it is left out."`
	Answer   string `arg:"" optional:"" help:"The answer as a JSON object, like the question's example. Without it, the open questions are shown."`
	Approve  bool   `help:"Approve the call that the question shows." xor:"approval"`
	Refuse   bool   `help:"Refuse it." xor:"approval"`
}

func (c *answerCmd) Run(ctx context.Context, common *Common, std streams) error {
	if c.Answer == "" && len(c.Question) > 0 && c.Question[0] == '{' { // the only question's
		c.Question, c.Answer = "", c.Question
	}
	s, err := common.open(ctx, std, stack.Options{})
	if err != nil {
		return err
	}
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the answer is what counts
	st, err := s.Service.State(ctx, c.RunID)
	if errors.Is(err, planner.ErrUnknownRun) {
		return usage("%w", err)
	}
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	q, err := c.pick(st)
	if err != nil {
		return err
	}
	if c.Answer == "" && !c.Approve && !c.Refuse {
		return printQuestions(std.out, st.Questions)
	}
	var res *tool.Result
	if c.Approve || c.Refuse {
		if q.Kind != tool.AskApproval {
			return usage("%s asks for an answer, not for an approval: %s", q.ID, howToAnswer(q))
		}
		res, err = s.Service.Approve(ctx, c.RunID, q.ID, c.Approve, q.Digest, person())
	} else {
		res, err = s.Service.Answer(ctx, c.RunID, q.ID, json.RawMessage(c.Answer), person())
	}
	switch {
	case errors.Is(err, planner.ErrQuestionClosed):
		return usage("%w", err)
	case err != nil:
		return &exit{exitInfrastructure, err}
	case res == nil:
		_, err := fmt.Fprintln(std.out, "The answer is taken; the run goes on.")
		return err
	}
	return printResult(std, res)
}

// pick finds the question that is meant.
func (c *answerCmd) pick(st *planner.State) (tool.Question, error) {
	switch {
	case len(st.Questions) == 0:
		return tool.Question{}, usage("run %s waits for no answer", c.RunID)
	case c.Question == "" && (len(st.Questions) == 1 || c.Answer == "" && !c.Approve && !c.Refuse):
		return st.Questions[0], nil
	case c.Question == "":
		return tool.Question{}, usage("run %s has %d open questions; name one of them (toolsvc answer %s shows them)", c.RunID, len(st.Questions), c.RunID)
	}
	for _, q := range st.Questions {
		if q.ID == c.Question {
			return q, nil
		}
	}
	return tool.Question{}, usage("run %s has no open question %s; toolsvc answer %s shows those it has", c.RunID, c.Question, c.RunID)
}

// printResult prints a call's result and gives the exit status that belongs to it.
func printResult(std streams, res *tool.Result) error {
	if err := writeJSON(std.out, res); err != nil {
		return err
	}
	switch {
	case res.Status == tool.StatusNeedsInput:
		if res.Error != nil {
			fmt.Fprintln(std.err, "toolsvc:", res.Error.Message)
			return &exit{status: exitUsage}
		}
		if err := printQuestions(std.err, []tool.Question{*res.Question}); err != nil {
			return err
		}
		return &exit{status: exitWaiting}
	case !res.OK():
		return &exit{status: exitFailed}
	}
	return nil
}

// printQuestions shows open questions, and how to answer them.
func printQuestions(w io.Writer, qs []tool.Question) error {
	for _, q := range qs {
		if _, err := fmt.Fprintf(w, "%s: %s\n", q.ID, q.Text); err != nil {
			return err
		}
		for _, i := range q.Issues {
			fmt.Fprintf(w, "  %s\n", i.Message)
		}
		for _, c := range q.Candidates {
			text, err := json.Marshal(c)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "  candidate: %s\n", text)
		}
		if len(q.PriorInput) > 0 {
			fmt.Fprintf(w, "  arguments: %s\n", q.PriorInput)
		}
		fmt.Fprintf(w, "  answer it: %s\n  open until %s\n", howToAnswer(q), q.ExpiresAt.Local().Format("2006-01-02 15:04"))
	}
	return nil
}

// howToAnswer is the command that answers a question.
func howToAnswer(q tool.Question) string {
	switch q.Kind {
	case tool.AskApproval:
		return fmt.Sprintf("toolsvc answer %s %s --approve (or --refuse)", q.RunID, q.ID)
	case tool.AskOutcome:
		return fmt.Sprintf(`toolsvc answer %s %s '{"happened": true}' (or false)`, q.RunID, q.ID)
	case tool.AskFreely:
		return fmt.Sprintf(`toolsvc answer %s %s '{"text": "…"}'`, q.RunID, q.ID)
	}
	example := `{"…": "…"}`
	if len(q.ExampleInput) > 0 {
		example = string(q.ExampleInput)
	}
	return fmt.Sprintf("toolsvc answer %s %s '%s'", q.RunID, q.ID, example)
}

// person is who sits at this command line, for the record.
func person() string {
	if u, err := user.Current(); err == nil {
		return "command line: " + u.Username
	}
	return "command line"
}

// pauseCmd pauses a run.
type pauseCmd struct {
	RunID string `arg:"" name:"run" help:"The run: r_…"`
}

func (c *pauseCmd) Run(ctx context.Context, common *Common, std streams) error {
	return control(ctx, common, std, c.RunID, (*planner.Service).Pause, "is paused; the step in hand goes on")
}

// resumeCmd lets a paused run go on.
type resumeCmd struct {
	RunID string `arg:"" name:"run" help:"The run: r_…"`
}

func (c *resumeCmd) Run(ctx context.Context, common *Common, std streams) error {
	return control(ctx, common, std, c.RunID, (*planner.Service).Resume, "goes on")
}

func control(ctx context.Context, common *Common, std streams, runID string, do func(*planner.Service, context.Context, string) error, done string) error {
	s, err := common.open(ctx, std, stack.Options{UIPort: -1})
	if err != nil {
		return err
	}
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the change is what counts
	err = do(s.Service, ctx, runID)
	if errors.Is(err, planner.ErrUnknownRun) || errors.Is(err, planner.ErrRunEnded) {
		return overAlready(ctx, s, runID, err)
	}
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	_, err = fmt.Fprintf(std.out, "run %s %s\n", runID, done)
	return err
}

// policyFlags are the policy of a run that a command starts.
type policyFlags struct {
	Repair   tool.RepairLevel `help:"How far a payload may be corrected: none, syntax, lossless, model or person." enum:",none,syntax,lossless,model,person" default:""`
	Ask      bool             `help:"Let the run ask, and wait, where a target is ambiguous or an outcome unknown."`
	Approve  tool.ApproveMode `help:"What becomes of calls that need an approval: ask, allow or deny." enum:",ask,allow,deny" default:""`
	Allow    []string         `help:"Tools that may be called: browser.*, terminal.run." placeholder:"tool"`
	Deny     []string         `help:"Tools that may not be called." placeholder:"tool"`
	MaxCalls int              `help:"Bound of the run's calls; 500 when 0."`
}

func (f policyFlags) policy() (tool.Policy, error) {
	p := tool.Policy{Repair: f.Repair, Ask: f.Ask, Approve: f.Approve, Allow: f.Allow, Deny: f.Deny, MaxCalls: f.MaxCalls}
	if issues := p.Validate(""); len(issues) > 0 {
		return p, usage("%w", issues)
	}
	return p, nil
}
