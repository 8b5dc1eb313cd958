//go:build linux

package terminal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"toolsvc/executors/terminal/supervise"
	gen "toolsvc/gen/toolsets/terminal"
	"toolsvc/tool"
)

// action is what a call wants of a session.
type action struct {
	kind       string // open, type, press, read, close
	session    string
	open       *gen.OpenPayload
	input      *supervise.Input // of type and press
	waitFor    string
	patience   time.Duration
	scrollback int
}

func sessionAction(payload tool.Payload) action {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	switch p := payload.(type) {
	case *gen.OpenPayload:
		return action{kind: "open", session: p.Session, open: p, waitFor: value(p.WaitFor), patience: ms(p.TimeoutMs)}
	case *gen.TypePayload:
		in := &supervise.Input{Text: value(p.Text), Submit: p.Submit}
		if p.Secret != nil {
			in.Text, in.Secret = *p.Secret, true
		}
		return action{kind: "type", session: p.Session, input: in, waitFor: value(p.WaitFor), patience: ms(p.TimeoutMs)}
	case *gen.PressPayload:
		return action{kind: "press", session: p.Session, input: &supervise.Input{Press: p.Key, Times: p.Times}, waitFor: value(p.WaitFor), patience: ms(p.TimeoutMs)}
	case *gen.ReadPayload:
		return action{kind: "read", session: p.Session, waitFor: value(p.WaitFor), patience: ms(p.TimeoutMs), scrollback: p.Scrollback}
	}
	return action{kind: "close", session: payload.(*gen.ClosePayload).Session}
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// given is the text, or nil for none.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// sessionAttempt is one attempt at a tool of a session.
type sessionAttempt struct {
	attempt
	act    action
	dir    string // of the session's supervisor; "" when there is none
	cwd    string // of one that is to be opened
	reused bool
	before *supervise.Screen
	sent   *supervise.Sent
	ended  *supervise.Record // of one that was closed, or has ended
	done   *supervise.Settled
}

// held is a session as its records know it.
type held struct {
	dir    string
	record *supervise.Record
	alive  bool
}

// find finds the latest session of that name of a run; nil when there was none. n is its number.
func (x *Executor) find(runID, name string) (h *held, n int, err error) {
	dir := x.sessionsOf(runID)
	dirs, err := below(dir)
	if err != nil {
		return nil, 0, fmt.Errorf("find the session %q: %w", name, err)
	}
	for _, d := range dirs {
		base, number, _ := strings.Cut(filepath.Base(d), ".")
		if k, err := strconv.Atoi(number); err == nil && base == name && k > n {
			n = k
		}
	}
	if n == 0 {
		return nil, 0, nil
	}
	h = &held{dir: filepath.Join(dir, fmt.Sprintf("%s.%d", name, n))}
	h.record, err = supervise.Read(h.dir)
	if errors.Is(err, supervise.ErrNoRecord) {
		return h, n, nil
	}
	if err != nil {
		return nil, n, err
	}
	h.alive = (h.record.State == supervise.StateStarted || h.record.State == supervise.StateOrdered) && h.record.Supervisor.Alive()
	return h, n, nil
}

// alive counts the open sessions of a run.
func (x *Executor) alive(runID string) (n int, err error) {
	dirs, err := below(x.sessionsOf(runID))
	if err != nil {
		return 0, fmt.Errorf("count the open sessions: %w", err)
	}
	for _, d := range dirs {
		if r, err := supervise.Read(d); err == nil && r.State != supervise.StateEnded && r.Supervisor.Alive() {
			n++
		}
	}
	return n, nil
}

// Resolve implements tool.Attempt: it finds the session, or makes sure that it can be opened.
func (a *sessionAttempt) Resolve(context.Context) error {
	h, n, err := a.x.find(a.call.RunID, a.act.session)
	if err != nil {
		return err
	}
	if h != nil && h.alive {
		a.dir, a.reused = h.dir, true
		return nil
	}
	switch a.act.kind {
	case "open":
		return a.resolveOpen(n + 1)
	case "close":
		if h != nil {
			a.ended = h.record
		}
		return nil
	}
	if h == nil || h.record == nil {
		return &tool.Failed{Failure: tool.PreconditionFailed, What: a.act.session,
			Message: fmt.Sprintf("There is no session %q in this run; open it with terminal.open.", a.act.session)}
	}
	if a.act.kind == "read" { // what it looked like at its end can still be read
		a.dir, a.ended = h.dir, h.record
		return nil
	}
	return &tool.Failed{Failure: tool.PreconditionFailed, What: a.act.session, Message: gone(a.act.session, h.record)}
}

// gone says why a session is not there any more.
func gone(name string, r *supervise.Record) string {
	how := "its supervisor is gone, and with it all that ran in it"
	if r.State == supervise.StateEnded {
		switch r.EndedBy {
		case supervise.EndedIdle:
			how = "nobody used it for too long"
		case supervise.EndedRequest:
			how = "it was closed"
		default:
			how = fmt.Sprintf("its program ended with exit code %d", r.ExitCode)
		}
	}
	return fmt.Sprintf("The session %q is not open any more: %s. Open it anew with terminal.open.", name, how)
}

func (a *sessionAttempt) resolveOpen(number int) error {
	x := a.x
	if x.shell == "" {
		return &tool.Failed{Failure: tool.ToolUnavailable, What: "bash", Message: "There is neither bash nor sh on this machine to open a session with; install bash."}
	}
	open, err := x.alive(a.call.RunID)
	if err != nil {
		return err
	}
	if open >= x.opts.Limits.Sessions {
		return &tool.Failed{Failure: tool.PreconditionFailed, What: a.act.session,
			Message: fmt.Sprintf("The run has %d open sessions, which is the most; close one with terminal.close.", x.opts.Limits.Sessions)}
	}
	if a.cwd, err = x.cwd(a.act.open.Cwd); err != nil {
		return err
	}
	a.dir = filepath.Join(x.sessionsOf(a.call.RunID), fmt.Sprintf("%s.%d", a.act.session, number))
	return nil
}

// Observe implements tool.Attempt.
func (a *sessionAttempt) Observe(ctx context.Context, needs tool.Needs) (*tool.Evidence, error) {
	e, err := a.evidence(ctx, needs)
	if err != nil {
		return nil, err
	}
	sc, err := a.look(ctx)
	if err != nil {
		return nil, err
	}
	if !a.dispatched {
		a.before = sc
	}
	state := map[string]any{"alive": false}
	if sc != nil {
		e.Values["screen"] = sc.Text
		state = map[string]any{"alive": sc.Alive, "waiting": sc.Waiting, "running": sc.Running, "prompt": string(sc.Prompt), "prompt_text": sc.Line, "program": sc.Program,
			"title": sc.Title, "cwd": sc.Cwd, "full_screen": sc.FullScreen, "echo": sc.Echo, "row": sc.Row, "col": sc.Col}
	}
	e.Values["terminal"] = state
	delivered, changed, proof := a.effect()
	e.Values["effect"] = effectEvidence(delivered, changed, proof)
	if a.settled {
		if code := a.exitCode(); code != nil {
			e.Values["exit_code"] = *code
		}
		if d := a.done; d != nil && d.CommandExit != nil && d.Output.Omitted == 0 && len(d.Output.Head) <= whole {
			e.Values["stdout"] = d.Output.Head
		}
	}
	return e, nil
}

// look shows the session as it is now; nil when there is none.
func (a *sessionAttempt) look(ctx context.Context) (*supervise.Screen, error) {
	if a.ended != nil {
		return a.ended.Screen, nil
	}
	if a.dir == "" || !a.reused && !a.dispatched {
		return nil, nil
	}
	sc, err := supervise.Look(ctx, a.dir, a.act.scrollback)
	if errors.Is(err, supervise.ErrGone) {
		r, e := supervise.Read(a.dir)
		if e != nil {
			return nil, e
		}
		if r.State != supervise.StateEnded { // the supervisor was killed; there is nothing to show
			return nil, nil
		}
		a.ended = r
		return r.Screen, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the session %q: %w", a.act.session, err)
	}
	return sc, nil
}

// Dispatch implements tool.Attempt.
func (a *sessionAttempt) Dispatch(ctx context.Context) error {
	switch {
	case a.act.kind == "open" && !a.reused:
		return a.launch(ctx)
	case a.act.input != nil:
		return a.send(ctx)
	case a.act.kind == "close" && a.dir != "":
		r, err := supervise.End(ctx, a.dir)
		a.dispatched = true
		if err != nil && !errors.Is(err, supervise.ErrLost) {
			return &tool.Failed{Failure: tool.Internal, Dispatched: true, Cause: err, Message: fmt.Sprintf("The session %q could not be closed: %v.", a.act.session, err)}
		}
		a.ended = r
	}
	return nil
}

func (a *sessionAttempt) launch(ctx context.Context) error {
	x, p, l := a.x, a.act.open, a.x.opts.Limits
	tmp := filepath.Join(a.dir, "tmp")
	o := supervise.Order{Kind: supervise.KindSession, Dir: a.dir, Key: a.key, Cwd: a.cwd, Tmp: tmp, Env: x.environment(a.cwd, tmp, "xterm-256color", p.Env, p.SecretEnv),
		Idle: l.Idle, Grace: l.Grace, Whole: whole, Head: l.Head, Tail: l.Tail, Secrets: secretsOf(p.Env, p.SecretEnv), Confine: x.confinement(),
		Rows: p.Rows, Cols: p.Cols, Scrollback: l.Scrollback}
	switch {
	case p.Command != nil:
		o.Argv = []string{x.shell, "-c", *p.Command}
	case x.bash:
		o.Argv, o.Marked = []string{x.shell, "--noprofile", "--rcfile", x.rcFile(), "-i"}, true
	default:
		o.Argv = []string{x.shell, "-i"}
	}
	err := x.launcher.Launch(ctx, o)
	var no *supervise.NotStarted
	if errors.As(err, &no) {
		return notStarted(no, "The shell "+x.shell)
	}
	a.dispatched = true
	if err != nil {
		return &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: true, Cause: err, Message: fmt.Sprintf("It is not known whether the session was opened: %v.", err)}
	}
	return nil
}

func (a *sessionAttempt) send(ctx context.Context) error {
	in := *a.act.input
	in.Key = a.key
	sent, err := supervise.Send(ctx, a.dir, in)
	if errors.Is(err, supervise.ErrGone) {
		f := &tool.Failed{Failure: tool.PreconditionFailed, What: a.act.session, Cause: err, Message: fmt.Sprintf("The session %q has ended; open it anew with terminal.open.", a.act.session)}
		return f
	}
	if err != nil {
		a.dispatched = true
		return &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: true, Cause: err, Message: fmt.Sprintf("It is not known whether the session %q took the input: %v.", a.act.session, err)}
	}
	if sent.Refused != "" {
		return &tool.Failed{Failure: tool.PreconditionFailed, What: a.act.session, Message: fmt.Sprintf("Nothing was sent to the session %q: %s.", a.act.session, sent.Refused)}
	}
	a.sent, a.dispatched = sent, true
	return nil
}

// Settle implements tool.Attempt.
func (a *sessionAttempt) Settle(ctx context.Context) (tool.Outcome, error) {
	if a.act.kind == "close" {
		a.settled = true
		return a.closed(), nil
	}
	if a.ended == nil {
		p := supervise.Patience{Text: a.act.waitFor, Limit: a.act.patience, Opening: a.act.kind == "open" && !a.reused}
		if a.act.input != nil {
			p.Key = a.key
		}
		d, err := supervise.Settle(ctx, a.dir, p)
		switch {
		case errors.Is(err, supervise.ErrGone):
			if err := a.lost(ctx); err != nil {
				return tool.Outcome{}, err
			}
		case ctx.Err() != nil:
			return tool.Outcome{}, ctxFailed(ctx, a.dispatched, "The wait for the session")
		case err != nil:
			return tool.Outcome{}, &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: a.dispatched, Cause: err,
				Message: fmt.Sprintf("What became of the session %q is not known: %v.", a.act.session, err)}
		default:
			a.done = d
			if !d.Screen.Alive { // its record says how it ended
				if err := a.lost(ctx); err != nil {
					return tool.Outcome{}, err
				}
			}
		}
	}
	return a.conclude(ctx)
}

// lost takes the last word of a session that has ended while it was waited for.
func (a *sessionAttempt) lost(ctx context.Context) error {
	r, err := supervise.Wait(ctx, a.dir)
	if err != nil {
		return &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: a.dispatched, Cause: err, What: a.act.session,
			Message: fmt.Sprintf("The session %q is gone, and what became of the input is not known: %v.", a.act.session, err)}
	}
	a.ended = r
	return nil
}

// conclude makes the outcome of a session that has settled, or ended.
func (a *sessionAttempt) conclude(ctx context.Context) (tool.Outcome, error) {
	a.settled = true
	res, err := a.shown(ctx)
	if err != nil {
		return tool.Outcome{}, err
	}
	delivered, changed, proof := a.effect()
	out := tool.Outcome{Effect: tool.EffectUnknown, Proof: proof}
	switch {
	case a.act.kind == "read", a.act.kind == "open" && !a.dispatched:
		out.Effect = tool.EffectNone
	case delivered && changed:
		out.Effect = tool.EffectConfirmed
	}
	switch a.act.kind {
	case "open":
		out.Result = &gen.OpenResult{Screen: res.Screen, Output: res.Output, OutputOmittedBytes: res.OutputOmittedBytes, CursorRow: res.CursorRow, CursorCol: res.CursorCol,
			Prompt: res.Prompt, PromptText: res.PromptText, Waiting: res.Waiting, Running: res.Running, Alive: res.Alive, Found: res.Found, ExitCode: res.ExitCode,
			Cwd: res.Cwd, Program: res.Program, Title: res.Title, WaitedMs: res.WaitedMs, Reused: a.reused}
	case "read":
		sc, err := a.look(ctx)
		if err != nil {
			return tool.Outcome{}, err
		}
		r := &gen.ReadResult{Screen: res.Screen, Output: res.Output, OutputOmittedBytes: res.OutputOmittedBytes, CursorRow: res.CursorRow, CursorCol: res.CursorCol,
			Prompt: res.Prompt, PromptText: res.PromptText, Waiting: res.Waiting, Running: res.Running, Alive: res.Alive, Found: res.Found, ExitCode: res.ExitCode,
			Cwd: res.Cwd, Program: res.Program, Title: res.Title, WaitedMs: res.WaitedMs}
		if sc != nil {
			r.ScrollbackLines = sc.AboveLines
			if a.act.scrollback > 0 {
				above := lastLines(sc.Above, a.act.scrollback)
				r.Scrollback = &above
			}
		}
		out.Result = r
	case "press":
		r := gen.PressResult(*res)
		out.Result = &r
	default:
		out.Result = res
	}
	return out, nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// shown is what all tools of a session tell of it.
func (a *sessionAttempt) shown(ctx context.Context) (*gen.TypeResult, error) {
	sc := (*supervise.Screen)(nil)
	res := &gen.TypeResult{Prompt: string(supervise.PromptNone), Found: a.act.waitFor == ""}
	if d := a.done; d != nil {
		l := a.x.opts.Limits
		sc, res.Found, res.WaitedMs = d.Screen, d.Found, int(d.Waited.Milliseconds())
		res.Output, res.OutputOmittedBytes = shorten(d.Output, l.Head, l.Tail)
	}
	if a.ended != nil {
		sc = a.ended.Screen
		res.Found = res.Found || a.done == nil && sc != nil && a.foundOn(sc.Text)
	}
	if sc == nil {
		var err error
		if sc, err = a.look(ctx); err != nil {
			return nil, err
		}
	}
	res.ExitCode = a.exitCode()
	if sc == nil {
		return res, nil
	}
	res.Screen, res.CursorRow, res.CursorCol, res.Prompt, res.Waiting, res.Running, res.Alive = sc.Text, sc.Row, sc.Col, string(sc.Prompt), sc.Waiting, sc.Running, sc.Alive
	res.Cwd, res.Program, res.Title = given(sc.Cwd), given(sc.Program), given(sc.Title)
	if sc.Waiting {
		res.PromptText = given(sc.Line)
	}
	return res, nil
}

// foundOn reports whether the text that is waited for appeared on the last screen of a session that ended before it could be asked. What stood
// there already, and what was typed itself and may be its echo, does not count.
func (a *sessionAttempt) foundOn(screen string) bool {
	want := a.act.waitFor
	if in := a.act.input; in != nil && (a.before == nil || strings.Contains(a.before.Text, want) || strings.Contains(in.Text, want)) {
		return false
	}
	return strings.Contains(screen, want)
}

// exitCode is the exit code of the command that ended since the action, or of the session's program.
func (a *sessionAttempt) exitCode() *int {
	switch {
	case a.ended != nil && a.ended.State == supervise.StateEnded:
		return &a.ended.ExitCode
	case a.done != nil:
		return a.done.CommandExit
	}
	return nil
}

// effect says what is known of what the action did: whether the terminal took it, whether anything was written since, and why.
func (a *sessionAttempt) effect() (delivered, changed bool, proof string) {
	switch {
	case !a.dispatched:
		return false, false, ""
	case a.act.kind == "open" && a.ended != nil:
		return true, true, "The session was opened, and its program ended at once with exit code " + strconv.Itoa(a.ended.ExitCode) + "." + a.showed()
	case a.act.kind == "open":
		return true, true, "The session was opened."
	case a.act.kind == "close":
		return true, true, "The session was closed."
	case a.sent == nil:
		return false, false, ""
	case a.sent.Bytes < a.sent.Want:
		return false, a.sent.Bytes > 0, fmt.Sprintf("The terminal took only %d of %d bytes, because nobody reads them.", a.sent.Bytes, a.sent.Want)
	case a.ended != nil:
		return true, true, "The terminal took the input, and the session's program has ended since."
	case a.done == nil:
		return true, false, "The terminal took the input."
	case a.done.CommandExit != nil:
		return true, true, fmt.Sprintf("The terminal took the input, and a command ended since with exit code %d.", *a.done.CommandExit)
	case a.done.Wrote > 0:
		return true, true, fmt.Sprintf("The terminal took the input, and %d bytes were written since.", a.done.Wrote)
	}
	return true, false, "The terminal took the input, and nothing was written since, as where a password is typed."
}

// showed quotes the last screen of a session that has ended.
func (a *sessionAttempt) showed() string {
	if a.ended.Screen == nil || strings.TrimSpace(a.ended.Screen.Text) == "" {
		return " Its screen was empty."
	}
	return fmt.Sprintf(" Its screen ends: %q", clipStart(strings.TrimSpace(a.ended.Screen.Text), maxQuoted))
}

// closed is the outcome of terminal.close.
func (a *sessionAttempt) closed() tool.Outcome {
	res := &gen.CloseResult{}
	out := tool.Outcome{Result: res, Effect: tool.EffectNone, Proof: "There was no open session of that name."}
	if r := a.ended; r != nil && r.State == supervise.StateEnded {
		res.ExitCode = &r.ExitCode
		if a.dispatched {
			res.Ended = r.LeftBehind
		}
	}
	if a.dispatched {
		out.Effect, out.Proof = tool.EffectConfirmed, "The session was closed."
	}
	return out
}

// Rollback implements tool.Attempt. A session that was opened is closed; text at a shell's prompt is erased, and the line must then be what it
// was.
func (a *sessionAttempt) Rollback(ctx context.Context) (tool.Rollback, error) {
	switch {
	case !a.dispatched:
		return tool.Rollback{Performed: true, RestoredTo: "nothing was sent"}, nil
	case a.act.kind == "open":
		r, err := supervise.End(ctx, a.dir)
		if err != nil {
			return tool.Rollback{}, fmt.Errorf("close the session %q again: %w", a.act.session, err)
		}
		a.ended = r
		if a.act.open.Command != nil {
			return tool.Rollback{Refused: "the session was closed again, but what its program did meanwhile cannot be undone"}, nil
		}
		return tool.Rollback{Performed: true, RestoredTo: "the session is closed again"}, nil
	case a.act.kind == "type" && !a.act.input.Submit && a.sent != nil && a.sent.Asked && a.before != nil && !strings.ContainsAny(a.act.input.Text, "\r\n\t\x1b"):
		return a.erase(ctx)
	}
	return tool.Rollback{Refused: "what a program made of what was typed cannot be taken back"}, nil
}

func (a *sessionAttempt) erase(ctx context.Context) (tool.Rollback, error) {
	key := a.key + "/undo"
	if _, err := supervise.Send(ctx, a.dir, supervise.Input{Key: key, Erase: utf8.RuneCountInString(a.act.input.Text)}); err != nil {
		return tool.Rollback{}, fmt.Errorf("erase what was typed: %w", err)
	}
	d, err := supervise.Settle(ctx, a.dir, supervise.Patience{Key: key, Limit: 2 * time.Second})
	if err != nil {
		return tool.Rollback{}, fmt.Errorf("erase what was typed: %w", err)
	}
	if d.Screen.Line != a.before.Line || d.Screen.Prompt != a.before.Prompt {
		return tool.Rollback{Refused: fmt.Sprintf("what was typed was erased, but the line reads %q, not %q as before", d.Screen.Line, a.before.Line)}, nil
	}
	return tool.Rollback{Performed: true, RestoredTo: "the line at the prompt is as before"}, nil
}

// Close implements tool.Attempt.
func (a *sessionAttempt) Close() error { return nil }
