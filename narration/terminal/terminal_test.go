package terminal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/width"

	"toolsvc/narration"
	"toolsvc/narration/terminal"
	"toolsvc/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (write it anew with -update):\n%s", path, got)
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// story is a run in which a step heals, one is rolled back, and one fails.
func story(lang string) []narration.Event {
	titles := map[string][]string{
		"en": {"Open 127.0.0.1:8080/player", "Click “Play” in “Now playing”", "Tick “I accept the terms”", "Play the first song"},
		"ko": {"127.0.0.1:8080/player 열기", "“지금 재생 중”의 “재생” 클릭", "“약관에 동의합니다” 체크", "첫 번째 노래를 재생해 줘"},
		"ja": {"127.0.0.1:8080/player を開く", "「再生中」の「再生」をクリック", "「規約に同意します」にチェックを入れる", "最初の曲を再生して"},
	}[lang]
	button := map[string]string{"en": "Submit", "ko": "제출", "ja": "送信"}[lang]
	run := narration.Moment{Lang: lang, RunID: "r_1", Steps: 3, At: noon}
	at := func(step, attempt int, source tool.Source) narration.Moment {
		m := run
		m.Step, m.Attempt, m.Source = step, attempt, source
		return m
	}
	return []narration.Event{
		run.Accepted(titles[3]),
		run.Planned(),
		at(1, 1, tool.SourceSystem).Executing(titles[0]),
		at(1, 1, tool.SourceSystem).Verified(titles[0], 310*time.Millisecond),
		at(2, 1, tool.SourceAX).Executing(titles[1]),
		at(2, 2, tool.SourceCDP).Retrying(tool.SourceAX, narration.Trouble{Failure: tool.TargetNotFound}),
		at(2, 2, tool.SourceCDP).Executing(titles[1]),
		at(2, 2, tool.SourceCDP).Verifying(),
		at(2, 2, tool.SourceCDP).RolledBack(),
		at(2, 3, tool.SourceVision).Retrying(tool.SourceCDP, narration.Trouble{Failure: tool.VerificationFailed, What: "no_new_error"}),
		at(2, 3, tool.SourceVision).Observing(),
		at(2, 3, tool.SourceVision).Verified(titles[1], 4200*time.Millisecond),
		at(3, 1, tool.SourceHotkey).WaitingForApproval(titles[2]),
		at(3, 1, tool.SourceHotkey).Failed(titles[2], narration.Trouble{Failure: tool.Disabled, What: button}, tool.SourceHotkey),
		run.Stopped(2),
	}
}

func rows(lang string) []narration.Row {
	s := story(lang)
	title := func(i int) string { return s[i].Text }
	return []narration.Row{
		{Step: 1, Title: title(2), Attempts: 1, Sources: []tool.Source{tool.SourceSystem}, Verdict: tool.VerdictSuccess, Took: 310 * time.Millisecond},
		{Step: 2, Title: title(4), Attempts: 3, Sources: []tool.Source{tool.SourceAX, tool.SourceCDP, tool.SourceVision}, Verdict: tool.VerdictSuccess, Took: 4200 * time.Millisecond},
		{Step: 3, Title: "재생 再生 ｶﾅ ﾠ é 👍 x", Attempts: 1, Sources: []tool.Source{tool.SourceAX}, Verdict: tool.VerdictUncertain, Failure: tool.OutcomeUnknown, Took: 95 * time.Second},
		{Step: 10, Title: title(6), Attempts: 1, Sources: []tool.Source{tool.SourceHotkey}, Verdict: tool.VerdictFailure, Failure: tool.Disabled, Took: 12 * time.Millisecond},
		{Step: 11, Title: "-"},
	}
}

func printed(t *testing.T, o terminal.Options, events ...narration.Event) string {
	t.Helper()
	var b bytes.Buffer
	p := terminal.NewWith(&b, o)
	for _, e := range events {
		if err := p.Print(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func table(t *testing.T, o terminal.Options, lang string, rows []narration.Row) string {
	t.Helper()
	var b bytes.Buffer
	if err := terminal.TableWith(&b, o, lang, rows); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func columns(n int) func() int { return func() int { return n } }

func TestStoryAndTable(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "ko", "ja"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			got := printed(t, terminal.Options{}, story(lang)...) + "\n" + table(t, terminal.Options{}, lang, rows(lang)) +
				"\n48 columns:\n\n" + printed(t, terminal.Options{Columns: columns(48)}, story(lang)...) + "\n" +
				table(t, terminal.Options{Columns: columns(72)}, lang, rows(lang))
			golden(t, "story."+lang+".txt", got)
		})
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	got := printed(t, terminal.Options{Color: true}, story("en")...) + table(t, terminal.Options{Color: true}, "en", rows("en"))
	golden(t, "colours.txt", strings.ReplaceAll(got, "\x1b", "␛"))
	plain := printed(t, terminal.Options{}, story("en")...) + table(t, terminal.Options{}, "en", rows("en"))
	for _, code := range []string{"0", "1", "2", "31", "32", "33", "36"} {
		got = strings.ReplaceAll(got, "\x1b["+code+"m", "")
	}
	if got != plain {
		t.Errorf("without its colours the text is\n%s\nnot\n%s", got, plain)
	}
}

// cells counts columns as a terminal does, for what the tests print.
func cells(s string) (n int) {
	for _, r := range s {
		switch k := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Cf):
		case k == width.EastAsianWide || k == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// On a terminal no line is longer than the window, and every row of the table ends its verdict in the same column.
func TestLinesFitTheWindow(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "ko", "ja"} {
		for _, n := range []int{40, 48, 60, 80, 200} {
			for line := range strings.Lines(printed(t, terminal.Options{Columns: columns(n)}, story(lang)...)) {
				if got := cells(strings.TrimSuffix(line, "\n")); got >= n {
					t.Errorf("%s, %d columns: %d in %q", lang, n, got, line)
				}
			}
		}
		for _, n := range []int{80, 120, 200} {
			for line := range strings.Lines(table(t, terminal.Options{Columns: columns(n)}, lang, rows(lang))) {
				if got := cells(strings.TrimSuffix(line, "\n")); got >= n {
					t.Errorf("%s, %d columns: %d in %q", lang, n, got, line)
				}
			}
		}
	}
}

func TestTableIsAligned(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "ko", "ja"} {
		for _, o := range []terminal.Options{{}, {Columns: columns(80)}} {
			at := map[int]bool{}
			for i, line := range strings.Split(strings.TrimSuffix(table(t, o, lang, rows(lang)), "\n"), "\n") {
				if i == 0 {
					continue
				}
				symbol := strings.IndexAny(line, "✓✗?")
				if symbol < 0 {
					symbol = strings.LastIndex(line, "-")
				}
				at[cells(line[:symbol])] = true
			}
			if len(at) != 1 {
				t.Errorf("%s: the verdicts begin in the columns %v", lang, at)
			}
		}
	}
}

func TestNothingSteersTheTerminal(t *testing.T) {
	t.Parallel()
	evil := "a\x1b[2J\x1b]0;x\a\r\nb\u202Ec\x9b5n"
	e := story("en")[2]
	e.Text, e.Source = evil, tool.Source(evil)
	for name, got := range map[string]string{
		"event": printed(t, terminal.Options{}, e),
		"table": table(t, terminal.Options{}, "en", []narration.Row{{Step: 1, Title: evil, Verdict: tool.VerdictFailure, Failure: tool.Failure(evil)}}),
	} {
		for _, r := range strings.ReplaceAll(got, "\n", "") {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%s: %q", name, got)
				break
			}
		}
		if n := strings.Count(got, "\n"); n != map[string]int{"event": 1, "table": 2}[name] {
			t.Errorf("%s has %d lines: %q", name, n, got)
		}
	}
}

func TestStoredEvents(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := terminal.New(&b)
	data, err := json.Marshal(story("en")[4])
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Event(data); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != "▸ 2/3 Click “Play” in “Now playing” [AX]\n" {
		t.Errorf("printed %q", got)
	}
	if err := p.Event([]byte(`{"text":`)); err == nil || b.Len() > 60 {
		t.Errorf("a torn event: %v, %q", err, b.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("pipe closed") }

func TestErrorsOfTheWriterAreReported(t *testing.T) {
	t.Parallel()
	if err := terminal.New(broken{}).Print(story("en")[0]); err == nil || !strings.Contains(err.Error(), "pipe closed") {
		t.Errorf("print: %v", err)
	}
	if err := terminal.Table(broken{}, "en", rows("en")); err == nil || !strings.Contains(err.Error(), "pipe closed") {
		t.Errorf("table: %v", err)
	}
}

// writes counts the lines of each write.
type writes struct {
	mu    sync.Mutex
	torn  int
	lines int
}

func (w *writes) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines++
	if strings.Count(string(p), "\n") != 1 || !strings.HasSuffix(string(p), "\n") {
		w.torn++
	}
	return len(p), nil
}

func TestLinesAreWrittenWhole(t *testing.T) {
	t.Parallel()
	w := &writes{}
	p := terminal.NewWith(w, terminal.Options{Color: true})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, e := range story("ko") {
				if err := p.Print(e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if w.torn != 0 || w.lines != 4*len(story("ko")) {
		t.Errorf("%d lines, %d torn", w.lines, w.torn)
	}
}
