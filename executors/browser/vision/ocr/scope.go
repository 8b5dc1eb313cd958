package ocr

import (
	"image"
	"math"
	"slices"
)

// scene is where lines of text are and what they lie on, for questions of scope.
type scene struct {
	strips   []strip
	surfaces []surface
	size     image.Point
}

// within reports which of the targets belong to one of the headings. In a column of targets, one in
// each row, every text of a row is a heading of it. Otherwise a heading owns a target if, of all the
// lines that look like the headings, it is the nearest above it or left of it; a line left of it does
// not keep the nearest heading above both from owning the only target on its panel. Lines in not (those
// of the targets) are no headings.
func (s *scene) within(targets []image.Rectangle, headings, not map[int]bool) []bool {
	peers, table := s.peers(headings, not), column(targets)
	inside := make([]bool, len(targets))
	for i, t := range targets {
		if table && s.inRow(t, headings) {
			inside[i] = true
			continue
		}
		owner := s.owner(t, peers)
		if owner < 0 || !headings[owner] { // perhaps because of what stands beside the target, which names its row
			above := slices.DeleteFunc(slices.Clone(peers), func(k int) bool { return sameRow(s.strips[k].box, t) })
			if k := s.owner(t, above); k >= 0 && len(above) < len(peers) && s.alone(t, targets, k) {
				owner = k
			}
		}
		inside[i] = owner >= 0 && headings[owner]
	}
	return inside
}

// alone reports whether a target is the only one on the panel that a heading lies on; where the heading lies on none that can be
// seen, whether it is the only one at all.
func (s *scene) alone(target image.Rectangle, targets []image.Rectangle, heading int) bool {
	box, ok := s.panel(heading)
	if !ok {
		return len(targets) == 1
	}
	return target.In(box) && !slices.ContainsFunc(targets, func(t image.Rectangle) bool { return t != target && t.Overlaps(box) })
}

// column reports whether the targets stand one below the other, as the buttons of the rows of a
// table do.
func column(targets []image.Rectangle) bool {
	if len(targets) < 2 {
		return false
	}
	for i, a := range targets {
		for _, b := range targets[:i] {
			if sameRow(a, b) || max(a.Min.X-b.Min.X, b.Min.X-a.Min.X) > max(a.Dy(), b.Dy()) {
				return false
			}
		}
	}
	return true
}

func sameRow(a, b image.Rectangle) bool {
	return (min(a.Max.Y, b.Max.Y)-max(a.Min.Y, b.Min.Y))*2 >= min(a.Dy(), b.Dy())
}

// inRow reports whether one of the lines stands in the row of a target.
func (s *scene) inRow(target image.Rectangle, lines map[int]bool) bool {
	for k := range lines {
		if sameRow(s.strips[k].box, target) {
			return true
		}
	}
	return false
}

// peers are the lines that look like one of these: they begin sections of the same kind.
func (s *scene) peers(of, not map[int]bool) []int {
	var peers []int
	for k := range s.strips {
		if not[k] && !of[k] {
			continue
		}
		if of[k] {
			peers = append(peers, k)
		}
	}
	for k := range s.strips {
		if of[k] || not[k] {
			continue
		}
		for h := range of {
			if sameFont(&s.strips[k], &s.strips[h]) && s.sameGround(k, h) {
				peers = append(peers, k)
				break
			}
		}
	}
	return peers
}

// sameGround reports whether two lines lie on surfaces of the same kind: on the same one, or both
// on a panel, or neither.
func (s *scene) sameGround(a, b int) bool {
	return s.strips[a].surface == s.strips[b].surface || s.face(a) == s.face(b)
}

// face reports whether a line lies on a surface hardly larger than itself, as the label
// of a button does.
func (s *scene) face(k int) bool {
	p := &s.strips[k]
	if p.surface <= 0 {
		return false
	}
	box := s.surfaces[p.surface].box
	return box.Dy() <= 5*p.cap && box.Dx() <= p.box.Dx()+12*p.cap
}

// panel is the box of the surface that a line lies on if that is a panel: clearly higher than a
// line, clearly smaller than the page.
func (s *scene) panel(k int) (image.Rectangle, bool) {
	p := &s.strips[k]
	if p.surface <= 0 {
		return image.Rectangle{}, false
	}
	box := s.surfaces[p.surface].box
	return box, box.Dy() > 5*p.cap && box.Dx()*box.Dy()*100 < s.size.X*s.size.Y*85
}

// owner is the peer under which a target stands, -1 if there is none or it is not clear.
func (s *scene) owner(target image.Rectangle, peers []int) int {
	middle := image.Pt((target.Min.X+target.Max.X)/2, (target.Min.Y+target.Max.Y)/2)
	// A panel around the target decides; the innermost one if there are several. A heading in a
	// panel of its own never owns what is outside of it.
	var pool []int
	smallest := math.MaxInt
	for _, k := range peers {
		box, ok := s.panel(k)
		if !ok || !middle.In(box) {
			continue
		}
		if area := box.Dx() * box.Dy(); area < smallest {
			pool, smallest = nil, area
		} else if area > smallest {
			continue
		}
		pool = append(pool, k)
	}
	if pool == nil {
		for _, k := range peers {
			if _, ok := s.panel(k); !ok {
				pool = append(pool, k)
			}
		}
	}
	best, least := -1, math.MaxInt
	for _, k := range pool {
		if down, right, ok := stands(s.strips[k].box, target); ok && down+right/2 < least {
			best, least = k, down+right/2
		}
	}
	if best < 0 {
		return -1
	}
	down, right, _ := stands(s.strips[best].box, target)
	cap := s.strips[best].cap
	for _, k := range pool {
		d, r, ok := stands(s.strips[k].box, target)
		if k == best || !ok || d+r/2-least >= 2*cap {
			continue
		}
		if down <= d-cap/2 && right <= r+cap/2 { // farther away in the same column
			continue
		}
		return -1
	}
	return best
}

// stands measures how far a target stands below and right of a heading; ok is false if it does
// neither stand below it nor right of it in its row.
func stands(heading, target image.Rectangle) (down, right int, ok bool) {
	right = max(0, target.Min.X-heading.Min.X)
	if sameRow(heading, target) {
		return 0, right, heading.Max.X <= target.Min.X
	}
	down = target.Min.Y - heading.Max.Y
	return max(0, down), right, down >= -2 && heading.Min.X < target.Max.X
}

// beside measures the distance between a target and a text beside it. Rows count more than
// columns: the text in the same row is nearer than one above it.
func beside(text, target image.Rectangle) int {
	dx := max(0, text.Min.X-target.Max.X, target.Min.X-text.Max.X)
	dy := max(0, text.Min.Y-target.Max.Y, target.Min.Y-text.Max.Y)
	return dx + 4*dy
}

// near reports how far each target is from the nearest of the texts: -1 if another line that looks
// like them is as near, so that the target is that one's.
func (s *scene) near(targets []image.Rectangle, texts, not map[int]bool) []int {
	peers, table := s.peers(texts, not), column(targets)
	away := make([]int, len(targets))
	for i, t := range targets {
		own, other := math.MaxInt, math.MaxInt
		for _, k := range peers {
			if d := beside(s.strips[k].box, t); texts[k] {
				own = min(own, d)
			} else {
				other = min(other, d)
			}
		}
		away[i] = own
		switch {
		case table && s.inRow(t, texts):
		case own >= other, table && s.rowHasPeer(t, peers, texts):
			away[i] = -1
		}
	}
	return away
}

// rowHasPeer reports whether a line that looks like the texts, but is none of them, stands in the row
// of a target.
func (s *scene) rowHasPeer(target image.Rectangle, peers []int, texts map[int]bool) bool {
	for _, k := range peers {
		if !texts[k] && sameRow(s.strips[k].box, target) {
			return true
		}
	}
	return false
}

// headingOf guesses the heading of a target: the first text of its row in a table; else the first
// line of the innermost panel around it, else the line left of it in its row, else the nearest
// larger line above it; -1 if there is none.
func (s *scene) headingOf(target image.Rectangle, table bool, not map[int]bool) int {
	if table {
		first := -1
		for k := range s.strips {
			if box := s.strips[k].box; !not[k] && !s.face(k) && sameRow(box, target) && box.Max.X <= target.Min.X &&
				(first < 0 || box.Min.X < s.strips[first].box.Min.X) {
				first = k
			}
		}
		if first >= 0 {
			return first
		}
	}
	middle := image.Pt((target.Min.X+target.Max.X)/2, (target.Min.Y+target.Max.Y)/2)
	best, smallest, top := -1, math.MaxInt, math.MaxInt
	for k := range s.strips {
		box, ok := s.panel(k)
		if not[k] || !ok || !middle.In(box) || s.strips[k].box.Min.Y >= target.Max.Y {
			continue
		}
		area, y := box.Dx()*box.Dy(), s.strips[k].box.Min.Y
		if area < smallest || area == smallest && y < top {
			best, smallest, top = k, area, y
		}
	}
	if best >= 0 {
		return best
	}
	var left, above []int
	for k := range s.strips {
		if not[k] || s.face(k) {
			continue
		}
		down, _, ok := stands(s.strips[k].box, target)
		switch {
		case ok && down == 0 && s.strips[k].box.Max.X <= target.Min.X:
			left = append(left, k)
		case ok && s.strips[k].cap*10 > target.Dy()*9:
			above = append(above, k)
		}
	}
	if k := s.nearest(target, left); k >= 0 {
		return k
	}
	return s.nearest(target, above)
}

// neighbourOf is the line nearest to a target, -1 if there is none.
func (s *scene) neighbourOf(target image.Rectangle, not map[int]bool) int {
	var others []int
	for k := range s.strips {
		if !not[k] {
			others = append(others, k)
		}
	}
	return s.nearest(target, others)
}

func (s *scene) nearest(target image.Rectangle, of []int) int {
	best, least := -1, math.MaxInt
	for _, k := range of {
		if d := beside(s.strips[k].box, target); d < least {
			best, least = k, d
		}
	}
	return best
}
