package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A worker keeps its name over a restart; two state directories never have the same one.
func TestWorkerName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), nameFile)
	one, err := workerName(path)
	if err != nil || one == "" || notInNames.MatchString(one) {
		t.Fatalf("%q, %v", one, err)
	}
	if again, err := workerName(path); err != nil || again != one {
		t.Errorf("%q, then %q, %v", one, again, err)
	}
	if other, err := workerName(filepath.Join(t.TempDir(), nameFile)); err != nil || other == one {
		t.Errorf("%q twice, %v", other, err)
	}
	if err := os.WriteFile(path, []byte("not/a name\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if mended, err := workerName(path); err != nil || strings.Contains(mended, "/") {
		t.Errorf("%q, %v", mended, err)
	}
}

func TestSharedStoreNeedsASharedKey(t *testing.T) {
	t.Setenv(SealKeyVariable, "")
	if err := Shareable("postgres://h/d"); err == nil || !strings.Contains(err.Error(), SealKeyVariable) {
		t.Errorf("without a key: %v", err)
	}
	if err := Shareable(""); err != nil {
		t.Errorf("one machine: %v", err)
	}
	t.Setenv(SealKeyVariable, "x")
	if err := Shareable("postgres://h/d"); err != nil {
		t.Errorf("with a key: %v", err)
	}
}
