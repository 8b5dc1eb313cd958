package ocr

import (
	"image"
	"math"
)

// blob is a connected set of ink.
type blob struct {
	pixels    []int32 // indexes into the picture
	box       image.Rectangle
	strongest uint8
}

// eachBlob calls visit for every set of ink pixels that touch, corners included. The blob is
// valid during the call only.
func eachBlob(ink []uint8, w, h int, visit func(*blob)) {
	seen := make([]bool, len(ink))
	var b blob
	for start := range ink {
		if ink[start] == 0 || seen[start] {
			continue
		}
		seen[start] = true
		b.pixels = append(b.pixels[:0], int32(start))
		b.box = image.Rectangle{Min: image.Pt(math.MaxInt32, math.MaxInt32)}
		b.strongest = 0
		for next := 0; next < len(b.pixels); next++ {
			i := int(b.pixels[next])
			x, y := i%w, i/w
			b.box.Min.X, b.box.Min.Y = min(b.box.Min.X, x), min(b.box.Min.Y, y)
			b.box.Max.X, b.box.Max.Y = max(b.box.Max.X, x+1), max(b.box.Max.Y, y+1)
			b.strongest = max(b.strongest, ink[i])
			for yy := max(0, y-1); yy <= min(h-1, y+1); yy++ {
				for j := yy*w + max(0, x-1); j <= yy*w+min(w-1, x+1); j++ {
					if ink[j] != 0 && !seen[j] {
						seen[j] = true
						b.pixels = append(b.pixels, int32(j))
					}
				}
			}
		}
		visit(&b)
	}
}

// form is what a blob is taken for.
type form uint8

const (
	isLetter  form = iota // a letter, a part of one, or a few that touch
	isFrame               // an outline or a rule: no text, and none hidden in it
	isFaint               // hardly visible
	isPicture             // too large or too full: perhaps text is hidden in it
)

// form judges a blob by its size. Scale is the number of pixels per CSS pixel, w the width of
// the picture.
func (b *blob) form(w int, scale float64) form {
	bw, bh := float64(b.box.Dx())/scale, float64(b.box.Dy())/scale
	fill := float64(len(b.pixels)) / float64(b.box.Dx()*b.box.Dy())
	switch {
	case b.strongest < 24:
		return isFaint
	case bh <= 2 && bw > 24, bw <= 2 && bh > 30: // a rule
		return isFrame
	case bw*bh > 500 && fill < 0.16: // a thin outline
		return isFrame
	case b.hollow(w, scale):
		return isFrame
	case bh > 56, bw > 400:
		return isPicture
	}
	return isLetter
}

// hollow reports whether the blob is an outline around something: a box or a pill, with
// nothing of it in the middle.
func (b *blob) hollow(w int, scale float64) bool {
	bw, bh := b.box.Dx(), b.box.Dy()
	if float64(bw) < 24*scale || float64(bh) < 12*scale || bw*10 <= bh*13 {
		return false
	}
	inside := 0
	for _, i := range b.pixels {
		x, y := int(i)%w-b.box.Min.X, int(i)/w-b.box.Min.Y
		if x*10 > bw*2 && x*10 < bw*8 && y*4 > bh && y*4 < bh*3 {
			inside++
		}
	}
	return inside*50 < len(b.pixels)
}
