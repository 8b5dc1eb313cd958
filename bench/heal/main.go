// Command heal measures healing: every case of the failure gym is run through the whole of toolsvc (a plan in a real Temporal, a real
// Chromium), with healing and without, and judged by the page's own truth, which is read past toolsvc.
//
//	go run ./bench/heal -n 30
//
// It prints a table and, with -log, one JSON line a run; a run that is in the log already is not made again, so that the work goes on where it
// was interrupted. The exit status is 1 when a run with healing ended in another way than the case
// asks for, when anything wrong was done, or when anything was called a success that was none.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"toolsvc/bench/gym"
	"toolsvc/planner"
	"toolsvc/stack"
	"toolsvc/tool"
)

func main() {
	var o options
	flag.IntVar(&o.n, "n", 3, "runs of each case and mode")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "runs at once")
	flag.StringVar(&o.only, "only", "", "regular expression: only cases whose names match")
	flag.StringVar(&o.mode, "mode", "both", "healing, single (one attempt a step), or both")
	flag.StringVar(&o.log, "log", "", "file for one JSON line a run, which is gone on with when it is there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "heal:", err)
		os.Exit(4)
	}
	if !ok {
		os.Exit(1)
	}
}

type options struct {
	n, parallel     int
	only, mode, log string
}

// trial is one run of one case.
type trial struct {
	Case    string       `json:"case"`
	Healing bool         `json:"healing"`
	Number  int          `json:"number"`
	Verdict bool         `json:"verdict"` // toolsvc said success
	Failure tool.Failure `json:"failure,omitempty"`
	// Right: it ended as the case asks for, with the truth that it asks for.
	Right bool `json:"right"`
	// FalseSuccess: success was said, and the goal was not reached. Wrong and Effects are the truth.
	FalseSuccess bool          `json:"false_success"`
	Goal         int           `json:"goal"`
	Wrong        int           `json:"wrong"`
	Effects      int           `json:"effects"`
	Attempts     int           `json:"attempts"`
	Sources      []tool.Source `json:"sources"`
	MS           int64         `json:"ms"`
	Why          []string      `json:"why,omitempty"`
	Message      string        `json:"message,omitempty"`
	Run          string        `json:"run"`
	// Broken says why the run could not be measured.
	Broken string `json:"broken,omitempty"`
}

func run(ctx context.Context, o options, w io.Writer) (bool, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return false, fmt.Errorf("-only: %w", err)
	}
	modes := map[string][]bool{"healing": {true}, "single": {false}, "both": {false, true}}[o.mode]
	if modes == nil {
		return false, fmt.Errorf("-mode %q: healing, single or both", o.mode)
	}
	site, err := gym.Start()
	if err != nil {
		return false, err
	}
	defer site.Close() //nolint:errcheck // it served what it had to
	var trials []trial
	log := io.Discard
	if o.log != "" {
		if trials, err = readLog(o.log); err != nil {
			return false, err
		}
		f, err := os.OpenFile(o.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return false, err
		}
		defer f.Close() //nolint:errcheck // written line by line
		log = f
	}
	byRatio := map[float64][]gym.Case{}
	for _, c := range gym.Cases() {
		if only.MatchString(c.Name) {
			byRatio[max(c.PixelRatio, 1)] = append(byRatio[max(c.PixelRatio, 1)], c)
		}
	}
	trials = slices.DeleteFunc(trials, func(t trial) bool {
		return !only.MatchString(t.Case) || !slices.Contains(modes, t.Healing) || t.Number > o.n
	})
	have := map[string]bool{}
	for _, t := range trials {
		have[t.key()] = true
	}
	for _, ratio := range []float64{1, 2} {
		if len(byRatio[ratio]) == 0 {
			continue
		}
		ts, merr := measure(ctx, o, site, ratio, byRatio[ratio], modes, have, log)
		trials = append(trials, ts...)
		if err = merr; err != nil {
			break // what was measured until then is still reported
		}
	}
	return report(w, trials, o.n) && err == nil, err
}

// measure runs the cases on one stack.
func measure(ctx context.Context, o options, site *gym.Server, ratio float64, cases []gym.Case, modes []bool, have map[string]bool, log io.Writer) (trials []trial, err error) {
	dir, err := os.MkdirTemp("", "toolsvc-heal-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	s, err := stack.Open(ctx, stack.Options{StateDir: dir, Ephemeral: true, DeviceScaleFactor: ratio, UIPort: -1, MaxSessions: 2 * o.parallel})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()

	jobs := make(chan trial)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range max(1, o.parallel) {
		wg.Go(func() {
			for t := range jobs {
				c := cases[slices.IndexFunc(cases, func(c gym.Case) bool { return c.Name == t.Case })]
				if terr := t.make(ctx, s, site, c); ctx.Err() != nil {
					continue // interrupted: it is made another time
				} else if terr != nil {
					t.Broken, t.Right = terr.Error(), false
					t.Why = append(t.Why, "could not be measured: "+t.Broken)
				}
				mu.Lock()
				trials = append(trials, t)
				err = errors.Join(err, json.NewEncoder(log).Encode(t))
				if !t.Right && t.Healing || t.FalseSuccess || t.Wrong > 0 {
					fmt.Fprintf(os.Stderr, "%s healing=%t #%d: %s %v %s\n", t.Case, t.Healing, t.Number, t.Failure, t.Why, t.Message)
				}
				mu.Unlock()
			}
		})
	}
feed:
	for i := range o.n {
		for _, c := range cases {
			for _, healing := range modes {
				t := trial{Case: c.Name, Healing: healing, Number: i + 1}
				if have[t.key()] {
					continue
				}
				select {
				case jobs <- t:
				case <-ctx.Done():
					break feed
				}
			}
		}
	}
	close(jobs)
	wg.Wait()
	return trials, errors.Join(err, ctx.Err())
}

// make runs the case once and judges it.
func (t *trial) make(ctx context.Context, s *stack.Stack, site *gym.Server, c gym.Case) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	session := tool.NewRunID()
	in := planner.Input{RunID: tool.NewRunID(), Kind: planner.KindScript, Title: c.Name, Language: "en", NoHealing: !t.Healing, KeepSession: true}
	t.Run = in.RunID
	open, err := json.Marshal(map[string]any{"url": c.URL(site.URL, session)})
	if err != nil {
		return err
	}
	reqs := []tool.Request{{Tool: "browser.navigate", Arguments: open}}
	for _, st := range c.Steps {
		var args map[string]any
		if err := json.Unmarshal([]byte(st.Args), &args); err != nil {
			return fmt.Errorf("case %s: %w", c.Name, err)
		}
		if len(st.Expect) > 0 {
			args["expect"] = st.Expect
		}
		text, err := json.Marshal(args)
		if err != nil {
			return err
		}
		reqs = append(reqs, tool.Request{Tool: st.Tool, Arguments: text})
	}
	for _, req := range reqs {
		req.CallID, req.RunID = tool.NewCallID(), in.RunID
		step, rejected, err := s.Service.Prepare(req, "en")
		if err != nil {
			return err
		}
		if rejected != nil {
			return fmt.Errorf("case %s: %w", c.Name, rejected.Error.Cause)
		}
		in.Steps = append(in.Steps, step)
	}
	began := time.Now()
	if err := s.Service.Start(ctx, in); err != nil {
		return err
	}
	st, err := s.Service.Wait(ctx, in.RunID)
	if err != nil {
		return err
	}
	t.MS = time.Since(began).Milliseconds()
	truth, err := readTruth(ctx, s, in.RunID)
	if c.Ledger {
		truth, err = site.Truth(session), nil
	}
	if cerr := s.Browser.Close(ctx, in.RunID); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	t.judge(c, st, truth)
	return nil
}

// judge compares what toolsvc said, and what really happened, with what the case asks for.
func (t *trial) judge(c gym.Case, st *planner.State, truth gym.Truth) {
	t.Goal, t.Wrong, t.Effects = truth.Goal, truth.Wrong, truth.Effects
	t.Verdict = st.Succeeded()
	last := st.Steps[len(st.Steps)-1]
	for i, step := range st.Steps {
		if step.Status == planner.StatusFailed {
			last = step
			t.Failure, t.Message = step.Result.Error.Code, step.Result.Error.Message
			if i < len(st.Steps)-1 {
				t.Why = append(t.Why, fmt.Sprintf("step %d of %d (%s) failed", i+1, len(st.Steps), step.Tool))
			}
		}
	}
	if last.Result != nil {
		t.Attempts = len(last.Result.Attempts)
		for _, a := range last.Result.Attempts {
			t.Sources = append(t.Sources, a.Source)
		}
	}
	t.Why = append(t.Why, c.Want.Met(truth)...)
	switch {
	case c.Want.Success && !t.Verdict:
		t.Why = append(t.Why, "it should have succeeded")
	case !c.Want.Success && t.Verdict:
		t.Why = append(t.Why, fmt.Sprintf("it should have ended as %s", c.Want.Failure))
	case !c.Want.Success && t.Failure != c.Want.Failure:
		t.Why = append(t.Why, fmt.Sprintf("it ended as %s, wanted %s", t.Failure, c.Want.Failure))
	}
	t.Right = len(t.Why) == 0
	t.FalseSuccess = t.Verdict && (!c.Want.Success || !c.Want.Goal.Holds(truth.Goal))
}

// report prints the table, and says whether all is well.
func report(w io.Writer, trials []trial, n int) bool {
	type key struct {
		name    string
		healing bool
	}
	sums := map[key][]trial{}
	var names []string
	for _, t := range trials {
		k := key{t.Case, t.Healing}
		sums[k] = append(sums[k], t)
		if !slices.Contains(names, t.Case) {
			names = append(names, t.Case)
		}
	}
	ordered := names[:0:0]
	for _, c := range gym.Cases() {
		if slices.Contains(names, c.Name) {
			ordered = append(ordered, c.Name)
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "CASE\tINJECTS\tMUST END AS\tONE ATTEMPT\tHEALING\tFALSE\tWRONG\tDOUBLE\tATTEMPTS\tMEDIAN\n")
	good := true
	var all [2]struct{ right, runs, falsely, wrong, double int }
	for _, name := range ordered {
		c, _ := gym.Lookup(name)
		end := "verified"
		if !c.Want.Success {
			end = string(c.Want.Failure)
		}
		one, heal := sums[key{name, false}], sums[key{name, true}]
		falsely, wrong, double := 0, 0, 0
		var took []int64
		var attempts []int
		for m, ts := range [2][]trial{one, heal} {
			for _, t := range ts {
				all[m].runs++
				if t.Right {
					all[m].right++
				}
				if t.FalseSuccess {
					all[m].falsely++
					falsely++
				}
				if t.Wrong > 0 {
					all[m].wrong++
					wrong++
				}
				if c.Want.Goal.Max > 0 && t.Goal > c.Want.Goal.Max {
					all[m].double++
					double++
				}
				if m == 1 {
					took, attempts = append(took, t.MS), append(attempts, t.Attempts)
					good = good && t.Right
				}
			}
		}
		good = good && falsely == 0 && wrong == 0 && double == 0
		slices.Sort(took)
		slices.Sort(attempts)
		med, att := "", ""
		if len(took) > 0 {
			med, att = fmt.Sprintf("%d ms", took[len(took)/2]), fmt.Sprint(attempts[len(attempts)/2])
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", name, c.Failure, end, share(one), share(heal), falsely, wrong, double, att, med)
	}
	if err := tw.Flush(); err != nil {
		return false
	}
	for m, title := range []string{"one attempt", "healing"} {
		if a := all[m]; a.runs > 0 {
			fmt.Fprintf(w, "\n%-12s %d of %d runs ended as they must (%.1f %%); false successes %d, wrong actions %d, duplicate effects %d",
				title+":", a.right, a.runs, 100*float64(a.right)/float64(a.runs), a.falsely, a.wrong, a.double)
		}
	}
	fmt.Fprintf(w, "\n\n%d cases, %d runs each and mode.\n", len(ordered), n)
	return good && len(trials) > 0
}

func share(ts []trial) string {
	if len(ts) == 0 {
		return "-"
	}
	right := 0
	for _, t := range ts {
		if t.Right {
			right++
		}
	}
	return fmt.Sprintf("%d/%d", right, len(ts))
}
