package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"toolsvc/tool"
)

// Token names the backup of one attempt. It is the same whenever it is asked for ([TokenOf]), so a caller that was killed needs to
// remember nothing.
type Token string

// TokenOf is the token of an attempt.
func TokenOf(callID string, attempt int) Token {
	sum := sha256.Sum256([]byte(callID))
	return Token(fmt.Sprintf("a_%x_%d", sum[:12], attempt))
}

// stage of an attempt's record.
const (
	stageBegun      = "begun"       // it may be writing
	stageObserved   = "observed"    // it has ended, and what it left is known
	stageRolledBack = "rolled_back" // it was taken back, or could not be: Outcome says
)

// maxShared bounds the paths that a record lists as changed by one of several attempts.
const maxShared = 10_000

// record is what is kept of an attempt until it is committed.
type record struct {
	RunID   string    `json:"run_id"`
	CallID  string    `json:"call_id"`
	Attempt int       `json:"attempt"`
	Began   time.Time `json:"began"`
	Stage   string    `json:"stage"`
	Before  digest    `json:"before,omitzero"` // manifests
	After   digest    `json:"after,omitzero"`
	// Lost is when the process that made the attempt was last seen alive, if it died before the attempt was observed; what changed
	// later is not the attempt's.
	Lost time.Time `json:"lost,omitzero"`
	// Lasting: the attempt goes on when its process dies, in the next one.
	Lasting bool `json:"lasting,omitempty"`
	// Shared are paths that changed while other attempts were under way too: the calls, by path. SharedAll when there were too many.
	Shared    map[string]string `json:"shared,omitempty"`
	SharedAll string            `json:"shared_all,omitempty"`
	// Outcome of the rollback.
	Outcome *tool.Rollback `json:"outcome,omitempty"`
}

func (r *record) manifests() []digest { return []digest{r.Before, r.After} }

// Begin backs the folder up before an attempt that may write. The attempts of a run and of the runs that it starts may be nested. Begun
// again, it keeps the first backup: the attempt was lost after it may have written, and is made again. When it is known that the lost attempt
// did nothing, Commit it first, so that the new backup holds what people did meanwhile. Errors: [ErrTooLarge], [ErrNoSpace]; the attempt must
// not be made then.
func (w *Workspace) Begin(ctx context.Context, runID, callID string, attempt int) (Token, error) {
	return w.begin(ctx, runID, callID, attempt, false)
}

// BeginLasting is Begin for an attempt that goes on when its process dies, in the next one: a stage, whose run Temporal carries on. What changes
// between the two processes is somebody else's; what changes after that is the attempt's again.
func (w *Workspace) BeginLasting(ctx context.Context, runID, callID string, attempt int) (Token, error) {
	return w.begin(ctx, runID, callID, attempt, true)
}

func (w *Workspace) begin(ctx context.Context, runID, callID string, attempt int, lasting bool) (Token, error) {
	token := TokenOf(callID, attempt)
	if err := w.acquire(ctx); err != nil {
		return "", err
	}
	defer w.leave()
	edits := w.editing() // the later ones wait for their turn, and find the record
	rec := w.attempts[string(token)]
	if rec != nil && rec.Stage == stageBegun {
		rec.Lost = time.Time{}
		for _, e := range edits {
			rec.disown(e)
		}
		w.startPulse()
		return token, w.save(token, rec)
	}
	if err := w.place(); err != nil {
		return "", err
	}
	_, name, err := w.findOrCollect(ctx)
	if err != nil {
		return "", fmt.Errorf("back up %s before the attempt: %w", w.opt.Root, err)
	}
	rec = &record{RunID: runID, CallID: callID, Attempt: attempt, Began: time.Now().UTC(), Stage: stageBegun, Before: name, Lasting: lasting}
	for _, e := range edits {
		rec.disown(e)
	}
	if err := w.save(token, rec); err != nil {
		return "", fmt.Errorf("record the backup before the attempt: %w", err)
	}
	w.attempts[string(token)] = rec
	w.startPulse()
	return token, nil
}

// Observe records what the attempt left behind. It is to be called right after the attempt has ended: what changes later is somebody
// else's. A second call changes nothing.
func (w *Workspace) Observe(ctx context.Context, token Token) error {
	if err := w.acquire(ctx); err != nil {
		return err
	}
	defer w.leave()
	rec := w.attempts[string(token)]
	if rec == nil {
		return fmt.Errorf("%w: %s", ErrUnknown, token)
	}
	if rec.Stage != stageBegun {
		return nil
	}
	return w.observe(ctx, token, rec)
}

func (w *Workspace) observe(ctx context.Context, token Token, rec *record) error {
	_, name, err := w.find(ctx, keepSmall)
	if errors.Is(err, ErrNoSpace) || errors.Is(err, ErrTooLarge) { // knowing what changed matters more than showing it
		_, name, err = w.find(ctx, keepNone)
	}
	if err != nil {
		return fmt.Errorf("look at what the attempt left in %s: %w", w.opt.Root, err)
	}
	rec.After, rec.Stage = name, stageObserved
	if err := w.save(token, rec); err != nil {
		return fmt.Errorf("record what the attempt left: %w", err)
	}
	if !w.underWay() {
		w.stopPulse()
	}
	return nil
}

// Changed lists what the attempt changed, as it was observed.
func (w *Workspace) Changed(ctx context.Context, token Token) ([]Change, error) {
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	defer w.leave()
	rec := w.attempts[string(token)]
	if rec == nil || rec.Stage == stageBegun {
		return nil, fmt.Errorf("%w: %s was not observed", ErrUnknown, token)
	}
	b, err := w.tree(rec.Before)
	if err != nil {
		return nil, err
	}
	a, err := w.tree(rec.After)
	if err != nil {
		return nil, err
	}
	return compare(b, a).changes(b, a), nil
}

// Rollback takes back what the attempt changed. Asked again, it gives the same answer. A refusal is in the answer's Refused; an error means that it
// could not be done, and may be tried again. An attempt that was not observed is observed first.
func (w *Workspace) Rollback(ctx context.Context, token Token) (tool.Rollback, error) {
	if err := w.acquire(ctx); err != nil {
		return tool.Rollback{}, err
	}
	defer w.leave()
	rec := w.attempts[string(token)]
	if rec == nil {
		return tool.Rollback{}, fmt.Errorf("%w: %s", ErrUnknown, token)
	}
	if rec.Outcome != nil && rec.Outcome.Performed {
		return *rec.Outcome, nil
	}
	if rec.Stage == stageBegun {
		if err := w.observe(ctx, token, rec); err != nil {
			return tool.Rollback{}, err
		}
	}
	b, err := w.tree(rec.Before)
	if err != nil {
		return tool.Rollback{}, err
	}
	a, err := w.tree(rec.After)
	if err != nil {
		return tool.Rollback{}, err
	}
	done, err := w.restore(ctx, b, a, rec.foreign(b, a))
	var refused *Refused
	var out tool.Rollback
	switch {
	case errors.As(err, &refused):
		out.Refused = refused.Error()
		if d := refused.Details(); strings.Contains(d, "@@") {
			out.Refused += "\n" + d
		}
	case err != nil:
		return tool.Rollback{}, err
	default:
		out = told(done)
		if err := w.rebase(a, b, done, token); err != nil {
			return tool.Rollback{}, err
		}
	}
	rec.Stage, rec.Outcome = stageRolledBack, &out
	if err := w.save(token, rec); err != nil {
		return tool.Rollback{}, fmt.Errorf("record the rollback: %w", err)
	}
	return out, nil
}

// told puts a restore into words.
func told(r Restored) tool.Rollback {
	what := fmt.Sprintf("%s restored", count(r.Total, "change"))
	if r.Total == 0 {
		what = "the attempt had changed nothing"
	} else {
		what += ": " + list(r.Changes)
	}
	if r.Complete() {
		return tool.Rollback{Performed: true, RestoredTo: what + "; the workspace was read again and is as before"}
	}
	var not []string
	if len(r.Uncovered) > 0 {
		not = append(not, "the backup does not cover "+list(r.Uncovered))
	}
	if len(r.Unseen) > 0 {
		not = append(not, "nobody can tell whether something changed below "+strings.Join(r.Unseen[:min(len(r.Unseen), 5)], ", "))
	}
	if len(r.Left) > 0 {
		not = append(not, "not as before: "+strings.Join(r.Left[:min(len(r.Left), 5)], ", "))
	}
	return tool.Rollback{RestoredTo: what, Refused: "not everything could be restored: " + strings.Join(not, "; ")}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list names the first changes.
func list(cs []Change) string {
	const some = 8
	var words []string
	for _, c := range cs[:min(len(cs), some)] {
		words = append(words, fmt.Sprintf("%s (%s)", c.Path, c.Op))
	}
	if len(cs) > some {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

// Commit ends an attempt: its changes stay, and its backup is forgotten. Nothing when it is forgotten already.
func (w *Workspace) Commit(ctx context.Context, token Token) error {
	if err := w.acquire(ctx); err != nil {
		return err
	}
	defer w.leave()
	rec := w.attempts[string(token)]
	if rec == nil {
		return nil
	}
	if rec.Stage == stageBegun && w.others(token) > 0 { // what it changed must be charged before it is forgotten
		if _, _, err := w.find(ctx, keepNone); err != nil {
			return err
		}
	}
	if err := remove(w.path("attempts", string(token))); err != nil {
		return fmt.Errorf("forget the backup of the attempt: %w", err)
	}
	delete(w.attempts, string(token))
	if !w.underWay() {
		w.stopPulse()
	}
	return w.collectSoon()
}

func (w *Workspace) save(token Token, rec *record) error {
	return writeRecord(w.path("attempts"), string(token), rec)
}

// underWay reports whether an attempt may be writing.
func (w *Workspace) underWay() bool {
	for _, rec := range w.attempts {
		if rec.Stage == stageBegun && rec.Lost.IsZero() {
			return true
		}
	}
	return false
}

// others counts the attempts that may be writing besides this one.
func (w *Workspace) others(token Token) (n int) {
	for id, rec := range w.attempts {
		if rec.Stage == stageBegun && id != string(token) {
			n++
		}
	}
	return n
}

// related reports whether one run is the other, or one that it started: a stage of a pipeline and the calls of its own run, whose names begin
// with that of the run above. What the inner one changes, the outer one has changed.
func related(x, y string) bool {
	return x == y || strings.HasPrefix(x, y+"-") || strings.HasPrefix(y, x+"-")
}

// charge marks what changed since the last look, when several attempts are under way: it may be anyone's.
func (w *Workspace) charge(now *tree) error {
	var active []string
	for id, rec := range w.attempts {
		if rec.Stage == stageBegun && rec.Lost.IsZero() {
			active = append(active, id)
		}
	}
	if len(active) < 2 || w.latest == nil {
		return nil
	}
	paths := compare(w.latest, now).paths
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(active)
	for _, id := range active {
		rec := w.attempts[id]
		var calls []string
		for _, other := range active {
			if !related(rec.RunID, w.attempts[other].RunID) {
				calls = append(calls, w.attempts[other].CallID)
			}
		}
		if len(calls) == 0 {
			continue
		}
		why := "it changed while another attempt was under way in the same workspace (" + strings.Join(calls[:min(len(calls), 3)], ", ") + ")"
		if rec.Shared == nil {
			rec.Shared = map[string]string{}
		}
		if len(rec.Shared)+len(paths) > maxShared {
			rec.SharedAll = why
		} else {
			for _, p := range paths {
				rec.Shared[p] = why
			}
		}
		if err := w.save(Token(id), rec); err != nil {
			return err
		}
	}
	return nil
}

// foreign are the paths that something else than the attempt may have changed, and why.
func (r *record) foreign(b, a *tree) map[string]string {
	f := maps.Clone(r.Shared)
	if f == nil {
		f = map[string]string{}
	}
	if r.SharedAll == "" && r.Lost.IsZero() {
		return f
	}
	lost := r.Lost.UnixNano()
	for _, p := range compare(b, a).paths {
		switch {
		case r.SharedAll != "":
			f[p] = r.SharedAll
		case later(b, a, p, lost):
			f[p] = changedAfterDeath(r.Lost)
		}
	}
	return f
}

func changedAfterDeath(t time.Time) string {
	return "it changed after the process that made the attempt had died (" + t.UTC().Format(time.RFC3339) + "), so it may be somebody else's change"
}

// later reports whether the path may have been changed after the time: by its own time, or, where nothing is left of it, by that of the
// nearest directory.
func later(b, a *tree, p string, t int64) bool {
	e := a.get(p)
	if e != nil && e.kind() == kindDir {
		if was := b.get(p); was == nil || was.kind() != kindDir || sameState(was, e) {
			return false // its time follows from what is in it
		}
	}
	for e == nil && p != "." {
		p = parent(p)
		e = a.get(p)
	}
	return e != nil && e.CTime > t
}

// rebase gives the open attempts of other runs a state before that is without what this rollback took back: they did not do that.
func (w *Workspace) rebase(a, b *tree, done Restored, token Token) error {
	if done.Total == 0 || w.others(token) == 0 {
		return nil
	}
	paths := compare(b, a).paths
	for id, rec := range w.attempts {
		if rec.Stage != stageBegun || id == string(token) || related(rec.RunID, w.attempts[string(token)].RunID) {
			continue
		}
		theirs, err := w.tree(rec.Before)
		if err != nil {
			return err
		}
		t := &tree{entries: slices.Clone(theirs.entries)}
		for _, p := range paths {
			if sameState(t.get(p), a.get(p)) {
				t = t.with(p, w.latest.get(p))
			}
		}
		text, name := t.encode()
		if err := writeFile(w.path("manifests"), name.hex(), text, true); err != nil {
			return full(err)
		}
		rec.Before = name
		for _, p := range paths {
			delete(rec.Shared, p)
		}
		if err := w.save(Token(id), rec); err != nil {
			return err
		}
	}
	return nil
}

// with is the tree with another entry at the path; nil: none.
func (t *tree) with(p string, e *entry) *tree {
	i, ok := slices.BinarySearchFunc(t.entries, p, func(e entry, p string) int { return strings.Compare(e.Path, p) })
	switch {
	case ok && e == nil:
		t.entries = slices.Delete(t.entries, i, i+1)
	case ok:
		t.entries[i] = *e
	case e != nil:
		t.entries = slices.Insert(t.entries, i, *e)
	}
	return t
}

// pulseEvery is how often a process shows that it is alive while an attempt is under way; after a crash it tells when that was.
const pulseEvery = 500 * time.Millisecond

// lostGrace is how much longer than its last pulse a process that died is taken to have lived.
var lostGrace = 2 * pulseEvery

// pulse touches a file.
type pulse struct{ stop, stopped chan struct{} }

func (w *Workspace) startPulse() {
	if w.pulse != nil {
		return
	}
	p := &pulse{make(chan struct{}), make(chan struct{})}
	w.pulse = p
	path := w.path("pulse")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		w.pulse = nil // then a crash counts everything later as somebody else's
		return
	}
	go func() {
		defer close(p.stopped)
		tick := time.NewTicker(pulseEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				touch(path) //nolint:errcheck // the same
			case <-p.stop:
				return
			}
		}
	}()
}

func (w *Workspace) stopPulse() {
	if w.pulse == nil {
		return
	}
	close(w.pulse.stop)
	<-w.pulse.stopped
	w.pulse = nil
}

// recoverAttempts notes of every attempt that was under way when its process died, when that was.
func (w *Workspace) recoverAttempts() error {
	var lost int
	for _, rec := range w.attempts {
		if rec.Stage == stageBegun && rec.Lost.IsZero() {
			lost++
		}
	}
	if lost > 1 { // what changed since the last look may be anyone's of them
		if _, _, err := w.find(context.Background(), keepNone); err != nil {
			return err
		}
	}
	var seen time.Time
	if info, err := os.Stat(w.path("pulse")); err == nil {
		seen = info.ModTime()
	}
	for id, rec := range w.attempts {
		if rec.Stage != stageBegun || !rec.Lost.IsZero() {
			continue
		}
		rec.Lost = rec.Began
		if seen.After(rec.Lost) {
			rec.Lost = seen
		}
		rec.Lost = rec.Lost.Add(lostGrace)
		if rec.Lasting {
			if err := w.carryOn(rec); err != nil {
				return err
			}
		}
		if err := w.save(Token(id), rec); err != nil {
			return err
		}
	}
	if w.underWay() {
		w.startPulse()
	}
	return nil
}

// carryOn lets a lasting attempt go on in this process: what changed since the last one died is marked as somebody else's.
func (w *Workspace) carryOn(rec *record) error {
	now, _, err := w.find(context.Background(), keepNone)
	if err != nil {
		return err
	}
	before, err := w.tree(rec.Before)
	if err != nil {
		return err
	}
	for _, p := range compare(before, now).paths {
		if !later(before, now, p, rec.Lost.UnixNano()) {
			continue
		}
		if rec.Shared == nil {
			rec.Shared = map[string]string{}
		}
		if len(rec.Shared) >= maxShared {
			rec.SharedAll = changedAfterDeath(rec.Lost)
			break
		}
		rec.Shared[p] = changedAfterDeath(rec.Lost)
	}
	rec.Lost = time.Time{}
	return nil
}
