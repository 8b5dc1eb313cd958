package temporalserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/log/tag"
)

// A start that is broken off while the schema is made leaves an empty database, which the next start completes.
func TestHalfMadeSchemaIsNeverLeft(t *testing.T) {
	t.Parallel()
	db := database{path: filepath.Join(t.TempDir(), databaseName)}
	ctx := t.Context()
	if err := db.create(); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the power went")
	err := db.use(ctx, func(conn *sql.Conn) error { // as prepare does, up to the commit
		if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		return errors.Join(db.makeOrCheck(ctx, conn), broken)
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	for range 2 { // the second time finds it complete
		if err := db.prepare(ctx); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(db.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the database has mode %v (%v), want 0600", info.Mode(), err)
	}
}

func TestAssignColumns(t *testing.T) {
	t.Parallel()
	keyword, boolean := enums.INDEXED_VALUE_TYPE_KEYWORD, enums.INDEXED_VALUE_TYPE_BOOL
	many := map[string]enums.IndexedValueType{}
	for i := range 4 {
		many[fmt.Sprintf("Flag%d", i)] = boolean
	}
	for name, c := range map[string]struct {
		assigned map[string]string
		wanted   map[string]enums.IndexedValueType
		want     map[string]string
		err      string
	}{
		"nothing wanted":      {nil, nil, map[string]string{}, ""},
		"new":                 {nil, map[string]enums.IndexedValueType{"B": keyword, "A": keyword, "C": boolean}, map[string]string{"Keyword01": "A", "Keyword02": "B", "Bool01": "C"}, ""},
		"kept":                {map[string]string{"Keyword01": "B"}, map[string]enums.IndexedValueType{"B": keyword}, map[string]string{"Keyword01": "B"}, ""},
		"beside others":       {map[string]string{"Keyword01": "X", "Keyword03": "Y"}, map[string]enums.IndexedValueType{"A": keyword, "B": keyword}, map[string]string{"Keyword01": "X", "Keyword02": "A", "Keyword03": "Y", "Keyword04": "B"}, ""},
		"another type":        {map[string]string{"Keyword01": "A"}, map[string]enums.IndexedValueType{"A": boolean}, nil, "A exists as a Keyword and is wanted as a Bool"},
		"more than there are": {nil, many, nil, "no room for search attribute Flag3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := maps.Clone(c.assigned)
			got, err := assignColumns(c.assigned, c.wanted)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || !maps.Equal(got, c.want) {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
			if !maps.Equal(c.assigned, before) {
				t.Error("the argument was changed")
			}
		})
	}
}

// recorder is a slog handler that keeps the messages.
type recorder struct {
	slog.Handler
	lines *[]string
}

func (r recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r recorder) Handle(_ context.Context, record slog.Record) error {
	line := record.Level.String() + " " + record.Message
	record.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	*r.lines = append(*r.lines, line)
	return nil
}

func TestServerLogger(t *testing.T) {
	t.Parallel()
	var lines []string
	failures := newFailures()
	var muted atomic.Bool
	l := serverLogger{out: slog.New(recorder{lines: &lines}), level: slog.LevelWarn, fatal: failures.report, muted: &muted}
	l.Info("too quiet")
	l.Error("caller went away", tag.Error(fmt.Errorf("write: %w", context.Canceled)))
	l.With(tag.WorkflowID("w")).Warn("heard", tag.Error(errors.New("why")))
	cause := errors.New("port taken")
	ended := make(chan bool)
	go func() {
		defer close(ended)
		l.Fatal("cannot listen", tag.Error(cause))
		ended <- true // Fatal returned
	}()
	if <-ended {
		t.Error("Fatal returned")
	}
	muted.Store(true)
	l.Error("muted")
	want := []string{"WARN caller went away component=temporal-server error=write: context canceled", "WARN heard component=temporal-server wf-id=w error=why", "ERROR cannot listen component=temporal-server error=port taken"}
	if !slices.Equal(lines, want) {
		t.Errorf("logged %q, want %q", lines, want)
	}
	if err := <-failures.first; !errors.Is(err, ErrServerFailed) || !errors.Is(err, cause) || !strings.Contains(err.Error(), "cannot listen") {
		t.Errorf("reported %v; want the message and its cause", err)
	}
}

func TestFailuresKeepTheFirst(t *testing.T) {
	t.Parallel()
	f := newFailures()
	first, second := errors.New("first"), errors.New("second")
	f.report(first)
	f.report(second)
	if got := <-f.first; got != first {
		t.Errorf("got %v, want the first", got)
	}
	f.report(second)
	f.forget()
	f.report(second)
	if got := <-f.first; got != second {
		t.Errorf("after forget: got %v, want the next one", got)
	}
}

func TestPortsAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"127.0.0.1:7233": 7233, "": 0, "127.0.0.1": 0, "127.0.0.1:http": 0, "127.0.0.1:70000": 0, "[::1]:1": 1} {
		if got := portOf(text); got != want {
			t.Errorf("portOf(%q) = %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int{"http://127.0.0.1:8233": 8233, "": 0, "http://127.0.0.1": 0, ":": 0} {
		if got := portOfURL(text); got != want {
			t.Errorf("portOfURL(%q) = %d, want %d", text, got, want)
		}
	}
}

// Someone takes a port between its being found free and its use. The server calls that fatal; here it is an error, and the process and
// the state directory stay usable.
func TestPortTakenMeanwhile(t *testing.T) {
	t.Parallel()
	db := database{path: filepath.Join(t.TempDir(), databaseName)}
	if err := db.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	sql := sqlConfig(db)
	if err := ensureNamespace(t.Context(), sql, "default", nil, 0); err != nil {
		t.Fatal(err)
	}
	failures := newFailures()
	logger := serverLogger{out: slog.New(slog.DiscardHandler), level: slog.LevelError, fatal: failures.report, muted: new(atomic.Bool)}
	for name, pick := range map[string]func(ports) int{
		"frontend": func(p ports) int { return p.frontend },
		"history":  func(p ports) int { return p.history },
		"worker":   func(p ports) int { return p.worker },
	} {
		p, err := reservePorts(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		taken, err := listen("the test", pick(p), 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = startServices(t.Context(), serverConfig(sql, p), hosts(p), logger)
		if !errors.Is(err, syscall.EADDRINUSE) || !errors.Is(err, ErrServerFailed) {
			t.Errorf("port of the %s taken: %v; want ErrServerFailed for an address in use", name, err)
		}
		failures.forget()
		if err := taken.Close(); err != nil {
			t.Error(err)
		}
	}
	p, err := reservePorts(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := startServices(t.Context(), serverConfig(sql, p), hosts(p), logger)
	if err != nil {
		t.Fatalf("with free ports: %v", err)
	}
	if err := waitServing(t.Context(), hostPort(p.frontend), "default", failures); err != nil {
		t.Error(err)
	}
	if err := s.stop(stopWithin); err != nil {
		t.Error(err)
	}
}
