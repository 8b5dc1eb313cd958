package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

func newStore(t *testing.T) *Store {
	t.Helper()
	return newStoreIn(t, t.TempDir())
}

func newStoreIn(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, Options{URL: URLFor(dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A full disk is an error that says so; nothing is half-stored, and everything goes on when there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if PostgresURL != "" {
		t.Skip("about SQLite's file")
	}
	s, ctx := newStore(t), t.Context()
	data, err := json.Marshal(strings.Repeat("x", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	event := func(key string) []Event { return []Event{{Kind: "k", Key: key, Data: data, At: time.Now()}} }
	if _, err := s.AppendEvents(ctx, "r", event("1")); err != nil {
		t.Fatal(err)
	}
	limit := func(pages string) {
		t.Helper()
		for _, pool := range []*sql.DB{s.events, s.durable} {
			var now int
			if err := pool.QueryRowContext(ctx, "PRAGMA max_page_count = "+pages).Scan(&now); err != nil {
				t.Fatal(err)
			}
		}
	}
	limit("1") // SQLite takes the present size instead: full
	if _, err := s.AppendEvents(ctx, "r", append(event("2"), event("3")...)); !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("append: %v", err)
	}
	if err := s.MarkDispatch(ctx, Mark{RunID: "r", CallID: "c", Attempt: 1, At: time.Now(), Evidence: data}); !errors.Is(err, ErrDiskFull) {
		t.Errorf("mark: %v", err)
	}
	if _, found, err := s.Dispatch(ctx, "c", 1); err != nil || found {
		t.Errorf("a mark that failed: %v, %v", found, err)
	}
	limit("1000000")
	out, err := s.AppendEvents(ctx, "r", event("3"))
	if err != nil || out[0].ID != 2 {
		t.Errorf("afterwards: %+v, %v", out, err)
	}
}

func TestKindOfFileErrors(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]error{
		syscall.ENOSPC: ErrDiskFull, syscall.EDQUOT: ErrDiskFull, syscall.EACCES: ErrUnavailable, syscall.EROFS: ErrUnavailable,
		syscall.EIO: ErrUnavailable, syscall.ENOENT: nil,
	} {
		if got := kindOf(fmt.Errorf("put: %w", err)); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}

// What decides after a loss of power is flushed to the disk at each commit; SQLite calls that level 2.
func TestDurability(t *testing.T) {
	t.Parallel()
	if PostgresURL != "" {
		t.Skip("about SQLite's file")
	}
	s := newStore(t)
	for name, c := range map[string]struct {
		pool *sql.DB
		want int
	}{"marks and claims": {s.durable, 2}, "events": {s.events, 1}} {
		var level int
		var mode string
		if err := errors.Join(c.pool.QueryRow(`PRAGMA synchronous`).Scan(&level), c.pool.QueryRow(`PRAGMA journal_mode`).Scan(&mode)); err != nil {
			t.Fatal(err)
		}
		if level != c.want || mode != "wal" {
			t.Errorf("%s: synchronous = %d, want %d; journal mode %s", name, level, c.want, mode)
		}
	}
}

// Close waits for the transaction under way, which is stored whole.
func TestCloseWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newStoreIn(t, dir)
	began, goOn, wrote, closed := make(chan bool), make(chan bool), make(chan error, 1), make(chan error, 1)
	go func() {
		wrote <- s.write(t.Context(), s.events, func(tx *sql.Tx) error {
			_, err := touch(t.Context(), tx, "r", time.Now())
			close(began)
			<-goOn
			return err
		})
	}()
	<-began
	go func() { closed <- s.Close() }()
	<-s.closing
	select {
	case err := <-closed:
		t.Errorf("closed during a transaction: %v", err)
	default:
	}
	close(goOn)
	if err := errors.Join(<-wrote, <-closed); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), dir, Options{URL: URLFor(dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var runs int
	if err := again.read.QueryRow(`SELECT COUNT(*) FROM runs`).Scan(&runs); err != nil || runs != 1 {
		t.Errorf("%d runs, %v", runs, err)
	}
}

// What an earlier version wrote is brought up to date, once, and all or nothing.
func TestMigrateForward(t *testing.T) {
	t.Parallel()
	s, ctx := newStore(t), t.Context()
	if _, err := s.AppendEvents(ctx, "r", []Event{{Kind: "k", Key: "1", Data: []byte(`{}`), At: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	to := func(scripts []string) error {
		return s.write(ctx, s.events, func(tx *sql.Tx) error { return migrate(ctx, tx, s.path, scripts) })
	}
	version := func() (v int) {
		t.Helper()
		if err := s.read.QueryRowContext(ctx, `SELECT version FROM schema_version`).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	now := len(migrations)
	more := append(migrations[:now:now], `CREATE TABLE more (a TEXT); INSERT INTO more VALUES ('x')`, `CREATE INDEX more_by_a ON more (a)`)
	broken := append(more[:now+1:now+1], `CREATE TABLE third (a TEXT); CREATE TABLE no such thing`)
	if err := to(broken); err == nil || !strings.Contains(err.Error(), fmt.Sprint("version ", now+2)) {
		t.Errorf("a broken migration: %v", err)
	}
	if version() != now {
		t.Errorf("a broken migration left version %d", version())
	}
	for range 2 {
		if err := to(more); err != nil || version() != now+2 {
			t.Fatalf("version %d, %v", version(), err)
		}
	}
	if events, err := s.Events(ctx, "r", 0, 0); err != nil || len(events) != 1 {
		t.Errorf("after the migration: %v, %v", events, err)
	}
	if err := to(migrations); !errors.Is(err, ErrSchema) {
		t.Errorf("the earlier version on the later file: %v", err)
	}
}

// Nobody polls the database while nobody watches.
func TestPollingEndsWithTheLastWatcher(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, leaveA := s.hub.join("a")
	_, leaveB := s.hub.join("b")
	leaveA()
	if s.hub.stopPoll == nil {
		t.Error("polling ended although somebody watches")
	}
	leaveB()
	s.hub.polling.Wait()
	if s.hub.stopPoll != nil || len(s.hub.watchers) != 0 {
		t.Error("polling goes on, or a watcher was forgotten")
	}
	if stats := s.read.Stats(); stats.InUse != 0 {
		t.Errorf("%d connections were not given back", stats.InUse)
	}
}
