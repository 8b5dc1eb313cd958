//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"toolsvc/bench/gym"
)

// soakClients are the clients of a soak.
const soakClients = 4

// everyClick is which run of a soak has a browser; the others read, write and run commands.
const everyClick = 10

// soak makes runs on one server and looks at its footprint every so many, at rest.
func soak(ctx context.Context, s *server, site *gym.Server, runs, every int, out io.Writer) (flat bool, err error) {
	units := []unit{series[0].unit, series[1].unit, series[2].unit}
	fmt.Fprintf(out, "\n**soak**: %d runs by %d clients: document.read, document.write, terminal.run in turn, each tenth a page with a click\n\n", runs, soakClients)
	fmt.Fprintf(out, "| runs | runs/s | p95 ms | failed | RSS MiB | goroutines | files | threads | state MiB |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	var xs, rss, goroutines, files []float64
	failed := 0
	reasons := map[string]int{}
	for made := 0; made < runs; made += every {
		var mu sync.Mutex
		var took []time.Duration
		todo := make(chan int)
		var wg sync.WaitGroup
		began := time.Now()
		for range soakClients {
			wg.Go(func() {
				for n := range todo {
					u := units[n%len(units)]
					if n%everyClick == 0 {
						u = click
					}
					p, cerr := u(ctx, s, site, int64(n))
					mu.Lock()
					took = append(took, p.took)
					if cerr != nil || !p.ok {
						failed++
						reasons[fmt.Sprintf("%s %v", p.why, cerr)]++
					}
					mu.Unlock()
				}
			})
		}
		for n := range min(every, runs-made) {
			todo <- made + n
		}
		close(todo)
		wg.Wait()
		rate := float64(len(took)) / time.Since(began).Seconds()
		f, err := s.footprint()
		if err = errors.Join(err, ctx.Err()); err != nil {
			return false, err
		}
		n := made + len(took)
		xs, rss, goroutines, files = append(xs, float64(n)), append(rss, float64(f.RSS)/1024), append(goroutines, float64(f.Goroutines)), append(files, float64(f.Files))
		fmt.Fprintf(out, "| %d | %.1f | %d | %d | %s | %s | %d | %d | %s |\n", n, rate, percentile(took, 95).Milliseconds(), failed, mib(f.RSS), orDash(f.Goroutines), f.Files, f.Threads, mib(f.Disk))
	}
	half := len(xs) / 2 // the first half fills caches and pools
	fmt.Fprintf(out, "\nGrowth for each 1000 runs, over the second half: %.0f KiB of memory, %.2f goroutines, %.2f files.\n",
		1000*slope(xs[half:], rss[half:]), 1000*slope(xs[half:], goroutines[half:]), 1000*slope(xs[half:], files[half:]))
	for why, n := range reasons {
		fmt.Fprintf(out, "<!-- %d× %.300s -->\n", n, why)
	}
	flat = failed == 0 && isFlat(rss[half:], 0.15, 48<<10) && isFlat(files[half:], 0.1, 12) && isFlat(goroutines[half:], 0.1, 40)
	if !flat {
		fmt.Fprintln(out, "\nNot flat, or calls failed.")
	}
	return flat, nil
}

// isFlat reports whether what is last is at most a share, or an amount, above what is first.
func isFlat(ys []float64, share, amount float64) bool {
	if len(ys) < 2 {
		return true
	}
	grown := ys[len(ys)-1] - ys[0]
	return grown <= share*ys[0] || grown <= amount
}
