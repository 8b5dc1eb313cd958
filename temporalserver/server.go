package temporalserver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"toolsvc/temporalclient"
)

const (
	// portAttempts is how often Start looks for other ports when someone takes one between its being found free and its use.
	portAttempts = 3
	// stopWithin bounds the stop of the server's services. They drain for up to two seconds each.
	stopWithin = 20 * time.Second
	// checkpointWithin bounds the last write of the database file.
	checkpointWithin = 10 * time.Second
)

// Server is a running Temporal with its web UI. Its methods are safe for concurrent use.
type Server struct {
	lock      *temporalclient.StateLock
	db        database
	services  *services
	ui        *ui // nil without one
	failures  *failures
	muted     atomic.Bool // see serverLogger
	address   string
	namespace string

	stopping sync.Once
	stopped  error
}

// Start runs a Temporal server on a state directory and returns when it serves: a workflow can be started at once. ctx bounds the
// start only; end the server with [Server.Stop].
//
// Errors: [*temporalclient.HeldError] when another server runs on the directory, [*SchemaError] when the database is not of this
// build's schema, [ErrServerFailed] when a part of the server gave up; and a port that was asked for by number and is taken.
func Start(ctx context.Context, o Options) (*Server, error) {
	o, err := o.normalized()
	if err != nil {
		return nil, err
	}
	lock, err := temporalclient.LockState(o.StateDir)
	if err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	s, err := start(ctx, o, lock)
	if err != nil {
		return nil, fmt.Errorf("start Temporal on %s: %w", o.StateDir, errors.Join(err, lock.Release()))
	}
	return s, nil
}

func start(ctx context.Context, o Options, lock *temporalclient.StateLock) (*Server, error) {
	s := &Server{lock: lock, failures: newFailures(), namespace: o.Namespace,
		db: database{path: filepath.Join(o.StateDir, databaseName), relaxed: o.RelaxedSync}}
	if err := s.db.prepare(ctx); err != nil {
		return nil, err
	}
	sql := sqlConfig(s.db)
	if err := ensureNamespace(ctx, sql, o.Namespace, o.SearchAttributes, o.Retention); err != nil {
		return nil, err
	}
	logger := serverLogger{out: o.Logger, level: o.LogLevel, fatal: s.failures.report, muted: &s.muted}
	last := lock.Previous()
	for attempt := 1; ; attempt++ {
		p, err := reservePorts(o.FrontendPort, portOf(last.Address))
		if err != nil {
			return nil, err
		}
		s.services, err = startServices(ctx, serverConfig(sql, p), hosts(p), logger)
		if err == nil {
			s.address = hostPort(p.frontend)
			break
		}
		if !errors.Is(err, syscall.EADDRINUSE) || attempt == portAttempts || ctx.Err() != nil {
			return nil, err
		}
		s.failures.forget()
	}
	// From here on something runs that has to be stopped when the rest fails.
	err := waitServing(ctx, s.address, o.Namespace, s.failures)
	if err == nil && o.UIPort != NoUI {
		s.ui, err = startUI(s.address, o, portOfURL(last.UIURL), s.failures)
	}
	if err == nil {
		err = lock.Publish(s.address, s.UIURL(), o.Namespace)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Address is the host:port of the frontend, for temporalclient.Options{Address: …, Direct: true}.
func (s *Server) Address() string { return s.address }

// Namespace is the namespace that exists for toolsvc.
func (s *Server) Namespace() string { return s.namespace }

// UIURL is the address of the web UI, without a slash at its end; empty without a UI.
func (s *Server) UIURL() string {
	if s.ui == nil {
		return ""
	}
	return s.ui.url
}

// Failed delivers at most one error: that a part of the server gave up while it ran. What is left may still serve, but not reliably;
// the owner should stop and restart. It stays silent when all is well, also through Stop.
func (s *Server) Failed() <-chan error { return s.failures.first }

// Stop ends the server within about 20 s: it withdraws its endpoint record, closes the UI, drains the services, moves the log into the
// database file, and gives the state directory up. Later calls return what the first one did.
//
// When the services do not end in time, the directory stays locked until the process ends, because they may still write.
func (s *Server) Stop() error {
	s.stopping.Do(func() { s.stopped = s.stop() })
	return s.stopped
}

func (s *Server) stop() error {
	err := s.lock.Withdraw()
	if s.ui != nil {
		err = errors.Join(err, s.ui.stop())
	}
	s.muted.Store(true)
	if stop := s.services.stop(stopWithin); stop != nil {
		return errors.Join(err, fmt.Errorf("stop Temporal: %w", stop))
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkpointWithin)
	defer cancel()
	return errors.Join(err, s.db.checkpoint(ctx), s.lock.Release())
}
