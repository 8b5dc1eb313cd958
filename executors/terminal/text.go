//go:build linux

package terminal

import (
	"fmt"
	"unicode/utf8"

	"toolsvc/executors/terminal/supervise"
)

// shorten is what a result shows of an output: all of it when it is short, otherwise its beginning and its end, with a line between that
// says how much is left out.
func shorten(o supervise.Output, head, tail int) (text string, omitted int) {
	begin, end, out := o.Head, o.Tail, o.Omitted
	if out == 0 && len(begin) <= head+tail {
		return begin, 0
	}
	if out == 0 {
		end = begin
		out = -int64(len(begin)) // which is counted twice below
	}
	out += int64(len(begin) + len(end))
	begin, end = clipEnd(begin, head), clipStart(end, tail)
	out -= int64(len(begin) + len(end))
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", begin, out, end), int(out)
}

// clipEnd is at most the first n bytes, cut at the border of a character.
func clipEnd(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// clipStart is at most the last n bytes, cut at the border of a character.
func clipStart(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}
