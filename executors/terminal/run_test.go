//go:build linux

package terminal

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"toolsvc/executors/terminal/supervise"
	"toolsvc/tool"
)

func TestRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.do("run", args{"command": "echo out; echo err >&2; pwd; cat", "stdin": "from stdin", "expect": []string{
		`stdout.startsWith("out\n")`, `stderr == "err\n"`, `result.duration_ms < 60000`, `exit_code == 0`}}).ok()
	r := d.ran()
	if r.Stdout != "out\n"+b.root+"\nfrom stdin" || r.ExitCode != 0 || r.Signal != nil || r.LeftBehind != 0 || r.StdoutOmittedBytes != 0 {
		t.Fatalf("%+v", r)
	}
	if d.out.Effect != tool.EffectConfirmed || !strings.Contains(d.out.Proof, "exit code 0") {
		t.Errorf("%s: %s", d.out.Effect, d.out.Proof)
	}
	rb, err := d.att.Rollback(b.ctx)
	if err != nil || rb.Performed || rb.Refused == "" {
		t.Errorf("a command was rolled back: %+v, %v", rb, err)
	}
}

func TestRunExitCodes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tests := map[string]struct {
		args    args
		verdict tool.Verdict
		code    int
		signal  string
		stderr  string
	}{
		"one that is not expected":  {args{"command": "exit 3"}, tool.VerdictFailure, 3, "", ""},
		"one that is expected":      {args{"command": "exit 3", "expected_exit_codes": []int{0, 3}}, tool.VerdictSuccess, 3, "", ""},
		"zero that is not expected": {args{"command": "true", "expected_exit_codes": []int{1}}, tool.VerdictFailure, 0, "", ""},
		"a missing program":         {args{"command": "no-such-program-here"}, tool.VerdictFailure, 127, "", "not found"},
		"a program without a right": {args{"command": "/etc/passwd"}, tool.VerdictFailure, 126, "", "denied"},
		"a crash":                   {args{"command": "kill -SEGV $$"}, tool.VerdictFailure, 139, "SIGSEGV", ""},
		"killed":                    {args{"command": "kill -9 $$"}, tool.VerdictFailure, 137, "SIGKILL", ""},
		"nothing on standard input": {args{"command": "cat"}, tool.VerdictSuccess, 0, "", ""},
		"no terminal to ask on":     {args{"command": "read -p 'Password: ' x < /dev/tty"}, tool.VerdictFailure, 1, "", "/dev/tty"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := b.do("run", tt.args)
			d.t = t
			r := d.ran()
			if v := d.verdict(); v.Verdict != tt.verdict {
				t.Errorf("%s: %s", v.Verdict, v.Explanation)
			}
			if r.ExitCode != tt.code || value(r.Signal) != tt.signal || !strings.Contains(r.Stderr, tt.stderr) {
				t.Errorf("%+v, signal %q", r, value(r.Signal))
			}
			if tt.stderr != "" && !strings.Contains(d.out.Proof, tt.stderr) {
				t.Errorf("the proof does not quote standard error: %s", d.out.Proof)
			}
		})
	}
}

// A process that left the session, the group and its parent, and ignores requests to end, is ended with the command all the same.
func TestRunTimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("daemon.sh", `trap '' TERM HUP INT
echo $$ > daemon.pid
while :; do sleep 1000; done
`)
	d := b.do("run", args{"command": "(setsid sh -c 'setsid sh daemon.sh & exit' & exit); while [ ! -s daemon.pid ]; do sleep 0.01; done; echo half a word; sleep 1000", "timeout_ms": 1500})
	d.fails(tool.Timeout, true, "had not ended after 1.5s", "half a word", "(3 processes)", "terminal.open")
	if pid := b.read("daemon.pid"); alive(pid) {
		t.Fatalf("process %s is still there", pid)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func TestRunLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.do("run", args{"command": "setsid sleep 1000 & echo $! > pid; echo started"}).ok()
	if r := d.ran(); r.LeftBehind != 1 || r.Stdout != "started\n" {
		t.Errorf("%+v", r)
	}
	if pid := b.read("pid"); alive(pid) {
		t.Fatalf("process %s is still there", pid)
	}
}

func TestRunCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(b.ctx)
	go func() {
		await(t, "the command runs", func() bool { _, err := os.Stat(filepath.Join(b.root, "pid")); return err == nil })
		cancel()
	}()
	d := b.attempt(ctx, b.call("run", args{"command": "echo $$ > new && mv new pid; sleep 1000"}))
	d.fails(tool.Cancelled, true)
	if pid := b.read("pid"); alive(pid) {
		t.Fatalf("process %s is still there", pid)
	}
}

func TestRunOutputs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	t.Run("50 MB in one line", func(t *testing.T) {
		t.Parallel()
		d := b.do("run", args{"command": "echo BEGIN; head -c 50000000 /dev/zero | tr '\\0' x; echo END; echo short >&2", "expect": []string{`!stdout.contains("ERROR")`}})
		d.t = t
		r := d.ran()
		if !strings.HasPrefix(r.Stdout, "BEGIN\nxxx") || !strings.HasSuffix(r.Stdout, "xxxEND\n") || len(r.Stdout) > 70<<10 || r.Stderr != "short\n" {
			t.Errorf("%d bytes: %.20q … %q", len(r.Stdout), r.Stdout, r.Stdout[len(r.Stdout)-20:])
		}
		if shown := len(r.Stdout) - strings.Count(r.Stdout, "…")*len("…"); r.StdoutOmittedBytes < 50000010-shown || r.StdoutOmittedBytes > 50000010-60000 {
			t.Errorf("%d bytes are said to be left out", r.StdoutOmittedBytes)
		}
		// What is not known as a whole never passes, negated or not.
		if v := d.verdict(); v.Verdict != tool.VerdictUncertain {
			t.Errorf("%s: %s", v.Verdict, v.Explanation)
		}
	})
	t.Run("longer than a result shows, and known as a whole", func(t *testing.T) {
		t.Parallel()
		d := b.do("run", args{"command": "seq 100000", "expect": []string{`stdout.contains("\n50000\n")`, `!result.stdout.contains("\n50000\n")`, `result.stdout_omitted_bytes > 0`}})
		d.t = t
		d.ok()
		if r := d.ran(); !strings.HasSuffix(r.Stdout, "\n100000\n") || !strings.HasPrefix(r.Stdout, "1\n2\n") {
			t.Errorf("%.40q", r.Stdout)
		}
	})
	t.Run("no text", func(t *testing.T) {
		t.Parallel()
		d := b.do("run", args{"command": `printf 'a\377\376b\0c\n'`})
		d.t = t
		if r := d.ok().ran(); r.Stdout != "a\uFFFDb\x00c\n" {
			t.Errorf("%q", r.Stdout)
		}
	})
	t.Run("both streams at once", func(t *testing.T) {
		t.Parallel()
		d := b.do("run", args{"command": "(seq 200000 >&2) & seq 200000; wait"})
		d.t = t
		if r := d.ok().ran(); !strings.HasSuffix(r.Stdout, "\n200000\n") || !strings.HasSuffix(r.Stderr, "\n200000\n") {
			t.Errorf("%q, %q", r.Stdout[len(r.Stdout)-20:], r.Stderr[len(r.Stderr)-20:])
		}
	})
}

func TestRunSecrets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const password, token, line = "correct horse battery", "tok-4711-abcdef", "stdin-secret-line"
	d := b.do("run", args{"command": `echo "$PASSWORD/$GITHUB_TOKEN/$PLAIN"; cat; printf %s "$PASSWORD" | sed 's/ horse/ horse/' >&2`,
		"env": args{"GITHUB_TOKEN": token, "PLAIN": "plain value"}, "secret_env": args{"PASSWORD": password}, "secret_stdin": "one " + line + "\n" + line}).ok()
	r := d.ran()
	if want := "[redacted]/[redacted]/plain value\none [redacted]\n[redacted]"; r.Stdout != want && r.Stdout != "[redacted]/[redacted]/plain value\n[redacted]" {
		t.Errorf("%q", r.Stdout)
	}
	text, _, err := d.after.Encode()
	if err != nil {
		t.Fatal(err)
	}
	shown := string(text) + string(d.encoded()) + d.out.Proof + string(d.call.Spec.Redact(d.call.Raw))
	shown = strings.ReplaceAll(shown, token, "") // env is not a secret of the payload
	for _, f := range []string{"record.json", "order.json"} {
		shown += b.record(d, f)
	}
	for _, secret := range []string{password, line} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown", secret)
		}
	}
	if strings.Contains(r.Stdout+b.record(d, "record.json"), token) {
		t.Error("a value whose name says that it is a secret is shown in the output")
	}
}

func (b *bench) record(d done, name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.att.(*runAttempt).dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func TestRunEnvironment(t *testing.T) {
	b := newBench(t, func(o *Options) {
		o.Inherit = []string{"TERMINAL_TEST_PASSED_ON"}
		o.Env = map[string]string{"FROM_OPTIONS": "1"}
	})
	t.Setenv("TERMINAL_TEST_LEAK", "leaked")
	t.Setenv("TERMINAL_TEST_PASSED_ON", "passed on")
	d := b.do("run", args{"command": "env; touch \"$TMPDIR/x\" \"$HOME/y\" && tty", "env": args{"DECLARED": "2"}, "expected_exit_codes": []int{1}})
	out := d.ok().ran().Stdout
	for _, want := range []string{"TERMINAL_TEST_PASSED_ON=passed on", "FROM_OPTIONS=1", "DECLARED=2", "HOME=" + b.x.home, "TERM=dumb", "not a tty"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the environment:\n%s", want, out)
		}
	}
	if strings.Contains(out, "leaked") {
		t.Errorf("the service's environment is passed on:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(d.att.(*runAttempt).dir, "tmp")); !os.IsNotExist(err) {
		t.Errorf("the temporary directory stays: %v", err)
	}
}

func TestRunDirectories(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	outside := t.TempDir()
	b.write("sub/file", "")
	for name, to := range map[string]string{"out": outside, "up": "..", "in": "sub"} {
		if err := os.Symlink(to, filepath.Join(b.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, cwd := range []string{"sub", "in", filepath.Join(b.root, "sub"), "./sub/../sub/"} {
		if out := b.do("run", args{"command": "pwd", "cwd": cwd}).ok().ran().Stdout; out != filepath.Join(b.root, "sub")+"\n" {
			t.Errorf("%s: %s", cwd, out)
		}
	}
	for cwd, want := range map[string]tool.Failure{"out": tool.PolicyDenied, "up": tool.PolicyDenied, "..": tool.PolicyDenied, "/": tool.PolicyDenied, outside: tool.PolicyDenied,
		"sub/../../x": tool.PolicyDenied, "nowhere": tool.PreconditionFailed, "sub/file": tool.PreconditionFailed} {
		b.do("run", args{"command": "pwd", "cwd": cwd}).fails(want, false)
	}
}

// needsLandlock skips where the kernel cannot confine; the layers that are active are in the test's log.
func needsLandlock(t *testing.T, b *bench) {
	t.Helper()
	l := b.x.Layers()
	t.Logf("layers: %+v", l)
	if l.Landlock == 0 {
		t.Skip("this kernel has no Landlock")
	}
}

func TestRunConfined(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	needsLandlock(t, b)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("key"), 0o644); err != nil {
		t.Fatal(err)
	}
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = sleeper.Wait(); close(ended) }()
	t.Cleanup(func() { _ = sleeper.Process.Kill(); <-ended })
	if err := os.Symlink(outside, filepath.Join(b.root, "link")); err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]string{
		"write outside":            "echo x > " + outside + "/new",
		"write through a link":     "echo x > link/new",
		"read outside":             "cat " + outside + "/secret",
		"read the service's state": "ls " + b.x.dir("runs"),
		"change the shell's start": "echo x >> " + b.x.rcFile(),
		"signal another process":   "kill -TERM " + strconv.Itoa(sleeper.Process.Pid),
	} {
		d := b.do("run", args{"command": command})
		if d.verdict().Verdict != tool.VerdictFailure {
			t.Errorf("%s is possible: %+v", name, d.ran())
		}
		if e := d.ran().Stderr; !strings.Contains(e, "ermission denied") && !strings.Contains(e, "not permitted") {
			t.Errorf("%s: %s", name, e)
		}
	}
	if !alive(strconv.Itoa(sleeper.Process.Pid)) {
		t.Error("another process was ended")
	}
	b.do("run", args{"command": "mkdir a b; echo x > a/f; mv a/f b/; ls /usr > /dev/null; cat b/f; echo | tee /dev/null; head -c 4 /dev/urandom > c; ls /proc/self > /dev/null"}).ok()

	free := newBench(t, func(o *Options) { o.Confine = ConfineOff })
	free.do("run", args{"command": "cat " + outside + "/secret"}).ok()
	listed := newBench(t, func(o *Options) { o.ReadWrite = []string{outside} })
	listed.do("run", args{"command": "echo x > " + outside + "/listed"}).ok()
}

func TestRunWithoutNetwork(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	connect := args{"command": fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d", l.Addr().(*net.TCPAddr).Port)}
	b := newBench(t, func(o *Options) { o.NoNetwork = true })
	needsLandlock(t, b)
	if !b.x.Layers().NoTCP {
		t.Skip("this kernel cannot cut off the network")
	}
	if d := b.do("run", connect); d.verdict().Verdict != tool.VerdictFailure || !strings.Contains(d.ran().Stderr, "denied") {
		t.Errorf("%+v", d.ran())
	}
	newBench(t).do("run", connect).ok()
}

func TestRunReadsDocuments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("run", args{"command": "printf 'a\\nb' > out.txt", "expect": []string{`document("out.txt").exists && document("out.txt").text == "a\nb"`,
		`document("out.txt").size == 3 && document("out.txt").lines == 2`, `!before_document("out.txt").exists`, `!document("none").exists`}}).ok()
}

func TestRunsAtTheSameTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Limits.Commands = 3 })
	var wg sync.WaitGroup
	results := make([]done, 12)
	for i := range results {
		call := b.call("run", args{"command": fmt.Sprintf("mkdir slot-%[1]d; ls -d slot-* | wc -l; sleep 0.05; rmdir slot-%[1]d; echo %[1]d > done-%[1]d", i)})
		wg.Add(1)
		go func() { defer wg.Done(); results[i] = b.attempt(b.ctx, call) }()
	}
	wg.Wait()
	for i, d := range results {
		n, err := strconv.Atoi(strings.TrimSpace(d.ok().ran().Stdout))
		if err != nil || n > 3 {
			t.Errorf("command %d ran beside %d others (%v)", i, n-1, err)
		}
		if got := b.read(fmt.Sprintf("done-%d", i)); got != fmt.Sprintf("%d\n", i) {
			t.Errorf("command %d wrote %q", i, got)
		}
	}
}

func TestRunQueue(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Limits.Commands, o.Limits.Queue = 1, 50*time.Millisecond })
	first, err := b.x.begin(b.call("run", args{"command": "true"}), tool.Plan{Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Resolve(b.ctx); err != nil {
		t.Fatal(err)
	}
	if f := b.do("run", args{"command": "true"}).fails(tool.RateLimited, false); f.RetryAfter <= 0 {
		t.Error("no time to wait is named")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	b.do("run", args{"command": "true"}).ok()
}

func TestRunOncePerAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	call := b.call("run", args{"command": "echo x >> times"})
	b.attempt(b.ctx, call).ok()
	b.attempt(b.ctx, call).fails(tool.OutcomeUnknown, true)
	if got := b.read("times"); got != "x\n" {
		t.Errorf("it ran again: %q", got)
	}
}

func TestRunLimitOfTheService(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Limits.Run = 200 * time.Millisecond })
	b.do("run", args{"command": "sleep 1000", "timeout_ms": 100000}).fails(tool.Timeout, true, "wrote nothing")
}

func TestRunRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("run", args{"command": "cat", "stdin": "a", "secret_stdin": "bbbb"}).fails(tool.InvalidArguments, false)
	x := *b.x
	x.shell = ""
	without := *b
	without.x = &x
	without.do("run", args{"command": "true"}).fails(tool.ToolUnavailable, false, "install bash")
	without.do("open", nil).fails(tool.ToolUnavailable, false, "install bash")
	x.shell = "/nowhere/bash"
	without.do("run", args{"command": "true"}).fails(tool.ToolUnavailable, false, "/nowhere/bash")
}

func TestNew(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, o := range map[string]Options{
		"no state":                    {Root: root},
		"no workspace":                {StateDir: t.TempDir()},
		"a workspace that is missing": {StateDir: t.TempDir(), Root: filepath.Join(root, "none")},
		"the state in the workspace":  {StateDir: filepath.Join(root, "state"), Root: root},
		"a shell that is missing":     {StateDir: t.TempDir(), Root: root, Shell: "no-such-shell"},
		"an unknown way to confine":   {StateDir: t.TempDir(), Root: root, Confine: "perhaps"},
	} {
		if x, err := New(o); err == nil {
			_ = x.Shutdown(context.Background())
			t.Errorf("%s is accepted", name)
		}
	}
}

// Records are removed while the executor goes on, not only by the next one; and where the path of the state directory looks like a pattern.
func TestPurgeGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) {
		o.StateDir = filepath.Join(o.StateDir, "state [of] *")
		o.Limits.Keep = time.Second
	})
	dir := b.do("run", args{"command": "true"}).ok().att.(*runAttempt).dir
	await(t, "the record is removed", func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) })
}

func TestPurge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.do("run", args{"command": "true"}).ok()
	fresh := b.do("run", args{"command": "true"}).ok()
	old := time.Now().Add(-b.x.opts.Limits.Keep - time.Hour)
	dir := d.att.(*runAttempt).dir
	await(t, "the supervisor has gone", func() bool { r, err := supervise.Read(dir); return err == nil && !r.Supervisor.Alive() })
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	b.x.purge()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("an old record stays: %v", err)
	}
	if _, err := os.Stat(fresh.att.(*runAttempt).dir); err != nil {
		t.Errorf("a fresh record is removed: %v", err)
	}
}
