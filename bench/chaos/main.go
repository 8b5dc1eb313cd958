//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

type options struct {
	rounds, parallel, only, perServer int
	seed                              uint64
	bin, log                          string
	machines                          bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 40, "rounds")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixMilli()), "seed; the same seed plans the same rounds")
	flag.IntVar(&o.parallel, "parallel", 2, "servers at once; each plays its rounds one after the other")
	flag.IntVar(&o.only, "only", -1, "play this round alone, with a server of its own")
	flag.StringVar(&o.bin, "bin", "", "folder with toolsvc and temporald built before; built now when empty")
	flag.StringVar(&o.log, "log", "", "file for one JSON line a violation")
	flag.BoolVar(&o.machines, "machines", false, "two workers with one PostgreSQL and one Temporal behind a proxy (deploy/topology), instead of one server")
	flag.Parse()
	o.perServer = block
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	t, err := run(ctx, o, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(4)
	case len(t.violations) > 0:
		os.Exit(1)
	}
}

// run plays all rounds and prints what they came to.
func run(ctx context.Context, o options, out io.Writer) (*tally, error) {
	programs, cleanup, err := build(ctx, o.bin)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	log := io.Discard
	if o.log != "" {
		f, err := os.Create(o.log)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // written line by line
		log = f
	}
	full := os.Geteuid() == 0
	var blocks [][]Round
	for i := range o.rounds {
		if o.only >= 0 && i > 0 {
			break
		}
		if n := i % o.perServer; n == 0 {
			blocks = append(blocks, nil)
		}
		last := &blocks[len(blocks)-1]
		if o.only >= 0 {
			i = o.only
		}
		if o.machines {
			*last = append(*last, drawMachines(o.seed, i))
		} else {
			*last = append(*last, draw(o.seed, i, full))
		}
	}
	fmt.Fprintf(out, "seed %d, %d rounds\n", o.seed, o.rounds)
	total, began, played := newTally(), time.Now(), 0
	var mu sync.Mutex
	var failed error
	todo := make(chan []Round)
	var workers sync.WaitGroup
	for range max(1, o.parallel) {
		workers.Go(func() {
			for rounds := range todo {
				err := playBlock(ctx, o.seed, programs, rounds, func(t *tally) {
					mu.Lock()
					defer mu.Unlock()
					played++
					total.add(t)
					for _, v := range t.violations {
						text, _ := json.Marshal(v) // plain data
						fmt.Fprintf(log, "%s\n", text)
						fmt.Fprintf(out, "VIOLATION %s\n  again: go run ./bench/chaos -seed %d -only %d%s\n", text, v.Seed, v.Round, map[bool]string{true: " -machines"}[o.machines])
					}
					if played%10 == 0 {
						fmt.Fprintf(out, "%d rounds, %d calls, %d violations, %s\n", played, total.calls, len(total.violations), time.Since(began).Round(time.Second))
					}
				})
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, b := range blocks {
		todo <- b
	}
	close(todo)
	workers.Wait()
	report(out, o, total, played, time.Since(began))
	return total, failed
}

// playBlock plays the rounds of one server. done is told of each; its error says that rounds could not be played.
func playBlock(ctx context.Context, seed uint64, p programs, rounds []Round, done func(*tally)) (err error) {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w, err := openWorld(ctx, p, rounds)
	if err != nil {
		return err
	}
	broken := false
	defer func() {
		if cerr := w.close(broken); cerr != nil {
			t := newTally()
			t.violations = []Violation{{Seed: seed, Round: rounds[len(rounds)-1].Number, Rule: ruleLeft, What: cerr.Error()}}
			done(t)
		}
	}()
	for _, round := range rounds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t := w.play(ctx, seed, round)
		if len(t.violations) > 0 {
			broken = true
			for i := range t.violations {
				t.violations[i].Kept = w.dir
			}
		}
		done(t)
	}
	return nil
}

// build makes the programs under test.
func build(ctx context.Context, bin string) (p programs, cleanup func(), err error) {
	cleanup = func() {}
	if bin == "" {
		if bin, err = os.MkdirTemp("", "toolsvc-chaos-bin-"); err != nil {
			return p, cleanup, err
		}
		cleanup = func() { os.RemoveAll(bin) } //nolint:errcheck // a temporary directory
		cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", bin, "toolsvc/cmd/toolsvc", "toolsvc/bench/chaos/temporald")
		if text, err := cmd.CombinedOutput(); err != nil {
			cleanup()
			return p, func() {}, fmt.Errorf("build the programs: %w\n%s", err, text)
		}
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return p, cleanup, err
	}
	return programs{filepath.Join(bin, "toolsvc"), filepath.Join(bin, "temporald")}, cleanup, nil
}

// report prints what all rounds came to.
func report(out io.Writer, o options, t *tally, played int, took time.Duration) {
	fmt.Fprintf(out, "\nseed %d: %d rounds in %s (%.1f s each), %d calls, %d effects, %d histories replayed\n\n", o.seed, played, took.Round(time.Second),
		t.took.Seconds()/float64(max(1, played)), t.calls, t.effects, t.replayed)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fault\tinjected\tlanded")
	for _, k := range slices.Sorted(maps.Keys(t.injected)) {
		fmt.Fprintf(w, "%s\t%d\t%d\n", k, t.injected[k], t.landed[k])
	}
	fmt.Fprintln(w, "\noutcome\tcalls\tin the latest one's words")
	for _, k := range slices.Sorted(maps.Keys(t.outcomes)) {
		fmt.Fprintf(w, "%s\t%d\t%s\n", k, t.outcomes[k], strings.Join(strings.Fields(t.messages[k]), " "))
	}
	fmt.Fprintln(w, "\nanswer\trequests")
	for _, k := range slices.Sorted(maps.Keys(t.statuses)) {
		name := fmt.Sprint(k)
		if k == 0 {
			name = "none"
		}
		fmt.Fprintf(w, "%s\t%d\n", name, t.statuses[k])
	}
	w.Flush() //nolint:errcheck // to a terminal
	fmt.Fprintf(out, "\nviolations: %d\n", len(t.violations))
}
