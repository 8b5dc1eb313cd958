package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"toolsvc/store"
)

// Inspect finds what would keep Open from using the file, and leaves the directory as it was.
func TestInspect(t *testing.T) {
	t.Parallel()
	// made is a state directory with a store that the statements have changed.
	made := func(statements ...string) string {
		dir := t.TempDir()
		s, err := store.Open(t.Context(), dir, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, store.FileName))
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range statements {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	// overwritten is one with bytes of garbage from an offset on.
	overwritten := func(offset int64) string {
		dir := made()
		f, err := os.OpenFile(filepath.Join(dir, store.FileName), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		garbage := make([]byte, 8192)
		for i := range garbage {
			garbage[i] = byte(i*7 + 3)
		}
		if _, err := f.WriteAt(garbage, offset); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	foreign := made(`DROP TABLE schema_version`)
	for name, c := range map[string]struct {
		dir    string
		exists bool
		want   error
	}{
		"none":           {dir: t.TempDir()},
		"as it is now":   {dir: made(), exists: true},
		"later":          {dir: made(`UPDATE schema_version SET version = 1000`), exists: true, want: store.ErrSchema},
		"foreign":        {dir: foreign, exists: true, want: store.ErrSchema},
		"no database":    {dir: overwritten(0), exists: true, want: store.ErrCorrupt},
		"a damaged page": {dir: overwritten(3 * 4096), exists: true, want: store.ErrCorrupt},
	} {
		before, err := os.ReadDir(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := store.Inspect(t.Context(), c.dir)
		if !errors.Is(err, c.want) || c.want == nil && err != nil || got.Exists != c.exists || got.Latest == 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if c.want == nil && c.exists && got.Schema != got.Latest {
			t.Errorf("%s: %+v", name, got)
		}
		if after, err := os.ReadDir(c.dir); err != nil || len(after) != len(before) {
			t.Errorf("%s: %v became %v (%v)", name, before, after, err)
		}
	}

	dir := made(`UPDATE schema_version SET version = 1`)
	if got, err := store.Inspect(t.Context(), dir); err != nil || got.Schema != 1 || got.Schema >= got.Latest {
		t.Errorf("an older one: %+v, %v", got, err)
	}

	dir = t.TempDir() // and while it is used
	s, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := store.Inspect(t.Context(), dir); err != nil || got.Schema != got.Latest {
		t.Errorf("one in use: %+v, %v", got, err)
	}
}
