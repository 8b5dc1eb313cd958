package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"

	"toolsvc/store"
	"toolsvc/tool"
)

// memory keeps events as the store does: each key once.
type memory struct {
	mu        sync.Mutex
	events    []store.Event
	artifacts map[string][]byte
}

func (m *memory) Events(_ context.Context, _ string, after int64, limit int) (es []store.Event, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.ID > after && len(es) < limit {
			es = append(es, e)
		}
	}
	return es, nil
}

func (m *memory) PutArtifact(_ context.Context, _ string, data []byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.artifacts == nil {
		m.artifacts = map[string][]byte{}
	}
	d := tool.Digest(data)
	m.artifacts[d] = data
	return d, nil
}

func (m *memory) Artifact(_ context.Context, digest string) (string, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.artifacts[digest]
	if !ok {
		return "", nil, fmt.Errorf("there is no artifact %s", digest)
	}
	return "application/json", data, nil
}

func (m *memory) AppendEvents(_ context.Context, runID string, es []store.Event) ([]store.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range es {
		e.RunID, e.ID = runID, int64(len(m.events)+1)
		m.events = append(m.events, e)
	}
	return es, nil
}

func (m *memory) kinds(kind string) (es []store.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.Kind == kind {
			es = append(es, e)
		}
	}
	return es
}

// asking is a world whose questions are worded by the real activities, over the real registry.
func asking(t *testing.T, answer func(AttemptInput) (Report, error), correct func(CorrectInput) Corrected) (*world, *memory) {
	t.Helper()
	return observing(t, answer, verified, correct)
}

// observing is asking, with what a look at the world comes to.
func observing(t *testing.T, answer func(AttemptInput) (Report, error), observe func(AttemptInput) Report, correct func(CorrectInput) Corrected) (*world, *memory) {
	t.Helper()
	w := newWorld(t, answer, func(in AttemptInput) (Report, error) { return observe(in), nil })
	if correct != nil {
		w.OnActivity(activityCorrect, mock.Anything, mock.Anything).Return(func(_ context.Context, in CorrectInput) (Corrected, error) { return correct(in), nil })
	}
	return w, w.told
}

func (w *world) questions(t *testing.T) []tool.Question {
	t.Helper()
	v, err := w.QueryWorkflow(QueryState)
	if err != nil {
		t.Fatal(err)
	}
	var st State
	if err := v.Get(&st); err != nil {
		t.Fatal(err)
	}
	return st.Questions
}

// reply answers the run's first question after d.
func (w *world) reply(t *testing.T, d time.Duration, u *updated, reply func(tool.Question) Reply) {
	t.Helper()
	w.RegisterDelayedCallback(func() {
		qs := w.questions(t)
		if len(qs) == 0 {
			t.Error("there is no question")
			return
		}
		r := reply(qs[0])
		r.QuestionID = qs[0].ID
		w.UpdateWorkflow(UpdateAnswer, tool.NewCallID(), u, r)
	}, d)
}

func draft(id, payload string, issues ...tool.Issue) Step {
	s := step(id, tool.Reversible)
	s.Arguments = nil
	s.Draft = &Draft{Payload: []byte(payload), Issues: issues}
	return s
}

var nameMissing = tool.Issue{Path: "/target", Constraint: "required", ExpectedType: "object", Message: "target is required."}

func person() Input {
	return Input{RunID: "r_test", Kind: KindCaller, Language: "en", Single: true, Policy: tool.Policy{Repair: tool.RepairPerson, Ask: true, QuestionTTLMS: 3_600_000}}
}

func TestRunAsksForWhatIsMissing(t *testing.T) {
	t.Parallel()
	w, m := asking(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, func(CorrectInput) Corrected { return Corrected{NoModel: true} })
	first, answered, late := &updated{}, &updated{}, &updated{}
	w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateCall, "u", first, draft("a", `{}`, nameMissing)) }, time.Second)
	w.RegisterDelayedCallback(func() {
		w.UpdateWorkflow(UpdateAnswer, "wrong", late, Reply{QuestionID: "q_another"})
	}, 2*time.Second)
	w.reply(t, time.Minute, answered, func(q tool.Question) Reply {
		if q.Kind != tool.AskArguments || q.Tool != "browser.click" || q.CallID != "a" || len(q.MissingFields) != 1 || q.Text == "" || len(q.Schema) == 0 || len(q.ExampleInput) == 0 {
			t.Errorf("question %+v", q)
		}
		s := step("a", tool.Reversible)
		s.Repairs = []tool.Repair{{Path: "/target", Rule: "answered", Tier: "person"}}
		return Reply{Step: &s, By: "ada"}
	})
	w.ExecuteWorkflow(Run, person())
	st := w.state(t)
	if first.res == nil || first.res.Status != tool.StatusNeedsInput || first.res.Question == nil || first.res.Validate() != nil {
		t.Errorf("the caller got %+v", first)
	}
	if late.rejected == nil {
		t.Error("an answer to a question that is not there was taken")
	}
	if answered.res == nil || !answered.res.OK() || len(answered.res.Repairs) != 1 {
		t.Errorf("the answer came to %+v, %v, %v", answered.res, answered.err, answered.rejected)
	}
	if st.Outcome != OutcomeSucceeded || len(st.Questions) != 0 || st.WithPeopleMS < 50_000 {
		t.Errorf("state %+v", st)
	}
	if n := len(m.kinds(store.KindQuestion)); n != 2 { // asked, closed
		t.Errorf("%d question events", n)
	}
}

func TestQuestionExpires(t *testing.T) {
	t.Parallel()
	w, m := asking(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, func(CorrectInput) Corrected { return Corrected{NoModel: true} })
	w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindScript, Language: "en", Policy: person().Policy, Steps: []Step{draft("a", `{}`, nameMissing)}})
	res := w.state(t).Steps[0].Result
	if res.Error == nil || res.Error.Code != tool.QuestionExpired || len(w.attempts) != 0 {
		t.Errorf("result %+v, %d attempts", res, len(w.attempts))
	}
	if res.RetryHint == nil || len(res.RetryHint.Fields().Issues) != 1 { // what to send is still said
		t.Errorf("hint %+v", res.RetryHint)
	}
	events := m.kinds(store.KindQuestion)
	var c Closing
	if err := json.Unmarshal(events[len(events)-1].Data, &c); err != nil || c.How != "expired" {
		t.Errorf("the question was closed as %q (%v)", c.How, err)
	}
}

func TestSeveralQuestionsAreOpenAtOnce(t *testing.T) {
	t.Parallel()
	w, _ := asking(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, func(CorrectInput) Corrected { return Corrected{NoModel: true} })
	in := person()
	in.Single = false
	in.IdleMS = 60_000
	us := []*updated{{}, {}}
	w.RegisterDelayedCallback(func() {
		for i, u := range us {
			w.UpdateWorkflow(UpdateCall, fmt.Sprint("u", i), u, draft(fmt.Sprint("c", i), `{}`, nameMissing))
		}
	}, time.Second)
	w.RegisterDelayedCallback(func() {
		qs := w.questions(t)
		if len(qs) != 2 || qs[0].ID == qs[1].ID {
			t.Fatalf("questions %+v", qs)
		}
		for i := len(qs) - 1; i >= 0; i-- { // the second one first
			s := step(qs[i].CallID, tool.Reversible)
			w.UpdateWorkflow(UpdateAnswer, qs[i].ID, &updated{}, Reply{QuestionID: qs[i].ID, Step: &s})
		}
	}, time.Minute)
	w.ExecuteWorkflow(Run, in)
	if len(w.attempts) != 2 || w.attempts[0].Step.CallID != "c0" { // the order of arrival holds
		t.Errorf("%d attempts: %+v", len(w.attempts), w.attempts)
	}
}

func TestModelCorrectsBeforeAPersonIsAsked(t *testing.T) {
	t.Parallel()
	tries := 0
	w, m := asking(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, func(in CorrectInput) Corrected {
		tries++
		s := step(in.Step.CallID, tool.Reversible)
		return Corrected{Step: &s, Tokens: 10}
	})
	w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindScript, Language: "en", Policy: person().Policy, Steps: []Step{draft("a", `{`, nameMissing)}})
	if st := w.state(t); !st.Succeeded() || tries != 1 || st.Tokens != 10 || len(m.kinds(store.KindQuestion)) != 0 {
		t.Errorf("%d tries, state %+v", tries, st)
	}
}

func irreversible(id string) Step {
	s := step(id, tool.Irreversible)
	s.Confirm, s.Digest = "May it be done?", "sha256:"+id
	return s
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		mode     tool.ApproveMode
		approve  *bool
		attempts int
		failure  tool.Failure
	}{
		{"approved", "", new(true), 1, ""},
		{"refused", "", new(false), 0, tool.ConfirmationRequired},
		{"nobody answers", "", nil, 0, tool.QuestionExpired},
		{"allowed by the policy", tool.ApproveAllow, nil, 1, ""},
		{"denied by the policy", tool.ApproveDeny, nil, 0, tool.ConfirmationRequired},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, m := asking(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, nil)
			if c.approve != nil {
				w.reply(t, time.Minute, &updated{}, func(q tool.Question) Reply {
					if q.Kind != tool.AskApproval || !strings.HasPrefix(q.ID, "a_") || q.Digest != "sha256:a" {
						t.Errorf("question %+v", q)
					}
					return Reply{Approved: *c.approve}
				})
			}
			w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindScript, Language: "en", Policy: tool.Policy{Approve: c.mode, QuestionTTLMS: 3_600_000}, Steps: []Step{irreversible("a")}})
			res := w.state(t).Steps[0].Result
			if len(w.attempts) != c.attempts || c.failure == "" != res.OK() || c.failure != "" && res.Error.Code != c.failure {
				t.Errorf("%d attempts, result %+v", len(w.attempts), res)
			}
			if asked := len(m.kinds(store.KindApproval)) > 0; asked != (c.mode == "") {
				t.Errorf("asked: %t", asked)
			}
		})
	}
}

// What became of an action that no evidence decides is asked, and neither answer makes it a success by itself.
func TestRunAsksWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	unknown := func(in AttemptInput) Report {
		rec := in.record()
		rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseDispatched, tool.EffectUnknown, tool.OutcomeUnknown, "nobody knows"
		return Report{Record: rec}
	}
	for _, c := range []struct {
		name               string
		happened           bool
		evidence           func(AttemptInput) Report
		attempts, observed int
		ok                 bool
	}{
		{"it happened, and evidence agrees", true, verified, 1, 1, true},
		{"it happened, and evidence does not tell", true, unknown, 1, 1, false},
		{"it did not happen", false, nil, 2, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			made := 0
			w, _ := observing(t, func(in AttemptInput) (Report, error) {
				if made++; made == 1 {
					return unknown(in), nil
				}
				return verified(in), nil
			}, c.evidence, nil)
			w.reply(t, time.Minute, &updated{}, func(q tool.Question) Reply {
				if q.Kind != tool.AskOutcome {
					t.Errorf("question %+v", q)
				}
				return Reply{Happened: c.happened}
			})
			s := step("a", tool.Irreversible)
			s.Sources = []tool.Source{tool.SourceSystem}
			w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindScript, Language: "en", Policy: tool.Policy{Ask: true}, Steps: []Step{s}})
			res := w.state(t).Steps[0].Result
			if made != c.attempts || len(w.reconcile) != c.observed || res.OK() != c.ok {
				t.Errorf("%d attempts, %d looks, result %+v", made, len(w.reconcile), res)
			}
		})
	}
}

func TestRunAsksWhichOfTwo(t *testing.T) {
	t.Parallel()
	w, _ := asking(t, func(in AttemptInput) (Report, error) {
		if !strings.Contains(string(in.Step.Arguments), "within") {
			rec := in.record()
			rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseStarted, tool.EffectNone, tool.AmbiguousTarget, "two of them"
			return Report{Record: rec, Candidates: []tool.Candidate{{Name: "Play", Within: "A"}, {Name: "Play", Within: "B"}}}, nil
		}
		return verified(in), nil
	}, nil)
	w.reply(t, time.Minute, &updated{}, func(q tool.Question) Reply {
		if q.Kind != tool.AskArguments || len(q.Candidates) != 2 {
			t.Errorf("question %+v", q)
		}
		s := step("a", tool.Reversible)
		s.Arguments = json.RawMessage(`{"target":{"name":"Play","within":"A"}}`)
		return Reply{Step: &s}
	})
	first := step("a", tool.Reversible)
	first.Arguments = json.RawMessage(`{"target":{"name":"Play"}}`)
	w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindScript, Language: "en", Policy: tool.Policy{Ask: true}, Steps: []Step{first}})
	if res := w.state(t).Steps[0].Result; !res.OK() || len(res.Attempts) != 1 {
		t.Errorf("result %+v", res)
	}
}

// What the other side asks to be sent later is sent later, by a timer of the workflow, and not more often than the budget allows.
func TestRunBacksOff(t *testing.T) {
	t.Parallel()
	limited := func(in AttemptInput, after time.Duration) Report {
		rec := in.record()
		rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseStarted, tool.EffectNone, tool.RateLimited, "too many"
		return Report{Record: rec, RetryAfterMS: after.Milliseconds()}
	}
	t.Run("until it is taken", func(t *testing.T) {
		t.Parallel()
		made := 0
		w := newWorld(t, func(in AttemptInput) (Report, error) {
			if made++; made < 3 {
				return limited(in, 90*time.Second), nil
			}
			return verified(in), nil
		}, nil)
		start := w.Now()
		w.ExecuteWorkflow(Run, script(step("a", tool.Reversible)))
		res := w.state(t).Steps[0].Result
		if !res.OK() || len(res.Attempts) != 1 || res.Telemetry.WaitedMS != 180_000 || w.Now().Sub(start) < 3*time.Minute {
			t.Errorf("result %+v after %s", res, w.Now().Sub(start))
		}
		for i, a := range w.attempts {
			if a.Round != i {
				t.Errorf("attempt %d has the round %d: its dispatch would be taken for another's", i, a.Round)
			}
		}
	})
	t.Run("within the budget", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(in AttemptInput) (Report, error) { return limited(in, 90*time.Second), nil }, nil)
		in := script(step("a", tool.Reversible))
		in.Policy.WaitBudgetMS = 100_000
		w.ExecuteWorkflow(Run, in)
		res := w.state(t).Steps[0].Result
		if res.Error == nil || res.Error.Code != tool.RateLimited || len(w.attempts) != 2 || res.RetryHint.Fields().RetryAfterMS != 90_000 {
			t.Errorf("result %+v, %d attempts", res, len(w.attempts))
		}
	})
}

func TestRunIsPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, nil)
	u := &updated{}
	w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateControl, "p", &updated{}, true) }, time.Second)
	w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateCall, "u", u, step("a", tool.Reversible)) }, 2*time.Second)
	w.RegisterDelayedCallback(func() {
		if len(w.attempts) != 0 {
			t.Error("a step was taken while the run was paused")
		}
		w.UpdateWorkflow(UpdateControl, "r", &updated{}, false)
	}, time.Minute)
	w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindCaller, Language: "en", Single: true})
	if u.res == nil || !u.res.OK() {
		t.Errorf("after the pause: %+v", u)
	}
}

func TestRunRefusesLoops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(in AttemptInput) (Report, error) { return notFound(in), nil }, nil)
	us := []*updated{{}, {}, {}}
	w.RegisterDelayedCallback(func() {
		for i, u := range us {
			s := step(fmt.Sprint("c", i), tool.Reversible)
			s.Digest = "sha256:same"
			w.UpdateWorkflow(UpdateCall, fmt.Sprint("u", i), u, s)
		}
	}, time.Second)
	w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindCaller, Language: "en", IdleMS: 60_000})
	for i, want := range []tool.Failure{tool.TargetNotFound, tool.TargetNotFound, tool.LoopDetected} {
		if us[i].res == nil || us[i].res.Error == nil || us[i].res.Error.Code != want {
			t.Errorf("call %d: %+v", i, us[i].res)
		}
	}
	if len(w.attempts) != 2*MaxAttempts {
		t.Errorf("%d attempts", len(w.attempts))
	}
}
