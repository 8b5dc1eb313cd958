package ocr

import (
	"encoding/binary"
	"image"
)

// A surface is a connected area of the picture whose colour is plain or changes slowly: the
// page, a panel, the face of a button. Text lies on surfaces. Knowing them gives the
// background to subtract, and tells which words belong together: two words with different
// surfaces under them are not one label, however close they are.
type surface struct {
	box    image.Rectangle
	area   int
	colour uint32 // of its first pixel
}

// surfaces is the map of all surfaces of a picture.
type surfaces struct {
	w, h int
	// runs are the horizontal stretches of near-equal pixels, row by row; rows[y] is the
	// index of the first one of row y.
	runs []stretch
	rows []int32
	// list holds the surfaces; the first is a placeholder for "none".
	list []surface
}

// stretch is a horizontal line of near-equal pixels, [x0, x1).
type stretch struct {
	x0, x1 int32
	// surface is an index into list, 0 if the stretch belongs to none.
	surface int32
}

// tolerance is how much two neighbours may differ, in each channel, within one surface. It lets
// gradients hang together, and keeps the softened edges of letters apart from the ground.
const tolerance = 8

// findSurfaces takes the picture apart into stretches of near-equal pixels, joins those
// that touch, and keeps the large ones. Scale is the number of pixels per CSS pixel.
func findSurfaces(m *image.NRGBA, scale float64) *surfaces {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	s := &surfaces{w: w, h: h, runs: make([]stretch, 0, w*h/16+h), rows: make([]int32, h+1), list: make([]surface, 1, 64)}
	joined := &sets{}
	var above []byte
	for y := range h {
		row := m.Pix[y*m.Stride : y*m.Stride+4*w]
		first := int32(len(s.runs))
		s.rows[y] = first
		s.runs = splitRow(s.runs, row)
		joined.grow(len(s.runs))
		if y > 0 {
			joinRows(s.runs, s.rows[y-1], first, above, row, joined.join)
		}
		above = row
	}
	s.rows[h] = int32(len(s.runs))

	shapes := make([]shape, len(s.runs))
	for y := range h {
		for i := s.rows[y]; i < s.rows[y+1]; i++ {
			shapes[joined.find(i)].add(s.runs[i], y)
		}
	}
	number := make([]int32, len(s.runs))
	for i := range s.runs {
		r := joined.find(int32(i))
		if int32(i) == r && shapes[r].ground(scale) {
			number[r] = int32(len(s.list))
			s.list = append(s.list, surface{box: shapes[r].box(), area: int(shapes[r].area), colour: shapes[r].colour(m)})
		}
		s.runs[i].surface = number[r]
	}
	return s
}

// shape sums up a joined set of runs.
type shape struct {
	area, longest  int32
	first          int32 // column of the first pixel in the first row
	x0, y0, x1, y1 int32
}

func (p *shape) add(r stretch, y int) {
	if p.area == 0 {
		p.x0, p.y0, p.x1, p.first = r.x0, int32(y), r.x1, r.x0
	}
	p.area += r.x1 - r.x0
	p.longest = max(p.longest, r.x1-r.x0)
	p.x0, p.x1, p.y1 = min(p.x0, r.x0), max(p.x1, r.x1), int32(y)+1
}

func (p *shape) colour(m *image.NRGBA) uint32 {
	return binary.LittleEndian.Uint32(m.Pix[int(p.y0)*m.Stride+4*int(p.first):]) & 0xffffff
}

func (p *shape) box() image.Rectangle {
	return image.Rect(int(p.x0), int(p.y0), int(p.x1), int(p.y1))
}

// ground reports whether the shape is something that text can lie on, rather than a thick
// letter: large, and either wide or nearly filling its box (a large letter does
// neither).
func (p *shape) ground(scale float64) bool {
	area, w, h := float64(p.area), float64(p.x1-p.x0), float64(p.y1-p.y0)
	if area < 260*scale*scale || w < 14*scale || h < 4*scale {
		return false
	}
	return float64(p.longest) > 48*scale || area > 0.62*w*h
}

// splitRow appends the runs of one row.
func splitRow(runs []stretch, row []byte) []stretch {
	start := int32(0)
	last := binary.LittleEndian.Uint32(row)
	x := int32(1)
	for i := 4; i+4 <= len(row); i += 4 {
		p := binary.LittleEndian.Uint32(row[i:])
		if p != last {
			if !near(p, last) {
				runs = append(runs, stretch{x0: start, x1: x})
				start = x
			}
			last = p
		}
		x++
	}
	return append(runs, stretch{x0: start, x1: x})
}

// joinRows calls join for each pair of runs of two neighbouring rows that touch in near-equal
// pixels. Runs are [a, b) of the upper and [b, end) of the lower row.
func joinRows(runs []stretch, a, b int32, above, row []byte, join func(a, b int32)) {
	end := int32(len(runs))
	for i, j := a, b; i < b && j < end; {
		lo, hi := max(runs[i].x0, runs[j].x0), min(runs[i].x1, runs[j].x1)
		for x := lo; x < hi; x++ {
			if near(binary.LittleEndian.Uint32(above[4*x:]), binary.LittleEndian.Uint32(row[4*x:])) {
				join(i, j)
				break
			}
		}
		if runs[i].x1 < runs[j].x1 {
			i++
		} else if runs[i].x1 > runs[j].x1 {
			j++
		} else {
			i, j = i+1, j+1
		}
	}
}

// near reports whether two pixels differ by no more than the tolerance in any channel but
// alpha.
func near(p, q uint32) bool {
	if p == q {
		return true
	}
	for range 3 {
		if d := int32(p&255) - int32(q&255); d > tolerance || d < -tolerance {
			return false
		}
		p, q = p>>8, q>>8
	}
	return true
}

// index is the run that a pixel belongs to.
func (s *surfaces) index(x, y int) int32 {
	lo, hi := s.rows[y], s.rows[y+1]
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if int(s.runs[mid].x0) <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// under is the surface that most of a rectangle and the pixels around it lie on, 0 if none
// does.
func (s *surfaces) under(r image.Rectangle) int32 {
	type vote struct {
		surface int32
		pixels  int
	}
	var votes []vote
	x0, x1 := max(0, r.Min.X-2), min(s.w, r.Max.X+2)
	for y := max(0, r.Min.Y-2); y < min(s.h, r.Max.Y+2); y += max(1, r.Dy()/8) {
		for i := s.index(x0, y); i < s.rows[y+1] && int(s.runs[i].x0) < x1; i++ {
			id := s.runs[i].surface
			if id == 0 {
				continue
			}
			n := min(int(s.runs[i].x1), x1) - max(int(s.runs[i].x0), x0)
			found := false
			for v := range votes {
				if votes[v].surface == id {
					votes[v].pixels += n
					found = true
				}
			}
			if !found {
				votes = append(votes, vote{id, n})
			}
		}
	}
	var best vote
	for _, v := range votes {
		if v.pixels > best.pixels {
			best = v
		}
	}
	return best.surface
}
