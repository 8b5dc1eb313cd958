package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"toolsvc/narration/terminal"
	"toolsvc/planner"
	"toolsvc/stack"
	"toolsvc/store"
	"toolsvc/tool"
)

// callCmd makes one call.
type callCmd struct {
	Tool    tool.ID `arg:"" predictor:"tool" help:"The tool: browser.navigate."`
	Payload string  `arg:"" optional:"" default:"{}" help:"The payload as JSON; - reads it from standard input."`
	InRun   string  `name:"run" help:"The run to call in; started when it is not there, and kept open." placeholder:"r_…"`
	policyFlags
}

func (c *callCmd) Run(ctx context.Context, common *Common, std streams) error {
	payload := []byte(c.Payload)
	if c.Payload == "-" {
		var err error
		if payload, err = io.ReadAll(io.LimitReader(os.Stdin, tool.MaxPayload+1)); err != nil {
			return usage("read the payload: %w", err)
		}
	}
	req, err := c.request(payload)
	if err != nil {
		return err
	}
	ctx, shown, done, err := common.traced(ctx, std, "call")
	if err != nil {
		return err
	}
	defer done()
	log := common.logger(std)
	servers, err := common.openBackends(ctx, log, common.toolsetsOf(req.Tool))
	if err != nil {
		return err
	}
	defer servers.done(ctx, log)
	known, err := servers.registry()
	if err != nil {
		return usage("%w", err)
	}
	if err := c.check(known, req, common.lang(nil), std); err != nil { // before anything of toolsvc's own is started
		return err
	}
	s, err := common.open(ctx, std, stack.Options{Ephemeral: c.InRun == "", Toolsets: servers.toolsets(), Telemetry: shown})
	if err != nil {
		return err
	}
	servers.keep = s.Store
	defer s.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the result is what counts
	if req.RunID == "" {
		req.RunID = tool.NewRunID()
	}
	told, err := narrateCall(ctx, std.err, s.Store, req, c.InRun == "")
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	res, err := s.Service.CallIn(ctx, req, common.lang(nil), c.InRun == "")
	if err != nil {
		told(0)
		return &exit{exitInfrastructure, err}
	}
	if res.Status == tool.StatusNeedsInput {
		told(0) // what is asked is printed with the result
	} else {
		told(lastWords)
	}
	return printResult(std, res)
}

// lastWords is how long the end of a call's narration is waited for, once its result is there: events are stored a moment after it.
const lastWords = 2 * time.Second

// narrateCall prints the narration of one call as it comes: not what the run told before, nor what its other calls tell. In a run of its own the
// run's words belong to it. What it returns waits for the call's last words, that long at the most, and ends the printing.
func narrateCall(ctx context.Context, w io.Writer, events *store.Store, req tool.Request, alone bool) (told func(time.Duration), err error) {
	after := int64(0)
	for !alone { // what is there already was told by the calls before
		page, err := events.Events(ctx, req.RunID, after, store.MaxPage)
		if err != nil {
			return nil, err
		}
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
		if len(page) < store.MaxPage {
			break
		}
	}
	ctx, stop := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if alone {
			narrate(ctx, w, events, req.RunID)
			return
		}
		out := terminal.New(w)
		for e, err := range events.Watch(ctx, req.RunID, after) {
			switch {
			case err != nil && ctx.Err() == nil:
				fmt.Fprintln(w, "toolsvc: the narration ended:", err)
				return
			case err != nil:
				return
			case e.Kind != store.KindNarration || !strings.HasPrefix(e.Key, req.CallID+"/"):
			case out.Event(e.Data) != nil: // nobody reads any more
				return
			case e.Key == planner.LastWordsKey(req.CallID):
				return
			}
		}
	}()
	return func(patience time.Duration) {
		select {
		case <-over:
		case <-time.After(patience):
		case <-ctx.Done():
		}
		stop()
		<-over
	}, nil
}

func (c *callCmd) request(payload []byte) (tool.Request, error) {
	policy, err := c.policy()
	if err != nil {
		return tool.Request{}, err
	}
	return tool.Request{CallID: tool.NewCallID(), RunID: c.InRun, Tool: c.Tool, Arguments: payload, Policy: &policy}, nil
}

// check validates the call without starting anything; an invalid one is printed as the ToolResult that it is.
func (c *callCmd) check(known *planner.Service, req tool.Request, lang string, std streams) error {
	_, rejected, err := known.Prepare(req, lang)
	var unknown *planner.UnknownToolError
	switch {
	case errors.As(err, &unknown):
		return usage("%w", err)
	case err != nil:
		return err
	case rejected != nil && !req.Policy.Repair.Reaches(tool.RepairModel): // else a model or a person corrects it in the run
		if err := writeJSON(std.out, rejected); err != nil {
			return err
		}
		if rejected.RetryHint == nil { // refused for another reason than its arguments, by the policy for one
			return usage("%s", rejected.Error.Message)
		}
		for _, i := range rejected.RetryHint.Fields().Issues {
			fmt.Fprintln(std.err, "toolsvc:", i.Message)
		}
		return &exit{status: exitUsage}
	}
	return nil
}

// toolsCmd shows the catalogue.
type toolsCmd struct {
	Tool tool.ID `arg:"" optional:"" predictor:"tool" help:"One tool, in full."`
	JSON bool    `name:"json" help:"As JSON."`
}

func (c *toolsCmd) Run(ctx context.Context, common *Common, std streams) error {
	log := common.logger(std)
	needed := every
	if c.Tool != "" {
		needed = common.toolsetsOf(c.Tool)
	}
	servers, err := common.openBackends(ctx, log, needed)
	if err != nil {
		return err
	}
	defer servers.done(ctx, log)
	known, err := servers.registry()
	if err != nil {
		return usage("%w", err)
	}
	reg := known.Registry
	if c.Tool == "" {
		return listTools(std.out, reg, c.JSON)
	}
	spec := reg.Lookup(c.Tool)
	if spec == nil {
		return usage("%w", &planner.UnknownToolError{Tool: c.Tool, Nearest: reg.Nearest(c.Tool)})
	}
	return showTool(std.out, spec, c.JSON)
}

func listTools(w io.Writer, reg *tool.Registry, asJSON bool) error {
	if asJSON {
		var all []catalogueEntry
		for _, id := range reg.IDs() {
			all = append(all, entry(reg.Lookup(id)))
		}
		return writeJSON(w, all)
	}
	for _, id := range reg.IDs() {
		s := reg.Lookup(id)
		if _, err := fmt.Fprintf(w, "%-20s %-12s %s\n", id, s.Effect, s.Description); err != nil {
			return err
		}
	}
	return nil
}

// catalogueEntry is a tool as the catalogue shows it.
type catalogueEntry struct {
	ID             tool.ID           `json:"id"`
	Title          string            `json:"title"`
	Description    string            `json:"description"`
	Effect         tool.EffectClass  `json:"effect"`
	EffectRules    []tool.EffectRule `json:"effect_rules,omitempty"`
	Sources        []tool.Source     `json:"sources"`
	Preconditions  []tool.Condition  `json:"preconditions,omitempty"`
	Postconditions []tool.Condition  `json:"postconditions,omitempty"`
	TimeLimitMS    int64             `json:"time_limit_ms"`
	Rollback       string            `json:"rollback,omitempty"`
	Confirm        string            `json:"confirm,omitempty"`
	Payload        json.RawMessage   `json:"payload_schema"`
	Result         json.RawMessage   `json:"result_schema"`
	Example        json.RawMessage   `json:"example"`
}

func entry(s *tool.Spec) catalogueEntry {
	return catalogueEntry{ID: s.ID, Title: s.Title, Description: s.Description, Effect: s.Effect, EffectRules: s.EffectRules, Sources: s.Sources,
		Preconditions: s.Preconditions, Postconditions: s.Postconditions, TimeLimitMS: s.TimeLimit.Milliseconds(), Rollback: s.Rollback,
		Confirm: s.Confirm, Payload: s.PayloadSchema, Result: s.ResultSchema, Example: s.Example}
}

func showTool(w io.Writer, s *tool.Spec, asJSON bool) error {
	if asJSON {
		return writeJSON(w, entry(s))
	}
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	p("%s: %s\n\n%s\n\n", s.ID, s.Title, s.Description)
	p("Effect      %s\n", s.Effect)
	for _, r := range s.EffectRules {
		p("            %s when %s\n", r.Class, r.When)
	}
	p("Sources     %v\nTime limit  %s\n", s.Sources, s.TimeLimit)
	if s.Rollback != "" {
		p("Rollback    %s\n", s.Rollback)
	}
	for _, c := range s.Preconditions {
		p("Before      %s: %s\n", c.Name, c.Expression)
	}
	for _, c := range s.Postconditions {
		p("Afterwards  %s: %s\n", c.Name, c.Expression)
	}
	p("\nExample\n  toolsvc call %s '%s'\n\nPayload (JSON Schema)\n", s.ID, s.Example)
	return writeJSON(w, s.PayloadSchema)
}
