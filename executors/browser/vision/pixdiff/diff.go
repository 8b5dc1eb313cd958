// Package pixdiff says whether two screenshots show the same thing.
//
// It exists so that the browser executor can prove that an action had no visible
// effect: idle frames of one browser are byte-identical, so a single changed pixel
// outside the ignored places is a change. Perceptual hashes will not do: a ticked
// checkbox is 0.015 % of the pixels of a page. The vision grounders use its fast
// PNG decoder.
//
// It guarantees that nothing is tolerated or averaged: pixels are compared exactly,
// and pictures of different size differ wherever they do not overlap.
package pixdiff

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"slices"
	"sync"
)

// Diff counts the pixels that differ between two pictures, outside the ignored
// rectangles, and returns the smallest rectangle that holds them all (the zero
// rectangle if there are none). Rectangles are in pixels from the top left corner of
// both pictures, wherever their bounds begin. Where only one of the pictures has a
// pixel, that pixel has changed.
//
// Two *image.NRGBA, or two *image.RGBA, are compared at memory speed; other kinds pixel
// by pixel.
func Diff(a, b image.Image, ignore []image.Rectangle) (changed int, box image.Rectangle) {
	ab, bb := a.Bounds(), b.Bounds()
	w, h := min(ab.Dx(), bb.Dx()), min(ab.Dy(), bb.Dy())
	compare := slow(a, b)
	if ap, as, ok := packed(a); ok {
		if bp, bs, ok := packed(b); ok && sameKind(a, b) {
			compare = func(y, x0, x1 int) (int, int, int) {
				first, last, n := compareBytes(ap[y*as+4*x0:y*as+4*x1], bp[y*bs+4*x0:y*bs+4*x1])
				return x0 + first, x0 + last, n
			}
		}
	}
	grow := func(r image.Rectangle, n int) {
		changed += n
		box = box.Union(r)
	}
	kept := spans{ignore: ignore}
	fullW, fullH := max(ab.Dx(), bb.Dx()), max(ab.Dy(), bb.Dy())
	for y := range fullH {
		for _, s := range kept.row(y, fullW) {
			common := s[0]
			if y < h {
				common = max(s[0], min(s[1], w))
			}
			if common > s[0] {
				if first, last, n := compare(y, s[0], common); n > 0 {
					grow(image.Rect(first, y, last+1, y+1), n)
				}
			}
			// A part of the row that at most one picture has: if neither has it, there is
			// nothing to compare.
			if beyond := min(s[1], widthAt(y, ab, bb)); beyond > common {
				grow(image.Rect(common, y, beyond, y+1), beyond-common)
			}
		}
	}
	return changed, box
}

// DiffPNG is Diff of two encoded pictures. Identical files are recognised without
// decoding them.
func DiffPNG(a, b []byte, ignore []image.Rectangle) (changed int, box image.Rectangle, err error) {
	if bytes.Equal(a, b) {
		return 0, image.Rectangle{}, nil
	}
	var ai, bi *image.NRGBA
	var aErr, bErr error
	var both sync.WaitGroup
	both.Go(func() { ai, aErr = Decode(a) })
	bi, bErr = Decode(b)
	both.Wait()
	if aErr != nil {
		return 0, image.Rectangle{}, fmt.Errorf("compare screenshots, first one: %w", aErr)
	}
	if bErr != nil {
		return 0, image.Rectangle{}, fmt.Errorf("compare screenshots, second one: %w", bErr)
	}
	changed, box = Diff(ai, bi, ignore)
	return changed, box, nil
}

// widthAt is how far the wider of the pictures reaches in row y.
func widthAt(y int, a, b image.Rectangle) int {
	w := 0
	if y < a.Dy() {
		w = a.Dx()
	}
	if y < b.Dy() {
		w = max(w, b.Dx())
	}
	return w
}

// spans cuts rows into the parts that no ignored rectangle covers. It keeps the answer
// of the last row, since most rows are cut alike.
type spans struct {
	ignore []image.Rectangle
	active []image.Rectangle
	parts  [][2]int
	width  int
}

func (s *spans) row(y, width int) [][2]int {
	active := make([]image.Rectangle, 0, len(s.ignore))
	for _, r := range s.ignore {
		if y >= r.Min.Y && y < r.Max.Y && !r.Empty() {
			active = append(active, r)
		}
	}
	if s.parts != nil && s.width == width && slices.Equal(active, s.active) {
		return s.parts
	}
	slices.SortFunc(active, func(p, q image.Rectangle) int { return p.Min.X - q.Min.X })
	parts, x := make([][2]int, 0, len(active)+1), 0
	for _, r := range active {
		if r.Min.X > x {
			parts = append(parts, [2]int{x, min(r.Min.X, width)})
		}
		x = max(x, r.Max.X)
		if x >= width {
			break
		}
	}
	if x < width {
		parts = append(parts, [2]int{x, width})
	}
	s.active, s.parts, s.width = active, parts, width
	return parts
}

// compareBytes compares two equally long rows of four-byte pixels: the first and the
// last pixel that differ, and how many do.
func compareBytes(a, b []byte) (first, last, n int) {
	if bytes.Equal(a, b) {
		return 0, 0, 0
	}
	b = b[:len(a)]
	for i := 0; i+4 <= len(a); i += 4 {
		if binary.NativeEndian.Uint32(a[i:]) != binary.NativeEndian.Uint32(b[i:]) {
			if n == 0 {
				first = i / 4
			}
			last = i / 4
			n++
		}
	}
	return first, last, n
}

// packed returns the pixels of a picture that holds four bytes a pixel, beginning with
// its top left one.
func packed(m image.Image) (pix []byte, stride int, ok bool) {
	switch m := m.(type) {
	case *image.NRGBA:
		if m.Rect.Empty() {
			return nil, 0, false
		}
		return m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y):], m.Stride, true
	case *image.RGBA:
		if m.Rect.Empty() {
			return nil, 0, false
		}
		return m.Pix[m.PixOffset(m.Rect.Min.X, m.Rect.Min.Y):], m.Stride, true
	}
	return nil, 0, false
}

// sameKind reports whether equal bytes mean equal pixels in both.
func sameKind(a, b image.Image) bool {
	_, an := a.(*image.NRGBA)
	_, bn := b.(*image.NRGBA)
	return an == bn
}

// slow compares pictures of any kind by the colour that each pixel stands for.
func slow(a, b image.Image) func(y, x0, x1 int) (first, last, n int) {
	ao, bo := a.Bounds().Min, b.Bounds().Min
	return func(y, x0, x1 int) (first, last, n int) {
		for x := x0; x < x1; x++ {
			ar, ag, ab, aa := a.At(ao.X+x, ao.Y+y).RGBA()
			br, bg, bb, ba := b.At(bo.X+x, bo.Y+y).RGBA()
			if ar != br || ag != bg || ab != bb || aa != ba {
				if n == 0 {
					first = x
				}
				last = x
				n++
			}
		}
		return first, last, n
	}
}
