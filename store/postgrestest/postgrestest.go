// Package postgrestest starts a PostgreSQL server of this machine's own package, in a folder that is thrown away, for tests and for trying
// several machines on one: package store's tests and deploy/topology call it.
//
// It guarantees: the server listens on loopback only, wants a password, runs as an unprivileged user also when this process is root (which
// PostgreSQL refuses to be), and ends with this process. It is for throw-away data: nothing is synced to the disk.
package postgrestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNotInstalled says that there is no PostgreSQL server on this machine.
var ErrNotInstalled = errors.New("no PostgreSQL server is installed: run scripts/deps.sh, or apt-get install postgresql")

// The server's user and database, both with this name.
const owner = "toolsvc"

// startLimit bounds the making and starting of a server, and stopLimit its end.
const (
	startLimit = time.Minute
	stopLimit  = 15 * time.Second
)

// Server is a running PostgreSQL. Its methods are not for concurrent use.
type Server struct {
	// URL leads to its database, with the password.
	URL string
	// Log is the file of its log.
	Log string

	bin, dir string
	args     []string
	as       *syscall.Credential // nil: as this process
	cmd      *exec.Cmd
	ended    chan struct{}
	once     sync.Once
}

// Programs finds PostgreSQL's server programs: the newest version below Debian's /usr/lib/postgresql, or what is on the PATH.
func Programs() (bin string, err error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		version := func(path string) int {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) //nolint:errcheck // 0 for what is no version
			return n
		}
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", ErrNotInstalled
}

// Start makes a server and returns when it answers. [ErrNotInstalled] when there is none on this machine.
func Start(ctx context.Context) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	bin, err := Programs()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin}
	if s.as, err = unprivileged(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "toolsvc-pg-"); err != nil {
		return nil, fmt.Errorf("make a folder for PostgreSQL: %w", err)
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w", err), s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	password := rand.Text()
	passwords := filepath.Join(s.dir, "password")
	if err := os.WriteFile(passwords, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	if s.as != nil {
		for _, path := range []string{s.dir, passwords} {
			if err := os.Chown(path, int(s.as.Uid), int(s.as.Gid)); err != nil {
				return err
			}
		}
	}
	data := filepath.Join(s.dir, "data")
	initdb := s.command(ctx, "initdb", "-D", data, "-U", owner, "--pwfile="+passwords, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	s.Log = filepath.Join(s.dir, "log")
	s.args = []string{"-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + s.dir,
		"-c", "fsync=off", "-c", "shared_buffers=32MB", "-c", "max_connections=200", "-c", "log_statement=none"}
	address := func(database string) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(owner, password), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: database, RawQuery: "sslmode=disable"}
		return u.String()
	}
	s.URL = address("postgres")
	if err := s.run(ctx); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+owner)
	s.URL = address(owner)
	return errors.Join(err, conn.Close(ctx))
}

// run starts the server's process, and returns when it answers.
func (s *Server) run(ctx context.Context) error {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	s.cmd = s.command(context.WithoutCancel(ctx), "postgres", s.args...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	s.ended = ended
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait() // how it ended stands in its log
		close(ended)
	}(s.cmd)
	for {
		conn, err := pgx.Connect(ctx, s.URL)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ended:
			text, _ := os.ReadFile(s.Log) //nolint:errcheck // then it is shorter
			return fmt.Errorf("it ended at once: %s", bytes.TrimSpace(text))
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// Kill ends the server as kill -9 of all its processes does, and returns when they are gone: those that serve connections would go on for a
// moment without the first one. What it had confirmed is there when it runs again.
func (s *Server) Kill() error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGSTOP) // so that it makes no others; it may have ended
	serving := children(s.cmd.Process.Pid)
	for _, pid := range serving {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	err := s.signal(syscall.SIGKILL)
	for end := time.Now().Add(stopLimit); ; time.Sleep(time.Millisecond) {
		serving = slices.DeleteFunc(serving, func(pid int) bool { return !running(pid) })
		switch {
		case len(serving) == 0:
			return err
		case time.Now().After(end):
			return errors.Join(err, fmt.Errorf("processes %v of PostgreSQL have not ended within %s", serving, stopLimit))
		}
	}
}

// Restart runs a killed server again, at the same address.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		err := s.run(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond): // the children of the killed one are still ending, and hold its memory
		case <-ctx.Done():
			return fmt.Errorf("restart PostgreSQL: %w", err)
		}
	}
}

func (s *Server) signal(sig syscall.Signal) error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end PostgreSQL: %w", err)
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopLimit):
		return fmt.Errorf("PostgreSQL (process %d) has not ended within %s", s.cmd.Process.Pid, stopLimit)
	}
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() (err error) {
	s.once.Do(func() {
		if err = s.signal(syscall.SIGINT); err != nil { // a fast shutdown: connections are closed
			err = errors.Join(err, s.signal(syscall.SIGKILL))
		}
		err = errors.Join(err, os.RemoveAll(s.dir))
	})
	return err
}

// command prepares one of PostgreSQL's programs, with an environment that nothing of this process's gets into.
func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = sysProcAttr(s.as)
	return cmd
}

// unprivileged is whom to run the server as; nil for whoever this process is.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("the ids of the user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody")
}

func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err = errors.Join(err, l.Close()); err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(port))
}
