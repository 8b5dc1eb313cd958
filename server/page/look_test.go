package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"
	"testing"
	"time"

	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/server/page/pagetest"
	"toolsvc/store"
	"toolsvc/tool"
)

// picture is a grey picture with a black square of 10 pixels at a place; none at x < 0.
func picture(t testing.TB, x, y int) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 400, 200))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.Gray{200}), image.Point{}, draw.Src)
	if x >= 0 {
		draw.Draw(img, image.Rect(x, y, x+10, y+10), image.Black, image.Point{}, draw.Src)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The screenshot before the action has the place marked where it was aimed; the difference is drawn when it is asked for.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	err := w.Scene(context.Background(), narration.English, pagetest.Pictures{Before: picture(t, -1, 0), After: picture(t, 300, 50),
		Mark: &tool.Mark{X: 100, Y: 150, Left: 80, Top: 140, Width: 40, Height: 20}})
	if err != nil {
		t.Fatal(err)
	}
	s := sit(t, w, "/runs/"+pagetest.SceneRun, pagetest.Wide)
	s.until(`document.querySelectorAll('.step').length === 6`)
	s.click(`document.querySelector('#step-2 summary')`)
	s.until(`document.querySelector('#step-2 .mark-point') && document.querySelector('#step-2 .mark-box')`)
	got := value[[]float64](s, `(() => {
		const img = document.querySelector('#step-2 .shot img').getBoundingClientRect(), m = document.querySelector('#step-2 .mark-point').getBoundingClientRect();
		return [(m.x + m.width / 2 - img.x) / img.width, (m.y + m.height / 2 - img.y) / img.height] })()`)
	if abs(got[0]-0.25) > 0.01 || abs(got[1]-0.75) > 0.01 {
		t.Errorf("the mark is at %v of the picture, not at a quarter and three quarters", got)
	}
	s.click(`document.querySelectorAll('#step-2 .segments button')[1]`)
	s.until(`document.querySelector('#step-2 .shot img').alt === 'The screen after the action' && !document.querySelector('#step-2 .mark-point')`)
	s.click(`document.querySelectorAll('#step-2 .segments button')[2]`)
	s.until(`document.querySelector('#step-2 .shots canvas')`)
	if note := value[string](s, `document.querySelector('#step-2 .shots [role=status]').textContent`); note != "0.125 % of the picture differ (100 pixels)." {
		t.Errorf("the difference is %q", note)
	}
	if px := value[[]int](s, `(() => { const g = document.querySelector('#step-2 .shots canvas').getContext('2d'); return [...g.getImageData(305, 55, 1, 1).data, ...g.getImageData(10, 10, 1, 1).data] })()`); px[0] < 200 || px[1] > 50 || px[4] != px[5] {
		t.Errorf("changed and unchanged pixels are %v", px)
	}
}

func abs(f float64) float64 { return max(f, -f) }

// Of many events only those in sight are elements, each is where it belongs, and the list follows its end until somebody scrolls away.
func TestLongNarration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run(w)
	const n = 3000
	es := lines(0, n)
	for i := range es {
		if i%7 == 0 {
			es[i].Text += " that is so long that it takes more than one line in the narrow column of the narration, beside the time, the step and the badge"
		}
		if i%10 == 3 {
			es[i].Level = narration.Warning
		}
	}
	for i := 0; i < n; i += 500 {
		if err := w.Say(context.Background(), aRun, es[i:i+500]...); err != nil {
			t.Fatal(err)
		}
	}
	s := sit(t, w, "/runs/"+aRun, pagetest.Wide)
	s.until(fmt.Sprintf(`[...document.querySelectorAll('.row')].at(-1)?.getAttribute('aria-posinset') === '%d'`, n))
	s.until(`(() => { const b = document.querySelector('.log'); return b.scrollHeight - b.scrollTop - b.clientHeight < 2 })()`)
	rows := `[...document.querySelectorAll('.row')]`
	if count := value[int](s, rows+`.length`); count > 80 {
		t.Errorf("%d rows are elements", count)
	}
	// wellPlaced: in order, without gap or overlap, and covering what is in sight.
	wellPlaced := `(() => { const b = document.querySelector('.log').getBoundingClientRect(); const r = ` + rows + `.map((e) => [Number(e.getAttribute('aria-posinset')), e.getBoundingClientRect()]);
		return r.length > 0 && r[0][1].top <= b.top + 2 && r.at(-1)[1].bottom >= b.bottom - 2 && r.every(([i, q], k) => k === 0 || i === r[k - 1][0] + 1 && Math.abs(q.top - r[k - 1][1].bottom) < 1.5) })()`
	s.until(wellPlaced)
	for _, part := range []string{"0.5", "0.1", "0.93", "0"} {
		s.must(s.Eval(`(() => { const b = document.querySelector('.log'); b.scrollTop = b.scrollHeight * `+part+` })()`, nil))
		s.until(wellPlaced)
	}
	s.until(`document.querySelector('.row .said').textContent.startsWith('line 0 ') && !document.querySelector('.jump').hidden`)
	s.say(lines(n, 1)...)
	s.until(fmt.Sprintf(`document.querySelector('.row').getAttribute('aria-setsize') === '%d' && document.querySelector('.log').scrollTop === 0`, n+1))
	s.click(`document.querySelector('.jump')`)
	s.until(fmt.Sprintf(`[...document.querySelectorAll('.row .said')].at(-1).textContent === 'line %d' && document.querySelector('.jump').hidden`, n))
	s.must(s.Eval(`(() => { const e = document.getElementById('narration-level'); e.value = 'warning'; e.dispatchEvent(new Event('change')); })()`, nil))
	s.until(fmt.Sprintf(`document.querySelector('.narration .count').textContent === '300 of 3,001 events' && document.querySelector('.row').getAttribute('aria-setsize') === '300' && %s`, wellPlaced))
}

// The list shows all runs or those that wait, and finds them by words and outcome.
func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.Scene(context.Background(), narration.English, pagetest.Pictures{}); err != nil {
		t.Fatal(err)
	}
	s := sit(t, w, "/", pagetest.Wide)
	titles := `[...document.querySelectorAll('.runs .title')].map((e) => e.textContent).join()`
	s.until(`document.querySelectorAll('.runs li').length === 6 && ` + titles + `.startsWith('Order the oak table')`)
	s.click(`document.getElementById('waiting')`)
	s.until(titles + ` === 'Order the oak table'`)
	s.click(`document.getElementById('waiting')`)
	s.until(`document.querySelectorAll('.runs li').length === 6`)
	s.must(s.Eval(`document.getElementById('words').focus()`, nil))
	s.must(s.Type("click"))
	s.until(titles + ` === 'Click “Add to basket”,Click “Confirm”'`)
	s.must(s.Eval(`(() => { const e = document.getElementById('outcome'); e.value = 'failed'; e.dispatchEvent(new Event('change')); })()`, nil))
	s.until(titles + ` === 'Click “Add to basket”'`)
	s.must(s.Eval(`document.getElementById('words').select()`, nil))
	s.must(s.Type("nothing such"))
	s.until(`!document.querySelector('.empty').hidden && document.querySelector('.empty').textContent === 'No run fits the filter.'`)
	s.must(s.Eval(`document.getElementById('run-id').focus()`, nil))
	s.must(s.Type(pagetest.SceneRun))
	s.must(s.Press("Enter"))
	s.until(`location.pathname === '/runs/` + pagetest.SceneRun + `' && document.querySelector('h1').textContent === 'Order the oak table'`)
	s.must(s.Go(w.Server.URL + "/runs/r_unknown"))
	s.until(`document.querySelector('.notice.bad')?.textContent.includes('There is no such run.')`)
}

// audit is what a checker of accessibility would find: controls without a name, duplicate ids, references to nothing, headings that skip a
// level, missing landmarks, texts with too little contrast (WCAG 2.2 AA), targets that are too small, and a page that is wider than the screen.
const audit = `(() => {
	const found = [];
	const seen = (e) => e.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false }) && !e.closest('.hidden, .skip');
	const ids = new Set();
	for (const e of document.querySelectorAll('[id]')) { if (ids.has(e.id)) found.push('the id ' + e.id + ' stands twice'); ids.add(e.id); }
	for (const e of document.querySelectorAll('[aria-labelledby], [aria-describedby], label[for]'))
		for (const a of ['aria-labelledby', 'aria-describedby', 'for']) for (const id of (e.getAttribute(a) || '').split(' ').filter(Boolean)) if (!ids.has(id)) found.push(a + ' names ' + id + ', which is not there');
	for (const e of document.querySelectorAll('input, select, textarea'))
		if (!e.labels?.length && !e.getAttribute('aria-label')) found.push('no label: ' + e.outerHTML.slice(0, 120));
	for (const e of document.querySelectorAll('button, a[href], summary'))
		if (!(e.getAttribute('aria-label') || e.textContent).trim()) found.push('no name: ' + e.outerHTML.slice(0, 120));
	for (const e of document.querySelectorAll('img, [role=img]')) if (!(e.alt || e.getAttribute('aria-label'))) found.push('no alternative: ' + e.outerHTML.slice(0, 120));
	for (const e of document.querySelectorAll('svg')) if (e.getAttribute('aria-hidden') !== 'true') found.push('a decoration that is read');
	for (const e of document.querySelectorAll('[role=region], section[aria-labelledby]')) if (!e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby')) found.push('a region without a name');
	for (const what of ['main', 'header', 'h1', '[role=status]', 'html[lang]', 'title']) if (!document.querySelector(what)) found.push('there is no ' + what);
	if (document.querySelectorAll('h1').length !== 1) found.push('there are several h1');
	let level = 0;
	for (const e of document.querySelectorAll('h1, h2, h3, h4, h5')) { const n = Number(e.tagName[1]); if (seen(e) && n > level + 1 && !e.closest('.body')) found.push('heading ' + n + ' follows ' + level + ': ' + e.textContent); if (seen(e)) level = n; }
	for (const e of document.querySelectorAll('[tabindex]')) if (Number(e.getAttribute('tabindex')) > 0) found.push('a place in the order of tabs that is forced');
	const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
	const rgba = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
	const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
	const ground = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return rgba(getComputedStyle(document.body).backgroundColor); };
	const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	let texts = 0;
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const e = n.parentElement;
		if (!n.data.trim() || !seen(e) || e.closest('noscript, option')) continue;
		texts += 1;
		const c = contrast(rgba(getComputedStyle(e).color), ground(e));
		if (c < 4.5) found.push('contrast ' + c.toFixed(2) + ': ' + n.data.trim().slice(0, 60) + ' in ' + e.className + ' of ' + e.parentElement.className);
	}
	for (const e of document.querySelectorAll('button, select, input:not([type=checkbox], [type=radio]), textarea')) if (seen(e)) {
		if (e.getBoundingClientRect().height < 24) found.push('too small: ' + e.outerHTML.slice(0, 120));
		const c = contrast(rgba(getComputedStyle(e).borderTopColor), ground(e.parentElement));
		if (c < 3) found.push('border with contrast ' + c.toFixed(2) + ': ' + e.outerHTML.slice(0, 120));
	}
	if (texts < 20) found.push('only ' + texts + ' texts were looked at');
	if (document.documentElement.scrollWidth > innerWidth) found.push('the page is ' + document.documentElement.scrollWidth + ' wide, the screen ' + innerWidth + ': ' + [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map((e) => e.outerHTML.slice(0, 150)).join(' | '));
	return found;
})()`

// In every language, colour and width, everything has a name, a contrast and its place.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	for _, lang := range narration.Langs {
		t.Run(string(lang), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if err := w.Scene(context.Background(), lang, pagetest.Pictures{Before: picture(t, -1, 0), After: picture(t, 300, 50), Mark: &tool.Mark{X: 100, Y: 150}}); err != nil {
				t.Fatal(err)
			}
			w.Change(pagetest.SceneRun, func(st *planner.State) {
				st.Questions = append(st.Questions, tool.Question{ID: "q_two", Kind: tool.AskOutcome, RunID: pagetest.SceneRun, Text: "Did this happen: Pay?", PriorInput: json.RawMessage(`{"a":1}`)},
					tool.Question{ID: "q_three", Kind: tool.AskArguments, RunID: pagetest.SceneRun, Tool: "browser.click", Text: "Which?", Schema: json.RawMessage(`{"type":"object","properties":{"target":{"type":"object","properties":{"name":{"type":"string"}}}}}`),
						Candidates: []tool.Candidate{{Name: "Play", Role: "button", Within: "Now playing"}, {Name: "Play", Role: "button", Within: "Library"}}})
			})
			for _, v := range []pagetest.View{pagetest.Wide, {Width: 320, Height: 640, Dark: true}} {
				s := sit(t, w, "/", v)
				s.must(s.Eval(fmt.Sprintf(`localStorage.setItem('toolsvc.lang', %q)`, lang), nil))
				s.must(s.Go(w.Server.URL + "/"))
				s.until(fmt.Sprintf(`document.querySelectorAll('.runs li').length === 6 && document.documentElement.lang === %q`, lang))
				for _, f := range value[[]string](s, audit) {
					t.Errorf("list, %+v: %s", v, f)
				}
				s.must(s.Go(w.Server.URL + "/runs/" + pagetest.SceneRun))
				s.until(`document.querySelectorAll('.ask').length === 4 && document.querySelector('.connection.is-live') && document.querySelectorAll('.row').length > 5`)
				s.must(s.Eval(`document.querySelectorAll('details').forEach((d) => { d.open = true })`, nil))
				s.until(`document.querySelector('#step-4 .checks') && document.querySelector('#step-2 .shots img')`)
				for _, f := range value[[]string](s, audit) {
					t.Errorf("run, %+v: %s", v, f)
				}
			}
		})
	}
}

// Everything can be reached and done with the keyboard alone, from the top to the bottom.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.Scene(context.Background(), narration.English, pagetest.Pictures{}); err != nil {
		t.Fatal(err)
	}
	s := sit(t, w, "/runs/"+pagetest.SceneRun, pagetest.Wide)
	s.until(`document.querySelectorAll('.ask').length === 2 && document.querySelector('.connection.is-live') && document.querySelector('.row')`)
	s.must(s.Press("Tab"))
	if got := value[string](s, `document.activeElement.id`); got != "skip" {
		t.Fatalf("the first stop is %q, not the link to the content", got)
	}
	const name = `(() => { const e = document.activeElement; return e.dataset.control || e.id.replace(/-\d+$/, '') || (e.matches('summary') && e.closest('.step') ? e.closest('[role=listitem]').id : '') || e.className || e.tagName })()`
	last, at := "", map[string]int{}
	for i := range 80 {
		if got := value[string](s, name); got != last {
			if _, again := at[got]; !again {
				at[got] = i
			}
			last = got
		}
		if at["log"] > 0 {
			break
		}
		s.must(s.Press("Tab"))
	}
	before := -1
	for _, stop := range []string{"skip", "brand", "language", "theme", "pause", "cancel", "field", "primary", "step-1", "step-6", "narration-level", "narration-words", "log"} {
		i, there := at[stop]
		if !there || i <= before {
			t.Errorf("%s is stop %d (%v), after %d: %v", stop, i, there, before, at)
		}
		before = i
	}
	s.must(s.Eval(`document.querySelector('#step-1 summary').focus()`, nil))
	s.must(s.Press("Enter"))
	s.until(`document.querySelector('#step-1 details').open && document.querySelector('#step-1 .checks')`)
}

// BenchmarkEvents shows a run of 1,000 healed steps and 5,000 events in Chromium: "stored", when all of them are there before the page is opened, and
// "live", when a step's five events come every 20 ms while it is looked at. It reports how long the main thread was blocked at most (longest-ms) and
// in all beyond 50 ms for each task (blocked-ms, as Total Blocking Time counts), the longest time between two frames (frame-ms), and how many frames
// took longer than 50 ms (late-frames); on a busy machine these count what other processes take, too. cpu-ms is what the main thread itself took.
func BenchmarkEvents(b *testing.B) {
	const n = 1000
	for _, live := range []bool{false, true} {
		b.Run(map[bool]string{false: "stored", true: "live"}[live], func(b *testing.B) {
			var longest, blocked, worst, late, cpu float64
			for b.Loop() {
				w := newWorld(b)
				steps := make([]planner.StepState, n)
				for i := range steps {
					steps[i] = planner.StepState{CallID: fmt.Sprintf("c_%d", i), Tool: "browser.click", Title: fmt.Sprintf("Click “Row %d”", i), Status: planner.StatusQueued}
				}
				w.Put(planner.State{RunID: aRun, Title: "A long run", Language: "en", Kind: planner.KindScript, Outcome: planner.OutcomeRunning, Began: time.Now(), Steps: steps})
				if !live {
					for i := range n {
						happenStep(b, w, i)
					}
				}
				s := sit(b, w, "/assets/icon.svg", pagetest.Wide)
				s.must(s.Measure())
				s.must(s.Go(w.Server.URL + "/runs/" + aRun))
				s.until(`document.querySelector('#narration-words')`)
				spoken := make(chan struct{})
				go func() {
					defer close(spoken)
					for i := 0; live && i < n; i++ {
						happenStep(b, w, i)
						time.Sleep(20 * time.Millisecond) // the rate is what is measured
					}
				}()
				var r struct{ Longest, Blocked, Worst, Late float64 }
				s.must(s.Eval(fmt.Sprintf(`new Promise((done) => {
					const tasks = [];
					new PerformanceObserver((l) => tasks.push(...l.getEntries().map((e) => e.duration))).observe({ type: 'longtask', buffered: true });
					let worst = 0, late = 0, last = performance.now();
					const frame = (now) => {
						worst = Math.max(worst, now - last); late += now - last > 50; last = now;
						if (document.querySelector('#step-%d details.is-verified')) {
							setTimeout(() => done({ Longest: Math.max(0, ...tasks), Blocked: tasks.reduce((s, t) => s + Math.max(0, t - 50), 0), Worst: worst, Late: late }), 100);
							return;
						}
						requestAnimationFrame(frame);
					};
					requestAnimationFrame(frame);
				})`, n), &r))
				<-spoken
				taken, err := s.CPU()
				s.must(err)
				cpu = max(cpu, float64(taken.Milliseconds()))
				longest, blocked, worst, late = max(longest, r.Longest), max(blocked, r.Blocked), max(worst, r.Worst), max(late, r.Late)
				s.Close()
			}
			b.ReportMetric(longest, "longest-ms")
			b.ReportMetric(blocked, "blocked-ms")
			b.ReportMetric(worst, "frame-ms")
			b.ReportMetric(late, "late-frames")
			b.ReportMetric(cpu, "cpu-ms")
		})
	}
}

// happenStep has the i-th step of a run verified at its second attempt, with four events of narration and the result.
func happenStep(b *testing.B, w *pagetest.World, i int) {
	id := fmt.Sprintf("c_%d", i)
	es := lines(4*i, 4)
	for k := range es {
		es[k].Step, es[k].Steps, es[k].Attempt = i+1, 1000, 1+k/2
	}
	res := &tool.Result{CallID: id, RunID: aRun, Tool: "browser.click", Result: json.RawMessage(`{"url":"https://shop.example/","title":"Shop","changed":true}`),
		Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Threshold: 0.7, Explanation: "The check holds.",
			Checks: []tool.Check{{Name: "expect 1", Condition: `page.text.contains("done")`, Expected: "“done” on the page", Observed: "done", Passed: true}}},
		Attempts: []tool.AttemptRecord{{Number: 1, Source: tool.SourceAX, Phase: tool.PhaseStarted, Effect: tool.EffectNone, Failure: tool.TargetNotFound, DurationMS: 20},
			{Number: 2, Source: tool.SourceCDP, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed, DurationMS: 80}}}
	w.Change(aRun, func(st *planner.State) { // a new list, because the old one may be read at this moment
		steps := slices.Clone(st.Steps)
		steps[i].Status, steps[i].Result = planner.StatusVerified, res
		st.Steps = steps
	})
	if err := errors.Join(w.Say(context.Background(), aRun, es...), w.Happen(context.Background(), aRun, store.KindToolResult, res)); err != nil {
		b.Error(err)
	}
}
