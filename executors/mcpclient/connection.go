package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// Bounds of connections.
const (
	// connectLimit bounds a start of a server with its handshake.
	connectLimit = 30 * time.Second
	// backOffFirst is the wait after a failed start, doubled by each further one up to backOffMax; it is forgotten when a server has lived for
	// settled.
	backOffFirst, backOffMax = 500 * time.Millisecond, 30 * time.Second
	settled                  = 10 * time.Second
	// endLimit is how long a process has to end when its input is closed.
	endLimit = 5 * time.Second
)

// connection is the connection to one server, for one run or for all. It is made when it is needed, and again when it was lost.
type connection struct {
	name    string
	backend Backend
	client  *sdk.Client
	log     *slog.Logger

	mu      sync.Mutex
	session *sdk.ClientSession
	since   time.Time
	wait    time.Duration // before the next start
	next    time.Time
	closed  bool
}

// get returns a live session. Its error proves that nothing was sent.
func (c *connection) get(ctx context.Context) (*sdk.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, tool.Failf(tool.ToolUnavailable, "the connection to the MCP server %s has been closed", c.name)
	}
	if c.session != nil {
		return c.session, nil
	}
	if left := time.Until(c.next); left > 0 {
		return nil, &tool.Failed{Failure: tool.ToolUnavailable, What: c.name, RetryAfter: left,
			Message: fmt.Sprintf("The MCP server %s could not be started; it is tried again in %s.", c.name, left.Round(100*time.Millisecond))}
	}
	session, err := c.connect(ctx)
	if err != nil {
		c.wait = min(max(2*c.wait, backOffFirst), backOffMax)
		c.next = time.Now().Add(c.wait)
		if ctx.Err() != nil {
			return nil, &tool.Failed{Failure: tool.Timeout, What: c.name, Cause: err, Message: fmt.Sprintf("The MCP server %s did not start in time.", c.name)}
		}
		return nil, &tool.Failed{Failure: tool.ToolUnavailable, What: c.name, RetryAfter: c.wait, Cause: err,
			Message: fmt.Sprintf("The MCP server %s cannot be reached: %s", c.name, err)}
	}
	c.session, c.since = session, time.Now()
	go c.watch(session)
	return session, nil
}

func (c *connection) connect(ctx context.Context) (*sdk.ClientSession, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	t, err := c.transport()
	if err != nil {
		return nil, err
	}
	session, err := c.client.Connect(ctx, t, nil)
	if err != nil || c.backend.URL == "" {
		return session, err
	}
	// Over HTTP, a tool may want arguments mirrored in headers (SEP-2243); the SDK knows that only of tools that this session has listed.
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, errors.Join(fmt.Errorf("list the tools: %w", err), session.Close())
		}
	}
	return session, nil
}

func (c *connection) transport() (sdk.Transport, error) {
	if c.backend.URL != "" {
		headers := http.Header{}
		for name, value := range c.backend.Headers {
			v, err := expand(value)
			if err != nil {
				return nil, fmt.Errorf("header %s: %w", name, err)
			}
			headers.Set(name, v)
		}
		if c.backend.BearerEnv != "" {
			token, err := secret(c.backend.BearerEnv)
			if err != nil {
				return nil, fmt.Errorf("bearer_env: %w", err)
			}
			headers.Set("Authorization", "Bearer "+token)
		}
		oauth, err := c.backend.oauth()
		if err != nil {
			return nil, err
		}
		return &sdk.StreamableClientTransport{Endpoint: c.backend.URL, OAuthHandler: oauth,
			HTTPClient: &http.Client{Transport: withHeaders{headers}, CheckRedirect: sameHost}}, nil
	}
	env, err := c.backend.environment()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.backend.Command[0], c.backend.Command[1:]...) //nolint:gosec // the operator configures what is started
	cmd.Dir, cmd.Env = c.backend.Dir, env
	cmd.Stderr = &logWriter{log: c.log, name: c.name}
	return &sdk.CommandTransport{Command: cmd, TerminateDuration: endLimit}, nil
}

// withHeaders adds headers to every request; [sameHost] keeps them from another host.
type withHeaders struct{ headers http.Header }

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range w.headers {
		r.Header[name] = values
	}
	return http.DefaultTransport.RoundTrip(r)
}

// watch notices that a session has ended.
func (c *connection) watch(session *sdk.ClientSession) {
	err := session.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != session {
		return
	}
	c.session = nil
	if time.Since(c.since) >= settled {
		c.wait = 0
	}
	c.next = time.Now().Add(c.wait) // one that died young is not started again at once
	c.wait = min(max(2*c.wait, backOffFirst), backOffMax)
	if !c.closed {
		c.log.Warn("an MCP server has gone away", "backend", c.name, "error", err)
	}
}

// lost drops a session that failed.
func (c *connection) lost(session *sdk.ClientSession) {
	c.mu.Lock()
	if c.session != session {
		c.mu.Unlock()
		return
	}
	c.session = nil
	c.mu.Unlock()
	if err := session.Close(); err != nil {
		c.log.Debug("close a lost MCP session", "backend", c.name, "error", err)
	}
}

func (c *connection) close() error {
	c.mu.Lock()
	session := c.session
	c.session, c.closed = nil, true
	c.mu.Unlock()
	if session == nil {
		return nil
	}
	err := session.Close()
	var exit *exec.ExitError
	if errors.As(err, &exit) { // a server that ends with another status than 0, or by the signal, has ended all the same
		return nil
	}
	return err
}

// logWriter passes on what a server writes to its standard error, line by line and bounded.
type logWriter struct {
	log  *slog.Logger
	name string
}

const maxLogged = 1000

func (w *logWriter) Write(p []byte) (int, error) {
	w.log.Debug("an MCP server says", "backend", w.name, "text", clip(string(p), maxLogged))
	return len(p), nil
}
