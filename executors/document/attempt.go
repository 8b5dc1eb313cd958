package document

import (
	"context"
	"errors"
	"fmt"

	"toolsvc/executors/document/files"
	"toolsvc/tool"
)

// maxUnsettled is how often a call looks again when the file changes while its place is looked for.
const maxUnsettled = 3

// attempt is one attempt at a call.
type attempt struct {
	x      *Executor
	call   *tool.Call
	act    action
	number int

	change     *change
	made       []string // folders
	dispatched bool
	wrote      bool
	settled    bool
	// lost says why what a lost attempt wrote cannot be told from the rest: nothing is known of its places.
	lost bool
	// doneEditing ends what Options.Editing was told; nil when it was not.
	doneEditing func()
}

// editing says that the file is about to be written, unless that was said before.
func (a *attempt) editing(ctx context.Context) error {
	if a.x.opts.Editing == nil || a.doneEditing != nil {
		return nil
	}
	done, err := a.x.opts.Editing(ctx, a.call.RunID, a.call.ID, a.change.before.file.Path)
	if err != nil {
		return tool.Failf(tool.ToolUnavailable, "nothing was written: %w", err)
	}
	a.doneEditing = done
	return nil
}

// fail names an error after the failure catalogue.
func (a *attempt) fail(ctx context.Context, err error) error {
	f := new(tool.Failed)
	var changed *files.ChangedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &changed):
		f = tool.Failf(tool.PreconditionFailed, "Nothing was written: %w. Read it again.", err)
	case errors.As(err, &f):
		return err
	case ctx.Err() != nil:
		f = tool.Failf(tool.Cancelled, "%s of %s was cancelled: %w", a.act.kind, a.act.path, err)
	default:
		f = tool.Failf(tool.Internal, "%s of %s: %w", a.act.kind, a.act.path, err)
	}
	return f
}

// Resolve implements tool.Attempt: it finds the place, and makes the new content.
func (a *attempt) Resolve(ctx context.Context) error {
	return a.fail(ctx, a.resolve())
}

func (a *attempt) resolve() error {
	f, err := a.x.root.Read(a.act.path)
	if err != nil {
		return err
	}
	return a.plan(f)
}

// plan makes the change out of a file.
func (a *attempt) plan(f *files.File) error {
	m := a.x.models.of(f)
	if !f.Exists && a.act.kind != kindWrite && a.act.kind != kindWriteSection {
		return missingFile(m, a.x.root.Siblings(a.act.path))
	}
	if m.notText != nil {
		return tool.Failf(tool.PreconditionFailed, "%s is not text that can be read and written without loss: %w. Convert it to UTF-8 first.", f.Path, m.notText)
	}
	if f.Exists {
		a.x.seen.put(f.Digest, f.Data)
	}
	c, err := a.act.plan(m)
	if want := a.act.ifDigest; want != nil && *want != digestOrNone(f) {
		// What was to be written whole may be there already, written by an attempt that was lost.
		if err != nil || a.act.kind != kindWrite || !c.unchanged() {
			return tool.Failf(tool.PreconditionFailed, "%s is not as if_digest says: it has %s now, not %s. Read it again, or compare with the tool diff.", f.Path, short(digestOrNone(f)), short(*want))
		}
	}
	if err != nil {
		return err
	}
	a.change = c
	return nil
}

func digestOrNone(f *files.File) string {
	if !f.Exists {
		return "none"
	}
	return f.Digest
}

// short is a digest for people.
func short(digest string) string {
	if digest == "none" {
		return "no content"
	}
	return digest[:min(len(digest), 19)] + "…"
}

// missingFile says that a file is not there, and which one may be meant.
func missingFile(m *model, siblings []string) error {
	f := tool.Failf(tool.TargetNotFound, "There is no file %s in the workspace.", m.file.Path)
	if near := tool.Nearest(m.file.Path, siblings); near != "" {
		f.Message += fmt.Sprintf(" Is %s meant?", near)
		f.Candidates = []tool.Candidate{{Name: near, Role: "file"}}
	}
	return f
}

// Observe implements tool.Attempt. Immediately before the dispatch, when the file has changed since its place was found, the place is found anew.
func (a *attempt) Observe(ctx context.Context, needs tool.Needs) (*tool.Evidence, error) {
	e, err := a.observe(ctx, needs)
	return e, a.fail(ctx, err)
}

func (a *attempt) observe(ctx context.Context, needs tool.Needs) (*tool.Evidence, error) {
	var f *files.File
	for range maxUnsettled {
		var err error
		if f, err = a.x.root.Read(a.act.path); err != nil {
			return nil, err
		}
		if a.change == nil || a.dispatched || f.Digest == a.change.before.file.Digest && f.Path == a.change.before.file.Path {
			break
		}
		if err := a.plan(f); err != nil {
			return nil, err
		}
	}
	e := &tool.Evidence{Values: map[string]any{"document": a.document(a.x.models.of(f), needs)}}
	if len(needs.Documents) > 0 {
		docs, err := a.x.Observe(ctx, needs)
		if err != nil {
			return nil, err
		}
		e.Values["documents"] = docs
	}
	if a.change != nil && !a.dispatched && a.act.writes() {
		if err := a.prepare(ctx); err != nil {
			return nil, err
		}
		e.Values["write"] = a.record()
	}
	return e, nil
}

// prepare keeps what is there, so that it can be restored also by another process.
func (a *attempt) prepare(ctx context.Context) error {
	c := a.change
	if c.unchanged() {
		return nil
	}
	if c.before.file.Exists {
		if err := a.x.keep(ctx, c.before.file.Digest, c.before.file.Data); err != nil {
			return err
		}
	}
	missing, err := a.x.root.MissingFolders(c.before.file.Path)
	if err != nil {
		return err
	}
	c.missing = missing
	return a.x.keep(ctx, c.digest, c.data)
}

// Dispatch implements tool.Attempt: it writes the file.
func (a *attempt) Dispatch(ctx context.Context) error {
	return a.fail(ctx, a.dispatch(ctx))
}

func (a *attempt) dispatch(ctx context.Context) error {
	if a.change == nil {
		return tool.Failf(tool.Internal, "%s was dispatched before its place was found", a.act.kind)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !a.act.writes() || a.change.unchanged() {
		a.dispatched = true
		return nil
	}
	if err := a.editing(ctx); err != nil {
		return err
	}
	made, err := a.x.root.MakeFolders(a.change.before.file.Path)
	if err != nil {
		return err
	}
	if err := a.x.root.Replace(a.change.before.file, a.change.content(a.x.opts), a.call.ID); err != nil {
		if f := new(tool.Failed); !errors.As(err, &f) || !f.Dispatched {
			a.x.root.RemoveFolders(made)
		}
		return err
	}
	a.made, a.dispatched, a.wrote = made, true, true
	return nil
}

// Settle implements tool.Attempt: it reads back, or answers what was asked.
func (a *attempt) Settle(ctx context.Context) (tool.Outcome, error) {
	out, err := a.settle(ctx)
	if err != nil {
		err = a.fail(ctx, err)
		if f := new(tool.Failed); errors.As(err, &f) && a.wrote {
			f.Dispatched = true
		}
	}
	a.settled = true
	return out, err
}

func (a *attempt) settle(ctx context.Context) (tool.Outcome, error) {
	if !a.act.writes() {
		r, err := a.answer(ctx)
		return tool.Outcome{Result: r, Effect: tool.EffectNone, Proof: "Nothing was written.", Final: true}, err
	}
	f, err := a.x.root.Read(a.act.path)
	if err != nil {
		return tool.Outcome{}, err
	}
	c := a.change
	out := tool.Outcome{Result: a.written(), Final: true}
	switch {
	case !a.wrote:
		out.Effect, out.Proof = tool.EffectNone, fmt.Sprintf("%s held the result already (%s), so nothing was written.", c.before.file.Path, short(c.digest))
	case f.Digest == c.digest:
		out.Effect, out.Proof = tool.EffectConfirmed, fmt.Sprintf("%s was %s and is %s now.", c.before.file.Path, short(digestOrNone(c.before.file)), short(c.digest))
	default: // the swap was done; what came after it was not ours
		out.Effect, out.Proof = tool.EffectConfirmed, fmt.Sprintf("%s was written (%s), and changed by somebody else since (%s).", c.before.file.Path, short(c.digest), short(digestOrNone(f)))
	}
	return out, nil
}

// Close implements tool.Attempt.
func (a *attempt) Close() error {
	if a.doneEditing != nil {
		a.doneEditing()
	}
	return nil
}
