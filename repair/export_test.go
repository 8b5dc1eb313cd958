package repair

import "encoding/json"

// MisspeltForTest reports whether a name that an object of one field has is taken for another name.
func MisspeltForTest(name, schema string) bool {
	s := parseSchema(json.RawMessage(schema))
	_, ok := misspelt(name, []string{name}, s)
	return ok
}
