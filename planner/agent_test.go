package planner

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"

	"toolsvc/gemini/geminitest"
	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

// settled is the payload of the tests' agent-backed tool, and its result.
type settled struct {
	Order string `json:"order"`
	Note  string `json:"note,omitempty"`
}

func (settled) Expectations() []string { return nil }
func (settled) Purpose() string        { return "" }

func decodeSettled(text []byte) (*settled, tool.Issues) {
	v := new(settled)
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return nil, tool.Issues{{Constraint: tool.ConstraintSyntax, Message: "It is not JSON of the type: " + err.Error() + "."}}
	}
	if v.Order == "" {
		return nil, tool.Issues{{Path: "/order", Constraint: "required", Message: "order is required."}}
	}
	return v, nil
}

const orderSchema = `{"type":"object","properties":{"order":{"type":"string"},"note":{"type":"string"}},"required":["order"],"additionalProperties":false}`

// backed is a tool that an agent backs, with one condition.
func backed(id tool.ID, class tool.EffectClass, condition string, agent tool.Agent) *tool.Spec {
	return &tool.Spec{ID: id, Title: "Settle", Description: "Settle a complaint.", Effect: class, Sources: []tool.Source{tool.SourceSystem}, TimeLimit: time.Minute,
		Postconditions: []tool.Condition{{Name: "held", Expression: condition, Message: "it is settled"}},
		PayloadSchema:  json.RawMessage(orderSchema), ResultSchema: json.RawMessage(orderSchema), Example: json.RawMessage(`{"order":"H-1"}`), Agent: &agent,
		Decode: func(text []byte) (tool.Payload, tool.Issues) {
			v, issues := decodeSettled(text)
			if issues != nil {
				return nil, issues
			}
			return v, nil
		},
		DecodeResult: func(text []byte) (any, tool.Issues) {
			v, issues := decodeSettled(text)
			return v, issues
		},
		EncodeResult: func(v any) ([]byte, error) { return json.Marshal(v) }}
}

// office is a world with agent-backed tools, whose model plays the turns.
func office(t *testing.T, answer func(AttemptInput) (Report, error), specs []*tool.Spec, turns ...geminitest.Turn) (*world, *geminitest.Server) {
	t.Helper()
	w, s := goal(t, answer, turns...)
	var all []*tool.Spec
	for _, id := range toolsets.Registry().IDs() {
		all = append(all, toolsets.Registry().Lookup(id))
	}
	reg, err := tool.NewRegistry(all, specs)
	if err != nil {
		t.Fatal(err)
	}
	w.real.Registry = reg
	if w.real.Sealer, err = NewSealer(make([]byte, SealKeySize)); err != nil {
		t.Fatal(err)
	}
	return w, s
}

// settle is a call of an agent-backed tool, as a caller makes it.
func (w *world) settle(t *testing.T, id tool.ID, p tool.Policy) Input {
	t.Helper()
	st, rejected, err := prepareStep(w.real.Registry, nil, tool.Request{CallID: "c_test", RunID: "r_test", Tool: id, Arguments: json.RawMessage(`{"order":"H-17","note":"in confidence"}`)}, "en")
	if err != nil || rejected != nil {
		t.Fatalf("%v %+v", err, rejected)
	}
	if st, err = w.real.Sealer.seal(st); err != nil {
		t.Fatal(err)
	}
	in := script(st)
	in.Policy = p
	return in
}

var clicked = tool.Agent{Instructions: "Click it.", Goal: "Settle {{args}}.", Tools: []string{"browser.click"}}

const oneClick = `state.calls.exists(c, c.tool == "browser.click" && c.verified) && result.order == args.order`

// The agent's answer is the tool's typed result; what it was told holds the arguments, and neither history does.
func TestAgentBacksATool(t *testing.T) {
	t.Parallel()
	w, s := office(t, always, []*tool.Spec{backed("desk.settle", tool.Reversible, oneClick, clicked)},
		geminitest.Turn{If: geminitest.All(geminitest.Says(`Settle {"order":"H-17","note":"in confidence"}.`), geminitest.Told("Click it."), geminitest.Told(`"required":["order"]`)), Reply: geminitest.Calls(clicks("Pay")).Tokens(100, 20, 0)},
		geminitest.Turn{If: geminitest.Answers("browser_click"), Reply: geminitest.Text("```json\n{\"order\": \"H-17\"}\n```").Tokens(200, 30, 0)},
	)
	running := ""
	in := w.settle(t, "desk.settle", tool.Policy{})
	w.OnActivity(activityPlan, mock.Anything, mock.Anything).Return(func(ctx context.Context, turn TurnInput) (Planned, error) {
		running = turn.RunID
		text, err := json.Marshal(turn)
		if err != nil || strings.Contains(string(text), "in confidence") {
			t.Errorf("the turn's input, which stands in the history, is %s (%v)", text, err)
		}
		return w.real.Plan(ctx, turn)
	})
	w.ExecuteWorkflow(Run, in)
	st := w.state(t)
	res := st.Steps[0].Result
	if !res.OK() || string(res.Result) != `{"order":"H-17"}` || res.ChildrenCount != 1 || st.Outcome != OutcomeSucceeded {
		t.Fatalf("%+v %+v", res, res.Error)
	}
	if st.Steps[0].ChildRun != "r_test-1-1" || running != "r_test-1-1" || len(res.ChildRuns) != 1 || res.ChildRuns[0].WorkflowID != "r_test-1-1" {
		t.Errorf("the child's run is %q, %+v", st.Steps[0].ChildRun, res.ChildRuns)
	}
	if res.Telemetry.Model == "" || res.Telemetry.InputTokens != 300 || res.Telemetry.OutputTokens != 50 {
		t.Errorf("telemetry %+v", res.Telemetry)
	}
	if got := s.Requests()[0].FunctionNames(); !slices.Equal(got, []string{"browser_click"}) {
		t.Errorf("the agent could call %v", got)
	}
	if text, _ := json.Marshal(in); strings.Contains(string(text), "in confidence") { //nolint:errcheck // plain data
		t.Errorf("the run's input holds the arguments in clear: %s", text)
	}
}

// An answer that is no result is malformed_response; the agent is asked for the answer alone, with nothing to call, so that no work is done
// twice, whatever the tool does to the world.
func TestAgentIsAskedForItsAnswerAgain(t *testing.T) {
	t.Parallel()
	for _, class := range []tool.EffectClass{tool.Idempotent, tool.Irreversible} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			w, s := office(t, always, []*tool.Spec{backed("desk.settle", class, oneClick, clicked)},
				geminitest.Turn{Reply: geminitest.Calls(clicks("Pay"))},
				geminitest.Turn{Reply: geminitest.Text("I have settled it.")},
				geminitest.Turn{If: geminitest.All(geminitest.Says("is not the JSON object that was asked for"), geminitest.Says("What you did stands"), geminitest.Not(geminitest.Declares("browser_click"))), Reply: geminitest.JSON(map[string]string{"order": "H-17"})},
			)
			w.ExecuteWorkflow(Run, w.settle(t, "desk.settle", tool.Policy{Approve: tool.ApproveAllow}))
			res := w.state(t).Steps[0].Result
			if !res.OK() || len(res.Attempts) != 2 || res.Attempts[0].Failure != tool.MalformedResponse || len(w.attempts) != 1 || len(res.ChildRuns) != 2 {
				t.Fatalf("%d clicks, %+v, %+v; the fake refused %v", len(w.attempts), res, res.Error, s.Refused())
			}
		})
	}
}

func TestAgentNeverAnswersInForm(t *testing.T) {
	t.Parallel()
	agent := clicked
	agent.Attempts = 2
	w, _ := office(t, always, []*tool.Spec{backed("desk.settle", tool.ReadOnly, oneClick, agent)},
		geminitest.Turn{Reply: geminitest.Text("Done.")}, geminitest.Turn{Reply: geminitest.Text(`{"orders": "H-17"}`)})
	w.ExecuteWorkflow(Run, w.settle(t, "desk.settle", tool.Policy{}))
	res := w.state(t).Steps[0].Result
	if res.Error == nil || res.Error.Code != tool.MalformedResponse || len(res.Attempts) != 2 {
		t.Fatalf("%+v %+v", res, res.Error)
	}
	if h := res.RetryHint; h.Reason() != tool.ReasonMalformedResponse || len(h.Fields().Issues) == 0 {
		t.Errorf("hint %+v", h.Fields())
	}
}

// Another attempt is made only when nothing stands that may not be repeated.
func TestAgentIsToldWhichConditionFailed(t *testing.T) {
	t.Parallel()
	answer := geminitest.JSON(map[string]string{"order": "H-17"})
	for _, c := range []struct {
		class    tool.EffectClass
		effect   tool.Effect
		attempts int
		ok       bool
	}{
		{tool.Idempotent, tool.EffectConfirmed, 2, true},
		{tool.Reversible, tool.EffectNone, 2, true},
		{tool.Reversible, tool.EffectConfirmed, 1, false},
		{tool.Irreversible, tool.EffectNone, 1, false},
	} {
		t.Run(string(c.class)+" "+string(c.effect), func(t *testing.T) {
			t.Parallel()
			turns := []geminitest.Turn{{Reply: geminitest.Calls(clicks("Pay"))}, {Reply: answer}}
			if c.ok {
				turns = append(turns, geminitest.Turn{If: geminitest.Says("held"), Reply: geminitest.Calls(clicks("Pay"))}, geminitest.Turn{Reply: answer})
			}
			made := 0
			w, s := office(t, func(in AttemptInput) (Report, error) {
				if made++; made > 1 {
					return verified(in), nil
				}
				rep := notFound(in)
				rep.Record.Failure, rep.Record.Phase, rep.Record.Effect = tool.Disabled, tool.PhaseSettled, c.effect
				return rep, nil
			}, []*tool.Spec{backed("desk.settle", c.class, oneClick, clicked)}, turns...)
			w.ExecuteWorkflow(Run, w.settle(t, "desk.settle", tool.Policy{Approve: tool.ApproveAllow}))
			res := w.state(t).Steps[0].Result
			if res.OK() != c.ok || len(res.Attempts) != c.attempts {
				t.Fatalf("%+v, %+v; the fake refused %v", res, res.Error, s.Refused())
			}
			if !c.ok && c.effect == tool.EffectConfirmed && res.RetryHint.Reason() != tool.ReasonOutcomeUnknown {
				t.Errorf("the caller is told %s", res.RetryHint.Reason())
			}
		})
	}
}

// chainOf lists the codes and messages of an error and its causes.
func chainOf(e *tool.Error) (codes []tool.Failure, text string) {
	for ; e != nil; e = e.Cause {
		codes = append(codes, e.Code)
		text += e.Message + "\n"
	}
	return codes, text
}

// The cause chain leads from the caller's call through the agents down to what failed, and the hint is about what the caller can do.
func TestAgentKeepsTheCauseChain(t *testing.T) {
	t.Parallel()
	outer := tool.Agent{Instructions: "Have it settled.", Tools: []string{"desk.settle"}}
	w, s := office(t, func(in AttemptInput) (Report, error) {
		rep := notFound(in)
		rep.Error = tool.NewErrorWithCause(tool.TargetNotFound, "it is not there", tool.NewError("", "the shop is closed"))
		return rep, nil
	}, []*tool.Spec{backed("desk.settle", tool.Reversible, oneClick, clicked), backed("front.settle", tool.Reversible, oneClick, outer)},
		geminitest.Turn{If: geminitest.Told("Have it settled."), Reply: geminitest.Calls(geminitest.Call("desk_settle", map[string]any{"order": "H-17"}))},
		geminitest.Turn{If: geminitest.Told("Click it."), Reply: geminitest.Calls(clicks("Pay"))},
		geminitest.Turn{If: geminitest.Told("Click it."), Reply: geminitest.JSON(map[string]string{"failed": "There is nothing to click."})},
		geminitest.Turn{If: geminitest.Told("Have it settled."), Reply: geminitest.JSON(map[string]string{"failed": "The desk cannot do it."})},
	)
	w.ExecuteWorkflow(Run, w.settle(t, "front.settle", tool.Policy{}))
	res := w.state(t).Steps[0].Result
	if res.Error == nil || res.Error.Code != tool.TargetNotFound || len(res.Attempts) != 1 {
		t.Fatalf("%+v %+v; the fake refused %v", res, res.Error, s.Refused())
	}
	codes, text := chainOf(res.Error)
	if at := strings.Index(text, "run r_test-1-1, desk.settle"); at < 0 || strings.Index(text, "run r_test-1-1-1-1, browser.click") < at || !strings.HasSuffix(text, "the shop is closed\n") {
		t.Errorf("the chain is %v:\n%s", codes, text)
	}
	if res.RetryHint.Reason() != tool.ReasonTargetNotFound {
		t.Errorf("the hint is %+v", res.RetryHint.Fields())
	}
}

// Agents that call each other come to an end: by depth, and when one is asked for what it is at work on already.
func TestAgentsDoNotCallEachOtherWithoutEnd(t *testing.T) {
	t.Parallel()
	self := tool.Agent{Instructions: "Go on.", Tools: []string{"desk.*"}}
	call := func(order string) geminitest.Reply {
		return geminitest.Calls(geminitest.Call("desk_settle", map[string]any{"order": order, "note": "in confidence"}))
	}
	failed := geminitest.JSON(map[string]string{"failed": "It went round."})
	t.Run("circle", func(t *testing.T) {
		t.Parallel()
		w, _ := office(t, always, []*tool.Spec{backed("desk.settle", tool.ReadOnly, oneClick, self)},
			geminitest.Turn{Reply: call("H-17")}, geminitest.Turn{If: geminitest.Says("loop_detected"), Reply: failed})
		w.ExecuteWorkflow(Run, w.settle(t, "desk.settle", tool.Policy{}))
		if codes, text := chainOf(w.state(t).Steps[0].Result.Error); !slices.Contains(codes, tool.LoopDetected) || !strings.Contains(text, "circle") {
			t.Errorf("the chain is %v\n%s", codes, text)
		}
	})
	t.Run("depth", func(t *testing.T) {
		t.Parallel()
		w, s := office(t, always, []*tool.Spec{backed("desk.settle", tool.ReadOnly, oneClick, self)},
			geminitest.Turn{Reply: call("H-18")}, geminitest.Turn{Reply: call("H-19")}, geminitest.Turn{If: geminitest.Not(geminitest.Declares("desk_settle")), Reply: failed},
			geminitest.Turn{Reply: failed}, geminitest.Turn{Reply: failed})
		w.ExecuteWorkflow(Run, w.settle(t, "desk.settle", tool.Policy{}))
		if res := w.state(t).Steps[0].Result; res.OK() || len(s.Requests()) != 5 {
			t.Errorf("%+v", res)
		}
	})
}

// What the caller's policy forbids stays forbidden for the agent; what is left of its budgets bounds it.
func TestAgentKeepsTheCallersPolicy(t *testing.T) {
	t.Parallel()
	agent := tool.Agent{Instructions: "Click it.", Tools: []string{"browser.*"}, MaxCalls: 5, TokenBudget: 9000}
	w, s := office(t, always, []*tool.Spec{backed("desk.settle", tool.ReadOnly, oneClick, agent)},
		geminitest.Turn{Reply: geminitest.Calls(clicks("Pay"))}, geminitest.Turn{Reply: geminitest.JSON(map[string]string{"order": "H-17"})})
	var turn TurnInput
	w.OnActivity(activityPlan, mock.Anything, mock.Anything).Return(func(ctx context.Context, in TurnInput) (Planned, error) {
		turn = in
		return w.real.Plan(ctx, in)
	})
	w.ExecuteWorkflow(Run, w.settle(t, "desk.settle", tool.Policy{Allow: []string{"desk.*", "browser.c*"}, Deny: []string{"browser.check"}, TokenBudget: 4000, Approve: tool.ApproveDeny}))
	if res := w.state(t).Steps[0].Result; !res.OK() {
		t.Fatalf("%+v", res.Error)
	}
	for _, name := range s.Requests()[0].FunctionNames() {
		if !strings.HasPrefix(name, "browser_c") || name == "browser_check" {
			t.Errorf("the agent could call %s", name)
		}
	}
	if p := turn.Policy; p.MaxCalls != 5 || p.TokenBudget != 4000 || p.TimeBudgetMS != 60_000 || p.Approve != tool.ApproveDeny {
		t.Errorf("the agent's policy is %+v", p)
	}
}

// Without a model an agent cannot work; the caller learns so, at once.
func TestAgentWithoutAModel(t *testing.T) {
	t.Parallel()
	w, _ := office(t, always, []*tool.Spec{backed("desk.settle", tool.Reversible, oneClick, clicked)})
	w.real.Planner = nil
	w.ExecuteWorkflow(Run, w.settle(t, "desk.settle", tool.Policy{}))
	res := w.state(t).Steps[0].Result
	if res.Error == nil || res.Error.Code != tool.ToolUnavailable || len(res.Attempts) != 1 || !strings.Contains(res.Error.Message, "GEMINI_API_KEY") {
		t.Errorf("%+v %+v", res, res.Error)
	}
}

// Of a run that broke off nobody knows how far it came: where it may have done something that the workspace's backup does not take back, the
// attempt does not count as taken back.
func TestBrokeOff(t *testing.T) {
	t.Parallel()
	steps := func(ss ...Step) Stage { return Stage{Steps: ss} }
	for _, c := range []struct {
		name  string
		stage Stage
		known bool
	}{
		{"files only", steps(Step{Tool: "document.write", Class: tool.Reversible}, Step{Tool: "terminal.run", Class: tool.Irreversible}), true},
		{"a look outside", steps(Step{Tool: "browser.snapshot", Class: tool.ReadOnly}, Step{Tool: "orders.upsert", Class: tool.Idempotent}), true},
		{"a click", steps(Step{Tool: "document.write", Class: tool.Reversible}, Step{Tool: "browser.click", Class: tool.Reversible}), false},
		{"an agent with all tools", Stage{Goal: "Write it."}, false},
		{"an agent with files", Stage{Goal: "Write it.", Policy: tool.Policy{Allow: []string{"document.*", "terminal.run"}}}, true},
		{"an agent with more", Stage{Goal: "Write it.", Policy: tool.Policy{Allow: []string{"document.*", "*"}}}, false},
		{"a tool's agent", Stage{Agent: true, Policy: tool.Policy{Allow: []string{"orders.*"}}}, false},
	} {
		out := StageOutcome{RunID: "r_1-1-1"}.brokeOff(&c.stage, errors.New("terminated"))
		if known := len(out.Outside) == 0 && out.Effect != tool.EffectUnknown; known != c.known || out.Ended || out.Failure == "" || !strings.Contains(out.Why, "terminated") {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
}

// What the calls of a run have left decides whether the run may be made again.
func TestLeft(t *testing.T) {
	t.Parallel()
	call := func(id tool.ID, class tool.EffectClass, status Status, effect tool.Effect, back bool) StepState {
		return StepState{Tool: id, Class: class, Status: status, Result: &tool.Result{Attempts: []tool.AttemptRecord{{Effect: effect, RolledBack: back}}}}
	}
	for _, c := range []struct {
		name    string
		steps   []StepState
		effect  tool.Effect
		outside string
	}{
		{"nothing", nil, tool.EffectNone, ""},
		{"not made", []StepState{{Tool: "a.b", Class: tool.Irreversible}}, tool.EffectNone, ""},
		{"read", []StepState{call("a.b", tool.ReadOnly, StatusVerified, tool.EffectConfirmed, false)}, tool.EffectNone, ""},
		{"taken back", []StepState{call("a.b", tool.Reversible, StatusFailed, tool.EffectConfirmed, true)}, tool.EffectNone, ""},
		{"repeatable", []StepState{call("a.b", tool.Idempotent, StatusVerified, tool.EffectConfirmed, false)}, tool.EffectConfirmed, ""},
		{"in the workspace", []StepState{call("document.write", tool.Reversible, StatusVerified, tool.EffectConfirmed, false)}, tool.EffectConfirmed, ""},
		{"outside", []StepState{call("a.b", tool.Reversible, StatusVerified, tool.EffectConfirmed, false), call("a.b", tool.Reversible, StatusVerified, tool.EffectConfirmed, false)}, tool.EffectConfirmed, "a.b"},
		{"unknown, then verified", []StepState{call("a.b", tool.Irreversible, StatusVerified, tool.EffectUnknown, false)}, tool.EffectConfirmed, "a.b"},
		{"unknown", []StepState{call("a.b", tool.Irreversible, StatusFailed, tool.EffectUnknown, false), call("c.d", tool.Reversible, StatusVerified, tool.EffectConfirmed, false)}, tool.EffectUnknown, "a.b c.d"},
	} {
		if effect, outside := left(c.steps); effect != c.effect || strings.Join(outside, " ") != c.outside {
			t.Errorf("%s: %s, %v", c.name, effect, outside)
		}
		var carried []StepState
		for _, st := range c.steps {
			carried = append(carried, st.withoutResult())
		}
		if effect, outside := left(carried); effect != c.effect || strings.Join(outside, " ") != c.outside {
			t.Errorf("%s, in a new history: %s, %v", c.name, effect, outside)
		}
	}
}
