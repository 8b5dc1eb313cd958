package document

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strconv"

	"toolsvc/executors/document/files"
	"toolsvc/tool"
)

// record is what the evidence from before a dispatch says of what is to be written, for a process that comes after a lost one.
func (a *attempt) record() map[string]any {
	c := a.change
	made := make([]any, len(c.missing))
	for i, m := range c.missing {
		made[i] = m
	}
	return map[string]any{"path": c.before.file.Path, "before": digestOrNone(c.before.file), "after": c.digest, "mode": strconv.FormatUint(uint64(c.before.file.Mode), 8), "folders": made}
}

// Reconcile implements tool.Reconciler. The digests decide: the file is what was to be written, what was there before, or something else. It
// removes nothing but a temporary file of the lost attempt whose content is known.
func (x *Executor) Reconcile(ctx context.Context, call *tool.Call, before *tool.Evidence) (tool.Attempt, tool.Outcome, error) {
	a, err := x.begin(call, 0)
	if err != nil {
		return nil, tool.Outcome{}, err
	}
	a.dispatched, a.settled = true, true
	out, err := a.reconcile(ctx, before)
	return a, out, a.fail(ctx, err)
}

func (a *attempt) reconcile(ctx context.Context, before *tool.Evidence) (tool.Outcome, error) {
	var rec struct {
		path, before, after, mode string
		folders                   []string
	}
	w, _ := before.Values["write"].(map[string]any)
	for name, to := range map[string]*string{"path": &rec.path, "before": &rec.before, "after": &rec.after, "mode": &rec.mode} {
		*to, _ = w[name].(string)
	}
	list, _ := w["folders"].([]any)
	for _, f := range list {
		if s, ok := f.(string); ok {
			rec.folders = append(rec.folders, s)
		}
	}
	if rec.path == "" || rec.before == "" || rec.after == "" {
		return tool.Outcome{}, fmt.Errorf("the evidence from before the dispatch does not say what was to be written")
	}
	now, err := a.x.root.Read(rec.path)
	if err != nil {
		return tool.Outcome{}, err
	}
	if err := a.remember(ctx, now, rec.before, rec.after, rec.mode); err != nil {
		a.lost = true
	}
	kept, err := a.leftover(rec.path, rec.before, rec.after)
	if err != nil {
		return tool.Outcome{}, err
	}
	const loss = "After the loss of the process that acted: "
	switch {
	case kept != "":
		return tool.Outcome{Effect: tool.EffectUnknown, Proof: loss + kept}, nil
	case digestOrNone(now) == rec.after && rec.after == rec.before:
		return a.outcome(tool.EffectNone, loss+fmt.Sprintf("%s is as it was (%s), which is what was to be written.", rec.path, short(rec.before))), nil
	case digestOrNone(now) == rec.after:
		a.wrote, a.made = true, rec.folders
		return a.outcome(tool.EffectConfirmed, loss+fmt.Sprintf("%s is what was to be written (%s).", rec.path, short(rec.after))), nil
	case digestOrNone(now) == rec.before:
		return a.outcome(tool.EffectNone, loss+fmt.Sprintf("%s is as it was (%s).", rec.path, short(rec.before))), nil
	}
	return tool.Outcome{Effect: tool.EffectUnknown, Proof: loss + fmt.Sprintf("%s is neither as it was (%s) nor what was to be written (%s), but %s: somebody else changed it.",
		rec.path, short(rec.before), short(rec.after), short(digestOrNone(now)))}, nil
}

// outcome has a result only when it is known which places were written.
func (a *attempt) outcome(effect tool.Effect, proof string) tool.Outcome {
	out := tool.Outcome{Effect: effect, Proof: proof}
	if a.change != nil {
		out.Result = a.written()
	}
	return out
}

// remember makes the change again, from what was there before.
func (a *attempt) remember(ctx context.Context, now *files.File, before, after, mode string) error {
	was := *now
	switch before {
	case digestOrNone(now):
	case "none":
		was = files.File{Path: now.Path}
	default:
		data, err := a.x.recall(ctx, before)
		if err != nil {
			return err
		}
		bits, err := strconv.ParseUint(mode, 8, 32)
		if err != nil {
			return fmt.Errorf("read the mode of %s: %w", now.Path, err)
		}
		was.Exists, was.Data, was.Digest, was.Mode = true, data, before, fs.FileMode(bits)
	}
	act := a.act
	a.act.ifDigest = nil // it was checked before the dispatch
	err := a.plan(&was)
	a.act = act
	if err != nil {
		return err
	}
	if a.change.digest != after {
		a.change = nil
		return fmt.Errorf("another version of toolsvc would write something else")
	}
	return nil
}

// leftover looks at the temporary file of the lost attempt. It holds what was to be written, or what was there; anything else was written by
// somebody else in the very moment of the swap, and is kept.
func (a *attempt) leftover(path, before, after string) (kept string, err error) {
	f, err := a.x.root.Leftover(path, a.call.ID)
	if err != nil || !f.Exists {
		return "", err
	}
	if f.Digest == before || f.Digest == after || len(f.Data) == 0 {
		return "", a.x.root.Discard(path, a.call.ID)
	}
	if a.change != nil && bytes.HasPrefix(a.change.data, f.Data) {
		return "", a.x.root.Discard(path, a.call.ID) // half written
	}
	return fmt.Sprintf("a version of %s by somebody else was displaced, and is kept in %s; compare the two.", path, f.Path), nil
}
