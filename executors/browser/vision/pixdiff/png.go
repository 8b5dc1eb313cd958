package pixdiff

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
)

// MaxPixels bounds the size of a picture that Decode accepts (an 8K screen twice over),
// so that a forged header cannot make it allocate without limit.
const MaxPixels = 64 << 20

const signature = "\x89PNG\r\n\x1a\n"

// Decode decodes a PNG file into eight-bit RGBA. Screenshots of Chromium (RGB or RGBA,
// eight bits, not interlaced) take a path of their own, faster than image/png; every other
// kind of PNG goes through image/png. Like image/png it fails on damaged data: the
// zlib checksum covers every pixel.
func Decode(file []byte) (*image.NRGBA, error) {
	head, data, err := chunks(file)
	if err != nil {
		return nil, fmt.Errorf("decode PNG of %d bytes: %w", len(file), err)
	}
	if int64(head.w)*int64(head.h) > MaxPixels {
		return nil, fmt.Errorf("decode PNG: %d×%d pixels are more than the %d allowed", head.w, head.h, MaxPixels)
	}
	var m *image.NRGBA
	if head.simple() {
		m, err = inflate(head, data)
	} else {
		m, err = general(file)
	}
	if err != nil {
		return nil, fmt.Errorf("decode PNG of %d×%d pixels: %w", head.w, head.h, err)
	}
	return m, nil
}

// header is what IHDR says.
type header struct {
	w, h                    int
	depth, kind, interlaced byte
	transparent             bool // there is a tRNS chunk
}

// Colour kinds of the PNG specification.
const (
	kindRGB  = 2
	kindRGBA = 6
)

func (h header) simple() bool {
	return h.depth == 8 && h.interlaced == 0 && (h.kind == kindRGBA || h.kind == kindRGB && !h.transparent)
}

// chunks reads the header and collects the compressed pixels.
func chunks(file []byte) (header, [][]byte, error) {
	var head header
	if len(file) < len(signature)+25 || string(file[:len(signature)]) != signature {
		return head, nil, errors.New("not a PNG file")
	}
	var data [][]byte
	for rest := file[len(signature):]; len(rest) >= 12; {
		n := int64(binary.BigEndian.Uint32(rest))
		if n+12 > int64(len(rest)) {
			return head, nil, io.ErrUnexpectedEOF
		}
		body := rest[8 : 8+n]
		switch string(rest[4:8]) {
		case "IHDR":
			if n != 13 {
				return head, nil, errors.New("damaged header")
			}
			w, h := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
			if w == 0 || h == 0 || w > 1<<20 || h > 1<<20 {
				return head, nil, fmt.Errorf("impossible size %d×%d", w, h)
			}
			head.w, head.h = int(w), int(h)
			head.depth, head.kind, head.interlaced = body[8], body[9], body[12]
		case "tRNS":
			head.transparent = true
		case "IDAT":
			data = append(data, body)
		case "IEND":
			rest = rest[:12+n]
		}
		rest = rest[12+n:]
	}
	if head.w == 0 || len(data) == 0 {
		return head, nil, io.ErrUnexpectedEOF
	}
	return head, data, nil
}

// general decodes any PNG.
func general(file []byte) (*image.NRGBA, error) {
	src, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	if m, ok := src.(*image.NRGBA); ok {
		return m, nil
	}
	b := src.Bounds()
	m := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(m, m.Rect, src, b.Min, draw.Src)
	return m, nil
}

// inflate decodes eight-bit RGB or RGBA rows.
func inflate(head header, data [][]byte) (*image.NRGBA, error) {
	readers := make([]io.Reader, len(data))
	for i := range data {
		readers[i] = bytes.NewReader(data[i])
	}
	src := readers[0]
	if len(readers) > 1 {
		src = io.MultiReader(readers...)
	}
	z, err := zlib.NewReader(src)
	if err != nil {
		return nil, err
	}
	defer z.Close() //nolint:errcheck // it was only read

	m := image.NewNRGBA(image.Rect(0, 0, head.w, head.h))
	bpp := 4
	if head.kind == kindRGB {
		bpp = 3
	}
	row, above, unchanged := make([]byte, 1+bpp*head.w), make([]byte, 1+bpp*head.w), make([]byte, bpp*head.w)
	for y := range head.h {
		if _, err := io.ReadFull(z, row); err != nil {
			return nil, fmt.Errorf("row %d: %w", y, err)
		}
		if row[0] == filterUp && y > 0 && bytes.Equal(row[1:], unchanged) { // as the row above: most rows of a page are
			copy(m.Pix[y*m.Stride:(y+1)*m.Stride], m.Pix[(y-1)*m.Stride:])
			continue
		}
		if err := unfilter(row[0], row[1:], above[1:], bpp); err != nil {
			return nil, fmt.Errorf("row %d: %w", y, err)
		}
		out := m.Pix[y*m.Stride : (y+1)*m.Stride]
		if bpp == 4 {
			copy(out, row[1:])
		} else {
			expand(out, row[1:])
		}
		row, above = above, row
	}
	// The checksum is behind the last pixel: only reading to the end checks it.
	if n, err := io.Copy(io.Discard, io.LimitReader(z, 1)); err != nil {
		return nil, err
	} else if n != 0 {
		return nil, errors.New("more data than pixels")
	}
	return m, nil
}

// expand turns RGB into opaque RGBA.
func expand(out, rgb []byte) {
	const opaque = 255 << 24
	for len(rgb) >= 4 && len(out) >= 4 { // reads one byte more than the pixel has
		binary.LittleEndian.PutUint32(out, binary.LittleEndian.Uint32(rgb)|opaque)
		out, rgb = out[4:], rgb[3:]
	}
	if len(rgb) == 3 {
		copy(out, rgb)
		out[3] = 255
	}
}

// filterUp is the filter that subtracts the row above.
const filterUp = 2

// unfilter undoes a row filter of the PNG specification (section 9) in place.
func unfilter(filter byte, row, above []byte, bpp int) error {
	above = above[:len(row)]
	switch filter {
	case 0:
	case 1: // Sub
		for i := bpp; i < len(row); i++ {
			row[i] += row[i-bpp]
		}
	case filterUp: // eight bytes at a time: add without carries between bytes
		const low = 0x7f7f7f7f7f7f7f7f
		i := 0
		for ; i+8 <= len(row); i += 8 {
			a, b := binary.LittleEndian.Uint64(row[i:]), binary.LittleEndian.Uint64(above[i:])
			binary.LittleEndian.PutUint64(row[i:], (a&low+b&low)^((a^b)&^low))
		}
		for ; i < len(row); i++ {
			row[i] += above[i]
		}
	case 3: // Average
		for i := 0; i < min(bpp, len(row)); i++ {
			row[i] += above[i] / 2
		}
		for i := bpp; i < len(row); i++ {
			row[i] += byte((int(row[i-bpp]) + int(above[i])) / 2)
		}
	case 4: // Paeth
		for i := 0; i < min(bpp, len(row)); i++ {
			row[i] += above[i]
		}
		for i := bpp; i < len(row); i++ {
			a, b, c := int(row[i-bpp]), int(above[i]), int(above[i-bpp])
			pa, pb, pc := b-c, a-c, a+b-2*c
			if pa < 0 {
				pa = -pa
			}
			if pb < 0 {
				pb = -pb
			}
			if pc < 0 {
				pc = -pc
			}
			p := c
			if pa <= pb && pa <= pc {
				p = a
			} else if pb <= pc {
				p = b
			}
			row[i] += byte(p)
		}
	default:
		return fmt.Errorf("unknown row filter %d", filter)
	}
	return nil
}
