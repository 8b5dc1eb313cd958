//go:build linux

package supervise

import (
	"bytes"
	"testing"
)

// How fast the emulated terminal takes what a program writes.
func BenchmarkDisplay(b *testing.B) {
	chunk := bytes.Repeat([]byte("0123456789\r\n"), 64<<10/12)
	d := newDisplay(24, 120, 2000, nil, nil)
	defer d.close()
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		d.write(chunk)
	}
}
