//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startWithin bounds a start, on a machine that has other things to do.
const startWithin = 90 * time.Second

// process is a program that is killed and started again.
type process struct {
	name  string
	args  []string
	env   []string
	log   *os.File
	state string // directory of what it keeps
	ready func(context.Context) bool
	// died is told when the program ends and nobody meant it to.
	died func(what string)

	turn  sync.Mutex // held by who starts, kills or stops it
	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	meant bool // its end is meant
}

// start starts it and returns when it is ready. A start that fails is tried again: what it needs may be broken just now.
func (p *process) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		err := p.try(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %s", err, p.lastWords())
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (p *process) try(ctx context.Context) error {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), p.env...), p.log, p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the terminal is for us
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.ended, p.meant = cmd, ended, true // until it is ready, an end is a failed start
	p.mu.Unlock()
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		meant := p.meant
		p.mu.Unlock()
		close(ended)
		if !meant {
			p.died(fmt.Sprintf("%s ended by itself: %v", p.name, err))
		}
	}()
	for !p.ready(ctx) {
		select {
		case <-ended:
			return fmt.Errorf("%s ended before it was ready", p.name)
		case <-ctx.Done():
			p.signal(syscall.SIGKILL)
			<-ended
			return fmt.Errorf("%s is not ready after %s", p.name, startWithin)
		case <-time.After(20 * time.Millisecond):
		}
	}
	p.mu.Lock()
	p.meant = false
	p.mu.Unlock()
	return nil
}

// lastWords is the end of its log.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-600):])
}

// signal sends a signal to it, if it runs.
func (p *process) signal(s syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil && p.cmd.Process.Signal(s) == nil
}

// kill ends it with SIGKILL, and starts it again after a while.
func (p *process) kill(ctx context.Context, dead time.Duration) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	p.mu.Lock()
	p.meant = true
	ended := p.ended
	p.mu.Unlock()
	p.signal(syscall.SIGKILL)
	<-ended
	pause(ctx, dead)
	return p.start(ctx)
}

// hold stops it for a while.
func (p *process) hold(ctx context.Context, d time.Duration) bool {
	p.turn.Lock() // or a killed one would be stopped, and its successor not
	defer p.turn.Unlock()
	stopped := p.signal(syscall.SIGSTOP)
	pause(ctx, d)
	p.signal(syscall.SIGCONT)
	return stopped
}

func (p *process) stateDir() string { return p.state }

// revive starts it again if it is not running.
func (p *process) revive(ctx context.Context) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	select {
	case <-p.ended:
		return p.start(ctx)
	default:
		return nil
	}
}

// stop ends it orderly.
func (p *process) stop() error {
	p.turn.Lock()
	defer p.turn.Unlock()
	p.mu.Lock()
	p.meant = true
	ended := p.ended
	p.mu.Unlock()
	if ended == nil {
		return nil
	}
	p.signal(syscall.SIGCONT)
	p.signal(syscall.SIGTERM)
	select {
	case <-ended:
		return nil
	case <-time.After(70 * time.Second):
		p.signal(syscall.SIGKILL)
		<-ended
		return fmt.Errorf("%s did not end within 70 s after SIGTERM", p.name)
	}
}

// readyz asks whether toolsvc is ready at an address.
func readyz(addr string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
		if err != nil {
			return false
		}
		resp, err := plain.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close() //nolint:errcheck // only its status counts
		return resp.StatusCode == http.StatusOK
	}
}

// freePorts takes n free ports of loopback.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() //nolint:errcheck // free for whom it is taken for
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// processesOf lists the processes that have to do with a folder, by their arguments, environment or working directory, and are not ours.
func processesOf(dir string) (found []string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		at := filepath.Join("/proc", e.Name())
		args, err := os.ReadFile(filepath.Join(at, "cmdline"))
		if err != nil || len(args) == 0 { // it has just ended, or is no program
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(at, "environ")) // may not be ours to read
		cwd, _ := os.Readlink(filepath.Join(at, "cwd"))
		if strings.Contains(string(args), dir) || strings.Contains(string(environ), dir) || strings.HasPrefix(cwd, dir) {
			found = append(found, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(clip(string(args), 200), "\x00", " ")))
		}
	}
	return found
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

var errNoResult = errors.New("no result came in time")
