package auth

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"toolsvc/tool"
)

const token = "a-long-random-text-of-alice"

func TestParse(t *testing.T) {
	t.Parallel()
	digest := tool.Digest([]byte("the-token-of-the-agent")) // sha256:…
	tokens, err := Parse(strings.NewReader("# who\n\nalice call,approve " + token + "\n  agent   call " + digest + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{token: "alice", "the-token-of-the-agent": "agent", "": "", "alice": "", digest: "", token + " ": ""} {
		p, ok := tokens.Find(given)
		if p.Name != want || ok != (want != "") {
			t.Errorf("%q belongs to %q", given, p.Name)
		}
	}
	if p, _ := tokens.Find(token); !p.May(Call) || !p.May(Approve) || p.May(Admin) {
		t.Errorf("alice may %v", p.Scopes)
	}
	for text, want := range map[string]string{
		"":                              "there is no token",
		"# only a comment":              "there is no token",
		"alice call":                    "it has 2 words",
		"alice call " + token + " more": "it has 4 words",
		"-x call " + token:              "the name must begin",
		"alice calls " + token:          `has the scope "calls"`,
		"alice call, " + token:          `has the scope ""`,
		"alice call short":              "shorter than 20",
		"alice call sha256:abc":         "64 hexadecimal digits",
		"alice call " + token + "\nbob call " + token: "line 2 of the tokens: the token of bob stands twice",
		strings.Repeat("x", 2000):                     "read the tokens",
	} {
		_, err := ParseBytes([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("a token is told: %v", err)
		}
	}
	var many strings.Builder
	for i := range MaxTokens + 1 {
		fmt.Fprintf(&many, "p call a-long-random-text-%d;", i)
	}
	if _, err := ParseBytes([]byte(many.String())); err == nil || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("too many: %v", err)
	}
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	tokens, err := ParseBytes([]byte("alice call " + token))
	if err != nil {
		t.Fatal(err)
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+token))
	for _, c := range []struct {
		header string
		basic  bool
		ok     bool
	}{
		{"Bearer " + token, false, true}, {"bearer  " + token, false, true}, {token, false, false}, {"", false, false}, {"Bearer", false, false},
		{"Bearer " + token + "x", true, false}, {basic, true, true}, {basic, false, false}, {"Basic %%%", true, false}, {"Digest " + token, true, false},
	} {
		if p, ok := tokens.Authorize(c.header, c.basic); ok != c.ok || (p.Name == "alice") != c.ok {
			t.Errorf("%q: %v %v", c.header, p, ok)
		}
	}
	var none *Tokens
	if p, ok := none.Authorize("", false); !ok || !p.May(Admin) || p.Name != "local" {
		t.Errorf("without tokens: %v %v", p, ok)
	}
}

// Tokens that are replaced hold for the next request: a new one is known, and one that is gone is refused.
func TestReplacedTokens(t *testing.T) {
	t.Parallel()
	const first, second = "first-token-of-twenty-characters", "second-token-of-twenty-characters"
	tokens, err := ParseBytes([]byte("ada call " + first))
	if err != nil {
		t.Fatal(err)
	}
	with, err := ParseBytes([]byte("bob call,approve " + second))
	if err != nil {
		t.Fatal(err)
	}
	tokens.Replace(with)
	if p, ok := tokens.Find(first); ok {
		t.Errorf("a revoked token is still %v", p)
	}
	if p, ok := tokens.Find(second); !ok || p.Name != "bob" || !p.May(Approve) {
		t.Errorf("the new token is %v, %v", p, ok)
	}
}
