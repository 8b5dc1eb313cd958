package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"toolsvc/gen/toolsets"
	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/store"
	"toolsvc/tool"
)

// SceneRun is the run that Scene makes.
const SceneRun = "r_4mwhq6zt2c9xk7bnv5sd3jyp8a"

// sceneStart is when the scene plays, so that its pictures are the same each time.
var sceneStart = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// Pictures are the screenshots of a scene, and where the click was aimed; none when Before is empty.
type Pictures struct {
	Before, After []byte
	Mark          *tool.Mark
}

// titles of the scene's run and its steps.
var titles = map[narration.Lang][]string{
	narration.English:  {"Order the oak table", "Open shop.example", "Click “Add to basket”", "Type into “Quantity”", "Click “Confirm”", "Select “Express” in “Delivery”", "Pay with the stored card"},
	narration.Korean:   {"참나무 탁자 주문", "shop.example 열기", "“장바구니에 담기” 클릭", "“수량”에 입력", "“확인” 클릭", "“배송”에서 “빠른 배송” 선택", "저장된 카드로 결제"},
	narration.Japanese: {"オーク材テーブルの注文", "shop.exampleを開く", "「カートに入れる」をクリック", "「数量」に入力", "「確認」をクリック", "「配送」で「速達」を選択", "保存済みのカードで支払う"},
}

// Scene writes a run that shows all there is: a step that was healed by other sources, one whose payload was repaired and whose target was
// relocated by heal memory, one that was rolled back, a question and an approval that wait, and steps to come. Beside it there are runs for
// the list.
func (w *World) Scene(ctx context.Context, lang narration.Lang, pics Pictures) error {
	said := titles[lang]
	var refs tool.EvidenceRefs
	if len(pics.Before) > 0 {
		var err error
		if refs.Before, err = w.Keep(ctx, pics.Before, pics.Mark); err != nil {
			return err
		}
		if refs.After, err = w.Keep(ctx, pics.After, nil); err != nil {
			return err
		}
	}
	link := &tool.RunLink{WorkflowID: SceneRun, URL: "http://127.0.0.1:8233/namespaces/default/workflows/" + SceneRun}
	verified := func(id string, after string, ms int64, checks ...tool.Check) *tool.Result {
		return &tool.Result{CallID: id, RunID: SceneRun, Result: json.RawMessage(`{"url":"https://shop.example/basket","title":"Basket","changed":true}`), RunLink: link,
			Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Threshold: 0.7, Explanation: after, Checks: checks, Evidence: refs},
			Telemetry:    tool.Telemetry{DurationMS: ms, QueuedMS: 3}}
	}
	opened := verified("c_1", "All 2 checks hold.", 412,
		tool.Check{Name: "page is ready", Condition: "page.ready", Expected: "true", Observed: "true", Passed: true},
		tool.Check{Name: "address", Condition: `page.url.startsWith("https://shop.example")`, Expected: "https://shop.example…", Observed: "https://shop.example/", Passed: true})
	opened.Tool, opened.Verification.Evidence = "browser.navigate", tool.EvidenceRefs{}
	opened.Attempts = []tool.AttemptRecord{{Number: 1, Source: tool.SourceSystem, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed, DurationMS: 398}}
	clicked := verified("c_2", "All 3 checks hold.", 1840,
		tool.Check{Name: "the click was delivered", Condition: "effect.delivered", Expected: "true", Observed: "true", Passed: true},
		tool.Check{Name: "no error is shown", Condition: "page.errors.size() == 0", Expected: "0", Observed: "0", Passed: true},
		tool.Check{Name: "expect 1", Condition: `page.text.contains("1 article in your basket")`, Expected: "“1 article in your basket” on the page", Observed: "Basket: 1 article in your basket", Passed: true})
	clicked.Tool = "browser.click"
	clicked.Attempts = []tool.AttemptRecord{
		{Number: 1, Source: tool.SourceAX, Input: tool.InputMouse, Phase: tool.PhaseStarted, Effect: tool.EffectNone, Failure: tool.TargetNotFound, Message: "No button “Add to basket” is in the accessibility tree.", DurationMS: 310},
		{Number: 2, Source: tool.SourceCDP, Input: tool.InputMouse, Phase: tool.PhaseSettled, Effect: tool.EffectNone, Failure: tool.NoEffect, Message: "The action had no effect: 0 mutations, 0 requests, 0 pixels.", DurationMS: 560},
		{Number: 3, Source: tool.SourceVision, Input: tool.InputMouse, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed, DurationMS: 930}}
	typed := verified("c_3", "The check holds.", 96, tool.Check{Name: "the field shows the text", Condition: "target.value == args.text", Expected: "2", Observed: "2", Passed: true})
	typed.Tool, typed.Verification.Evidence = "browser.type", tool.EvidenceRefs{}
	typed.Result = json.RawMessage(`{"url":"https://shop.example/basket","title":"Basket","changed":true,"acted_on":"textbox \"Quantity\" in \"Basket\" (relocated textbox \"Quantity\", which was textbox \"Amount\" when it was last verified (similarity 0.91, of the next 0.34))"}`)
	typed.Attempts = []tool.AttemptRecord{{Number: 1, Source: tool.SourceAX, Input: tool.InputKeyboard, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed, DurationMS: 88}}
	typed.Repairs = []tool.Repair{{Path: "/text", Rule: "integer_to_string", Tier: "lossless", From: "2", To: `"2"`}, {Path: "/target", Rule: "field_name_spelling", Tier: "lossless", From: `"Target"`, To: `"target"`}}
	failedChecks := []string{"no error is shown"}
	refused := &tool.Result{CallID: "c_4", RunID: SceneRun, Tool: "browser.click", RunLink: link,
		Error: tool.NewErrorWithCause(tool.VerificationFailed, "After the click an error is shown: “Please choose a delivery”.", fmt.Errorf("check “no error is shown” did not hold")),
		RetryHint: tool.HintVerification(toolsets.Registry().Lookup("browser.click"), tool.ReasonVerificationFailed, "The state is as before the click. Choose a delivery first, then confirm again.",
			tool.RollbackNotice{Performed: true, RestoredTo: "before attempt 1: the dialog is closed", FailedChecks: failedChecks}, []byte(`{"target":{"name":"Confirm"}}`)),
		Verification: &tool.Verification{Verdict: tool.VerdictFailure, Confidence: 1, Threshold: 0.7, Explanation: "1 of 2 checks does not hold.", Checks: []tool.Check{
			{Name: "the click was delivered", Condition: "effect.delivered", Expected: "true", Observed: "true", Passed: true},
			{Name: "no error is shown", Condition: "page.errors.size() == 0", Expected: "0", Observed: "1: “Please choose a delivery”", Passed: false}}},
		Attempts:  []tool.AttemptRecord{{Number: 1, Source: tool.SourceAX, Input: tool.InputMouse, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed, Failure: tool.VerificationFailed, Message: "1 of 2 checks does not hold.", RolledBack: true, DurationMS: 240}},
		Telemetry: tool.Telemetry{DurationMS: 251}}
	missing := ArgumentsQuestion(SceneRun, "c_5", "q_5jx2mn4tq7wkc3zr6vbd8hysfa", "browser.select", `{"target":{"name":"Delivery"}}`)
	approval := tool.Question{ID: "a_5jx2mn4tq7wkc3zr6vbd8hysfa", Kind: tool.AskApproval, RunID: SceneRun, CallID: "c_6", Tool: "payments.charge",
		Text: "May the stored card be charged with 249.00 EUR?", Reason: tool.ReasonConfirmationRequired, Digest: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		PriorInput: json.RawMessage(`{"order":"A-1042","amount":{"value":"249.00","currency":"EUR"},"card":"[redacted]"}`),
		AskedAt:    sceneStart.Add(12 * time.Second), ExpiresAt: sceneStart.Add(7 * 24 * time.Hour)}
	steps := []planner.StepState{
		{CallID: "c_1", Tool: "browser.navigate", Status: planner.StatusVerified, Result: opened},
		{CallID: "c_2", Tool: "browser.click", Status: planner.StatusVerified, Result: clicked},
		{CallID: "c_3", Tool: "browser.type", Status: planner.StatusVerified, Result: typed},
		{CallID: "c_4", Tool: "browser.click", Status: planner.StatusFailed, Result: refused},
		{CallID: "c_5", Tool: "browser.select", Status: planner.StatusWaiting},
		{CallID: "c_6", Tool: "payments.charge", Status: planner.StatusQueued}}
	for i := range steps {
		steps[i].Title = said[i+1]
	}
	w.Put(planner.State{RunID: SceneRun, Title: said[0], Language: string(lang), Kind: planner.KindCaller, Outcome: planner.OutcomeRunning, Steps: steps,
		Questions: []tool.Question{missing, approval}, Began: sceneStart})
	for i, o := range []planner.Outcome{planner.OutcomeSucceeded, planner.OutcomeFailed, planner.OutcomeRunning, planner.OutcomeCancelled, planner.OutcomeIdle} {
		w.Put(planner.State{RunID: fmt.Sprintf("r_%d7k2vq3xw5n4hj6rtd8ym9bza", i), Title: said[i+1], Language: string(lang), Kind: planner.KindScript, Outcome: o, Began: sceneStart.Add(-time.Duration(i+1) * 47 * time.Minute)})
	}
	return w.sceneEvents(ctx, lang, said, approval)
}

func (w *World) sceneEvents(ctx context.Context, lang narration.Lang, said []string, approval tool.Question) error {
	clock := sceneStart
	m := func(step, attempt int, source tool.Source) narration.Moment {
		clock = clock.Add(430 * time.Millisecond)
		return narration.Moment{Lang: string(lang), RunID: SceneRun, Step: step, Steps: 6, Attempt: attempt, Source: source, At: clock}
	}
	return w.Say(ctx, SceneRun,
		m(0, 0, "").Accepted(said[0]),
		m(1, 1, tool.SourceSystem).Executing(said[1]), m(1, 1, tool.SourceSystem).Verifying(), m(1, 1, tool.SourceSystem).Verified(said[1], 412*time.Millisecond),
		m(2, 1, "").Observing(), m(2, 1, tool.SourceAX).Executing(said[2]), m(2, 2, tool.SourceCDP).Retrying(tool.SourceAX, narration.Trouble{Failure: tool.TargetNotFound}),
		m(2, 2, tool.SourceCDP).Executing(said[2]), m(2, 3, tool.SourceVision).Retrying(tool.SourceCDP, narration.Trouble{Failure: tool.NoEffect}),
		m(2, 3, "").Observing(), m(2, 3, tool.SourceVision).Executing(said[2]), m(2, 3, tool.SourceVision).Verifying(), m(2, 3, tool.SourceVision).Verified(said[2], 1840*time.Millisecond),
		m(3, 1, tool.SourceAX).Executing(said[3]), m(3, 1, tool.SourceAX).Verifying(), m(3, 1, tool.SourceAX).Verified(said[3], 96*time.Millisecond),
		m(4, 1, tool.SourceAX).Executing(said[4]), m(4, 1, tool.SourceAX).Verifying(), m(4, 1, tool.SourceAX).RolledBack(),
		m(4, 1, tool.SourceAX).Failed(said[4], narration.Trouble{Failure: tool.VerificationFailed}, tool.SourceAX),
		m(5, 0, "").WaitingForAnswer(said[5]), m(6, 0, "").WaitingForApproval(approval.Text))
}

// ArgumentsQuestion asks for what the payload of a call lacks, as the planner would.
func ArgumentsQuestion(run, call, id string, name tool.ID, payload string) tool.Question {
	spec := toolsets.Registry().Lookup(name)
	_, issues := spec.Decode([]byte(payload))
	h := tool.HintArguments(spec, issues, []byte(payload)).Fields()
	return tool.Question{ID: id, Kind: tool.AskArguments, RunID: run, CallID: call, Tool: name, Text: h.ClarifyingQuestion, Reason: h.Reason, MissingFields: h.MissingFields,
		Issues: h.Issues, Schema: spec.PayloadSchema, ExampleInput: spec.Example, PriorInput: h.PriorInput, RestrictToTool: true,
		AskedAt: sceneStart.Add(10 * time.Second), ExpiresAt: sceneStart.Add(7 * 24 * time.Hour)}
}

// Ask opens a question of a run.
func (w *World) Ask(ctx context.Context, q tool.Question) error {
	w.Change(q.RunID, func(st *planner.State) { st.Questions = append(st.Questions, q) })
	kind := store.KindQuestion
	if q.Kind == tool.AskApproval {
		kind = store.KindApproval
	}
	return w.Happen(ctx, q.RunID, kind, q)
}
