package auth

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Bounds of tokens.
const (
	// MinToken is the least length of a token, in characters.
	MinToken = 20
	// MaxTokens bounds the tokens of one toolsvc.
	MaxTokens = 1000
	maxLine   = 1024
)

// Tokens are those who may make requests. nil means that everyone may. They may be replaced while they are used.
type Tokens struct {
	mu      sync.RWMutex
	entries []entry
}

// Replace makes those of another the tokens from now on: one that is not among them any more is refused at its next request.
func (t *Tokens) Replace(with *Tokens) {
	with.mu.RLock()
	entries := with.entries
	with.mu.RUnlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = entries
}

type entry struct {
	digest    [sha256.Size]byte
	principal Principal
}

var (
	principalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)
	hexDigest     = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Parse reads tokens, one a line: a name, its scopes separated by commas, and the token, or "sha256:" and the SHA-256 of the token in
// hexadecimal digits, so that the file gives nothing away. Empty lines and lines that begin with # are left out. Its errors name the line
// and never hold a token. One without any token is an error: it would let nobody in.
//
//	# name     scopes         token
//	agent      call           sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//	alice      call,approve   a-long-random-text
func Parse(r io.Reader) (*Tokens, error) {
	t := &Tokens{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		e, err := parseEntry(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d of the tokens: %w", n, err)
		}
		if slices.ContainsFunc(t.entries, func(o entry) bool { return o.digest == e.digest }) {
			return nil, fmt.Errorf("line %d of the tokens: the token of %s stands twice", n, e.principal.Name)
		}
		if t.entries = append(t.entries, e); len(t.entries) > MaxTokens {
			return nil, fmt.Errorf("there are more than %d tokens", MaxTokens)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	if len(t.entries) == 0 {
		return nil, fmt.Errorf("there is no token; a line has a name, scopes and a token: alice call,approve %s", "a-long-random-text")
	}
	return t, nil
}

func parseEntry(fields []string) (e entry, err error) {
	if len(fields) != 3 {
		return e, fmt.Errorf("it has %d words; it must have 3: a name, scopes separated by commas, and a token", len(fields))
	}
	name, scopes, token := fields[0], fields[1], fields[2]
	if !principalName.MatchString(name) {
		return e, fmt.Errorf("the name must begin with a letter or a digit, and go on with at most 63 letters, digits, and . _ @ -")
	}
	e.principal.Name = name
	for s := range strings.SplitSeq(scopes, ",") {
		if !slices.Contains(Scopes, Scope(s)) {
			return e, fmt.Errorf("%s has the scope %q; there are call, approve and admin", name, s)
		}
		e.principal.Scopes = append(e.principal.Scopes, Scope(s))
	}
	if digest, ok := strings.CutPrefix(token, "sha256:"); ok {
		if !hexDigest.MatchString(digest) {
			return e, fmt.Errorf("the digest of %s must be sha256: and 64 hexadecimal digits in lower case", name)
		}
		if _, err := hex.Decode(e.digest[:], []byte(digest)); err != nil {
			return e, err
		}
		return e, nil
	}
	if len(token) < MinToken {
		return e, fmt.Errorf("the token of %s is shorter than %d characters; take a random one (openssl rand -hex 32)", name, MinToken)
	}
	e.digest = sha256.Sum256([]byte(token))
	return e, nil
}

// ParseBytes is [Parse] of a text, as an environment variable holds it, where ";" may stand for the end of a line.
func ParseBytes(text []byte) (*Tokens, error) {
	return Parse(bytes.NewReader(bytes.ReplaceAll(text, []byte(";"), []byte("\n"))))
}

// Find returns whose token it is. The time that it takes tells nothing about the tokens: digests are compared, each of them, and in
// constant time.
func (t *Tokens) Find(token string) (Principal, bool) {
	digest := sha256.Sum256([]byte(token))
	t.mu.RLock()
	entries := t.entries // never changed in place
	t.mu.RUnlock()
	found := -1
	for i := range entries {
		if subtle.ConstantTimeCompare(digest[:], entries[i].digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 || token == "" {
		return Principal{}, false
	}
	return entries[found].principal, true
}

// Authorize finds who makes a request by the value of its Authorization header: "Bearer TOKEN"; or, where basic is set, "Basic …" with the
// token as the password, which is what a browser can be asked for. Without tokens everyone is [Local].
func (t *Tokens) Authorize(authorization string, basic bool) (Principal, bool) {
	if t == nil {
		return Local, true
	}
	scheme, rest, _ := strings.Cut(authorization, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		return t.Find(strings.TrimSpace(rest))
	case basic && strings.EqualFold(scheme, "Basic"):
		r := http.Request{Header: http.Header{"Authorization": {authorization}}}
		if _, password, ok := r.BasicAuth(); ok {
			return t.Find(password)
		}
	}
	return Principal{}, false
}
