//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"toolsvc/deploy/topology"
)

// server is a toolsvc that can be broken.
type server interface {
	// kill ends it with SIGKILL and starts it again after a while.
	kill(ctx context.Context, dead time.Duration) error
	// hold stops it for a while, and reports whether it was there.
	hold(ctx context.Context, d time.Duration) bool
	// revive starts it again if it is not running.
	revive(ctx context.Context) error
	stop() error
	// stateDir is where its browser is recorded.
	stateDir() string
}

// machine is a process of a topology, as chaos breaks it.
type machine struct {
	*topology.Process
	dir  string
	turn sync.Mutex // held by who kills, stops or starts it
}

func (m *machine) stateDir() string { return m.dir }
func (m *machine) stop() error      { return m.Stop() }

func (m *machine) kill(ctx context.Context, dead time.Duration) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	if err := m.Kill(); err != nil {
		return err
	}
	pause(ctx, dead)
	return m.start(ctx)
}

// start is tried again where it fails: what the process needs may be broken just now.
func (m *machine) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		err := m.Restart(ctx)
		if err == nil || !pause(ctx, 300*time.Millisecond) {
			return err
		}
	}
}

func (m *machine) hold(ctx context.Context, d time.Duration) bool {
	m.turn.Lock()
	defer m.turn.Unlock()
	stopped := syscall.Kill(m.PID(), syscall.SIGSTOP) == nil
	pause(ctx, d)
	_ = syscall.Kill(m.PID(), syscall.SIGCONT) // it may be gone, which revive tells
	return stopped
}

// revive is asked for when all faults are over, so a process that is not there has ended by itself.
func (m *machine) revive(ctx context.Context) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	if m.Alive() {
		return nil
	}
	return errors.Join(fmt.Errorf("%s ended by itself", m.Label), m.start(ctx))
}

// openMachines starts two workers, PostgreSQL, Temporal and the proxy before the workers.
func (w *world) openMachines(ctx context.Context, p programs) (err error) {
	w.machines, err = topology.Start(ctx, topology.Options{Program: p.toolsvc, Dir: filepath.Join(w.dir, "machines"), TemporalUI: -1, Args: []string{"--end-browser"}, Log: w.log})
	if err != nil {
		return err
	}
	for _, m := range w.machines.Workers {
		w.servers = append(w.servers, &machine{Process: m.Process, dir: m.StateDir})
	}
	w.shared = &machine{Process: w.machines.Temporal}
	if w.front, err = openFront(strings.TrimPrefix(w.machines.URL, "http://")); err != nil {
		return err
	}
	w.client = &client{base: "http://" + w.front.addr, statuses: map[int]int{}}
	return nil
}

// stopStore ends the database that all workers share, as a crash does, and starts it again after a while.
func (w *world) stopStore(ctx context.Context, d time.Duration) error {
	w.store.Lock()
	defer w.store.Unlock()
	if err := w.machines.Postgres.Kill(); err != nil {
		return err
	}
	pause(ctx, d)
	return w.machines.Postgres.Restart(context.WithoutCancel(ctx))
}

// drawMachines makes the plan of a round on several machines. They share no workspace, so the effects that count are orders.
func drawMachines(seed uint64, number int) Round {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	round := Round{Number: number, Machines: true}
	for i := range 3 + r.IntN(2) {
		run := Run{ID: fmt.Sprintf("r_m%d_%d_%d", seed, number, i), Kind: []RunKind{Calls, Calls, Appended, Script}[r.IntN(4)]}
		for range 1 + r.IntN(2) {
			page, kind := pages[r.IntN(len(pages))], Order
			if !page.placed {
				kind = OrderFail
			}
			for _, k := range []OpKind{Open, kind} {
				run.Ops = append(run.Ops, Op{ID: fmt.Sprintf("%s_%d", run.ID[2:], len(run.Ops)), Kind: k})
			}
			run.Ops[len(run.Ops)-2].Page = page.name
		}
		round.Runs = append(round.Runs, run)
	}
	kinds := []FaultKind{Kill, Kill, Kill, Pause, KillBrowser, LoseAnswers, StopStore, KillTemporal}
	ms := func(from, to int) time.Duration { return time.Duration(from+r.IntN(to-from)) * time.Millisecond }
	for range 1 + r.IntN(4) {
		f := Fault{Kind: kinds[r.IntN(len(kinds))], At: ms(0, 2500), For: ms(200, 1500), Machine: r.IntN(2)}
		switch f.Kind {
		case Kill:
			if f.For = ms(0, 600); r.IntN(4) == 0 {
				f.For = ms(8000, 15000) // long enough for the other worker to take over
			}
		case KillTemporal:
			f.For = ms(0, 600)
		case Pause:
			if r.IntN(5) == 0 {
				f.For = ms(4500, 6000) // longer than a worker may be silent
			}
		case LoseAnswers:
			f.At, f.For = 0, ms(1500, 4000)
		}
		round.Faults = append(round.Faults, f)
	}
	return round
}
