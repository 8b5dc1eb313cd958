package narration

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"toolsvc/tool"
)

// Every text exists in every language, and shows the same values.
func TestLanguagesSayTheSame(t *testing.T) {
	t.Parallel()
	values := func(text string) []string { return slices.Compact(slices.Sorted(slices.Values(needs(text)))) }
	for _, l := range Langs {
		for key, text := range catalogue[l] {
			en, ok := english[key]
			if !ok {
				t.Errorf("%s has the key %s, English has not", l, key)
			}
			if !slices.Equal(values(text), values(en)) {
				t.Errorf("%s shows %v in %s, English shows %v", key, values(text), l, values(en))
			}
			if rest := placeholder.ReplaceAllString(text, ""); strings.ContainsAny(rest, "{}") {
				t.Errorf("%s in %s has a broken placeholder: %s", key, l, text)
			}
			if text != Clean(text) && key != "list" && text != Clean(text)+" " {
				t.Errorf("%s in %s is not clean: %q", key, l, text)
			}
		}
		for key := range english {
			if _, ok := catalogue[l][key]; !ok {
				t.Errorf("%s has no text for %s", l, key)
			}
		}
	}
}

// No text was left in another language. Names that are the same everywhere are the exception.
func TestTextsAreInTheirLanguage(t *testing.T) {
	t.Parallel()
	scripts := map[Lang][]*unicode.RangeTable{Korean: {unicode.Hangul}, Japanese: {unicode.Han, unicode.Hiragana, unicode.Katakana}}
	same := []string{"list", "quoted", "source.cdp", "say.executing", "target.name", "target.description"}
	for _, l := range Langs {
		for key, text := range catalogue[l] {
			if slices.Contains(same, key) {
				continue
			}
			bare := placeholder.ReplaceAllString(text, "")
			for other, script := range scripts {
				has := strings.ContainsFunc(bare, func(r rune) bool { return unicode.In(r, script...) })
				if has != (l == other) {
					t.Errorf("%s in %s: has letters of %s: %v: %s", key, l, other, has, text)
				}
			}
		}
	}
}

// Whatever the program may have to say, there is a text for it; and there is none that it never says.
func TestCatalogueIsWholeAndHasNothingElse(t *testing.T) {
	t.Parallel()
	used := map[string]bool{"list": true, "quoted": true, "verdict.none": true}
	want := func(key string, optional bool) {
		_, ok := english[key]
		if !ok && !optional {
			t.Errorf("there is no text for %s", key)
		}
		used[key] = ok
	}
	for _, s := range Stages {
		want("stage."+string(s), false)
	}
	for _, s := range tool.Sources {
		want("source."+string(s), false)
	}
	for _, v := range []tool.Verdict{tool.VerdictSuccess, tool.VerdictFailure, tool.VerdictUncertain} {
		want("verdict."+string(v), false)
	}
	for _, c := range Columns {
		want("column."+string(c), false)
	}
	for _, f := range tool.Failures {
		want("failure."+string(f), false)
		want("failure."+string(f)+".what", true)
	}
	for _, d := range []string{"seconds", "minutes", "hours"} {
		want("duration."+d, false)
	}
	for _, f := range []string{"name", "description", "selector", "ref", "nth", "near", "within"} {
		want("target."+f, false)
	}
	for key := range moments(English) {
		want(key, false)
	}
	for _, key := range slices.Sorted(maps.Keys(english)) {
		if !used[key] && !strings.HasPrefix(key, "do.") {
			t.Errorf("nobody says %s", key)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"{a} and {b}":      "1 and {a}",
		"{a}{a}{missing}":  "11",
		"“{c}”{c:을/를}":     "“문”을",
		"no values":        "no values",
		"{c:으로/로} {a:이/가}": "으로 이",
	} {
		if got := fill(template, map[string]string{"a": "1", "b": "{a}", "c": "문"}); got != want {
			t.Errorf("%s: %q, want %q", template, got, want)
		}
	}
}
