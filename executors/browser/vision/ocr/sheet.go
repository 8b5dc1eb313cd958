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
	w, h := s.size.X, s.size.Y
	var lost []image.Rectangle
	collect := func(m *image.NRGBA, ink []uint8, part image.Rectangle, under func(image.Rectangle) int32) (letters []letter) {
		pw := part.Dx()
		eachBlob(ink, pw, part.Dy(), func(b *blob) {
			switch b.form(pw, scale) {
			case isPicture:
				lost = append(lost, b.box.Add(part.Min))
			case isLetter:
				l := letter{box: b.box.Add(part.Min), pixels: make([]int32, len(b.pixels)), ink: make([]uint8, len(b.pixels))}
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
				l.surface = under(l.box)
				letters = append(letters, l)
			}
		})
		return letters
	}
	s.letters = collect(m, findInk(m, s.ground), image.Rect(0, 0, w, h), s.ground.under)

	// In busy places every colour that text may have makes a layer of its own, with a surface of its
	// own, so that letters of different colours are not mixed.
	layer := int32(0)
	for _, place := range busyPlaces(s.ground, scale) {
		for _, colour := range textColours(m, s.ground, place) {
			layer--
			surface := layer
			letters := collect(m, inkOfColour(m, place, colour), place, func(image.Rectangle) int32 { return surface })
			s.letters = append(s.letters, letters...)
		}
	}
	s.strips = findStrips(s.letters, scale)
	for i := range s.strips {
		s.strips[i].torn = slices.ContainsFunc(lost, s.strips[i].tornBy)
	}
	return s
}
