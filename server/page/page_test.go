package page

import (
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/tool"
)

func get(t *testing.T, h http.Handler, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, mediaType string
		status          int
	}{
		{"/", "text/html; charset=utf-8", 200},
		{"/runs/r_4mwhq6zt2c9xk7bnv5sd3jyp8a", "text/html; charset=utf-8", 200},
		{"/assets/main.js", "text/javascript; charset=utf-8", 200},
		{"/assets/texts.js", "text/javascript; charset=utf-8", 200},
		{"/assets/page.css", "text/css; charset=utf-8", 200},
		{"/assets/icon.svg", "image/svg+xml", 200},
		{"/assets/../page.go", "text/plain; charset=utf-8", 404},
		{"/assets/", "text/plain; charset=utf-8", 404},
		{"/runs/", "text/plain; charset=utf-8", 404},
		{"/runs/r_1/more", "text/plain; charset=utf-8", 404},
		{"/runs/%3Cscript%3E", "text/plain; charset=utf-8", 404},
	} {
		w := get(t, h, c.path)
		if w.Code != c.status || w.Header().Get("Content-Type") != c.mediaType {
			t.Errorf("%s: status %d, %s", c.path, w.Code, w.Header().Get("Content-Type"))
		}
		if w.Header().Get("Content-Security-Policy") != policy || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", c.path, w.Header())
		}
		if c.status != http.StatusOK {
			continue
		}
		again := get(t, h, c.path, func(r *http.Request) { r.Header.Set("If-None-Match", w.Header().Get("ETag")) })
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s: asked again with its ETag: status %d, %d bytes", c.path, again.Code, again.Body.Len())
		}
	}
}

// The policy makes no exception, and the page needs none: no inline script or style, nothing from elsewhere, and nothing that parses strings
// as HTML or as code.
func TestNothingIsInline(t *testing.T) {
	t.Parallel()
	for _, forbidden := range []string{"unsafe", "*", "http:", "https:", "blob:"} {
		if strings.Contains(policy, forbidden) {
			t.Errorf("the policy allows %s", forbidden)
		}
	}
	index, err := files.ReadFile("index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?i)<script(?:\s[^>]*)?>[^<]|<style|\sstyle=|\son\w+=|(?:src|href)="(?:https?:)?//|javascript:`).FindAllString(string(index), -1) {
		t.Errorf("index.html holds %q", m)
	}
	modules := 0
	for name, text := range moduleTexts(t) {
		modules++
		for _, m := range regexp.MustCompile(`\.(?:innerHTML|outerHTML|insertAdjacentHTML|srcdoc)\b|document\.write|\beval\(|new Function|from '(?:[^.]|\.\.)`).FindAllString(text, -1) {
			t.Errorf("%s holds %q", name, m)
		}
	}
	if modules < 10 {
		t.Errorf("only %d modules were looked at", modules)
	}
}

func moduleTexts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := fs.Glob(files, "assets/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := files.ReadFile(e)
		if err != nil {
			t.Fatal(err)
		}
		all[e] = string(text)
	}
	return all
}

var holes = regexp.MustCompile(`\{\w+\}`)

// Every text exists in all languages, with the same values to put in; only English tells one from many.
func TestTexts(t *testing.T) {
	t.Parallel()
	english, err := texts(narration.English)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range narration.Langs {
		other, err := texts(l)
		if err != nil {
			t.Fatal(err)
		}
		for key, text := range english {
			if strings.HasSuffix(key, ".one") && other[key] == "" && l != narration.English {
				continue
			}
			if strings.TrimSpace(other[key]) == "" {
				t.Errorf("%s has no text %s", l, key)
			}
			want, got := holes.FindAllString(text, -1), holes.FindAllString(other[key], -1)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Errorf("%s: %s takes %v, in English %v", l, key, got, want)
			}
			if l != narration.English && other[key] == text && strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") && !slices.Contains(sameEverywhere, key) {
				t.Errorf("%s: %s is not translated: %q", l, key, text)
			}
		}
		for key := range other {
			if _, ok := english[key]; !ok {
				t.Errorf("%s has a text %s that English does not have", l, key)
			}
		}
	}
}

// sameEverywhere are names.
var sameEverywhere = []string{"temporal", "badge.vision", "badge.hotkey", "badge.system"}

// Every text that the modules name exists, every value of a closed list has its word, and no text is left over.
func TestTextsAreThoseInUse(t *testing.T) {
	t.Parallel()
	english, err := texts(narration.English)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{"skip": true}
	for name, text := range moduleTexts(t) {
		for _, m := range regexp.MustCompile(`(?:\b(?:t|say|chip)\(|'aria-label': t\(|#button\()'([\w.]+)'`).FindAllStringSubmatch(text, -1) {
			if used[m[1]] = true; english[m[1]] == "" {
				t.Errorf("%s says %s, which is no text", name, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`'([a-z]+(?:\.[a-z_]+)+)'`).FindAllStringSubmatch(text, -1) { // keys that are handed on
			used[m[1]] = true
		}
	}
	lists := map[string][]string{"runs": {"none"}, "theme": {"auto", "light", "dark"}, "narration.level": {"all", "success", "warning", "error"}, "level": {"success", "warning", "error"},
		"controls": {"pause", "resume", "cancel"}, "connection": {"connecting", "live", "lost", "resting", "over"}, "step": {"none", "waits", "skipped"},
		"shots": {"before", "after", "difference"}, "shots.alt": {"before", "after", "difference"}, "checks": {"check", "expected", "observed", "result"},
		"check": {"success", "failure", "uncertain"}, "input": {"mouse", "keyboard"}, "tier": {"syntax", "lossless", "model", "person"},
		"outcome": {"paused", "waiting", "yes", "no", "hint"}, "problem": {"unknown_run", "run_ended", "forbidden", "unauthorized", "unavailable", "unreachable", "other"}}
	add := func(list string, values ...string) { lists[list] = append(lists[list], values...) }
	for _, o := range []planner.Outcome{planner.OutcomeRunning, planner.OutcomeSucceeded, planner.OutcomeFailed, planner.OutcomeCancelled, planner.OutcomeIdle} {
		add("outcome", string(o))
	}
	for _, s := range []planner.Status{planner.StatusQueued, planner.StatusRunning, planner.StatusVerified, planner.StatusFailed, planner.StatusWaiting, planner.StatusSkipped} {
		add("status", string(s))
	}
	for _, k := range []planner.Kind{planner.KindCaller, planner.KindScript, planner.KindPipeline, planner.KindGemini} {
		add("kind", string(k))
	}
	for _, v := range []tool.Verdict{tool.VerdictSuccess, tool.VerdictFailure, tool.VerdictUncertain} {
		add("verdict", string(v))
	}
	for _, p := range []tool.Phase{tool.PhaseStarted, tool.PhaseResolved, tool.PhaseDispatched, tool.PhaseSettled} {
		add("phase", string(p))
	}
	for _, e := range []tool.Effect{tool.EffectNone, tool.EffectConfirmed, tool.EffectUnknown} {
		add("effect", string(e))
	}
	for _, q := range []tool.QuestionKind{tool.AskArguments, tool.AskApproval, tool.AskOutcome, tool.AskFreely} {
		add("question", string(q))
	}
	for _, r := range []tool.Reason{tool.ReasonInvalidArguments, tool.ReasonMissingFields, tool.ReasonAmbiguousTarget, tool.ReasonOutcomeUnknown, tool.ReasonConfirmationRequired} {
		add("reason", string(r))
	}
	for _, f := range tool.Failures {
		add("failure", string(f))
	}
	for _, s := range tool.Sources {
		add("source", string(s))
		add("badge", string(s))
	}
	for _, s := range narration.Stages {
		add("stage", string(s))
	}
	for list, values := range lists {
		for _, v := range values {
			if used[list+"."+v] = true; english[list+"."+v] == "" {
				t.Errorf("there is no word for %s %s", list, v)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(english)) {
		if !used[key] && !used[strings.TrimSuffix(key, ".one")] {
			t.Errorf("the text %s is not used", key)
		}
	}
}
