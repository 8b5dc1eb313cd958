package memory

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Fingerprint is what identifies an element of a page, as the page's world describes it. Empty fields are things that it does not have.
type Fingerprint struct {
	Role string `json:"role"`
	// Name is the accessible name, without what fields hold.
	Name string `json:"name,omitempty"`
	// Turned is the name that it took when it was acted on: "Pause" of a button "Play".
	Turned string `json:"turned,omitempty"`
	Tag    string `json:"tag"`
	// Lang is the language of the page around it (BCP 47), as the page says.
	Lang string `json:"lang,omitempty"`

	ID          string `json:"id,omitempty"`
	TestID      string `json:"test_id,omitempty"` // data-testid and its like
	FormName    string `json:"form_name,omitempty"`
	Type        string `json:"type,omitempty"`
	Placeholder string `json:"placeholder,omitempty"`
	// Href is the path of a link, without query and fragment; with the origin when that is another one.
	Href    string   `json:"href,omitempty"`
	Classes []string `json:"classes,omitempty"`

	// Path are the roles, or else tags, of what holds it, nearest first.
	Path []string `json:"path,omitempty"`
	// Within are the names of the landmarks, dialogs, groups and lists that hold it, nearest first.
	Within []string `json:"within,omitempty"`
	// Heading is the heading above it.
	Heading string `json:"heading,omitempty"`
	// Row are the texts, the title first, that only the row, list item or card has that it belongs to.
	Row []string `json:"row,omitempty"`
	// Before and After are the texts next to it.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Index is its place, from 1, among the Of elements of its role.
	Index int `json:"index,omitempty"`
	Of    int `json:"of,omitempty"`
	// W and H are its size in CSS pixels.
	W int `json:"w,omitempty"`
	H int `json:"h,omitempty"`
}

// The bounds of a fingerprint.
const (
	maxString  = 80 // characters of a text
	maxClasses = 16
	maxPath    = 10
	maxWithin  = 5
	maxRow     = 4
)

// numbers are runs of digits that may be an account, a card or a telephone number: they identify a person rather than an element.
var numbers = regexp.MustCompile(`\d(?:[ .-]?\d){5,}`)

// Clean bounds the fingerprint, and takes long numbers out of its texts.
func (f Fingerprint) Clean() Fingerprint {
	for _, s := range []*string{&f.Name, &f.Turned, &f.Placeholder, &f.Heading, &f.Before, &f.After} {
		*s = short(numbers.ReplaceAllString(*s, "#"))
	}
	for _, s := range []*string{&f.Role, &f.Tag, &f.Lang, &f.ID, &f.TestID, &f.FormName, &f.Type, &f.Href} {
		*s = short(*s)
	}
	list := func(in []string, most int, text bool) []string {
		var out []string
		for _, s := range in[:min(len(in), most)] {
			if text {
				s = numbers.ReplaceAllString(s, "#")
			}
			out = append(out, short(s))
		}
		return out
	}
	f.Row = list(f.Row, maxRow, true)
	f.Classes, f.Path, f.Within = list(f.Classes, maxClasses, false), list(f.Path, maxPath, false), list(f.Within, maxWithin, true)
	return f
}

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= maxString {
		return s
	}
	return string([]rune(s)[:maxString])
}
