//go:build linux

package terminal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"toolsvc/executors/terminal/supervise"
	gen "toolsvc/gen/toolsets/terminal"
	"toolsvc/tool"
)

// runAttempt is one attempt at terminal.run.
type runAttempt struct {
	attempt
	args    *gen.RunPayload
	dir     string // of its supervisor
	cwd     string
	release func()
	record  *supervise.Record // when the command has ended
}

// Resolve implements tool.Attempt: it finds the directory to run in, and waits for the command's turn.
func (a *runAttempt) Resolve(ctx context.Context) error {
	if a.x.shell == "" {
		return &tool.Failed{Failure: tool.ToolUnavailable, What: "bash", Message: "There is neither bash nor sh on this machine to run commands; install bash."}
	}
	if a.args.Stdin != nil && a.args.SecretStdin != nil {
		return tool.Failf(tool.InvalidArguments, "A command has one standard input: give stdin or secret_stdin, not both.")
	}
	var err error
	if a.cwd, err = a.x.cwd(a.args.Cwd); err != nil {
		return err
	}
	a.release, err = a.x.acquire(ctx)
	return err
}

// Observe implements tool.Attempt.
func (a *runAttempt) Observe(ctx context.Context, needs tool.Needs) (*tool.Evidence, error) {
	e, err := a.evidence(ctx, needs)
	if err != nil {
		return nil, err
	}
	e.Values["effect"] = effectEvidence(a.dispatched && a.settled, a.dispatched, a.proof())
	if r := a.record; r != nil && r.State == supervise.StateEnded {
		e.Values["exit_code"] = r.ExitCode
		// A part of an output is no evidence of the whole: a condition that reads it is then undecided.
		for name, o := range map[string]supervise.Output{"stdout": r.Stdout, "stderr": r.Stderr} {
			if o.Omitted == 0 && len(o.Head) <= whole {
				e.Values[name] = o.Head
			}
		}
	}
	return e, nil
}

// Dispatch implements tool.Attempt: it starts the command.
func (a *runAttempt) Dispatch(ctx context.Context) error {
	err := a.x.launcher.Launch(ctx, a.order())
	var no *supervise.NotStarted
	if errors.As(err, &no) {
		return notStarted(no, "The shell "+a.x.shell)
	}
	a.dispatched = true
	if err != nil {
		return &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: true, Cause: err, Message: fmt.Sprintf("It is not known whether the command was started: %v.", err)}
	}
	return nil
}

func (a *runAttempt) order() supervise.Order {
	l, p := a.x.opts.Limits, a.args
	tmp := filepath.Join(a.dir, "tmp")
	stdin := p.Stdin
	if p.SecretStdin != nil {
		stdin = p.SecretStdin
	}
	o := supervise.Order{Kind: supervise.KindRun, Dir: a.dir, Key: a.key, Argv: []string{a.x.shell, "-c", p.Command}, Cwd: a.cwd, Tmp: tmp,
		Env:   a.x.environment(a.cwd, tmp, "dumb", p.Env, p.SecretEnv),
		Limit: a.limit(), Grace: l.Grace, Whole: whole, Head: l.Head, Tail: l.Tail,
		Secrets: secretsOf(p.Env, p.SecretEnv, p.SecretStdin), Confine: a.x.confinement()}
	if stdin != nil {
		o.Stdin = []byte(*stdin)
	}
	return o
}

// limit is how long the command may take.
func (a *runAttempt) limit() time.Duration {
	return min(time.Duration(a.args.TimeoutMs)*time.Millisecond, a.x.opts.Limits.Run)
}

// endLimit bounds the ending of a command whose call is over.
const endLimit = 15 * time.Second

// Settle implements tool.Attempt: it waits for the command's end.
func (a *runAttempt) Settle(ctx context.Context) (tool.Outcome, error) {
	r, err := supervise.Wait(ctx, a.dir)
	if ctx.Err() != nil && (r == nil || r.State != supervise.StateEnded) {
		// Nobody waits for the command any more: it is ended, with everything it started.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
		defer cancel()
		_, err := supervise.End(end, a.dir)
		f := ctxFailed(ctx, true, "The command")
		if err != nil {
			f.Message += fmt.Sprintf(" It could not be ended: %v.", err)
		}
		return tool.Outcome{}, f
	}
	if err != nil {
		return tool.Outcome{}, &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: true, Cause: err, Message: fmt.Sprintf("What became of the command is not known: %v.", err)}
	}
	return a.conclude(r)
}

// conclude makes the outcome of a final record.
func (a *runAttempt) conclude(r *supervise.Record) (tool.Outcome, error) {
	a.record, a.settled, a.dispatched = r, true, true
	took := r.Ended.Sub(r.Started)
	switch {
	case r.State == supervise.StateFailed:
		a.dispatched = false
		return tool.Outcome{Effect: tool.EffectNone, Proof: "The command was not started: " + r.Problem + "."}, nil
	case r.EndedBy == supervise.EndedLimit:
		return tool.Outcome{}, &tool.Failed{Failure: tool.Timeout, Dispatched: true,
			Message: fmt.Sprintf("The command had not ended after %s and was ended, with all that it had started (%s).%s"+
				" Give it more time with timeout_ms; a program that asks, or that goes on until it is ended, needs terminal.open.", a.limit(), processes(r.LeftBehind), a.wrote())}
	case r.EndedBy == supervise.EndedRequest:
		return tool.Outcome{}, &tool.Failed{Failure: tool.Cancelled, Dispatched: true, Message: "The command was ended from outside, with everything that it had started." + a.wrote()}
	}
	l := a.x.opts.Limits
	res := &gen.RunResult{ExitCode: r.ExitCode, LeftBehind: r.LeftBehind, DurationMs: int(took.Milliseconds())}
	if r.Signal != "" {
		res.Signal = &r.Signal
	}
	res.Stdout, res.StdoutOmittedBytes = shorten(r.Stdout, l.Head, l.Tail)
	res.Stderr, res.StderrOmittedBytes = shorten(r.Stderr, l.Head, l.Tail)
	return tool.Outcome{Result: res, Effect: tool.EffectConfirmed, Proof: a.proof(), Final: true}, nil
}

// proof says in one or two sentences how the command ended.
func (a *runAttempt) proof() string {
	r := a.record
	if r == nil || r.State != supervise.StateEnded {
		return ""
	}
	how := fmt.Sprintf("The command ran for %s and ended with exit code %d", r.Ended.Sub(r.Started).Round(time.Millisecond), r.ExitCode)
	if r.Signal != "" {
		how = fmt.Sprintf("The command ran for %s and was ended by %s", r.Ended.Sub(r.Started).Round(time.Millisecond), r.Signal)
	}
	if r.LeftBehind > 0 {
		how += fmt.Sprintf("; %s that it left behind were ended", processes(r.LeftBehind))
	}
	return how + "." + a.wrote()
}

// maxQuoted bounds what a sentence quotes of an output, in bytes.
const maxQuoted = 600

// wrote quotes the end of what the command wrote, of standard error if there is any.
func (a *runAttempt) wrote() string {
	for _, s := range []struct {
		name string
		out  supervise.Output
	}{{"standard error", a.record.Stderr}, {"standard output", a.record.Stdout}} {
		end := s.out.Tail
		if end == "" {
			end = s.out.Head
		}
		if end = strings.TrimSpace(end); end != "" {
			return fmt.Sprintf(" Its %s ends: %q", s.name, clipStart(end, maxQuoted))
		}
	}
	return " It wrote nothing."
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// Rollback implements tool.Attempt. It undoes nothing: the workspace is restored around the attempt, by package workspace.
func (a *runAttempt) Rollback(context.Context) (tool.Rollback, error) {
	if !a.dispatched {
		return tool.Rollback{Performed: true, RestoredTo: "nothing was started"}, nil
	}
	return tool.Rollback{Refused: "what a command changed outside of the workspace cannot be undone"}, nil
}

// Close implements tool.Attempt.
func (a *runAttempt) Close() error {
	if a.release != nil {
		a.release()
		a.release = nil
	}
	return nil
}
