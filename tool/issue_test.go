package tool

import (
	"encoding/json"
	"testing"
)

// A bound that no float64 holds reaches the caller as it is, however often the issue was written and read on its way.
func TestIssueKeepsItsLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{"9007199254740993", "-9223372036854775808", "0.1", `"^a$"`} {
		text := `{"path":"/n","constraint":"minimum","limit":` + limit + `,"offset":7,"message":"no."}`
		var i Issue
		if err := json.Unmarshal([]byte(text), &i); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(i); err != nil || string(got) != text {
			t.Errorf("%s, %v", got, err)
		}
	}
}
