package ocr

import (
	"image"
	"slices"
	"strings"
	"unicode"
)

// suits reports whether pieces of letters, side by side, may be a phrase, by the proportion of their
// width and height. It saves reading what cannot be the phrase, and errs towards reading: all
// fonts, capitals, letter spacing, icons before and behind the label, and other labels on the
// same line have to pass. It may change the order of the pieces.
func suits(phrase string, boxes []image.Rectangle, cap int) bool {
	slices.SortFunc(boxes, func(a, b image.Rectangle) int { return a.Min.X - b.Min.X })
	typed, capitals := extentOf(phrase), extentOf(strings.ToUpper(phrase))
	for _, pieces := range divide(boxes, cap) {
		size := sizeOf(pieces)
		if typed.fits(size, 1.5) || capitals.fits(size, 1.8) {
			return true
		}
	}
	return false
}

// divide returns what may be one label among the pieces: all of them, the parts between wide
// gaps, and each of these without what may be an icon at its ends.
func divide(boxes []image.Rectangle, cap int) [][]image.Rectangle {
	var labels [][]image.Rectangle
	add := func(part []image.Rectangle) {
		labels = append(labels, part)
		begin, end, last := part[0].Min.X, part[0].Max.X, part[len(part)-1].Max.X
		for i := 1; i < len(part); i++ {
			if gap := part[i].Min.X - end; gap*10 >= cap*3 {
				if end-begin <= 3*cap {
					labels = append(labels, part[i:])
				}
				if last-part[i].Min.X <= 3*cap {
					labels = append(labels, part[:i])
				}
			}
			end = max(end, part[i].Max.X)
		}
	}
	add(boxes)
	from, end := 0, boxes[0].Max.X
	for i, b := range boxes {
		if (b.Min.X-end)*10 > cap*wideGap {
			add(boxes[from:i])
			from = i
		}
		end = max(end, b.Max.X)
	}
	if from > 0 {
		add(boxes[from:])
	}
	return labels
}

// size is that of a label in pixels.
type size struct {
	width, height int
	// up is the height above the line that the letters stand on, and down what reaches below it.
	// Both are 0 if that line is not known, because most letters touch.
	up, down int
}

func sizeOf(pieces []image.Rectangle) size {
	var all image.Rectangle
	for _, p := range pieces {
		all = all.Union(p)
	}
	s := size{width: all.Dx(), height: all.Dy()}
	var bottoms []int
	for _, p := range pieces {
		if p.Dy()*2 >= all.Dy() {
			bottoms = append(bottoms, p.Max.Y)
		}
	}
	if len(bottoms) >= 4 {
		slices.Sort(bottoms)
		line := bottoms[(len(bottoms)-1)/2]
		s.up, s.down = line-all.Min.Y, all.Max.Y-line
	}
	return s
}

// wideGap is the gap, in tenths of the height of capitals, that separates labels. A space takes a third
// of the font size, 0.6 in fonts of fixed width; the height of capitals is about three quarters of it.
const wideGap = 13

// extent is the size of a text relative to the size of its font.
type extent struct {
	width    float64 // in a proportional font without serifs
	fixed    float64 // in a font of fixed width
	up, down float64 // how far the ink reaches above and below the line
}

func extentOf(text string) extent {
	e := extent{up: 0.55}
	for _, r := range text {
		e.fixed += 0.6
		switch {
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
			e.width += 1
			e.fixed += 0.4
			e.up = 0.85
		case strings.ContainsRune("ijlI'.,:;|! ", r):
			e.width += 0.27
		case strings.ContainsRune("frt()[]-\"", r):
			e.width += 0.33
		case strings.ContainsRune("mwMW@%", r):
			e.width += 0.84
		case unicode.IsUpper(r):
			e.width += 0.68
		default:
			e.width += 0.55
		}
		if strings.ContainsRune("gjpqy", r) {
			e.down = 0.2
		}
		if unicode.IsUpper(r) || unicode.IsDigit(r) || strings.ContainsRune("bdfhijklt()[]'\"!?&%$#@/", r) || r > 0x7f {
			e.up = max(e.up, 0.73)
		}
	}
	return e
}

// fits reports whether a text of this extent can have this size, if letters can be up to so many
// times wider than usual. Half a pixel more or less counts in small print.
func (e extent) fits(s size, wider float64) bool {
	height, relative := float64(s.height), e.up+e.down
	if s.up > 0 {
		height, relative = float64(s.up), e.up
		if e.down > 0 && s.down*10 < s.up {
			return false // nothing hangs below the line
		}
	}
	least := min(0.72*e.width, 0.85*e.fixed) * (height - 1) / relative
	most := max(wider*e.width, 1.2*e.fixed) * (height + 1) / relative
	return float64(s.width) >= least-2 && float64(s.width) <= most+2
}
