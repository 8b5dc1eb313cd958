package narration

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"toolsvc/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (write it anew with -update):\n%s", path, got)
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// moments makes each event once, by the key of its text.
func moments(l Lang) map[string]Event {
	run := Moment{Lang: string(l), RunID: "r_1", Steps: 3, At: noon}
	single := Moment{Lang: string(l), RunID: "r_1", Steps: 1, At: noon}
	step := Moment{Lang: string(l), RunID: "r_1", Step: 2, Steps: 3, Attempt: 2, Source: tool.SourceCDP, At: noon}
	stage := step
	stage.Source = ""
	title := map[Lang]string{English: "Click “Play” in “Now playing”", Korean: "“지금 재생 중”의 “재생” 클릭", Japanese: "「再生中」の「再生」をクリック"}[l]
	command := map[Lang]string{English: "Play the first song", Korean: "첫 번째 노래를 재생해 줘", Japanese: "最初の曲を再生して"}[l]
	question := map[Lang]string{English: "Which button should be clicked?", Korean: "어느 버튼을 클릭할까요?", Japanese: "どのボタンをクリックしますか?"}[l]
	return map[string]Event{
		"say.accepted":             run.Accepted(command),
		"say.accepted.bare":        run.Accepted(""),
		"say.planned":              run.Planned(),
		"say.planned.one":          single.Planned(),
		"say.observing":            step.Observing(),
		"say.executing":            step.Executing(title),
		"say.verifying":            step.Verifying(),
		"say.retrying":             step.Retrying(tool.SourceAX, Trouble{Failure: tool.TargetNotFound}),
		"say.retrying.same":        step.Retrying(tool.SourceCDP, Trouble{Failure: tool.Stale}),
		"say.retrying.stage":       stage.RetryingStage(Trouble{Failure: tool.PostconditionFailed, What: "links_resolve"}),
		"say.rolled_back":          step.RolledBack(),
		"say.not_rolled_back":      step.NotRolledBack(),
		"say.verified":             step.Verified(title, 1234*time.Millisecond),
		"say.failed":               step.Failed(title, Trouble{Failure: tool.Covered, What: "Cookies"}, tool.SourceAX, tool.SourceCDP, tool.SourceAX, tool.SourceVision),
		"say.failed.bare":          step.Failed(title, Trouble{Failure: tool.PreconditionFailed, What: "page.ready"}),
		"say.waiting_for_answer":   step.WaitingForAnswer(question),
		"say.waiting_for_approval": step.WaitingForApproval(question),
		"say.waiting":              step.Waiting(90*time.Second, Trouble{Failure: tool.RateLimited}),
		"say.answer_given":         step.AnswerGiven(),
		"say.answered":             run.Answered("The order is placed."),
		"say.paused":               run.Paused(),
		"say.resumed":              run.Resumed(),
		"say.completed":            run.Completed(99),
		"say.completed.some":       run.Completed(1),
		"say.completed.one":        single.Completed(1),
		"say.stopped":              run.Stopped(2),
		"say.stopped.one":          single.Stopped(0),
		"say.cancelled":            run.Cancelled(1),
		"say.cancelled.one":        single.Cancelled(0),
	}
}

func TestMoments(t *testing.T) {
	t.Parallel()
	for _, l := range Langs {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			events := moments(l)
			var keys []string
			for key := range events {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			for _, key := range keys {
				e := events[key]
				fmt.Fprintf(&b, "%-26s %-17s %-8s %s\n", key, e.Stage, e.Level, e.Line())
				if e.RunID != "r_1" || e.At != noon || e.Steps == 0 {
					t.Errorf("%s lost its place: %+v", key, e)
				}
			}
			b.WriteString("\n")
			for _, f := range tool.Failures {
				fmt.Fprintf(&b, "%s: %s\n", f, l.why(Trouble{Failure: f}))
				for _, what := range []string{map[Lang]string{English: "Cookies", Korean: "쿠키 배너", Japanese: "クッキー"}[l]} {
					if with := l.why(Trouble{Failure: f, What: what}); with != l.why(Trouble{Failure: f}) {
						fmt.Fprintf(&b, "    %s\n", with)
					}
				}
			}
			b.WriteString("\n")
			for _, s := range Stages {
				fmt.Fprintf(&b, "%s: %s\n", s, s.Label(string(l)))
			}
			golden(t, "moments."+string(l)+".txt", b.String())
		})
	}
}

// Every stage is told, and every level.
func TestEveryStageIsTold(t *testing.T) {
	t.Parallel()
	stages, levels := map[Stage]bool{}, map[Level]bool{}
	for _, e := range moments(English) {
		stages[e.Stage], levels[e.Level] = true, true
	}
	if len(stages) != len(Stages) || len(levels) != len(Levels) {
		t.Errorf("told are %v, %v", stages, levels)
	}
}

func TestEventOnTheWire(t *testing.T) {
	t.Parallel()
	e := Moment{Lang: "ko-KR", RunID: "r_1", Step: 2, Steps: 3, Attempt: 1, Source: tool.SourceVision, At: noon}.Executing("“재생” 클릭")
	stored, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode(7, stored)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":7,"run_id":"r_1","step":2,"steps":3,"attempt":1,"stage":"executing_step","source":"vision","text":"“재생” 클릭","level":"info","at":"2026-11-21T12:00:00Z"}`
	if string(text) != want {
		t.Errorf("on the wire: %s\nwant: %s", text, want)
	}
	if _, err := Decode(1, []byte(`{"id":`)); err == nil {
		t.Error("a torn event decodes")
	}
	if got := e.Line(); got != "2/3 “재생” 클릭 [Vision]" {
		t.Errorf("line: %s", got)
	}
}

// What callers and pages put into a text cannot break it.
func TestTextsAreCleanAndBounded(t *testing.T) {
	t.Parallel()
	evil := "\x1b]0;title\a\n" + strings.Repeat("long \u202e", 500)
	for _, l := range Langs {
		m := Moment{Lang: string(l), RunID: "r"}
		for _, e := range []Event{
			m.Accepted(evil), m.Executing(evil), m.Verified(evil, time.Hour), m.Failed(evil, Trouble{tool.Covered, evil}, tool.Sources...), m.WaitingForAnswer(evil),
			m.WaitingForApproval(evil), m.Waiting(time.Hour, Trouble{tool.AmbiguousTarget, evil}), m.Retrying(tool.SourceAX, Trouble{tool.Covered, evil}),
			m.Retrying("new_source", Trouble{Failure: "new_failure"}),
		} {
			if e.Text != Clean(e.Text) || utf8.RuneCountInString(e.Text) > MaxText || e.Text == "" {
				t.Errorf("%s: %q", l, e.Text)
			}
		}
	}
	m := Moment{Lang: "en"}
	for _, e := range []Event{m.Accepted("log in with password=hunter22"), m.WaitingForAnswer("Is token: hunter22 right?"), m.Executing("Run “deploy --token hunter22”"), m.Failed("x", Trouble{tool.Covered, "Bearer hunter22"})} {
		if strings.Contains(e.Text, "hunter22") {
			t.Errorf("a secret is shown: %s", e.Text)
		}
	}
}

func TestRowOf(t *testing.T) {
	t.Parallel()
	attempts := []tool.AttemptRecord{{Number: 1, Source: tool.SourceAX}, {Number: 2, Source: tool.SourceCDP}}
	ok := &tool.Verification{Verdict: tool.VerdictSuccess}
	for _, c := range []struct {
		name   string
		result *tool.Result
		want   tool.Verdict
		en     string
	}{
		{"not run", nil, "", "not run"},
		{"verified", &tool.Result{Attempts: attempts, Verification: ok}, tool.VerdictSuccess, "verified"},
		{"no verification", &tool.Result{Attempts: attempts}, tool.VerdictFailure, "failed"},
		{"failed", &tool.Result{Attempts: attempts, Error: tool.NewError(tool.Covered, "m")}, tool.VerdictFailure, "failed (covered)"},
		{"error beside success", &tool.Result{Attempts: attempts, Verification: ok, Error: tool.NewError(tool.Timeout, "m")}, tool.VerdictFailure, "failed (timeout)"},
		{"uncertain", &tool.Result{Attempts: attempts, Error: tool.NewError(tool.VerificationUncertain, "m")}, tool.VerdictUncertain, "uncertain (verification_uncertain)"},
		{"unknown", &tool.Result{Attempts: attempts, Error: tool.NewError(tool.OutcomeUnknown, "m")}, tool.VerdictUncertain, "uncertain (outcome_unknown)"},
	} {
		row := RowOf(4, "title", c.result)
		if row.Verdict != c.want || row.Outcome("en") != c.en || row.Step != 4 || row.Title != "title" {
			t.Errorf("%s: %+v, %q", c.name, row, row.Outcome("en"))
		}
		if c.result != nil && (row.Attempts != 2 || row.Tried("ja") != "AX、CDP") {
			t.Errorf("%s: %d attempts by %s", c.name, row.Attempts, row.Tried("ja"))
		}
	}
}
