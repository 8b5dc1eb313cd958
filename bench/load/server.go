//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"toolsvc/tool"
)

// server is the program under load.
type server struct {
	dir, base string
	cmd       *exec.Cmd
	ended     chan error
	http      *http.Client
}

// startServer builds toolsvc, unless bin names one, and starts it on a state directory of its own.
func startServer(ctx context.Context, bin string) (s *server, err error) {
	dir, err := os.MkdirTemp("", "toolsvc-load-")
	if err != nil {
		return nil, err
	}
	s = &server{dir: dir, ended: make(chan error, 1), http: &http.Client{Timeout: 5 * time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2048, MaxIdleConns: 2048}}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if bin == "" {
		bin = filepath.Join(dir, "toolsvc")
		build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", bin, "toolsvc/cmd/toolsvc")
		if text, err := build.CombinedOutput(); err != nil {
			return s, fmt.Errorf("build toolsvc: %w\n%s", err, text)
		}
	}
	if err := os.MkdirAll(filepath.Join(s.work(), "files"), 0o755); err != nil {
		return s, err
	}
	if err := os.WriteFile(filepath.Join(s.work(), "guide.md"), []byte(strings.Repeat("# Guide\n\nHow to begin.\n\n", 50)), 0o644); err != nil {
		return s, err
	}
	addrs := make([]string, 2)
	for i := range addrs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return s, err
		}
		defer l.Close() //nolint:errcheck // free for whom it was taken for
		addrs[i] = l.Addr().String()
		if err := l.Close(); err != nil {
			return s, err
		}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return s, err
	}
	defer log.Close() //nolint:errcheck // the server has it
	s.base = "http://" + addrs[0]
	s.cmd = exec.Command(bin, "serve", "--state-dir", filepath.Join(dir, "state"), "--workspace", s.work(), "--http", addrs[0], "--grpc", addrs[1], "--ui-port=-1", "--end-browser")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the terminal is for us
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return s, err
	}
	go func() { s.ended <- s.cmd.Wait() }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if resp, err := s.http.Get(s.base + "/readyz"); err == nil {
			resp.Body.Close() //nolint:errcheck // only its status counts
			if resp.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(filepath.Join(dir, "log")) // what is there helps
			return s, fmt.Errorf("toolsvc is not ready after a minute: %s", text)
		}
	}
}

func (s *server) work() string { return filepath.Join(s.dir, "work") }

// stop ends the server and removes what it kept.
func (s *server) stop() error {
	var errs []error
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM) // Wait tells when it has ended already
		select {
		case err := <-s.ended:
			errs = append(errs, err)
		case <-time.After(time.Minute):
			_ = s.cmd.Process.Kill()
			errs = append(errs, errors.New("toolsvc did not end within a minute"), <-s.ended)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// errRefused: the server has too much to do. The caller comes again after Wait.
type errRefused struct{ Wait time.Duration }

func (e *errRefused) Error() string { return fmt.Sprintf("refused; come again after %s", e.Wait) }

// call makes one call; run may be "" for a run of its own.
func (s *server) call(ctx context.Context, run, name string, args any) (*tool.Result, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	url := s.base + "/v1/tools/" + name
	if run != "" {
		url += "?run=" + run
	}
	status, header, answer, err := s.post(ctx, url, text)
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusTooManyRequests:
		after, err := strconv.Atoi(header.Get("Retry-After"))
		if err != nil {
			return nil, fmt.Errorf("429 with Retry-After %q", header.Get("Retry-After"))
		}
		return nil, &errRefused{time.Duration(after) * time.Second}
	case status != http.StatusOK:
		return nil, fmt.Errorf("%s: status %d %.300s", name, status, answer)
	}
	var r tool.Result
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

func (s *server) post(ctx context.Context, url string, body []byte) (int, http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, answer, err
}

// end ends a run, so that its tab is free.
func (s *server) end(ctx context.Context, run string) error {
	status, _, answer, err := s.post(ctx, s.base+"/v1/runs/"+run+"/cancel", nil)
	if err == nil && status >= 300 {
		err = fmt.Errorf("cancel %s: status %d %.300s", run, status, answer)
	}
	return err
}
