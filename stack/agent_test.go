package stack

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toolsvc/examples/orders"
	shopsvc "toolsvc/examples/orders/gen/orders"
	"toolsvc/examples/orders/gen/toolsets/desk"
	shoptools "toolsvc/examples/orders/gen/toolsets/orders"
	"toolsvc/examples/orders/gen/toolsets/orders/executor"
	"toolsvc/gemini"
	"toolsvc/gemini/geminitest"
	"toolsvc/planner"
	"toolsvc/tool"
)

// shop is a real service with books of its own; the agent of desk.settle_complaint works with its operations.
var shop *orders.Service

func openShop(ctx context.Context, db string) (err error) {
	if shop, err = orders.Open(ctx, db); err != nil {
		return err
	}
	for _, id := range []string{"H-1", "H-2", "H-3", "H-4", "H-5", "H-6"} {
		if _, err := shop.Upsert(ctx, &shopsvc.UpsertPayload{ID: id, Customer: "Ada", Lines: []*shopsvc.Line{{Sku: "LPV-0001", Quantity: 3, Cents: 1000}}}); err != nil {
			return errors.Join(err, shop.Close())
		}
	}
	return nil
}

func shopTools() []Toolset {
	return []Toolset{{Specs: shoptools.Specs(), Executor: executor.New(shop)}, {Specs: desk.Specs()}}
}

// paidBack is what the shop's books say was paid back of the order.
func paidBack(t *testing.T, order string) int64 {
	t.Helper()
	o, err := shop.Find(t.Context(), &shopsvc.FindPayload{ID: order})
	if err != nil {
		t.Fatal(err)
	}
	return o.RefundedCents
}

func complaint(t *testing.T, order string, p tool.Policy) tool.Request {
	t.Helper()
	r := request(t, "desk.settle_complaint", map[string]any{"order": order, "complaint": "One of the records arrived cracked."})
	r.Policy = &p
	return r
}

func finds(order string) geminitest.FunctionCall {
	return geminitest.Call("orders_find", map[string]any{"order": order})
}

func refunds(order string) geminitest.FunctionCall {
	return geminitest.Call("orders_refund", map[string]any{"order": order, "cents": 1000, "reason": "damaged"})
}

var refunded = map[string]any{"decision": "refunded", "cents": 1000, "reply": "We are sorry, and have paid 10 back."}

// settles makes the call and waits for its result.
func settles(t *testing.T, s *Stack, req tool.Request) *tool.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := s.Service.Call(ctx, req, "en")
	if err != nil {
		t.Fatalf("%v; the fake refused %v", err, model.Refused())
	}
	return res
}

var approved = tool.Policy{Approve: tool.ApproveAllow}

// A tool that an agent backs, on real parts: its typed result is checked against what its calls really came to.
func TestAgentBackedTool(t *testing.T) {
	model.Add(
		geminitest.Turn{If: geminitest.All(geminitest.Says(`Settle this complaint: {`), geminitest.Says(`"H-1"`)), Reply: geminitest.Calls(finds("H-1"))},
		geminitest.Turn{If: geminitest.Answers("orders_find"), Reply: geminitest.Calls(refunds("H-1"))},
		geminitest.Turn{If: geminitest.Answers("orders_refund"), Reply: geminitest.JSON(refunded)},
	)
	res := settles(t, shared, complaint(t, "H-1", approved))
	if !res.OK() || res.ChildrenCount != 2 || len(res.Attempts) != 1 || len(res.ChildRuns) != 1 || res.ChildRuns[0].URL == "" || res.Telemetry.InputTokens == 0 {
		t.Fatalf("%+v %+v; the fake refused %v", res, res.Error, model.Refused())
	}
	if got := paidBack(t, "H-1"); got != 1000 {
		t.Errorf("%d cents were paid back", got)
	}
	child, err := shared.Service.State(t.Context(), res.ChildRuns[0].WorkflowID)
	if err != nil || child.Outcome != planner.OutcomeSucceeded || len(child.Steps) != 2 {
		t.Errorf("the agent's run: %+v %v", child, err)
	}
	if got := activities(history(t, res.RunID, "agent")); !slices.Equal(got, []string{"StageBegin", "StageEnd"}) {
		t.Errorf("activities %v", got)
	}
	for _, e := range history(t, res.ChildRuns[0].WorkflowID, "agent-child") {
		if strings.Contains(e.String(), "arrived cracked") {
			t.Errorf("the agent's history holds the arguments in clear: %s", e)
		}
	}
}

// What the agent says it did counts only as far as it did it.
func TestAgentThatMakesItUp(t *testing.T) {
	model.Add(
		geminitest.Turn{If: geminitest.Says(`"H-2"`), Reply: geminitest.Calls(finds("H-2"))},
		geminitest.Turn{If: geminitest.Answers("orders_find"), Reply: geminitest.JSON(refunded)},
	)
	res := settles(t, shared, complaint(t, "H-2", approved))
	if res.OK() || res.Error.Code != tool.PostconditionFailed || !slices.Contains(res.Verification.Failed(), "booked") || paidBack(t, "H-2") != 0 {
		t.Errorf("%+v %+v; the fake refused %v", res, res.Error, model.Refused())
	}
}

// A malformed answer is asked for again, and the money is paid once.
func TestAgentAnswersAnew(t *testing.T) {
	model.Add(
		geminitest.Turn{If: geminitest.Says(`"H-3"`), Reply: geminitest.Calls(finds("H-3"), refunds("H-3"))},
		geminitest.Turn{If: geminitest.Answers("orders_refund"), Reply: geminitest.JSON(map[string]any{"decision": "paid", "cents": "10"})},
		geminitest.Turn{If: geminitest.All(geminitest.Says("/decision"), geminitest.Says("/reply"), geminitest.Not(geminitest.Declares("orders_refund"))), Reply: geminitest.JSON(refunded)},
	)
	res := settles(t, shared, complaint(t, "H-3", approved))
	if !res.OK() || len(res.Attempts) != 2 || res.Attempts[0].Failure != tool.MalformedResponse || paidBack(t, "H-3") != 1000 {
		t.Errorf("%+v %+v; the fake refused %v", res, res.Error, model.Refused())
	}
}

// The cause chain leads into the agent's run, and the hint says what the caller can do.
func TestAgentFails(t *testing.T) {
	model.Add(
		geminitest.Turn{If: geminitest.Says(`"H-404"`), Reply: geminitest.Calls(finds("H-404"))},
		geminitest.Turn{If: geminitest.Answers("orders_find"), Reply: geminitest.JSON(map[string]any{"failed": "There is no such order."})},
	)
	res := settles(t, shared, complaint(t, "H-404", approved))
	if res.OK() || res.Error.Code != tool.TargetNotFound || res.RetryHint.Reason() != tool.ReasonTargetNotFound || len(res.Attempts) != 1 {
		t.Fatalf("%+v %+v; the fake refused %v", res, res.Error, model.Refused())
	}
	found := false
	for e := res.Error; e != nil; e = e.Cause {
		found = found || e.Code == tool.TargetNotFound && strings.Contains(e.Message, res.ChildRuns[0].WorkflowID+", orders.find")
	}
	if !found {
		t.Errorf("the chain does not lead into the agent's run: %+v", res.Error)
	}
}

// A caller that cancels its run ends the agent's run as well, and nothing more is done.
func TestAgentIsCancelled(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	first := len(model.Requests())
	model.Add(geminitest.Turn{If: geminitest.Says(`"H-4"`), Reply: geminitest.Calls(refunds("H-4")).Until(hold)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := complaint(t, "H-4", approved)
	req.RunID = tool.NewRunID()
	called := make(chan error, 1)
	go func() {
		_, err := shared.Service.Call(ctx, req, "en")
		called <- err
	}()
	if _, err := model.Await(ctx, first+1); err != nil {
		t.Fatal(err)
	}
	st, err := shared.Service.State(ctx, req.RunID)
	if err != nil || st.Steps[0].ChildRun == "" {
		t.Fatalf("while the agent works, the run's state is %+v %v", st, err)
	}
	if err := shared.Service.Cancel(ctx, req.RunID); err != nil {
		t.Fatal(err)
	}
	if err := <-called; err == nil {
		t.Error("the cancelled call came to a result")
	}
	if _, err := shared.Service.Wait(ctx, st.Steps[0].ChildRun); err == nil || !strings.Contains(err.Error(), "anceled") {
		t.Errorf("the agent's run ended with %v", err)
	}
	if paidBack(t, "H-4") != 0 {
		t.Error("money was paid back")
	}
	_, _ = shared.Service.Wait(ctx, req.RunID)                                                                // it was cancelled; what matters is how
	if got := activities(history(t, req.RunID, "")); !slices.Equal(got, []string{"StageBegin", "StageEnd"}) { // its backup is closed
		t.Errorf("activities %v", got)
	}
}

// The process ends while the agent waits for an approval; the next one goes on where it stood.
func TestAgentSurvivesARestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o := Options{StateDir: filepath.Join(t.TempDir(), "state"), Ephemeral: true, UIPort: -1, Toolsets: shopTools(), Gemini: gemini.Options{BaseURL: model.URL()}}
	s, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	model.Add(
		geminitest.Turn{If: geminitest.Says(`"H-5"`), Reply: geminitest.Calls(finds("H-5"), refunds("H-5"))},
		geminitest.Turn{If: geminitest.Answers("orders_refund"), Reply: geminitest.JSON(refunded)},
	)
	req := complaint(t, "H-5", tool.Policy{})
	asked := settles(t, s, req)
	if asked.Status != tool.StatusNeedsInput || asked.Question.Kind != tool.AskApproval {
		t.Fatalf("%+v", asked)
	}
	run, call := asked.RunID, asked.CallID
	inner, err := s.Service.Approve(ctx, run, asked.Question.ID, true, asked.Question.Digest, "the test")
	if err != nil || inner.Status != tool.StatusNeedsInput || inner.CallID != call || inner.Question.Tool != "orders.refund" || inner.Question.RunID != run {
		t.Fatalf("what the agent's run asks is not asked by the call: %+v %v; the fake refused %v", inner, err, model.Refused())
	}
	q := inner.Question
	if own := question(t, ctx, s, run+"-1-1"); own.ID != q.ID || own.RunID != run+"-1-1" {
		t.Errorf("the agent's run asks %+v", own)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(ctx, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	if res, err := s.Service.Approve(ctx, run, q.ID, true, "sha256:of-other-arguments", "the test"); err != nil || res.Status != tool.StatusNeedsInput || res.Question.ID != q.ID || res.CallID != call || res.Tool != "desk.settle_complaint" {
		t.Fatalf("an approval of other arguments came to %+v %v", res, err)
	}
	if res, err := s.Service.Approve(ctx, run, q.ID, true, q.Digest, "the test"); err != nil || !res.OK() || res.CallID != call {
		t.Fatalf("the approved call came to %+v %v; the fake refused %v", res, err, model.Refused())
	}
	st, err := s.Service.Wait(ctx, run)
	if err != nil || st.Outcome != planner.OutcomeSucceeded || st.Steps[0].CallID != call || len(st.Questions) != 0 || len(st.Below) != 0 || paidBack(t, "H-5") != 1000 {
		t.Errorf("%+v %v; the fake refused %v", st, err, model.Refused())
	}
	if _, err := s.Service.Approve(ctx, run, q.ID, true, q.Digest, "the test"); !errors.Is(err, planner.ErrQuestionClosed) {
		t.Errorf("a second approval: %v", err)
	}
	var said []string
	events, err := s.Store.Events(ctx, run, 0, 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if strings.HasPrefix(e.Key, q.ID) {
			said = append(said, strings.TrimPrefix(e.Key, q.ID))
		}
	}
	if want := []string{"/asked", "/told", "/closed", "/continue"}; !slices.Equal(said, want) {
		t.Errorf("the events of the question are %v, want %v", said, want)
	}
}

// A question of an agent's run that is answered there is not open any more for the call either.
func TestAgentIsAnsweredBelow(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	model.Add(
		geminitest.Turn{If: geminitest.Says(`"H-6"`), Reply: geminitest.Calls(finds("H-6"), refunds("H-6"))},
		geminitest.Turn{If: geminitest.Answers("orders_refund"), Reply: geminitest.JSON(refunded)},
	)
	asked := settles(t, shared, complaint(t, "H-6", tool.Policy{}))
	inner, err := shared.Service.Approve(ctx, asked.RunID, asked.Question.ID, true, asked.Question.Digest, "the test")
	if err != nil || inner.Status != tool.StatusNeedsInput {
		t.Fatalf("%+v %v; the fake refused %v", inner, err, model.Refused())
	}
	if res, err := shared.Service.Approve(ctx, asked.RunID+"-1-1", inner.Question.ID, true, inner.Question.Digest, "the test"); err != nil || !res.OK() || res.Tool != "orders.refund" {
		t.Fatalf("the approved refund came to %+v %v", res, err)
	}
	st, err := shared.Service.Wait(ctx, asked.RunID)
	if err != nil || st.Outcome != planner.OutcomeSucceeded || len(st.Questions) != 0 || paidBack(t, "H-6") != 1000 {
		t.Errorf("%+v %v; the fake refused %v", st, err, model.Refused())
	}
}

// question waits for the run's first question.
func question(t *testing.T, ctx context.Context, s *Stack, runID string) tool.Question {
	t.Helper()
	for {
		st, err := s.Service.State(ctx, runID)
		if err == nil && len(st.Questions) > 0 {
			return st.Questions[0]
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the run %s asks nothing: %+v %v", runID, st, err)
		case <-time.After(20 * time.Millisecond): // a query is all that tells
		}
	}
}
