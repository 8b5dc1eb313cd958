package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/worker"

	"toolsvc/executors/browser"
	"toolsvc/executors/browser/guard"
	"toolsvc/executors/browser/memory"
	"toolsvc/executors/browser/vision"
	"toolsvc/executors/browser/vision/ocr"
	"toolsvc/gemini"
	"toolsvc/planner"
	"toolsvc/server"
	"toolsvc/store"
	"toolsvc/telemetry"
	"toolsvc/temporalclient"
	"toolsvc/temporalserver"
	"toolsvc/tool"
)

// Options say what to put together. The zero value with a StateDir is what `toolsvc serve` runs.
type Options struct {
	// StateDir keeps everything: events, evidence, Temporal's database, the browser's profile. Created when missing, for this user only.
	StateDir string
	// StoreURL names a PostgreSQL database instead of a file in the state directory (see store.Options), and ArtifactsURL a bucket instead of a
	// folder ("s3://…"). With a StoreURL the process is one among several, which share it, the Temporal, the bucket, and the sealing key
	// ([SealKeyVariable]); each has a state directory of its own.
	StoreURL, ArtifactsURL string
	// TemporalAddress names a Temporal service ("host:port") to use instead of the embedded one. When empty, Temporal's own environment
	// configuration (TEMPORAL_ADDRESS, TEMPORAL_PROFILE, …) is honoured, and without it the embedded server is used.
	TemporalAddress string
	// UIURL is where the UI of that Temporal is, for links to runs; "" when it has none.
	UIURL string
	// Namespace in Temporal; what the environment says, or "default", when empty.
	Namespace string
	// FrontendPort and UIPort of the embedded Temporal; 0 picks the ones used last, or free ones; a UIPort of -1 means no UI.
	FrontendPort, UIPort int
	// ChromiumPath names the browser's program; found on the PATH when empty.
	ChromiumPath string
	// DeviceScaleFactor of pages; 1 when 0.
	DeviceScaleFactor float64
	// Ephemeral ends the browser with the process. Otherwise it goes on, so that a restarted process finds its tabs again.
	Ephemeral bool
	// MaxSessions bounds the runs that have a browser tab at the same time; 8 when 0.
	MaxSessions int
	// NoWorker only asks: no run goes on while this process looks at it.
	NoWorker bool
	// NoVision leaves out the vision source, for comparison.
	NoVision bool
	// Screenshots puts pictures into the evidence of the browser's actions, for the live page. A verified click takes about half as long
	// again with them.
	Screenshots bool
	// NoMemory leaves out the heal memory, and Choose replaces how a remembered element is found again, for comparison.
	NoMemory bool
	Choose   memory.Chooser
	// Navigation says where the browser may connect to. What this process serves of Temporal is added to its own ports.
	Navigation guard.Policy
	// Gemini says how to reach the model; what it leaves open comes from the environment (GEMINI_API_KEY, …). Without a key there is none.
	Gemini gemini.Options
	// Caller is the model of whoever makes a call, for those who offer one; it is asked where there is no key for Gemini.
	Caller CallerModel
	// Workspace is the folder that the terminal and document tools work in; "" leaves these tools out: they say that they are unavailable.
	Workspace string
	// Commands says what commands in the workspace may use besides.
	Commands Commands
	// Toolsets are served beside toolsvc's own.
	Toolsets []Toolset
	// Drain is how long Close lets attempts go on before they are handed over; server.DefaultDrain when 0. See DrainBy.
	Drain time.Duration
	// KeepRuns is how long runs are kept after their last event, in the store and in an embedded Temporal; 0 keeps all in the store. Artifacts
	// are bounded by KeepArtifacts bytes in all; 0 does not. Runs that go on are kept whatever their age.
	KeepRuns      time.Duration
	KeepArtifacts int64
	// Telemetry shows operators what happens; nil shows nothing. It is not closed with the stack.
	Telemetry *telemetry.Telemetry
	Logger    *slog.Logger
}

// Stack is toolsvc in one process.
type Stack struct {
	Service *planner.Service
	Store   *store.Store
	Browser *browser.Executor
	Client  *temporalclient.Conn
	// TemporalAddress and UIURL say where Temporal and its UI answer; UIURL is "" when there is none.
	TemporalAddress, UIURL string
	// Attached reports that another process (a running `toolsvc serve`) does the work; this one only asks it.
	Attached bool

	namespace string
	failed    <-chan error
	closers   []func(context.Context) error
	drain     time.Duration
	drainBy   atomic.Pointer[time.Time]
}

// Open puts everything together. When another process serves the same state directory, it is used instead of starting a second one.
func Open(ctx context.Context, o Options) (s *Stack, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	if err := Shareable(o.StoreURL); err != nil {
		return nil, err
	}
	reg, err := NewRegistry(o.Toolsets...)
	if err != nil {
		return nil, err
	}
	s = &Stack{drain: cmp.Or(o.Drain, server.DefaultDrain)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
		}
	}()
	if s.Store, err = store.Open(ctx, o.StateDir, store.Options{URL: o.StoreURL, BucketURL: o.ArtifactsURL, Appended: o.Telemetry.Observe}); err != nil {
		return s, fmt.Errorf("open the store: %w", err)
	}
	s.onClose(func(context.Context) error { return s.Store.Close() })

	if err := s.reachTemporal(ctx, o); err != nil {
		return s, err
	}
	name, err := s.joinOthers(o)
	if err != nil {
		return s, err
	}
	if o.Telemetry != nil {
		o.Gemini.Asked = o.Telemetry.Asked
	}
	model, err := openModel(o.Gemini)
	if err != nil {
		return s, err
	}
	callers, err := newCallersModel(o.Caller)
	if err != nil {
		return s, err
	}
	o.Navigation.Own = append(o.Navigation.Own, ownPorts(s.TemporalAddress, s.UIURL)...)
	if s.Browser, err = openBrowser(o, s.Store, model, callers); err != nil {
		return s, err
	}
	executors := map[string]tool.Executor{"browser": s.Browser}
	work, err := s.openWorkspace(o)
	if err != nil {
		return s, err
	}
	work.addTo(executors)
	for _, t := range o.Toolsets {
		if t.Executor != nil {
			executors[t.name()] = t.Executor
		}
	}
	runURL := func(workflowID string) string {
		if s.UIURL == "" {
			return ""
		}
		return temporalclient.RunURL(s.UIURL, s.namespace, workflowID, "")
	}
	sealer, err := openSealer(o.StateDir)
	if err != nil {
		return s, err
	}
	s.Service = &planner.Service{Sealer: sealer, Client: s.Client.Client, Registry: reg, Executors: executors, Keys: s.Store, Log: s.Store, HasModel: model != nil, RunURL: runURL, Room: s.Store.Room, Filled: s.Store.Filled, Watcher: o.Telemetry}
	if o.Caller != nil {
		s.Service.Offers = o.Caller.Offers
	}
	o.Telemetry.Read(s.readings(o))
	if s.Attached || o.NoWorker {
		return s, nil
	}
	s.onClose(s.Browser.Shutdown)
	activities := &planner.Activities{Sealer: sealer, Registry: reg, Executors: executors, Journal: s.Store, Artifacts: s.Store, Events: s.Store, Log: s.Store, RunURL: runURL,
		Worker: name, Shared: everywhere(o.Toolsets), Tracer: o.Telemetry.Tracer()}
	useModel(activities, model, callers)
	work.use(activities)
	workers := []worker.Worker{planner.NewWorker(s.Client.Client, activities, o.Telemetry.WorkerInterceptors()...)}
	if name != "" {
		workers = append(workers, planner.NewOwnWorker(s.Client.Client, activities, o.Telemetry.WorkerInterceptors()...))
	}
	for _, w := range workers {
		if err := w.Start(); err != nil {
			return s, fmt.Errorf("start the worker: %w", err)
		}
	}
	s.onClose(func(context.Context) error {
		up := time.AfterFunc(s.drainLeft(), activities.HandOver)
		defer up.Stop()
		stop(workers)
		return nil
	})
	s.keep(o)
	return s, nil
}

// stop lets all of them drain at the same time.
func stop(workers []worker.Worker) {
	var draining sync.WaitGroup
	for _, w := range workers {
		draining.Go(w.Stop)
	}
	draining.Wait()
}

// reachTemporal finds the Temporal service: the one that was named, the one of a process that serves this state directory, or an
// embedded one.
func (s *Stack) reachTemporal(ctx context.Context, o Options) error {
	interceptors, err := o.Telemetry.ClientInterceptors()
	if err != nil {
		return fmt.Errorf("trace runs: %w", err)
	}
	dial := temporalclient.Options{Address: o.TemporalAddress, Namespace: o.Namespace, Logger: o.Logger, Interceptors: interceptors}
	s.UIURL = o.UIURL
	own := false // a Temporal that belongs to toolsvc: its search attributes are there, and the environment does not matter
	if o.TemporalAddress == "" && !temporalclient.Configured() {
		ep, running, err := temporalclient.ReadEndpoint(temporalDir(o.StateDir))
		if err != nil {
			return err
		}
		if running {
			s.Attached, s.UIURL = true, ep.UIURL
			dial.Address, dial.Namespace = ep.Address, ep.Namespace
		} else {
			srv, err := temporalserver.Start(ctx, temporalserver.Options{StateDir: temporalDir(o.StateDir), FrontendPort: o.FrontendPort, UIPort: o.UIPort,
				Namespace: o.Namespace, Retention: o.KeepRuns, SearchAttributes: temporalclient.SearchAttributes(), Logger: o.Logger})
			if err != nil {
				return fmt.Errorf("start the embedded Temporal: %w", err)
			}
			s.onClose(func(context.Context) error { return srv.Stop() })
			s.failed = srv.Failed()
			s.UIURL = srv.UIURL()
			dial.Address, dial.Namespace = srv.Address(), srv.Namespace()
		}
		own, dial.Direct = true, true
	}
	c, err := temporalclient.Dial(ctx, dial)
	if err != nil {
		return err
	}
	s.Client, s.TemporalAddress, s.namespace = c, c.Address, c.Namespace
	s.onClose(func(context.Context) error { c.Close(); return nil })
	if own {
		return nil
	}
	return c.EnsureSearchAttributes(ctx)
}

// Ready returns nil when calls can be made.
func (s *Stack) Ready(ctx context.Context) error {
	if err := s.Store.Room(); err != nil {
		return fmt.Errorf("%w: %w", planner.ErrNoRoom, err)
	}
	if err := s.Store.Reach(ctx); err != nil {
		return err
	}
	return s.Client.Ping(ctx)
}

// Failed delivers the error that ends an embedded Temporal; it never delivers with a given one.
func (s *Stack) Failed() <-chan error { return s.failed }

// openBrowser makes the browser's executor; Chromium itself starts with the first call.
func openBrowser(o Options, keep *store.Store, model *gemini.Client, callers *callersModel) (*browser.Executor, error) {
	var v vision.Grounder
	if !o.NoVision {
		v = newSeer(ocr.New(ocr.Options{}), model, callers)
	}
	var remembers *memory.Memory
	if !o.NoMemory {
		remembers = memory.New(keep, nil)
	}
	return browser.New(browser.Options{Navigation: o.Navigation, Memory: remembers, Choose: o.Choose, StateDir: filepath.Join(o.StateDir, "browser"), ChromiumPath: o.ChromiumPath, Vision: v, Artifacts: artifacts{keep},
		Screenshots: o.Screenshots, Workspace: o.Workspace, DeviceScaleFactor: o.DeviceScaleFactor, EndBrowser: o.Ephemeral, MaxSessions: o.MaxSessions})
}

// ownPorts are the ports of a Temporal on this machine, and of its UI, where runs can be signalled and ended by whoever gets there.
func ownPorts(address, uiURL string) (out []int) {
	if u, err := url.Parse(uiURL); err == nil && u.Host != "" {
		out = append(out, portOf(u.Host)...)
	}
	return append(out, portOf(address)...)
}

func portOf(hostPort string) []int {
	_, port, err := net.SplitHostPort(hostPort)
	n, bad := strconv.Atoi(port)
	if err != nil || bad != nil {
		return nil // it is elsewhere, and has no port that is ours
	}
	return []int{n}
}

// artifacts lets the browser keep pictures in the store.
type artifacts struct{ store *store.Store }

func (a artifacts) Put(ctx context.Context, mediaType string, data []byte) (string, error) {
	return a.store.PutArtifact(ctx, mediaType, data)
}

func temporalDir(stateDir string) string { return filepath.Join(stateDir, "temporal") }

func (s *Stack) onClose(f func(context.Context) error) { s.closers = append(s.closers, f) }

// closeLimit bounds an orderly end, after the drain.
const closeLimit = 20 * time.Second

// DrainBy bounds the end of the stack: attempts that are under way at that time, when Close was called, are handed over. Without it that is
// Options.Drain after Close. It lets a program give one bound to its surfaces and its worker together.
func (s *Stack) DrainBy(at time.Time) { s.drainBy.Store(&at) }

// drainLeft is how long attempts may go on: never less than they need to come to an orderly end by themselves.
func (s *Stack) drainLeft() time.Duration {
	if at := s.drainBy.Load(); at != nil {
		return max(leastDrain, time.Until(*at))
	}
	return s.drain
}

const leastDrain = 500 * time.Millisecond

// Close ends everything in the reverse order: steps in hand are finished or handed over, the browser goes on unless it is ephemeral.
func (s *Stack) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.drainLeft()+closeLimit)
	defer cancel()
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i](ctx))
	}
	s.closers = nil
	return errors.Join(errs...)
}
