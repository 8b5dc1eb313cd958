package pixdiff

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"testing"
)

// noise fills a picture with opaque noise, the same for the same seed.
func noise(w, h int, seed uint64) *image.NRGBA {
	r := rand.New(rand.NewPCG(seed, 1))
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = byte(r.Uint32())
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	return m
}

func clone(m *image.NRGBA) *image.NRGBA {
	c := *m
	c.Pix = bytes.Clone(m.Pix)
	return &c
}

func TestDiff(t *testing.T) {
	t.Parallel()
	base := noise(40, 30, 1)
	dot := clone(base)
	dot.Pix[dot.PixOffset(7, 9)] ^= 1
	two := clone(dot)
	two.Pix[two.PixOffset(30, 20)+2] ^= 128
	rgba := image.NewRGBA(base.Rect)
	draw.Draw(rgba, rgba.Rect, two, image.Point{}, draw.Src)
	moved := image.NewNRGBA(image.Rect(100, 200, 140, 230))
	draw.Draw(moved, moved.Rect, two, image.Point{}, draw.Src)
	wide, tall := noise(50, 30, 2), image.NewNRGBA(image.Rect(0, 0, 40, 33))
	draw.Draw(wide, base.Rect, base, image.Point{}, draw.Src)
	draw.Draw(tall, base.Rect, base, image.Point{}, draw.Src)

	for _, c := range []struct {
		name    string
		a, b    image.Image
		ignore  []image.Rectangle
		changed int
		box     image.Rectangle
	}{
		{"the same", base, clone(base), nil, 0, image.Rectangle{}},
		{"one bit of one pixel", base, dot, nil, 1, image.Rect(7, 9, 8, 10)},
		{"two pixels", base, two, nil, 2, image.Rect(7, 9, 31, 21)},
		{"one of them ignored", base, two, []image.Rectangle{image.Rect(5, 5, 10, 10)}, 1, image.Rect(30, 20, 31, 21)},
		{"both ignored, by rectangles that overlap", base, two,
			[]image.Rectangle{image.Rect(20, 10, 99, 99), image.Rect(0, 0, 8, 10), image.Rect(25, 18, 35, 22)}, 0, image.Rectangle{}},
		{"ignored beside it", base, dot, []image.Rectangle{image.Rect(0, 0, 7, 30), image.Rect(8, 0, 40, 30), image.Rect(-5, -5, 0, 0), {}}, 1, image.Rect(7, 9, 8, 10)},
		{"other kind of picture", base, rgba, nil, 2, image.Rect(7, 9, 31, 21)},
		{"other origin", base, moved, nil, 2, image.Rect(7, 9, 31, 21)},
		{"wider", base, wide, nil, 300, image.Rect(40, 0, 50, 30)},
		{"narrower", wide, base, []image.Rectangle{image.Rect(0, 0, 45, 30)}, 150, image.Rect(45, 0, 50, 30)},
		{"taller", base, tall, nil, 120, image.Rect(0, 30, 40, 33)},
		{"wider and taller", wide, tall, nil, 300 + 120, image.Rect(0, 0, 50, 33)},
		{"empty", image.NewNRGBA(image.Rectangle{}), image.NewRGBA(image.Rectangle{}), nil, 0, image.Rectangle{}},
		{"nothing and something", image.NewNRGBA(image.Rectangle{}), base, nil, 1200, base.Rect},
	} {
		changed, box := Diff(c.a, c.b, c.ignore)
		if c.name == "wider and taller" { // only where they overlap nothing, and their contents are equal there
			c.box = box
			if box != image.Rect(0, 0, 50, 33) {
				t.Errorf("%s: box %v", c.name, box)
			}
		}
		if changed != c.changed || box != c.box {
			t.Errorf("%s: %d pixels in %v, want %d in %v", c.name, changed, box, c.changed, c.box)
		}
	}
}

// TestDiffAgreesWithTheObvious compares with a loop over all pixels, on random changes.
func TestDiffAgreesWithTheObvious(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	rect := func() image.Rectangle {
		return image.Rect(r.IntN(70)-5, r.IntN(50)-5, r.IntN(70)-5, r.IntN(50)-5)
	}
	for range 300 {
		a := noise(60, 40, r.Uint64())
		b := clone(a)
		for range r.IntN(50) {
			b.Set(r.IntN(60), r.IntN(40), color.NRGBA{byte(r.Uint32()), byte(r.Uint32()), 3, 255})
		}
		var ignore []image.Rectangle
		for range r.IntN(4) {
			ignore = append(ignore, rect())
		}
		want, box := 0, image.Rectangle{}
		for y := range 40 {
			for x := range 60 {
				skipped := false
				for _, i := range ignore {
					skipped = skipped || image.Pt(x, y).In(i)
				}
				if !skipped && a.At(x, y) != b.At(x, y) {
					want++
					box = box.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		if n, r := Diff(a, b, ignore); n != want || r != box {
			t.Fatalf("Diff ignoring %v = %d in %v, want %d in %v", ignore, n, r, want, box)
		}
	}
}

func TestDiffPNG(t *testing.T) {
	t.Parallel()
	a := noise(20, 20, 3)
	b := clone(a)
	b.Set(4, 5, color.NRGBA{A: 255})
	encode := func(m image.Image) []byte {
		var out bytes.Buffer
		if err := png.Encode(&out, m); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if n, box, err := DiffPNG(encode(a), encode(b), nil); n != 1 || box != image.Rect(4, 5, 5, 6) || err != nil {
		t.Errorf("%d in %v, %v", n, box, err)
	}
	if n, _, err := DiffPNG([]byte("same"), []byte("same"), nil); n != 0 || err != nil {
		t.Errorf("identical files: %d, %v", n, err)
	}
	for _, pair := range [][2][]byte{{encode(a), []byte("no picture")}, {[]byte("no picture"), encode(a)}} {
		if _, _, err := DiffPNG(pair[0], pair[1], nil); err == nil {
			t.Error("a broken picture was compared")
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	a := noise(1280, 800, 1)
	c := clone(a)
	for y := 300; y < 330; y++ {
		for x := 500; x < 600; x++ {
			c.Pix[c.PixOffset(x, y)]++
		}
	}
	ignore := []image.Rectangle{image.Rect(0, 0, 200, 40), image.Rect(1000, 700, 1280, 800)}
	for b.Loop() {
		if n, _ := Diff(a, c, ignore); n != 3000 {
			b.Fatal(n)
		}
	}
}
