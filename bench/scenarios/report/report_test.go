package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The values are those of statsmodels' proportion_confint(method="wilson").
func TestWilson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 0, 0, 1}, {200, 200, 0.98115, 1}, {0, 200, 0, 0.01885}, {124, 200, 0.55111, 0.68445}, {31, 50, 0.48150, 0.74141}, {1, 1, 0.20654, 1},
	} {
		low, high := Wilson(c.k, c.n)
		if math.Abs(low-c.low) > 5e-5 || math.Abs(high-c.high) > 5e-5 {
			t.Errorf("Wilson(%d, %d) = %.5f, %.5f; wanted %.5f, %.5f", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    []int64
		q    float64
		want int64
	}{{nil, .5, 0}, {[]int64{7}, .95, 7}, {[]int64{1, 2, 3, 4}, .5, 2}, {[]int64{1, 2, 3, 4, 5}, .5, 3}, {[]int64{1, 2, 3, 4}, .95, 4}, {[]int64{1, 2}, 0, 1}} {
		if got := quantile(c.v, c.q); got != c.want {
			t.Errorf("quantile(%v, %g) = %d, wanted %d", c.v, c.q, got, c.want)
		}
	}
}

func TestSum(t *testing.T) {
	t.Parallel()
	f := Sum([]Run{
		{Said: true, Goal: 1, Attempts: 1, MS: 10, Landed: []string{"x"}},
		{Said: true, Goal: 0, Attempts: 1, MS: 20},            // false success
		{Said: true, Goal: 2, Attempts: 2, MS: 30},            // twice
		{Said: true, Goal: 1, Wrong: 1, Attempts: 3, MS: 40},  // beside it, something else
		{Said: false, Goal: 1, Attempts: 3, MS: 50},           // done, but not known
		{Said: false, Broken: "no", MS: 60},                   // not measured
		{Said: true, Goal: 1, Missed: []string{"y"}, MS: 999}, // proves nothing
	})
	want := Figures{Runs: 7, Success: 2, FalseSuccess: 1, Wrong: 1, Double: 1, Invalid: 2, Faulty: 1, Attempts: [4]int{2, 2, 1, 2}, Median: 40, P95: 999}
	if f != want {
		t.Errorf("got  %+v\nwant %+v", f, want)
	}
}

func entries() []Entry {
	return []Entry{{Name: "player", Title: "Play <a> & b", PublishedSingle: 62, PublishedHealing: 94,
		Single: Figures{Runs: 200, Success: 120, Attempts: [4]int{0, 200}}, Healing: Figures{Runs: 200, Success: 200, Attempts: [4]int{0, 120, 70, 10}, Median: 2345, P95: 4000}},
		{Name: "comment", Title: "Comment", PublishedSingle: 88, PublishedHealing: 100, Healing: Figures{Runs: 3, Success: 2}}}
}

func TestTable(t *testing.T) {
	t.Parallel()
	got := Table(entries())
	for _, want := range []string{"| one attempt | 62 % | 120 of 200 (60.0 %) | 53.1–66.5 % |", "| healing | 94 % | 200 of 200 (100.0 %) | 98.1–100.0 % | 0 | 0 | 0 | 120 / 70 / 10 | 2.3 s | 4.0 s |",
		"| Comment | healing | 100 % | 2 of 3 (66.7 %)"} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "| Comment | one attempt") {
		t.Error("what was not measured has a line")
	}
	width := strings.Count(strings.SplitN(got, "\n", 2)[0], "|")
	for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
		if strings.Count(line, "|") != width {
			t.Errorf("a line has another number of cells: %s", line)
		}
	}
}

func TestPut(t *testing.T) {
	t.Parallel()
	doc := "before\n" + markBegin + "\nold\n" + markEnd + "\nafter\n"
	got, err := Put(doc, "new\n")
	if err != nil || got != "before\n"+markBegin+"\n\nnew\n\n"+markEnd+"\nafter\n" {
		t.Errorf("%q, %v", got, err)
	}
	if again, err := Put(got, "new\n"); err != nil || again != got {
		t.Errorf("the second time it is %q, %v", again, err)
	}
	if _, err := Put("nothing", "new"); err == nil {
		t.Error("a document without marks was changed")
	}
}

// The chart is well-formed XML, every text is escaped, nothing lies outside of it, and both grounds have their colours.
func TestChart(t *testing.T) {
	t.Parallel()
	svg := Chart(entries())
	d := xml.NewDecoder(strings.NewReader(svg))
	var words strings.Builder
	bars := 0
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the chart is not well-formed: %v", err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if e.Name.Local == "rect" {
				bars++
			}
		case xml.CharData:
			words.Write(e)
		}
	}
	if bars != 4+3 { // what was not measured has no bar
		t.Errorf("%d bars", bars)
	}
	for _, want := range []string{"Play <a> & b", "60.0 %", "100.0 %", "62 %", "94 %", "prefers-color-scheme: dark"} {
		if !strings.Contains(words.String(), want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
	if wide(100) != plotRight-plotLeft || wide(0) != 0 {
		t.Error("the scale is wrong")
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if runs, err := Read(path); err != nil || runs != nil {
		t.Errorf("a log that is not there: %v, %v", runs, err)
	}
	runs := []Run{
		{Scenario: "b", Healing: true, Seed: 1, Number: 2, Said: true, Goal: 1},
		{Scenario: "a", Healing: true, Seed: 1, Number: 1}, {Scenario: "a", Healing: false, Seed: 2, Number: 1, Faults: map[string]string{"open": "late"}},
		{Scenario: "a", Healing: false, Seed: 1, Number: 9},
	}
	if err := Write(path, runs, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if want := []Run{runs[3], runs[2], runs[1], runs[0]}; err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v", got, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The same run again, and a line that was cut off.
	more := string(text) + `{"scenario":"a","seed":1,"number":9,"ms":5}` + "\n" + `{"scenario":"a","se`
	if err := os.WriteFile(path, []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err = Read(path); err != nil || len(got) != 4 || got[0].MS != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("rubbish\n"+more), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("rubbish in the middle was read")
	}
}
