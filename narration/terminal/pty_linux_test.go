package terminal_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"toolsvc/narration/terminal"
)

// pty opens a pseudo-terminal of that width.
func pty(t *testing.T, columns uint16) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return user, program
}

// On a real terminal there are colours, unless the user does not want them, and lines are clipped to the window; in a file neither.
func TestRealTerminal(t *testing.T) {
	for _, c := range []struct {
		noColor, term string
		colour        bool
	}{{"", "xterm-256color", true}, {"1", "xterm-256color", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		user, program := pty(t, 40)
		p := terminal.New(program)
		for _, e := range []int{11, 13} { // one that is clipped, one that is continued
			if err := p.Print(story("ko")[e]); err != nil {
				t.Fatal(err)
			}
		}
		screen, text := bufio.NewReader(user), ""
		for !strings.Contains(text, "[Hotkey]") {
			line, err := screen.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if !c.colour && cells(strings.TrimSpace(line)) >= 40 {
				t.Errorf("it is too long: %q", line)
			}
			text += line
		}
		if got := strings.Contains(text, "\x1b["); got != c.colour {
			t.Errorf("NO_COLOR=%q TERM=%q: colours %v: %q", c.noColor, c.term, got, text)
		}
		if !strings.Contains(text, "…") || !strings.Contains(text, "[Vision]") || !strings.Contains(text, "비활성화되어") {
			t.Errorf("it is not clipped, or lost its badge, or the reason: %q", text)
		}
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm-256color")
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := terminal.New(file).Print(story("ko")[13]); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if want := printed(t, terminal.Options{}, story("ko")[13]); string(text) != want {
		t.Errorf("in a file: %q, want %q", text, want)
	}
}
