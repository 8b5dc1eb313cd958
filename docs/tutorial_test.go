package docs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The bounds of the tutorial's steps. A first build on an empty cache takes minutes.
const (
	tutorialStep  = 8 * time.Minute
	tutorialStart = 90 * time.Second
)

const (
	tutorialPage    = "docs/tutorial.md"
	tutorialAddress = "127.0.0.1:7070"
)

// TestTutorial follows docs/tutorial.md as a new user would: from an empty folder, with this checkout as toolsvc. The comments before the
// blocks say what to do with them: "file NAME" is written, "run" is run to its end, "serve" is left running, "call STATUS" is made and has
// this HTTP status, and "answer" is part of what it answered. Only the port is another one, because 7070 may be taken.
func TestTutorial(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(tutorialPage)))
	if err != nil {
		t.Fatal(err)
	}
	p := read(tutorialPage, string(text))
	u := newUser(t)
	var answer []byte
	steps := map[string]int{}
	for _, b := range p.blocks {
		what, arg, _ := strings.Cut(p.comments[b.from-2], " ")
		body := strings.ReplaceAll(p.text(b), tutorialAddress, u.address)
		at := fmt.Sprintf("%s:%d", tutorialPage, b.from)
		steps[what]++
		switch what {
		case "file":
			u.write(arg, body)
		case "run":
			u.run(at, body)
		case "serve":
			u.serve(at, body)
		case "call":
			answer = u.call(at, body, arg)
		case "answer":
			var want, got any
			if err := json.Unmarshal([]byte(body), &want); err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if err := json.Unmarshal(answer, &got); err != nil {
				t.Fatalf("%s: the answer is not JSON: %v\n%s", at, err, answer)
			}
			for _, d := range missing(want, got, "") {
				t.Errorf("%s: %s", at, d)
			}
			if t.Failed() {
				t.Fatalf("the answer was %s", answer)
			}
		default:
			t.Fatalf("%s: nothing says what a reader does with this block", at)
		}
	}
	if steps["file"] < 3 || steps["run"] < 3 || steps["serve"] != 1 || steps["call"] < 4 || steps["call"] != steps["answer"] {
		t.Errorf("the page has these steps only: %v", steps)
	}
}

// user is someone with an empty folder.
type user struct {
	t            *testing.T
	dir, address string
	env          []string
}

func newUser(t *testing.T) *user {
	t.Helper()
	for _, program := range []string{"bash", "curl", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("the tutorial needs %s: %v", program, err)
		}
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it only finds a free port
	return &user{t: t, dir: t.TempDir(), address: l.Addr().String(), env: append(os.Environ(), "TOOLSVC="+checkout, "GOWORK=off")}
}

func (u *user) write(name, text string) {
	u.t.Helper()
	path := filepath.Join(u.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = u.dir, u.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

func (u *user) run(at, script string) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), tutorialStep)
	defer cancel()
	start := time.Now()
	if out, err := u.command(ctx, script).CombinedOutput(); err != nil {
		u.t.Fatalf("%s: %v\n%s", at, err, out)
	}
	u.t.Logf("%s took %s", at, time.Since(start).Round(time.Second))
}

// serve starts a program, waits until it says that it is ready, and ends it with the test.
func (u *user) serve(at, script string) {
	u.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		u.t.Fatal(err)
	}
	cmd := u.command(context.Background(), strings.Replace(script, "./", "exec ./", 1))
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		u.t.Fatalf("%s: %v", at, err)
	}
	w.Close() //nolint:errcheck // the process has its own
	ready, output := make(chan struct{}), &strings.Builder{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer r.Close() //nolint:errcheck // nothing more to read
		said, chunk := false, make([]byte, 4096)
		for {
			n, err := r.Read(chunk)
			output.Write(chunk[:n])
			if !said && strings.Contains(output.String(), "Ready.") {
				said = true
				close(ready)
			}
			if err != nil {
				if err != io.EOF {
					fmt.Fprintln(output, err)
				}
				return
			}
		}
	}()
	u.t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			u.t.Error(err)
		}
		kill := time.AfterFunc(time.Minute, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) //nolint:errcheck // Wait tells
		defer kill.Stop()
		err := cmd.Wait()
		<-ended
		if err != nil || u.t.Failed() {
			u.t.Errorf("%s: the program ended with %v, and said\n%s", at, err, output)
		}
	})
	select {
	case <-ready:
	case <-ended:
		u.t.Fatalf("%s: it ended before it was ready:\n%s", at, output)
	case <-time.After(tutorialStart):
		u.t.Fatalf("%s: it was not ready after %s", at, tutorialStart)
	}
}

var silent = regexp.MustCompile(`\bcurl -s `)

// call makes a call over HTTP and returns its answer.
func (u *user) call(at, script, status string) []byte {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), time.Minute)
	defer cancel()
	text, err := u.command(ctx, silent.ReplaceAllString(script, `curl -sS -w '\n%{http_code}' `)).Output()
	if err != nil {
		u.t.Fatalf("%s: %v", at, err)
	}
	out := string(text)
	i := strings.LastIndexByte(out, '\n')
	if got := out[i+1:]; i < 0 || got != status {
		u.t.Fatalf("%s: status %s, want %s: %s", at, got, status, out)
	}
	return text[:i]
}

// missing lists what of want is not in got. Objects may have more fields; lists are of the same length.
func missing(want, got any, at string) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, no object", at, got)}
		}
		var ds []string
		for k, v := range w {
			if _, there := g[k]; !there {
				ds = append(ds, at+"/"+k+" is not there")
				continue
			}
			ds = append(ds, missing(v, g[k], at+"/"+k)...)
		}
		return ds
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return []string{fmt.Sprintf("%s is %v, no list of %d", at, got, len(w))}
		}
		var ds []string
		for i := range w {
			ds = append(ds, missing(w[i], g[i], fmt.Sprintf("%s/%d", at, i))...)
		}
		return ds
	}
	if want != got {
		return []string{fmt.Sprintf("%s is %v, the page says %v", at, got, want)}
	}
	return nil
}
