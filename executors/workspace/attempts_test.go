//go:build linux

package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func begin(t *testing.T, w *Workspace, run, call string) Token {
	t.Helper()
	token, err := w.Begin(context.Background(), run, call, 1)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func observe(t *testing.T, w *Workspace, token Token) {
	t.Helper()
	if err := w.Observe(context.Background(), token); err != nil {
		t.Fatal(err)
	}
}

// refusal rolls back and returns why not; "" when it was performed.
func refusal(t *testing.T, w *Workspace, token Token) string {
	t.Helper()
	rb, err := w.Rollback(context.Background(), token)
	if err != nil {
		t.Fatal(err)
	}
	if rb.Performed == (rb.Refused != "") {
		t.Errorf("%+v", rb)
	}
	return rb.Refused
}

func TestAttempt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w, root := opened(t, somewhere)
	before := picture(t, root)
	token := begin(t, w, "r", "c")
	sh(t, root, everything)
	observe(t, w, token)
	cs, err := w.Changed(ctx, token)
	if err != nil || len(cs) < 10 {
		t.Errorf("changed: %v, %v", cs, err)
	}
	for range 2 { // asked again, the answer is the same
		if why := refusal(t, w, token); why != "" {
			t.Fatal(why)
		}
		samePicture(t, "after the rollback", before, picture(t, root))
	}
	for range 2 {
		if err := w.Commit(ctx, token); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Rollback(ctx, token); !errors.Is(err, ErrUnknown) {
		t.Errorf("after the commit: %v", err)
	}
	second := begin(t, w, "r", "c") // the same attempt anew: a new backup
	sh(t, root, `echo kept > kept`)
	if err := w.Commit(ctx, second); err != nil {
		t.Fatal(err)
	}
	sh(t, root, `test "$(cat kept)" = kept`)
}

// Begun again, an attempt keeps its first backup.
func TestBeginAgainKeepsTheBackup(t *testing.T) {
	t.Parallel()
	w, root := opened(t, somewhere)
	before := picture(t, root)
	begin(t, w, "r", "c")
	sh(t, root, `echo lost >> a.txt`)
	token := begin(t, w, "r", "c")
	sh(t, root, `echo again >> a.txt`)
	if why := refusal(t, w, token); why != "" {
		t.Fatal(why)
	}
	samePicture(t, "after the rollback", before, picture(t, root))
}

// The difference is shown, too, when nothing is left of the file's content.
func TestRefusalShowsThatAFileWasEmptied(t *testing.T) {
	t.Parallel()
	w, root := opened(t, somewhere)
	token := begin(t, w, "r", "c")
	sh(t, root, `echo ours >> a.txt`)
	observe(t, w, token)
	sh(t, root, `: > a.txt`)
	if why := refusal(t, w, token); !strings.Contains(why, "-ours") {
		t.Errorf("the refusal lacks the difference: %s", why)
	}
}

// A refusal names the path and shows the difference; when the other change is gone, the rollback can be asked for again.
func TestRefusalShowsTheDifference(t *testing.T) {
	t.Parallel()
	w, root := opened(t, somewhere)
	token := begin(t, w, "r", "c")
	sh(t, root, `echo ours >> a.txt`)
	observe(t, w, token)
	sh(t, root, `cp a.txt ../kept-$(basename "$PWD"); echo theirs >> a.txt`)
	why := refusal(t, w, token)
	for _, part := range []string{"rollback_refused", "a.txt", "+theirs", "sha256:", "nothing was overwritten"} {
		if !strings.Contains(why, part) {
			t.Errorf("the refusal lacks %q: %s", part, why)
		}
	}
	sh(t, root, `cat ../kept-$(basename "$PWD") > a.txt`)
	if why := refusal(t, w, token); why != "" {
		t.Error(why)
	}
}

// What another run changed is something else's change, before, while and after this one's attempt.
func TestTwoRunsInOneWorkspace(t *testing.T) {
	t.Parallel()
	const one, two = "one", "two"
	tests := []struct {
		name string
		// what happens, in order: begin, observe and roll back by each; anything else is a command
		play []string
		// refused names the path of the last rollback's refusal; "" when it is performed
		refused string
		check   string
	}{
		{"one after the other", []string{"begin one", `echo 1 >> a.txt`, "observe one", "begin two", `echo 2 >> solo`, "observe two", "rollback one"}, "",
			`test "$(cat solo)" = alone2; ! grep -q 1 a.txt`},
		{"the other changed the same file later", []string{"begin one", `echo 1 >> a.txt`, "observe one", "begin two", `echo 2 >> a.txt`, "observe two", "rollback one"}, "a.txt",
			`grep -q 1 a.txt; grep -q 2 a.txt`},
		{"both at once", []string{"begin one", "begin two", `echo x >> a.txt`, "observe one", "observe two", "rollback one"}, "a.txt", `grep -q x a.txt`},
		{"both at once, asked the other way", []string{"begin one", "begin two", `echo x >> a.txt`, "observe one", "observe two", "rollback two"}, "a.txt", `grep -q x a.txt`},
		{"alone before the other came", []string{"begin one", `echo 1 >> a.txt`, "begin two", "observe two", "observe one", "rollback one"}, "", `! grep -q 1 a.txt`},
		{"alone after the other went", []string{"begin two", "begin one", "observe two", `echo 1 >> a.txt`, "observe one", "rollback one"}, "", `! grep -q 1 a.txt`},
		{"the other was rolled back meanwhile", []string{"begin two", `echo 2 >> solo`, "begin one", "observe two", `echo 1 >> a.txt`, "rollback two", "observe one", "rollback one"}, "",
			`! grep -q 1 a.txt; test "$(cat solo)" = alone`},
		{"the other was committed meanwhile", []string{"begin one", "begin two", `echo 2 >> solo`, "commit two", `echo 1 >> a.txt`, "observe one", "rollback one"}, "solo",
			`grep -q 1 a.txt; test "$(cat solo)" = alone2`},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, root := opened(t, somewhere)
			token := map[string]Token{one: TokenOf("c_one", 1), two: TokenOf("c_two", 1)}
			for i, step := range c.play {
				do, who, _ := strings.Cut(step, " ")
				switch do {
				case "begin":
					begin(t, w, "r_"+who, "c_"+who)
				case "observe":
					observe(t, w, token[who])
				case "commit":
					if err := w.Commit(context.Background(), token[who]); err != nil {
						t.Fatal(err)
					}
				case "rollback":
					why := refusal(t, w, token[who])
					if i < len(c.play)-1 && why != "" || i == len(c.play)-1 && (why == "") != (c.refused == "") || !strings.Contains(why, c.refused) {
						t.Fatalf("%s: refused: %q", step, why)
					}
				default:
					sh(t, root, step)
				}
			}
			sh(t, root, c.check)
		})
	}
}

// A lasting attempt goes on in the process after the one that died: what changed between the two is somebody else's, what changed before and
// after is the attempt's.
func TestLastingAttemptGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, between, refused string }{
		{"nobody else", `true`, ""},
		{"another file", `echo theirs >> solo`, "solo"},
		{"the same file", `echo theirs >> a.txt`, "a.txt"},
		{"a file deleted", `rm src/deep/helper.go`, "src/deep/helper.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, root := opened(t, somewhere)
			before := picture(t, root)
			token, err := w.BeginLasting(t.Context(), "r", "c", 1)
			if err != nil {
				t.Fatal(err)
			}
			sh(t, root, `echo ours >> a.txt`)
			die(t, w)
			died := time.Now().Add(-lostGrace + 5*time.Millisecond) // what comes now comes later
			awaitAfter(t, root, died.Add(lostGrace))
			if err := os.Chtimes(filepath.Join(w.opt.StateDir, "pulse"), died, died); err != nil {
				t.Fatal(err)
			}
			w.attempts[string(token)].Began = died
			if err := w.save(token, w.attempts[string(token)]); err != nil {
				t.Fatal(err)
			}
			sh(t, root, c.between)
			again, err := Open(w.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			sh(t, root, `echo more >> a.txt; mkdir mine; touch mine/x`)
			why := refusal(t, again, token)
			if (why == "") != (c.refused == "") || !strings.Contains(why, c.refused) {
				t.Fatalf("refused: %q", why)
			}
			if why == "" {
				samePicture(t, "after the rollback", before, picture(t, root))
			}
		})
	}
}

// An Open that fails shows no sign of life afterwards: a pulse would make a later crash look later than it was, and what people changed in
// between would count as the attempt's.
func TestNoPulseAfterAFailedOpen(t *testing.T) {
	t.Parallel()
	w, _ := opened(t, `echo a > a.txt`)
	if _, err := w.BeginLasting(t.Context(), "r", "c", 1); err != nil {
		t.Fatal(err)
	}
	die(t, w)
	if err := os.MkdirAll(w.path("manifests", "not", "empty"), 0o700); err != nil { // the last thing that Open does fails
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := Open(w.opt); err == nil || !strings.Contains(err.Error(), "collect the garbage") {
			t.Fatalf("the folder was opened: %v", err)
		}
		long := time.Now().Add(-time.Hour)
		if err := os.Chtimes(w.path("pulse"), long, long); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * pulseEvery) // of the bubble's clock
		if info, err := os.Stat(w.path("pulse")); err != nil || !info.ModTime().Equal(long) {
			t.Errorf("the pulse goes on: %v, %v", info.ModTime(), err)
		}
	})
}

// After a crash, what was changed while the process lived is the attempt's, and what was changed later is somebody else's.
func TestLostAttempt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, other, refused string
	}{
		{"nothing else", `true`, ""},
		{"another file", `echo theirs >> solo`, "solo"},
		{"the same file", `echo theirs >> a.txt`, "a.txt"},
		{"a file deleted", `rm src/deep/helper.go`, "src/deep/helper.go"},
		{"a file made", `echo theirs > theirs`, "theirs"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, root := opened(t, somewhere)
			before := picture(t, root)
			token := begin(t, w, "r", "c")
			sh(t, root, `echo ours >> a.txt; mkdir mine; touch mine/x`)
			die(t, w)
			// It died as long ago as the grace lasts: what comes now comes later.
			died := time.Now().Add(-lostGrace + 5*time.Millisecond)
			awaitAfter(t, root, died.Add(lostGrace))
			if err := os.Chtimes(filepath.Join(w.opt.StateDir, "pulse"), died, died); err != nil {
				t.Fatal(err)
			}
			w.attempts[string(token)].Began = died // the record's time would be later than the pulse's
			if err := w.save(token, w.attempts[string(token)]); err != nil {
				t.Fatal(err)
			}
			sh(t, root, c.other)
			again, err := Open(w.opt)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			why := refusal(t, again, token)
			if (why == "") != (c.refused == "") || !strings.Contains(why, c.refused) {
				t.Fatalf("refused: %q", why)
			}
			if why == "" {
				samePicture(t, "after the rollback", before, picture(t, root))
			} else if !strings.Contains(why, "had died") {
				t.Errorf("the refusal does not say why: %s", why)
			}
		})
	}
}

// awaitAfter waits until the file system stamps changes with a time after t.
func awaitAfter(t *testing.T, root string, after time.Time) {
	t.Helper()
	probe := filepath.Join(t.TempDir(), "probe")
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if err := os.WriteFile(probe, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(probe)
		if err != nil {
			t.Fatal(err)
		}
		if info.ModTime().After(after.Add(tick)) {
			return
		}
	}
	t.Fatal("the clock of the file system stands still")
}

// A stage's attempt spans those of the calls in its own run; what they change is its change too.
func TestNestedAttempts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w, root := opened(t, somewhere)
	before := picture(t, root)
	stage := begin(t, w, "r_1", "c_stage")
	first := begin(t, w, "r_1-1-1", "c_first")
	sh(t, root, `echo first >> a.txt; rm solo`)
	observe(t, w, first)
	if err := w.Commit(ctx, first); err != nil {
		t.Fatal(err)
	}
	between := picture(t, root)
	second := begin(t, w, "r_1-1-1", "c_second")
	sh(t, root, `echo alone | tr -d '\n' > solo; echo second >> a.txt`) // solo is as before the stage again
	observe(t, w, second)
	if why := refusal(t, w, second); why != "" {
		t.Fatal(why)
	}
	samePicture(t, "after the second call's rollback", between, picture(t, root))
	observe(t, w, stage)
	if why := refusal(t, w, stage); why != "" {
		t.Fatal(why)
	}
	samePicture(t, "after the stage's rollback", before, picture(t, root))
}

// What another call writes while an attempt is under way is not taken back with it: neither when the edit begins first, nor when the attempt
// does. Within one run, or when the edit is over before the attempt begins, nothing is in the way.
func TestEditsOfOthersStay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	edit := func(t *testing.T, w *Workspace, run string) (done func()) {
		t.Helper()
		done, err := w.Edit(ctx, run, "c_edit", "doc.md")
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	for _, c := range []struct {
		name, run string
		refused   bool
		do        func(t *testing.T, w *Workspace, root, run string) Token
	}{
		{"during the attempt", "r_other", true, func(t *testing.T, w *Workspace, root, run string) Token {
			token := begin(t, w, "r_1", "c_1")
			done := edit(t, w, run)
			sh(t, root, `echo verified >> doc.md`)
			done()
			return token
		}},
		{"begun before the attempt", "r_other", true, func(t *testing.T, w *Workspace, root, run string) Token {
			done := edit(t, w, run)
			token := begin(t, w, "r_1", "c_1")
			sh(t, root, `echo verified >> doc.md`)
			done()
			return token
		}},
		{"over before the attempt", "r_other", false, func(t *testing.T, w *Workspace, root, run string) Token {
			done := edit(t, w, run)
			sh(t, root, `echo verified >> doc.md`)
			done()
			return begin(t, w, "r_1", "c_1")
		}},
		{"in a run of the attempt's own", "r_1-s1", false, func(t *testing.T, w *Workspace, root, run string) Token {
			token := begin(t, w, "r_1", "c_1")
			done := edit(t, w, run)
			sh(t, root, `echo inner >> doc.md`)
			done()
			return token
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, root := opened(t, somewhere)
			sh(t, root, `echo start > doc.md`)
			token := c.do(t, w, root, c.run)
			sh(t, root, `echo x > left`)
			observe(t, w, token)
			why := refusal(t, w, token)
			if (why != "") != c.refused || c.refused && !strings.Contains(why, "c_edit") {
				t.Errorf("refused: %q", why)
			}
			if c.refused {
				sh(t, root, `grep -q verified doc.md`)
			} else {
				sh(t, root, `! grep -q inner doc.md && ! test -e left`)
			}
		})
	}
}
