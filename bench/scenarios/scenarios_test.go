package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"testing"

	"toolsvc/bench/scenarios/faults"
	"toolsvc/bench/scenarios/report"
	"toolsvc/bench/scenarios/site"
	"toolsvc/gemini/geminitest"
	"toolsvc/planner"
)

func TestJudgePlays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		played      []string
		goal, wrong int
	}{{nil, 0, 0}, {[]string{"Harbor Lights"}, 1, 0}, {[]string{"Harbor Lights", "stop"}, 1, 1}, {[]string{"Harbor Lights", "stop", "Harbor Lights"}, 2, 1}, {[]string{"Slack Water"}, 0, 1}} {
		if goal, wrong := judgePlays(c.played); goal != c.goal || wrong != c.wrong {
			t.Errorf("%q: %d, %d; wanted %d, %d", c.played, goal, wrong, c.goal, c.wrong)
		}
	}
}

func TestJudgeFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content       string
		saves, others int
		goal, wrong   int
	}{{site.Original, 0, 0, 0, 0}, {site.Improved, 1, 0, 1, 0}, {site.Improved, 2, 0, 2, 0}, {site.Original, 1, 0, 0, 1}, {site.Improved[1:], 1, 0, 0, 1}, {site.Improved, 1, 1, 1, 1}, {site.Original, 0, 3, 0, 3}} {
		if goal, wrong := judgeFile(c.content, c.saves, c.others); goal != c.goal || wrong != c.wrong {
			t.Errorf("%d saves, %d others: %d, %d; wanted %d, %d", c.saves, c.others, goal, wrong, c.goal, c.wrong)
		}
	}
}

func TestJudgeWork(t *testing.T) {
	t.Parallel()
	before := (&machine{}).files(brokenSource)
	with := func(more map[string]string) map[string]string {
		m := maps.Clone(before)
		maps.Copy(m, more)
		return m
	}
	done := map[string]string{"harbor/main.go": fixedSource, "harbor/REPORT.md": reportText}
	for _, c := range []struct {
		name        string
		found       map[string]string
		goal, wrong int
	}{
		{"untouched", before, 0, 0},
		{"done", with(done), 1, 0},
		{"fixed, not reported, not taken back", with(map[string]string{"harbor/main.go": fixedSource}), 0, 1},
		{"done, and something else", func() map[string]string { m := with(done); m["elsewhere/main.go"] = "x"; return m }(), 0, 1},
		{"half taken back", with(map[string]string{"harbor/REPORT.md": reportText}), 0, 1},
	} {
		if goal, wrong := judgeWork(c.found, before); goal != c.goal || wrong != c.wrong {
			t.Errorf("%s: %d, %d; wanted %d, %d", c.name, goal, wrong, c.goal, c.wrong)
		}
	}
	if fixedSource == brokenSource {
		t.Error("the fix changes nothing")
	}
}

// What is in the log is not made again, unless it broke; both modes have the same faults.
func TestOpen(t *testing.T) {
	t.Parallel()
	all := faults.All()
	o := options{n: 2, seed: 9}
	todo := open(o, all, []bool{false, true}, nil)
	if len(todo) != 2*3*2 || !reflect.DeepEqual(todo[0].Faults, todo[1].Faults) || todo[0].Healing || !todo[1].Healing {
		t.Fatalf("%+v", todo)
	}
	done, broken := todo[0], todo[1]
	broken.Broken = "no"
	if rest := open(o, all, []bool{false, true}, []report.Run{done, broken}); len(rest) != 11 || rest[0].Key() != broken.Key() {
		t.Errorf("%d are left, the first is %s", len(rest), rest[0].Key())
	}
	o.most = 3
	if some := open(o, all, []bool{false, true}, nil); len(some) != 3 {
		t.Errorf("%d are made", len(some))
	}
	o = options{n: 300, seed: 1, only: "canvas"}
	for _, r := range open(o, all, []bool{true}, nil) {
		if r.Faults["open"] != "canvas" && r.Faults["play"] != "canvas" {
			t.Errorf("%+v has no canvas", r)
		}
	}
}

func TestMissed(t *testing.T) {
	t.Parallel()
	r := &report.Run{Faults: map[string]string{"open": "canvas", "play": "late", "readiness": "slow"}, Landed: []string{"open=canvas", "readiness=slow"}}
	st := &planner.State{Steps: []planner.StepState{{Status: planner.StatusVerified}, {Status: planner.StatusFailed}, {Status: planner.StatusSkipped}}}
	actions := []string{"", "open", "play"}
	if got := missed(r, actions, st); got != nil {
		t.Errorf("an action that was not reached: %q", got)
	}
	st.Steps[2].Status = planner.StatusFailed
	r.Landed = nil
	if got := missed(r, actions, st); !reflect.DeepEqual(got, []string{"open=canvas", "play=late", "readiness=slow"}) {
		t.Errorf("%q", got)
	}
}

// The agent makes its calls one after the other, gives up at the first that fails, and begins anew when it is told its goal again.
func TestAgentTurn(t *testing.T) {
	t.Parallel()
	text := func(s string) geminitest.Content {
		return geminitest.Content{Role: "user", Parts: []geminitest.Part{{Text: s}}}
	}
	call := func(n int) geminitest.Content {
		return geminitest.Content{Role: "model", Parts: []geminitest.Part{{Call: &agentCalls[n]}}}
	}
	answer := func(n int, s string) geminitest.Content {
		return geminitest.Content{Role: "user", Parts: []geminitest.Part{{Response: &geminitest.FunctionResponse{Name: agentCalls[n].Name, Response: json.RawMessage(s)}}}}
	}
	const good, bad = `{"status":"success"}`, `{"status":"failure"}`
	for _, c := range []struct {
		name  string
		said  []geminitest.Content
		calls string
		text  string
	}{
		{"at the beginning", []geminitest.Content{text("goal")}, "terminal_open", ""},
		{"after a success", []geminitest.Content{text("goal"), call(0), answer(0, good)}, "terminal_type", ""},
		{"after a failure", []geminitest.Content{text("goal"), call(0), answer(0, bad)}, "", "I could not do it."},
		{"told again", []geminitest.Content{text("goal"), call(0), answer(0, bad), text("goal")}, "terminal_open", ""},
		{"after all", []geminitest.Content{text("goal"), call(0), answer(0, good), call(1), answer(1, good), call(2), answer(2, good), call(3), answer(3, good), call(4), answer(4, good)}, "", "The finding is reported and fixed."},
	} {
		got := agentTurn(&geminitest.Request{Contents: c.said})
		want := geminitest.Text(c.text)
		if c.calls != "" {
			for _, fc := range agentCalls {
				if fc.Name == c.calls {
					want = geminitest.Calls(fc)
					break
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
