package narration

import (
	"regexp"
)

// catalogue holds the texts. In a text, {name} stands for a value, and {name:을/를} for the Korean particle that fits after that value.
//
// The keys:
//
//	stage.*      names of the stages
//	source.*     names of the sources, as they fit into the texts below
//	verdict.*    verdicts, as they stand in a table
//	column.*     headings of the table
//	duration.*   durations
//	say.*        the moments of a run; say.*.one where the number is 1
//	failure.*    why something failed; failure.*.what where it is known what stood in the way
//	target.*     what a tool acts on
//	do.*         what a call of a tool does; do.*.bare where the usual arguments are not given
var catalogue = map[Lang]map[string]string{English: english, Korean: korean, Japanese: japanese}

var placeholder = regexp.MustCompile(`\{(\w+)(?::([^}]*))?\}`)

// fill puts the values into the template.
func fill(template string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(template, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		if m[2] != "" {
			return particle(values[m[1]], m[2])
		}
		return values[m[1]]
	})
}

// needs lists the names of the values that the template shows.
func needs(template string) (names []string) {
	for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
		names = append(names, m[1])
	}
	return names
}
