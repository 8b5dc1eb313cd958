//go:build linux

package terminal

import (
	"context"
	"errors"
	"fmt"

	"toolsvc/executors/terminal/supervise"
	"toolsvc/tool"
)

// maxAttempts bounds the attempts that a call can have had.
const maxAttempts = 3

// Reconcile implements tool.Reconciler. It starts and sends nothing. Of a command the supervisor's record tells: it was not started, it has
// ended with this exit code, or it is still running, and then its end is waited for. Of an input the session tells whether it was sent.
func (x *Executor) Reconcile(ctx context.Context, call *tool.Call, before *tool.Evidence) (tool.Attempt, tool.Outcome, error) {
	att, err := x.begin(call, tool.Plan{Number: 0})
	if err != nil {
		return nil, tool.Outcome{}, err
	}
	var out tool.Outcome
	switch a := att.(type) {
	case *runAttempt:
		out, err = a.reconcile(ctx)
	case *sessionAttempt:
		out, err = a.reconcile(ctx, before)
	}
	if err != nil {
		_ = att.Close() // it holds nothing
		return nil, tool.Outcome{}, err
	}
	return att, out, nil
}

func (a *runAttempt) reconcile(ctx context.Context) (tool.Outcome, error) {
	a.dispatched = true
	for n := maxAttempts; n > 0; n-- {
		dir := a.x.runDir(a.call, n)
		r, err := supervise.Wait(ctx, dir)
		switch {
		case errors.Is(err, supervise.ErrNoRecord):
			continue // this attempt was not made, or did not come so far
		case errors.Is(err, supervise.ErrLost) && r.State == supervise.StateOrdered && r.Supervisor.Boot == supervise.Boot():
			a.dir, a.settled, a.dispatched = dir, true, false
			return tool.Outcome{Effect: tool.EffectNone, Proof: "The command was handed to a supervisor that ended before it started it."}, nil
		case errors.Is(err, supervise.ErrLost):
			a.dir, a.settled = dir, true
			return tool.Outcome{Effect: tool.EffectUnknown, Proof: fmt.Sprintf("The command was started (process %d), and its supervisor was lost before it ended.", r.Child)}, nil
		case err != nil:
			return tool.Outcome{}, err
		}
		a.dir = dir
		out, err := a.conclude(r)
		if err == nil {
			out.Proof = "After the loss of the process that asked for it: " + out.Proof
		}
		return out, err
	}
	a.settled = true
	if a.x.oldBoot {
		return tool.Outcome{Effect: tool.EffectUnknown, Proof: "There is no record of the command, but the machine was started anew since, and the record may be lost."}, nil
	}
	a.dispatched = false
	return tool.Outcome{Effect: tool.EffectNone, Proof: "There is no record of the command, so it was not started."}, nil
}

func (a *sessionAttempt) reconcile(ctx context.Context, before *tool.Evidence) (tool.Outcome, error) {
	h, _, err := a.x.find(a.call.RunID, a.act.session)
	if err != nil {
		return tool.Outcome{}, err
	}
	was := false // open, before the dispatch
	if t, ok := before.Values["terminal"].(map[string]any); ok {
		was, _ = t["alive"].(bool)
	}
	unknown := func(proof string) (tool.Outcome, error) {
		a.settled, a.dispatched = true, true
		return tool.Outcome{Effect: tool.EffectUnknown, Proof: proof}, nil
	}
	none := func(proof string) (tool.Outcome, error) {
		a.settled = true
		return tool.Outcome{Effect: tool.EffectNone, Proof: proof}, nil
	}
	if h == nil || h.record == nil {
		if was || a.x.oldBoot {
			return unknown("The session is gone, and what became of the action is not known.")
		}
		return none("There is no record of the session, so nothing was opened.")
	}
	a.dir, a.reused = h.dir, was
	if !h.alive {
		if a.ended = h.record; h.record.State != supervise.StateEnded {
			a.ended = nil
			a.dir = ""
		}
		if a.act.input != nil {
			return unknown(gone(a.act.session, h.record))
		}
		a.dispatched = !was
		return a.conclude(ctx)
	}
	if a.act.input == nil {
		a.dispatched = a.act.kind == "open" && !was
		a.reused = !a.dispatched
		return a.conclude(ctx)
	}
	for n := maxAttempts; n > 0; n-- {
		key := fmt.Sprintf("%s/%d", a.call.ID, n)
		d, err := supervise.Settle(ctx, a.dir, supervise.Patience{Key: key, Text: a.act.waitFor, Limit: a.act.patience})
		if err != nil {
			return tool.Outcome{}, err
		}
		if !d.Known {
			continue
		}
		a.key, a.sent, a.done, a.dispatched = key, d.Sent, d, true
		out, err := a.conclude(ctx)
		out.Proof = "After the loss of the process that acted: " + out.Proof
		return out, err
	}
	return none("The session never got the input.")
}
