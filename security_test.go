package toolsvc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var namedTest = regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9_]+)`")

// Each attack that SECURITY.md names is a test that exists, and each row of its threats names one.
func TestSecurityNamesTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, threats, _ := strings.Cut(string(text), "## Threats, defences, tests")
	threats, _, found := strings.Cut(threats, "\n## ")
	rows := 0
	for row := range strings.Lines(threats) {
		if !strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "| threat |") {
			continue
		}
		if rows++; !namedTest.MatchString(row) {
			t.Errorf("no test attacks this: %s", row)
		}
	}
	if !found || rows < 20 {
		t.Fatalf("only %d threats were found", rows)
	}
	sources := map[string]string{}
	for _, m := range namedTest.FindAllStringSubmatch(string(text), -1) {
		if _, read := sources[m[1]]; !read {
			files, err := filepath.Glob(filepath.Join(m[1], "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				source, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				sources[m[1]] += string(source)
			}
		}
		if !strings.Contains(sources[m[1]], "\nfunc "+m[2]+"(t *testing.T)") {
			t.Errorf("SECURITY.md names %s.%s, which does not exist", m[1], m[2])
		}
	}
}
