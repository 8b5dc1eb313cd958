package browser

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"toolsvc/executors/browser/vision"
	"toolsvc/tool"
)

// seer is a grounder that knows where things are.
type seer struct {
	places  map[string][]vision.Candidate
	missing error
}

func (s *seer) Name() string     { return "fake" }
func (s *seer) Available() error { return s.missing }
func (s *seer) Locate(_ context.Context, shot vision.Screenshot, q vision.Query) ([]vision.Candidate, error) {
	if len(shot.PNG) == 0 {
		return nil, errors.New("no picture")
	}
	return s.places[q.Name], nil
}
func (s *seer) Read(_ context.Context, _ vision.Screenshot, r vision.Rect) (string, error) {
	for name, cs := range s.places {
		for _, c := range cs {
			if r.Contains(c.Box.Center()) {
				return name, nil
			}
		}
	}
	return "", nil
}

func withVision(t *testing.T, s *seer, o Options) *Executor {
	t.Helper()
	o.Ephemeral, o.Vision = true, s
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return x
}

const painted = `<body style="margin:0"><canvas id=c width=600 height=300></canvas><script>
	const g=c.getContext('2d');const draw=col=>{g.fillStyle=col;g.fillRect(100,100,120,40);g.fillStyle='#fff';g.fillText('Play',140,125)};draw('#00f');
	c.onclick=e=>{if(e.offsetX>100&&e.offsetX<220&&e.offsetY>100&&e.offsetY<140){if(window.dead)return;window.n=(window.n||0)+1;draw('#0a0')}else window.wrong=1}</script>`

func at100() []vision.Candidate {
	return []vision.Candidate{{Box: vision.Rect{X: 100, Y: 100, W: 120, H: 40}, Text: "Play", Confidence: 0.95, Exact: true}}
}

// TestCanvas goes the way of healing: neither tree has it, both say so quickly, the picture shows it, and only pixels tell of the effect.
func TestCanvas(t *testing.T) {
	t.Parallel()
	for _, dpr := range []float64{1, 2} {
		x := withVision(t, &seer{places: map[string][]vision.Candidate{"Play": at100()}}, Options{DeviceScaleFactor: dpr})
		p := openIn(t, x, painted)
		start := time.Now()
		p.by(tool.SourceAX, "click", clickOn("Play", "role", "button")).fails(t, tool.TargetNotFound)
		p.plan(tool.Plan{Number: 2, Source: tool.SourceCDP, Input: tool.InputMouse}, "click", clickOn("Play", "role", "button")).fails(t, tool.TargetNotFound)
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("fell through to the picture after %s", d)
		}
		d := p.plan(tool.Plan{Number: 3, Source: tool.SourceVision, Input: tool.InputMouse}, "click", clickOn("Play", "role", "button")).must(t, tool.EffectConfirmed)
		if p.truth("window.n") != "1" || p.truth("window.wrong") != "undefined" {
			t.Errorf("ratio %v: played %s times, wrong %s", dpr, p.truth("window.n"), p.truth("window.wrong"))
		}
		if px, _ := at(t, d.after, "effect", "pixels").(float64); px <= 0 || px > 1 {
			t.Errorf("pixels %v", px)
		}
	}
}

func TestCanvasThatDoesNothing(t *testing.T) {
	t.Parallel()
	p := openIn(t, withVision(t, &seer{places: map[string][]vision.Candidate{"Play": at100()}}, Options{}), painted+`<script>window.dead=1</script>`)
	d := p.by(tool.SourceVision, "click", clickOn("Play")).must(t, tool.EffectNone)
	if !strings.Contains(d.out.Proof, "0 pixels") {
		t.Error(d.out.Proof)
	}
}

func TestPictureIsAmbiguous(t *testing.T) {
	t.Parallel()
	two := append(at100(), vision.Candidate{Box: vision.Rect{X: 300, Y: 100, W: 120, H: 40}, Text: "Play", Confidence: 0.93, Exact: true, Within: "Radio"})
	p := openIn(t, withVision(t, &seer{places: map[string][]vision.Candidate{"Play": two}}, Options{}), painted)
	f := p.by(tool.SourceVision, "click", clickOn("Play")).fails(t, tool.AmbiguousTarget)
	if len(f.Candidates) != 2 || f.Candidates[1].Within != "Radio" {
		t.Errorf("%+v", f.Candidates)
	}
}

func TestApplies(t *testing.T) {
	t.Parallel()
	x := &Executor{opts: Options{Vision: &seer{}}}
	blind := &Executor{opts: Options{Vision: &seer{missing: errors.New("not installed")}}}
	p := &visit{t: t, x: shared, run: "r_applies"}
	for _, c := range []struct {
		name string
		args map[string]any
		x    *Executor
		want string
	}{
		{"click", clickOn("Play"), x, "ax cdp vision"},
		{"click", clickOn("Play"), blind, "ax cdp"},
		{"click", map[string]any{"target": map[string]any{"selector": "#a"}}, x, "cdp"},
		{"click", map[string]any{"target": map[string]any{"ref": "e1"}}, x, "cdp"},
		{"click", map[string]any{"target": map[string]any{"description": "the green one"}}, x, "vision"},
		{"select", map[string]any{"target": named("Size"), "values": []string{"M"}}, x, "ax cdp"},
		{"press", map[string]any{"key": "Enter"}, x, "ax cdp"},
		{"navigate", map[string]any{"url": "http://127.0.0.1/"}, x, "system"},
	} {
		var got []string
		for _, s := range tool.Sources {
			if c.x.Applies(p.call(c.name, c.args), s) {
				got = append(got, string(s))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %v: %v, want %s", c.name, c.args, got, c.want)
		}
	}
}

// TestPageThatAsksToStay: only an explicit navigation leaves a page with unsaved changes.
func TestPageThatAsksToStay(t *testing.T) {
	t.Parallel()
	p := open(t, `<input aria-label=Note><a href="/next">Away</a><script>addEventListener('beforeunload',e=>e.preventDefault())</script>`, func(m *http.ServeMux) { m.HandleFunc("/next", serve("Next")) })
	p.do("type", typing("Note", "unsaved")).must(t, tool.EffectConfirmed).att.Close()
	d := p.do("click", clickOn("Away"))
	if d.err != nil {
		t.Fatal(d.err)
	}
	if at(t, d.after, "page", "url") != p.url+"/" || at(t, d.after, "page", "dialogs").([]any)[0].(map[string]any)["type"] != "beforeunload" {
		t.Errorf("page %v", d.after.Values["page"])
	}
	d.att.Close()
	d = p.do("navigate", map[string]any{"url": p.url + "/next"}).must(t, tool.EffectConfirmed)
	if at(t, d.after, "page", "url") != p.url+"/next" {
		t.Errorf("page %v", d.after.Values["page"])
	}
}

func TestWindowsAndDownloadsAreReactions(t *testing.T) {
	t.Parallel()
	p := open(t, `<a href="/next" target=_blank>Terms</a> <a href="/file" download>Receipt</a>`, func(m *http.ServeMux) {
		m.HandleFunc("/next", serve("Next"))
		m.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=receipt.txt")
			_, _ = w.Write([]byte("paid"))
		})
	})
	for _, name := range []string{"Terms", "Receipt"} {
		d := p.do("click", clickOn(name)).must(t, tool.EffectConfirmed)
		if rb, err := d.att.Rollback(t.Context()); err != nil || rb.Performed {
			t.Errorf("%s: rollback %+v, %v", name, rb, err)
		}
	}
}
