package temporalclient

import "testing"

func TestRunURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, namespace, workflow, run, want string }{
		{"http://127.0.0.1:8233", "default", "r_1", "abc", "http://127.0.0.1:8233/namespaces/default/workflows/r_1/abc/history"},
		{"http://127.0.0.1:8233/", "default", "r_1", "", "http://127.0.0.1:8233/namespaces/default/workflows/r_1"},
		{"https://cloud.temporal.io", "team.a1b2c", "run/1 ?", "x", "https://cloud.temporal.io/namespaces/team.a1b2c/workflows/run%2F1%20%3F/x/history"},
		{"http://h", "", "w", "", "http://h/namespaces/default/workflows/w"},
		{"", "default", "w", "x", ""},
		{"http://h", "default", "", "x", ""},
	} {
		if got := RunURL(c.base, c.namespace, c.workflow, c.run); got != c.want {
			t.Errorf("RunURL(%q, %q, %q, %q) = %q, want %q", c.base, c.namespace, c.workflow, c.run, got, c.want)
		}
	}
}
