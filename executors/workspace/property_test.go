//go:build linux

package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"toolsvc/tool"
)

// The property, for any sequence of attempts, whatever they do to the folder and wherever a process is killed:
//
//   - after a rollback that says it was performed, the folder is as it was before the attempt (content, mode, owner, times, links), and
//     what others did meanwhile elsewhere stands;
//   - a rollback is performed unless something else changed one of the attempt's paths; then it is refused, and nothing is changed;
//   - after a commit, nothing is there but what the attempt did;
//   - no trace of a restore is left in the folder, and none in the state directory.
var (
	sequences = flag.Int("sequences", 60, "how many random sequences TestProperty plays")
	seed      = flag.Uint64("seed", 0, "the first seed; 0: one by the clock")
)

// phases of an attempt, each of which is one run of the child.
const (
	phaseAttempt  = "attempt"  // Begin, the operations, Observe
	phaseRollback = "rollback" // Rollback
	phaseCommit   = "commit"
)

// order is what a child is told to do.
type order struct {
	Root, State string
	Phase       string
	Call        string
	Seed        uint64 // of the operations
	KillAt      int64  // kill at this point; 0: never
	Picture     string // file for how the folder is after the operations
	Answer      string // file for what the rollback came to
}

func TestMain(m *testing.M) {
	if text := os.Getenv("WORKSPACE_ORDER"); text != "" {
		if err := obey(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// obey is the child.
func obey(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	lostGrace = time.Hour // this machine may be slow; what happens after a crash has a test of its own
	var points atomic.Int64
	at = func(string) {
		if points.Add(1) == o.KillAt {
			syscall.Kill(0, syscall.SIGKILL) //nolint:errcheck // the whole group, this process too
			select {}
		}
	}
	w, err := Open(Options{Root: o.Root, StateDir: o.State, Ignore: []string{}})
	if err != nil {
		return err
	}
	ctx := context.Background()
	token := TokenOf(o.Call, 1)
	switch o.Phase {
	case phaseAttempt:
		if _, err := w.Begin(ctx, "r", o.Call, 1); err != nil {
			return err
		}
		at("operations")
		operate(o.Root, rand.New(rand.NewPCG(o.Seed, 1)))
		pic, err := pictureOf(o.Root)
		if err != nil {
			return err
		}
		if err := w.Observe(ctx, token); err != nil {
			return err
		}
		text, err := json.Marshal(pic)
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.Picture+".new", text, 0o600); err != nil {
			return err
		}
		if err := os.Rename(o.Picture+".new", o.Picture); err != nil {
			return err
		}
	case phaseRollback:
		rb, err := w.Rollback(ctx, token)
		if errors.Is(err, ErrUnknown) { // killed before there was a backup, and so before the attempt
			rb, err = tool.Rollback{Performed: true}, nil
		}
		if err != nil {
			return err
		}
		text, err := json.Marshal(rb)
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.Answer, text, 0o600); err != nil {
			return err
		}
	case phaseCommit:
		if err := w.Commit(ctx, token); err != nil {
			return err
		}
		if _, err := w.GC(ctx); err != nil {
			return err
		}
	}
	return w.Close()
}

func TestProperty(t *testing.T) {
	t.Parallel()
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	n := *sequences
	if testing.Short() {
		n = min(n, 15)
	}
	t.Logf("%d sequences from seed %d; one alone: go test ./executors/workspace -run TestProperty -sequences 1 -seed N", n, first)
	var tally tally
	var next atomic.Int64
	t.Run("sequences", func(t *testing.T) {
		for range min(runtime.GOMAXPROCS(0), 4) {
			t.Run("worker", func(t *testing.T) {
				t.Parallel()
				for !t.Failed() {
					i := next.Add(1) - 1
					if i >= int64(n) {
						return
					}
					playSequence(t, first+uint64(i), &tally)
				}
			})
		}
	})
	t.Logf("%d attempts: %d rolled back, %d refused, %d committed; %d kills, of which %d within a rollback, %d in an attempt", tally.attempts.Load(), tally.rolledBack.Load(),
		tally.refused.Load(), tally.committed.Load(), tally.kills.Load(), tally.killsInRollback.Load(), tally.killsInAttempt.Load())
	if n >= 15 && (tally.rolledBack.Load() == 0 || tally.committed.Load() == 0 || tally.kills.Load() == 0) {
		t.Error("the sequences did not do what they are for")
	}
}

type tally struct {
	attempts, rolledBack, refused, committed, kills, killsInRollback, killsInAttempt atomic.Int64
}

// sequence is one folder and what happens to it.
type sequence struct {
	t     *testing.T
	rng   *rand.Rand
	seed  uint64
	root  string
	state string
	out   string
	tally *tally
}

func playSequence(t *testing.T, seed uint64, tally *tally) {
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	s := &sequence{t: t, rng: rng, seed: seed, root: filepath.Join(dir, "root"), state: filepath.Join(dir, "state"), out: dir, tally: tally}
	if rng.IntN(5) == 0 { // the state directory on another file system
		if shm, err := os.MkdirTemp("/dev/shm", "toolsvc-workspace-test-"); err == nil {
			s.state = shm
			defer os.RemoveAll(shm) //nolint:errcheck // only a test's leftover
		}
	}
	defer os.RemoveAll(dir) //nolint:errcheck // TempDir tries again; a thousand folders at once would be many
	if err := os.Mkdir(s.root, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		operate(s.root, rng)
	}
	for i := range 3 {
		s.attempt(fmt.Sprintf("c_%d", i))
		if t.Failed() {
			return
		}
	}
}

// attempt plays one attempt to its end.
func (s *sequence) attempt(call string) {
	s.tally.attempts.Add(1)
	before := picture(s.t, s.root)
	after := filepath.Join(s.out, call+".picture")
	o := order{Root: s.root, State: s.state, Phase: phaseAttempt, Call: call, Seed: s.rng.Uint64(), Picture: after}
	s.run(o, 2)
	var left map[string]string
	if text, err := os.ReadFile(after); err == nil {
		if err := json.Unmarshal(text, &left); err != nil {
			s.t.Fatal(err)
		}
	}
	if left != nil && s.rng.IntN(3) == 0 { // its postconditions hold
		s.finish(order{Root: s.root, State: s.state, Phase: phaseCommit, Call: call})
		s.tally.committed.Add(1)
		samePicture(s.t, fmt.Sprintf("seed %d, %s: after a commit", s.seed, call), left, picture(s.t, s.root))
		s.clean(call)
		return
	}
	// Something else changes a file that the attempt did not touch, or one that it did.
	var foreign, clash string
	if left != nil {
		switch s.rng.IntN(4) {
		case 0:
			foreign = "foreign-" + call
			s.write(foreign, "somebody else's")
		case 1:
			clash = s.clash(before, left)
		}
	}
	stands := picture(s.t, s.root)
	answer := filepath.Join(s.out, call+".answer")
	s.finish(order{Root: s.root, State: s.state, Phase: phaseRollback, Call: call, Answer: answer})
	var rb tool.Rollback
	text, err := os.ReadFile(answer)
	if err == nil {
		err = json.Unmarshal(text, &rb)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	now := picture(s.t, s.root)
	what := fmt.Sprintf("seed %d, %s: after the rollback (%+v)", s.seed, call, rb)
	if clash != "" {
		s.tally.refused.Add(1)
		if rb.Performed || !strings.Contains(rb.Refused, "rollback_refused") || !strings.Contains(rb.Refused, clash) {
			s.t.Errorf("%s: something else had changed %s", what, clash)
		}
		samePicture(s.t, what, withoutTimes(stands), withoutTimes(now))
	} else {
		s.tally.rolledBack.Add(1)
		if !rb.Performed {
			s.t.Errorf("%s: not performed", what)
		}
		if foreign != "" {
			before[foreign] = stands[foreign]
			before["."], now["."] = "", ""
		}
		samePicture(s.t, what, before, now)
	}
	s.finish(order{Root: s.root, State: s.state, Phase: phaseCommit, Call: call})
	s.clean(call)
}

// clash changes a file that the attempt wrote, as somebody else would.
func (s *sequence) clash(before, left map[string]string) string {
	for _, p := range slices.Sorted(maps.Keys(left)) {
		if strings.HasPrefix(left[p], "-") && left[p] != before[p] && !strings.Contains(left[p], "file of") && strings.Contains(left[p], "sum=") {
			f, err := os.OpenFile(filepath.Join(s.root, p), os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				s.t.Fatal(err)
			}
			if _, err := f.WriteString(fmt.Sprint("theirs", s.rng.Uint64())); err != nil {
				s.t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				s.t.Fatal(err)
			}
			return p
		}
	}
	return ""
}

func (s *sequence) write(rel, text string) {
	if err := os.WriteFile(filepath.Join(s.root, rel), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// finish runs a phase until it gets to its end: it is killed, and started again.
func (s *sequence) finish(o order) {
	for try := 0; ; try++ {
		if s.run(o, 2+try) {
			return
		}
		if s.t.Failed() {
			s.t.FailNow()
		}
	}
}

// run runs the child, perhaps to be killed: at some point of its own work or at some time; one of odds runs is not. It reports whether the child came
// to its end.
func (s *sequence) run(o order, odds int) bool {
	var killAfter time.Duration
	switch s.rng.IntN(odds) {
	case 0:
		if s.rng.IntN(2) == 0 {
			o.KillAt = 1 + int64(s.rng.ExpFloat64()*12)
		} else {
			killAfter = time.Duration(s.rng.ExpFloat64() * float64(60*time.Millisecond))
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "WORKSPACE_ORDER="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	group := cmd.Process.Pid
	if killAfter > 0 {
		timer := time.AfterFunc(killAfter, func() { syscall.Kill(-group, syscall.SIGKILL) }) //nolint:errcheck // it may be over
		defer timer.Stop()
	}
	err = cmd.Wait()
	if err == nil {
		return true
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		s.t.Errorf("seed %d: the child: %v\n%s", s.seed, err, out.String())
		return false
	}
	s.tally.kills.Add(1)
	switch o.Phase {
	case phaseRollback:
		s.tally.killsInRollback.Add(1)
	case phaseAttempt:
		s.tally.killsInAttempt.Add(1)
	}
	awaitGone(s.t, group)
	return false
}

// awaitGone waits until no process of the group can write any more.
func awaitGone(t *testing.T, group int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		if !groupRuns(group) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("processes of the group %d survived SIGKILL", group)
		}
		runtime.Gosched()
	}
}

// groupRuns reports whether a process of the group is more than a zombie.
func groupRuns(group int) bool {
	if err := syscall.Kill(-group, 0); err == syscall.ESRCH {
		return false
	}
	procs, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return true
	}
	for _, p := range procs {
		text, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X" {
			return true
		}
	}
	return false
}

// clean checks that nothing of a restore is left, and that the backup is no larger than the folder.
func (s *sequence) clean(call string) {
	if _, err := os.Lstat(filepath.Join(s.root, stageName)); !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("seed %d, %s: %s is left in the folder", s.seed, call, stageName)
	}
	for _, dir := range []string{"restores", "attempts", "incoming"} {
		if left, err := os.ReadDir(filepath.Join(s.state, dir)); err != nil || len(left) > 0 {
			s.t.Errorf("seed %d, %s: %s holds %v, %v", s.seed, call, dir, left, err)
		}
	}
}

// withoutTimes leaves the times out: a refused rollback may have touched directories and put them back.
func withoutTimes(pic map[string]string) map[string]string {
	p := maps.Clone(pic)
	for k, v := range p {
		if i := strings.Index(v, " mtime="); i >= 0 {
			rest := v[i+1:]
			if j := strings.IndexByte(rest, ' '); j >= 0 {
				p[k] = v[:i] + rest[j:]
			} else {
				p[k] = v[:i]
			}
		}
	}
	return p
}

// operate does some random operations, by itself and by the shell; those that cannot be done fail, as they do in life.
func operate(root string, rng *rand.Rand) {
	for range 1 + rng.IntN(6) {
		paths := []string{}
		filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error { //nolint:errcheck // what is there is there
			if rel, relErr := filepath.Rel(root, path); err == nil && relErr == nil && rel != "." {
				paths = append(paths, rel)
			}
			return nil
		})
		if len(paths) > 400 { // keep it small: cp -a of a folder into itself grows fast
			sub := exec.Command("bash", "-c", "ls -A | head -n 2 | xargs -d '\\n' rm -rf --")
			sub.Dir = root
			sub.Run() //nolint:errcheck // the same
			continue
		}
		script := operation(rng, paths)
		if s, ok := strings.CutPrefix(script, "go:"); ok {
			inPlace(filepath.Join(root, s), rng)
			continue
		}
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = root
		cmd.Run() //nolint:errcheck // many cannot be done
	}
}

// inPlace overwrites some bytes of a file and sets its time back: only the change of status shows it.
func inPlace(path string, rng *rand.Rand) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if n := info.Size(); n > 0 {
		f.WriteAt([]byte{byte(rng.Uint32())}, rng.Int64N(n)) //nolint:errcheck // in a test's chaos
	}
	os.Chtimes(path, time.Time{}, info.ModTime()) //nolint:errcheck // the same
}

// operation makes one random operation.
func operation(rng *rand.Rand, paths []string) string {
	q := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	any := func() string {
		if len(paths) == 0 || rng.IntN(12) == 0 {
			return q("new" + strconv.Itoa(rng.IntN(30)))
		}
		return q(paths[rng.IntN(len(paths))])
	}
	fresh := func() string {
		name := string(rune('a'+rng.IntN(26))) + strconv.Itoa(rng.IntN(20))
		if len(paths) > 0 && rng.IntN(2) == 0 {
			return q(paths[rng.IntN(len(paths))] + "/" + name)
		}
		return q(name)
	}
	content := func() string {
		n := []int{0, 1, 10, 100, 5000, 70_000, 1_200_000}[min(rng.IntN(9), 6)]
		return fmt.Sprintf("head -c %d /dev/zero | tr '\\0' %c", n, 'a'+rune(rng.IntN(26)))
	}
	switch rng.IntN(34) {
	case 0, 1, 2, 3:
		return "x=" + fresh() + `; [ -p "$x" ] || ` + content() + ` > "$x"` // a pipe would wait for its reader
	case 4, 5:
		return "x=" + any() + `; [ -p "$x" ] || ` + content() + ` > "$x"`
	case 6, 7:
		return fmt.Sprintf(`x=%s; [ -p "$x" ] || printf x%d >> "$x"`, any(), rng.IntN(1000))
	case 8:
		return "x=" + any() + `; [ -p "$x" ] || : > "$x"`
	case 9, 10:
		return "rm -rf " + any()
	case 11, 12:
		return "mv -T " + any() + " " + any()
	case 13, 14:
		return "mv " + any() + " " + fresh()
	case 15:
		return fmt.Sprintf("chmod %04o %s", []int{0o600, 0o644, 0o755, 0o700, 0o4755, 0o2755, 0o1777, 0, 0o444}[rng.IntN(9)], any())
	case 16:
		return "ln -sfn " + any() + " " + any()
	case 17:
		return "ln -s " + any() + " " + fresh()
	case 18, 19:
		return "mkdir -p " + fresh() + "/" + string(rune('p'+rng.IntN(4)))
	case 20:
		return "x=" + any() + `; rm -rf "$x"; echo file > "$x"`
	case 21:
		return "x=" + any() + `; rm -rf "$x"; mkdir "$x"; echo in > "$x/in"`
	case 22, 23:
		return "ln " + any() + " " + fresh()
	case 24:
		return "ln -f " + any() + " " + any()
	case 25:
		return "x=" + any() + `; [ -f "$x" ] && touch -r "$x" ../ref && tr a-y b-z < "$x" > ../tmp && cat ../tmp > "$x"; touch -r ../ref "$x"; rm -f ../ref ../tmp`
	case 26, 27, 28:
		return "go:" + strings.Trim(any(), "'")
	case 29:
		return "cp -a " + any() + " " + fresh()
	case 30:
		return "x=" + any() + `; [ -f "$x" ] && sed -i s/a/bb/ "$x"`
	case 31:
		return "touch -h " + any()
	case 32:
		return "mkfifo " + fresh()
	}
	return "x=" + any() + `; mv "$x" "$x.t" && mkdir "$x" && mv "$x.t" "$x/inner"`
}
