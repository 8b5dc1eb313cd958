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
	lost := map[int32][]image.Rectangle{} // by layer
	collect := func(layer int32, ink []uint8, part image.Rectangle) (letters []letter) {
		pw := part.Dx()
		eachBlob(ink, pw, part.Dy(), func(b *blob) {
			switch b.form(pw, scale) {
			case isPicture:
				lost[layer] = append(lost[layer], b.box.Add(part.Min))
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
				if l.surface = layer; layer == 0 {
					l.surface = s.ground.under(l.box)
				}
				letters = append(letters, l)
			}
		})
		return letters
	}
	ink := findInk(m, s.ground)
	places := busyPlaces(s.ground, ink, scale)
	s.letters = collect(0, ink, image.Rect(0, 0, w, h))
	lost[0] = append(lost[0], places...)

	// In busy places every colour that text may have makes a layer of its own, a surface with a
	// negative number, so that letters of different colours are not mixed.
	layer := int32(0)
	for _, place := range places {
		for _, colour := range textColours(m, s.ground, place) {
			layer--
			s.letters = append(s.letters, collect(layer, inkOfColour(m, s.ground, place, colour), place)...)
		}
	}
	s.strips = findStrips(s.letters, scale)
	for i := range s.strips {
		p := &s.strips[i]
		p.torn = slices.ContainsFunc(lost[min(0, p.surface)], p.tornBy) || s.continued(p)
	}
	return s
}

// continued reports whether a letter on another surface, or of another layer, stands as close before or
// behind the strip as a letter of the same label would, in the same colour. It happens where a
// label lies partly on a busy place, and to its pieces there.
func (s *sheet) continued(p *strip) bool {
	for i := range s.letters {
		l := &s.letters[i]
		if l.surface == p.surface || l.box.Dy()*10 < p.cap*4 || l.box.Dy() > 2*p.box.Dy() {
			continue
		}
		before, behind := p.box.Min.X-l.box.Max.X, l.box.Min.X-p.box.Max.X
		if gap := max(before, behind); gap < -2 || gap*4 > p.cap*3 {
			continue
		}
		common := min(l.box.Max.Y, p.box.Max.Y) - max(l.box.Min.Y, p.box.Min.Y)
		if common*2 >= min(l.box.Dy(), p.box.Dy()) && distance(l.colour, p.colour) < 60 {
			return true
		}
	}
	return false
}
