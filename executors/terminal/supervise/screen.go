//go:build linux

package supervise

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// Screen is a session as it looks now.
type Screen struct {
	// Text is what is on the screen, without blank lines at its end; Above are the lines that have scrolled off it, as many as were
	// asked for, and AboveLines is how many there are.
	Text       string `json:"text"`
	Above      string `json:"above,omitempty"`
	AboveLines int    `json:"above_lines"`
	// Row and Col are the cursor's, counted from 1. Line is the text of its line up to it.
	Row  int    `json:"row"`
	Col  int    `json:"col"`
	Line string `json:"line"`
	// Prompt is what it asks for, and Waiting whether it waits for input. Running: a command is at work.
	Prompt  Prompt `json:"prompt"`
	Waiting bool   `json:"waiting"`
	Running bool   `json:"running"`
	Alive   bool   `json:"alive"`
	// ExitCode is the program's, once it has ended.
	ExitCode *int   `json:"exit_code,omitempty"`
	Cwd      string `json:"cwd,omitempty"`
	Program  string `json:"program,omitempty"`
	Title    string `json:"title,omitempty"`
	// Echo: what is typed is shown. FullScreen: a program uses the whole screen. Written counts the bytes written so far.
	Echo       bool  `json:"echo"`
	FullScreen bool  `json:"full_screen"`
	Written    int64 `json:"written"`
}

// display is the emulated terminal. It is not safe for concurrent use, except that its replies are read elsewhere.
type display struct {
	em          *vt.Emulator
	rows, cols  int
	scrollback  int
	title, cwd  string
	application bool     // cursor keys
	wraps       bool     // long lines go on in the next one
	region      bool     // a program scrolls a part of the screen
	broken      int      // how often the emulator failed and began anew
	gone        []string // the lines that have scrolled off, the latest ones
	mark        func(kind byte, rest string)
	replies     func(b []byte)
}

// newDisplay makes a display; mark is told of the shell's marks, replies takes what the terminal answers. Both may be nil.
func newDisplay(rows, cols, scrollback int, mark func(kind byte, rest string), replies func(b []byte)) *display {
	d := &display{rows: rows, cols: cols, scrollback: scrollback, mark: mark, replies: replies}
	d.begin()
	return d
}

func (d *display) begin() {
	d.em = vt.NewEmulator(d.cols, d.rows)
	d.wraps, d.region, d.application = true, false, false
	d.em.SetScrollbackSize(maxPiece)
	d.em.SetCallbacks(vt.Callbacks{
		Title:       func(t string) { d.title = t },
		EnableMode:  func(m ansi.Mode) { d.mode(m, true) },
		DisableMode: func(m ansi.Mode) { d.mode(m, false) },
	})
	d.em.RegisterOscHandler(133, func(data []byte) bool {
		parts := bytes.SplitN(data, []byte{';'}, 3)
		if len(parts) < 2 || len(parts[1]) != 1 || d.mark == nil {
			return true
		}
		rest := ""
		if len(parts) == 3 {
			rest = string(parts[2])
		}
		d.mark(parts[1][0], rest)
		return true
	})
	d.em.RegisterCsiHandler('r', func(params ansi.Params) bool { // a region that scrolls (DECSTBM); without parameters it is the screen
		d.region = len(params) > 0
		return false // the emulator does the rest
	})
	d.em.RegisterCsiHandler('J', func(params ansi.Params) bool {
		if n, _, _ := params.Param(0, 0); n == 3 { // what has scrolled off is to be forgotten
			d.gone = nil
		}
		return false
	})
	d.em.RegisterOscHandler(7, func(data []byte) bool { // the shell's directory
		if _, path, ok := bytes.Cut(data, []byte(";file://")); ok {
			d.cwd = text(path)
		}
		return true
	})
	// A reply that nobody reads would block the emulator.
	go func(em *vt.Emulator) {
		b := make([]byte, 256)
		for {
			n, err := em.Read(b)
			if n > 0 && d.replies != nil {
				d.replies(bytes.Clone(b[:n]))
			}
			if err != nil {
				return
			}
		}
	}(d.em)
}

func (d *display) mode(m ansi.Mode, on bool) {
	switch m {
	case ansi.ModeCursorKeys:
		d.application = on
	case ansi.ModeAutoWrap:
		d.wraps = on
	}
}

// maxPiece is how much the emulator is fed at once, in bytes, so that no more lines than that can scroll off unseen.
const maxPiece = 4096

// write shows what a program writes.
func (d *display) write(p []byte) {
	for len(p) > 0 {
		if n := d.skip(p); n > 0 {
			p = p[n:]
			continue
		}
		n := min(len(p), maxPiece)
		d.feed(p[:n])
		p = p[n:]
	}
}

// feed feeds the emulator, and keeps the lines that scroll off. Whatever a program writes must not end the supervisor: an emulator that
// fails is begun anew.
func (d *display) feed(p []byte) {
	defer func() {
		if r := recover(); r != nil {
			d.close()
			d.broken++
			d.begin()
			_, _ = d.em.Write([]byte(fmt.Sprintf("[the terminal emulator failed: %.100v]\r\n", r)))
		}
	}()
	_, _ = d.em.Write(p) // it never fails
	if sb := d.em.Scrollback(); sb != nil && sb.Len() > 0 {
		for _, l := range sb.Lines() {
			d.gone = append(d.gone, strings.TrimRight(l.String(), " "))
		}
		sb.Clear()
		d.trim()
	}
}

func (d *display) trim() {
	if len(d.gone) > 2*d.scrollback {
		d.gone = append(d.gone[:0], d.gone[len(d.gone)-d.scrollback:]...)
	}
}

// skip takes lines at the beginning of p that would only scroll through the screen straight to those that have scrolled off, and returns how
// many bytes it took. The emulator takes some ten microseconds a line, which a program that writes a lot would have to wait for. Only plain
// text with colours is taken, on a screen that scrolls as a whole.
func (d *display) skip(p []byte) int {
	if !d.wraps || d.region || len(p) < maxPiece || d.em.IsAltScreen() {
		return 0
	}
	var ends []int // of lines
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\n':
			ends = append(ends, i+1)
		case c == '\r' && i+1 < len(p) && p[i+1] == '\n', c >= 0x20 && c != 0x7f:
		case c == 0x1b:
			n := colour(p[i:])
			if n == 0 {
				p = p[:i]
			}
			i += max(0, n-1)
		default:
			p = p[:i]
		}
	}
	// The first lines go through the emulator: they complete the line in hand, and bring the cursor to the last line. So do the last ones: they
	// are what is shown.
	first, last := 2*d.rows, d.rows
	if len(ends) < first+last+d.rows {
		return 0
	}
	from, to := ends[first-1], ends[len(ends)-1-last]
	for rest := p[:from]; len(rest) > 0; rest = rest[min(len(rest), maxPiece):] {
		d.feed(rest[:min(len(rest), maxPiece)])
	}
	screen := d.lines()
	d.gone = append(d.gone, screen[:min(len(screen), d.em.CursorPosition().Y)]...)
	d.feed([]byte("\x1b[H\x1b[J"))
	middle := p[from:to]
	for _, l := range strings.Split(strings.TrimSuffix(strings.ReplaceAll(text(lastPart(middle, d.scrollback)), "\r\n", "\n"), "\n"), "\n") {
		for _, part := range wrapped(ansi.Strip(l), d.cols) {
			d.gone = append(d.gone, strings.TrimRight(part, " "))
		}
	}
	d.trim()
	d.feed(colours(middle))
	return to
}

// wrapped are the lines of the screen that a line of text takes.
func wrapped(line string, cols int) []string {
	if len(line) <= cols {
		return []string{line}
	}
	var out []string
	begin, width := 0, 0
	for i, r := range line {
		w := ansi.StringWidthWc(string(r))
		if width+w > cols {
			out = append(out, line[begin:i])
			begin, width = i, 0
		}
		width += w
	}
	return append(out, line[begin:])
}

// lastPart is what can matter of lines of which only the last n are kept.
func lastPart(b []byte, n int) []byte {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '\n' {
			if n--; n < 0 {
				return b[i+1:]
			}
		}
	}
	return b
}

// colour is the length of the sequence that sets colours (SGR) at the beginning of b; 0 when there is none.
func colour(b []byte) int {
	if len(b) < 3 || b[1] != '[' {
		return 0
	}
	for i, c := range b[2:min(len(b), 64)] {
		switch {
		case c == 'm':
			return i + 3
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// colours are the sequences of b that set colours, from the last one that resets them all.
func colours(b []byte) []byte {
	if i := max(bytes.LastIndex(b, []byte("\x1b[0m")), bytes.LastIndex(b, []byte("\x1b[m"))); i >= 0 {
		b = b[i:]
	}
	var out []byte
	for {
		i := bytes.IndexByte(b, 0x1b)
		if i < 0 {
			return out
		}
		n := colour(b[i:])
		out = append(out, b[i:i+n]...)
		b = b[i+max(n, 1):]
	}
}

// close ends the reading of replies. The emulator's own Close would race with it, so the pipe between the two is closed instead.
func (d *display) close() {
	if c, ok := d.em.InputPipe().(io.Closer); ok {
		_ = c.Close() // a pipe's end always closes
	}
}

// lines are the lines of the screen, without spaces at their ends.
func (d *display) lines() []string {
	ls := strings.Split(strings.ReplaceAll(d.em.String(), "\r", ""), "\n")
	for i := range ls {
		ls[i] = strings.TrimRight(ls[i], " ")
	}
	return ls
}

// text is the screen without blank lines at its end.
func (d *display) text() string { return strings.TrimRight(strings.Join(d.lines(), "\n"), "\n") }

// above are up to n of the lines that have scrolled off, the latest ones.
func (d *display) above(n int) string {
	n = min(n, d.scrolled())
	return strings.Join(d.gone[len(d.gone)-n:], "\n")
}

// scrolled is how many lines that have scrolled off are kept.
func (d *display) scrolled() int { return min(len(d.gone), d.scrollback) }

// line is the text of the cursor's line up to the cursor.
func (d *display) line() string {
	p := d.em.CursorPosition()
	var b strings.Builder
	for x := 0; x < p.X; x++ {
		if c := d.em.CellAt(x, p.Y); c != nil && c.Content != "" {
			b.WriteString(c.Content)
		}
	}
	return b.String()
}

// renderScrollback bounds the rows of an output that is rendered.
const renderScrollback = 20_000

// lastRows is the end of a stream that takes no more than so many rows of a screen; it begins with a line, unless one line alone is longer.
func lastRows(raw []byte, cols, rows int) []byte {
	for at := len(raw); at > 0; {
		start := bytes.LastIndexByte(raw[:at-1], '\n') + 1
		need := 1 + (at-start)/cols // at the most: sequences that show nothing are counted, too
		if need > rows && at == len(raw) {
			return raw[at-rows*cols:]
		}
		if rows -= need; rows < 0 {
			return raw[at:]
		}
		at = start
	}
	return raw
}

// render shows what a stream reads like on a screen, as plain text: lines that were overwritten are as they were left.
func render(raw []byte, cols int) string {
	d := newDisplay(50, cols, renderScrollback, nil, nil)
	defer d.close()
	d.write(raw)
	s := d.above(renderScrollback)
	if s != "" {
		s += "\n"
	}
	return strings.Trim(s+d.text(), "\n")
}
