package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"toolsvc/executors/browser/memory"
	"toolsvc/store"
)

// What is remembered can be read and erased by command, without a server.
func TestMemoryCommand(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	s, err := store.Open(ctx, dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := memory.New(s, nil)
	for _, name := range []string{"Save", "Cancel"} {
		page, _ := memory.PageOf("https://shop.example/orders/17")
		if err := m.Confirm(ctx, page, memory.Target{Name: name}, memory.Fingerprint{Role: "button", Name: name, Tag: "button"}, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	defer s.Close() //nolint:errcheck // the command closes its own
	command := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		status := run(ctx, append([]string{"--state-dir", dir, "memory"}, args...), streams{&out, &errs})
		return status, out.String() + errs.String()
	}
	if status, out := command("list"); status != 0 || !strings.Contains(out, "https://shop.example/orders/*") || !strings.Contains(out, `button "Save"`) {
		t.Errorf("list: %d, %s", status, out)
	}
	if status, out := command("forget"); status != exitUsage || !strings.Contains(out, "--all") {
		t.Errorf("forget what: %d, %s", status, out)
	}
	if status, out := command("forget", "--contains", "save"); status != 0 || !strings.Contains(out, "1 forgotten") {
		t.Errorf("forget: %d, %s", status, out)
	}
	status, out := command("list", "--json", "--origin", "https://shop.example")
	var list []memory.Entry
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != 0 || len(list) != 1 || list[0].Target.Name != "Cancel" {
		t.Errorf("list: %d, %s, %v", status, out, err)
	}
	if status, out := command("forget", "--all"); status != 0 || !strings.Contains(out, "1 forgotten") {
		t.Errorf("forget: %d, %s", status, out)
	}
}
