package ocr

import (
	"image"
	"slices"
	"sync"
)

// sheet is what is known of a picture before anything is read: where lines of text are.
type sheet struct {
	size    image.Point
	scale   float64 // pixels per CSS pixel
	ground  *surfaces
	letters []letter
	strips  []strip

	mu    sync.Mutex
	words map[reading][]word // what was read, in pixels of the screenshot
}

// reading says how a strip was read.
type reading struct {
	strip     int
	languages string
	height    int
}

// letter is a blob that may be text, with the surface that it lies on.
type letter struct {
	box     image.Rectangle
	surface int32
	// pixels are indexes into the picture, and ink how dark they are after stretching to full
	// contrast.
	pixels []int32
	ink    []uint8
	colour uint32 // of its strongest pixel
}

// analyse finds the lines of text of a picture.
func analyse(m *image.NRGBA, scale float64) *sheet {
	s := &sheet{size: m.Rect.Size(), scale: scale, ground: findSurfaces(m, scale), words: map[reading][]word{}}
	places, marks := busyPlaces(s.ground, scale)
	lost := map[int32][]image.Rectangle{0: places} // what may hide letters, by layer
	gather := func(layer int32, ink []uint8, part image.Rectangle) {
		letters, dropped := findLetters(m, ink, part, scale)
		for i := range letters {
			if letters[i].surface = layer; layer == 0 {
				letters[i].surface = s.ground.under(letters[i].box)
			}
		}
		s.letters = append(s.letters, letters...)
		lost[layer] = append(lost[layer], dropped...)
	}
	gather(0, findInk(m, s.ground, marks), m.Rect)
	// In busy places every colour that text may have makes a layer of its own, a surface with a
	// negative number, so that letters of different colours are not mixed.
	layer := int32(0)
	for _, place := range places {
		for _, colour := range textColours(m, s.ground, place) {
			layer--
			gather(layer, inkOfColour(m, s.ground, place, colour), place)
		}
	}
	s.strips = findStrips(s.letters, scale)
	for i := range s.strips {
		p := &s.strips[i]
		p.torn = slices.ContainsFunc(lost[min(0, p.surface)], p.tornBy) || s.continued(p) || s.cut(p)
	}
	s.addLarge(m)
	return s
}

// findLetters turns ink in a part of a picture into letters, and returns the boxes of what was
// dropped and may hide some. What touches the edge of the picture is cut off and no letter.
func findLetters(m *image.NRGBA, ink []uint8, part image.Rectangle, scale float64) (letters []letter, dropped []image.Rectangle) {
	w, pw := m.Rect.Dx(), part.Dx()
	eachBlob(ink, pw, part.Dy(), func(b *blob) {
		box := b.box.Add(part.Min)
		form := b.form(pw, scale)
		if form == isLetter && !box.In(m.Rect.Inset(1)) {
			form = isPicture
		}
		if form == isPicture {
			dropped = append(dropped, box)
		}
		if form != isLetter {
			return
		}
		l := letter{box: box, pixels: make([]int32, len(b.pixels)), ink: make([]uint8, len(b.pixels))}
		stretch := 255 * 256 / int(b.strongest)
		for i, p := range b.pixels {
			x, y := int(p)%pw+part.Min.X, int(p)/pw+part.Min.Y
			l.pixels[i] = int32(y*w + x)
			l.ink[i] = uint8(min(255, int(ink[p])*stretch>>8))
			if ink[p] == b.strongest {
				at := m.PixOffset(x, y)
				l.colour = uint32(m.Pix[at]) | uint32(m.Pix[at+1])<<8 | uint32(m.Pix[at+2])<<16
			}
		}
		letters = append(letters, l)
	})
	return letters, dropped
}

// cut reports whether the strip ends so near the left or right edge of the picture that letters of it
// may lie outside.
func (s *sheet) cut(p *strip) bool {
	return p.box.Min.X*2 < p.cap || (s.size.X-p.box.Max.X)*2 < p.cap
}

// continued reports whether something in the colour of the strip stands as close before or behind it
// as a letter of the same label would: a letter on another surface or of another layer, as
// where a label lies partly on a busy place; or a surface that may be a thick letter.
func (s *sheet) continued(p *strip) bool {
	beside := func(box image.Rectangle, colour uint32) bool {
		if box.Dy()*10 < p.cap*4 || box.Dy() > 2*p.box.Dy() {
			return false
		}
		before, behind := p.box.Min.X-box.Max.X, box.Min.X-p.box.Max.X
		gap := max(before, behind)
		return gap >= -2 && gap*4 <= p.cap*3 && distance(colour, p.colour) < 60 && sameRow(box, p.box)
	}
	for i := range s.letters {
		if l := &s.letters[i]; l.surface != p.surface && beside(l.box, l.colour) {
			return true
		}
	}
	return slices.ContainsFunc(s.ground.list, func(g surface) bool { return g.box.Dx() <= 3*p.cap && beside(g.box, g.colour) })
}
