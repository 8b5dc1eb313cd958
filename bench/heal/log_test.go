package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "heal.jsonl")
	if ts, err := readLog(path); err != nil || len(ts) != 0 {
		t.Fatalf("of no log: %v, %v", ts, err)
	}
	write := func(lines ...string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"case":"a","healing":true,"number":1,"ms":5}`, ``, `{"case":"a","healing":false,"number":1}`, `{"case":"b","healing":true,"number":1,"broken":"no browser"}`,
		`{"case":"a","healing":true,"number":1,"ms":7}`)
	ts, err := readLog(path)
	if err != nil || len(ts) != 2 || ts[0].key() != "a/true/1" || ts[0].MS != 7 || ts[1].key() != "a/false/1" {
		t.Errorf("%+v, %v", ts, err)
	}
	write(`{"case":"a"}`, `{"case":`)
	if _, err := readLog(path); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("of a line that was cut off: %v", err)
	}
}
