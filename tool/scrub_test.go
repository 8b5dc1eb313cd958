package tool

import (
	"slices"
	"strings"
	"testing"
)

func TestScrub(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 10)
	for name, c := range map[string]struct{ text, secret, want string }{
		"anywhere":                    {`args.text = "hunter2!"; it is hunter2!`, "hunter2!", `args.text = "[redacted]"; it is [redacted]`},
		"as JSON spells it":           {`args.text = "a\"b\\c"`, `a"b\c`, `args.text = "[redacted]"`},
		"a short one in quotes":       {`1 of 4: args.text = "1"`, "1", `1 of 4: args.text = "[redacted]"`},
		"the beginning of a long one": {"it is " + long[:40] + "… here", long, "it is [redacted]… here"},
		"all of a long one":           {"<" + long + ">", long, "<[redacted]>"},
		"nothing":                     {"as it was", "", "as it was"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Scrub(c.text, []string{c.secret}); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	payload := []byte(`{"text": "a", "fields": [{"value": "b"}, {"value": 3}], "x/y": "c"}`)
	got := At(payload, []string{"/text", "/fields/0/value", "/fields/1/value", "/fields/2/value", "/x~1y", "/none/of/it"})
	if want := []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := At([]byte(`{`), []string{"/text"}); got != nil {
		t.Errorf("%q of what is no JSON", got)
	}
}

func TestConcealing(t *testing.T) {
	t.Parallel()
	s := &Spec{Secrets: []string{"/pin"}}
	if got := string(s.Concealing("/fields/1/value").Redact([]byte(`{"pin":"1","fields":[{"value":"a"},{"value":"b"}]}`))); got != `{"fields":[{"value":"a"},{"value":"[redacted]"}],"pin":"[redacted]"}` {
		t.Error(got)
	}
	if len(s.Secrets) != 1 || s.Concealing() != s {
		t.Error("the spec itself was changed")
	}
}
