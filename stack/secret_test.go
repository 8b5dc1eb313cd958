package stack

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"toolsvc/planner"
)

// What is typed into a password field, and what a payload calls a secret, stands nowhere afterwards: not in the run's history, its events,
// its state and results, nor in any file of the state directory but the browser's own profile, where the page may keep what it wants.
func TestAttackSecretsAreNowhere(t *testing.T) {
	const password = "canary-Pa55word-9f3e1c"
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, `<!doctype html><title>Sign in</title><form onsubmit="event.preventDefault(); said.textContent='Wrong password'; said.setAttribute('role','alert')">
			<label>Password <input type=password name=p></label><button>Sign in</button></form><p id=said></p>`)
	}))
	t.Cleanup(page.Close)
	st := finish(t, planner.Input{},
		request(t, "browser.navigate", map[string]any{"url": page.URL}),
		request(t, "browser.type", map[string]any{"target": map[string]any{"name": "Password"}, "text": password}),
		request(t, "browser.screenshot", map[string]any{}),
		request(t, "browser.snapshot", map[string]any{}),
		request(t, "browser.fill_form", map[string]any{"fields": []any{map[string]any{"target": map[string]any{"name": "Password"}, "value": password}}}),
		request(t, "browser.click", map[string]any{"target": map[string]any{"name": "Sign in", "role": "button"}}))
	for i, step := range st.Steps[:min(5, len(st.Steps))] {
		if step.Result == nil || step.Result.Error != nil {
			text, _ := json.Marshal(step)
			t.Fatalf("step %d was not made: %s", i+1, text)
		}
	}
	outputs := map[string][]byte{}
	var err error
	if outputs["the state"], err = json.Marshal(st); err != nil {
		t.Fatal(err)
	}
	for i, e := range history(t, st.RunID, "") {
		text, err := protojson.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		outputs[fmt.Sprintf("event %d of the history", i)] = text
	}
	events, err := shared.Store.Events(t.Context(), st.RunID, 0, 1000)
	if err != nil || len(events) < 6 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if outputs["the events"], err = json.Marshal(events); err != nil {
		t.Fatal(err)
	}
	state, files := filepath.Join(filepath.Dir(folder), "state"), 0
	err = filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err): // it was removed meanwhile
			return nil
		case err != nil:
			return err
		case d.IsDir() && path == filepath.Join(state, "browser", "browser", "profile"):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		files++
		outputs[strings.TrimPrefix(path, state)] = text
		return err
	})
	if err != nil || files < 4 {
		t.Fatalf("%d files, %v", files, err)
	}
	for where, text := range outputs {
		for what, form := range forms(password) {
			if bytes.Contains(text, []byte(form)) {
				t.Errorf("the password stands in %s (%s)", where, what)
			}
		}
	}
}

// forms are how a text may stand in an output.
func forms(s string) map[string]string {
	aligned := func(skip int) string { // base64 of it within a longer text, without what its neighbours change
		return base64.StdEncoding.EncodeToString([]byte(s)[skip : skip+(len(s)-skip)/3*3])
	}
	utf16 := make([]byte, 0, 2*len(s))
	for _, c := range []byte(s) {
		utf16 = append(utf16, c, 0)
	}
	return map[string]string{"as it is": s, "in base64": aligned(0), "in base64, shifted by one": aligned(1), "in base64, shifted by two": aligned(2), "in hexadecimal": hex.EncodeToString([]byte(s)), "in UTF-16": string(utf16)}
}
