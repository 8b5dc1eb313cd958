//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"toolsvc/store/postgrestest"
	"toolsvc/tool"
)

// A few rounds with faults of both kinds of Temporal, as the whole program plays them. The 300 rounds are make chaos.
func TestAFewRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds, starts and kills servers; not with -short")
	}
	// Rounds of two servers: the one with an embedded Temporal, and the one with a Temporal of its own.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	p, cleanup, err := build(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cleanup)
	for name, numbers := range map[string][]int{"embedded": {3, 8}, "external": {21, 24}, "machines": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rounds []Round
			for _, n := range numbers {
				if name == "machines" {
					rounds = append(rounds, drawMachines(1, n))
				} else {
					rounds = append(rounds, draw(1, n, true))
				}
			}
			played := newTally()
			err := playBlock(ctx, 1, p, rounds, played.add)
			if errors.Is(err, postgrestest.ErrNotInstalled) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			report(&out, options{seed: 1}, played, len(rounds), 0)
			t.Log(out.String())
			for _, v := range played.violations {
				text, _ := json.MarshalIndent(v, "", " ") // plain data
				t.Errorf("%s", text)
			}
			if played.calls == 0 || played.effects == 0 || len(played.injected) == 0 {
				t.Errorf("%d calls, %d effects, %d kinds of faults", played.calls, played.effects, len(played.injected))
			}
		})
	}
}

// A seed and a number make the same round every time; others make others; and all kinds of runs, calls and faults come up.
func TestDraw(t *testing.T) {
	t.Parallel()
	runs, ops, faults := map[RunKind]bool{}, map[OpKind]bool{}, map[FaultKind]bool{}
	for n := range 300 {
		round := draw(1, n, true)
		if !reflect.DeepEqual(round, draw(1, n, true)) {
			t.Fatalf("round %d is drawn in two ways", n)
		}
		if reflect.DeepEqual(round.Runs, draw(2, n, true).Runs) {
			t.Errorf("round %d is the same for two seeds", n)
		}
		ids := map[string]bool{}
		for _, run := range round.Runs {
			runs[run.Kind] = true
			for _, op := range run.Ops {
				if ids[op.ID] {
					t.Errorf("round %d has two calls %s", n, op.ID)
				}
				ids[op.ID], ops[op.Kind] = true, true
			}
		}
		for _, f := range round.Faults {
			faults[f.Kind] = true
			if f.At+f.For > 10*time.Second {
				t.Errorf("round %d: %s lasts until %s", n, f.Kind, f.At+f.For)
			}
			if (f.Kind == CutTemporal || f.Kind == KillTemporal) && !round.External {
				t.Errorf("round %d cuts a Temporal off that is embedded", n)
			}
		}
		for _, f := range draw(1, n, false).Faults {
			if f.Kind == FillDisk {
				t.Error("a disk is filled that must not be")
			}
		}
	}
	if len(runs) != 4 || len(ops) != 10 || len(faults) != 10 {
		t.Errorf("%d kinds of runs, %d of calls, %d of faults", len(runs), len(ops), len(faults))
	}
}

// On several machines, too, a seed and a number make the same round; every fault is one that there is there.
func TestDrawMachines(t *testing.T) {
	t.Parallel()
	faults, broken, long := map[FaultKind]bool{}, map[int]bool{}, false
	for n := range 300 {
		round := drawMachines(1, n)
		if !reflect.DeepEqual(round, drawMachines(1, n)) {
			t.Fatalf("round %d is drawn in two ways", n)
		}
		ids := map[string]bool{}
		for _, run := range round.Runs {
			for i, op := range run.Ops {
				if ids[op.ID] || op.Kind == Open != (i%2 == 0) || op.Kind == Open && op.Page == "" {
					t.Errorf("round %d: call %d of %s is %+v", n, i, run.ID, op)
				}
				ids[op.ID] = true
			}
		}
		for _, f := range round.Faults {
			faults[f.Kind], broken[f.Machine] = true, true
			long = long || f.Kind == Kill && f.For > 5*time.Second
		}
	}
	if len(faults) != 6 || faults[LockStore] || faults[FillDisk] || faults[CutTemporal] || len(broken) != 2 || !long {
		t.Errorf("faults %v, machines %v, a worker that stays away: %v", faults, broken, long)
	}
}

// verified is a result that is a success.
func verified() *tool.Result {
	return &tool.Result{CallID: "c_1", RunID: "r_1", Tool: "terminal.run", Result: json.RawMessage(`{}`),
		Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Threshold: 0.7, Evidence: tool.EvidenceRefs{After: "sha256:a"}},
		Attempts:     []tool.AttemptRecord{{Number: 1, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed}}}
}

// failed is a result of a failure after attempts of these effects; the last was rolled back when back is set.
func failed(f tool.Failure, back bool, effects ...tool.Effect) *tool.Result {
	r := &tool.Result{CallID: "c_1", RunID: "r_1", Tool: "terminal.run", Error: tool.NewError(f, "it failed")}
	for i, e := range effects {
		r.Attempts = append(r.Attempts, tool.AttemptRecord{Number: i + 1, Phase: tool.PhaseSettled, Effect: e, RolledBack: back && i == len(effects)-1})
	}
	return r
}

// The judge finds each kind of lie, and nothing where there is none.
func TestJudge(t *testing.T) {
	t.Parallel()
	none, confirmed, unknown := tool.EffectNone, tool.EffectConfirmed, tool.EffectUnknown
	lie := verified()
	lie.Verification.Verdict = tool.VerdictUncertain
	for _, c := range []struct {
		name string
		seen seen
		want []string // rules
	}{
		{"verified, and there", seen{op: Op{Kind: Append}, result: verified(), effects: 1}, nil},
		{"verified, and not there", seen{op: Op{Kind: Append}, result: verified()}, []string{ruleTrue}},
		{"verified, and there twice", seen{op: Op{Kind: Append}, result: verified(), effects: 2}, []string{ruleOnce, ruleTrue}},
		{"success of what cannot succeed", seen{op: Op{Kind: OrderFail}, result: verified(), effects: 1}, []string{ruleTrue}},
		{"success without a verdict", seen{op: Op{Kind: Append}, result: lie, effects: 1}, []string{ruleTrue, ruleTrue}},
		{"opened", seen{op: Op{Kind: Open}, result: verified()}, nil},
		{"nothing came back", seen{op: Op{Kind: Append}}, []string{ruleEnds}},
		{"it waits", seen{op: Op{Kind: Append}, result: &tool.Result{Status: tool.StatusNeedsInput}, effects: 1}, nil},
		{"skipped", seen{op: Op{Kind: Append}, skipped: true}, nil},
		{"skipped, and there", seen{op: Op{Kind: Append}, skipped: true, effects: 1}, []string{ruleNone}},
		{"unknown, and there", seen{op: Op{Kind: Order}, result: failed(tool.OutcomeUnknown, false, unknown), effects: 1}, nil},
		{"without effect, and there", seen{op: Op{Kind: Order}, result: failed(tool.NoEffect, false, none), effects: 1}, []string{ruleNone}},
		{"never attempted, and there", seen{op: Op{Kind: Append}, result: failed(tool.ToolUnavailable, false), effects: 1}, []string{ruleNone}},
		{"taken back, and there", seen{op: Op{Kind: AppendFail}, result: failed(tool.VerificationFailed, true, confirmed), effects: 1}, []string{ruleNone}},
		{"taken back, and something is left", seen{op: Op{Kind: AppendFail}, result: failed(tool.VerificationFailed, true, confirmed), changed: "a is new"}, []string{ruleBack}},
		{"the workspace is taken back, the request is not", seen{op: Op{Kind: PostFail}, result: failed(tool.VerificationFailed, true, confirmed), effects: 1}, nil},
		{"repeated blindly", seen{op: Op{Kind: Order}, result: failed(tool.VerificationFailed, false, unknown, none)}, []string{ruleBlind}},
		{"repeated after nothing had happened", seen{op: Op{Kind: Order}, result: failed(tool.VerificationFailed, false, none, confirmed), effects: 1}, nil},
		{"four attempts", seen{op: Op{Kind: Order}, result: failed(tool.NoEffect, false, none, none, none, none)}, []string{ruleBlind}},
		{"a repeatable one, repeated", seen{op: Op{Kind: Write}, result: failed(tool.VerificationFailed, false, unknown, confirmed), effects: 1}, nil},
	} {
		var rules []string
		for _, b := range judge(c.seen) {
			rules = append(rules, b[0])
		}
		if !slices.Equal(rules, c.want) {
			t.Errorf("%s: %v", c.name, judge(c.seen))
		}
	}
}

// Events that have a gap or a double, or contradict a result or the state, are found.
func TestAgree(t *testing.T) {
	t.Parallel()
	text := func(r *tool.Result) json.RawMessage {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	told := event{2, "tool_result", text(verified())}
	all := []event{{1, "run", json.RawMessage(`{}`)}, told, {3, "run", json.RawMessage(`{}`)}}
	state := &runState{RunID: "r_1", Outcome: "succeeded"}
	got := map[string]*tool.Result{"c_1": verified()}
	moved := verified()
	moved.RunLink = &tool.RunLink{URL: "http://elsewhere"}
	for _, c := range []struct {
		name         string
		all, watched []event
		results      map[string]*tool.Result
		want         string // in the first complaint; "" for none
	}{
		{"all is well", all, all, got, ""},
		{"another link", all, all, map[string]*tool.Result{"c_1": moved}, ""},
		{"a gap", []event{all[0], {3, "tool_result", told.Data}, {4, "run", nil}}, nil, got, "stands in place"},
		{"a double", []event{all[0], told, told, all[2]}, nil, got, "stands in place"},
		{"two results", []event{all[0], told, {3, told.Kind, told.Data}, {4, "run", nil}}, nil, got, "two results"},
		{"another result", all, all, map[string]*tool.Result{"c_1": failed(tool.NoEffect, false)}, "differ"},
		{"a result that no event tells", all, all, map[string]*tool.Result{"c_2": verified()}, "no event"},
		{"the watcher missed the end", all, all[:2], got, "saw 2 of 3"},
		{"the watcher saw another event", all, []event{all[0], {2, "narration", told.Data}}, got, "another one"},
		{"no end", all[:2], all[:2], got, "last event"},
	} {
		broken := agree(c.all, c.watched, state, c.results, true)
		if (c.want == "") != (len(broken) == 0) || c.want != "" && !strings.Contains(broken[0], c.want) {
			t.Errorf("%s: %v", c.name, broken)
		}
	}
}

// Two runs of one start are found, and a run that nobody was told of.
func TestStartedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answered string
		runs     []string
		want     string
	}{
		{"r_a", []string{"r_a"}, ""},
		{"r_a", nil, ""},
		{"", []string{"r_a"}, ""},
		{"", nil, ""},
		{"r_a", []string{"r_a", "r_b"}, "there are 2 runs"},
		{"", []string{"r_a", "r_b"}, "there are 2 runs"},
		{"r_a", []string{"r_b"}, "told of the run r_a"},
	} {
		if got := startedOnce(c.answered, c.runs); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %v: %q", c.answered, c.runs, got)
		}
	}
}

// A start whose first answers are lost is sent again, each time under the same key.
func TestStartIsRepeatedUnderItsKey(t *testing.T) {
	t.Parallel()
	var keys []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		switch len(keys) {
		case 1:
			panic(http.ErrAbortHandler) // no answer
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"run_id":"r_x"}`))
		}
	}))
	t.Cleanup(srv.Close)
	w := &world{client: &client{base: srv.URL, statuses: map[int]int{}}}
	id, err := w.startRun(t.Context(), Run{ID: "r_1", Kind: Script})
	if err != nil || id != "r_x" || !slices.Equal(keys, []string{"r_1-start", "r_1-start", "r_1-start"}) {
		t.Errorf("%s, %v: keys %v", id, err, keys)
	}
}
