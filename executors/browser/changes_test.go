package browser

import (
	"slices"
	"strings"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	lines := func(s string) []string { return strings.Split(s, "\n") }
	for _, c := range []struct{ name, was, is, want string }{
		{"nothing", "- a\n  - b", "- a\n  - b", ""},
		{"one came", "- list\n  - a", "- list\n  - a\n  - b", "  - list\n+   - b"},
		{"one went", "- list\n  - a\n  - b", "- list\n  - b", "  - list\n-   - a"},
		{"one differs", "- list\n  - a\n- p", "- list\n  - A\n- p", "  - list\n-   - a\n+   - A"},
		{"two in one place", "- list\n  - a", "- list\n  - a\n  - b\n  - c", "  - list\n+   - b\n+   - c"},
		{"a whole part", "- a", "- a\n- list\n  - b\n    - c", "+ - list\n+   - b\n+     - c"},
		{"two places", "- x\n  - a\n- y\n  - b", "- x\n  - a\n  - 1\n- y\n  - b\n  - 2", "  - x\n+   - 1\n  - y\n+   - 2"},
	} {
		got := strings.Join(changed(lines(c.was), lines(c.is)), "\n")
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// Long trees are compared in time: as sets of lines.
func TestChangedOfLongTrees(t *testing.T) {
	t.Parallel()
	var was, is []string
	for i := range 5000 {
		was = append(was, "- was "+strings.Repeat("x", i%97))
		is = append(is, "- is "+strings.Repeat("x", i%89))
	}
	is[2500] = was[2500]
	if got := changed(was, is); len(got) != 2*5000-2 {
		t.Errorf("%d lines", len(got))
	}
}

func snap(t *testing.T, p *visit, args map[string]any) *gen.SnapshotResult {
	t.Helper()
	return p.do("snapshot", args).must(t, tool.EffectNone).out.Result.(*gen.SnapshotResult)
}

func TestSnapshotOfChanges(t *testing.T) {
	t.Parallel()
	p := open(t, `<main><h1>Cart</h1><ul id=l><li>Bread</li></ul><button onclick="l.append(Object.assign(document.createElement('li'),{textContent:'Salt'}))">Add</button></main>`)
	first := snap(t, p, map[string]any{"only_changes": true})
	if first.Changes || !strings.Contains(first.Snapshot, "Bread") {
		t.Errorf("the first: %+v", first)
	}
	if r := snap(t, p, map[string]any{"only_changes": true}); !r.Changes || !strings.Contains(r.Snapshot, "nothing changed") {
		t.Errorf("nothing: %+v", r)
	}
	p.do("click", clickOn("Add")).must(t, tool.EffectConfirmed)
	r := snap(t, p, map[string]any{"only_changes": true})
	if !r.Changes || !strings.Contains(r.Snapshot, "Salt") || strings.Contains(r.Snapshot, "Bread") {
		t.Errorf("one more: %s", r.Snapshot)
	}
	p.do("reload", map[string]any{}).must(t, tool.EffectConfirmed)
	if r := snap(t, p, map[string]any{"only_changes": true}); r.Changes {
		t.Errorf("another document: %s", r.Snapshot)
	}
}

// An element keeps its reference while it lives, whatever happens around it; also when it is rendered anew as the same.
func TestRefsAreStable(t *testing.T) {
	t.Parallel()
	p := open(t, `<div id=x></div><button onclick="x.innerHTML='<p>more</p><a href=#>New</a>'">Grow</button><input aria-label=Name><ul><li><a href=#a>One</a></li></ul>`)
	refs := func() (out []string) {
		for _, l := range strings.Split(snap(t, p, map[string]any{}).Snapshot, "\n") {
			if !strings.Contains(l, "New") && strings.Contains(l, "[ref=") {
				_, r, _ := strings.Cut(l, "[ref=")
				out = append(out, r[:strings.Index(r, "]")])
			}
		}
		return out
	}
	before := refs()
	p.do("click", clickOn("Grow")).must(t, tool.EffectConfirmed)
	after := refs()
	if !slices.Equal(before, after) || len(before) < 3 {
		t.Errorf("%q, then %q", before, after)
	}
	p.by(tool.SourceCDP, "click", map[string]any{"target": map[string]any{"ref": before[0]}})
}
