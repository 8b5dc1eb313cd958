package browser

import (
	"context"
	"fmt"
	"sort"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"

	"toolsvc/executors/browser/devtools"
	"toolsvc/tool"
)

// TestStages prints how long each stage of a click takes.
func TestStages(t *testing.T) {
	p := open(t, counter)
	var sums = map[string][]time.Duration{}
	for range 15 {
		ctx := context.Background()
		call := p.call("click", clickOn("Play", "role", "button"))
		start := time.Now()
		last := start
		lap := func(n string) { sums[n] = append(sums[n], time.Since(last)); last = time.Now() }
		att, err := p.x.Begin(ctx, call, tool.Plan{Number: 1, Source: tool.SourceAX, Input: tool.InputMouse})
		if err != nil {
			t.Fatal(err)
		}
		lap("1 begin")
		if err := att.Resolve(ctx); err != nil {
			t.Fatal(err)
		}
		lap("2 resolve")
		if _, err := att.Observe(ctx, tool.Needs{}); err != nil {
			t.Fatal(err)
		}
		lap("3 observe")
		if err := att.Dispatch(ctx); err != nil {
			t.Fatal(err)
		}
		lap("4 dispatch")
		out, err := att.Settle(ctx)
		if err != nil || out.Effect != tool.EffectConfirmed {
			t.Fatal(err, out)
		}
		lap("5 settle")
		if _, err := att.Observe(ctx, tool.Needs{}); err != nil {
			t.Fatal(err)
		}
		lap("6 observe")
		if err := att.Close(); err != nil {
			t.Fatal(err)
		}
		lap("7 close")
		sums["8 total"] = append(sums["8 total"], time.Since(start))
	}
	var names []string
	for n := range sums {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		d := sums[n]
		sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
		fmt.Printf("%-12s median %6.1f ms  max %6.1f ms\n", n, ms(d[len(d)/2]), ms(d[len(d)-1]))
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

var _ = devtools.Limit
var _ = input.CommandDispatchMouseEvent
var _ = runtime.CommandEvaluate
