package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// A stage's attempt and the attempts of the run that works for it are under way at the same time; what the inner one changes is the outer
// one's to take back. Another run's is not.
func TestNestedAttempts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inner   string
		refused bool
	}{
		"its own run": {"r_a-1-1", false},
		"another run": {"r_b", true},
		"a namesake":  {"r_ab", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			root := filepath.Join(dir, "root")
			if err := os.Mkdir(root, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(root, "a.txt")
			if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			w, err := Open(Options{Root: root, StateDir: filepath.Join(dir, "state")})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.Close() })
			ctx := t.Context()
			outer, err := w.Begin(ctx, "r_a", "c_outer", 1)
			if err != nil {
				t.Fatal(err)
			}
			inner, err := w.Begin(ctx, c.inner, "c_inner", 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("after it"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, step := range []func() error{
				func() error { return w.Observe(ctx, inner) }, func() error { return w.Commit(ctx, inner) }, func() error { return w.Observe(ctx, outer) },
			} {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			rb, err := w.Rollback(ctx, outer)
			if err != nil || rb.Performed == c.refused {
				t.Fatalf("%+v, %v", rb, err)
			}
			text, err := os.ReadFile(file)
			if err != nil || (string(text) == "before") == c.refused {
				t.Errorf("the file holds %q (%v)", text, err)
			}
		})
	}
}
