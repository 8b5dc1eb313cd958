// Command redesign measures heal memory: pages are learnt by verified clicks, redesigned (ids and classes renamed, order and wording
// changed, wrapped, translated, rewritten with other tags, moved, given twins, taken away), and asked for the same elements by the same
// names and by the same selectors. Every call goes through the whole of toolsvc, and what was really clicked is counted by the site.
//
//	go run ./bench/redesign
//
// Three modes are run side by side: without memory, with a memory that takes the most similar element, and with the memory that toolsvc
// has. The exit status is 1 when that one clicked anything wrong, or found fewer than fifty in fifty-three of the elements that are there.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"toolsvc/executors/browser/memory"
	"toolsvc/planner"
	"toolsvc/stack"
	"toolsvc/tool"
)

// wanted is the share of elements that has to be found again: fifty of fifty-three.
const wanted = 50.0 / 53

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "regular expression: only pairs whose names match")
	flag.StringVar(&o.mode, "mode", "", "one of the modes only: none, nearest or memory")
	flag.IntVar(&o.parallel, "parallel", 4, "runs at once")
	flag.BoolVar(&o.verbose, "v", false, "say of every ask how it ended")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "redesign:", err)
		os.Exit(4)
	}
	if !ok {
		os.Exit(1)
	}
}

type options struct {
	only, mode string
	parallel   int
	verbose    bool
}

// mode is a way to deal with redesigns.
type mode struct {
	name, title string
	without     bool
	choose      memory.Chooser
}

var modes = []mode{
	{name: "none", title: "without memory", without: true},
	{name: "nearest", title: "most similar, no margin", choose: memory.MostSimilar},
	{name: "memory", title: "heal memory"},
}

// ending is how one ask ended.
type ending string

const (
	endRight     ending = "right"
	endAmbiguous ending = "ambiguous"
	endNotFound  ending = "not found"
	endWrong     ending = "wrong"
	endOther     ending = "other" // anything else is a fault of the measurement, or of toolsvc
)

// ask is one question: where is this element of this pair now?
type ask struct {
	pair int
	way  string
	mode mode

	end     ending
	tries   int
	message string
	took    time.Duration
}

func run(ctx context.Context, o options, w io.Writer) (bool, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return false, fmt.Errorf("-only: %w", err)
	}
	pairs, err := parse()
	if err != nil {
		return false, err
	}
	s, err := serve(pairs)
	if err != nil {
		return false, err
	}
	defer s.srv.Close() //nolint:errcheck // it served what it had to
	var asks []*ask
	for _, m := range modes {
		if o.mode != "" && o.mode != m.name {
			continue
		}
		var mine []*ask
		for i, p := range pairs {
			for _, way := range ways {
				if only.MatchString(p.name) {
					mine = append(mine, &ask{pair: i, way: way, mode: m})
				}
			}
		}
		if err := measure(ctx, o, s, m, mine); err != nil {
			return false, fmt.Errorf("%s: %w", m.title, err)
		}
		asks = append(asks, mine...)
	}
	return report(w, pairs, asks, o.verbose), nil
}

var visits atomic.Int64

// maxTries bounds how often an ask is made that ended in neither of the ways that are counted: on a machine that is too busy, the browser
// may not answer in time.
const maxTries = 3

// measure makes all asks of one mode on one stack.
func measure(ctx context.Context, o options, s *site, m mode, asks []*ask) (err error) {
	dir, err := os.MkdirTemp("", "toolsvc-redesign-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	st, err := stack.Open(ctx, stack.Options{StateDir: dir, Ephemeral: true, UIPort: -1, NoVision: true, MaxSessions: 2 * o.parallel, NoMemory: m.without, Choose: m.choose})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close(context.WithoutCancel(ctx))) }()
	jobs := make(chan *ask)
	var done atomic.Int64
	var wg sync.WaitGroup
	for range max(1, o.parallel) {
		wg.Go(func() {
			for a := range jobs {
				for a.end == "" || a.end == endOther && a.tries < maxTries && ctx.Err() == nil {
					a.tries++
					if err := a.make(ctx, st, s); err != nil {
						a.end, a.message = endOther, err.Error()
					}
				}
				if n := done.Add(1); n%25 == 0 {
					fmt.Fprintf(os.Stderr, "%s: %d of %d\n", m.title, n, len(asks))
				}
				if a.end == endOther || a.end == endWrong && m.choose == nil && !m.without {
					fmt.Fprintf(os.Stderr, "%s, %s, by %s: %s %s\n", m.name, s.pairs[a.pair].name, a.way, a.end, a.message)
				}
			}
		})
	}
	for _, a := range asks {
		select {
		case jobs <- a:
		case <-ctx.Done():
		}
	}
	close(jobs)
	wg.Wait()
	return ctx.Err()
}

// make has the element clicked before the redesign, and asks for it after.
func (a *ask) make(ctx context.Context, st *stack.Stack, s *site) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	p := s.pairs[a.pair]
	before, after := int(visits.Add(1)), int(visits.Add(1))
	addresses := []string{s.address(a.pair, false, before), s.address(a.pair, true, after)}
	if a.mode.without { // nothing is learnt, so nothing has to be taught
		addresses = addresses[1:]
	}
	began := time.Now()
	failure, message, steps, err := click(ctx, st, p.targets[a.way], addresses...)
	if err != nil {
		return err
	}
	if hits := s.clicked(before); !a.mode.without && (steps < 3 || !slices.Equal(hits, []string{"right"})) {
		return fmt.Errorf("before the redesign: clicked %v, %s %s", hits, failure, message)
	}
	a.took, a.message = time.Since(began), message
	a.end = judge(p.truth, s.clicked(after), failure)
	if a.end == endOther {
		a.message = fmt.Sprintf("clicked %v, %s %s", s.clicked(after), failure, message)
	}
	return nil
}

// judge says how an ask ended: by what was clicked, and by what toolsvc said.
func judge(t truth, hits []string, failure tool.Failure) ending {
	switch {
	case slices.Contains(hits, "wrong"), len(hits) > 1:
		return endWrong
	case len(hits) == 1 && failure == "" && t == there:
		return endRight
	case len(hits) == 0 && failure == tool.AmbiguousTarget:
		return endAmbiguous
	case len(hits) == 0 && failure == tool.TargetNotFound:
		return endNotFound
	}
	return endOther
}

// click opens each page and clicks in it, in one run. failure is "" when all steps were verified, and steps how many were.
func click(ctx context.Context, st *stack.Stack, target map[string]any, addresses ...string) (failure tool.Failure, message string, steps int, err error) {
	in := planner.Input{RunID: tool.NewRunID(), Kind: planner.KindScript, Title: "redesign", Language: "en"}
	add := func(id tool.ID, args map[string]any) error {
		text, err := json.Marshal(args)
		if err != nil {
			return err
		}
		step, rejected, err := st.Service.Prepare(tool.Request{Tool: id, Arguments: text, CallID: tool.NewCallID(), RunID: in.RunID}, "en")
		if err != nil {
			return err
		}
		if rejected != nil {
			return fmt.Errorf("%s: %s", text, rejected.Error.Message)
		}
		in.Steps = append(in.Steps, step)
		return nil
	}
	for _, address := range addresses {
		if err := errors.Join(add("browser.navigate", map[string]any{"url": address}), add("browser.click", map[string]any{"target": target})); err != nil {
			return "", "", 0, err
		}
	}
	if err := st.Service.Start(ctx, in); err != nil {
		return "", "", 0, err
	}
	state, err := st.Service.Wait(ctx, in.RunID)
	if err != nil {
		return "", "", 0, err
	}
	for _, s := range state.Steps {
		switch {
		case s.Result != nil && s.Result.Error != nil:
			return s.Result.Error.Code, s.Result.Error.Message, steps, nil
		case s.Result == nil:
			return tool.Internal, "the run ended without a result of every step", steps, nil
		}
		steps++
	}
	return "", "", steps, nil
}

// report prints the tables, and says whether heal memory did what is wanted.
func report(w io.Writer, pairs []pair, asks []*ask, verbose bool) bool {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if verbose {
		slices.SortStableFunc(asks, func(a, b *ask) int { return cmp.Or(cmp.Compare(a.pair, b.pair), cmp.Compare(a.way, b.way)) })
		for _, a := range asks {
			fmt.Fprintf(tw, "%s\tby %s\t%s\t%s\t%s\t%d ms\t%s\n", pairs[a.pair].name, a.way, pairs[a.pair].truth, a.mode.name, a.end, a.took.Milliseconds(), a.message)
		}
		_ = tw.Flush()
		fmt.Fprintln(w)
	}
	fmt.Fprintf(tw, "THE ELEMENT IS\tASKED BY\tMODE\tRIGHT\tAMBIGUOUS\tNOT FOUND\tWRONG\tOTHER\tMEDIAN\n")
	good := true
	for _, there := range []bool{true, false} {
		for _, way := range ways {
			for _, m := range modes {
				var n [5]int
				var took []time.Duration
				total := 0
				for _, a := range asks {
					if a.way != way || a.mode.name != m.name || (pairs[a.pair].truth == truth("right")) != there {
						continue
					}
					total++
					took = append(took, a.took)
					n[slices.Index([]ending{endRight, endAmbiguous, endNotFound, endWrong, endOther}, a.end)]++
				}
				if total == 0 {
					continue
				}
				if m.name == "memory" {
					good = good && n[3] == 0 && n[4] == 0 && (!there || float64(n[0]) >= wanted*float64(total))
				}
				slices.Sort(took)
				where, right := "there", fmt.Sprintf("%d of %d", n[0], total)
				if !there {
					where, right = "gone, or not to be told", "-"
				}
				fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d ms\n", where, way, m.title, right, n[1], n[2], n[3], n[4], took[total/2].Milliseconds())
			}
		}
	}
	return tw.Flush() == nil && good
}
