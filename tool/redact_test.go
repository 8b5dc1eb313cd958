package tool

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	s := &Spec{Secrets: []string{"/password", "/cards/*/number", "/headers/*", "/a/b"}}
	open := &Spec{}
	for _, c := range []struct {
		spec     *Spec
		in, want string
	}{
		{s, ``, ``},
		{s, `{"password":"p","user":"u"}`, `{"password":"[redacted]","user":"u"}`},
		{s, `{"password":{"p":["q"]}}`, `{"password":"[redacted]"}`},
		{s, `{"password":null}`, `{"password":"[redacted]"}`},
		{s, `{"cards":[{"number":1,"name":"n"},{"number":[2]},5]}`, `{"cards":[{"name":"n","number":"[redacted]"},{"number":"[redacted]"},5]}`},
		{s, `{"cards":{"x":{"number":1}}}`, `{"cards":{"x":{"number":"[redacted]"}}}`},
		{s, `{"headers":{"a/b":"x","~":"y"}}`, `{"headers":{"a/b":"[redacted]","~":"[redacted]"}}`},
		{s, `{"headers":["x"]}`, `{"headers":["[redacted]"]}`},
		{s, `{"a":{"b":1,"c":2},"b":3}`, `{"a":{"b":"[redacted]","c":2},"b":3}`},
		{s, `{"x":{"password":"p"}}`, `{"x":{"password":"p"}}`},
		{s, `{"password":"p"`, `"[redacted]"`},
		{s, `password=p`, `"[redacted]"`},
		{open, `password=p`, `"password=p"`},
		{open, `{"n":12345678901234567890.50,"h":"<&>"}`, `{"h":"<&>","n":12345678901234567890.50}`},
		{open, "\xff", `"\ufffd"`},
	} {
		got := c.spec.Redact([]byte(c.in))
		if string(got) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// TestRedactByDecoding holds that what stands where a secret may be, by the issues of the decoder, is not shown either.
func TestRedactByDecoding(t *testing.T) {
	t.Parallel()
	decode := func(is ...Issue) *Spec {
		return &Spec{Secrets: []string{"/password"}, Decode: func([]byte) (Payload, Issues) { return nil, is }}
	}
	for _, c := range []struct {
		spec     *Spec
		in, want string
	}{
		{decode(), `{"password":"p"}`, `{"password":"[redacted]"}`},
		{decode(Issue{Path: "/pasword", Got: Redacted}, Issue{Path: "/list/1", Got: Redacted}, Issue{Path: "/a~1b~0", Got: Redacted}, Issue{Path: "/x", Got: "1"}),
			`{"pasword":"p","list":[1,2],"a/b~":"q","x":1}`, `{"a/b~":"[redacted]","list":[1,"[redacted]"],"pasword":"[redacted]","x":1}`},
		{decode(Issue{Path: "", Got: Redacted}), `["p"]`, `"[redacted]"`},
		{decode(Issue{Constraint: ConstraintSyntax}), `{"a":"p"}`, `"[redacted]"`},
		{decode(Issue{Constraint: ConstraintMaxBytes}), `{"a":"p"}`, `"[redacted]"`},
		{decode(Issue{Constraint: ConstraintMaxDepth}), `{"a":"p"}`, `"[redacted]"`},
		{decode(make(Issues, MaxIssues)...), `{"a":"p"}`, `"[redacted]"`},
	} {
		if got := c.spec.Redact([]byte(c.in)); string(got) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestRedactIsBounded(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{"a":"` + strings.Repeat("é", 100_000) + `"}`, strings.Repeat("x", 100_000), `[` + strings.Repeat("1,", 50_000) + `1]`} {
		got := (&Spec{}).Redact([]byte(in))
		var s string
		if err := json.Unmarshal(got, &s); err != nil || len(s) > maxShown+len("…") || !strings.HasSuffix(s, "…") {
			t.Errorf("%.20s…: %d bytes, %v", in, len(got), err)
		}
	}
}
