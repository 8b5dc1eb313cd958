package topology

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a toolsvc that can be killed and started again. It is safe for concurrent use.
type Process struct {
	// Label names it in logs.
	Label string

	program   string
	args, env []string
	log       io.Writer

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	how   error
	said  map[string]string
}

// Restart starts the process, for the first time or after its end, and returns when it says that it is ready.
func (p *Process) Restart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return fmt.Errorf("%s runs already", p.Label)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), p.program, p.args...)
	cmd.Env = p.env
	cmd.SysProcAttr = sysProcAttr()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Label, err)
	}
	ready, ended := make(chan map[string]string, 1), make(chan struct{})
	p.cmd, p.ended = cmd, ended
	last := make(chan string, 1)
	go func() {
		last <- p.read(stderr, ready)
		err := cmd.Wait()
		p.mu.Lock()
		p.how = err
		p.mu.Unlock()
		close(ended)
	}()
	select {
	case p.said = <-ready:
		return nil
	case text := <-last:
		return fmt.Errorf("%s ended before it was ready: %s", p.Label, text)
	case <-ctx.Done():
		return fmt.Errorf("%s is not ready: %w", p.Label, ctx.Err())
	}
}

// maxLine bounds a line of the log, in bytes.
const maxLine = 1 << 20

// read reads what the process writes to its end, gives what stands before "Ready." to ready, and returns the last lines.
func (p *Process) read(from io.Reader, ready chan<- map[string]string) string {
	said := map[string]string{}
	var last []string
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := lines.Text()
		if p.log != nil {
			fmt.Fprintf(p.log, "%-10s %s\n", p.Label, line)
		}
		if last = append(last, line); len(last) > 20 {
			last = last[1:]
		}
		if said == nil {
			continue
		}
		if strings.HasPrefix(line, "Ready.") {
			ready <- said
			said = nil
		} else if f := strings.Fields(line); len(f) == 2 {
			said[f[0]] = f[1]
		}
	}
	_, _ = io.Copy(io.Discard, from) // after a line that is too long, so that the process never waits for a reader
	return strings.Join(last, "\n")
}

// Said is what the process said at its start behind a word: "HTTP", "gRPC", "Temporal", "UI".
func (p *Process) Said(word string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said[word]
}

// running reports whether the process is there. The caller holds the lock.
func (p *Process) running() bool {
	if p.ended == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Alive reports whether the process is there.
func (p *Process) Alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// PID is the process's number; 0 before its first start.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Kill ends the process as kill -9 does, and returns when it is gone.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

// Stop ends the process in order; with force when it takes too long, which is an error.
func (p *Process) Stop() error {
	if err := p.end(syscall.SIGTERM); err != nil {
		return errors.Join(err, p.end(syscall.SIGKILL))
	}
	return nil
}

func (p *Process) end(sig syscall.Signal) error {
	p.mu.Lock()
	cmd, ended, running := p.cmd, p.ended, p.running()
	p.mu.Unlock()
	if !running {
		return nil
	}
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", p.Label, err)
	}
	select {
	case <-ended:
		return nil
	case <-time.After(stopLimit):
		return fmt.Errorf("%s (process %d) has not ended within %s", p.Label, cmd.Process.Pid, stopLimit)
	}
}

// endOrphans ends what a killed process left behind on purpose: browsers and supervisors, which have a folder of theirs below dir in their
// command line. Nothing else has: dir is the topology's own.
func endOrphans(dir string) error {
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range entries {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), dir+"/") {
			continue // it has ended meanwhile, or is somebody else's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() || pid == os.Getppid() {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("end process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}
