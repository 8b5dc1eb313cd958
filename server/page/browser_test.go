package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/server/page/pagetest"
	"toolsvc/store"
	"toolsvc/tool"
)

// One Chromium serves all tests of this binary; each test has a world of its own.
var browser *pagetest.Browser

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if browser, err = pagetest.StartBrowser(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		code := m.Run()
		if err := browser.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		return code
	}())
}

// seat is somebody before the page.
type seat struct {
	testing.TB
	*pagetest.Tab
	world *pagetest.World
}

func newWorld(t testing.TB) *pagetest.World {
	t.Helper()
	w, err := pagetest.Start(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// sit opens a path of the world's page. At the end of the test, the page must not have met an error.
func sit(t testing.TB, w *pagetest.World, path string, v pagetest.View) *seat {
	t.Helper()
	tab, err := browser.Open(w.Server.URL+path, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if f := tab.Faults(); len(f) > 0 {
			t.Errorf("the page met errors: %q", f)
		}
		tab.Close()
	})
	return &seat{t, tab, w}
}

func (s *seat) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *seat) until(condition string) { s.Helper(); s.must(s.Until(condition)) }
func (s *seat) click(element string)   { s.Helper(); s.must(s.Click(element)) }

func value[T any](s *seat, js string) (v T) {
	s.Helper()
	s.must(s.Eval(js, &v))
	return v
}

const aRun = "r_test"

// run makes a run with one step.
func run(w *pagetest.World) {
	w.Put(planner.State{RunID: aRun, Title: "A test", Language: "en", Kind: planner.KindCaller, Outcome: planner.OutcomeRunning, Began: time.Now(),
		Steps: []planner.StepState{{CallID: "c_1", Tool: "browser.click", Title: "Click “Go”", Status: planner.StatusRunning}}})
}

func lines(from, n int) []narration.Event {
	es := make([]narration.Event, n)
	for i := range es {
		es[i] = narration.Event{RunID: aRun, Step: 1, Steps: 1, Attempt: 1, Stage: narration.ExecutingStep, Source: tool.SourceAX, Level: narration.Info, At: time.Now(), Text: fmt.Sprintf("line %d", from+i)}
	}
	return es
}

// shown are the texts of the narration that exist as elements, in order.
const shown = `[...document.querySelectorAll('.row .said')].map((e) => e.textContent)`

func (s *seat) say(es ...narration.Event) {
	s.Helper()
	s.must(s.world.Say(context.Background(), aRun, es...))
}

// Narration is there when the page is opened, and appears as it happens, with its badge and the step that it is about.
func TestNarrationArrives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run(w)
	if err := w.Say(context.Background(), aRun, lines(0, 3)...); err != nil {
		t.Fatal(err)
	}
	s := sit(t, w, "/runs/"+aRun, pagetest.Wide)
	s.until(`document.querySelectorAll('.row').length === 3 && document.querySelector('.connection.is-live')`)
	s.say(lines(3, 2)...)
	s.until(`document.querySelectorAll('.row').length === 5`)
	if got := value[[]string](s, shown); !slices.Equal(got, []string{"line 0", "line 1", "line 2", "line 3", "line 4"}) {
		t.Errorf("shown: %q", got)
	}
	if got := value[string](s, `document.querySelector('.row .source').textContent`); got != "AX" {
		t.Errorf("the badge is %q", got)
	}
	s.until(`document.querySelector('.now .text').textContent === 'line 4' && document.querySelector('#step-1 .doing').textContent === 'line 4'`)
	s.until(`document.querySelector('.now [role=status]').textContent === 'line 4'`) // which a screen reader says

	res := &tool.Result{CallID: "c_1", RunID: aRun, Tool: "browser.click", Result: json.RawMessage(`{}`), Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Threshold: 0.7,
		Explanation: "All checks hold.", Checks: []tool.Check{{Name: "it is pressed", Condition: "target.pressed", Expected: "true", Observed: "yes indeed", Passed: true}}}}
	w.Change(aRun, func(st *planner.State) { st.Steps[0].Status, st.Steps[0].Result = planner.StatusVerified, res })
	s.must(w.Happen(context.Background(), aRun, store.KindToolResult, res))
	s.until(`document.querySelector('#step-1 .badge.is-verified')`)
	s.click(`document.querySelector('#step-1 summary')`)
	s.until(`document.querySelector('#step-1 .checks td[data-label=Observed]').textContent === 'yes indeed'`)
	s.must(w.End(context.Background(), aRun, planner.OutcomeSucceeded))
	s.until(`document.querySelector('.run-title .is-succeeded') && document.querySelector('.connection.is-over') && !document.querySelector('.controls button')`)
}

// A stream that is cut again and again, also while something happens, leaves no gap and brings nothing twice.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run(w)
	s := sit(t, w, "/runs/"+aRun, pagetest.Wide)
	s.until(`document.querySelector('.connection.is-live')`)
	n := 0
	for range 3 {
		s.say(lines(n, 4)...)
		w.Server.CloseClientConnections()
		s.say(lines(n+4, 4)...)
		n += 8
		s.until(fmt.Sprintf(`document.querySelector('.connection.is-live') && [...document.querySelectorAll('.row .said')].at(-1)?.textContent === 'line %d'`, n-1))
	}
	s.must(s.Eval(`document.querySelector('.log').scrollTop = 0`, nil))
	s.until(`document.querySelector('.row .said').textContent === 'line 0'`)
	s.until(fmt.Sprintf(`document.querySelector('.narration .count').textContent === '%d events'`, n))
	got := value[[]string](s, shown)
	for i, text := range got {
		if text != fmt.Sprintf("line %d", i) {
			t.Fatalf("in place %d stands %q: %q", i, text, got)
		}
	}
}

// An answer that does not validate is refused beside its field, the question stays open with what was written, and a valid one closes it.
func TestAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run(w)
	s := sit(t, w, "/runs/"+aRun, pagetest.Phone)
	s.until(`document.querySelector('.connection.is-live')`)
	q := pagetest.ArgumentsQuestion(aRun, "c_1", "q_one", "browser.select", `{"target":{"name":"Delivery"}}`)
	s.must(w.Ask(context.Background(), q))
	s.until(`document.querySelector('[data-question=q_one]') && document.title.startsWith('●')`)
	s.click(`document.querySelector('.ask button[type=submit]')`)
	s.until(`document.querySelector('.ask [aria-invalid=true]') && document.activeElement === document.querySelector('.ask .problem')`)
	if got := value[string](s, `document.querySelector('.ask .problem').textContent`); !strings.Contains(got, "not accepted") || !strings.Contains(got, "values") {
		t.Errorf("the refusal says %q", got)
	}
	if got := value[string](s, `document.getElementById(document.querySelector('.ask [aria-invalid=true]').getAttribute('aria-describedby').split(' ')[1]).textContent`); !strings.Contains(got, "values") {
		t.Errorf("the field's issue is %q", got)
	}
	s.click(`document.querySelector('.ask .problem a')`)
	s.until(`document.activeElement.matches('.ask textarea[aria-invalid]')`)
	s.must(s.Type("Express"))
	s.say(lines(0, 3)...) // what happens meanwhile does not touch what is being written
	s.until(`document.querySelectorAll('.row').length === 3`)
	if got := value[string](s, `document.activeElement.value`); got != "Express" {
		t.Fatalf("the field holds %q", got)
	}
	s.click(`document.querySelector('.ask button[type=submit]')`)
	s.until(`!document.querySelector('.ask') && document.activeElement.id === 'steps-title' && !document.title.startsWith('●')`)
	got := w.Answers()
	if len(got) != 1 || got[0].Question != "q_one" || string(got[0].Answer) != `{"values":["Express"]}` {
		t.Errorf("answers: %+v", got)
	}
}

// The example of a question fills the fields that are needed.
func TestExampleFillsTheForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run(w)
	q := pagetest.ArgumentsQuestion(aRun, "c_1", "q_one", "browser.select", `{"target":{"name":"Delivery"},"value":3}`)
	w.Change(aRun, func(st *planner.State) { st.Questions = []tool.Question{q} })
	s := sit(t, w, "/runs/"+aRun, pagetest.Wide)
	s.until(`document.querySelector('.ask')`)
	s.must(s.Eval(`document.querySelector('.ask .form > details:last-child').open = true`, nil))
	s.click(`document.querySelector('.ask .form button')`)
	s.click(`document.querySelector('.ask button[type=submit]')`)
	s.until(`!document.querySelector('.ask')`)
	var answer map[string]any
	if err := json.Unmarshal(w.Answers()[0].Answer, &answer); err != nil {
		t.Fatal(err)
	}
	if _, given := answer["values"].([]any); !given {
		t.Errorf("the example did not give the values: %v", answer)
	}
	if v, there := answer["value"]; !there || v != nil {
		t.Errorf("the unknown field is not removed: %v", answer)
	}
}

// An approval shows the exact arguments, and carries the digest of the question.
func TestApproval(t *testing.T) {
	t.Parallel()
	for _, approved := range []bool{true, false} {
		t.Run(fmt.Sprint(approved), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run(w)
			digest := tool.Digest([]byte("the arguments"))
			w.Change(aRun, func(st *planner.State) {
				st.Questions = []tool.Question{{ID: "a_one", Kind: tool.AskApproval, RunID: aRun, CallID: "c_1", Tool: "payments.charge", Text: "May it be paid?", Digest: digest,
					PriorInput: json.RawMessage(`{"amount":"249.00","to":"<b>Harbor</b>"}`), ExpiresAt: time.Now().Add(time.Hour), AskedAt: time.Now()}}
			})
			s := sit(t, w, "/runs/"+aRun, pagetest.Wide)
			s.until(`document.querySelector('.ask') && document.querySelector('.connection.is-live')`)
			text := value[string](s, `document.querySelector('.ask').textContent`)
			for _, want := range []string{`"amount": "249.00"`, `"to": "<b>Harbor</b>"`, digest, "payments.charge", "May it be paid?"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not shown in %q", want, text)
				}
			}
			s.click(fmt.Sprintf(`document.querySelector('.ask button.%s')`, map[bool]string{true: "primary", false: "danger"}[approved]))
			s.until(`!document.querySelector('.ask')`)
			var got struct {
				Approved bool   `json:"approved"`
				Digest   string `json:"digest"`
			}
			if err := json.Unmarshal(w.Answers()[0].Answer, &got); err != nil {
				t.Fatal(err)
			}
			if got.Approved != approved || approved && got.Digest != digest {
				t.Errorf("answered %+v", got)
			}
		})
	}
}

// Pause, resume and cancel; cancelling takes a second press.
func TestControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run(w)
	s := sit(t, w, "/runs/"+aRun, pagetest.Wide)
	s.until(`document.querySelector('[data-control=pause]') && document.querySelector('.connection.is-live')`)
	s.click(`document.querySelector('[data-control=pause]')`)
	s.until(`document.querySelector('[data-control=resume]') && document.querySelector('.run-title .is-paused') && document.activeElement.matches('[data-control]')`)
	s.click(`document.querySelector('[data-control=resume]')`)
	s.until(`document.querySelector('[data-control=pause]')`)
	s.click(`document.querySelector('[data-control=cancel]')`)
	s.until(`document.querySelector('[data-control=cancel]').dataset.sure`)
	if st, err := w.State(context.Background(), aRun); err != nil || st.Outcome != planner.OutcomeRunning {
		t.Fatalf("%+v, %v", st, err)
	}
	s.click(`document.querySelector('[data-control=cancel]')`)
	s.until(`document.querySelector('.run-title .is-cancelled') && !document.querySelector('.controls button')`)
}

// Another language is there at once, in all of the page, without losing what is being written; it is kept for the next time.
func TestLanguages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.Scene(context.Background(), narration.English, pagetest.Pictures{}); err != nil {
		t.Fatal(err)
	}
	s := sit(t, w, "/runs/"+pagetest.SceneRun, pagetest.Wide)
	s.until(`document.querySelectorAll('.ask').length === 2 && document.querySelector('.connection.is-live')`)
	s.must(s.Eval(`document.querySelector('.ask textarea').focus()`, nil))
	s.must(s.Type("draft"))
	for lang, words := range map[string][]string{"ko": {"단계", "승인", "확인됨", "진행 상황", "실시간"}, "ja": {"手順", "承認", "確認済み", "進行状況", "ライブ"}} {
		s.must(s.Eval(fmt.Sprintf(`(() => { const e = document.getElementById('language'); e.value = %q; e.dispatchEvent(new Event('change')); })()`, lang), nil))
		text := value[string](s, `document.body.innerText`)
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%s: %q is not there: %s", lang, word, text)
			}
		}
		for _, word := range []string{"Steps", "Approve", "Narration", "Pause", "Waiting for you", "Exact arguments"} {
			if strings.Contains(text, word) {
				t.Errorf("%s: %q is still there", lang, word)
			}
		}
		if got := value[[]string](s, `[document.documentElement.lang, document.querySelector('.ask textarea').value, document.querySelector('.window').lang]`); !slices.Equal(got, []string{lang, "draft", "en"}) {
			t.Errorf("%s: language of the page, draft, language of the narration: %q", lang, got)
		}
	}
	kept := value[string](s, `document.documentElement.lang`)
	s.must(s.Go(w.Server.URL + "/"))
	s.until(`document.querySelector('.runs li')`)
	if got := value[string](s, `document.documentElement.lang`); got != kept {
		t.Errorf("the language was %s, and is %s on the next page", kept, got)
	}
}

// attack is what a page or a tool may answer with.
const attack = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

// What comes from pages, tools and callers is text, wherever it is shown; and no address that runs something is followed.
func TestForeignTextIsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := json.RawMessage(fmt.Sprintf(`{"type":"object","title":%[1]q,"properties":{%[1]q:{"type":"string","title":%[1]q,"description":%[1]q,"enum":[%[1]q]}}}`, attack))
	raw, err := json.Marshal(map[string]string{"acted_on": attack, "artifact": attack})
	if err != nil {
		t.Fatal(err)
	}
	res := &tool.Result{CallID: "c_1", RunID: aRun, Tool: tool.ID(attack), Result: raw, RunLink: &tool.RunLink{WorkflowID: aRun, URL: "javascript:document.title='owned'"},
		Verification: &tool.Verification{Verdict: tool.Verdict(attack), Explanation: attack, Checks: []tool.Check{{Name: attack, Condition: attack, Expected: attack, Observed: attack}},
			Evidence: tool.EvidenceRefs{Before: attack, After: "../../" + attack}},
		Attempts: []tool.AttemptRecord{{Number: 1, Source: tool.Source(attack), Failure: tool.Failure(attack), Message: attack, Phase: tool.Phase(attack), Effect: tool.Effect(attack)}},
		Repairs:  []tool.Repair{{Path: attack, Rule: attack, Tier: attack, From: attack, To: attack}}}
	w.Put(planner.State{RunID: aRun, Title: attack, Language: "en", Kind: planner.Kind(attack), Outcome: planner.OutcomeRunning, Goal: attack, Began: time.Now(),
		Steps: []planner.StepState{{CallID: attack, Tool: tool.ID(attack), Title: attack, Status: planner.StatusVerified, Result: res}},
		Questions: []tool.Question{{ID: "q_one", Kind: tool.AskArguments, RunID: aRun, Tool: tool.ID(attack), Text: attack, Schema: spec, PriorInput: raw, ExampleInput: raw, MissingFields: []string{"/" + attack},
			Candidates: []tool.Candidate{{Name: attack, Role: attack, Within: attack, Near: attack, Selector: attack}}}}})
	e := lines(0, 1)[0]
	e.Text, e.Source, e.Stage, e.Level = attack, tool.Source(attack), narration.Stage(attack), narration.Level(attack)
	if err := w.Say(context.Background(), aRun, e); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/runs/" + aRun, "/"} {
		s := sit(t, w, path, pagetest.Wide)
		s.until(`document.querySelector('.row') || document.querySelector('.runs li')`)
		s.must(s.Eval(`document.querySelectorAll('details').forEach((d) => { d.open = true })`, nil))
		if path != "/" {
			s.until(`document.querySelector('#step-1 .checks')`)
		}
		if n := value[int](s, `document.querySelectorAll('main img, main script, [onerror], a[href^="javascript"]').length`); n != 0 {
			t.Errorf("%s: %d elements were made of a text", path, n)
		}
		if title := value[string](s, `document.title`); title == "owned" {
			t.Errorf("%s: a text was run", path)
		}
		if n := value[int](s, fmt.Sprintf(`document.querySelector('main').textContent.split(%q).length - 1`, attack)); n < 1 {
			t.Errorf("%s: the text is not shown as it is", path)
		}
	}
	tab, err := browser.Open(w.Server.URL+"/runs/"+aRun, pagetest.Wide)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	s := &seat{t, tab, w}
	s.until(`document.querySelector('.row')`)
	if got := value[string](s, `(() => { try { document.querySelector('main').innerHTML = '<p>x</p>'; return 'parsed' } catch (e) { return e.name } })()`); got != "TypeError" {
		t.Errorf("the browser does not refuse to parse a string: %s", got)
	}
}
