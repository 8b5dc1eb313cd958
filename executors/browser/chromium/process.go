package chromium

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"toolsvc/executors/browser/devtools"
)

// Options say which browser to start, and how.
type Options struct {
	// Path of the program; "" looks for one on the PATH.
	Path string
	// StateDir is where the profile and the record of the running browser are kept.
	StateDir string
	// Width and Height of the window, in CSS pixels.
	Width, Height int
	// UncappedFrames draws frames as soon as they are ready, not at 60 Hz.
	UncappedFrames bool
	// SitePerProcess gives every site a process of its own, also where Chromium would save memory.
	SitePerProcess bool
	// ExtraFlags are added to the command line.
	ExtraFlags []string
	// StartLimit bounds the start; 20 s when 0.
	StartLimit time.Duration
}

// Process is a running browser.
type Process struct {
	// PID is the process, Started its start time in clock ticks since boot: together they name one process for good.
	PID     int    `json:"pid"`
	Started string `json:"started"`
	// Port of the debugging endpoint on 127.0.0.1, and its path, which is different for every start.
	Port int    `json:"port"`
	Path string `json:"path"`
	// Extra are the flags that it was started with beside those of this package.
	Extra []string `json:"extra,omitempty"`
	// Profile is the folder that it works in. A state directory that was copied has the record of a browser that works in another one.
	Profile string `json:"profile,omitempty"`

	file    string
	profile string
	exited  chan struct{} // nil when another process started it
}

// URL is the endpoint of the browser itself.
func (p *Process) URL() string { return fmt.Sprintf("ws://127.0.0.1:%d%s", p.Port, p.Path) }

// Address is the host and port of the debugging endpoint.
func (p *Process) Address() string { return fmt.Sprintf("127.0.0.1:%d", p.Port) }

// RecordFile is where the running browser of a state directory is recorded.
func RecordFile(dir string) string { return filepath.Join(dir, "chromium.json") }

// Acquire connects to the recorded browser, or starts one. fresh reports that it was started now. Callers of one state directory must
// not overlap.
func Acquire(ctx context.Context, o Options) (p *Process, conn *devtools.Conn, fresh bool, err error) {
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		return nil, nil, false, fmt.Errorf("make the browser's state directory: %w", err)
	}
	if p, conn := recorded(ctx, o); p != nil {
		return p, conn, false, nil
	}
	p, err = start(ctx, o)
	if err != nil {
		return nil, nil, false, err
	}
	conn, err = devtools.Dial(ctx, p.URL())
	if err != nil {
		return nil, nil, false, errors.Join(err, p.End())
	}
	return p, conn, true, nil
}

// EndRecorded ends the browser that the state directory records, if it still runs: one that an earlier process started, and this one never used.
func EndRecorded(stateDir string) error {
	text, err := os.ReadFile(RecordFile(stateDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	p := &Process{file: RecordFile(stateDir), profile: filepath.Join(stateDir, "profile")}
	if err == nil {
		err = json.Unmarshal(text, p)
	}
	if err != nil {
		return fmt.Errorf("find the browser to end: %w", err)
	}
	if p.another() {
		return nil
	}
	return p.End()
}

// another reports whether the record was copied with its directory: the browser that it names works in the original, and is not to be touched.
// A directory that was only moved still has its browser.
func (p *Process) another() bool {
	here, err := filepath.Abs(p.profile)
	if err != nil || p.Profile == "" || p.Profile == here {
		return false
	}
	original, err := os.Stat(p.Profile)
	if err != nil {
		return false
	}
	own, err := os.Stat(here)
	return err != nil || !os.SameFile(original, own)
}

// recorded connects to the browser that an earlier process started, if it still runs.
func recorded(ctx context.Context, o Options) (*Process, *devtools.Conn) {
	text, err := os.ReadFile(RecordFile(o.StateDir))
	if err != nil {
		return nil, nil
	}
	p := &Process{file: RecordFile(o.StateDir), profile: filepath.Join(o.StateDir, "profile")}
	if json.Unmarshal(text, p) != nil || p.another() || !p.Running() {
		return nil, nil
	}
	if p.Port == 0 {
		_ = p.End() // its starter was killed before it listened
		return nil, nil
	}
	if !slices.Equal(p.Extra, o.ExtraFlags) {
		_ = p.End() // it was started otherwise than is wanted now: by an earlier version, or with another guard
		return nil, nil
	}
	dial, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := devtools.Dial(dial, p.URL())
	if err != nil {
		_ = p.End() // it is ours, it runs, and it does not answer: it would hold the profile's lock
		return nil, nil
	}
	return p, conn
}

// start starts a browser in a session of its own, so that it outlives this process, and waits until it listens.
func start(ctx context.Context, o Options) (*Process, error) {
	path, err := Find(o.Path)
	if err != nil {
		return nil, err
	}
	profile := filepath.Join(o.StateDir, "profile")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		return nil, fmt.Errorf("make the browser's profile: %w", err)
	}
	whole, err := filepath.Abs(profile)
	if err != nil {
		return nil, fmt.Errorf("make the browser's profile: %w", err)
	}
	for _, f := range []string{portFile(profile), filepath.Join(profile, "SingletonLock")} {
		if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("clear what an earlier browser left: %w", err)
		}
	}
	log, err := os.Create(filepath.Join(o.StateDir, "chromium.log"))
	if err != nil {
		return nil, fmt.Errorf("make the browser's log: %w", err)
	}
	defer log.Close()                                   //nolint:errcheck // Chromium has a descriptor of its own, and nothing was written here
	cmd := exec.Command(path, arguments(o, profile)...) //nolint:gosec // the path is the operator's
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	p := &Process{PID: cmd.Process.Pid, file: RecordFile(o.StateDir), Extra: o.ExtraFlags, Profile: whole, profile: profile, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how a browser ends is of no interest; that it ended is
		close(p.exited)
	}()
	p.Started = StartTime(p.PID)
	if err := p.record(); err != nil { // before it listens, so that one whose starter is killed meanwhile is found, and ended
		return nil, errors.Join(err, p.End())
	}
	if err := p.await(ctx, o); err != nil {
		tail, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("start %s: %w: %s", path, err, lastLines(string(tail))), p.End())
	}
	if err := p.record(); err != nil {
		return nil, errors.Join(err, p.End())
	}
	return p, nil
}

// record writes down which process the browser is, and where it listens: port 0 while it does not yet.
func (p *Process) record() error {
	text, err := json.Marshal(p)
	if err == nil {
		err = writeFile(p.file, text)
	}
	if err != nil {
		return fmt.Errorf("record the browser: %w", err)
	}
	return nil
}

// await waits until the browser has written its port.
func (p *Process) await(ctx context.Context, o Options) error {
	limit := o.StartLimit
	if limit == 0 {
		limit = 20 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(portFile(p.profile)); err == nil {
			if port, path, ok := strings.Cut(strings.TrimSpace(string(text)), "\n"); ok {
				if p.Port, err = strconv.Atoi(port); err == nil && strings.HasPrefix(path, "/") {
					p.Path = path
					return nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it did not listen within %s: %w", limit, ctx.Err())
		case <-p.exited:
			return errors.New("it ended at once")
		case <-tick.C:
		}
	}
}

// Running reports whether this very process still runs.
func (p *Process) Running() bool {
	return p.PID > 1 && p.Started != "" && StartTime(p.PID) == p.Started
}

// Guarded reports whether it was started with these further flags.
func (p *Process) Guarded(extra []string) bool { return slices.Equal(p.Extra, extra) }

// End ends the browser: politely, then for good. It touches no other process than the one that was started.
func (p *Process) End() error {
	defer os.Remove(p.file) //nolint:errcheck // a stale record is recognised by its process
	if !p.Running() {
		return nil
	}
	proc, err := os.FindProcess(p.PID)
	if err != nil {
		return fmt.Errorf("end the browser: %w", err)
	}
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := proc.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end the browser: %w", err)
		}
		if p.awaitEnd(3 * time.Second) {
			p.endGroup()
			return nil
		}
	}
	return fmt.Errorf("the browser (process %d) does not end", p.PID)
}

// endGroup ends what the browser left behind, so that nothing writes to its profile any more. The group is the browser's own: it was
// started as its leader, and the id of a group is not given again while the group has members.
func (p *Process) endGroup() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 200 {
		if syscall.Kill(-p.PID, syscall.SIGKILL) != nil {
			return
		}
		<-tick.C
	}
}

func (p *Process) awaitEnd(limit time.Duration) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	if p.exited != nil {
		select {
		case <-p.exited:
			return true
		case <-deadline.C:
			return false
		}
	}
	tick := time.NewTicker(10 * time.Millisecond) // no one tells of the end of a process that is not a child
	defer tick.Stop()
	for p.Running() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

// StartTime is the start of a process in clock ticks since boot (field 22 of /proc/PID/stat), "" when there is none or it is a zombie. With
// the number it names a process: a number alone may be given to another one.
func StartTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(text), ") ") // the second field may hold anything but this
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// writeFile replaces a file in one step.
func writeFile(path string, text []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}
