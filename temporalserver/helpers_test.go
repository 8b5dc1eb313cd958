package temporalserver_test

import (
	"database/sql"
	"fmt"
	"net"
	"testing"

	"go.temporal.io/sdk/worker"
	_ "modernc.org/sqlite"
)

func workerOptions() worker.Options { return worker.Options{} }

// listenAddress takes a loopback port until the test ends.
func listenAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l.Addr().String()
}

func listenSomewhere(t *testing.T) (port int) {
	t.Helper()
	_, err := fmt.Sscanf(listenAddress(t), "127.0.0.1:%d", &port)
	must(t, err)
	return port
}

// execute runs statements on a database file.
func execute(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	_, err = db.Exec(statements)
	must(t, err)
}
