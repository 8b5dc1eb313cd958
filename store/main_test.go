package store_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"toolsvc/store"
	"toolsvc/store/postgrestest"
)

// The test binary runs itself again as another process that writes to the same state directory.
const (
	envRole = "STORE_TEST_ROLE"
	envDir  = "STORE_TEST_DIR"
	envName = "STORE_TEST_NAME"
	envMany = "STORE_TEST_MANY" // 0: until killed
	envURL  = "STORE_TEST_URL"  // "": SQLite
)

func TestMain(m *testing.M) {
	role := os.Getenv(envRole)
	if role == "" {
		os.Exit(passes(m))
	}
	many, err := strconv.Atoi(os.Getenv(envMany))
	if err == nil {
		err = writer(role, os.Getenv(envDir), os.Getenv(envName), many)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// passes runs all tests twice: with SQLite, and with PostgreSQL where this machine has it.
func passes(m *testing.M) (code int) {
	code = m.Run()
	pg, err := postgrestest.Start(context.Background())
	if errors.Is(err, postgrestest.ErrNotInstalled) {
		fmt.Println("PostgreSQL's pass is left out:", err)
		return code
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() {
		if err := pg.Stop(); err != nil {
			fmt.Println(err)
			code = max(code, 1)
		}
	}()
	fmt.Println("the same with PostgreSQL:")
	store.PostgresURL = pg.URL
	return max(code, m.Run())
}

// onlySQLite skips what is about files in PostgreSQL's pass, and onlyPostgres the other way round.
func onlySQLite(t *testing.T) {
	t.Helper()
	if store.PostgresURL != "" {
		t.Skip("about SQLite's file")
	}
}

func onlyPostgres(t *testing.T) {
	t.Helper()
	if store.PostgresURL == "" {
		t.Skip("about PostgreSQL")
	}
}

// writer writes until it has written many times, and prints a line for each write that the store has confirmed.
func writer(role, dir, name string, many int) error {
	ctx := context.Background()
	s, err := store.Open(ctx, dir, store.Options{URL: os.Getenv(envURL)})
	if err != nil {
		return err
	}
	for n := 1; many == 0 || n <= many; n++ {
		switch role {
		case "append": // batches of 1 to 3 events, to one of two runs
			run := []string{"r_one", "r_two"}[n%2]
			var batch []store.Event
			for i := range 1 + n%3 {
				batch = append(batch, note(fmt.Sprintf("%s-%d-%d", name, n, i)))
			}
			out, err := s.AppendEvents(ctx, run, batch)
			if err != nil {
				return err
			}
			for _, e := range out {
				fmt.Println(run, e.ID, e.Key)
			}
		case "mark":
			m := mark("r_one", name+"-"+strconv.Itoa(n), 1)
			if err := s.MarkDispatch(ctx, m); err != nil {
				return err
			}
			fmt.Println(m.CallID)
		case "claim":
			claim, won, err := s.ClaimKey(ctx, "key-"+strconv.Itoa(n), name, "r_one", "sha256:args")
			if err != nil {
				return err
			}
			fmt.Println(claim.Key, claim.CallID, won)
		default:
			return fmt.Errorf("no role %q", role)
		}
	}
	return s.Close()
}

// process is another process that writes.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, role, dir, name string, many int) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), envRole+"="+role, envDir+"="+dir, envName+"="+name, envMany+"="+strconv.Itoa(many), envURL+"="+store.URLFor(dir))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return &process{t, cmd, bufio.NewScanner(out)}
}

// read returns the next n lines; all lines to the end of the process for n < 0.
func (p *process) read(n int) (lines [][]string) {
	for n < 0 || len(lines) < n {
		if !p.lines.Scan() {
			if n >= 0 {
				p.t.Errorf("the process ended after %d of %d lines", len(lines), n)
			}
			break
		}
		lines = append(lines, strings.Fields(p.lines.Text()))
	}
	return lines
}

// kill ends the process as kill -9 does, in the middle of whatever it is doing, and returns the lines that it had still written.
func (p *process) kill() [][]string {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	rest := p.read(-1)
	if err := p.cmd.Wait(); err == nil {
		p.t.Error("the process ended before it was killed")
	}
	return rest
}

func (p *process) wait() {
	p.t.Helper()
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the other process: %v", err)
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)

// note is an event whose data repeats its key at both ends, so that a torn one would show.
func note(key string) store.Event {
	data, err := json.Marshal(map[string]string{"a": key, "pad": strings.Repeat("…", 500), "z": key})
	if err != nil {
		panic(err)
	}
	return store.Event{Kind: store.KindNarration, Key: key, Data: data, At: noon}
}

func mark(run, call string, attempt int) store.Mark {
	return store.Mark{RunID: run, CallID: call, Attempt: attempt, At: noon, Evidence: []byte(strings.Repeat(call+"\x00\xff", 200))}
}

func open(t testing.TB, dir string, options ...store.Options) *store.Store {
	t.Helper()
	var o store.Options
	if len(options) > 0 {
		o = options[0]
	}
	o.URL = cmp.Or(o.URL, store.URLFor(dir))
	s, err := store.Open(t.Context(), dir, o)
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

func appendNotes(t testing.TB, s *store.Store, run string, keys ...string) []store.Event {
	t.Helper()
	var events []store.Event
	for _, k := range keys {
		events = append(events, note(k))
	}
	out, err := s.AppendEvents(t.Context(), run, events)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// all reads every event of the run, and checks what must hold of any run: dense numbers, unique keys, whole data.
func all(t testing.TB, s *store.Store, run string) []store.Event {
	t.Helper()
	var events []store.Event
	for {
		page, err := s.Events(t.Context(), run, int64(len(events)), 0)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, page...)
		if len(page) == 0 {
			break
		}
	}
	checkRun(t, run, events)
	return events
}

func checkRun(t testing.TB, run string, events []store.Event) {
	t.Helper()
	keys := map[string]int64{}
	for i, e := range events {
		if e.ID != int64(i+1) {
			t.Fatalf("run %s: event %d stands in place %d", run, e.ID, i+1)
		}
		if keys[e.Key] != 0 {
			t.Fatalf("run %s: events %d and %d have the key %q", run, keys[e.Key], e.ID, e.Key)
		}
		keys[e.Key] = e.ID
		if want := note(e.Key); string(e.Data) != string(want.Data) || e.RunID != run || !e.At.Equal(want.At) || e.Kind != want.Kind {
			t.Fatalf("run %s: event %d is not what was appended: %+v", run, e.ID, e)
		}
	}
}

// files lists the files under dir, by their paths in it.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func ids(events []store.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%d=%s ", e.ID, cmp.Or(e.Key, "?"))
	}
	return strings.TrimSpace(b.String())
}
