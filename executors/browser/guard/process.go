package guard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"toolsvc/executors/browser/chromium"
)

// Process is a running proxy.
type Process struct {
	// PID is the process, Started its start time in clock ticks since boot: together they name one process for good.
	PID     int    `json:"pid"`
	Started string `json:"started"`
	// Port on 127.0.0.1.
	Port int `json:"port"`
	// Policy is the digest of what it enforces.
	Policy string `json:"policy"`
	// Browser is the record of the browser that it guards. A state directory that was copied has the record of a proxy that guards another one.
	Browser string `json:"browser,omitempty"`

	file   string
	exited chan struct{} // nil when another process started it
}

// processName is how a program knows that it was started as the proxy.
const processName = "toolsvc-browser-guard"

// errTaken: something else listens on the port that the browser knows the proxy at.
var errTaken = errors.New("its port is taken")

const (
	startLimit = 15 * time.Second
	// lookEvery is how often the proxy looks whether the browser still runs, and patience how long it goes on without one: a browser that
	// is restarted, or just being started.
	lookEvery = time.Second
	patience  = 30 * time.Second
)

// setup is what the proxy is told at its start.
type setup struct {
	Policy Policy `json:"policy"`
	Port   int    `json:"port"`
	// Browser is the record of the browser that it serves: its process, and the port of its debugging endpoint.
	Browser string `json:"browser"`
}

func init() {
	if len(os.Args) == 1 && os.Args[0] == processName {
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// run is the proxy's process.
func run() error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	var s setup
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		return fmt.Errorf("read the setup: %w", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)))
	if err != nil {
		return err
	}
	port := l.Addr().(*net.TCPAddr).Port
	s.Policy.Own = append(s.Policy.Own, port)
	g, err := New(s.Policy)
	if err != nil {
		return err
	}
	if _, err := fmt.Println(port); err != nil {
		return err
	}
	_ = os.Stdin.Close() // nobody waits for this process any more
	_ = os.Stdout.Close()
	own := g.policy.Own
	dial := func(ctx context.Context, host string, port int) (net.Conn, error) {
		if b := browserOf(s.Browser); b.Port != 0 && b.Port == port {
			with := *g
			with.policy.Own = append(own[:len(own):len(own)], port)
			return with.Dial(ctx, host, port)
		}
		return g.Dial(ctx, host, port)
	}
	failed := make(chan error, 1)
	go func() { failed <- Serve(l, dial) }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for last := time.Now(); time.Since(last) < patience; {
		select {
		case err := <-failed:
			return err
		case <-tick.C:
			if b := browserOf(s.Browser); b.Started != "" && chromium.StartTime(b.PID) == b.Started {
				last = time.Now()
			}
		}
	}
	return nil
}

// browser is what the proxy reads of the browser's record.
type browser struct {
	PID     int    `json:"pid"`
	Started string `json:"started"`
	Port    int    `json:"port"`
}

func browserOf(file string) (b browser) {
	if text, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(text, &b) // one that cannot be read is none
	}
	return b
}

// Acquire finds the proxy of a state directory, or starts one; with the policy, and where there was one before, on its port, because the
// browser was told that. browser is the file in which the browser is recorded. Callers of one directory must not overlap.
func Acquire(ctx context.Context, dir, browser string, p Policy) (*Process, error) {
	if _, err := New(p); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory of the browser's guard: %w", err)
	}
	file := filepath.Join(dir, "guard.json")
	old := &Process{file: file}
	if text, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(text, old) // one that cannot be read is replaced
	}
	if old.another(browser) {
		old = &Process{file: file}
	}
	if old.Running() {
		if old.Policy == p.Digest() {
			return old, nil
		}
		if err := old.End(); err != nil {
			return nil, err
		}
	}
	g, err := start(ctx, file, setup{Policy: p, Port: old.Port, Browser: browser})
	if errors.Is(err, errTaken) { // then the browser has to be told another one
		g, err = start(ctx, file, setup{Policy: p, Browser: browser})
	}
	if err != nil {
		return nil, fmt.Errorf("start the browser's guard: %w", err)
	}
	return g, nil
}

// another reports whether the record was copied with its directory: the proxy that it names guards the original's browser, and is not to be
// touched. A directory that was only moved still has its proxy.
func (p *Process) another(browser string) bool {
	if p.Browser == "" || p.Browser == browser {
		return false
	}
	original, err := os.Stat(p.Browser)
	if err != nil {
		return false
	}
	own, err := os.Stat(browser)
	return err != nil || !os.SameFile(original, own)
}

func start(ctx context.Context, file string, s setup) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(strings.TrimSuffix(file, ".json") + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // it is the process's
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()    //nolint:errcheck // it was only read
	defer theirs.Close() //nolint:errcheck // it lives on in the process
	cmd := &exec.Cmd{Path: self, Args: []string{processName}, Dir: "/", Stdin: strings.NewReader(string(order)), Stdout: theirs, Stderr: log,
		Env:         []string{"GOMAXPROCS=2", "GOGC=50"}, // it mostly waits
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}  // what ends toolsvc, a Ctrl+C too, does not end it
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{PID: cmd.Process.Pid, Started: chromium.StartTime(cmd.Process.Pid), Policy: s.Policy.Digest(), Browser: s.Browser, file: file, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // that it ended is enough
		close(p.exited)
	}()
	_ = theirs.Close()
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n') // "" when it ended
		line <- strings.TrimSpace(text)
	}()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case text := <-line:
		if p.Port, err = strconv.Atoi(text); err != nil {
			said, _ := os.ReadFile(log.Name())
			err = fmt.Errorf("it ended at once: %s", strings.TrimSpace(string(said)))
			if strings.Contains(string(said), syscall.EADDRINUSE.Error()) {
				err = fmt.Errorf("%w (%d)", errTaken, s.Port)
			}
		}
	case <-ctx.Done():
		err = fmt.Errorf("it did not listen within %s: %w", startLimit, ctx.Err())
	}
	if err == nil {
		err = p.record()
	}
	if err != nil {
		return nil, errors.Join(err, p.End())
	}
	return p, nil
}

func (p *Process) record() error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	next := p.file + ".new"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, p.file)
}

// Running reports whether this very process still runs.
func (p *Process) Running() bool {
	if p.exited != nil {
		select {
		case <-p.exited:
			return false
		default:
			return true
		}
	}
	return p.PID > 1 && p.Started != "" && chromium.StartTime(p.PID) == p.Started
}

// End ends the process. Its record stays, so that the next one listens where the browser expects it.
func (p *Process) End() error {
	if !p.Running() {
		return nil
	}
	proc, err := os.FindProcess(p.PID)
	if err == nil {
		err = proc.Kill()
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the browser's guard (process %d): %w", p.PID, err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		if !p.Running() {
			return nil
		}
		<-tick.C
	}
	return fmt.Errorf("the browser's guard (process %d) does not end", p.PID)
}

// Flags are what Chromium is started with, so that all of its connections go through the proxy: loopback too, which it otherwise leaves
// out; names are resolved by the proxy alone; and WebRTC, which sends datagrams past proxies, does not.
func (p *Process) Flags() []string {
	return []string{fmt.Sprintf("--proxy-server=socks5://127.0.0.1:%d", p.Port), "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp"}
}
