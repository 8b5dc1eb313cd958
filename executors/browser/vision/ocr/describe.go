package ocr

import (
	"regexp"
	"strings"
)

// wording is what of a description can be looked for as text.
type wording struct{ name, within, near string }

// describe takes out of a description what names visible text: phrases in quotes, and the words
// right before a kind of control ("the round green play button" → play). Colours, shapes and places mean nothing
// to a reader of text and are left out. If more than one thing could be meant, or nothing
// is left, the result is empty: without a model there is no guessing.
func describe(description string) wording {
	if w, quoted := describeQuoted(description); quoted {
		return w
	}
	return wording{name: labelBefore(description)}
}

var (
	quotes = regexp.MustCompile(`"([^"]+)"|“([^”]+)”|«([^»]+)»|„([^“”]+)[“”]|「([^」]+)」|『([^』]+)』|(?:^|[\s(])['‘]([^'’]+)['’]`)
	// The last word before a quoted phrase says what the phrase is for.
	withinWords = regexp.MustCompile(`(?i)\b(?:in|inside|within|under|below|underneath|of)(?: (?:the|a|an|section|panel|heading|dialog|tab|card|group|box|form|called|named|titled|labell?ed))*$`)
	nearWords   = regexp.MustCompile(`(?i)\b(?:near|beside|by|next to|beneath|above|left of|right of|after|before|for)(?: (?:the|a|an|text|word|words|label|called|named|labell?ed|reading))*$`)
)

func describeQuoted(description string) (w wording, quoted bool) {
	for _, at := range quotes.FindAllStringSubmatchIndex(description, -1) {
		phrase := ""
		for i := 2; i < len(at); i += 2 {
			if at[i] >= 0 {
				phrase = strings.TrimSpace(description[at[i]:at[i+1]])
			}
		}
		before := strings.TrimSpace(description[:at[0]])
		target := &w.name
		switch {
		case nearWords.MatchString(before):
			target = &w.near
		case withinWords.MatchString(before):
			target = &w.within
		}
		if *target != "" && *target != phrase {
			return wording{}, true
		}
		*target, quoted = phrase, true
	}
	if quoted && w.name == "" {
		w.name = labelBefore(quotes.ReplaceAllString(description, " "))
		if w.name == "" {
			return wording{}, true
		}
	}
	return w, quoted
}

var (
	control = regexp.MustCompile(`(?i)^(?:buttons?|links?|tabs?|menu|menuitem|checkbox|radio|switch|toggle|field|textbox|textfield|input|dropdown|combobox|option|chip|tile|icon)$`)
	// Words that describe a look, a place or nothing.
	looks = wordSet(`a an the this that one only big bigger biggest large larger largest small smaller smallest tiny huge wide narrow long short round rounded
		circular square rectangular triangular oval flat bold bright dark light pale solid filled hollow outlined outline transparent
		red green blue yellow orange purple violet pink brown black white gray grey teal cyan magenta golden gold silver coloured colored
		primary secondary main first second third other same top bottom left right upper lower middle center centre central
		left-hand right-hand leftmost rightmost topmost bottommost corner side floating sticky visible enabled disabled active selected
		image picture shaped looking click press tap on to find my your our its and with of in at`)
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// maxLabelWords bounds how many words before a kind of control are taken for its label.
const maxLabelWords = 3

// labelBefore returns the words right before the first kind of control that are no description
// of its look.
func labelBefore(description string) string {
	words := strings.FieldsFunc(description, func(r rune) bool { return strings.ContainsRune(" \t\n,;:.!?()", r) })
	for i, w := range words {
		if !control.MatchString(w) {
			continue
		}
		var label []string
		for j := i - 1; j >= 0 && !looks[strings.ToLower(words[j])]; j-- {
			label = append([]string{words[j]}, label...)
		}
		if len(label) == 0 || len(label) > maxLabelWords {
			return ""
		}
		return strings.Join(label, " ")
	}
	return ""
}
