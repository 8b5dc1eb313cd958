//go:build linux

package supervise

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Lines that are skipped look afterwards as if the emulator had shown each of them.
func TestDisplaySkips(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	skipped := 0
	for round := range 15 {
		var b strings.Builder
		lines := 600 + random.IntN(1000)
		for i := range lines {
			switch random.IntN(12) {
			case 0:
				fmt.Fprintf(&b, "\x1b[3%dmcolour %d\x1b[0m and\r\n", random.IntN(8), i)
			case 1:
				fmt.Fprintf(&b, "%d %s\r\n", i, strings.Repeat("long ", random.IntN(40)))
			case 2:
				b.WriteString("\r\n")
			case 3:
				fmt.Fprintf(&b, "日本語 %d é\r\n", i)
			case 4:
				if round%3 == 0 {
					fmt.Fprintf(&b, "\tafter a tab %d\r\n", i)
				}
			case 5:
				if round%3 == 1 {
					b.WriteString("10%\r100%\r\n")
				}
			default:
				fmt.Fprintf(&b, "line %d\r\n", i)
			}
		}
		b.WriteString("$ ")
		text := "before\r\nand the line in hand " + b.String()
		fast, slow := newDisplay(10, 40, 500, nil, nil), newDisplay(10, 40, 500, nil, nil)
		fast.write([]byte(text))
		for rest := text; rest != ""; rest = rest[min(len(rest), 1000):] { // pieces too small to be skipped
			slow.write([]byte(rest[:min(len(rest), 1000)]))
		}
		if fast.text() != slow.text() || fast.line() != slow.line() {
			t.Fatalf("the screens differ:\n%s\n----\n%s", fast.text(), slow.text())
		}
		if a, b := fast.above(500), slow.above(500); a != b {
			la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
			for i := range min(len(la), len(lb)) {
				if la[len(la)-1-i] != lb[len(lb)-1-i] {
					t.Fatalf("line %d above the screen is %q, not %q (of %d and %d)", i, la[len(la)-1-i], lb[len(lb)-1-i], len(la), len(lb))
				}
			}
			t.Fatalf("%d lines above the screen, not %d", len(la), len(lb))
		}
		if round%3 == 2 {
			skipped += lines
		}
		fast.close()
		slow.close()
	}
	if skipped == 0 {
		t.Fatal("nothing was skipped")
	}
}

func TestDisplayDoesNotSkipWhatItMustShow(t *testing.T) {
	t.Parallel()
	flood := []byte(strings.Repeat("0123456789\r\n", 2000))
	for name, before := range map[string]string{"the alternate screen": "\x1b[?1049h", "a region": "\x1b[2;5r", "no wrapping": "\x1b[?7l"} {
		d := newDisplay(10, 40, 100, nil, nil)
		d.write([]byte(before))
		if n := d.skip(flood); n != 0 {
			t.Errorf("%s: %d bytes are skipped", name, n)
		}
		d.close()
	}
	d := newDisplay(10, 40, 100, nil, nil)
	defer d.close()
	if d.skip(flood) == 0 {
		t.Error("nothing is skipped on a plain screen")
	}
	if d.skip(append([]byte("\x1b[5;5H"), flood...)) != 0 {
		t.Error("a sequence that moves the cursor is skipped")
	}
}

func TestDisplayForgets(t *testing.T) {
	t.Parallel()
	d := newDisplay(5, 40, 100, nil, nil)
	defer d.close()
	d.write([]byte(strings.Repeat("line\r\n", 20)))
	if d.scrolled() != 16 {
		t.Errorf("%d lines have scrolled off", d.scrolled())
	}
	d.write([]byte("\x1b[3J"))
	if d.scrolled() != 0 {
		t.Errorf("%d lines are kept", d.scrolled())
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"a\r\nb\r\n":                      "a\nb",
		"10%\r50%\r100%\r\ndone":          "100%\ndone",
		"\x1b[1;31mred\x1b[0m \x1b]0;t\a": "red",
		"abc\b\bX":                        "aXc",
		"":                                "",
	} {
		if got := render([]byte(raw), 80); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}
