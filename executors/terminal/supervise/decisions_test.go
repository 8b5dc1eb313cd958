//go:build linux

package supervise

import (
	"testing"
	"time"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	shell := sight{echo: true, shell: true, marked: true}
	tests := map[string]struct {
		sight   sight
		prompt  Prompt
		waiting bool
	}{
		"the shell at its prompt":             {with(shell, func(s *sight) { s.atPrompt, s.polling = true, true }), PromptShell, true},
		"the shell at work":                   {with(shell, func(s *sight) { s.canonical = true }), PromptNone, false},
		"the shell wants the rest":            {with(shell, func(s *sight) { s.polling, s.line = true, "> " }), PromptInput, true},
		"a shell without marks":               {sight{echo: true, shell: true, polling: true, line: "ada@host:~$ "}, PromptShell, true},
		"a password by the echo":              {sight{canonical: true, line: "who knows what"}, PromptPassword, true},
		"a password by its words":             {sight{echo: true, reading: true, line: "Enter passphrase for key: "}, PromptPassword, true},
		"a password in Korean":                {sight{echo: true, reading: true, line: "비밀번호: "}, PromptPassword, true},
		"words about passwords in a log":      {sight{echo: true, canonical: true, line: "changed password: "}, PromptNone, false},
		"apt":                                 {sight{echo: true, canonical: true, reading: true, line: "Do you want to continue? [Y/n] "}, PromptYesNo, true},
		"ssh":                                 {sight{echo: true, canonical: true, reading: true, line: "Are you sure you want to continue connecting (yes/no/[fingerprint])? "}, PromptYesNo, true},
		"npm":                                 {sight{echo: true, polling: true, line: "Is this OK? (yes) "}, PromptYesNo, true},
		"a question that nobody waits for":    {sight{echo: true, canonical: true, line: "Continue? [y/N] "}, PromptNone, false},
		"less":                                {sight{polling: true, program: "less", last: ":", fullScreen: true}, PromptPager, true},
		"the end in less of git":              {sight{reading: true, program: "pager", last: "(END)"}, PromptPager, true},
		"more":                                {sight{reading: true, program: "more", last: "--More--(12%)"}, PromptPager, true},
		"the word of a pager in a log":        {sight{echo: true, canonical: true, last: "(END)"}, PromptNone, false},
		"a program that reads lines":          {sight{echo: true, canonical: true, reading: true}, PromptInput, true},
		"python":                              {sight{polling: true, line: ">>> ", program: "python3"}, PromptInput, true},
		"an editor":                           {sight{polling: true, fullScreen: true, program: "vim"}, PromptInput, true},
		"a server that waits for connections": {sight{echo: true, canonical: true, polling: true, line: ""}, PromptNone, false},
		"a program that asks, and waits for more than the terminal": {sight{echo: true, canonical: true, polling: true, line: "Name: "}, PromptInput, true},
		"a program at work": {sight{echo: true, canonical: true, line: "Compiling …"}, PromptNone, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if p, w := tt.sight.ask(); p != tt.prompt || w != tt.waiting {
				t.Errorf("%s, %v; want %s, %v", p, w, tt.prompt, tt.waiting)
			}
		})
	}
}

func with[T any](v T, f func(*T)) T { f(&v); return v }

func TestSettled(t *testing.T) {
	t.Parallel()
	long := 10 * time.Second
	base := moment{limit: time.Minute, elapsed: long, quiet: long, calm: long}
	typed := with(base, func(m *moment) { m.wrote = true })
	heard := with(base, func(m *moment) { m.polling = true })
	submitted := with(base, func(m *moment) { m.submitted, m.wrote = true, true })
	shell := with(submitted, func(m *moment) { m.marks, m.marked = true, true })
	running := with(shell, func(m *moment) { m.running = true })
	for name, tt := range map[string]struct {
		moment moment
		want   bool
	}{
		"the program has ended":              {with(running, func(m *moment) { m.dead = true }), true},
		"the patience has ended":             {with(running, func(m *moment) { m.elapsed = m.limit }), true},
		"a command of the shell is at work":  {running, false},
		"the command has ended":              {with(shell, func(m *moment) { m.prompted = true }), true},
		"the prompt is still being written":  {with(shell, func(m *moment) { m.prompted, m.quiet = true, 0 }), false},
		"the command asks":                   {with(running, func(m *moment) { m.reading = true }), true},
		"the command has just begun to ask":  {with(running, func(m *moment) { m.reading, m.calm = true, time.Millisecond }), false},
		"the command waits for connections":  {with(running, func(m *moment) { m.polling = true }), false},
		"the command shows a pager":          {with(running, func(m *moment) { m.polling, m.asking = true, true }), true},
		"the shell wants the rest":           {with(shell, func(m *moment) { m.polling = true }), true},
		"the shell thinks":                   {shell, false},
		"typed and shown":                    {typed, true},
		"typed and being shown":              {with(typed, func(m *moment) { m.quiet = 0 }), false},
		"typed and just shown":               {with(heard, func(m *moment) { m.wrote, m.quiet = true, quietEcho }), true},
		"shown, and a program is at it":      {with(typed, func(m *moment) { m.quiet = quietUnknown / 2 }), false},
		"shown, and it has just been heard":  {with(heard, func(m *moment) { m.wrote, m.quiet, m.calm = true, quietEcho, 0 }), false},
		"typed and not shown":                {with(heard, func(m *moment) { m.elapsed = quietSilent }), true},
		"typed and not shown yet":            {with(heard, func(m *moment) { m.elapsed = quietSilent / 2 }), false},
		"typed, and nobody hears":            {with(base, func(m *moment) { m.elapsed = quietUnknown / 2 }), false},
		"typed, and nobody ever hears":       {with(base, func(m *moment) { m.elapsed = quietUnknown }), true},
		"a program without marks asks":       {with(submitted, func(m *moment) { m.reading = true }), true},
		"a program without marks is quiet":   {submitted, true},
		"a program without marks writes":     {with(submitted, func(m *moment) { m.quiet = quietUnknown / 2 }), false},
		"the text is there":                  {with(running, func(m *moment) { m.text, m.found = true, true }), true},
		"the text is not there":              {with(running, func(m *moment) { m.text = true }), false},
		"the text is not there, and it asks": {with(running, func(m *moment) { m.text, m.reading = true, true }), false},
		"the text will not come":             {with(shell, func(m *moment) { m.text, m.prompted = true, true }), true},
		"a look at what is quiet":            {with(base, func(m *moment) { m.looking, m.elapsed = true, 0 }), true},
		"a look at what writes":              {with(base, func(m *moment) { m.looking, m.elapsed, m.quiet = true, 0, 0 }), false},
		"a look at what never rests":         {with(base, func(m *moment) { m.looking, m.quiet = true, 0 }), true},
		"a shell is starting":                {with(base, func(m *moment) { m.looking, m.opening, m.marks, m.quiet = true, true, true, 0 }), false},
		"a shell has started": {with(base, func(m *moment) {
			m.looking, m.opening, m.marks, m.marked, m.prompted, m.quiet = true, true, true, true, true, 0
		}), true},
		"a program is starting":          {with(base, func(m *moment) { m.looking, m.opening, m.quiet = true, true, 0 }), false},
		"a program has started and asks": {with(base, func(m *moment) { m.looking, m.opening, m.reading = true, true, true }), true},
	} {
		if got := tt.moment.settled(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"Enter": "\r", "Control+c": "\x03", "Control+C": "\x03", "Control+[": "\x1b", "a": "a", "Shift+a": "A", "Alt+b": "\x1bb",
		"ArrowUp": "\x1b[A", "Control+ArrowRight": "\x1b[1;5C", "Alt+Shift+ArrowUp": "\x1b[1;4A", "F1": "\x1bOP", "Shift+F1": "\x1b[1;2P", "F5": "\x1b[15~", "Control+F5": "\x1b[15;5~",
		"Delete": "\x1b[3~", "Shift+Tab": "\x1b[Z", "Control+Space": "\x00", "+": "+", "Alt++": "\x1b+", "Alt+Enter": "\x1b\r", "Escape": "\x1b", "q": "q", "Control+Alt+a": "\x1b\x01", "/": "/"} {
		got, err := Keys(key, false)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", key, got, err, want)
		}
	}
	if got, err := Keys("ArrowUp", true); err != nil || got != "\x1bOA" {
		t.Errorf("%q, %v", got, err)
	}
	for _, key := range []string{"Hyper", "Meta+a", "Control+1", "Control+Enter", "F99"} {
		if got, err := Keys(key, false); err == nil {
			t.Errorf("%s is taken as %q", key, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	line := "4711 (a) b) (c) S 4700 4711 4600 34816 4711 4194304 75 0 0 0 0 0 0 0 20 0 1 0 335062 3133440 380"
	s, err := parseStat([]byte(line))
	if err != nil || s != (stat{pid: 4711, parent: 4700, group: 4711, session: 4600, state: 'S', start: 335062}) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"", "4711", "4711 (a) S 1 2", "x (a) S 4700 4711 4600 34816 4711 4194304 75 0 0 0 0 0 0 0 20 0 1 0 335062 3133440 380"} {
		if s, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is taken as %+v", bad, s)
		}
	}
}

func TestDescendants(t *testing.T) {
	t.Parallel()
	children := map[int][]stat{1: {{pid: 2, state: 'S'}, {pid: 9, state: 'S'}}, 2: {{pid: 3, state: 'Z'}, {pid: 4, state: 'R'}}, 3: {{pid: 5, state: 'T'}}, 5: {{pid: 2, state: 'S'}}}
	if got := descendants(children, 2); len(got) != 2 || got[0] != 4 || got[1] != 5 {
		t.Errorf("%v", got)
	}
}
