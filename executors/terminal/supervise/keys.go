//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// named are the bytes that a terminal (xterm) sends for a key by itself.
var named = map[string]string{
	"enter": "\r", "return": "\r", "tab": "\t", "escape": "\x1b", "esc": "\x1b", "backspace": "\x7f", "space": " ",
	"arrowup": "\x1b[A", "arrowdown": "\x1b[B", "arrowright": "\x1b[C", "arrowleft": "\x1b[D",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
	"home": "\x1b[H", "end": "\x1b[F", "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "insert": "\x1b[2~", "delete": "\x1b[3~",
	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~", "f7": "\x1b[18~", "f8": "\x1b[19~",
	"f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
}

// Keys turns a key or a combination (Enter, Control+c, Alt+ArrowLeft) into what a terminal sends for it. application is the cursor key
// mode that full-screen programs set.
func Keys(key string, application bool) (string, error) {
	parts := strings.Split(key, "+")
	if strings.HasSuffix(key, "++") || key == "+" { // the plus itself
		parts = append(strings.Split(strings.TrimSuffix(strings.TrimSuffix(key, "+"), "+"), "+"), "+")
		if key == "+" {
			parts = []string{"+"}
		}
	}
	last := parts[len(parts)-1]
	var alt, control, shift bool
	for _, m := range parts[:len(parts)-1] {
		switch m {
		case "Alt":
			alt = true
		case "Control":
			control = true
		case "Shift":
			shift = true
		default:
			return "", fmt.Errorf("there is no modifier %q in a terminal; there are Alt, Control and Shift", m)
		}
	}
	seq, ok := named[strings.ToLower(last)]
	if !ok || utf8.RuneCountInString(last) == 1 {
		if utf8.RuneCountInString(last) != 1 {
			return "", fmt.Errorf("there is no key %q in a terminal", last)
		}
		return character(last, alt, control, shift)
	}
	if csi, ok := strings.CutPrefix(seq, "\x1b["); ok || strings.HasPrefix(seq, "\x1bO") {
		if !ok {
			csi = strings.TrimPrefix(seq, "\x1bO")
		}
		if m := modifier(alt, control, shift); m > 1 {
			if body, ok := strings.CutSuffix(csi, "~"); ok {
				return fmt.Sprintf("\x1b[%s;%d~", body, m), nil
			}
			return fmt.Sprintf("\x1b[1;%d%s", m, csi), nil
		}
		if application && len(csi) == 1 && strings.Contains("ABCDHF", csi) {
			return "\x1bO" + csi, nil
		}
		return seq, nil
	}
	switch {
	case seq == "\t" && shift && !control:
		seq = "\x1b[Z"
	case seq == " " && control:
		seq = "\x00"
	case seq == "\x7f" && control:
		seq = "\b"
	case control || shift && seq != " " && seq != "\x7f":
		return "", errors.New("a terminal cannot tell " + key + " from the key alone")
	}
	if alt {
		seq = "\x1b" + seq
	}
	return seq, nil
}

// modifier is xterm's number for a combination of modifiers.
func modifier(alt, control, shift bool) int {
	m := 1
	for i, on := range []bool{shift, alt, control} {
		if on {
			m += 1 << i
		}
	}
	return m
}

func character(c string, alt, control, shift bool) (string, error) {
	r := []rune(c)[0]
	if shift {
		r = unicode.ToUpper(r)
	}
	s := string(r)
	if control {
		switch u := unicode.ToUpper(r); {
		case u >= '@' && u <= '_':
			s = string(u & 0x1f)
		case u == '?':
			s = "\x7f"
		default:
			return "", fmt.Errorf("a terminal has no Control+%s", c)
		}
	}
	if alt {
		s = "\x1b" + s
	}
	return s, nil
}
