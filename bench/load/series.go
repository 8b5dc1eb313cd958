//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"toolsvc/bench/gym"
	"toolsvc/tool"
)

// unit is what one client does once. Its sample is of the call that the series is about.
type unit func(ctx context.Context, s *server, site *gym.Server, n int64) (sample, error)

// sample is one answered call.
type sample struct {
	took, queued time.Duration
	ok           bool
	why          string // when it is not
}

func sampleOf(r *tool.Result, took time.Duration) sample {
	p := sample{took: took, queued: time.Duration(r.Telemetry.QueuedMS) * time.Millisecond, ok: r.OK()}
	if r.Error != nil {
		p.why = string(r.Error.Code) + ": " + r.Error.Message
	}
	return p
}

// single is a unit of one call in a run of its own.
func single(name string, args func(n int64) any) unit {
	return func(ctx context.Context, s *server, _ *gym.Server, n int64) (sample, error) {
		began := time.Now()
		r, err := s.call(ctx, "", name, args(n))
		if err != nil {
			return sample{}, err
		}
		return sampleOf(r, time.Since(began)), nil
	}
}

// click opens a page of its own and clicks a button that sends an order; the sample is of the click.
func click(ctx context.Context, s *server, site *gym.Server, _ int64) (sample, error) {
	run := tool.NewRunID()
	r, err := s.call(ctx, run, "browser.navigate", map[string]any{"url": site.URL + "/c/order?mode=normal&session=" + run})
	if err != nil {
		return sample{}, err
	}
	defer s.end(context.WithoutCancel(ctx), run) //nolint:errcheck // it ends by itself, only later
	if !r.OK() {
		return sampleOf(r, 0), nil
	}
	began := time.Now()
	r, err = s.call(ctx, run, "browser.click", placeOrder)
	if err != nil {
		return sample{}, err
	}
	p := sampleOf(r, time.Since(began))
	if n := site.Truth(run); p.ok && (n.Goal != 1 || n.Wrong != 0) {
		return p, fmt.Errorf("a verified click made %d orders", n.Goal+n.Wrong)
	}
	return p, nil
}

var placeOrder = map[string]any{"target": map[string]any{"name": "Place order", "role": "button"}, "expect": []string{`page.text.contains("placed")`}}

// series are the curves.
var series = []struct {
	name, what string
	max        int // concurrency beyond which it is not measured
	unit       unit
}{
	{"step", "document.read, a healthy step without a browser", 512, single("document.read", func(int64) any { return map[string]any{"path": "guide.md", "end_line": 5} })},
	{"edit", "document.write, each client its own files", 64, single("document.write", func(n int64) any {
		return map[string]any{"path": fmt.Sprintf("files/f%d.md", n%64), "content": fmt.Sprintf("# Note %d\n", n)}
	})},
	{"command", "terminal.run true", 64, single("terminal.run", func(int64) any { return map[string]any{"command": "true"} })},
	{"click", "browser.click that places an order, after browser.navigate", 16, click},
}

// level is what one concurrency came to.
type level struct {
	Series      string
	Concurrency int
	Answered    []time.Duration
	Queued      []time.Duration
	Refused     int
	Failed      map[string]int
	Took        time.Duration
	After       footprint
}

func (l level) rate() float64 { return float64(len(l.Answered)) / l.Took.Seconds() }

// measure lets c clients work for a time.
func measure(ctx context.Context, s *server, site *gym.Server, u unit, c int, d time.Duration) (l level, err error) {
	l = level{Concurrency: c, Failed: map[string]int{}}
	until, began := time.Now().Add(d), time.Now()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var n atomic.Int64
	for range c {
		wg.Go(func() {
			for time.Now().Before(until) && ctx.Err() == nil {
				p, cerr := u(ctx, s, site, n.Add(1))
				var refused *errRefused
				mu.Lock()
				switch {
				case errors.As(cerr, &refused):
					l.Refused++
				case cerr != nil:
					l.Failed[cerr.Error()]++
				case !p.ok:
					l.Failed[p.why]++
				default:
					l.Answered, l.Queued = append(l.Answered, p.took), append(l.Queued, p.queued)
				}
				mu.Unlock()
				if refused != nil {
					select {
					case <-time.After(refused.Wait):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	wg.Wait()
	l.Took = time.Since(began)
	l.After, err = s.footprint()
	return l, errors.Join(err, ctx.Err())
}

// curves measures all series, doubling the concurrency up to the bound.
func curves(ctx context.Context, s *server, site *gym.Server, only string, most int, d time.Duration, out io.Writer) (levels []level, err error) {
	for _, x := range series {
		if only != "" && only != x.name {
			continue
		}
		if _, err := measure(ctx, s, site, x.unit, 2, d/4); err != nil { // what is made once is made here
			return levels, err
		}
		fmt.Fprintf(out, "\n**%s**: %s\n\n| clients | calls/s | p50 ms | p95 ms | p99 ms | queue p95 ms | refused (429) | failed | RSS MiB | goroutines | files |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n", x.name, x.what)
		for c := 1; c <= min(x.max, most); c *= 2 {
			l, err := measure(ctx, s, site, x.unit, c, d)
			if err != nil {
				return levels, err
			}
			l.Series = x.name
			levels = append(levels, l)
			failed := 0
			for _, n := range l.Failed {
				failed += n
			}
			ms := func(p float64) string { return fmt.Sprintf("%.0f", percentile(l.Answered, p).Seconds()*1000) }
			fmt.Fprintf(out, "| %d | %.1f | %s | %s | %s | %d | %d | %d | %s | %s | %d |\n", c, l.rate(), ms(50), ms(95), ms(99), percentile(l.Queued, 95).Milliseconds(),
				l.Refused, failed, mib(l.After.RSS), orDash(l.After.Goroutines), l.After.Files)
			for why, n := range l.Failed {
				fmt.Fprintf(out, "<!-- %d× %.300s -->\n", n, why)
			}
		}
	}
	return levels, nil
}
