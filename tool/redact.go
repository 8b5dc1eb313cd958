package tool

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Redacted stands for a secret wherever its field is shown.
const Redacted = "[redacted]"

// maxShown bounds a payload that is shown again in a hint, an event or a summary, in bytes.
const maxShown = 8 << 10

// Redact returns the payload with the secret fields replaced. Text that is not JSON comes back as a JSON string, clipped, unless
// the tool has secrets: then nothing of it is shown, because nobody can tell where they stand in it.
func (s *Spec) Redact(payload []byte) json.RawMessage {
	if len(payload) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber() // a number is shown as it came
	var v any
	if err := d.Decode(&v); err != nil {
		if len(s.Secrets) > 0 {
			return quoted(Redacted)
		}
		return quoted(clip(string(payload), maxShown))
	}
	for _, p := range s.Secrets {
		redact(v, strings.Split(strings.TrimPrefix(p, "/"), "/"))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return quoted(Redacted)
	}
	if b.Len() > maxShown {
		return quoted(clip(b.String(), maxShown))
	}
	return bytes.TrimSpace(b.Bytes())
}

func redact(v any, path []string) {
	last := len(path) == 1
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			if path[0] != "*" && path[0] != k {
				continue
			}
			if last {
				x[k] = Redacted
			} else {
				redact(x[k], path[1:])
			}
		}
	case []any:
		for i := range x {
			if path[0] != "*" {
				continue
			}
			if last {
				x[i] = Redacted
			} else {
				redact(x[i], path[1:])
			}
		}
	}
}

func quoted(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return b
}

// clip cuts s to at most n bytes at a rune boundary and marks the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
