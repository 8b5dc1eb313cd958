package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
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
	places, ok := s.secretPlaces(payload)
	if !ok {
		return quoted(Redacted)
	}
	for _, p := range places {
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

// secretPlaces are the pointers of the secrets in a payload: those of the design, and where the payload breaks the design in a place
// that may hold one, such as a misspelt name. ok is false when they cannot be told.
func (s *Spec) secretPlaces(payload []byte) (places []string, ok bool) {
	if len(s.Secrets) == 0 || s.Decode == nil {
		return s.Secrets, true
	}
	_, issues := s.Decode(payload)
	places = append(places, s.Secrets...)
	for _, i := range issues {
		switch i.Constraint {
		case ConstraintSyntax, ConstraintMaxBytes, ConstraintMaxDepth: // the decoder did not look at all of it
			return nil, false
		}
		if i.Got == Redacted {
			if i.Path == "" {
				return nil, false
			}
			places = append(places, i.Path)
		}
	}
	return places, len(issues) < MaxIssues // those beyond are not known
}

// Concealing is the Spec with more secrets: JSON Pointers into the payload of one call, which turned out to hold them.
func (s *Spec) Concealing(pointers ...string) *Spec {
	if len(pointers) == 0 {
		return s
	}
	more := *s
	more.Secrets = slices.Concat(s.Secrets, pointers)
	return &more
}

// A secret that is shorter than minScrubbed bytes is found only in quotation marks; of one that is longer than longScrubbed, a beginning of
// that length is found too, because what people are shown is clipped.
const minScrubbed, longScrubbed = 4, 32

// Scrub replaces secrets in a text for people.
func Scrub(text string, secrets []string) string {
	for _, secret := range secrets {
		for _, form := range []string{secret, strings.Trim(string(quoted(secret)), `"`)} { // as it is, and as JSON spells it
			switch {
			case form == "":
			case len(form) < minScrubbed:
				text = strings.ReplaceAll(text, `"`+form+`"`, `"`+Redacted+`"`)
			case len(form) > longScrubbed:
				for i := strings.Index(text, form[:longScrubbed]); i >= 0; i = strings.Index(text, form[:longScrubbed]) {
					n := longScrubbed
					for n < len(form) && i+n < len(text) && text[i+n] == form[n] {
						n++
					}
					text = text[:i] + Redacted + text[i+n:]
				}
			default:
				text = strings.ReplaceAll(text, form, Redacted)
			}
		}
	}
	return text
}

// At returns the texts that a payload holds at these JSON Pointers.
func At(payload []byte, pointers []string) (texts []string) {
	var v any
	if json.Unmarshal(payload, &v) != nil {
		return nil
	}
	for _, p := range pointers {
		at := v
		for part := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
			switch x := at.(type) {
			case map[string]any:
				at = x[pointerUnescapes.Replace(part)]
			case []any:
				i, err := strconv.Atoi(part)
				if at = nil; err == nil && i >= 0 && i < len(x) {
					at = x[i]
				}
			default:
				at = nil
			}
		}
		if s, ok := at.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

var pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

func redact(v any, path []string) {
	last := len(path) == 1
	key := pointerUnescapes.Replace(path[0])
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			if path[0] != "*" && key != k {
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
			if path[0] != "*" && path[0] != strconv.Itoa(i) {
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
