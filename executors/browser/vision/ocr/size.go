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
// same line have to pass.
func suits(phrase string, boxes []image.Rectangle, cap int) bool {
	slices.SortFunc(boxes, func(a, b image.Rectangle) int { return a.Min.X - b.Min.X })
	forms := []extent{extentOf(phrase), extentOf(strings.ToUpper(phrase))}
	for _, part := range divide(boxes, cap) {
		for _, f := range forms {
			if f.fits(part.Dx(), part.Dy()) {
				return true
			}
		}
	}
	return false
}

// divide returns the boxes of what may be one label among the pieces: all of them, the parts between
// wide gaps, and each of these without what may be an icon at its ends. It may change the order
// of the pieces that it is given.
func divide(boxes []image.Rectangle, cap int) []image.Rectangle {
	var labels []image.Rectangle
	around := func(boxes []image.Rectangle) (r image.Rectangle) {
		for _, b := range boxes {
			r = r.Union(b)
		}
		return r
	}
	add := func(part []image.Rectangle) {
		all := around(part)
		labels = append(labels, all)
		end := part[0].Max.X
		for i := 1; i < len(part); i++ {
			if gap := part[i].Min.X - end; gap*10 >= cap*3 {
				if end-all.Min.X <= 3*cap {
					labels = append(labels, around(part[i:]))
				}
				if all.Max.X-part[i].Min.X <= 3*cap {
					labels = append(labels, around(part[:i]))
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

// wideGap is the gap, in tenths of the height of capitals, that separates labels. A space takes a third
// of the font size, 0.6 in fonts of fixed width; the height of capitals is about three quarters of it.
const wideGap = 13

// extent is the size of a text relative to the size of its font.
type extent struct {
	width  float64 // in a proportional font without serifs
	fixed  float64 // in a font of fixed width
	height float64 // of the ink
}

func extentOf(text string) extent {
	var e extent
	up, down := 0.55, 0.0
	for _, r := range text {
		e.fixed += 0.6
		switch {
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
			e.width += 1
			e.fixed += 0.4
			up = max(up, 0.8)
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
		if strings.ContainsRune("gjpqyQ,;()[]", r) {
			down = 0.2
		}
		if unicode.IsUpper(r) || unicode.IsDigit(r) || strings.ContainsRune("bdfhijklt()[]'\"!?&%$#@/", r) || r > 0x7f {
			up = max(up, 0.73)
		}
	}
	e.height = up + down
	return e
}

// fits reports whether a text of this extent can have this size in pixels. Half a pixel more or less
// counts in small print.
func (e extent) fits(w, h int) bool {
	small, large := float64(h)-1, float64(h)+1
	least := min(0.7*e.width, 0.85*e.fixed) * small / e.height
	most := max(1.7*e.width, 1.2*e.fixed) * large / e.height
	return float64(w) >= least-2 && float64(w) <= most+2
}
