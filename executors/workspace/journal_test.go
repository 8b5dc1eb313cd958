//go:build linux

package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// everything is an attempt that makes a restore take every kind of step.
const everything = `
echo more >> a.txt; rm -r src/deep; mkdir -p x/y; echo z > x/y/z; mv solo moved; chmod 700 run.sh empty
ln -sfn solo link; rm pipe; echo p > pipe; cp h1 t; mv t h2; rm -r dirlink; mkdir dirlink; echo in > dirlink/in; rm s1; mkdir s1
echo out >> inplace`

// prepared is a restore whose plan is in the journal, and of which nothing was done yet.
type prepared struct {
	w       *Workspace
	root    string
	before  map[string]string // the folder before the attempt
	after   map[string]string // and after it
	plan    plan
	restore *restore
}

// prepare makes one. The workspace is left as a killed process would leave it: without a lock, with its journal.
func prepare(t *testing.T) prepared {
	t.Helper()
	w, root := opened(t, somewhere+`echo in > inplace; ln inplace ../outside-$(basename "$PWD")`, func(o *Options) { o.Ignore = []string{} })
	p := prepared{w: w, root: root, before: picture(t, root)}
	from := snap(t, w)
	sh(t, root, everything)
	p.after = picture(t, root)
	to := snap(t, w)
	b, err := w.tree(from.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	a, err := w.tree(to.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	if p.restore, err = w.beginRestore("r_test"); err != nil {
		t.Fatal(err)
	}
	p.plan = planRestore(b, a, a, compare(b, a), rights{exchange: p.restore.canExchange(), root: os.Geteuid() == 0, uid: uint32(os.Geteuid())})
	if err := p.restore.prepare(context.Background(), &p.plan); err != nil {
		t.Fatal(err)
	}
	kinds := map[doing]bool{}
	for _, s := range p.plan.Steps {
		kinds[s.Do] = true
	}
	if len(kinds) != 8 {
		t.Fatalf("the plan takes only these steps: %v", kinds)
	}
	return p
}

// die does to the workspace what the end of its process does.
func die(t *testing.T, w *Workspace) {
	t.Helper()
	w.stopPulse()
	if err := errors.Join(unlock(w.locked), w.locked.Close()); err != nil {
		t.Fatal(err)
	}
	w.locked = nil
}

// reopen is the next start after a kill.
func (p prepared) reopen(t *testing.T) *Workspace {
	t.Helper()
	die(t, p.w)
	w, err := Open(p.w.opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() }) //nolint:errcheck // a test's end
	return w
}

// Killed after any number of steps, a restore is finished by the next Open; and again when that is killed too.
func TestOpenFinishesARestore(t *testing.T) {
	t.Parallel()
	for done := 0; ; done += 3 {
		p := prepare(t)
		if done > len(p.plan.Steps) {
			break
		}
		for i := range p.plan.Steps[:done] {
			if err := p.restore.do(&p.plan.Steps[i]); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
		}
		if got := p.reopen(t).Recovered(); len(got) != 1 || got[0].Outcome != "finished" {
			t.Fatalf("killed after %d steps: %+v", done, got)
		}
		samePicture(t, fmt.Sprintf("killed after %d of %d steps", done, len(p.plan.Steps)), p.before, picture(t, p.root))
	}
}

// A step that cannot be done undoes those before it, wherever it stands; killed while it does so, the next Open undoes the rest.
func TestARestoreThatIsInTheWayIsUndone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		other  string // what something else does to the file, $f, at the last moment
		killed bool   // and the process is killed in the middle of the restore
	}{
		{"replaced", `rm "$f"; printf theirs > "$f"`, false},
		{"changed in place", `printf theirs >> "$f"`, false},
		{"replaced, killed", `rm "$f"; printf theirs > "$f"`, true},
		{"changed in place, killed", `printf theirs >> "$f"`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t)
			var last int // the last file that is displaced
			for i, s := range p.plan.Steps {
				if s.Was != nil && s.Was.kind() == kindFile && (s.Do == doExchange || s.Do == doLift) {
					last = i
				}
			}
			at := p.plan.Steps[last].Path
			sh(t, p.root, "f='"+at+"'; "+c.other)
			stands := withoutTimes(picture(t, p.root))
			if c.killed {
				for i := range p.plan.Steps[:last] {
					if err := p.restore.do(&p.plan.Steps[i]); err != nil {
						t.Fatalf("step %d: %v", i, err)
					}
				}
				if got := p.reopen(t).Recovered(); len(got) != 1 || got[0].Outcome != "undone" || !strings.Contains(got[0].Why, at) {
					t.Fatalf("recovered: %+v", got)
				}
			} else {
				err, undone := p.restore.run(&p.plan, false)
				if !undone || !errors.Is(err, errInWay) {
					t.Fatalf("undone: %t, %v", undone, err)
				}
				if err := p.restore.end(); err != nil {
					t.Fatal(err)
				}
			}
			samePicture(t, "the folder as the attempt and the other left it", stands, withoutTimes(picture(t, p.root)))
		})
	}
}

// What something else changes between the kill and the next Open, after it was restored, stands, and the rest is finished.
func TestWhatChangesAfterTheKillStands(t *testing.T) {
	t.Parallel()
	kinds := map[doing]bool{}
	for i := 0; ; i++ {
		p := prepare(t)
		for i < len(p.plan.Steps) && p.plan.Steps[i].Do != doPlace && p.plan.Steps[i].Do != doLink && p.plan.Steps[i].Do != doExchange {
			i++
		}
		if i >= len(p.plan.Steps) {
			break
		}
		kinds[p.plan.Steps[i].Do] = true
		for k := range p.plan.Steps {
			if err := p.restore.do(&p.plan.Steps[k]); err != nil {
				t.Fatalf("step %d: %v", k, err)
			}
		}
		path := p.plan.Steps[i].Path
		sh(t, p.root, `rm '`+path+`'; echo theirs > '`+path+`'`)
		stands := withoutTimes(picture(t, p.root))
		if got := p.reopen(t).Recovered(); len(got) != 1 || got[0].Outcome != "finished" {
			t.Fatalf("%s changed after the kill: %+v", path, got)
		}
		samePicture(t, path+" changed after the kill", stands, withoutTimes(picture(t, p.root)))
	}
	if len(kinds) != 3 {
		t.Errorf("only these steps were tried: %v", kinds)
	}
}

// A restore that cannot even begin leaves no journal: the next try would leave another.
func TestARestoreThatCannotBeginLeavesNothing(t *testing.T) {
	t.Parallel()
	state, err := os.MkdirTemp("/dev/shm", "toolsvc-workspace-test-") // another file system, so that the workspace holds the staging folder
	if err != nil {
		t.Skipf("there is no second file system: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(state) }) //nolint:errcheck // only a test's leftover
	w, root := opened(t, `echo in > the-way; mv the-way `+stageName, func(o *Options) { o.StateDir = state })
	if !w.inner {
		t.Skip("the temporary directory is on the same file system")
	}
	before := picture(t, root)
	if r, err := w.beginRestore("r_test"); err == nil {
		t.Fatal(errors.Join(errors.New("the restore began"), r.end()))
	}
	if left, err := os.ReadDir(w.restoresDir()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	samePicture(t, "after the restore that could not begin", before, picture(t, root))
}

// What was only prepared is thrown away.
func TestOpenThrowsAwayWhatWasOnlyPrepared(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	if err := os.Remove(filepath.Join(p.restore.dir, planFile)); err != nil {
		t.Fatal(err)
	}
	if got := p.reopen(t).Recovered(); len(got) != 1 || got[0].Outcome != "undone" {
		t.Fatalf("recovered: %+v", got)
	}
	samePicture(t, "the folder as the attempt left it", p.after, picture(t, p.root))
	if _, err := os.Stat(p.restore.dir); err == nil {
		t.Error("the journal is still there")
	}
}

// A step is done once, however often it is asked for, and can be undone from any point.
func TestStepsAreIdempotentAndCanBeUndone(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	for i := range p.plan.Steps {
		for range 2 {
			if err := p.restore.do(&p.plan.Steps[i]); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
		}
	}
	samePicture(t, "after all steps", p.before, picture(t, p.root))
	for range 2 {
		if err := p.restore.undo(&p.plan, len(p.plan.Steps)-1); err != nil {
			t.Fatal(err)
		}
		samePicture(t, "after undoing all", p.after, picture(t, p.root))
	}
}
