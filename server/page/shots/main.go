// Shots takes the pictures of the live page for docs/live-page.md: a run that waits, one step with its evidence, a refused answer, the list; in
// English, Korean and Japanese, light and dark, wide and narrow.
//
//	go run ./server/page/shots            writes docs/images/live-page-*.png
//	go run ./server/page/shots -all DIR   writes every view in every language and colour to DIR, for looking at
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"toolsvc/narration"
	"toolsvc/server/page/pagetest"
	"toolsvc/tool"
)

func main() {
	out := flag.String("out", "docs/images", "the folder of the pictures for the documentation")
	all := flag.String("all", "", "write every combination into this folder instead")
	flag.Func("only", "with -all: only names that match this pattern, such as *-ko-dark*", func(p string) error {
		only = p
		_, err := filepath.Match(p, "")
		return err
	})
	flag.Parse()
	if err := run(context.Background(), *out, *all); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

// only is a pattern for the names of pictures; "" takes all.
var only string

// view is one picture: what is shown, and what is done before.
type view struct {
	name string
	path string
	do   func(*pagetest.Tab) error
}

var views = []view{
	{"runs", "/", func(t *pagetest.Tab) error { return t.Until(`document.querySelectorAll('.runs li').length === 6`) }},
	{"run", "/runs/" + pagetest.SceneRun, settled},
	{"ask", "/runs/" + pagetest.SceneRun, func(t *pagetest.Tab) error {
		if err := settled(t); err != nil {
			return err
		}
		if err := t.Click(`document.querySelector('.ask button[type=submit]')`); err != nil {
			return err
		}
		return t.Until(`!document.querySelector('.ask .problem').hidden`)
	}},
	{"step", "/runs/" + pagetest.SceneRun, func(t *pagetest.Tab) error {
		if err := settled(t); err != nil {
			return err
		}
		return errors.Join(t.Eval(`document.querySelector('#step-2 summary').click()`, nil), t.Until(`document.querySelector('#step-2 .mark-point')`),
			t.Eval(`document.querySelector('#step-2').scrollIntoView({ block: 'start' })`, nil))
	}},
	{"difference", "/runs/" + pagetest.SceneRun, func(t *pagetest.Tab) error {
		if err := settled(t); err != nil {
			return err
		}
		return errors.Join(t.Eval(`document.querySelector('#step-2 summary').click()`, nil), t.Until(`document.querySelector('#step-2 .mark-point')`),
			t.Click(`document.querySelectorAll('#step-2 .segments button')[2]`), t.Until(`document.querySelector('#step-2 .shots canvas')`),
			t.Eval(`document.querySelector('#step-2 .shots').scrollIntoView({ block: 'center' })`, nil))
	}},
	{"repaired", "/runs/" + pagetest.SceneRun, opened(3)},
	{"failed", "/runs/" + pagetest.SceneRun, opened(4)},
	{"approval", "/runs/" + pagetest.SceneRun, func(t *pagetest.Tab) error {
		return errors.Join(settled(t), t.Eval(`document.querySelectorAll('.ask')[1].scrollIntoView({ block: 'start' })`, nil))
	}},
	{"none", "/", func(t *pagetest.Tab) error {
		return errors.Join(t.Until(`document.querySelectorAll('.runs li').length === 6`), t.Click(`document.querySelector('input[type=search]')`), t.Type("zzz"),
			t.Until(`document.querySelectorAll('.runs li').length === 0`))
	}},
}

// opened opens a step; one that failed is open by itself.
func opened(n int) func(*pagetest.Tab) error {
	return func(t *pagetest.Tab) error {
		if err := settled(t); err != nil {
			return err
		}
		step := fmt.Sprintf("document.querySelector('#step-%d')", n)
		return errors.Join(t.Eval(step+`.querySelector('details').open || `+step+`.querySelector('summary').click()`, nil), t.Until(step+`.querySelector('.checks')`), t.Eval(step+`.scrollIntoView({ block: 'start' })`, nil))
	}
}

func settled(t *pagetest.Tab) error {
	return t.Until(`document.querySelectorAll('.ask').length === 2 && document.querySelectorAll('.step').length === 6 && document.querySelector('.connection.is-live') && document.querySelector('.now .text').textContent`)
}

// chosen are the pictures of the documentation.
var chosen = []struct {
	view  string
	lang  narration.Lang
	dark  bool
	phone bool
}{
	{"run", narration.English, false, false}, {"step", narration.English, true, false}, {"difference", narration.Korean, false, false}, {"ask", narration.English, false, false},
	{"runs", narration.Japanese, false, false}, {"run", narration.Korean, true, true}, {"step", narration.Japanese, false, true}, {"runs", narration.English, true, true},
}

func run(ctx context.Context, out, all string) (err error) {
	b, err := pagetest.StartBrowser()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	pics, err := shop(b)
	if err != nil {
		return fmt.Errorf("take the pictures of the shop: %w", err)
	}
	for _, lang := range narration.Langs {
		if err := inLanguage(ctx, b, lang, pics, out, all); err != nil {
			return err
		}
	}
	return nil
}

func inLanguage(ctx context.Context, b *pagetest.Browser, lang narration.Lang, pics pagetest.Pictures, out, all string) (err error) {
	dir, err := os.MkdirTemp("", "live-page-shots-")
	if err != nil {
		return err
	}
	w, err := pagetest.Start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close(), os.RemoveAll(dir)) }()
	if err := w.Scene(ctx, lang, pics); err != nil {
		return err
	}
	for _, v := range views {
		for _, phone := range []bool{false, true} {
			for _, dark := range []bool{false, true} {
				name := fmt.Sprintf("live-page-%s-%s%s%s.png", v.name, lang, map[bool]string{true: "-dark"}[dark], map[bool]string{true: "-phone"}[phone])
				to := filepath.Join(all, name)
				if all == "" {
					wanted := false
					for _, c := range chosen {
						wanted = wanted || c.view == v.name && c.lang == lang && c.dark == dark && c.phone == phone
					}
					if !wanted {
						continue
					}
					to = filepath.Join(out, name)
				}
				if ok, err := filepath.Match(only, name); only != "" && (err != nil || !ok) {
					continue
				}
				size := pagetest.Wide
				if phone {
					size = pagetest.Phone
				}
				size.Dark = dark
				if err := take(b, w.Server.URL+v.path, lang, size, v, to); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return nil
}

func take(b *pagetest.Browser, url string, lang narration.Lang, size pagetest.View, v view, to string) error {
	t, err := b.Open(url, size)
	if err != nil {
		return err
	}
	defer t.Close()
	if lang != narration.English {
		if err := errors.Join(t.Eval(fmt.Sprintf(`localStorage.setItem('toolsvc.lang', %q)`, lang), nil), t.Go(url)); err != nil {
			return err
		}
	}
	if err := v.do(t); err != nil {
		return err
	}
	if err := t.Eval(`document.fonts.ready.then(() => new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))).then(() => true)`, nil); err != nil {
		return err
	}
	png, err := t.Picture()
	if err != nil {
		return err
	}
	if faults := t.Faults(); len(faults) > 0 {
		return fmt.Errorf("the page met errors: %q", faults)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	fmt.Println(to)
	return os.WriteFile(to, png, 0o644)
}

// shop takes pictures of a small page before and after a click, which stand for the evidence of a run.
func shop(b *pagetest.Browser) (p pagetest.Pictures, err error) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><title>Shop</title><style>body{font:18px system-ui,sans-serif;margin:0;background:#f7f3ec;color:#2b2620}header{display:flex;justify-content:space-between;padding:22px 40px;background:#fff;border-bottom:1px solid #e2d9cb}main{display:grid;grid-template-columns:420px 1fr;gap:40px;padding:40px}.pic{height:320px;border-radius:12px;background:linear-gradient(140deg,#c79a63,#8a5a2b)}button{font:600 18px system-ui;padding:14px 28px;border:0;border-radius:8px;background:#2f6b4f;color:#fff}</style>
<header><b>Harbor Furniture</b><span id=b>Basket: empty</span></header><main><div class=pic></div><div><h1>Oak table</h1><p>Solid oak, oiled, 160 × 90 cm. Ships in two weeks.</p><p><b>249.00 EUR</b></p><button>Add to basket</button></div></main>
<script>document.querySelector('button').onclick=()=>{document.querySelector('#b').textContent='Basket: 1 article'}</script>`) //nolint:errcheck // a browser that has gone needs nothing
	}))
	defer s.Close()
	t, err := b.Open(s.URL, pagetest.View{Width: 1100, Height: 560})
	if err != nil {
		return p, err
	}
	defer t.Close()
	if p.Before, err = t.Picture(); err != nil {
		return p, err
	}
	var r struct{ X, Y, W, H float64 }
	if err := t.Eval(`(() => { const r = document.querySelector('button').getBoundingClientRect(); return { X: r.x, Y: r.y, W: r.width, H: r.height } })()`, &r); err != nil {
		return p, err
	}
	p.Mark = &tool.Mark{X: r.X + r.W/2, Y: r.Y + r.H/2, Left: r.X, Top: r.Y, Width: r.W, Height: r.H}
	if err := t.Click(`document.querySelector('button')`); err != nil {
		return p, err
	}
	p.After, err = t.Picture()
	return p, err
}
