package pixdiff

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"testing"
)

// encode writes rows of eight-bit RGB or RGBA with the given filter of the PNG specification on every
// row (5: a different one on each), in several IDAT chunks.
func encode(m *image.NRGBA, filter, bpp int) []byte {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	above := make([]byte, bpp*w)
	for y := range h {
		row := make([]byte, 0, bpp*w)
		for x := range w {
			row = append(row, m.Pix[m.PixOffset(x, y):][:bpp]...)
		}
		f := filter
		if f == 5 {
			f = y % 5
		}
		out := []byte{byte(f)}
		for i, v := range row {
			a, b, c := 0, int(above[i]), 0
			if i >= bpp {
				a, c = int(row[i-bpp]), int(above[i-bpp])
			}
			predicted := 0
			switch f {
			case 1:
				predicted = a
			case 2:
				predicted = b
			case 3:
				predicted = (a + b) / 2
			case 4:
				p := a + b - c
				abs := func(n int) int { return max(n, -n) }
				switch {
				case abs(p-a) <= abs(p-b) && abs(p-a) <= abs(p-c):
					predicted = a
				case abs(p-b) <= abs(p-c):
					predicted = b
				default:
					predicted = c
				}
			}
			out = append(out, v-byte(predicted))
		}
		z.Write(out)
		above = row
	}
	z.Close()
	var file bytes.Buffer
	file.WriteString(signature)
	chunk := func(kind string, body []byte) {
		binary.Write(&file, binary.BigEndian, uint32(len(body)))
		file.WriteString(kind)
		file.Write(body)
		binary.Write(&file, binary.BigEndian, crc32.ChecksumIEEE(append([]byte(kind), body...)))
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h))
	kind := byte(kindRGBA)
	if bpp == 3 {
		kind = kindRGB
	}
	chunk("IHDR", append(head, 8, kind, 0, 0, 0))
	data := packed.Bytes()
	chunk("IDAT", data[:len(data)/2])
	chunk("IDAT", data[len(data)/2:])
	chunk("IEND", nil)
	return file.Bytes()
}

func TestDecodeAgreesWithTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, size := range []image.Point{{1, 1}, {2, 3}, {7, 5}, {64, 33}} {
		for _, bpp := range []int{3, 4} {
			for filter := range 6 {
				m := noise(size.X, size.Y, uint64(filter*10+bpp))
				if bpp == 4 {
					for i := 3; i < len(m.Pix); i += 8 {
						m.Pix[i] = byte(i)
					}
				}
				file := encode(m, filter, bpp)
				std, err := png.Decode(bytes.NewReader(file))
				if err != nil {
					t.Fatalf("the test's encoder is wrong: %v", err)
				}
				got, err := Decode(file)
				if err != nil {
					t.Fatalf("%v, filter %d, %d bytes a pixel: %v", size, filter, bpp, err)
				}
				if n, box := Diff(got, std, nil); n != 0 {
					t.Errorf("%v, filter %d, %d bytes a pixel: %d pixels differ in %v", size, filter, bpp, n, box)
				}
			}
		}
	}
}

func TestDecodeOtherKinds(t *testing.T) {
	t.Parallel()
	src := noise(30, 20, 5)
	kinds := map[string]draw.Image{
		"gray": image.NewGray(src.Rect), "gray 16": image.NewGray16(src.Rect), "palette": image.NewPaletted(src.Rect, palette.Plan9),
		"rgba 16": image.NewNRGBA64(src.Rect), "see-through palette": image.NewPaletted(src.Rect, color.Palette{color.Transparent, color.Black}),
	}
	for name, m := range kinds {
		draw.Draw(m, m.Bounds(), src, image.Point{}, draw.Src)
		var file bytes.Buffer
		if err := png.Encode(&file, m); err != nil {
			t.Fatal(err)
		}
		got, err := Decode(file.Bytes())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := image.NewNRGBA(src.Rect)
		draw.Draw(want, want.Rect, m, image.Point{}, draw.Src)
		if n, _ := Diff(got, want, nil); n != 0 {
			t.Errorf("%s: %d pixels differ", name, n)
		}
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	t.Parallel()
	good := encode(noise(20, 20, 9), 5, 4)
	huge := bytes.Clone(good)
	binary.BigEndian.PutUint32(huge[16:], 1<<19)
	binary.BigEndian.PutUint32(huge[20:], 1<<19)
	empty := bytes.Clone(good)
	binary.BigEndian.PutUint32(empty[16:], 0)
	short := bytes.Clone(good)
	binary.BigEndian.PutUint32(short[20:], 21) // more rows than there are
	long := bytes.Clone(good)
	binary.BigEndian.PutUint32(long[20:], 19) // fewer
	for name, file := range map[string][]byte{
		"nothing": nil, "no PNG": []byte("this is certainly no picture, however long"), "cut": good[:len(good)/2],
		"header only": good[:33], "too large": huge, "no width": empty, "missing rows": short, "rows too many": long,
	} {
		if m, err := Decode(file); err == nil {
			t.Errorf("%s: decoded to %v", name, m.Rect)
		}
	}
	// A flipped bit in the pixels is found by the checksum, wherever it is.
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		bad := bytes.Clone(good)
		at := 45 + r.IntN(len(bad)-45-24)
		bad[at] ^= 1 << r.IntN(8)
		m, err := Decode(bad)
		if err != nil {
			continue
		}
		if want, _ := Decode(good); !bytes.Equal(m.Pix, want.Pix) {
			t.Fatalf("a flipped bit at %d was not noticed", at)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for filter := range 6 {
		f.Add(encode(noise(5, 4, 1), filter, 3+filter%2))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := Decode(file)
		if err == nil && len(m.Pix) < 4*m.Rect.Dx()*m.Rect.Dy() {
			t.Errorf("%v with %d bytes", m.Rect, len(m.Pix))
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	m := image.NewNRGBA(image.Rect(0, 0, 1280, 800))
	for i := range m.Pix {
		m.Pix[i] = 255
	}
	draw.Draw(m, image.Rect(100, 100, 500, 400), noise(400, 300, 1), image.Point{}, draw.Src)
	for _, bpp := range []int{3, 4} {
		for _, filter := range []int{1, 2, 4} {
			file := encode(m, filter, bpp)
			b.Run(fmt.Sprintf("%d bytes/filter %d/ours", bpp, filter), func(b *testing.B) {
				for b.Loop() {
					if _, err := Decode(file); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("%d bytes/filter %d/image/png", bpp, filter), func(b *testing.B) {
				for b.Loop() {
					if _, err := png.Decode(bytes.NewReader(file)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
