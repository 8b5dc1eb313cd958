package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"toolsvc/narration"
)

// Options say what the writer can show; the zero value is a file.
type Options struct {
	// Color turns on colours.
	Color bool
	// Columns is asked, before each line, how wide the window is; nil or 0 means that nothing is clipped.
	Columns func() int
}

// Detect finds out what w can show.
func Detect(w io.Writer) Options {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Options{}
	}
	return Options{
		Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		Columns: func() int {
			columns, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0 // then nothing is clipped
			}
			return columns
		},
	}
}

func (o Options) columns() int {
	if o.Columns == nil {
		return 0
	}
	return o.Columns()
}

const (
	indent  = "  " // of continued lines
	minText = 8    // columns that a text keeps on the narrowest terminal
)

// Printer prints events. It is safe for concurrent use.
type Printer struct {
	mu      sync.Mutex
	w       io.Writer
	options Options
}

// New makes a printer for w, with the options that fit it.
func New(w io.Writer) *Printer { return NewWith(w, Detect(w)) }

// NewWith makes a printer with these options.
func NewWith(w io.Writer, options Options) *Printer { return &Printer{w: w, options: options} }

// Event prints a narration event as it is stored.
func (p *Printer) Event(data []byte) error {
	e, err := narration.Decode(0, data)
	if err != nil {
		return err
	}
	return p.Print(e)
}

// Print prints an event: a symbol, the step, the text and the badge of the source. On a narrow terminal the text is clipped and the badge stays;
// warnings and errors, whose reason stands at their end, are continued on further lines instead.
func (p *Printer) Print(e narration.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	sym, color := look(e)
	place, text, badge := e.Place(), narration.Clean(e.Text), narration.Clean(e.Badge())
	if badge != "" {
		badge = " " + badge
	}
	lines := []string{text}
	if columns := p.options.columns(); columns > 0 {
		columns-- // some terminals break a line whose last column is used
		first, rest := max(columns-columnsOf(sym+" "+place), minText), max(columns-len(indent), minText)
		if e.Level == narration.Warning || e.Level == narration.Error {
			lines = wrap(text, first, rest)
			if used := columnsOf(lines[len(lines)-1] + badge); len(lines) == 1 && used > first || used > rest {
				lines = append(lines, "")
				badge = strings.TrimLeft(badge, " ")
			}
		} else {
			lines[0] = fit(text, max(first-columnsOf(badge), minText))
		}
	}
	paint := painter(p.options.Color)
	for i := range lines {
		lines[i] = paint(colorOf(e.Level), lines[i])
	}
	_, err := io.WriteString(p.w, paint(color, sym)+" "+paint(dim, place)+strings.Join(lines, "\n"+indent)+paint(cyan, badge)+"\n")
	if err != nil {
		return fmt.Errorf("print the narration: %w", err)
	}
	return nil
}

// look chooses an event's symbol and its colour. Each symbol takes one column in every terminal.
func look(e narration.Event) (sym, color string) {
	color = colorOf(e.Level)
	switch {
	case e.Level == narration.Success:
		return "✓", color
	case e.Level == narration.Error:
		return "✗", color
	case e.Stage == narration.RetryingStep:
		return "↻", color
	case e.Level == narration.Warning:
		return "!", color
	case e.Stage == narration.ExecutingStep:
		return "▸", bold
	}
	return "◦", dim
}

func colorOf(l narration.Level) string {
	switch l {
	case narration.Success:
		return green
	case narration.Error:
		return red
	case narration.Warning:
		return yellow
	}
	return ""
}

// Parameters of the escape sequence that sets the colour (ECMA-48, SGR).
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// painter colours text, or leaves it alone.
func painter(on bool) func(color, text string) string {
	return func(color, text string) string {
		if !on || color == "" || text == "" {
			return text
		}
		return "\x1b[" + color + "m" + text + "\x1b[0m"
	}
}
