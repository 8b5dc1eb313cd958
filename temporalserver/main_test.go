package temporalserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"toolsvc/temporalclient"
	"toolsvc/temporalserver"
)

// childDir in the environment makes this binary a server process on that state directory, for tests that kill it.
const childDir = "TOOLSVC_TEST_TEMPORAL_DIR"

// shared is the server that tests use which do not start or stop one.
var shared *temporalserver.Server

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		serveAsChild(dir)
	}
	// Temporal's own settings on this machine must not reach the tests.
	for _, name := range []string{"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_API_KEY", "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE", "TEMPORAL_TLS"} {
		os.Unsetenv(name)
	}
	os.Exit(runShared(m))
}

func runShared(m *testing.M) int {
	dir, err := os.MkdirTemp("", "temporalserver")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shared, err = temporalserver.Start(ctx, temporalserver.Options{StateDir: dir, SearchAttributes: temporalclient.SearchAttributes(), Logger: testLogger()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// testLogger shows the errors of the servers on standard error.
func testLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// serveAsChild runs a server until standard input closes (a clean stop) or the process is killed. It prints its endpoint as one line.
func serveAsChild(dir string) {
	exit := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s, err := temporalserver.Start(context.Background(), temporalserver.Options{StateDir: dir, SearchAttributes: temporalclient.SearchAttributes(), Logger: testLogger()})
	if err != nil {
		exit(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(temporalclient.Endpoint{PID: os.Getpid(), Address: s.Address(), UIURL: s.UIURL()}); err != nil {
		exit(err)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		exit(err)
	}
	if err := s.Stop(); err != nil {
		exit(err)
	}
	os.Exit(0)
}

// child is a server process.
type child struct {
	temporalclient.Endpoint
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	done  bool
}

// startChild starts a server process and waits until it serves.
func startChild(t testing.TB, dir string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	c := &child{t: t, cmd: cmd, stdin: stdin}
	t.Cleanup(c.kill)
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	must(t, err)
	must(t, json.Unmarshal(line, &c.Endpoint))
	return c
}

// kill ends the process with SIGKILL and waits for it.
func (c *child) kill() {
	if c.done {
		return
	}
	c.done = true
	must(c.t, c.cmd.Process.Kill())
	_ = c.cmd.Wait() // says that it was killed
}

// stop ends the process cleanly.
func (c *child) stop() {
	c.done = true
	must(c.t, c.stdin.Close())
	must(c.t, c.cmd.Wait())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start runs a server of the test's own and stops it at the end.
func start(t testing.TB, o temporalserver.Options) *temporalserver.Server {
	t.Helper()
	if o.Logger == nil {
		o.Logger = testLogger()
	}
	s, err := temporalserver.Start(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Stop()) })
	return s
}

// dial connects to an address and closes the connection at the end.
func dial(t testing.TB, address string) *temporalclient.Conn {
	t.Helper()
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Address: address, Direct: true,
		Logger: slog.New(slog.DiscardHandler)}) // tests stop servers under their clients
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

var queues atomic.Int64

// startWorker runs a worker for the sample workflows on a task queue of the test's own.
func startWorker(t testing.TB, c client.Client) (queue string) {
	t.Helper()
	queue = fmt.Sprintf("queue-%d-%d", os.Getpid(), queues.Add(1))
	startWorkerOn(t, c, queue, worker.Options{})
	return queue
}

func startWorkerOn(t testing.TB, c client.Client, queue string, o worker.Options) {
	t.Helper()
	w := worker.New(c, queue, o)
	register(w)
	must(t, w.Start())
	t.Cleanup(w.Stop)
}
