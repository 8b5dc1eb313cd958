package ocr

import (
	"image"
	"slices"
)

// run is one label: words of a strip without a wide gap between them, or the lines of a label that
// was wrapped.
type run struct {
	words  []word
	box    image.Rectangle
	strips []int // indexes into the strips of the sheet
	// torn is set if the run may lack a part, see strip.
	torn bool
	// partial is set if the run is one line of a label that was wrapped.
	partial bool
	// lines is the number of lines.
	lines int
}

func (r *run) text() string { return joined(r.words) }

// splitRuns divides the words of strip number k at gaps wider than any space between words of one
// label.
func splitRuns(k int, s *strip, words []word) []run {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b word) int { return a.box.Min.X - b.box.Min.X })
	var runs []run
	for _, w := range words {
		if n := len(runs); n > 0 && (w.box.Min.X-runs[n-1].box.Max.X)*10 <= s.cap*wideGap {
			runs[n-1].words = append(runs[n-1].words, w)
			runs[n-1].box = runs[n-1].box.Union(w.box)
			continue
		}
		runs = append(runs, run{words: []word{w}, box: w.box, strips: []int{k}, lines: 1})
	}
	for i := range runs {
		// Something that touches the strip touches its first or its last run.
		runs[i].torn = s.torn && (i == 0 || i == len(runs)-1)
		if len(runs) == 1 {
			runs[i].box = s.box // tighter than the boxes of words
		}
	}
	return runs
}

// wrapped finds the labels of several lines among the strips: all the strips of a small surface, one
// below the other in one size and colour, near each other. Centred says that they are
// centred, as the wrapped label of a button is and a list is not.
type wrapped struct {
	strips  []int // from top to bottom
	centred bool
}

// maxWrapped bounds the lines of a label.
const maxWrapped = 3

func findWrapped(s *sheet) []wrapped {
	on := map[int32][]int{}
	for k := range s.strips {
		if id := s.strips[k].surface; id > 0 {
			on[id] = append(on[id], k)
		}
	}
	var found []wrapped
	for id, strips := range on {
		if len(strips) < 2 || len(strips) > maxWrapped {
			continue
		}
		slices.SortFunc(strips, func(a, b int) int { return s.strips[a].box.Min.Y - s.strips[b].box.Min.Y })
		all, fits, centred := s.strips[strips[0]].box, true, true
		for i := 1; i < len(strips); i++ {
			a, b := &s.strips[strips[i-1]], &s.strips[strips[i]]
			gap := b.box.Min.Y - a.box.Max.Y
			fits = fits && gap >= 0 && gap <= max(a.cap, b.cap)*12/10 && sameFont(a, b) && a.box.Min.X < b.box.Max.X && b.box.Min.X < a.box.Max.X
			off := (a.box.Min.X + a.box.Max.X) - (b.box.Min.X + b.box.Max.X)
			centred = centred && max(off, -off) <= a.cap
			all = all.Union(b.box)
		}
		face := s.ground.list[id].box
		if fits && face.Dy() <= all.Dy()+4*s.strips[strips[0]].cap {
			found = append(found, wrapped{strips, centred})
		}
	}
	slices.SortFunc(found, func(a, b wrapped) int { return a.strips[0] - b.strips[0] })
	return found
}

// sameFont reports whether two strips look set in one size and colour.
func sameFont(a, b *strip) bool {
	small, large := min(a.cap, b.cap), max(a.cap, b.cap)
	return (large-small <= 1 || large*100 <= small*118) && distance(a.colour, b.colour) < 70
}

// join makes one run of the lines of a wrapped label.
func (w wrapped) label(runs []run) (run, bool) {
	var all run
	for _, k := range w.strips {
		i := slices.IndexFunc(runs, func(r run) bool { return r.strips[0] == k && len(r.strips) == 1 })
		if i < 0 {
			return run{}, false
		}
		all.words = append(all.words, runs[i].words...)
		all.box = all.box.Union(runs[i].box)
		all.strips = append(all.strips, k)
		all.torn = all.torn || runs[i].torn
		all.lines++
	}
	return all, true
}
