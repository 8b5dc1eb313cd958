package ocr

import (
	"fmt"
	"image/png"
	"os"
	"testing"

	"toolsvc/executors/browser/vision"
	"toolsvc/executors/browser/vision/pixdiff"
)

func TestDebug(t *testing.T) {
	g := New(Options{})
	b, err := os.ReadFile(os.Getenv("OCR_FILE"))
	if err != nil {
		t.Skip(err)
	}
	var scale float64
	fmt.Sscan(os.Getenv("OCR_SCALE"), &scale)
	m, _ := pixdiff.Decode(b)
	s := analyse(m, scale)
	for _, p := range busyPlaces(s.ground, make([]uint8, s.size.X*s.size.Y), scale) {
		t.Logf("busy %v %x", p, textColours(m, s.ground, p))
	}
	r, _, err := g.ready()
	if err != nil {
		t.Fatal(err)
	}
	for k := range s.strips {
		w, err := r.read(t.Context(), s, []int{k}, english, lineHeight)
		if err != nil {
			t.Fatal(err)
		}
		w2, _ := r.read(t.Context(), s, []int{k}, english, otherHeight)
		a, b := run{words: w[0]}, run{words: w2[0]}
		t.Logf("%3d %v on %d body %d cap %d torn %v letters %d: %q %.0f | %q %.0f", k, s.strips[k].box, s.strips[k].surface, s.strips[k].body, s.strips[k].cap, s.strips[k].torn, len(s.strips[k].letters), a.text(), leastSure(a.words), b.text(), leastSure(b.words))
		f, _ := os.Create(fmt.Sprintf("/tmp/ocr/tile-%d.png", k))
		png.Encode(f, s.drawTile(&s.strips[k], lineHeight).picture)
		f.Close()
	}
	text, err := g.Read(t.Context(), vision.Screenshot{PNG: b, Scale: scale}, vision.Rect{})
	t.Log(text, err)
}
