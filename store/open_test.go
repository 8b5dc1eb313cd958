package store_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"toolsvc/store"
)

// raw opens the file beside the store, as another program would.
func raw(t *testing.T, dir string) *sql.DB {
	t.Helper()
	driver, source := "sqlite", filepath.Join(dir, store.FileName)
	if url := store.URLFor(dir); url != "" {
		driver, source = "pgx", url
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if driver == "pgx" {
		execSQL(t, db, "CREATE SCHEMA IF NOT EXISTS "+store.SchemaFor(dir))
	}
	return db
}

func execSQL(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestOpenAgainFindsEverything(t *testing.T) {
	t.Parallel()
	onlySQLite(t)
	dir := filepath.Join(t.TempDir(), "not there yet", "50% of #1 ? & 상태")
	s := open(t, dir)
	appendNotes(t, s, "r", "k1", "k2")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); strings.Join(got, " ") != store.FileName {
		t.Errorf("after closing, the directory holds %v", got)
	}
	s = open(t, dir)
	if got := ids(all(t, s, "r")); got != "1=k1 2=k2" {
		t.Errorf("found %s", got)
	}
}

func TestStateIsPrivate(t *testing.T) {
	t.Parallel()
	onlySQLite(t)
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir)
	appendNotes(t, s, "r", "k1")
	if _, err := s.PutArtifact(t.Context(), "text/plain", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", store.FileName, store.FileName + "-wal", store.FileName + "-shm", "artifacts"} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%q has the mode %v", path, fs.FileMode(mode))
		}
	}
}

func TestManyOpenTheSameNewFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s, err := store.Open(t.Context(), dir, store.Options{URL: store.URLFor(dir)})
			if err != nil {
				t.Error(err)
				return
			}
			appendNotes(t, s, "r", "k1")
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOpenRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	type spoilt struct {
		spoil func(*testing.T, string)
		want  error
		say   string
	}
	cases := map[string]spoilt{
		"newer schema": {func(t *testing.T, dir string) {
			open(t, dir)
			execSQL(t, raw(t, dir), `UPDATE schema_version SET version = 99`)
		}, store.ErrSchema, "version 99"},
		"two versions": {func(t *testing.T, dir string) {
			open(t, dir)
			execSQL(t, raw(t, dir), `INSERT INTO schema_version VALUES (1)`)
		}, store.ErrCorrupt, "makes no sense"},
		"another program's": {func(t *testing.T, dir string) {
			execSQL(t, raw(t, dir), `CREATE TABLE bookmarks (url TEXT)`)
		}, store.ErrSchema, "another program"},
	}
	files := map[string]spoilt{
		"no database": {func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, store.FileName), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, store.ErrCorrupt, store.FileName},
		"a directory": {func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, store.FileName), 0o700); err != nil {
				t.Fatal(err)
			}
		}, nil, "is a directory"},
	}
	if store.PostgresURL == "" {
		maps.Copy(cases, files)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.spoil(t, dir)
			s, err := store.Open(t.Context(), dir, store.Options{URL: store.URLFor(dir)})
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if (c.want != nil && !errors.Is(err, c.want)) || !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), cmp.Or(map[bool]string{true: store.SchemaFor(dir)}[store.PostgresURL != ""], dir)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestLockedByAnotherProgram(t *testing.T) {
	t.Parallel()
	onlySQLite(t)
	dir := t.TempDir()
	s := open(t, dir, store.Options{BusyTimeout: 30 * time.Millisecond})
	appendNotes(t, s, "r", "k1")
	db := raw(t, dir)
	db.SetMaxOpenConns(1)
	execSQL(t, db, `BEGIN IMMEDIATE`)
	_, err := s.AppendEvents(t.Context(), "r", []store.Event{note("k2")})
	if !errors.Is(err, store.ErrLocked) {
		t.Errorf("append: %v", err)
	}
	if err := s.MarkDispatch(t.Context(), mark("r", "c", 1)); !errors.Is(err, store.ErrLocked) {
		t.Errorf("mark: %v", err)
	}
	if got := ids(all(t, s, "r")); got != "1=k1" { // readers are not held up
		t.Errorf("read %s", got)
	}
	execSQL(t, db, `COMMIT`)
	if got := ids(appendNotes(t, s, "r", "k2")); got != "2=k2" {
		t.Errorf("afterwards: %s", got)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	_, appending := s.AppendEvents(ctx, "r", []store.Event{note("k")})
	_, reading := s.Events(ctx, "r", 0, 1)
	_, _, finding := s.Dispatch(ctx, "c", 1)
	_, _, claiming := s.ClaimKey(ctx, "k", "c", "r", "d")
	_, putting := s.PutArtifact(ctx, "text/plain", nil)
	_, purging := s.Purge(ctx, noon)
	for name, err := range map[string]error{"append": appending, "read": reading, "mark": s.MarkDispatch(ctx, mark("r", "c", 1)), "find": finding, "claim": claiming, "put": putting, "purge": purging} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCancelledContext(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.AppendEvents(ctx, "r", []store.Event{note("k")}); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	if err := s.MarkDispatch(ctx, mark("r", "c", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("mark: %v", err)
	}
	if _, found, err := s.Dispatch(t.Context(), "c", 1); found || err != nil {
		t.Errorf("marked: %v, %v", found, err)
	}
	appendNotes(t, s, "r", "k")
}
