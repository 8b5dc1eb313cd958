// Command story takes the pictures of a real run for the documentation: `toolsvc serve` is started as a user starts it, the demo's plan is run
// against the demo shop, and the run is looked at in Chromium, on the live page and in Temporal's UI.
//
//	make shots
//
// It writes docs/images/run-*.png. The exit status is 1 when the run was not verified, or when a page did not show it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"toolsvc/bench/gym"
	"toolsvc/server/page/pagetest"
)

// limit bounds all of it.
const limit = 10 * time.Minute

func main() {
	bin := flag.String("bin", "bin/toolsvc", "the program")
	plan := flag.String("plan", "examples/demo/plan.yaml", "the plan to run")
	out := flag.String("out", "docs/images", "the folder of the pictures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := tell(ctx, *bin, *plan, *out); err != nil {
		fmt.Fprintln(os.Stderr, "story:", err)
		os.Exit(1)
	}
}

// tell makes the run and takes its pictures.
func tell(ctx context.Context, bin, plan, out string) (err error) {
	dir, err := os.MkdirTemp("", "toolsvc-story-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	site, err := gym.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	s, err := serve(ctx, bin, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	runID, err := makeRun(ctx, bin, dir, plan, site.URL)
	if err != nil {
		return err
	}
	b, err := pagetest.StartBrowser()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for _, v := range views(s, runID) {
		if err := v.take(b, out); err != nil {
			return fmt.Errorf("take the picture %s: %w", v.name, err)
		}
	}
	return nil
}

// server is a toolsvc that serves.
type server struct {
	cmd            *exec.Cmd
	page, temporal string
}

// serve starts the program and waits until it is ready.
func serve(ctx context.Context, bin, dir string) (*server, error) {
	cmd := exec.CommandContext(ctx, bin, "serve", "--state-dir", dir, "--workspace", "none", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--end-browser")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd}
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		fmt.Fprintln(os.Stderr, lines.Text())
		switch name, rest, _ := strings.Cut(lines.Text(), " "); name {
		case "Page":
			s.page = strings.TrimSpace(rest)
		case "Temporal":
			s.temporal = strings.TrimSpace(rest)
		case "Ready.":
			go io.Copy(io.Discard, said) //nolint:errcheck // so that the server never waits for a reader
			return s, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("%s serve did not become ready", bin), lines.Err(), s.end())
}

func (s *server) end() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return s.cmd.Wait()
}

// makeRun runs the plan, and returns its run.
func makeRun(ctx context.Context, bin, dir, plan, base string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, bin, "run", plan, "--var", "base="+base, "--state-dir", dir, "--workspace", "none", "--json")
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run %s: %w", plan, err)
	}
	var st struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(out.Bytes(), &st); err != nil || st.RunID == "" {
		return "", fmt.Errorf("read the state of the run: %w", errors.Join(err, fmt.Errorf("%.200s", out.Bytes())))
	}
	return st.RunID, nil
}

// view is one picture.
type view struct {
	name, url string
	size      pagetest.View
	// shown holds when the page shows what the picture is of; ready brings it into view before.
	ready, shown string
}

func views(s *server, runID string) []view {
	const listen = 3 // the step that only vision can do
	step := fmt.Sprintf(`document.querySelector('#step-%d')`, listen)
	workflow := s.temporal + "/namespaces/default/workflows/" + runID
	return []view{
		{name: "run-page", url: s.page + "runs/" + runID, size: pagetest.Wide, shown: step + ` && document.querySelectorAll('.step').length >= 12`},
		{name: "run-healed-step", url: s.page + "runs/" + runID, size: pagetest.Wide, ready: step + `.querySelector('summary').click(); setInterval(() => { const s = ` + step + `.querySelector('.shots'); if (s) s.scrollIntoView({ block: 'center' }) }, 100)`,
			shown: step + ` && ` + step + `.querySelector('.mark-point')`},
		{name: "run-temporal", url: workflow, size: pagetest.View{Width: 1500, Height: 1100}, shown: `document.body.innerText.includes('step 3/12, attempt 3/3')`},
	}
}

func (v view) take(b *pagetest.Browser, out string) error {
	t, err := b.Open(v.url, v.size)
	if err != nil {
		return err
	}
	defer t.Close()
	if v.ready != "" {
		if err := errors.Join(t.Until(strings.SplitN(v.shown, " && ", 2)[0]), t.Eval(v.ready, nil)); err != nil {
			return err
		}
	}
	if err := t.Until(v.shown); err != nil {
		return err
	}
	png, err := t.Picture()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, v.name+".png"), png, 0o644)
}
