package ocr

import (
	"encoding/binary"
	"image"
)

// tiff encodes pictures as the pages of one uncompressed TIFF file (TIFF 6.0, section 8), the
// one form in which the tesseract program takes several pictures from its standard input.
func tiff(pages []*image.Gray) []byte {
	const entries, size = 9, 2 + 9*12 + 4
	le := binary.LittleEndian
	out := le.AppendUint32([]byte("II*\x00"), 8)
	for i, p := range pages {
		w, h := p.Rect.Dx(), p.Rect.Dy()
		pixels := len(out) + size
		next := pixels + w*h
		next += next & 1 // directories begin at even offsets
		if i == len(pages)-1 {
			next = 0
		}
		out = le.AppendUint16(out, entries)
		for _, e := range [entries][2]int{ // tags in ascending order
			{256, w},      // ImageWidth
			{257, h},      // ImageLength
			{258, 8},      // BitsPerSample
			{259, 1},      // Compression: none
			{262, 1},      // PhotometricInterpretation: 0 is black
			{273, pixels}, // StripOffsets
			{277, 1},      // SamplesPerPixel
			{278, h},      // RowsPerStrip
			{279, w * h},  // StripByteCounts
		} {
			out = le.AppendUint16(out, uint16(e[0]))
			out = le.AppendUint16(out, 4) // LONG
			out = le.AppendUint32(out, 1)
			out = le.AppendUint32(out, uint32(e[1]))
		}
		out = le.AppendUint32(out, uint32(next))
		for y := range h {
			out = append(out, p.Pix[y*p.Stride:y*p.Stride+w]...)
		}
		if len(out)&1 == 1 {
			out = append(out, 0)
		}
	}
	return out
}
