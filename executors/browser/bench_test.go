package browser

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"

	"toolsvc/executors/browser/devtools"
	"toolsvc/tool"
)

// stages times the stages of an attempt.
type stages map[string][]time.Duration

func (s stages) median(name string) float64 {
	d := s[name]
	sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
	return float64(d[len(d)/2].Microseconds()) / 1000
}

// wire counts what travels between toolsvc and the browser. It does not depend on how busy the machine is, as times do.
type wire struct {
	mu  sync.Mutex
	all []devtools.Exchange
}

func (w *wire) hear(e devtools.Exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, e)
}

// take returns what travelled since the last time, in the order in which it was sent, and the rounds: how often a command was sent while
// none was under way.
func (w *wire) take() (all []devtools.Exchange, rounds int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, w.all = w.all, nil
	sort.Slice(all, func(i, j int) bool { return all[i].Sent.Before(all[j].Sent) })
	var free time.Time
	for _, e := range all {
		if e.Sent.After(free) {
			rounds++
		}
		if e.Answered.After(free) {
			free = e.Answered
		}
	}
	return all, rounds
}

var traced = flag.Bool("trace", false, "print every command to the browser of the twelfth attempt of each benchmark, with its times")

// print shows what travelled, for reading.
func (w *wire) print(b *testing.B, all []devtools.Exchange, laps []string) {
	b.Helper()
	for _, e := range all {
		what := e.Method
		var p struct{ Expression, FunctionDeclaration string }
		if json.Unmarshal(e.Params, &p) == nil && p.Expression+p.FunctionDeclaration != "" {
			what += " " + strings.Join(strings.Fields(clip(p.Expression+p.FunctionDeclaration, 160)), " ")
		}
		fmt.Fprintf(os.Stderr, "%7.2f %6.2f  %s\n", float64(e.Sent.Sub(all[0].Sent).Microseconds())/1000, float64(e.Answered.Sub(e.Sent).Microseconds())/1000, what)
	}
	fmt.Fprintln(os.Stderr, b.Name()+": "+strings.Join(laps, ", "))
}

func (s stages) attempt(b *testing.B, p *visit, src tool.Source, name string, args any, want tool.Effect) {
	b.Helper()
	ctx := context.Background()
	call := p.call(name, args)
	w := new(wire)
	p.x.pool.sessions[p.run].tab.Session().Conn().Trace(w.hear)
	start := time.Now()
	last := start
	var laps []string
	lap := func(n string, err error) {
		if err != nil {
			b.Fatal(n, err)
		}
		laps = append(laps, fmt.Sprintf("%s until %.2f", n, float64(time.Since(start).Microseconds())/1000))
		s[n] = append(s[n], time.Since(last))
		last = time.Now()
	}
	att, err := p.x.Begin(ctx, call, tool.Plan{Number: 1, Source: src, Input: tool.InputMouse})
	lap("begin", err)
	lap("resolve", att.Resolve(ctx))
	_, err = att.Observe(ctx, tool.Needs{})
	lap("before", err)
	lap("dispatch", att.Dispatch(ctx))
	out, err := att.Settle(ctx)
	lap("settle", err)
	if out.Effect != want {
		b.Fatal(out)
	}
	_, err = att.Observe(ctx, tool.Needs{})
	lap("after", err)
	lap("close", att.Close())
	s["total"] = append(s["total"], time.Since(start))
	all, rounds := w.take()
	s["commands"], s["rounds"] = append(s["commands"], time.Duration(len(all))*time.Millisecond), append(s["rounds"], time.Duration(rounds)*time.Millisecond)
	if *traced && len(s["total"]) == 12 {
		w.print(b, all, laps)
	}
}

func (s stages) report(b *testing.B) {
	b.ReportMetric(s.median("commands"), "commands")
	b.ReportMetric(s.median("rounds"), "rounds")
	for _, n := range []string{"resolve", "before", "dispatch", "settle", "after", "total"} {
		b.ReportMetric(s.median(n), n+"-ms")
	}
}

// BenchmarkClick is a whole attempt at a click, with all evidence, on a page that reacts at once.
func BenchmarkClick(b *testing.B) {
	for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
		b.Run(string(src), func(b *testing.B) {
			p, s := open(b, counter), stages{}
			for b.Loop() {
				s.attempt(b, p, src, "click", clickOn("Play", "role", "button"), tool.EffectConfirmed)
			}
			s.report(b)
		})
	}
}

// BenchmarkClickPictured is the same with pictures for people, and, side by side, without.
func BenchmarkClickPictured(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("pictures=%t", with), func(b *testing.B) {
			x, err := New(Options{Ephemeral: true, Artifacts: store, Screenshots: with})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				if err := x.Shutdown(ctx); err != nil {
					b.Error(err)
				}
			})
			p, s := openIn(b, x, shop+counter), stages{}
			for b.Loop() {
				s.attempt(b, p, tool.SourceAX, "click", clickOn("Play", "role", "button"), tool.EffectConfirmed)
			}
			s.report(b)
		})
	}
}

// BenchmarkType is a whole attempt at typing.
func BenchmarkType(b *testing.B) {
	p, s, i := open(b, `<label>Name <input></label>`), stages{}, 0
	for b.Loop() {
		i++
		s.attempt(b, p, tool.SourceAX, "type", typing("Name", fmt.Sprintf("Ada %d", i)), tool.EffectConfirmed)
	}
	s.report(b)
}

// BenchmarkNavigate is a whole attempt at opening a page.
func BenchmarkNavigate(b *testing.B) {
	p, s := open(b, shop), stages{}
	for b.Loop() {
		s.attempt(b, p, tool.SourceSystem, "navigate", map[string]any{"url": p.url + "/"}, tool.EffectConfirmed)
	}
	s.report(b)
}

// BenchmarkSnapshot is a whole attempt at reading the page's tree.
func BenchmarkSnapshot(b *testing.B) {
	p, s := open(b, shop), stages{}
	for b.Loop() {
		s.attempt(b, p, tool.SourceSystem, "snapshot", map[string]any{}, tool.EffectNone)
	}
	s.report(b)
}

// BenchmarkFloor is the least that a click costs without any evidence: find, two frames of a gate, and the mouse.
func BenchmarkFloor(b *testing.B) {
	p := open(b, counter)
	s := p.x.pool.sessions[p.run].tab.Session()
	ctx, yes, laps := context.Background(), true, stages{}
	for b.Loop() {
		start := time.Now()
		r, err := devtools.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{AwaitPromise: &yes, ReturnByValue: &yes, Expression: `new Promise(done=>{
			const b=[...document.querySelectorAll('button')].find(x=>x.textContent==='Play'),f=()=>{const r=b.getBoundingClientRect();return [r.x+r.width/2,r.y+r.height/2]};
			requestAnimationFrame(()=>requestAnimationFrame(()=>{const [x,y]=f();document.elementFromPoint(x,y)===b&&done({x,y})}))})`})
		if err != nil || r.Result == nil {
			b.Fatal(err, r)
		}
		var at struct{ X, Y float64 }
		if err := jsonInto(r.Result.Value, &at); err != nil {
			b.Fatal(err)
		}
		ev := input.DispatchMouseEventParams{X: at.X, Y: at.Y, Button: "left", ClickCount: 1}
		down, up := ev, ev
		down.Type, up.Type = input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased
		first := devtools.Start(s, input.DispatchMouseEvent, down)
		second := devtools.Start(s, input.DispatchMouseEvent, up)
		if _, err := first.Wait(ctx); err != nil {
			b.Fatal(err)
		}
		if _, err := second.Wait(ctx); err != nil {
			b.Fatal(err)
		}
		laps["total"] = append(laps["total"], time.Since(start))
	}
	b.ReportMetric(laps.median("total"), "total-ms")
}

// crowd is a page of about n elements, with one small panel that holds the button.
func crowd(n int) string {
	return fmt.Sprintf(`<section aria-label="Now playing">%s</section><main><script>{let s='';for(let i=0;i<%d;i++)s+='<div class=row><span>Track '+i+'</span><a href=#t'+i+'>Open '+i+'</a></div>';document.write(s)}</script></main>`, counter, n/3)
}

// BenchmarkScopedClick is a whole attempt at a click in a panel of a page of so many elements. The time must not grow with the page.
func BenchmarkScopedClick(b *testing.B) {
	for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
		for _, n := range []int{100, 1000, 5000, 20000} {
			b.Run(fmt.Sprintf("%s/%d", src, n), func(b *testing.B) {
				p, s := open(b, crowd(n)), stages{}
				for b.Loop() {
					s.attempt(b, p, src, "click", clickOn("Play", "role", "button", "within", "Now playing"), tool.EffectConfirmed)
				}
				s.report(b)
			})
		}
	}
}
