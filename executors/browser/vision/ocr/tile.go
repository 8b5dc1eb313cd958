package ocr

import (
	"crypto/sha256"
	"encoding/binary"
	"image"
	"math"

	"golang.org/x/image/draw"
)

// tile is a strip drawn for the engine: its letters alone, black on white.
type tile struct {
	picture *image.Gray
	origin  image.Point // of the strip in the screenshot
	factor  float64     // pixels of the tile per pixel of the screenshot
}

// Heights in pixels to which strips are drawn. Tesseract's line recogniser works at 36 pixels
// with some margin. The others give a second and a third opinion.
const (
	lineHeight  = 30
	otherHeight = 42
	thirdHeight = 36
	tileMargin  = 10
	rim         = 2 // lets the scaling filter fade out
)

// drawTile draws a strip so that its letters are as high as asked, but never more than
// four times enlarged, which adds nothing.
func (s *sheet) drawTile(p *strip, height int) tile {
	w := s.size.X
	src := image.NewGray(image.Rect(0, 0, p.box.Dx()+2*rim, p.box.Dy()+2*rim))
	for i := range src.Pix {
		src.Pix[i] = 255
	}
	for _, l := range p.letters {
		for i, at := range s.letters[l].pixels {
			x, y := int(at)%w-p.box.Min.X+rim, int(at)/w-p.box.Min.Y+rim
			src.Pix[y*src.Stride+x] = 255 - s.letters[l].ink[i]
		}
	}
	t := tile{origin: p.box.Min, factor: min(4, float64(height)/float64(p.box.Dy()))}
	scaled := func(n int) int { return int(math.Round(float64(n) * t.factor)) }
	t.picture = image.NewGray(image.Rect(0, 0, max(1, scaled(src.Rect.Dx()))+2*tileMargin, max(1, scaled(src.Rect.Dy()))+2*tileMargin))
	for i := range t.picture.Pix {
		t.picture.Pix[i] = 255
	}
	draw.CatmullRom.Scale(t.picture, t.picture.Rect.Inset(tileMargin), src, src.Rect, draw.Src, nil)
	return t
}

// inScreenshot turns a box in the tile into one in the screenshot.
func (t *tile) inScreenshot(r image.Rectangle) image.Rectangle {
	at := func(v int) int { return int(math.Round(float64(v-tileMargin)/t.factor)) - rim }
	return image.Rect(at(r.Min.X), at(r.Min.Y), at(r.Max.X), at(r.Max.Y)).Add(t.origin)
}

// key identifies what the engine gets to see: equal tiles read alike.
func (t *tile) key(languages string) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(languages))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(t.picture.Stride)))
	h.Write(t.picture.Pix)
	var k [sha256.Size]byte
	h.Sum(k[:0])
	return k
}
