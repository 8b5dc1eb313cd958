package ocr

import (
	"cmp"
	"encoding/binary"
	"image"
	"slices"
)

// busyPlaces finds the places that no surface reaches: photographs, patterns, noise. Text on them
// has no ground to be measured against. Their pixels are marked with busyPixel in the map, all other
// marks mean nothing to the caller.
func busyPlaces(s *surfaces, scale float64) (places []image.Rectangle, marks []uint8) {
	const inside, start = 1, 2 // of a stretch
	bare := make([]uint8, s.w*s.h)
	for y := range s.h {
		for i := s.rows[y]; i < s.rows[y+1]; i++ {
			if r := s.runs[i]; r.surface == 0 {
				for x := r.x0; x < r.x1; x++ {
					bare[y*s.w+int(x)] = inside
				}
				bare[y*s.w+int(r.x0)] = start
			}
		}
	}
	eachBlob(bare, s.w, s.h, func(b *blob) {
		if !b.busy(bare, start, scale) {
			return
		}
		places = append(places, b.box)
		for _, i := range b.pixels {
			bare[i] = busyPixel
		}
	})
	return places, bare
}

// busyPixel marks the pixels of busy places.
const busyPixel = 3

// busy reports whether a blob of pixels without ground is a photograph or the like, rather than
// thick letters or small ones that touch. Those are not as high or do not fill their box, and
// neighbours in them are of one colour. Pixels that begin a stretch are marked with start.
func (b *blob) busy(mark []uint8, start uint8, scale float64) bool {
	w, h, n := float64(b.box.Dx())/scale, float64(b.box.Dy())/scale, float64(len(b.pixels))/(scale*scale)
	if w < 16 || h < 12 || n < 250 {
		return false
	}
	stretches := 0
	for _, i := range b.pixels {
		if mark[i] == start {
			stretches++
		}
	}
	fill, length := n/(w*h), float64(len(b.pixels))/float64(max(1, stretches))
	switch {
	case h < 20:
		return fill > 0.85 && length < 1.5
	case h < 28:
		return fill > 0.85 && length < 4
	case h < 40:
		return fill > 0.6 && length < 4
	}
	return fill > 0.3 && length < 4
}

// maxColours bounds how many colours of a busy place are tried as that of its text.
const maxColours = 5

// eachBusyPixel calls visit for every pixel of a place that lies on no surface.
func eachBusyPixel(s *surfaces, place image.Rectangle, visit func(x, y int)) {
	for y := place.Min.Y; y < place.Max.Y; y++ {
		for i := s.index(place.Min.X, y); i < s.rows[y+1] && int(s.runs[i].x0) < place.Max.X; i++ {
			if r := s.runs[i]; r.surface == 0 {
				for x := max(int(r.x0), place.Min.X); x < min(int(r.x1), place.Max.X); x++ {
					visit(x, y)
				}
			}
		}
	}
}

// textColours guesses which colours text has in a busy place: those that neighbours share
// exactly, which is rare in photographs and noise and the rule inside of letters; and the
// lightest and the darkest, since text is made to stand out.
func textColours(m *image.NRGBA, s *surfaces, place image.Rectangle) []uint32 {
	pixel := func(x, y int) uint32 { return binary.LittleEndian.Uint32(m.Pix[y*m.Stride+4*x:]) & 0xffffff }
	count := map[uint32]int{}
	var byLight [256]struct {
		n      int
		colour uint32
	}
	all := 0
	eachBusyPixel(s, place, func(x, y int) {
		p := pixel(x, y)
		if x > 0 && pixel(x-1, y) == p || y > 0 && pixel(x, y-1) == p {
			count[p]++
		}
		light := &byLight[(299*(p&255)+587*(p>>8&255)+114*(p>>16))/1000]
		light.n++
		light.colour = p
		all++
	})
	type shade struct {
		colour uint32
		count  int
	}
	shades := make([]shade, 0, len(count))
	for c, n := range count {
		if n >= 6 {
			shades = append(shades, shade{c, n})
		}
	}
	slices.SortFunc(shades, func(a, b shade) int { return cmp.Or(b.count-a.count, cmp.Compare(a.colour, b.colour)) })
	var colours []uint32
	add := func(c uint32) {
		if !slices.ContainsFunc(colours, func(d uint32) bool { return distance(c, d) < 60 }) {
			colours = append(colours, c)
		}
	}
	for _, c := range shades {
		if len(colours) == maxColours-2 || c.count*40 < shades[0].count {
			break
		}
		add(c.colour)
	}
	// A few pixels more extreme than the text do not matter.
	for dark, n := 0, 0; dark < 256; dark++ {
		if n += byLight[dark].n; n*200 > all {
			add(byLight[dark].colour)
			break
		}
	}
	for light, n := 255, 0; light >= 0; light-- {
		if n += byLight[light].n; n*200 > all {
			add(byLight[light].colour)
			break
		}
	}
	return colours
}

// inkOfColour is how near each pixel of a place comes to a colour: 0 for pixels that are less like
// it than like what surrounds the text.
func inkOfColour(m *image.NRGBA, s *surfaces, place image.Rectangle, colour uint32) []uint8 {
	pixel := func(x, y int) uint32 { return binary.LittleEndian.Uint32(m.Pix[y*m.Stride+4*x:]) }
	var far [256]int
	all := 0
	eachBusyPixel(s, place, func(x, y int) {
		far[distance(pixel(x, y), colour)]++
		all++
	})
	middle, n := 0, 0
	for middle = range far {
		if n += far[middle]; n*2 > all {
			break
		}
	}
	reach := int32(max(40, middle*6/10))
	w := place.Dx()
	ink := make([]uint8, w*place.Dy())
	for i := range ink {
		if d := distance(pixel(place.Min.X+i%w, place.Min.Y+i/w), colour); d < reach {
			ink[i] = uint8(255 - 200*d/reach)
		}
	}
	return ink
}

// distance is the largest difference of a channel between two colours.
func distance(p, q uint32) int32 {
	most := int32(0)
	for range 3 {
		d := int32(p&255) - int32(q&255)
		most = max(most, d, -d)
		p, q = p>>8, q>>8
	}
	return most
}
