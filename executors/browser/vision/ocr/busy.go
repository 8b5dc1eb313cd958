package ocr

import (
	"cmp"
	"encoding/binary"
	"image"
	"slices"
)

// busyPlaces finds the rectangles, a few cells wide at least, that hardly any surface reaches:
// photographs, patterns, noise. Text on them has no ground to be measured against.
func busyPlaces(s *surfaces, scale float64) []image.Rectangle {
	cell := max(8, int(14*scale))
	cw, ch := (s.w+cell-1)/cell, (s.h+cell-1)/cell
	flat := make([]int, cw*ch)
	for y := range s.h {
		for i := s.rows[y]; i < s.rows[y+1]; i++ {
			r := s.runs[i]
			if r.surface == 0 {
				continue
			}
			for x := int(r.x0); x < int(r.x1); {
				end := min((x/cell+1)*cell, int(r.x1))
				flat[y/cell*cw+x/cell] += end - x
				x = end
			}
		}
	}
	mark := make([]uint8, cw*ch)
	for y := range ch {
		for x := range cw {
			area := (min((x+1)*cell, s.w) - x*cell) * (min((y+1)*cell, s.h) - y*cell)
			if flat[y*cw+x]*100 < area*25 {
				mark[y*cw+x] = 1
			}
		}
	}
	var places []image.Rectangle
	eachBlob(mark, cw, ch, func(b *blob) {
		if len(b.pixels) >= 2 {
			r := image.Rect((b.box.Min.X-1)*cell, (b.box.Min.Y-1)*cell, (b.box.Max.X+1)*cell, (b.box.Max.Y+1)*cell)
			places = append(places, r.Intersect(image.Rect(0, 0, s.w, s.h)))
		}
	})
	return joinOverlapping(places)
}

// joinOverlapping replaces rectangles that overlap by the smallest one around them.
func joinOverlapping(list []image.Rectangle) []image.Rectangle {
	for again := true; again; {
		again = false
		for i := 0; i < len(list); i++ {
			for j := len(list) - 1; j > i; j-- {
				if list[i].Overlaps(list[j]) {
					list[i] = list[i].Union(list[j])
					list = slices.Delete(list, j, j+1)
					again = true
				}
			}
		}
	}
	return list
}

// maxColours bounds how many colours of a busy place are tried as that of its text.
const maxColours = 3

// textColours guesses which colours text has in a busy place: those that neighbours share
// exactly, which is rare in photographs and noise and the rule inside of letters. Surfaces do not
// count.
func textColours(m *image.NRGBA, s *surfaces, place image.Rectangle) []uint32 {
	count := map[uint32]int{}
	pixel := func(x, y int) uint32 { return binary.LittleEndian.Uint32(m.Pix[y*m.Stride+4*x:]) }
	for y := place.Min.Y; y < place.Max.Y; y++ {
		for i := s.index(place.Min.X, y); i < s.rows[y+1] && int(s.runs[i].x0) < place.Max.X; i++ {
			r := s.runs[i]
			if r.surface != 0 {
				continue
			}
			for x := max(int(r.x0), place.Min.X); x < min(int(r.x1), place.Max.X); x++ {
				p := pixel(x, y)
				if x > 0 && pixel(x-1, y) == p || y > 0 && pixel(x, y-1) == p {
					count[p]++
				}
			}
		}
	}
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
	for _, c := range shades {
		if len(colours) == maxColours || c.count*40 < shades[0].count {
			break
		}
		if !slices.ContainsFunc(colours, func(d uint32) bool { return distance(c.colour, d) < 60 }) {
			colours = append(colours, c.colour)
		}
	}
	return colours
}

// inkOfColour is how near each pixel of a place comes to a colour: 0 for pixels that are less like
// it than like what surrounds the text.
func inkOfColour(m *image.NRGBA, place image.Rectangle, colour uint32) []uint8 {
	w, h := place.Dx(), place.Dy()
	far := make([]int32, w*h)
	var sum, n int64
	for y := range h {
		row := m.Pix[(place.Min.Y+y)*m.Stride+4*place.Min.X:]
		for x := range w {
			d := distance(binary.LittleEndian.Uint32(row[4*x:]), colour)
			far[y*w+x] = d
			if d > 30 { // what is text, or page around the place, would make the rest look nearer
				sum, n = sum+int64(d), n+1
			}
		}
	}
	reach := max(40, int32(sum/max(n, 1))*6/10)
	ink := make([]uint8, w*h)
	for i, d := range far {
		if d < reach {
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
