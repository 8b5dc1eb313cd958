package ocr

import (
	"cmp"
	"image"
	"slices"
)

// strip is a line of letters on one surface: what the engine reads at a time.
type strip struct {
	box     image.Rectangle
	surface int32
	letters []int32 // indexes into the letters of the sheet
	// body is the median height of its letters, cap the height of its tallest ones above the
	// line they stand on: a measure of the size of the font.
	body, cap int
	colour    uint32
	// torn says that something which may hide a letter touches the strip: what is read may be
	// a part of the label only.
	torn bool
}

// findStrips gathers letters that lie on the same surface, side by side, into lines.
func findStrips(letters []letter, scale float64) []strip {
	tall := func(i int32) bool { return float64(letters[i].box.Dy()) >= 4.5*scale }
	order := make([]int32, len(letters))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(letters[a].box.Min.X, letters[b].box.Min.X), cmp.Compare(a, b))
	})
	groups := newSets(len(letters))
	reach := int(90 * scale) // a wide space in the largest font
	for n, i := range order {
		if !tall(i) {
			continue
		}
		for _, j := range order[n+1:] {
			if letters[j].box.Min.X-letters[i].box.Max.X > reach {
				break
			}
			if tall(j) && sameLine(&letters[i], &letters[j]) {
				groups.join(i, j)
			}
		}
	}
	number := map[int32]int{}
	var strips []strip
	var marks []int32
	for _, i := range order {
		if !tall(i) {
			marks = append(marks, i)
			continue
		}
		root := groups.find(i)
		k, ok := number[root]
		if !ok {
			k = len(strips)
			number[root] = k
			strips = append(strips, strip{surface: letters[i].surface})
		}
		strips[k].letters = append(strips[k].letters, i)
	}
	for k := range strips {
		strips[k].measure(letters)
	}
	strips = dropIcons(letters, strips)
	attachMarks(letters, strips, marks)
	return mergeMarks(letters, strips)
}

// sameLine reports whether two letters, a beginning left of b, can be neighbours in a line: at most
// a wide space apart on one surface, and touching if something changes colour under them.
func sameLine(a, b *letter) bool {
	small, large := min(a.box.Dy(), b.box.Dy()), max(a.box.Dy(), b.box.Dy())
	overlap := min(a.box.Max.Y, b.box.Max.Y) - max(a.box.Min.Y, b.box.Min.Y)
	if overlap*2 < small || large*10 > small*23 {
		return false
	}
	gap := b.box.Min.X - a.box.Max.X
	if a.surface != b.surface {
		return a.surface > 0 && b.surface > 0 && gap*4 <= large && distance(a.colour, b.colour) < 40
	}
	return gap*2 <= large*3
}

// measure fills in the sizes of a strip from its letters.
func (s *strip) measure(letters []letter) {
	s.box = image.Rectangle{}
	heights, bottoms := make([]int, len(s.letters)), make([]int, len(s.letters))
	strongest := 0
	for n, i := range s.letters {
		l := &letters[i]
		s.box = s.box.Union(l.box)
		heights[n], bottoms[n] = l.box.Dy(), l.box.Max.Y
		if len(l.pixels) > strongest {
			strongest, s.colour = len(l.pixels), l.colour
		}
	}
	slices.Sort(heights)
	slices.Sort(bottoms)
	s.body = heights[len(heights)/2]
	s.cap = max(1, bottoms[len(bottoms)/2]-s.box.Min.Y)
}

// dropIcons takes what is far taller than the other letters of its strip out of it.
func dropIcons(letters []letter, strips []strip) []strip {
	for k := range strips {
		s := &strips[k]
		if len(s.letters) < 3 {
			continue
		}
		kept := make([]int32, 0, len(s.letters))
		for _, i := range s.letters {
			if letters[i].box.Dy()*10 > s.body*22 {
				icon := strip{surface: s.surface, letters: []int32{i}}
				icon.measure(letters)
				strips = append(strips, icon)
				s = &strips[k] // append may have moved it
				continue
			}
			kept = append(kept, i)
		}
		if len(kept) < len(s.letters) {
			s.letters = kept
			s.measure(letters)
		}
	}
	return strips
}

// attachMarks gives dots, accents, commas and hyphens to the strip that they belong to.
func attachMarks(letters []letter, strips []strip, marks []int32) {
	home := make([]int, len(marks))
	for n, i := range marks {
		home[n] = homeOf(letters[i].box, letters[i].surface, strips, -1)
	}
	for n, k := range home {
		if k >= 0 {
			strips[k].letters = append(strips[k].letters, marks[n])
			strips[k].box = strips[k].box.Union(letters[marks[n]].box)
		}
	}
}

// mergeMarks joins strips that are no line but large marks (a comma, quotes, a dot in a
// large font) with the strip that they belong to.
func mergeMarks(letters []letter, strips []strip) []strip {
	kept := strips[:0:0]
	var small []int
	for k := range strips {
		if len(strips[k].letters) <= 3 {
			small = append(small, k)
		}
	}
	gone := make([]bool, len(strips))
	for _, k := range small {
		home := homeOf(strips[k].box, strips[k].surface, strips, k)
		if home >= 0 && !gone[home] && strips[k].box.Dy()*10 <= strips[home].body*6 {
			strips[home].letters = append(strips[home].letters, strips[k].letters...)
			strips[home].box = strips[home].box.Union(strips[k].box)
			gone[k] = true
		}
	}
	for k := range strips {
		if !gone[k] {
			kept = append(kept, strips[k])
		}
	}
	return kept
}

// homeOf is the nearest strip on the surface around whose line the box lies, -1 if there is none.
func homeOf(box image.Rectangle, surface int32, strips []strip, not int) int {
	best, least := -1, 0
	for k := range strips {
		s := &strips[k]
		if k == not || s.surface != surface {
			continue
		}
		room := image.Rect(s.box.Min.X-2*s.body, s.box.Min.Y-s.body*3/4, s.box.Max.X+2*s.body, s.box.Max.Y+s.body/2)
		if !box.In(room) {
			continue
		}
		middle := (box.Min.Y + box.Max.Y) / 2
		if d := max(0, s.box.Min.Y-middle, middle-s.box.Max.Y); best < 0 || d < least {
			best, least = k, d
		}
	}
	return best
}

// tornBy reports whether something large that was dropped touches the line sideways or lies across
// it. What holds the strip as a whole is what it is written on.
func (s *strip) tornBy(lost image.Rectangle) bool {
	near := s.box.Inset(0)
	side := max(1, s.body/4)
	near.Min.X, near.Max.X = near.Min.X-side, near.Max.X+side
	quarter := s.box.Dy() / 4
	near.Min.Y, near.Max.Y = near.Min.Y+quarter, max(near.Min.Y+quarter+1, near.Max.Y-quarter)
	return lost.Overlaps(near) && !s.box.In(lost)
}

// sets is a union-find structure.
type sets struct{ parent []int32 }

func newSets(n int) *sets {
	s := &sets{parent: make([]int32, 0, n)}
	s.grow(n)
	return s
}

// grow adds sets of one member until there are n members.
func (s *sets) grow(n int) {
	for i := len(s.parent); i < n; i++ {
		s.parent = append(s.parent, int32(i))
	}
}

func (s *sets) find(i int32) int32 {
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

// join makes one set of two. The lower index becomes its root.
func (s *sets) join(i, j int32) {
	a, b := s.find(i), s.find(j)
	if a < b {
		s.parent[b] = a
	} else if b < a {
		s.parent[a] = b
	}
}
