package narration

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"toolsvc/tool"
)

// Describe says in words what a call does: Click “Play” in “Now playing”. It is at most 80 runes long: long names are clipped first, so that the
// sentence stays whole. A tool without a phrase of its own is described by its title and its main argument. Text that is typed is never
// shown, because nobody can tell here whether the field is a secret one; neither is a field that the design calls secret.
func Describe(spec *tool.Spec, args json.RawMessage, lang string) string {
	l := Match(lang)
	a := arguments{spec: spec, lang: l, values: object(args)}
	for _, a.room = range []int{48, 32, 20, 12, 7} { // of one name, in runes
		if s := Clean(a.describe()); utf8.RuneCountInString(s) <= maxTitle {
			return s
		}
	}
	return Clip(Clean(a.describe()), maxTitle)
}

// arguments are the arguments of a call, to be put into words.
type arguments struct {
	spec   *tool.Spec
	lang   Lang
	values map[string]any
	room   int
}

func (a arguments) describe() string {
	for _, key := range a.keys() {
		template, ok := a.lang.template(key)
		if !ok {
			continue
		}
		values := map[string]string{}
		for _, name := range needs(template) {
			values[name] = a.word(name)
		}
		if !hasEmpty(values) {
			return fill(template, values)
		}
	}
	return a.byTitle()
}

// keys lists the phrases that may fit, the most telling first. One whose values are not all given does not fit.
func (a arguments) keys() []string {
	key := "do." + string(a.spec.ID)
	switch a.spec.ID {
	case "browser.click":
		if b := a.plain("button"); b != "" && b != "left" {
			return []string{key + "." + b}
		}
	case "browser.scroll":
		if a.word("until") != "" {
			return []string{key + ".until"}
		}
	case "browser.tabs":
		return []string{key + "." + a.plain("action"), key}
	case "browser.wait_for":
		keys := []string{key + ".text", key + ".text_gone", key}
		if state := a.plain("state"); state == "hidden" || state == "enabled" {
			keys = slices.Insert(keys, 2, key+"."+state)
		}
		return keys
	}
	return []string{key, key + ".bare"}
}

// word puts an argument into words, as phrases show it; "" when it is not given, or not to be shown.
func (a arguments) word(name string) string {
	switch name {
	case "target", "from", "to", "until":
		if secret(a.spec, name) {
			return ""
		}
		switch v := a.values[name].(type) {
		case map[string]any:
			return a.target(v, name)
		case string:
			return a.quoted(v)
		}
		return ""
	case "url":
		return a.clip(address(a.plain(name)))
	case "key", "index":
		return a.clip(a.plain(name))
	case "values":
		return a.list(name)
	}
	return a.quoted(a.plain(name))
}

// plain is an argument of one value, as it came; "" when there is none, or it is secret.
func (a arguments) plain(name string) string {
	if secret(a.spec, name) {
		return ""
	}
	switch v := a.values[name].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func (a arguments) list(name string) string {
	items, _ := a.values[name].([]any)
	if secret(a.spec, name, "0") {
		return ""
	}
	var words []string
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			continue
		}
		if len(words) == 2 {
			return strings.Join(append(words, "…"), a.lang.text("list", nil))
		}
		words = append(words, a.quoted(s))
	}
	return strings.Join(words, a.lang.text("list", nil))
}

// target puts a target into words: what it is, then where.
func (a arguments) target(t map[string]any, path string) string {
	field := func(name string) string {
		if secret(a.spec, path, name) {
			return ""
		}
		s, _ := t[name].(string)
		return a.clip(mask(s))
	}
	words := ""
	for _, name := range []string{"name", "description", "selector", "ref"} { // the words that people know, first
		if v := field(name); v != "" {
			words = a.lang.text("target."+name, map[string]string{name: v})
			break
		}
	}
	if words == "" {
		return ""
	}
	if n, ok := t["nth"].(json.Number); ok {
		words = a.lang.text("target.nth", map[string]string{"target": words, "nth": a.clip(n.String())})
	}
	for _, name := range []string{"near", "within"} {
		if v := field(name); v != "" {
			words = a.lang.text("target."+name, map[string]string{"target": words, name: v})
		}
	}
	return words
}

func (a arguments) quoted(s string) string {
	if s = a.clip(mask(s)); s == "" {
		return ""
	}
	return a.lang.text("quoted", map[string]string{"text": s})
}

func (a arguments) clip(s string) string { return Clip(Clean(s), a.room) }

// byTitle describes a call by the tool's title and its main argument: the first required one that is a word, or else a target.
func (a arguments) byTitle() string {
	title := Clean(a.spec.Title)
	if title == "" {
		title = Clean(string(a.spec.ID))
	}
	var schema struct {
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(a.spec.PayloadSchema, &schema); err != nil {
		schema.Required = nil // the title says enough
	}
	for _, name := range append([]string{"target"}, schema.Required...) {
		if typed(name) {
			continue
		}
		if w := a.word(name); w != "" {
			return title + ": " + w
		}
	}
	return title
}

// typed reports an argument that holds what somebody types or writes, which may be anything.
func typed(name string) bool {
	return slices.Contains([]string{"text", "content", "body", "input", "value"}, name)
}

// object decodes an object; what is none has no fields.
func object(args json.RawMessage) map[string]any {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber() // a number is shown as it came
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil
	}
	return v
}

func hasEmpty(values map[string]string) bool {
	for _, v := range values {
		if v == "" {
			return true
		}
	}
	return false
}
