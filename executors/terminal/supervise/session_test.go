//go:build linux

package supervise

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Of an output that is longer than what is kept there are the beginning and the end, in whole lines, and what is missing between them is counted to
// the byte.
func TestOutputOfALotIsCounted(t *testing.T) {
	t.Parallel()
	x := &session{order: Order{Rows: 24, Cols: 80, Scrollback: 100, Whole: 4096, Head: 1024, Tail: 1024}, changed: make(chan struct{}), latest: time.Now()}
	x.screen = x.newScreen()
	var all bytes.Buffer
	for i := 0; all.Len() < 3*maxRaw; i++ {
		fmt.Fprintf(&all, "line %d\r\n", i)
	}
	if _, err := (feeder{x}).Write(all.Bytes()); err != nil {
		t.Fatal(err)
	}
	if len(x.head) > maxHead {
		t.Errorf("%d bytes of the beginning are kept, more than %d", len(x.head), maxHead)
	}
	o := x.output(0, x.written)
	shown := len(o.Head) + len(o.Tail) + strings.Count(o.Head+o.Tail, "\n") // a terminal ends lines with two bytes
	ends := len("\r") + len("\r\n")                                         // of the last lines of both, which are shown without them
	if got := int64(all.Len() - shown - ends); !strings.HasPrefix(o.Head, "line 0\n") || !strings.HasPrefix(o.Tail, "line ") || o.Omitted != got {
		t.Errorf("%d bytes are said to be omitted, and %d are; the end begins %q", o.Omitted, got, o.Tail[:20])
	}
}

func TestLastRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw        string
		cols, rows int
		want       string
	}{
		{"", 10, 2, ""},
		{"a\nb\n", 10, 2, "a\nb\n"},
		{"a\nb\nc\n", 10, 2, "b\nc\n"},
		{"a\nb\nc", 10, 2, "b\nc"},
		{"a\n0123456789012\nc\n", 10, 3, "0123456789012\nc\n"},
		{"a\n0123456789012\nc\n", 10, 2, "c\n"},
		{"a\n01234567890123456789", 10, 1, "0123456789"}, // of one long line its end
	} {
		if got := lastRows([]byte(c.raw), c.cols, c.rows); string(got) != c.want {
			t.Errorf("%q in %d rows of %d: %q", c.raw, c.rows, c.cols, got)
		}
	}
}

// A secret that is typed again and again is looked for once.
func TestSecretsAreKeptOnce(t *testing.T) {
	t.Parallel()
	if m := newMasker(nil, []string{"one", "other", "one", "", "other"}); len(m.secrets) != 2 {
		t.Errorf("%q", m.secrets)
	}
}
