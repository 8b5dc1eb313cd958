package stack

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"toolsvc/executors/document"
	"toolsvc/executors/terminal"
	"toolsvc/executors/workspace"
	"toolsvc/planner"
	"toolsvc/tool"
)

// work is what is done in a folder; nil without one.
type work struct {
	terminal  tool.Executor
	documents *document.Executor
	backups   *workspace.Workspace
}

// openWorkspace makes the executors that work in the folder. A process that only asks makes none, and so leaves the folder's backups to the
// one that serves.
func (s *Stack) openWorkspace(o Options) (*work, error) {
	if o.Workspace == "" || s.Attached || o.NoWorker {
		return nil, nil
	}
	ws, err := workspace.Open(workspace.Options{Root: o.Workspace, StateDir: filepath.Join(o.StateDir, "workspace")})
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", o.Workspace, err)
	}
	s.onClose(func(context.Context) error { return ws.Close() })
	docs, err := document.New(document.Options{Root: o.Workspace, Versions: s.Store, Editing: ws.Edit})
	if err != nil {
		return nil, err
	}
	s.onClose(func(context.Context) error { return docs.Shutdown() })
	w := &work{documents: docs, backups: ws}
	term, err := terminal.New(terminal.Options{StateDir: filepath.Join(o.StateDir, "terminal"), Root: o.Workspace, Documents: docs.Observe, EndSessions: o.Ephemeral,
		Env: o.Commands.Env, ReadOnly: append(goToolchain(), o.Commands.ReadOnly...), ReadWrite: o.Commands.ReadWrite})
	if err != nil {
		return nil, fmt.Errorf("make the terminal tools: %w", err)
	}
	s.onClose(term.Shutdown)
	w.terminal = ws.Guard(term)
	return w, nil
}

// Commands says what commands in the workspace see and may touch, beside the workspace and what every program needs.
type Commands struct {
	// Env are variables: "GOCACHE": "/var/cache/go".
	Env map[string]string
	// ReadOnly and ReadWrite are files and folders that they may read, or change: tool chains, caches. A cache that others use too is a way for a
	// command to reach them: give commands one of their own where that matters. Without any, caches are in the commands' own home directory,
	// below the state directory.
	ReadOnly, ReadWrite []string
}

// goToolchain is where Go's own packages are, so that commands can compile; nothing where there is no Go.
func goToolchain() []string {
	program, err := exec.LookPath("go")
	if err != nil {
		return nil
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return nil
	}
	return []string{filepath.Dir(filepath.Dir(program))} // …/bin/go
}

func (w *work) addTo(executors map[string]tool.Executor) {
	if w == nil {
		for _, name := range []string{"terminal", "document"} {
			executors[name] = unavailable("there is no workspace: start toolsvc with --workspace and a folder")
		}
		return
	}
	executors["terminal"], executors["document"] = w.terminal, w.documents
}

// use gives the stages of pipelines their backups and their documents.
func (w *work) use(a *planner.Activities) {
	if w != nil {
		a.Backups, a.Documents = backups{w.backups}, w.documents
	}
}

// unavailable is the executor of tools that cannot be used here; it says why.
type unavailable string

func (u unavailable) Applies(*tool.Call, tool.Source) bool { return true }

func (u unavailable) Begin(context.Context, *tool.Call, tool.Plan) (tool.Attempt, error) {
	return nil, &tool.Failed{Failure: tool.ToolUnavailable, Message: string(u), Cause: errors.New("not configured")}
}

// backups lets the planner back the workspace up around stages.
type backups struct{ ws *workspace.Workspace }

func (b backups) Begin(ctx context.Context, runID, callID string, attempt int) error {
	_, err := b.ws.BeginLasting(ctx, runID, callID, attempt) // a stage goes on when this process dies
	return err
}

func (b backups) Token(callID string, attempt int) string {
	return string(workspace.TokenOf(callID, attempt))
}

func (b backups) Observe(ctx context.Context, token string) error {
	return b.ws.Observe(ctx, workspace.Token(token))
}

func (b backups) Rollback(ctx context.Context, token string) (tool.Rollback, error) {
	return b.ws.Rollback(ctx, workspace.Token(token))
}

func (b backups) Commit(ctx context.Context, token string) error {
	return b.ws.Commit(ctx, workspace.Token(token))
}
