package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"toolsvc/store"
	"toolsvc/store/postgrestest"
)

// What a person reads or a log keeps never holds the password, whatever is wrong with the URL, the server or the statement.
func TestPasswordIsNeverTold(t *testing.T) {
	t.Parallel()
	const password = "hunter2%zz" // not a proper escape
	for name, url := range map[string]string{
		"nobody listens":    "postgres://u:hunter2@127.0.0.1:1/d?connect_timeout=1",
		"in the query":      "postgres://u@127.0.0.1:1/d?password=hunter2&connect_timeout=1",
		"not a URL":         "postgres://u:" + password + "@127.0.0.1:1/d",
		"a wrong parameter": "postgres://u:hunter2@127.0.0.1:1/d?sslmode=hunter2",
		"a wrong schema":    "postgres://u:hunter2@127.0.0.1:1/d?search_path=a;b",
		"too many":          "postgres://u:hunter2@127.0.0.1:1/d?pool_max_conns=1000000",
		"another scheme":    "mysql://u:hunter2@127.0.0.1:1/d",
		"keywords":          "host=127.0.0.1 password=hunter2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := store.Open(t.Context(), t.TempDir(), store.Options{URL: url})
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in %q", err)
			}
			if want := map[bool]error{true: store.ErrUnavailable, false: store.ErrInvalid}[name == "nobody listens" || name == "in the query"]; !errors.Is(err, want) {
				t.Errorf("%q is not %q", err, want)
			}
		})
	}
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	onlyPostgres(t)
	at := strings.Index(store.PostgresURL, "@")
	_, err := store.Open(t.Context(), t.TempDir(), store.Options{URL: "postgres://toolsvc:not-this-one" + store.PostgresURL[at:]})
	if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "not-this-one") || !strings.Contains(err.Error(), "toolsvc@127.0.0.1") {
		t.Errorf("the error is %v", err)
	}
}

// A lock that another program holds ends a write after the busy timeout, with nothing written; readers are not held up.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	onlyPostgres(t)
	dir := t.TempDir()
	s := open(t, dir, store.Options{BusyTimeout: 50 * time.Millisecond})
	appendNotes(t, s, "r", "k1")
	tx, err := raw(t, dir).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`LOCK TABLE runs IN SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AppendEvents(t.Context(), "r", []store.Event{note("k2")}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("append: %v", err)
	}
	if err := s.MarkDispatch(t.Context(), mark("r", "c", 1)); !errors.Is(err, store.ErrLocked) {
		t.Errorf("mark: %v", err)
	}
	if got := ids(all(t, s, "r")); got != "1=k1" {
		t.Errorf("read %s", got)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := ids(appendNotes(t, s, "r", "k2")); got != "2=k2" {
		t.Errorf("afterwards: %s", got)
	}
}

// A purge and an append to the same old run never leave a run with a gap: either the event goes with the old ones, or it stands alone under
// its own number.
func TestPurgeLeavesWhatIsBeingUsed(t *testing.T) {
	t.Parallel()
	onlyPostgres(t)
	dir := t.TempDir()
	s := open(t, dir)
	appendNotes(t, s, "used", "k1")
	appendNotes(t, s, "old", "k1")
	tx, err := raw(t, dir).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(`UPDATE runs SET active_at = '2099-01-01T00:00:00.000000000Z' WHERE run_id = 'used'`); err != nil {
		t.Fatal(err)
	}
	p, err := s.Purge(t.Context(), noon.Add(time.Hour))
	if err != nil || p.Runs != 1 {
		t.Errorf("purged %+v, %v", p, err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := ids(all(t, s, "used")); got != "1=k1" {
		t.Errorf("the run in use has %s", got)
	}
}

// The settings that bound every connection are those of the server's session.
func TestSessionIsBounded(t *testing.T) {
	t.Parallel()
	onlyPostgres(t)
	dir := t.TempDir()
	open(t, dir)
	rows := raw(t, dir)
	// What the store's own connections have shows in their effect: a statement that takes longer than the URL allows is ended.
	s, err := store.Open(t.Context(), dir, store.Options{URL: store.URLFor(dir) + "&statement_timeout=50&pool_max_conns=2"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tx, err := rows.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec(`LOCK TABLE events IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Events(t.Context(), "r", 0, 1); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a read that waits is ended with %v", err)
	}
}

// A server that was killed and runs again finds the store going on: what was confirmed is there, numbers go on, watchers are told that there
// was an outage, and new ones hear of appends.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	onlyPostgres(t)
	pg, err := postgrestest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pg.Stop(); err != nil {
			t.Error(err)
		}
	})
	dir := t.TempDir()
	here := open(t, dir, store.Options{URL: pg.URL})
	there := open(t, dir, store.Options{URL: pg.URL})
	for n := range 5 {
		appendNotes(t, here, "r", fmt.Sprint("k", n))
	}
	ended := make(chan error, 1)
	began := make(chan bool, 10)
	go func() {
		for _, err := range there.Watch(t.Context(), "r", 0) {
			if err != nil {
				ended <- err
				return
			}
			began <- true
		}
		ended <- nil
	}()
	receive(t, began)
	if err := pg.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := here.AppendEvents(t.Context(), "r", []store.Event{note("lost")}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("without a server: %v", err)
	}
	if err := here.Reach(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("without a server it is reached: %v", err)
	}
	if err := receive(t, ended); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the watcher ended with %v", err)
	}
	if err := pg.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := collect(t.Context(), there, "r", 0, 6)
	if err := here.Reach(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if got := ids(appendNotes(t, here, "r", "k5")); got != "6=k5" {
		t.Errorf("afterwards: %s", got)
	}
	if got := receive(t, seen); len(got) != 6 {
		t.Errorf("the watcher saw %s", ids(got))
	}
	if got := len(all(t, there, "r")); got != 6 {
		t.Errorf("%d events", got)
	}
}
