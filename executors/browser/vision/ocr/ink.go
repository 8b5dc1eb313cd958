package ocr

import (
	"encoding/binary"
	"image"
)

// ground is a surface pixel against which ink is measured. The zero ground is unknown.
type ground struct {
	colour  uint32
	surface int32
}

// faint is the difference from the ground, of 255, up to which a pixel is no ink.
const faint = 10

// findInk measures how much each pixel differs from the ground around it: 0 for ground, else
// the largest difference of a channel. The ground of a pixel is taken from the nearest
// surface pixels left, right, above and below, so its brightness and colour do not matter. Pixels that
// are marked as busy have no ink.
func findInk(m *image.NRGBA, s *surfaces, marks []uint8) []uint8 {
	w, h := s.w, s.h
	pixel := func(x int32, y int) uint32 { return binary.LittleEndian.Uint32(m.Pix[y*m.Stride+4*int(x):]) }
	below := groundBelow(s, pixel)
	ink := make([]uint8, w*h)
	above := make([]ground, w)
	for y := range h {
		var around [4]ground // left, right, above, below
		under := below.row(y)
		for i := s.rows[y]; i < s.rows[y+1]; i++ {
			r := s.runs[i]
			if r.surface != 0 {
				for x := r.x0; x < r.x1; x++ {
					above[x] = ground{pixel(x, y), r.surface}
				}
				around[0] = above[r.x1-1]
				around[1] = ground{}
				continue
			}
			if around[1].surface == 0 {
				for j := i + 1; j < s.rows[y+1]; j++ {
					if s.runs[j].surface != 0 {
						around[1] = ground{pixel(s.runs[j].x0, y), s.runs[j].surface}
						break
					}
				}
			}
			for x := r.x0; x < r.x1; x++ {
				around[2], around[3] = above[x], under[0]
				under = under[1:]
				if marks[y*w+int(x)] == busyPixel {
					continue
				}
				if d := contrast(pixel(x, y), &around); d > faint {
					ink[y*w+int(x)] = d
				}
			}
		}
	}
	return ink
}

// grounds holds a ground for every pixel that lies on no surface, in reading order.
type grounds struct {
	list []ground
	rows []int
}

func (g *grounds) row(y int) []ground { return g.list[g.rows[y]:g.rows[y+1]] }

// groundBelow finds the nearest ground below every pixel that is none itself.
func groundBelow(s *surfaces, pixel func(x int32, y int) uint32) *grounds {
	g := &grounds{rows: make([]int, s.h+1)}
	for y := range s.h {
		g.rows[y+1] = g.rows[y]
		for i := s.rows[y]; i < s.rows[y+1]; i++ {
			if s.runs[i].surface == 0 {
				g.rows[y+1] += int(s.runs[i].x1 - s.runs[i].x0)
			}
		}
	}
	g.list = make([]ground, g.rows[s.h])
	edge := make([]ground, s.w)
	for y := s.h - 1; y >= 0; y-- {
		row := g.row(y)
		for i := s.rows[y]; i < s.rows[y+1]; i++ {
			r := s.runs[i]
			if r.surface == 0 {
				row = row[copy(row, edge[r.x0:r.x1]):]
				continue
			}
			for x := r.x0; x < r.x1; x++ {
				edge[x] = ground{pixel(x, y), r.surface}
			}
		}
	}
	return g
}

// contrast is the largest difference of a channel between a pixel and the middle of the
// grounds around it. It is 0 without any ground, and for the softened edge between two
// surfaces, whose colour lies between theirs.
func contrast(p uint32, around *[4]ground) uint8 {
	var known [4]uint32
	n, surface, edge := 0, int32(0), false
	for _, g := range around {
		if g.surface != 0 {
			edge = edge || surface != 0 && surface != g.surface
			surface = g.surface
			known[n] = g.colour
			n++
		}
	}
	if n == 0 {
		return 0
	}
	most := int32(0)
	for shift := 0; shift < 24; shift += 8 {
		var v [4]int32
		for i := range n {
			c := int32(known[i] >> shift & 255)
			j := i
			for ; j > 0 && v[j-1] > c; j-- {
				v[j] = v[j-1]
			}
			v[j] = c
		}
		middle := v[n/2]
		if n == 4 {
			middle = (v[1] + v[2]) / 2
		}
		c := int32(p >> shift & 255)
		edge = edge && c >= v[0]-faint && c <= v[n-1]+faint
		most = max(most, c-middle, middle-c)
	}
	if edge {
		return 0
	}
	return uint8(most)
}
