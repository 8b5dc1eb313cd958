package memory

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"toolsvc/executors/browser/match"
)

// The weights say how much a feature tells of what an element is, when pages are redesigned. What people read (the name) and what teams
// put there to find the element by (a test id) are changed last; ids and names of form fields more often, but with a reason; classes,
// places and sizes at every turn. They are relative to each other, and close to the ones that Nass et al. found best for relocating
// elements on real sites (Similo, "Similarity-based web element localization for robust test automation", TOSEM 2023: names, ids, tags
// and texts around it 1.5, classes, places and sizes 0.5), with the accessible name and the test id, which Similo does not have, above.
const (
	weightName        = 3.0
	weightTestID      = 2.5
	weightID          = 1.5
	weightFormName    = 1.5
	weightHref        = 1.5
	weightRow         = 1.5
	weightRole        = 1.0
	weightPlaceholder = 1.0
	weightHeading     = 1.0
	weightWithin      = 1.0
	weightPath        = 1.0
	weightBeside      = 0.75 // of each of the texts before and after
	weightTag         = 0.5
	weightType        = 0.5
	weightClasses     = 0.5
	weightIndex       = 0.5
	weightSize        = 0.25

	// oneSided is the part of a weight that counts when only one of the two has the feature: redesigns add and drop attributes.
	oneSided = 0.5
)

// evidence is what speaks for a candidate beside its score.
type evidence int

const (
	// The zero evidence: it is another thing.
	_ evidence = iota
	// nothing says that it is the element; it only looks or lies alike.
	alike
	// plausible: an attribute says so, but its name says nothing of the kind. A person can tell.
	plausible
	// identified: its name, or attributes that agree with its name, say so.
	identified
)

// likeness is how one candidate compares.
type likeness struct {
	score    float64 // 0 to 1
	evidence evidence
}

// compare compares a candidate with what is remembered. It is pure.
func compare(want, have Fingerprint) likeness {
	if match.RoleFits(want.Role, have.Role) == 0 && match.RoleFits(have.Role, want.Role) == 0 {
		return likeness{}
	}
	comparable := sameLanguage(want.Lang, have.Lang, want.Name, have.Name)
	name := unrelated
	if want.Name != "" && have.Name != "" {
		name = relate(want.Name, have.Name)
	}
	if name == contrary || comparable && otherPlace(want, have) {
		return likeness{}
	}
	return likeness{score: score(want, have, name, comparable), evidence: identify(want, have, name, comparable)}
}

// otherPlace reports whether what is around the two says that they are for different things: the row of another item, the billing address
// rather than the shipping address.
func otherPlace(want, have Fingerprint) bool {
	if len(want.Row) > 0 && len(have.Row) > 0 && !sameRow(want.Row, have.Row) {
		return true
	}
	pair := func(a, b string) bool {
		return a != "" && b != "" && opposed(concepts(fold(a)), concepts(fold(b)))
	}
	if pair(want.Heading, have.Heading) {
		return true
	}
	return len(want.Within) > 0 && len(have.Within) > 0 && pair(want.Within[0], have.Within[0])
}

// sameRow reports whether two rows are of the same item: the title of one is a text of the other.
func sameRow(a, b []string) bool {
	has := func(row []string, title string) bool {
		return slices.ContainsFunc(row, func(s string) bool { return s != "" && title != "" && relate(s, title) >= near })
	}
	return has(b, a[0]) || has(a, b[0])
}

// score is the weighted mean of the similarities of all features that at least one of the two has.
func score(want, have Fingerprint, name relation, comparable bool) float64 {
	var sum, total float64
	add := func(weight, similarity float64) { sum += weight * similarity; total += weight }
	// feature adds one that both, one, or none of the two may have.
	feature := func(weight float64, a, b bool, similarity func() float64) {
		switch {
		case a && b:
			add(weight, similarity())
		case a || b:
			add(weight*oneSided, 0)
		}
	}
	text := func(weight float64, a, b string) {
		s := 0.0
		if a != "" && b != "" {
			s = relate(a, b).similarity()
		}
		if comparable || s > 0 { // a translation that the lexicon does not know is no difference
			feature(weight, a != "", b != "", func() float64 { return s })
		}
	}
	if comparable || name > unrelated {
		feature(weightName, want.Name != "", have.Name != "", name.similarity)
	}
	add(weightRole, []float64{0, 0.6, 0.9, 1}[max(match.RoleFits(want.Role, have.Role), match.RoleFits(have.Role, want.Role))])
	add(weightTag, equal(want.Tag, have.Tag))
	feature(weightTestID, want.TestID != "", have.TestID != "", func() float64 { return identifiers(want.TestID, have.TestID) })
	id := weightID
	if generated(want.ID) || generated(have.ID) { // a framework numbered it; it will be another one with the next build
		id = weightID / 5
	}
	feature(id, want.ID != "", have.ID != "", func() float64 { return identifiers(want.ID, have.ID) })
	feature(weightFormName, want.FormName != "", have.FormName != "", func() float64 { return identifiers(want.FormName, have.FormName) })
	feature(weightHref, want.Href != "", have.Href != "", func() float64 { return paths(want.Href, have.Href) })
	text(weightPlaceholder, want.Placeholder, have.Placeholder)
	text(weightHeading, want.Heading, have.Heading)
	feature(weightRow, len(want.Row) > 0, len(have.Row) > 0, func() float64 {
		if sameRow(want.Row, have.Row) {
			return 1
		}
		return 0
	})
	text(weightBeside, want.Before, have.Before)
	text(weightBeside, want.After, have.After)
	feature(weightType, want.Type != "", have.Type != "", func() float64 { return equal(want.Type, have.Type) })
	feature(weightClasses, len(want.Classes) > 0, len(have.Classes) > 0, func() float64 { return overlap(want.Classes, have.Classes) })
	feature(weightPath, len(want.Path) > 0, len(have.Path) > 0, func() float64 { return subsequence(want.Path, have.Path) })
	if s := places(want.Within, have.Within); comparable || s > 0 {
		feature(weightWithin, len(want.Within) > 0, len(have.Within) > 0, func() float64 { return s })
	}
	feature(weightIndex, want.Of > 0, have.Of > 0, func() float64 {
		return 1 - math.Abs(float64(want.Index-have.Index))/float64(max(want.Of, have.Of))
	})
	feature(weightSize, want.W*want.H > 0, have.W*have.H > 0, func() float64 { return ratio(want.W, have.W) * ratio(want.H, have.H) })
	return sum / total
}

// identify says what evidence of identity a candidate carries. Looking alike and lying in the same place is none: that is what the
// neighbour of an element that was removed does.
func identify(want, have Fingerprint, name relation, comparable bool) evidence {
	if name >= near && !trivial(want.Name) {
		return identified
	}
	agree, meant := 0, false // attributes that are the same, and whether one of them says what the element is for
	about := slices.Concat(concepts(fold(want.Name)), concepts(fold(have.Name)), concepts(fold(want.Placeholder)))
	for _, p := range [][2]string{{want.TestID, have.TestID}, {want.ID, have.ID}, {want.FormName, have.FormName}} {
		if p[0] == "" || generated(p[0]) {
			continue
		}
		if s := identifiers(p[0], p[1]); s < 0.99 {
			if s >= 0.5 && name == shares { // two halves of evidence
				agree++
			}
			continue
		}
		agree++
		for _, w := range parts(p[0]) {
			meant = meant || slices.Contains(about, w)
		}
	}
	if want.Href != "" && want.Href != "/" && want.Href == have.Href {
		agree++
		meant = true // a link is where it leads to
	}
	if want.Placeholder != "" && have.Placeholder != "" && relate(want.Placeholder, have.Placeholder) >= near {
		agree++
		meant = true
	}
	nameless := want.Name == "" || have.Name == ""
	switch {
	case agree > 0 && (name == shares || meant || !comparable || nameless):
		return identified
	case name == same: // of a trivial name
		return identified
	case agree > 0, name == shares:
		return plausible
	}
	return alike
}

// trivial reports whether a name has no word in it: "…", "×", "3".
func trivial(name string) bool { return !strings.ContainsFunc(name, unicode.IsLetter) }

func equal(a, b string) float64 {
	if a == b {
		return 1
	}
	return 0
}

func ratio(a, b int) float64 { return float64(min(a, b)) / float64(max(a, b)) }

// generic parts of identifiers say what kind of thing it is, in the manner of a team or a framework, not which one.
var generic = words("btn button input field link lnk el elem element id js ui cta txt text fld ctl control a b c new old v the main primary secondary item box wrapper")

// boundary separates camelCase.
var boundary = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// parts are the words of an identifier that say which one it is, in the form of [concepts].
func parts(id string) []string {
	s := strings.ToLower(boundary.ReplaceAllString(id, "$1 $2"))
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
	var out []string
	for _, w := range concepts(s) {
		if !generic[w] {
			out = append(out, w)
		}
	}
	return out
}

// identifiers compares two identifiers by their words, so that save-btn and btnSave are the same.
func identifiers(a, b string) float64 {
	switch {
	case a == "" || b == "":
		return 0
	case a == b:
		return 1
	}
	x, y := parts(a), parts(b)
	if len(x) == 0 || len(y) == 0 || numbered(x, y) || opposed(x, y) {
		return 0
	}
	return dice(x, y)
}

// generatedID are the shapes of identifiers that frameworks make: a word and a number, React's :r1:, long hexadecimal tails.
var generatedID = regexp.MustCompile(`^:.*:$|^[A-Za-z]+[-_:]?(gen)?[-_]?\d+$|[-_][0-9a-f]{6,}$|\d{4,}|^(ember|ext|mui|radix|headlessui|yui|j_id|ctl|react|ng|cdk|aria)[-_:]`)

// generated reports whether an id looks as if a program made it.
func generated(id string) bool { return id != "" && generatedID.MatchString(id) }

// paths compares two addresses of links by their segments.
func paths(a, b string) float64 {
	if a == b {
		return 1
	}
	split := func(s string) []string {
		return strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '.' })
	}
	x, y := split(a), split(b)
	if len(x) == 0 || len(y) == 0 || numbered(x, y) {
		return 0
	}
	if last := identifiers(x[len(x)-1], y[len(y)-1]); last > 0 {
		return 0.5*last + 0.5*dice(x, y)
	}
	return 0
}

// places compares what holds two elements: the best fit of the names.
func places(a, b []string) float64 {
	best := 0.0
	for _, x := range a {
		for _, y := range b {
			best = max(best, relate(x, y).similarity())
		}
	}
	return best
}

// overlap is Jaccard's coefficient of two sets.
func overlap(a, b []string) float64 {
	common := 0
	for _, x := range a {
		if slices.Contains(b, x) {
			common++
		}
	}
	return float64(common) / float64(len(a)+len(b)-common)
}

// dice is Dice's coefficient of two sets.
func dice(a, b []string) float64 {
	common := 0
	for _, x := range a {
		if slices.Contains(b, x) {
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}

// subsequence is how much of the longer list the longest common subsequence makes up: a wrapper that was added changes it little.
func subsequence(a, b []string) float64 {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			up := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = up
		}
	}
	return float64(row[len(b)]) / float64(max(len(a), len(b)))
}
