package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// code renders s as inline code for a cell of a table: in as many backticks as it takes, with the bars escaped.
func code(s string) string {
	if s == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + strings.ReplaceAll(s, "|", `\|`) + fence
}

// cell makes running text fit for a cell of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// oneOf lists alternatives: a, b or c.
func oneOf(words []string) string { return list(words, "or") }

func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// between says a range with its unit: "1 to 500 characters", "at least 1 item", "at most 4".
func between(low, high json.Number, unit string) string {
	last := high
	if last == "" {
		last = low
	}
	switch {
	case unit == "entries" && last == "1":
		unit = " entry"
	case unit != "" && last == "1":
		unit = " " + strings.TrimSuffix(unit, "s")
	case unit != "":
		unit = " " + unit
	}
	switch {
	case low == high && low != "":
		return fmt.Sprintf("exactly %s%s", low, unit)
	case low != "" && high != "":
		return fmt.Sprintf("%s to %s%s", low, high, unit)
	case low != "":
		return fmt.Sprintf("at least %s%s", low, unit)
	case high != "":
		return fmt.Sprintf("at most %s%s", high, unit)
	}
	return ""
}

// constraints puts the rules for a value into words, without those of its type.
func (s *schema) constraints() (string, error) {
	var w []string
	add := func(text string) {
		if text != "" {
			w = append(w, text)
		}
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			text, err := json.Marshal(v)
			if err != nil {
				return "", err
			}
			if plain, ok := v.(string); ok && plain != "" {
				text = []byte(plain)
			}
			values = append(values, code(string(text)))
		}
		add(oneOf(values))
	}
	low, high := s.Minimum, s.Maximum
	if s.Type == "integer" { // what any integer keeps needs no words
		low, high = unless(low, math.MinInt64), unless(high, math.MaxInt64)
	}
	add(between(low, high, ""))
	if s.ExclusiveMinimum != "" {
		add("more than " + string(s.ExclusiveMinimum))
	}
	if s.ExclusiveMaximum != "" {
		add("less than " + string(s.ExclusiveMaximum))
	}
	minLength := s.MinLength
	if minLength == "1" && s.MaxLength == "" {
		add("not empty")
		minLength = ""
	}
	add(between(minLength, s.MaxLength, "characters"))
	add(between(s.MinItems, s.MaxItems, "items"))
	add(between(s.MinProperties, s.MaxProperties, "entries"))
	if s.Format != "" {
		add("format " + code(s.Format))
	}
	if s.Pattern != "" {
		add("matches " + code(s.Pattern))
	}
	if s.ContentEncoding != "" {
		add("in " + s.ContentEncoding)
	}
	if s.WriteOnly {
		add("secret: never shown")
	}
	if s.PropertyNames != nil {
		names, err := s.PropertyNames.constraints()
		if err != nil {
			return "", err
		}
		add("names: " + names)
	}
	values, err := s.elements()
	if err != nil {
		return "", err
	}
	for _, e := range []*schema{s.Items, values} {
		if e == nil || len(e.Properties) > 0 {
			continue
		}
		each, err := e.constraints()
		if err != nil {
			return "", err
		}
		if each != "" {
			add("each " + each)
		}
	}
	return strings.Join(w, "; "), nil
}

// unless is n, or nothing when n is the given bound.
func unless(n json.Number, bound int64) json.Number {
	if string(n) == strconv.FormatInt(bound, 10) {
		return ""
	}
	return n
}

// alternatives says which fields an object needs at least one of, or exactly one of.
func (s *schema) alternatives() (sentences []string) {
	names := func(of []schema) string {
		var ns []string
		for _, a := range of {
			for _, r := range a.Required {
				ns = append(ns, code(r))
			}
		}
		return oneOf(ns)
	}
	for _, group := range append([]schema{{AnyOf: s.AnyOf}}, s.AllOf...) {
		if len(group.AnyOf) > 0 {
			sentences = append(sentences, "At least one of "+names(group.AnyOf)+".")
		}
	}
	if len(s.OneOf) > 0 {
		sentences = append(sentences, "Exactly one of "+names(s.OneOf)+".")
	}
	return sentences
}

// requires reports whether the object needs the field.
func (s *schema) requires(name string) bool { return slices.Contains(s.Required, name) }
