package textfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is how the characters of a file are stored.
type Encoding string

// The encodings.
const (
	UTF8    Encoding = "utf-8"
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
)

// NotTextError says why bytes are not text that can be edited without loss.
type NotTextError struct {
	// Offset of the byte that shows it, from 0.
	Offset int
	// Why in words: "it holds the byte 0xE9, which is not UTF-8".
	Why string
}

func (e *NotTextError) Error() string { return fmt.Sprintf("%s (at byte %d)", e.Why, e.Offset) }

var (
	bomUTF8 = []byte{0xEF, 0xBB, 0xBF}
	bomLE   = []byte{0xFF, 0xFE}
	bomBE   = []byte{0xFE, 0xFF}
)

// Decode reads a file's bytes. The error is a *NotTextError.
func Decode(data []byte) (*Text, error) {
	switch {
	case bytes.HasPrefix(data, bomUTF8):
		s, err := decodeUTF8(data, len(bomUTF8))
		return finish(s, UTF8, true, err)
	case bytes.HasPrefix(data, bomLE):
		s, err := decodeUTF16(data, binary.LittleEndian)
		return finish(s, UTF16LE, true, err)
	case bytes.HasPrefix(data, bomBE):
		s, err := decodeUTF16(data, binary.BigEndian)
		return finish(s, UTF16BE, true, err)
	}
	s, err := decodeUTF8(data, 0)
	return finish(s, UTF8, false, err)
}

func finish(s string, e Encoding, bom bool, err error) (*Text, error) {
	if err != nil {
		return nil, err
	}
	return newText(s, e, bom), nil
}

func decodeUTF8(data []byte, from int) (string, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return "", &NotTextError{i, "it holds a zero byte, so it is binary data, or UTF-16 without a byte-order mark"}
	}
	body := data[from:]
	if utf8.Valid(body) {
		return string(body), nil
	}
	i := 0
	for i < len(body) {
		r, n := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return "", &NotTextError{from + i, fmt.Sprintf("it holds the byte 0x%02X, which is not UTF-8; it may be Latin-1 or another single-byte encoding", body[i])}
}

func decodeUTF16(data []byte, order binary.ByteOrder) (string, error) {
	if len(data)%2 != 0 {
		return "", &NotTextError{len(data) - 1, "it is UTF-16 with half a character at its end"}
	}
	units := make([]uint16, 0, len(data)/2-1)
	for i := 2; i < len(data); i += 2 {
		u := order.Uint16(data[i:])
		if u == 0 {
			return "", &NotTextError{i, "it holds a zero character, so it is binary data"}
		}
		units = append(units, u)
	}
	for i := 0; i < len(units); i++ {
		if !utf16.IsSurrogate(rune(units[i])) {
			continue
		}
		if i+1 < len(units) && utf16.DecodeRune(rune(units[i]), rune(units[i+1])) != utf8.RuneError {
			i++
			continue
		}
		return "", &NotTextError{2 + 2*i, "it is UTF-16 with half of a surrogate pair"}
	}
	return string(utf16.Decode(units)), nil
}

// encode is the inverse of decoding.
func encode(s string, e Encoding, bom bool) []byte {
	switch e {
	case UTF16LE:
		return encodeUTF16(s, binary.LittleEndian, bomLE, bom)
	case UTF16BE:
		return encodeUTF16(s, binary.BigEndian, bomBE, bom)
	}
	if !bom {
		return []byte(s)
	}
	return append(bytes.Clone(bomUTF8), s...)
}

func encodeUTF16(s string, order binary.AppendByteOrder, mark []byte, bom bool) []byte {
	out := make([]byte, 0, 2*len(s)+2)
	if bom {
		out = append(out, mark...)
	}
	for _, u := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

// Storable reports what keeps a text from being written into a text file: a zero character, or broken UTF-8. nil when nothing does.
func Storable(s string) error {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return &NotTextError{i, "the text holds a zero character, which a text file cannot hold"}
	}
	if !utf8.ValidString(s) {
		return &NotTextError{0, "the text is not valid Unicode"}
	}
	return nil
}
