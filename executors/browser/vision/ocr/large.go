package ocr

import (
	"image"
	"slices"
)

// largeText is the height of capitals, in CSS pixels, from which text is also looked for in a
// picture of half the size. The strokes of large letters are surfaces themselves, and so are lost
// in a picture of the full size.
const largeText = 18

// addLarge finds the lines of large text. They take the place of the fragments of them that were
// found before.
func (s *sheet) addLarge(m *image.NRGBA) {
	half := shrink(m)
	if half.Rect.Empty() {
		return
	}
	ground := findSurfaces(half, s.scale) // as if everything were half as large
	_, marks := busyPlaces(ground, s.scale)
	letters, dropped := findLetters(half, findInk(half, ground, marks), half.Rect, s.scale)
	for i := range letters {
		s.enlarge(&letters[i], half.Rect.Dx())
	}
	// A small button is not high enough to be a surface there. But here it is one, with text on it.
	letters = slices.DeleteFunc(letters, func(l letter) bool {
		return slices.ContainsFunc(s.strips, func(q strip) bool {
			return q.surface > 0 && s.ground.list[q.surface].box.In(l.box.Inset(-2))
		})
	})
	strips := findStrips(letters, s.scale)
	first := int32(len(s.letters))
	s.letters = append(s.letters, letters...)
	for _, p := range strips {
		if float64(p.cap) < largeText*s.scale {
			continue
		}
		kept, known := s.strips[:0:0], false
		for _, q := range s.strips {
			fragment := q.surface > 0 && covers(p.box, q.box)
			whole := fragment && covers(q.box, p.box) && q.box.Dx()*20 >= p.box.Dx()*19 && len(q.letters) >= len(p.letters)
			known = known || whole
			if whole || !fragment {
				kept = append(kept, q)
			}
		}
		if known {
			continue
		}
		for i := range p.letters {
			p.letters[i] += first
		}
		p.torn = s.cut(&p)
		for _, d := range dropped {
			p.torn = p.torn || p.tornBy(image.Rect(2*d.Min.X, 2*d.Min.Y, 2*d.Max.X, 2*d.Max.Y))
		}
		s.strips = append(kept, p)
	}
}

// enlarge turns a letter of the picture of half the size into one of the full size.
func (s *sheet) enlarge(l *letter, halfWidth int) {
	l.box = image.Rect(2*l.box.Min.X, 2*l.box.Min.Y, 2*l.box.Max.X, 2*l.box.Max.Y)
	pixels, ink := make([]int32, 0, 4*len(l.pixels)), make([]uint8, 0, 4*len(l.ink))
	for i, p := range l.pixels {
		x, y := 2*(int(p)%halfWidth), 2*(int(p)/halfWidth)
		for _, at := range [4]int{y*s.size.X + x, y*s.size.X + x + 1, (y+1)*s.size.X + x, (y+1)*s.size.X + x + 1} {
			pixels, ink = append(pixels, int32(at)), append(ink, l.ink[i])
		}
	}
	l.pixels, l.ink = pixels, ink
	l.surface = s.ground.under(l.box)
}

// shrink halves a picture; each pixel is the mean of four. An odd last row or column is left out.
func shrink(m *image.NRGBA) *image.NRGBA {
	w, h := m.Rect.Dx()/2, m.Rect.Dy()/2
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		a, b := m.Pix[2*y*m.Stride:], m.Pix[(2*y+1)*m.Stride:]
		row := out.Pix[y*out.Stride : y*out.Stride+4*w]
		for x := 0; x < len(row); x += 4 {
			p, q := a[2*x:2*x+8:2*x+8], b[2*x:2*x+8:2*x+8]
			for c := range 4 {
				row[x+c] = uint8((uint(p[c]) + uint(p[c+4]) + uint(q[c]) + uint(q[c+4]) + 2) / 4)
			}
		}
	}
	return out
}
