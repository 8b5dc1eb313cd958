package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // both are what screenshots come as
	"image/png"
	"math"

	"golang.org/x/image/draw"
)

// The bounds of a picture.
const (
	// maxPicture bounds a picture that is passed in, in bytes, and maxPixels in pixels.
	maxPicture = 20 << 20
	maxPixels  = 64 << 20
	// DefaultMaxSide is to what side a picture is scaled down before it is sent, in pixels. Places are told in thousandths, so nothing
	// needs to be scaled back.
	DefaultMaxSide = 1536
)

// Picture is a screenshot, PNG or JPEG.
type Picture struct {
	Data []byte
	// Scale is the number of device pixels per CSS pixel; 0 means 1.
	Scale float64
	// Width and Height are in CSS pixels; 0 means that they follow from the picture and its scale.
	Width, Height float64
}

// Box is a rectangle in CSS pixels, from the top left corner of the picture.
type Box struct{ X, Y, W, H float64 }

// Empty reports whether b has no area.
func (b Box) Empty() bool { return b.W <= 0 || b.H <= 0 }

// Center is the point to click.
func (b Box) Center() Point { return Point{b.X + b.W/2, b.Y + b.H/2} }

// Point is a place in CSS pixels, from the top left corner of the picture.
type Point struct{ X, Y float64 }

// sent is a picture as it is sent: scaled down, or the part of it that is asked about.
type sent struct {
	data []byte
	mime string
	// part is what it shows of the whole, in CSS pixels.
	part Box
}

// ends are the last bytes of a whole picture: looking at them is cheaper than decoding all of it.
var ends = map[string][]byte{"png": []byte("IEND\xaeB`\x82"), "jpeg": {0xff, 0xd9}}

// prepare cuts the region (empty: all) out of a picture and scales it down to maxSide. A picture that needs neither is sent as it is.
func prepare(p Picture, region Box, maxSide int) (sent, error) {
	if len(p.Data) > maxPicture {
		return sent{}, fmt.Errorf("the picture is larger than %d MB", maxPicture>>20)
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(p.Data))
	if err != nil || ends[format] == nil || !bytes.HasSuffix(p.Data, ends[format]) {
		return sent{}, errors.New("the picture is neither PNG nor JPEG, or is damaged")
	}
	if config.Width*config.Height > maxPixels || config.Width < 1 || config.Height < 1 {
		return sent{}, fmt.Errorf("the picture of %d × %d pixels is too large", config.Width, config.Height)
	}
	whole := p.css(config.Width, config.Height)
	out := sent{data: p.Data, mime: "image/" + format, part: whole}
	pixels := image.Rect(0, 0, config.Width, config.Height)
	if !region.Empty() {
		sx, sy := float64(config.Width)/whole.W, float64(config.Height)/whole.H
		pixels = pixels.Intersect(image.Rect(int(math.Floor(region.X*sx)), int(math.Floor(region.Y*sy)), int(math.Ceil((region.X+region.W)*sx)), int(math.Ceil((region.Y+region.H)*sy))))
		if pixels.Empty() {
			return sent{}, errors.New("the region is outside of the picture")
		}
		out.part = Box{float64(pixels.Min.X) / sx, float64(pixels.Min.Y) / sy, float64(pixels.Dx()) / sx, float64(pixels.Dy()) / sy}
	}
	w, h := fitSide(pixels.Dx(), pixels.Dy(), maxSide)
	if w == config.Width && h == config.Height {
		return out, nil
	}
	m, _, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		return sent{}, errors.New("the picture is damaged")
	}
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	if w == pixels.Dx() && h == pixels.Dy() {
		draw.Copy(small, image.Point{}, m, pixels, draw.Src, nil)
	} else {
		draw.CatmullRom.Scale(small, small.Bounds(), m, pixels, draw.Src, nil) // keeps small letters readable
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, small); err != nil {
		return sent{}, fmt.Errorf("write the scaled picture: %w", err)
	}
	out.data, out.mime = b.Bytes(), "image/png"
	return out, nil
}

// css is the size of a picture in CSS pixels.
func (p Picture) css(width, height int) Box {
	scale := p.Scale
	if scale <= 0 || math.IsNaN(scale) || math.IsInf(scale, 0) {
		scale = 1
	}
	b := Box{W: p.Width, H: p.Height}
	if b.Empty() || math.IsNaN(b.W) || math.IsNaN(b.H) {
		b = Box{W: float64(width) / scale, H: float64(height) / scale}
	}
	return b
}

// fitSide scales a size down so that its longer side is at most most.
func fitSide(w, h, most int) (int, int) {
	long := max(w, h)
	if most <= 0 || long <= most {
		return w, h
	}
	return max(1, w*most/long), max(1, h*most/long)
}

// onPicture turns thousandths of the picture that was sent into CSS pixels of the whole.
func (s sent) onPicture(x, y float64) Point {
	return Point{s.part.X + x/1000*s.part.W, s.part.Y + y/1000*s.part.H}
}
