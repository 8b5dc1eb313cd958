//go:build linux

package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolsvc/executors/terminal/supervise"
	gen "toolsvc/gen/toolsets/terminal"
	"toolsvc/tool"
)

// The published scenario, as three calls: focus the terminal, type the command, press Enter.
func TestSessionGoVet(t *testing.T) {
	t.Parallel()
	cache, err := exec.Command("go", "env", "GOCACHE", "GOROOT").Output()
	if err != nil {
		t.Fatalf("these tests need Go on the PATH: %v", err)
	}
	dirs := strings.Fields(string(cache))
	b := newBench(t, func(o *Options) {
		o.ReadWrite, o.ReadOnly = dirs[:1], dirs[1:]
		o.Env = map[string]string{"GOCACHE": dirs[0], "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
	})
	b.write("go.mod", "module example\n\ngo 1.21\n")
	b.write("good.go", "package example\n\nfunc Add(a, b int) int { return a + b }\n")
	b.do("open", nil).ok()
	typed := b.do("type", args{"text": "go vet ./...", "expect": []string{`screen.contains("go vet ./...")`, `terminal.prompt == "shell"`}}).ok()
	if typed.typed().ExitCode != nil {
		t.Error("text that is only typed has run")
	}
	d := b.do("press", args{"key": "Enter", "timeout_ms": 60000, "expect": []string{`exit_code == 0`, `stdout == ""`, `terminal.prompt == "shell"`}}).ok()
	if r := d.typed(); r.ExitCode == nil || *r.ExitCode != 0 || r.Output != "" || r.Running {
		t.Errorf("%+v", r)
	}
	b.write("bad.go", "package example\n\nimport \"fmt\"\n\nfunc Say() { fmt.Printf(\"%d\", \"x\") }\n")
	d = b.do("type", args{"text": "go vet ./...", "submit": true, "timeout_ms": 60000, "expect": []string{`exit_code == 0`}})
	if v := d.verdict(); v.Verdict != tool.VerdictFailure {
		t.Errorf("%s: %s", v.Verdict, v.Explanation)
	}
	if r := d.typed(); !strings.Contains(r.Output, "Printf format %d") || *r.ExitCode != 1 {
		t.Errorf("%+v", r)
	}
}

func TestSessionPrompts(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Limits.Sessions = 20 })
	tests := map[string]struct {
		command string
		prompt  supervise.Prompt
		answer  string
		args    args
		want    string
	}{
		"yes or no":           {`read -p 'Continue? [y/N] ' a; echo "answer=$a"`, supervise.PromptYesNo, "type", args{"text": "y", "submit": true}, "answer=y"},
		"ssh's yes or no":     {`sh -c 'printf "Are you sure (yes/no/[fingerprint])? "; read a; echo "answer=$a"'`, supervise.PromptYesNo, "type", args{"text": "yes", "submit": true}, "answer=yes"},
		"password":            {`read -s -p 'Code word: ' a; echo; echo "length=${#a}"`, supervise.PromptPassword, "type", args{"secret": "hunter2-secret", "submit": true}, "length=14"},
		"password of program": {`sh -c 'stty -echo; printf "[sudo] password for ada: "; read a; stty echo; echo; echo "length=${#a}"'`, supervise.PromptPassword, "type", args{"secret": "hunter2-secret", "submit": true}, "length=14"},
		"pager":               {`seq 500 | less`, supervise.PromptPager, "press", args{"key": "q"}, ""},
		"more":                {`seq 500 | more`, supervise.PromptPager, "press", args{"key": "q"}, ""},
		"a program's input":   {`sh -c 'printf "Name: "; read a; echo "name=$a"'`, supervise.PromptInput, "type", args{"text": "Ada", "submit": true}, "name=Ada"},
		"input without words": {`cat > /dev/null; echo ended`, supervise.PromptInput, "press", args{"key": "Control+d"}, "ended"},
		"the rest of a text":  {`echo 'first`, supervise.PromptInput, "type", args{"text": "second'", "submit": true}, "first\nsecond"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if program := strings.Fields(tt.command[strings.LastIndex(tt.command, "|")+1:])[0]; program == "less" || program == "more" {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("there is no %s on this machine", program)
				}
			}
			s := *b
			s.t, s.run = t, fmt.Sprintf("r_prompt_%d", runs.Add(1))
			s.do("open", nil).ok()
			d := s.do("type", args{"text": tt.command, "submit": true, "timeout_ms": 20000}).ok()
			r := d.typed()
			if r.Prompt != string(tt.prompt) || !r.Waiting || !r.Alive {
				t.Fatalf("%+v", r)
			}
			if d.took > 15*time.Second {
				t.Errorf("it was waited for %s", d.took)
			}
			if tt.prompt == supervise.PromptPassword && at(t, d.after, "terminal", "echo") != false {
				t.Error("the evidence does not say that the echo is off")
			}
			d = s.do(tt.answer, merge(tt.args, args{"timeout_ms": 20000})).ok()
			r = d.typed()
			if r.Prompt != "shell" || r.Running || !strings.HasSuffix(strings.TrimRight(r.Output, "\n"), tt.want) {
				t.Errorf("%+v", r)
			}
			text, _, err := d.after.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text)+string(d.encoded())+string(d.call.Spec.Redact(d.call.Raw)), "hunter2-secret") {
				t.Error("the secret is shown")
			}
		})
	}
}

func merge(a, b args) args {
	out := args{}
	for _, m := range []args{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// at reads a value of evidence.
func at(t *testing.T, e *tool.Evidence, path ...string) any {
	t.Helper()
	var v any = e.Values
	for _, k := range path {
		m, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("there is no %v in the evidence", path)
		}
		v = m[k]
	}
	return v
}

// A command that is still at work is reported so; the next call ends it.
func TestSessionRunning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("open", nil).ok()
	d := b.do("type", args{"text": "echo begun; sleep 1000", "submit": true, "timeout_ms": 1500}).ok()
	if r := d.typed(); !r.Running || r.Waiting || r.ExitCode != nil || r.Output != "begun" {
		t.Fatalf("%+v", r)
	}
	d = b.interrupt()
	if r := d.typed(); r.Running || r.ExitCode == nil || *r.ExitCode != 130 {
		t.Errorf("%+v", r)
	}
	// Nothing has been learnt about exit codes by typing alone.
	d = b.do("type", args{"text": "x", "expect": []string{`exit_code == 0`}})
	if v := d.verdict(); v.Verdict != tool.VerdictUncertain {
		t.Errorf("%s: %s", v.Verdict, v.Explanation)
	}
}

func TestSessionWaitFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("open", nil).ok()
	// The text stands in the command as well: its echo is not what is waited for.
	d := b.do("type", args{"text": "sleep 0.3; for i in 1 2 3; do echo tick-$i; done; echo tick-4; sleep 1000", "submit": true, "wait_for": "tick-4", "timeout_ms": 30000}).ok()
	if r := d.typed(); !r.Found || !r.Running || r.WaitedMs < 250 || !strings.HasSuffix(r.Output, "tick-4") {
		t.Errorf("%+v", r)
	}
	b.interrupt()
	d = b.do("type", args{"text": "echo no", "submit": true, "wait_for": "yes", "timeout_ms": 30000})
	if v := d.verdict(); v.Verdict != tool.VerdictFailure || d.typed().Found || d.took > 20*time.Second {
		t.Errorf("%s after %s: %s", v.Verdict, d.took, v.Explanation)
	}
	b.do("type", args{"text": "(sleep 0.3; echo from behind) &", "submit": true}).ok()
	d = b.do("read", args{"wait_for": "from behind", "timeout_ms": 30000}).ok()
	if r := d.out.Result.(*gen.ReadResult); !r.Found || !strings.Contains(r.Screen, "from behind") {
		t.Errorf("%+v", r)
	}
	if d := b.do("read", args{"wait_for": "never there", "timeout_ms": 100}); d.verdict().Verdict != tool.VerdictFailure {
		t.Errorf("%+v", d.out.Result)
	}
}

func TestSessionRollback(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("open", nil).ok()
	b.do("type", args{"text": "echo "}).ok()
	d := b.do("type", args{"text": "日本 rm -rf x"}).ok()
	rb, err := d.att.Rollback(b.ctx)
	if err != nil || !rb.Performed {
		t.Fatalf("%+v, %v", rb, err)
	}
	d = b.do("press", args{"key": "Enter", "expect": []string{`stdout.trim() == ""`}}).ok()
	if rb, err := d.att.Rollback(b.ctx); err != nil || rb.Performed || rb.Refused == "" {
		t.Errorf("%+v, %v", rb, err)
	}
	second := b.do("open", args{"session": "second"}).ok()
	if rb, err := second.att.Rollback(b.ctx); err != nil || !rb.Performed {
		t.Errorf("%+v, %v", rb, err)
	}
	b.do("type", args{"session": "second", "text": "x"}).fails(tool.PreconditionFailed, false)
	program := b.do("open", args{"session": "program", "command": "touch made; cat"}).ok()
	if rb, err := program.att.Rollback(b.ctx); err != nil || rb.Performed {
		t.Errorf("%+v, %v", rb, err)
	}
}

// A program that is not there, or ends at once, leaves no open session; what it said tells why.
func TestSessionOfAProgramThatEndsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.do("open", args{"command": "no-such-program"})
	if v := d.verdict(); v.Verdict != tool.VerdictFailure || !strings.Contains(d.out.Proof, "exit code 127") || !strings.Contains(d.out.Proof, "no-such-program") {
		t.Errorf("%s: %s", v.Verdict, d.out.Proof)
	}
}

// An output of very many lines is not whole, however short they are: nothing is concluded from what is left of it.
func TestSessionWithVeryManyLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("open", nil).ok()
	d := b.do("type", args{"text": "echo BROKEN; yes . | head -n 30000; echo the end", "submit": true, "timeout_ms": 60000, "expect": []string{`!stdout.contains("BROKEN")`}})
	if v := d.verdict(); v.Verdict == tool.VerdictSuccess {
		t.Errorf("%s: %s", v.Verdict, v.Explanation)
	}
	if r := d.typed(); !strings.HasPrefix(r.Output, "BROKEN\n") || !strings.HasSuffix(r.Output, "the end") || r.OutputOmittedBytes == 0 {
		t.Errorf("%d bytes omitted of %.40q", r.OutputOmittedBytes, r.Output)
	}
}

// What is told of a session is told whole, also where the program, its title and its directory are called the same.
func TestSessionThatIsCalledAsItsProgram(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("open", nil).ok()
	d := b.do("type", args{"text": `printf '\033]0;bash\007'`, "submit": true}).ok()
	if r := d.typed(); value(r.Program) != "bash" || value(r.Title) != "bash" || value(r.Cwd) != b.root {
		t.Errorf("program %q, title %q, directory %q", value(r.Program), value(r.Title), value(r.Cwd))
	}
}

// The sessions of a run are counted where the path of the state directory looks like a pattern, too.
func TestSessionsAreBoundedUnderAnyPath(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) {
		o.StateDir = filepath.Join(o.StateDir, "[x")
		o.Limits.Sessions = 1
	})
	b.do("open", nil).ok()
	b.do("open", args{"session": "second"}).fails(tool.PreconditionFailed, false, "1 open sessions")
}

// Of a session that ended before it could be asked, only its last screen is there: what stood on it before, and the echo of the input, are not what
// was waited for.
func TestFoundOnTheLastScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, typed string
		screen        string
		opened, want  bool
	}{
		{name: "said on the way out", before: "$", typed: "exit 3", screen: "$ exit 3\nready", want: true},
		{name: "not said", before: "$", typed: "exit 3", screen: "$ exit 3"},
		{name: "only the echo", before: "$", typed: "exit 3 # ready", screen: "$ exit 3 # ready"},
		{name: "it stood there before", before: "ready\n$", typed: "exit 3", screen: "ready\n$ exit 3"},
		{name: "all that a program said", screen: "ready", opened: true, want: true},
	} {
		a := &sessionAttempt{act: action{kind: "type", waitFor: "ready", input: &supervise.Input{Text: c.typed}}, before: &supervise.Screen{Text: c.before}}
		if c.opened {
			a.act.kind, a.act.input, a.before = "open", nil, nil
		}
		if got := a.foundOn(c.screen); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestSessionLife(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Limits.Sessions = 2 })
	for _, name := range []string{"type", "press"} {
		b.do(name, map[string]args{"type": {"text": "x"}, "press": {"key": "Enter"}}[name]).fails(tool.PreconditionFailed, false, "terminal.open")
	}
	b.do("read", nil).fails(tool.PreconditionFailed, false, "terminal.open")
	b.do("close", nil).ok() // as good as closed
	b.write("sub/file", "")
	first := b.do("open", args{"cwd": "sub", "rows": 10, "cols": 40}).ok()
	if r := first.out.Result.(*gen.OpenResult); r.Reused || value(r.Cwd) != filepath.Join(b.root, "sub") || value(r.Program) != "bash" {
		t.Errorf("%+v", r)
	}
	b.do("type", args{"text": "X=kept; cd ..", "submit": true, "expect": []string{fmt.Sprintf("terminal.cwd == %q", b.root)}}).ok()
	if r := b.do("open", nil).ok().out.Result.(*gen.OpenResult); !r.Reused {
		t.Error("the session is opened anew")
	}
	if out := b.do("type", args{"text": "echo $X; stty size", "submit": true}).ok().typed().Output; out != "kept\n10 40" {
		t.Errorf("%q", out)
	}
	b.do("open", args{"session": "second"}).ok()
	b.do("open", args{"session": "third"}).fails(tool.PreconditionFailed, false, "2 open sessions")
	// Other runs have sessions of their own.
	other := *b
	other.run = "r_other"
	other.do("type", args{"text": "x"}).fails(tool.PreconditionFailed, false)

	d := b.do("type", args{"text": "exit 3", "submit": true, "expect": []string{"exit_code == 3", "!terminal.alive"}}).ok()
	if r := d.typed(); r.Alive || r.ExitCode == nil || *r.ExitCode != 3 {
		t.Errorf("%+v", r)
	}
	b.do("type", args{"text": "x"}).fails(tool.PreconditionFailed, false, "ended with exit code 3")
	if r := b.do("read", nil).ok().out.Result.(*gen.ReadResult); r.Alive || !strings.Contains(r.Screen, "exit 3") {
		t.Errorf("%+v", r)
	}
	if r := b.do("open", nil).ok().out.Result.(*gen.OpenResult); r.Reused || !r.Alive {
		t.Errorf("%+v", r)
	}
	if err := b.x.Close(b.ctx, b.run); err != nil {
		t.Fatal(err)
	}
	b.do("read", nil).fails(tool.PreconditionFailed, false)
}

func TestSessionCloseEndsEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("open", nil).ok()
	b.do("type", args{"text": `(trap '' TERM HUP; setsid sh -c 'echo $$ > pid; while :; do sleep 1000; done' &); while [ ! -s pid ]; do sleep 0.01; done`, "submit": true}).ok()
	pid := b.read("pid")
	if !alive(pid) {
		t.Fatal("the test is wrong: the process has gone by itself")
	}
	d := b.do("close", args{}).ok()
	if alive(pid) {
		t.Errorf("process %s is still there", pid)
	}
	if r := d.out.Result.(*gen.CloseResult); r.Ended < 2 {
		t.Errorf("%+v", r)
	}
}

func TestSessionIdle(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *Options) { o.Limits.Idle = 300 * time.Millisecond })
	b.do("open", nil).ok()
	dir := b.x.sessionsOf(b.run)
	await(t, "the session has ended", func() bool {
		r, err := supervise.Read(filepath.Join(dir, "main.1"))
		return err == nil && r.State == supervise.StateEnded && r.EndedBy == supervise.EndedIdle
	})
	b.do("type", args{"text": "x"}).fails(tool.PreconditionFailed, false, "too long")
}

func TestSessionOutputs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("open", args{"rows": 20, "cols": 80}).ok()
	t.Run("scrollback", func(t *testing.T) {
		b.t = t
		d := b.do("type", args{"text": "seq 300", "submit": true, "timeout_ms": 20000}).ok()
		if out := d.typed().Output; !strings.HasPrefix(out, "1\n2\n") || !strings.HasSuffix(out, "\n300") {
			t.Errorf("%q", out)
		}
		r := b.do("read", args{"scrollback": 5}).ok().out.Result.(*gen.ReadResult)
		if !strings.HasPrefix(r.Screen, "282\n") || value(r.Scrollback) != "277\n278\n279\n280\n281" || r.ScrollbackLines < 280 {
			t.Errorf("%+v, %q", r, value(r.Scrollback))
		}
	})
	t.Run("wide characters, colours, a bar", func(t *testing.T) {
		b.t = t
		d := b.do("type", args{"text": `printf '\e[31m日本語\e[0m 한국어\n10%%\r100%%\nemoji 👩‍💻!\n'`, "submit": true, "timeout_ms": 20000}).ok()
		if out := d.typed().Output; !strings.HasPrefix(out, "日本語 한국어\n100%\nemoji 👩") {
			t.Errorf("%q", out)
		}
	})
	t.Run("20 MB", func(t *testing.T) {
		b.t = t
		d := b.do("type", args{"text": "yes 0123456789 | head -c 20000000; echo; echo last", "submit": true, "timeout_ms": 50000}).ok()
		r := d.typed()
		if !strings.HasPrefix(r.Output, "0123456789\n0123456789\n") || !strings.HasSuffix(r.Output, "last") || r.OutputOmittedBytes < 19_000_000 || len(r.Output) > 70<<10 {
			t.Errorf("%d bytes, %d left out: %.40q", len(r.Output), r.OutputOmittedBytes, r.Output)
		}
		t.Log(d.took)
	})
	t.Run("noise", func(t *testing.T) {
		b.t = t
		b.do("type", args{"text": "head -c 300000 /dev/urandom", "submit": true, "timeout_ms": 30000})
		b.do("type", args{"text": "reset 2>/dev/null; tput reset 2>/dev/null; printf '\\ec'", "submit": true, "timeout_ms": 20000})
		b.do("press", args{"key": "Control+c"})
		d := b.do("type", args{"text": "echo still here", "submit": true, "timeout_ms": 20000}).ok()
		if out := d.typed().Output; !strings.HasSuffix(out, "still here") {
			t.Errorf("%q", out)
		}
	})
	t.Run("the terminal answers questions", func(t *testing.T) {
		b.t = t
		d := b.do("type", args{"text": `IFS=';' read -s -d R -p $'\e[6n' row col; echo "${row#*[}/$col"`, "submit": true, "timeout_ms": 20000}).ok()
		var row, col int
		if _, err := fmt.Sscanf(strings.TrimSpace(d.typed().Output), "%d/%d", &row, &col); err != nil || row < 1 || col != 1 {
			t.Errorf("%q: %v", d.typed().Output, err)
		}
	})
	t.Run("a line that is too long for a program", func(t *testing.T) {
		b.t = t
		b.do("type", args{"text": "cat > long", "submit": true, "timeout_ms": 5000}).ok()
		b.do("type", args{"text": strings.Repeat("x", 5000), "submit": true}).fails(tool.PreconditionFailed, false, "4095")
		b.do("type", args{"text": strings.Repeat("y", 4000) + "\n", "timeout_ms": 5000}).ok()
		b.do("press", args{"key": "Control+d", "timeout_ms": 20000, "expect": []string{`exit_code == 0`, `document("long").size == 4001`}}).ok()
	})
}

// Secrets that the environment holds are masked on the screen, also where they come in pieces.
func TestSessionSecrets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const secret = "s3cr3t-in-pieces"
	b.do("open", args{"secret_env": args{"WORD": secret}}).ok()
	d := b.do("type", args{"text": `echo "<$WORD>"; for ((i=0; i<${#WORD}; i++)); do printf %s "${WORD:i:1}"; done; echo; echo s3cr3`, "submit": true, "timeout_ms": 20000}).ok()
	if out := d.typed().Output; out != "<[redacted]>\n[redacted]\ns3cr3" {
		t.Errorf("%q", out)
	}
	b.do("close", nil).ok()
	text, err := os.ReadFile(filepath.Join(b.x.sessionsOf(b.run), "main.1", "record.json"))
	if err != nil || strings.Contains(string(text), secret) {
		t.Errorf("the record shows the secret, or is not there: %v", err)
	}
}

func TestSessionKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.do("open", args{"command": "cat -v"}).ok()
	b.do("press", args{"key": "Hyper"}).fails(tool.PreconditionFailed, false, "Hyper")
	b.do("press", args{"key": "ArrowUp", "times": 2}).ok()
	d := b.do("press", args{"key": "Enter", "wait_for": "^[[A^[[A"}).ok()
	if r := d.typed(); !r.Found {
		t.Errorf("%+v", r)
	}
}

// interrupt presses Control+c until the shell is back. A shell that is just starting a program misses one.
func (b *bench) interrupt() done {
	b.t.Helper()
	for range 20 {
		if d := b.do("press", args{"key": "Control+c", "timeout_ms": 1000}).ok(); d.typed().Prompt == "shell" {
			return d
		}
	}
	b.t.Fatal("the command cannot be interrupted")
	return done{}
}
