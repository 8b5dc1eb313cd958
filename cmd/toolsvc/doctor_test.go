package main

import (
	"database/sql"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// doctor says of each thing that would keep serve from starting what it is, and what to do about it.
func TestDoctorExplainsWhatKeepsServeFromStarting(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free := "serve:\n  http: 127.0.0.1:0\n  grpc: 127.0.0.1:0\n"
	file := func(name string, fill func(path string)) string {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		fill(filepath.Join(dir, name))
		return dir
	}
	garbage := func(path string) {
		if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	made := func(statements string) func(path string) {
		return func(path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec(statements); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		dir, config string
		status      int
		want        []string
	}{
		"nothing": {config: free, want: []string{"ok       Store      a file in the state directory; made by the first start", "ok       Ports      127.0.0.1:0 and 127.0.0.1:0 are free"}},
		"a port that is taken": {config: strings.Replace(free, "http: 127.0.0.1:0", "http: "+taken.Addr().String(), 1),
			want: []string{"missing  Ports      " + taken.Addr().String() + " (--http): address already in use", "→ end the program"}},
		"a wrong value of serve": {config: free + "  drain: soon\n", status: exitInfrastructure, want: []string{"missing  Config     serve: --drain", "in the configuration", "toolsvc serve --help"}},
		"an older store": {dir: file("toolsvc.db", made("CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (1)")), config: free,
			want: []string{"ok       Store      a file in the state directory, of schema version 1; the next start brings it to"}},
		"a later store": {dir: file("toolsvc.db", made("CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (1000)")), config: free,
			status: exitInfrastructure, want: []string{"missing  Store", "has version 1000", "use the toolsvc that wrote it"}},
		"a damaged store": {dir: file("toolsvc.db", garbage), config: free, status: exitInfrastructure, want: []string{"missing  Store", "damaged", "backup"}},
		"a Temporal of another schema": {dir: file("temporal/temporal.db", made("CREATE TABLE namespaces (id); CREATE TABLE toolsvc_schema (stamp TEXT, server TEXT, created TEXT); INSERT INTO toolsvc_schema VALUES ('Temporal SQLite schema 0.1', '', '')")),
			config: free, status: exitInfrastructure, want: []string{"missing  Temporal", "was made with Temporal SQLite schema 0.1", "move the file away"}},
		"a damaged Temporal": {dir: file("temporal/temporal.db", garbage), config: free, status: exitInfrastructure, want: []string{"missing  Temporal", "damaged", "move the file away"}},
	} {
		if c.dir == "" {
			c.dir = t.TempDir()
		}
		status, out, diag := invoke(t, "--state-dir", c.dir, "--config", write(t, "config.yaml", c.config), "doctor")
		if status != c.status {
			t.Errorf("%s: status %d, want %d\n%s%s", name, status, c.status, out, diag)
		}
		for _, w := range c.want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: without %q:\n%s%s", name, w, out, diag)
			}
		}
	}
}
