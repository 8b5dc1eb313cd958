// Package mcptest tries toolsvc with real MCP clients and servers from npm (package-lock.json pins them): the conformance suite, the
// TypeScript SDK in both versions, the Inspector, gemini-cli, and other servers as backends. `make test-mcp` installs them and runs it.
package mcptest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"toolsvc/bench/gym"
	"toolsvc/tool"
)

// program is the built toolsvc.
var program = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("TOOLSVC_BIN"); given != "" {
		return given, nil
	}
	bin := filepath.Join(scratch, "toolsvc")
	out, err := exec.Command("go", "build", "-o", bin, "toolsvc/cmd/toolsvc").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build toolsvc: %w\n%s", err, out)
	}
	return bin, nil
})

// scratch is a folder for all tests.
var scratch string

func TestMain(m *testing.M) {
	if os.Getenv("MCP_CONFORMANCE_SCENARIO") != "" { // started by the conformance suite, as the client that it tests
		if err := clientMain(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "toolsvc-mcp")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	status := m.Run()
	_ = os.RemoveAll(dir) // what is left is in the temporary folder
	os.Exit(status)
}

func toolsvc(t testing.TB) string {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// pages serves the failure gym.
func pages(t testing.TB) string {
	t.Helper()
	srv := httptest.NewServer(gym.New(""))
	t.Cleanup(srv.Close)
	return srv.URL
}

// serving is a running `toolsvc serve`.
type serving struct {
	t    *testing.T
	dir  string
	addr string
	args []string
	cmd  *exec.Cmd
	out  *strings.Builder
}

// serve starts toolsvc and waits until it is ready.
func serve(t *testing.T, args ...string) *serving {
	t.Helper()
	s := &serving{t: t, dir: t.TempDir(), addr: freeAddress(t), args: args}
	s.start()
	t.Cleanup(func() {
		s.end(os.Interrupt)
		s.endBrowser()
	})
	return s
}

// endBrowser ends the browser that a killed toolsvc left for the next one, by its folder: nobody else uses that.
func (s *serving) endBrowser() {
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Error(err)
	}
	for _, path := range found {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), s.dir) {
			continue // it has ended, or is somebody else's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended just now
		}
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was accepted
	return l.Addr().String()
}

func (s *serving) url() string { return "http://" + s.addr + "/mcp" }

func (s *serving) start() {
	s.t.Helper()
	args := append([]string{"serve", "--state-dir", s.dir, "--http", s.addr, "--grpc", freeAddress(s.t), "--ui-port=-1", "--end-browser"}, s.args...)
	s.cmd = exec.Command(toolsvc(s.t), args...)
	s.out = &strings.Builder{}
	s.cmd.Stderr = s.out
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for tick := time.Tick(50 * time.Millisecond); ; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/readyz", nil)
		if err != nil {
			s.t.Fatal(err)
		}
		if s.cmd.ProcessState != nil {
			s.t.Fatalf("toolsvc serve has ended: %s", s.out)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-tick:
		case <-ctx.Done():
			s.t.Fatalf("toolsvc serve is not ready: %s", s.out)
		}
	}
}

func (s *serving) end(sig os.Signal) {
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Log(err)
	}
	_ = s.cmd.Wait() // it was killed, or says so in its log
	s.cmd = nil
}

// plan is what client.mjs does.
type plan struct {
	SDK     int               `json:"sdk"`
	Mode    string            `json:"mode,omitempty"`
	URL     string            `json:"url,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Elicit  map[string]any    `json:"elicit,omitempty"`
	Pause   bool              `json:"pause,omitempty"`
	Calls   []planCall        `json:"calls"`
}

type planCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments,omitempty"`
	Pause     bool           `json:"pause,omitempty"`
}

// event is a line that client.mjs prints.
type event struct {
	Event      string          `json:"event"`
	Version    string          `json:"version"`
	Names      []string        `json:"names"`
	Name       string          `json:"name"`
	Message    string          `json:"message"`
	IsError    bool            `json:"isError"`
	Text       string          `json:"text"`
	Images     []int           `json:"images"`
	Structured json.RawMessage `json:"structured"`
}

func (e event) result(t *testing.T) *tool.Result {
	t.Helper()
	var r tool.Result
	if err := json.Unmarshal(e.Structured, &r); err != nil {
		t.Fatalf("%s: %v", e.Structured, err)
	}
	return &r
}

// drive runs client.mjs. Between the question and the person's answer, and before a call that waits for it, between is called.
func drive(t *testing.T, p plan, between func()) (results, others []event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := node(ctx, t, "node", "client.mjs", string(text))
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 32<<20)
	for scanner.Scan() {
		var e event
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", scanner.Text(), err)
		}
		switch e.Event {
		case "result", "error":
			results = append(results, e)
		default:
			others = append(others, e)
		}
		if e.Event == "elicit" && p.Pause || e.Event == "pause" {
			if between != nil {
				between()
			}
			if _, err := io.WriteString(in, "go on\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, tail([]byte(stderr.String())))
	}
	return results, others
}

func has(events []event, kind string, f func(event) bool) bool {
	for _, e := range events {
		if e.Event == kind && f(e) {
			return true
		}
	}
	return false
}
