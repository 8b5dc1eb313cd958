package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"toolsvc/executors/browser/chromium"
	"toolsvc/executors/browser/vision/ocr"
	"toolsvc/store"
	"toolsvc/temporalclient"
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
		storeFinding(ctx, common),
		workspaceFinding(common.workspace()),
		chromiumFinding(ctx, common.Chromium),
		ocrFinding(),
		temporalFinding(ctx, common),
		modelFinding(common),
	}
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

// storeFinding reaches a shared store, without changing its schema; the one of the state directory is opened by whoever uses it.
func storeFinding(ctx context.Context, common *Common) finding {
	f := finding{What: "Store", Needed: true}
	if common.Store == "" {
		f.OK, f.Found = true, "a file in the state directory"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	db, err := sql.Open("pgx", common.Store) // the driver that package store registers
	if err == nil {
		err = errors.Join(db.PingContext(ctx), db.Close())
	}
	if err != nil {
		f.Found, f.Fix = "PostgreSQL cannot be used: "+err.Error(), "see that it runs, and that TOOLSVC_STORE is right"
		return f
	}
	f.OK, f.Found = true, "PostgreSQL, reached"
	return f
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
			f.OK, f.Found = true, "embedded; starts with toolsvc"
			return f
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
