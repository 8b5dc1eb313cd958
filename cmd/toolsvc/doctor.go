package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"toolsvc/executors/browser/chromium"
	"toolsvc/executors/browser/vision/ocr"
	"toolsvc/executors/mcpclient"
	"toolsvc/stack"
	"toolsvc/store"
	"toolsvc/temporalclient"
	"toolsvc/temporalserver"
)

// doctorCmd looks at what toolsvc needs. It starts nothing that goes on.
type doctorCmd struct {
	JSON bool `name:"json" help:"As JSON."`
}

// finding is one thing that was looked at.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	// Needed reports that toolsvc cannot do its main job without it.
	Needed bool   `json:"needed"`
	Found  string `json:"found"`
	Fix    string `json:"fix,omitempty"`
}

func (c *doctorCmd) Run(ctx context.Context, common *Common, std streams) error {
	found := []finding{
		stateFinding(common.StateDir),
		configFinding(common),
		storeFinding(ctx, common),
		workspaceFinding(common.workspace()),
		chromiumFinding(ctx, common.Chromium),
		ocrFinding(),
		temporalFinding(ctx, common),
		portsFinding(ctx, common),
		modelFinding(common),
	}
	found = append(found, backendFindings(ctx, common)...)
	healthy := true
	for _, f := range found {
		healthy = healthy && (f.OK || !f.Needed)
	}
	if c.JSON {
		if err := writeJSON(std.out, found); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			mark := "ok     "
			if !f.OK {
				mark = "missing"
			}
			fmt.Fprintf(std.out, "%s  %-10s %s\n", mark, f.What, f.Found)
			if f.Fix != "" {
				fmt.Fprintf(std.out, "         %-10s %s\n", "", "→ "+f.Fix)
			}
		}
	}
	if !healthy {
		return &exit{status: exitInfrastructure}
	}
	return nil
}

func stateFinding(dir string) finding {
	f := finding{What: "State", Needed: true, Found: dir}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(dir, ".doctor-*"); err == nil {
			name := probe.Name()
			_, err = probe.WriteString("x")
			if cerr := probe.Close(); err == nil {
				err = cerr
			}
			if rerr := os.Remove(name); err == nil {
				err = rerr
			}
		}
	}
	if err == nil {
		err = store.RoomIn(dir)
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, store.ErrDiskFull):
		f.Found, f.Fix = err.Error(), "free some space on the disk of "+dir+", or keep less: --keep-runs, --keep-artifacts"
	case err != nil:
		f.Found, f.Fix = err.Error(), "give a directory that you may write to: --state-dir, or TOOLSVC_STATE_DIR"
	default:
		f.OK = true
	}
	return f
}

// storeLimit bounds how long PostgreSQL is waited for.
const storeLimit = 10 * time.Second

// storeFinding reaches a shared store, or looks at the file of the state directory, without changing its schema.
func storeFinding(ctx context.Context, common *Common) finding {
	f := finding{What: "Store", Needed: true}
	if common.Store == "" {
		return storeFileFinding(ctx, common.StateDir)
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	db, err := sql.Open("pgx", common.Store) // the driver that package store registers
	if err == nil {
		err = errors.Join(db.PingContext(ctx), db.Close())
	}
	if err != nil {
		f.Found, f.Fix = "PostgreSQL cannot be used: "+strings.Join(strings.Fields(err.Error()), " "), "see that it runs, and that TOOLSVC_STORE is right"
		return f
	}
	if err := stack.Shareable(common.Store); err != nil {
		f.Found = "PostgreSQL, reached; " + err.Error()
		return f
	}
	f.OK, f.Found = true, "PostgreSQL, reached"
	return f
}

func storeFileFinding(ctx context.Context, dir string) finding {
	f := finding{What: "Store", Needed: true}
	in, err := store.Inspect(ctx, dir)
	switch {
	case errors.Is(err, store.ErrSchema): // says what to do
		f.Found = err.Error()
	case errors.Is(err, store.ErrCorrupt):
		f.Found, f.Fix = err.Error(), "stop toolsvc, and put a backup of the whole state directory in its place, or start afresh with another one"
	case err != nil:
		f.Found, f.Fix = err.Error(), "see that the file may be read, and that no other program holds it"
	case !in.Exists:
		f.OK, f.Found = true, "a file in the state directory; made by the first start"
	case in.Schema < in.Latest:
		f.OK, f.Found = true, fmt.Sprintf("a file in the state directory, of schema version %d; the next start brings it to %d, after which older versions of toolsvc refuse it", in.Schema, in.Latest)
	default:
		f.OK, f.Found = true, fmt.Sprintf("a file in the state directory, of schema version %d, undamaged", in.Schema)
	}
	return f
}

// configFinding looks at the values of the section serve, which no other command reads; names, and the flags of every command, were
// looked at before this one began.
func configFinding(common *Common) finding {
	f := finding{What: "Config", Needed: true}
	path := common.configFile()
	_, err := serveFlags(path)
	switch {
	case err != nil:
		f.Found, f.Fix = "serve: "+err.Error(), "correct it: toolsvc serve --help says what each takes"
	case path == "":
		f.OK, f.Found = true, "no file; flags, environment and defaults"
	default:
		f.OK, f.Found = true, path
	}
	return f
}

// serveFlags are the flags of a "toolsvc serve" without arguments: from the environment, the configuration file and the defaults.
func serveFlags(path string) (*serveCmd, error) {
	args := []string{"serve"}
	if path != "" {
		args = []string{"--config=" + path, "serve"}
	}
	file, err := readConfig(args)
	if err != nil {
		return nil, err
	}
	var c cli
	parser, err := newParser(&c, file, streams{io.Discard, io.Discard}, func(int) {})
	if err != nil {
		return nil, err
	}
	_, err = parser.Parse(args)
	return &c.Serve, fromFile(err, file, args)
}

// portsFinding tries the addresses that "toolsvc serve" would listen on.
func portsFinding(ctx context.Context, common *Common) finding {
	f := finding{What: "Ports"}
	serve, err := serveFlags(common.configFile())
	if err != nil {
		f.Found = "not tried, because the configuration of serve is wrong"
		return f
	}
	var taken, free []string
	for _, a := range []struct{ flag, address string }{{"--http", serve.HTTP}, {"--grpc", serve.GRPC}} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.address)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			taken = append(taken, fmt.Sprintf("%s (%s): %s", a.address, a.flag, why(err)))
		} else {
			free = append(free, a.address)
		}
	}
	if len(taken) == 0 {
		f.OK, f.Found = true, strings.Join(free, " and ")+" are free"
		return f
	}
	f.Found = strings.Join(taken, "; ")
	if ep, running, err := temporalclient.ReadEndpoint(filepath.Join(common.StateDir, "temporal")); err == nil && running {
		f.OK, f.Found = true, f.Found+fmt.Sprintf("; process %d runs toolsvc on this state directory", ep.PID)
		return f
	}
	f.Fix = "end the program that listens there, or have toolsvc serve listen elsewhere: --http, --grpc, or in the configuration under serve; the other commands do not need these ports"
	return f
}

// why is the reason of a network error, without the address that it repeats.
func why(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

func workspaceFinding(dir string) finding {
	f := finding{What: "Workspace", OK: true, Found: dir}
	if dir == "" {
		f.Found = "none: the terminal and document tools are left out"
		return f
	}
	if entries, err := os.Open(dir); err != nil {
		f.OK, f.Needed, f.Found, f.Fix = false, true, err.Error(), "name a folder that is there with --workspace, or none"
	} else if err := entries.Close(); err != nil {
		f.OK, f.Found = false, err.Error()
	}
	return f
}

// backendLimit bounds how long the servers of the configuration are waited for, all of them together.
const backendLimit = 15 * time.Second

// backendFindings starts or reaches the MCP servers of the configuration, all at once, and ends them again.
func backendFindings(ctx context.Context, common *Common) []finding {
	config, err := common.readBackends()
	if err != nil {
		return []finding{{What: "Backends", Needed: true, Found: err.Error(), Fix: "mend the section backends of the configuration"}}
	}
	ctx, cancel := context.WithTimeout(ctx, backendLimit)
	defer cancel()
	names := slices.Sorted(maps.Keys(config))
	found := make([]finding, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		asking.Go(func() {
			f := finding{What: "Backend"}
			tools, err := mcpclient.Check(ctx, name, config[name], mcpclient.Options{Version: version()})
			switch {
			case err != nil:
				f.Found, f.Fix = name+": "+err.Error(), "see that its command or url is right and answers; its tools come when it does"
			case tools == 0:
				f.Found, f.Fix = name+": it answers, and none of its tools can be used", "look at its allow and deny lists; the log says of each tool why"
			default:
				f.OK, f.Found = true, fmt.Sprintf("%s: %d tools", name, tools)
			}
			found[i] = f
		})
	}
	asking.Wait()
	return found
}

func modelFinding(common *Common) finding {
	f := finding{What: "Model", OK: true}
	switch {
	case common.GeminiURL != "":
		f.Found = "Gemini at " + common.GeminiURL
	case os.Getenv("GOOGLE_GEMINI_BASE_URL") != "":
		f.Found = "Gemini at " + os.Getenv("GOOGLE_GEMINI_BASE_URL")
	case os.Getenv("GEMINI_API_KEY") != "" || os.Getenv("GOOGLE_API_KEY") != "":
		f.Found = "Gemini, with the key of the environment; it was not asked"
	default:
		f.Found = "none: everything deterministic works. GEMINI_API_KEY adds goals, agents, repair and verification by a model"
	}
	return f
}

func chromiumFinding(ctx context.Context, path string) finding {
	f := finding{What: "Chromium", Needed: true}
	path, err := chromium.Find(path)
	if err != nil {
		f.Found, f.Fix = err.Error(), "apt-get install chromium, or name the program with --chromium"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version", "--no-sandbox").Output()
	if err != nil {
		f.Found, f.Fix = fmt.Sprintf("%s does not run: %v", path, err), "install it anew: apt-get install --reinstall chromium"
		return f
	}
	f.OK, f.Found = true, strings.TrimSpace(string(out))+" at "+path
	return f
}

func ocrFinding() finding {
	f := finding{What: "OCR"}
	g := ocr.New(ocr.Options{})
	if err := g.Available(); err != nil {
		f.Found, f.Fix = err.Error(), "apt-get install tesseract-ocr; without it, what is only painted on a canvas cannot be found"
		return f
	}
	engine, err := g.Engine()
	if err != nil {
		f.Found = err.Error()
		return f
	}
	f.OK, f.Found = true, engine
	return f
}

func temporalFinding(ctx context.Context, common *Common) finding {
	f := finding{What: "Temporal", Needed: true}
	if common.TemporalAddress == "" && !temporalclient.Configured() {
		ep, running, err := temporalclient.ReadEndpoint(filepath.Join(common.StateDir, "temporal"))
		switch {
		case err != nil:
			f.Found, f.Fix = err.Error(), "look at who uses the state directory, or give another one"
			return f
		case !running:
			return temporalFileFinding(ctx, common.StateDir)
		}
		f.Found = fmt.Sprintf("embedded, running in process %d at %s, UI %s", ep.PID, ep.Address, ep.UIURL)
	}
	c, err := temporalclient.Dial(ctx, temporalclient.Options{Address: common.TemporalAddress, Namespace: common.Namespace, Timeout: 5 * time.Second})
	if f.Found == "" && err != nil {
		f.Found, f.Fix = err.Error(), "check --temporal-address, or Temporal's environment configuration (TEMPORAL_ADDRESS, TEMPORAL_PROFILE)"
		return f
	}
	if err == nil {
		if f.Found == "" {
			f.Found = c.Address + ", namespace " + c.Namespace
		}
		c.Close()
	}
	f.OK = true
	return f
}

// temporalFileFinding looks at the database that the embedded Temporal would start on.
func temporalFileFinding(ctx context.Context, stateDir string) finding {
	f := finding{What: "Temporal", Needed: true, Found: "embedded; starts with toolsvc"}
	exists, err := temporalserver.Inspect(ctx, filepath.Join(stateDir, "temporal"))
	switch {
	case err != nil: // says what to do
		f.Found = err.Error()
	case exists:
		f.OK, f.Found = true, f.Found+"; its database is undamaged and of this version"
	default:
		f.OK = true
	}
	return f
}
