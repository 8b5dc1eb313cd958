package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/narration"
	"toolsvc/tool"
)

// stateless is the first protocol version without sessions, whose questions travel in results (SEP-2575, SEP-2322).
const stateless = "2026-07-28"

// Keys of _meta, and headers, by which a client says more than the protocol has words for.
const (
	// metaRun names the run to work in, as the argument does.
	metaRun = "toolsvc/run"
	// metaLanguage is the language of the narration; a BCP 47 tag, or several as in Accept-Language.
	metaLanguage = "toolsvc/language"
	// metaKey is an idempotency key: a request that is sent again, because its response was lost, gets the first one's result.
	metaKey = "toolsvc/idempotencyKey"
	// HeaderClient keeps the run of one client apart from those of others where there are no sessions: any stable text.
	HeaderClient = "Toolsvc-Client"
)

// client is what is known of whoever makes a request.
type client struct {
	session *sdk.ServerSession
	modern  bool // speaks a protocol version without sessions
	version string
	caps    *sdk.ClientCapabilities
	// identity is the authenticated user, "" when nobody is.
	identity string
	// key tells clients apart: their runs differ.
	key  string
	lang string
	// name is how the client calls itself, for the record of who answered.
	name string
	// logs says that the request itself asks for log messages.
	logs bool
}

// request is what a handler gets of a request, whatever its method.
type request interface {
	ProtocolVersion() string
	ClientInfo() *sdk.Implementation
	ClientCapabilities() *sdk.ClientCapabilities
	GetParams() sdk.Params
	GetExtra() *sdk.RequestExtra
	GetSession() sdk.Session
}

func (s *Surface) clientOf(r request) client {
	c := client{version: r.ProtocolVersion(), caps: r.ClientCapabilities()}
	c.session, _ = r.GetSession().(*sdk.ServerSession)
	c.modern = c.version >= stateless
	info := r.ClientInfo()
	if info != nil {
		c.name = clipText(info.Name, 80)
	}
	if c.caps == nil {
		c.caps = &sdk.ClientCapabilities{}
	}
	var header func(string) string
	if extra := r.GetExtra(); extra != nil {
		if extra.TokenInfo != nil {
			c.identity = extra.TokenInfo.UserID
		}
		if extra.Header != nil {
			header = extra.Header.Get
		}
	}
	session := ""
	if c.session != nil {
		session = c.session.ID()
	}
	switch {
	case header == nil: // stdio: the process is the client's own
		c.key = ""
	case session != "":
		c.key = "session\x00" + session
	case header(HeaderClient) != "":
		c.key = "client\x00" + header(HeaderClient)
	default:
		c.key = "name\x00" + c.name
	}
	if header != nil {
		c.key = c.identity + "\x00" + c.key
	}
	//lint:ignore SA1019 logging is deprecated since MCP 2026-07-28, and still asked for
	_, c.logs = r.GetParams().GetMeta()[sdk.MetaKeyLogLevel]
	var wants []string
	if v, ok := r.GetParams().GetMeta()[metaLanguage].(string); ok {
		wants = append(wants, v)
	}
	if header != nil && header("Accept-Language") != "" {
		wants = append(wants, header("Accept-Language"))
	}
	c.lang = cmp.Or(s.o.Language, string(narration.English))
	if len(wants) > 0 {
		c.lang = string(narration.Match(wants...))
	}
	return c
}

// elicits reports whether the client can show a form.
func (c client) elicits() bool {
	e := c.caps.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil) // {} means forms
}

// samples reports whether the client offers its own model.
//
//lint:ignore SA1019 sampling is deprecated since MCP 2026-07-28, and still how a client offers its model
func (c client) samples() bool { return c.caps.Sampling != nil }

// links reports whether the client knows resource links (2025-06-18).
func (c client) links() bool { return c.version >= "2025-06-18" }

// by says who answered, for the run's record.
func (c client) by() string {
	who := "mcp"
	if c.name != "" {
		who += ":" + c.name
	}
	if c.identity != "" {
		who += " (" + c.identity + ")"
	}
	return who
}

// runTable knows which run each client works in.
type runTable struct {
	key   []byte
	stdio string

	mu      sync.Mutex
	current map[string]string // client key → run
	order   []string          // keys, the oldest first
}

// maxClients bounds the clients whose runs are remembered; the run of a forgotten one is derived again.
const maxClients = 10_000

func newRunTable(key []byte, stdio string) *runTable {
	t := &runTable{key: key, stdio: stdio, current: map[string]string{}}
	if t.stdio == "" {
		t.stdio = tool.NewRunID()
	}
	return t
}

// of returns the run of a client. It is derived from the client's key, so a restarted server finds the same one.
func (t *runTable) of(clientKey string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run := t.current[clientKey]; run != "" {
		return run
	}
	run := t.derive(clientKey, 0)
	t.set(clientKey, run)
	return run
}

// next gives the client another run in place of one that has ended. The generation is how many runs were found ended one after the other.
func (t *runTable) next(clientKey, ended string, generation int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run := t.current[clientKey]; run != "" && run != ended {
		return run // another call of this client has moved on already
	}
	run := t.derive(clientKey, generation)
	if run == ended || generation >= maxGenerations {
		run = tool.NewRunID()
	}
	t.set(clientKey, run)
	return run
}

// maxGenerations bounds the search for a run that is open, after a restart.
const maxGenerations = 16

func (t *runTable) set(clientKey, run string) {
	if _, known := t.current[clientKey]; !known {
		if len(t.order) >= maxClients {
			delete(t.current, t.order[0])
			t.order = t.order[1:]
		}
		t.order = append(t.order, clientKey)
	}
	t.current[clientKey] = run
}

func (t *runTable) derive(clientKey string, generation int) string {
	if clientKey == "" && generation == 0 {
		return t.stdio
	}
	if clientKey == "" {
		return tool.NewRunID()
	}
	sum := mac(t.key, fmt.Appendf(nil, "run\x00%d\x00%s", generation, clientKey))
	return "r_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:sha256.Size]))[:26]
}

// madeRun is the form of the identifiers that toolsvc makes, and of those of the runs below them. They cannot be guessed.
var madeRun = regexp.MustCompile(`^r_[a-z2-7]{26}(-[0-9]+)*$`)

// runOf is the run that a client means by a name. A name that it chose itself, such as "shop", is its user's own where users are told apart:
// another user who chooses the same name works in another run.
func (s *Surface) runOf(c client, name string) string {
	if name == "" || c.identity == "" || madeRun.MatchString(name) {
		return name
	}
	return s.runs.derive("named\x00"+c.identity+"\x00"+name, 0)
}

// scoped keeps the idempotency keys of one client apart from those of others.
func (s *Surface) scoped(c client, key string) string {
	return "mcp_" + hex.EncodeToString(mac(s.o.Key, fmt.Appendf(nil, "key\x00%s\x00%s", c.key, key)))
}

type contextKey struct{ name string }

// clipText shortens s to at most n bytes at a rune boundary.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// detached is ctx without its end, for what has to be done although the client has gone.
func detached(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
