package browser

import (
	"fmt"
	"strings"
)

// maxCells bounds the comparison of two snapshots, line by line; longer ones are compared as sets of lines.
const maxCells = 4_000_000

// maxSnapshots bounds the snapshots that a session remembers.
const maxSnapshots = 8

// changed are the lines that came (+) and went (-) between two snapshots, each under the lines of the later tree that hold it. It is pure.
func changed(was, is []string) []string {
	keep := common(was, is)
	var out []string
	var shown []string // the holders that were written last
	holders := func(lines []string, i int) []string {
		var hs []string
		deep := indent(lines[i])
		for k := i - 1; k >= 0 && deep > 0; k-- {
			if d := indent(lines[k]); d < deep {
				hs, deep = append([]string{lines[k]}, hs...), d
			}
		}
		return hs
	}
	write := func(sign string, lines []string, i int) {
		hs := holders(lines, i)
		for n, h := range hs {
			if n >= len(shown) || shown[n] != h {
				out = append(out, "  "+h)
			}
		}
		shown = hs
		out = append(out, sign+" "+lines[i])
	}
	i, j := 0, 0
	for i < len(was) || j < len(is) {
		switch {
		case i < len(was) && !keep.was[i]:
			write("-", was, i)
			i++
		case j < len(is) && !keep.is[j]:
			write("+", is, j)
			if shown = append(shown, is[j]); len(shown) > 0 { // what it holds needs no second mention of it
				shown = append([]string(nil), shown...)
			}
			j++
		default:
			i++
			j++
		}
	}
	return out
}

func indent(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// matched tells which lines of two texts are the same, in order.
type matched struct{ was, is []bool }

// common finds a longest common sequence of lines.
func common(was, is []string) matched {
	m := matched{make([]bool, len(was)), make([]bool, len(is))}
	lo := 0
	for lo < len(was) && lo < len(is) && was[lo] == is[lo] {
		m.was[lo], m.is[lo] = true, true
		lo++
	}
	a, b := len(was), len(is)
	for a > lo && b > lo && was[a-1] == is[b-1] {
		a--
		b--
		m.was[a], m.is[b] = true, true
	}
	x, y := was[lo:a], is[lo:b]
	if len(x)*len(y) > maxCells {
		return asSets(m, x, y, lo)
	}
	// length[i][j] is the length of the longest common sequence of x[i:] and y[j:].
	length := make([][]int32, len(x)+1)
	for i := range length {
		length[i] = make([]int32, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			m.was[lo+i], m.is[lo+j] = true, true
			i++
			j++
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return m
}

// asSets matches greedily and in order: a line is kept when it comes later in the other text.
func asSets(m matched, x, y []string, lo int) matched {
	at := map[string][]int{}
	for j, s := range y {
		at[s] = append(at[s], j)
	}
	next := 0
	for i, s := range x {
		for _, j := range at[s] {
			if j >= next {
				m.was[lo+i], m.is[lo+j] = true, true
				next = j + 1
				break
			}
		}
	}
	return m
}

// compared is the snapshot as its changes since the last one of the same part, and remembers it. ok is false when there is nothing to
// compare with.
func (s *session) compared(of string, lines []string) (text string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.seen[of]
	if len(s.seen) >= maxSnapshots && !ok {
		clear(s.seen)
	}
	s.seen[of] = lines
	if !ok {
		return "", false
	}
	d := changed(was, lines)
	if len(d) == 0 {
		return fmt.Sprintf("(nothing changed in %d lines)", len(lines)), true
	}
	return strings.Join(d, "\n"), true
}
