//go:build linux

package supervise

import (
	"bytes"
	"fmt"
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
	application bool // cursor keys
	broken      int  // how often the emulator failed and began anew
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
	d.em.SetScrollbackSize(d.scrollback)
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
	if m == ansi.ModeCursorKeys {
		d.application = on
	}
}

// write feeds the emulator. Whatever a program writes must not end the supervisor: an emulator that fails is begun anew.
func (d *display) write(p []byte) {
	defer func() {
		if r := recover(); r != nil {
			_ = d.em.Close()
			d.broken++
			d.begin()
			_, _ = d.em.Write([]byte(fmt.Sprintf("[the terminal emulator failed: %.100v]\r\n", r)))
		}
	}()
	_, _ = d.em.Write(p) // it fails only when it is closed
}

func (d *display) close() { _ = d.em.Close() }

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
	sb := d.em.Scrollback()
	if sb == nil || n <= 0 {
		return ""
	}
	var b strings.Builder
	for i := max(0, sb.Len()-n); i < sb.Len(); i++ {
		b.WriteString(strings.TrimRight(sb.Line(i).String(), " "))
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

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

// renderScrollback bounds the lines of an output that is rendered.
const renderScrollback = 20_000

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
