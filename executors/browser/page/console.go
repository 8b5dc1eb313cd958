package page

import (
	"encoding/json"
	"fmt"
	"strings"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"

	"toolsvc/executors/browser/devtools"
)

// Bounds of the console.
const (
	maxConsole     = 1000 // messages; the oldest half goes when it is full
	maxConsoleText = 2000 // bytes of one message
)

// Message is one message of the console.
type Message struct {
	// Level is error, warning, info or debug.
	Level, Text, Location string
}

// Console are the messages since the present document began, the latest last.
func (t *Tab) Console() []Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Message(nil), t.log.console...)
}

// consoleEvent takes in a message. The caller holds the lock.
func (l *log) consoleEvent(ev devtools.Event) bool {
	switch ev.Method {
	case runtime.ConsoleAPICalled.Method:
		e, ok := devtools.As(ev, runtime.ConsoleAPICalled)
		if !ok {
			return true
		}
		level := map[runtime.ConsoleAPICalledType]string{"error": "error", "assert": "error", "warning": "warning", "debug": "debug", "clear": "", "endGroup": ""}
		at, known := level[e.Type]
		if !known {
			at = "info"
		}
		if at == "" {
			return true
		}
		words := make([]string, 0, len(e.Args))
		for _, a := range e.Args {
			words = append(words, shown(a))
		}
		l.say(Message{Level: at, Text: strings.Join(words, " "), Location: where(e.StackTrace)})
	case cdplog.EntryAdded.Method:
		e, ok := devtools.As(ev, cdplog.EntryAdded)
		if !ok || e.Entry == nil || ignored(e.Entry.URL) && e.Entry.URL != "" {
			return true
		}
		at := map[cdplog.EntryLevel]string{"error": "error", "warning": "warning", "verbose": "debug"}[e.Entry.Level]
		if at == "" {
			at = "info"
		}
		m := Message{Level: at, Text: e.Entry.Text, Location: e.Entry.URL}
		if e.Entry.URL != "" && e.Entry.LineNumber > 0 {
			m.Location = fmt.Sprintf("%s:%d", e.Entry.URL, e.Entry.LineNumber+1)
		}
		l.say(m)
	default:
		return false
	}
	return true
}

func (l *log) say(m Message) {
	m.Text, m.Location = clipped(m.Text, maxConsoleText), clipped(m.Location, 500)
	if len(l.console) >= maxConsole {
		l.console = append([]Message(nil), l.console[maxConsole/2:]...)
		l.consoleCut = true
	}
	l.console = append(l.console, m)
}

// ConsoleCut reports whether messages of the present document were dropped.
func (t *Tab) ConsoleCut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.log.consoleCut
}

// shown is an argument as the console would show it.
func shown(o *runtime.RemoteObject) string {
	var s string
	switch {
	case o == nil:
		return ""
	case o.Type == "string" && json.Unmarshal(o.Value, &s) == nil:
		return s
	case o.UnserializableValue != "":
		return string(o.UnserializableValue)
	case o.Preview != nil && o.Subtype != "error":
		var ps []string
		for _, p := range o.Preview.Properties {
			if o.Subtype == "array" {
				ps = append(ps, p.Value)
			} else {
				ps = append(ps, p.Name+": "+p.Value)
			}
		}
		if o.Subtype == "array" {
			return "[" + strings.Join(ps, ", ") + "]"
		}
		return "{" + strings.Join(ps, ", ") + "}"
	case o.Description != "":
		return o.Description
	case len(o.Value) > 0:
		return string(o.Value)
	}
	return string(o.Type)
}

// where is the place of the first call of a stack.
func where(s *runtime.StackTrace) string {
	if s == nil || len(s.CallFrames) == 0 {
		return ""
	}
	f := s.CallFrames[0]
	return fmt.Sprintf("%s:%d", f.URL, f.LineNumber+1)
}

// clipped cuts a text to at most n bytes, at the border of a character.
func clipped(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
