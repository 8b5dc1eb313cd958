package ocr

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolsvc/executors/browser/vision"
)

// lines draws a page of sentences and returns them as tiles.
func lines(t testing.TB, texts []string) []*image.Gray {
	t.Helper()
	p := newPicture(900, 20+30*len(texts), "#fdf6e3")
	for i, text := range texts {
		p.text(text, 20, float64(20+30*i), "15px sans-serif", "#073642")
	}
	s, _, err := sharedGrounder(t).open(t.Context(), p.shoot(t, 1), vision.Rect{})
	if err != nil || len(s.strips) != len(texts) {
		t.Fatalf("%d strips for %d lines, %v", len(s.strips), len(texts), err)
	}
	slices.SortFunc(s.strips, func(a, b strip) int { return a.box.Min.Y - b.box.Min.Y })
	var tiles []*image.Gray
	for k := range s.strips {
		tiles = append(tiles, s.drawTile(&s.strips[k], lineHeight).picture)
	}
	return tiles
}

var sentences = []string{"The first line of three", "Delete 12 of 345 files?", "Changes take effect at once."}

func openers(t testing.TB) map[string]opener {
	t.Helper()
	data, err := findData(dataFolders(os.Getenv("TESSDATA_PREFIX")))
	if err != nil {
		t.Fatal(err)
	}
	a, err := loadLibrary()
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(Options{ProgramOnly: true}).findEngine(data)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]opener{"library": &library{api: a, data: data}, "program": o}
}

func TestEnginesReadAlike(t *testing.T) {
	tiles := lines(t, sentences)
	read := map[string][][]word{}
	for name, o := range openers(t) {
		e, err := o.open(english)
		if err != nil {
			t.Fatal(err)
		}
		defer e.close()
		if read[name], err = e.read(t.Context(), tiles); err != nil {
			t.Fatal(err)
		}
		for i, words := range read[name] {
			if joined(words) != sentences[i] {
				t.Errorf("%s reads %q as %q", name, sentences[i], joined(words))
			}
		}
	}
	if a, b := fmt.Sprint(read["library"]), fmt.Sprint(read["program"]); a != b {
		t.Errorf("the library reads\n%s\nthe program reads\n%s", a, b)
	}
}

func TestEnginesStopWhenTheContextEnds(t *testing.T) {
	tiles := lines(t, sentences)
	many := slices.Repeat(tiles, 400) // seconds of work
	for name, o := range openers(t) {
		t.Run(name, func(t *testing.T) {
			e, err := o.open(english)
			if err != nil {
				t.Fatal(err)
			}
			defer e.close()
			for _, end := range []func() (context.Context, context.CancelFunc){
				func() (context.Context, context.CancelFunc) {
					return context.WithTimeout(t.Context(), 30*time.Millisecond)
				},
				func() (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(30*time.Millisecond, cancel)
					return ctx, cancel
				},
			} {
				ctx, cancel := end()
				begun := time.Now()
				_, err = e.read(ctx, many)
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
					t.Fatalf("read: %v", err)
				}
				if took := time.Since(begun); took > 3*time.Second {
					t.Errorf("it took %v to stop", took)
				}
			}
			// And the engine works as before.
			words, err := e.read(t.Context(), tiles)
			if err != nil || joined(words[1]) != sentences[1] {
				t.Errorf("afterwards it reads %v, %v", words, err)
			}
		})
	}
}

func TestManyGoroutinesShareAGrounder(t *testing.T) {
	p := newPicture(600, 300, "#ffffff")
	save, cancel := p.button("Save", 40, 40), p.button("Cancel", 200, 40)
	shots := []vision.Screenshot{p.shoot(t, 1), p.shoot(t, 2), p.shoot(t, 1.5)}
	g := New(Options{Engines: 2})
	defer g.Close()
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			if i%4 == 3 { // some give up at once or in the middle
				ctx, stop = context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
			}
			defer stop()
			name, at := "Save", save
			if i%2 == 1 {
				name, at = "Cancel", cancel
			}
			found, err := g.Locate(ctx, shots[i%3], vision.Query{Name: name})
			if i%4 == 3 && errors.Is(err, context.DeadlineExceeded) {
				return
			}
			if err != nil || len(found) != 1 {
				t.Errorf("%s: %+v, %v", name, found, err)
				return
			}
			if x, y := found[0].Box.Center(); !at.Contains(x, y) {
				t.Errorf("%s is at %+v, not %+v", name, found[0].Box, at)
			}
		})
	}
	all.Wait()
}

func TestTheProgramIsTheFallback(t *testing.T) {
	p := newPicture(600, 300, "#0d1117")
	save := p.button("Save", 40, 40)
	p.button("Save as", 200, 40)
	g := New(Options{ProgramOnly: true})
	defer g.Close()
	if kind, err := g.Engine(); err != nil || !strings.Contains(kind, "program") {
		t.Fatalf("engine %q, %v", kind, err)
	}
	found, err := g.Locate(t.Context(), p.shoot(t, 1), vision.Query{Name: "Save"})
	if err != nil || len(found) != 1 || !found[0].Exact {
		t.Fatalf("found %+v, %v", found, err)
	}
	if x, y := found[0].Box.Center(); !save.Contains(x, y) {
		t.Errorf("found at %+v", found[0].Box)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	data, err := findData(dataFolders(os.Getenv("TESSDATA_PREFIX")))
	if err != nil {
		t.Fatal(err)
	}
	english := t.TempDir()
	if err := os.Symlink(filepath.Join(data, "eng.traineddata"), filepath.Join(english, "eng.traineddata")); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	t.Run("data", func(t *testing.T) {
		t.Parallel()
		err := New(Options{Data: empty}).Available()
		if !errors.Is(err, vision.ErrUnavailable) || !strings.Contains(err.Error(), "apt-get install tesseract-ocr") || !strings.Contains(err.Error(), empty) {
			t.Errorf("available: %v", err)
		}
	})
	t.Run("program", func(t *testing.T) {
		t.Parallel()
		g := New(Options{Data: english, ProgramOnly: true, Program: filepath.Join(empty, "tesseract")})
		if err := g.Available(); !errors.Is(err, vision.ErrUnavailable) {
			t.Errorf("available: %v", err)
		}
		if _, err := g.Locate(t.Context(), vision.Screenshot{}, vision.Query{Name: "Save"}); !errors.Is(err, vision.ErrUnavailable) {
			t.Errorf("locate: %v", err)
		}
		if _, err := g.Read(t.Context(), vision.Screenshot{}, vision.Rect{}); !errors.Is(err, vision.ErrUnavailable) {
			t.Errorf("read: %v", err)
		}
	})
	t.Run("language", func(t *testing.T) {
		t.Parallel()
		g := New(Options{Data: english})
		defer g.Close()
		for text, language := range map[string]string{"저장": "tesseract-ocr-kor", "保存する": "tesseract-ocr-jpn"} {
			_, err := g.Locate(t.Context(), vision.Screenshot{}, vision.Query{Name: text})
			if !errors.Is(err, vision.ErrUnavailable) || !strings.Contains(err.Error(), language) {
				t.Errorf("locate %q: %v", text, err)
			}
		}
	})
	t.Run("library", func(t *testing.T) {
		t.Parallel()
		if _, err := load([]string{"libtesseract.so.none"}); err == nil || !strings.Contains(err.Error(), "libtesseract.so.none") {
			t.Errorf("load: %v", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		g := New(Options{})
		g.Close()
		if err := g.Available(); !errors.Is(err, errClosed) {
			t.Errorf("available: %v", err)
		}
	})
}

func TestBrokenPicturesAreErrors(t *testing.T) {
	t.Parallel()
	g := sharedGrounder(t)
	for name, shot := range map[string]vision.Screenshot{
		"empty": {}, "no PNG": {PNG: []byte("GIF89a")}, "scale": {PNG: newPicture(40, 40, "#fff").shoot(t, 1).PNG, Scale: -1},
	} {
		if found, err := g.Locate(t.Context(), shot, vision.Query{Name: "Save"}); err == nil {
			t.Errorf("%s: found %+v", name, found)
		}
	}
	blank := newPicture(300, 200, "#ffffff").shoot(t, 1)
	if found, err := g.Locate(t.Context(), blank, vision.Query{Name: "Save"}); err != nil || len(found) != 0 {
		t.Errorf("blank: %+v, %v", found, err)
	}
	if text, err := g.Read(t.Context(), blank, vision.Rect{}); err != nil || text != "" {
		t.Errorf("blank: %q, %v", text, err)
	}
	if _, err := g.Locate(t.Context(), blank, vision.Query{Name: "Save", Region: vision.Rect{X: 900, Y: 900, W: 10, H: 10}}); err == nil {
		t.Error("a region outside of the picture was accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Locate(ctx, newPicture(310, 200, "#ffffff").shoot(t, 1), vision.Query{Name: "Save"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestOtherScripts needs tesseract's Korean and Japanese data, which few machines have; without
// them it checks that they are asked for, which TestWhatIsMissingIsNamed does for each machine.
func TestOtherScripts(t *testing.T) {
	p := newPicture(700, 200, "#ffffff")
	font := "18px 'Noto Sans CJK KR'"
	places := map[string]vision.Rect{}
	for i, text := range []string{"저장", "다른 이름으로 저장", "취소", "保存", "キャンセル", "Save"} {
		x, y := 30+float64(i%3)*220, 30+float64(i/3)*70
		places[text] = p.box(x, y, 200, 44, "#e8f0fe", "")
		p.text(text, x+20, y+22, font, "#174ea6")
	}
	shot := p.shoot(t, 1)
	g := sharedGrounder(t)
	for text, at := range places {
		found, err := g.Locate(t.Context(), shot, vision.Query{Name: text})
		if missing := checkLanguages(g.data, languagesOf(text)); missing != nil {
			if err == nil || err.Error() != missing.Error() {
				t.Errorf("%q: %v, want %v", text, err, missing)
			}
			t.Logf("%q was not looked for: %v", text, missing)
			continue
		}
		if err != nil || len(found) != 1 {
			t.Errorf("%q: %+v, %v", text, found, err)
			continue
		}
		if x, y := found[0].Box.Center(); !at.Contains(x, y) {
			t.Errorf("%q is at %+v, not %+v", text, found[0].Box, at)
		}
	}
}

func TestLanguagesOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Save": "eng", "저장 Save": "eng+kor", "保存": "eng+jpn", "カート": "eng+jpn", "저장 保存": "eng+jpn+kor", "": "eng",
	} {
		if got := strings.Join(languagesOf(text), "+"); got != want {
			t.Errorf("languagesOf(%q) = %s, want %s", text, got, want)
		}
	}
}
