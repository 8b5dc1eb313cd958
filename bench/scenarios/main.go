// Command scenarios measures the three published scenarios, with healing and without: a track is played on a music player's page, a code
// comment is improved in a web editor and saved, and `go vet ./...` is run in a terminal, its finding reported and fixed.
//
//	go run ./bench/scenarios -n 200 -scenario all -mode both -parallel 2 -seed 1
//
// Faults are injected at the published rates, by seed (package faults), on real parts: a real Temporal, Chromium, CodeMirror, bash and Go tool
// chain. What toolsvc says is compared with the truth, which pages, server and files keep past toolsvc. Each run is one JSON line of the log.
// A run that is in the log already is not made again, so the work can be done in pieces (-most) and goes on after it was interrupted.
//
// With -docs it writes the table and the chart into docs/ from the log alone. The exit status is 1 when a run with healing did not
// succeed, when anything was called a success that was none, when anything wrong was done or done twice, or when a fault did not land.
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
	"slices"
	"strings"
	"sync"
	"time"

	"toolsvc/bench/scenarios/faults"
	"toolsvc/bench/scenarios/report"
	"toolsvc/executors/terminal"
)

func main() {
	terminal.Supervise()
	var o options
	flag.IntVar(&o.n, "n", 5, "runs of each scenario and mode")
	flag.StringVar(&o.scenario, "scenario", "all", "player, comment, terminal, or all")
	flag.StringVar(&o.mode, "mode", "both", "healing, single (one attempt a step), or both")
	flag.IntVar(&o.parallel, "parallel", 2, "runs in the browser at once; those in the terminal are made one by one")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the faults")
	flag.IntVar(&o.most, "most", 0, "make at most so many runs now; 0 for all")
	flag.StringVar(&o.log, "log", "", "file for one JSON line a run, which is gone on with when it is there")
	flag.StringVar(&o.only, "only", "", "make only runs with a fault of this kind (canvas, swallowed, …); for looking into one")
	flag.BoolVar(&o.docs, "docs", false, "make no runs: write the log in order, docs/benchmarks.md and docs/scenarios.svg from it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(4)
	}
	if !ok {
		os.Exit(1)
	}
}

type options struct {
	n, parallel, most         int
	scenario, mode, log, only string
	seed                      uint64
	docs                      bool
}

// runLimit bounds one run.
const runLimit = 3 * time.Minute

// bench makes the runs of some scenarios.
type bench interface {
	// make makes one run, and fills in what came of it.
	make(ctx context.Context, r *report.Run) error
	close(ctx context.Context) error
}

func run(ctx context.Context, o options, w io.Writer) (bool, error) {
	var chosen []faults.Scenario
	for _, s := range faults.All() {
		if o.scenario == "all" || o.scenario == s.Name {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		_, err := faults.Lookup(o.scenario)
		return false, err
	}
	modes := map[string][]bool{"healing": {true}, "single": {false}, "both": {false, true}}[o.mode]
	if modes == nil {
		return false, fmt.Errorf("-mode %q: healing, single or both", o.mode)
	}
	var done []report.Run
	if o.log != "" {
		var err error
		if done, err = report.Read(o.log); err != nil {
			return false, err
		}
	}
	if o.docs {
		return true, writeDocs(o.log, done)
	}
	todo := open(o, chosen, modes, done)
	fmt.Fprintf(w, "%d runs are in the log, %d are made now\n", len(done), len(todo))
	made, err := makeAll(ctx, o, todo)
	all := append(done, made...)
	entries := entriesOf(chosen, all, o.seed)
	fmt.Fprint(w, "\n", report.Table(entries))
	return good(w, entries, all, o.seed) && err == nil, err
}

// open lists the runs that are not in the log yet, run by run, so that what is there after an interruption is balanced.
func open(o options, chosen []faults.Scenario, modes []bool, done []report.Run) (todo []report.Run) {
	have := map[string]bool{}
	for _, r := range done {
		have[r.Key()] = r.Broken == "" && len(r.Missed) == 0
	}
	for i := range o.n {
		for _, s := range chosen {
			for _, healing := range modes {
				r := report.Run{Scenario: s.Name, Healing: healing, Seed: o.seed, Number: i + 1, Faults: map[string]string{}}
				for action, k := range s.Plan(o.seed, i+1) {
					r.Faults[action] = k.Name
				}
				wanted := o.only == ""
				for _, k := range r.Faults {
					wanted = wanted || k == o.only
				}
				if wanted && !have[r.Key()] && (o.most == 0 || len(todo) < o.most) {
					todo = append(todo, r)
				}
			}
		}
	}
	return todo
}

// makeAll makes the runs: those in a browser on one stack, several at once; those in a terminal on another, one by one, because they share
// a workspace.
func makeAll(ctx context.Context, o options, todo []report.Run) (made []report.Run, err error) {
	log := io.Writer(io.Discard)
	if o.log != "" {
		f, err := os.OpenFile(o.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // written line by line
		if st, err := f.Stat(); err == nil && st.Size() > 0 {
			if _, err := f.WriteString("\n"); err != nil { // whatever was cut off ends here; blank lines are skipped
				return nil, err
			}
		}
		log = f
	}
	var inTerminal, inBrowser []report.Run
	for _, r := range todo {
		if r.Scenario == "terminal" {
			inTerminal = append(inTerminal, r)
		} else {
			inBrowser = append(inBrowser, r)
		}
	}
	var mu sync.Mutex
	note := func(r report.Run) error {
		mu.Lock()
		defer mu.Unlock()
		made = append(made, r)
		if r.Healing && !r.Success() || r.FalseSuccess() || r.Wrong > 0 || r.Goal > 1 || len(r.Missed) > 0 || r.Broken != "" {
			fmt.Fprintf(os.Stderr, "%s healing=%t #%d %v: said=%t goal=%d wrong=%d missed=%v %s %s %s\n", r.Scenario, r.Healing, r.Number, r.Faults, r.Said, r.Goal, r.Wrong, r.Missed, r.Failure, r.Message, r.Broken)
		}
		return json.NewEncoder(log).Encode(r)
	}
	for _, part := range []struct {
		runs     []report.Run
		parallel int
		open     func(context.Context, options) (bench, error)
	}{{inBrowser, o.parallel, openBrowserBench}, {inTerminal, 1, openTerminalBench}} {
		if len(part.runs) == 0 || ctx.Err() != nil {
			continue
		}
		b, oerr := part.open(ctx, o)
		if oerr != nil {
			return made, errors.Join(err, oerr)
		}
		err = errors.Join(err, several(ctx, part.parallel, part.runs, func(r report.Run) error {
			limited, cancel := context.WithTimeout(ctx, runLimit)
			defer cancel()
			began := time.Now()
			merr := b.make(limited, &r)
			if ctx.Err() != nil {
				return nil // interrupted: the run is made another time
			}
			if r.MS == 0 {
				r.MS = time.Since(began).Milliseconds()
			}
			if merr != nil {
				r.Broken = merr.Error()
			}
			return note(r)
		}), b.close(context.WithoutCancel(ctx)))
	}
	return made, errors.Join(err, ctx.Err())
}

// several does something for every run, at most n at once.
func several(ctx context.Context, n int, runs []report.Run, do func(report.Run) error) error {
	jobs := make(chan report.Run)
	var mu sync.Mutex
	var err error
	var wg sync.WaitGroup
	for range max(1, n) {
		wg.Go(func() {
			for r := range jobs {
				if e := do(r); e != nil {
					mu.Lock()
					err = errors.Join(err, e)
					mu.Unlock()
				}
			}
		})
	}
feed:
	for _, r := range runs {
		select {
		case jobs <- r:
		case <-ctx.Done():
			break feed
		}
	}
	close(jobs)
	wg.Wait()
	return err
}

// entriesOf sums the runs up; seed 0 takes those of every seed.
func entriesOf(chosen []faults.Scenario, runs []report.Run, seed uint64) (entries []report.Entry) {
	for _, s := range chosen {
		pick := func(healing bool) (some []report.Run) {
			for _, r := range runs {
				if r.Scenario == s.Name && r.Healing == healing && (seed == 0 || r.Seed == seed) {
					some = append(some, r)
				}
			}
			return some
		}
		entries = append(entries, report.Entry{Name: s.Name, Title: s.Title, PublishedSingle: s.PublishedSingle, PublishedHealing: s.PublishedHealing,
			Single: report.Sum(pick(false)), Healing: report.Sum(pick(true))})
	}
	return entries
}

// good says whether all is as it must be, and in words what is not.
func good(w io.Writer, entries []report.Entry, runs []report.Run, seed uint64) bool {
	ok := len(runs) > 0
	for _, e := range entries {
		both := []report.Figures{e.Single, e.Healing}
		for i, f := range both {
			ok = ok && f.FalseSuccess == 0 && f.Wrong == 0 && f.Double == 0 && f.Invalid == 0 && (i == 0 || f.Success == f.Runs)
			if f.Invalid > 0 {
				fmt.Fprintf(w, "%s: %d runs prove nothing, because they broke or their faults did not land\n", e.Title, f.Invalid)
			}
		}
	}
	fmt.Fprintf(w, "\nWhat one attempt and healing made of each fault that landed (succeeded of runs):\n%s", byFault(runs, seed))
	return ok
}

// byFault lists for each kind of fault in how many runs it landed, and how many of them succeeded.
func byFault(runs []report.Run, seed uint64) string {
	type count struct{ runs, success int }
	counts := map[string]*[2]count{}
	for _, r := range runs {
		if r.Seed != seed && seed != 0 {
			continue
		}
		names := r.Landed
		if len(names) == 0 {
			names = []string{"none"}
		}
		for _, name := range names {
			c := counts[r.Scenario+" "+name]
			if c == nil {
				c = new([2]count)
				counts[r.Scenario+" "+name] = c
			}
			m := &c[0]
			if r.Healing {
				m = &c[1]
			}
			m.runs++
			if r.Success() {
				m.success++
			}
		}
	}
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		c := counts[name]
		fmt.Fprintf(&b, "  %-34s one attempt %3d of %3d   healing %3d of %3d\n", name, c[0].success, c[0].runs, c[1].success, c[1].runs)
	}
	return b.String()
}

// Where -docs writes to, from the root of the repository.
const (
	tableFile = "docs/benchmarks.md"
	chartFile = "docs/scenarios.svg"
)

// writeDocs writes the log in order, the table and the chart.
func writeDocs(log string, runs []report.Run) error {
	if log == "" || len(runs) == 0 {
		return errors.New("-docs needs a -log with runs in it")
	}
	var names []string
	for _, s := range faults.All() {
		names = append(names, s.Name)
	}
	if err := report.Write(log, runs, names); err != nil {
		return err
	}
	entries := entriesOf(faults.All(), runs, 0)
	old, err := os.ReadFile(tableFile)
	if err != nil {
		return fmt.Errorf("-docs is for the root of the repository: %w", err)
	}
	text, err := report.Put(string(old), report.Table(entries))
	if err != nil {
		return fmt.Errorf("%s: %w", tableFile, err)
	}
	return errors.Join(os.WriteFile(tableFile, []byte(text), 0o644), os.WriteFile(chartFile, []byte(report.Chart(entries)), 0o644))
}
