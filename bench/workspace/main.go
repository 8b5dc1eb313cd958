// Command workspace measures what backing up and restoring a workspace costs, beside cp -a and git stash on the same files in the same
// run: make bench-workspace.
//
// The folder is new, random and of the size that is asked for; all figures are with a warm cache. Our figures include bringing the backup
// to the disk, which cp and git do not do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"toolsvc/executors/workspace"
)

func main() {
	files := flag.Int("files", 10_000, "files in the folder")
	megabytes := flag.Int("mb", 500, "their size together")
	changed := flag.Int("changed", 100, "files that an attempt changes")
	rounds := flag.Int("rounds", 5, "measurements of each; the median is told")
	seed := flag.Uint64("seed", 1, "of the contents")
	flag.Parse()
	if err := run(*files, *megabytes<<20, *changed, *rounds, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "bench/workspace:", err)
		os.Exit(1)
	}
}

// bench is one measurement's surroundings.
type bench struct {
	dir, root, copy string
	names           []string
	rng             *rand.Rand
	changed, rounds int
	w               *workspace.Workspace
}

func run(files, bytes, changed, rounds int, seed uint64) (err error) {
	dir, err := os.MkdirTemp("", "toolsvc-bench-workspace-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{dir: dir, root: filepath.Join(dir, "root"), copy: filepath.Join(dir, "copy"), rng: rand.New(rand.NewPCG(seed, 0)), changed: changed, rounds: rounds}
	if err := b.fill(files, bytes); err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "%d files, %d MB, %d changed\ttoolsvc\tcp -a\tgit stash\tcp ÷ toolsvc\tgit ÷ toolsvc\t\n", files, bytes>>20, changed)
	for _, row := range []func() (string, [3]time.Duration, error){b.first, b.again, b.after, b.restore} {
		what, took, err := row()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%.1f\t%.1f\t\n", what, ms(took[0]), ms(took[1]), ms(took[2]), took[1].Seconds()/took[0].Seconds(), took[2].Seconds()/took[0].Seconds())
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return b.w.Close()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// fill makes the folder: 20 files to a directory, of all sizes.
func (b *bench) fill(files, bytes int) error {
	block := make([]byte, 4*bytes/files)
	for i := range block {
		block[i] = byte(b.rng.Uint32())
	}
	for i := range files {
		dir := filepath.Join(b.root, fmt.Sprintf("d%02d", i/400), fmt.Sprintf("e%02d", i/20%20))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		name := filepath.Join(dir, fmt.Sprintf("f%05d", i))
		size := bytes/files/2 + b.rng.IntN(bytes/files)
		text := append([]byte(name), block[:size]...)
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
		b.names = append(b.names, name)
	}
	return nil
}

// timed measures the median of some rounds; prepare comes before each and is not measured.
func (b *bench) timed(rounds int, prepare, do func() error) (time.Duration, error) {
	var took []time.Duration
	for range rounds {
		if prepare != nil {
			if err := prepare(); err != nil {
				return 0, err
			}
		}
		start := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func command(dir, name string, args ...string) func() error {
	return func() error {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
		}
		return nil
	}
}

func (b *bench) git(args ...string) func() error {
	return command(b.root, "git", append([]string{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"}, args...)...)
}

func both(fs ...func() error) func() error {
	return func() error {
		for _, f := range fs {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}

// change appends to some files in place.
func (b *bench) change() error {
	for range b.changed {
		f, err := os.OpenFile(b.names[b.rng.IntN(len(b.names))], os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(f, b.rng.Uint64())
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) cp() func() error       { return command(b.dir, "cp", "-a", b.root, b.copy) }
func (b *bench) dropCopy() func() error { return func() error { return os.RemoveAll(b.copy) } }

func (b *bench) snapshot() (workspace.Snapshot, error) {
	return b.w.Snapshot(context.Background(), "bench")
}

func (b *bench) discard(s workspace.Snapshot) error { return b.w.Discard(context.Background(), s) }

// first backs up a folder that was never seen.
func (b *bench) first() (what string, took [3]time.Duration, err error) {
	what = "first backup"
	if took[1], err = b.timed(3, b.dropCopy(), b.cp()); err != nil {
		return what, took, err
	}
	start := time.Now()
	if b.w, err = workspace.Open(workspace.Options{Root: b.root, StateDir: filepath.Join(b.dir, "state")}); err != nil {
		return what, took, err
	}
	s, err := b.snapshot()
	if err != nil {
		return what, took, err
	}
	took[0] = time.Since(start)
	if err := b.discard(s); err != nil {
		return what, took, err
	}
	took[2], err = b.timed(1, nil, both(b.git("init", "-q"), b.git("add", "-A"), b.git("commit", "-qm", "bench")))
	return what, took, err
}

// again backs up when nothing changed.
func (b *bench) again() (what string, took [3]time.Duration, err error) {
	return b.backup("later backup, nothing changed", nil)
}

// after backs up when an attempt changed some files.
func (b *bench) after() (what string, took [3]time.Duration, err error) {
	return b.backup("later backup, some changed", b.change)
}

func (b *bench) backup(what string, prepare func() error) (_ string, took [3]time.Duration, err error) {
	var s workspace.Snapshot
	if took[0], err = b.timed(b.rounds, prepare, func() (err error) { s, err = b.snapshot(); return err }); err != nil {
		return what, took, err
	}
	if err := b.discard(s); err != nil {
		return what, took, err
	}
	if prepare == nil {
		prepare = func() error { return nil }
	}
	if took[1], err = b.timed(3, both(prepare, b.dropCopy()), b.cp()); err != nil {
		return what, took, err
	}
	// "stash create" only backs up; "stash push" also resets the files.
	took[2], err = b.timed(b.rounds, prepare, b.git("stash", "create"))
	return what, took, err
}

// restore takes back what an attempt changed, whose backup was taken before.
func (b *bench) restore() (what string, took [3]time.Duration, err error) {
	what = "restore of what changed"
	var before, after workspace.Snapshot
	took[0], err = b.timed(b.rounds, func() (err error) {
		if before, err = b.snapshot(); err != nil {
			return err
		}
		if err := b.change(); err != nil {
			return err
		}
		after, err = b.snapshot()
		return err
	}, func() error {
		done, err := b.w.Restore(context.Background(), before, after)
		if err == nil && !done.Complete() {
			err = fmt.Errorf("not complete: %+v", done)
		}
		return err
	})
	if err != nil {
		return what, took, err
	}
	// With a copy, only all can be brought back.
	took[1], err = b.timed(3, both(b.dropCopy(), b.cp(), b.change), both(func() error { return os.RemoveAll(b.root) }, command(b.dir, "cp", "-a", b.copy, b.root)))
	if err != nil {
		return what, took, err
	}
	if err := both(b.git("add", "-A"), b.git("commit", "-qm", "bench", "--allow-empty"))(); err != nil {
		return what, took, err
	}
	took[2], err = b.timed(b.rounds, b.change, both(b.git("stash", "push", "-q", "-u"), b.git("stash", "drop", "-q")))
	return what, took, err
}
