package narration

import (
	"strings"

	"golang.org/x/text/language"
)

// Lang is a language that narration speaks.
type Lang string

// The languages.
const (
	English  Lang = "en"
	Korean   Lang = "ko"
	Japanese Lang = "ja"
)

// Langs lists all languages, the fallback first.
var Langs = []Lang{English, Korean, Japanese}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Korean, language.Japanese})

// Match finds the language that fits best. Each preference, best first, is a BCP 47 tag ("ko-KR"), a list of them as in Accept-Language
// ("ja;q=0.9, en"), or a POSIX locale ("ko_KR.UTF-8"). What it does not understand, it passes over; without a match it is English.
func Match(preferences ...string) Lang {
	for _, p := range preferences {
		switch l := Lang(p); l {
		case English, Korean, Japanese: // the common case, without parsing
			return l
		}
		if !strings.ContainsAny(p, ",;") { // one tag, or a locale with its encoding
			p, _, _ = strings.Cut(p, ".")
			p, _, _ = strings.Cut(p, "@")
		}
		tags, _, err := language.ParseAcceptLanguage(p)
		if err != nil {
			continue
		}
		if _, i, confidence := matcher.Match(tags...); confidence > language.No {
			return Langs[i]
		}
	}
	return English
}

// text fills the template of that key with values.
func (l Lang) text(key string, values map[string]string) string {
	t, ok := l.template(key)
	if !ok {
		return key // cannot happen: a test compares the tables with each other and with the keys in use
	}
	return fill(t, values)
}

func (l Lang) template(key string) (t string, ok bool) {
	t, ok = catalogue[l][key]
	return t, ok
}
