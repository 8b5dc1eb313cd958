package mcp

//lint:file-ignore SA1019 Sampling is deprecated since MCP 2026-07-28, with nothing in its place; until it is gone, it is how a client offers its model.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// sampler is a client that offers a model, which answers what it is told to.
func sampler(answer func(text string) (*sdk.CreateMessageResult, error)) *sdk.ClientOptions {
	return &sdk.ClientOptions{CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
		return answer(r.Params.Messages[0].Content.(*sdk.TextContent).Text)
	}}
}

// ask is a call whose work asks the caller's model twice, and says in its result what came of that.
func asksTheModel(s **Surface) func(context.Context, tool.Request) *tool.Result {
	return func(ctx context.Context, req tool.Request) *tool.Result {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // as an activity: the call goes on without its request
		defer cancel()
		var said []string
		for _, q := range []string{"one", "two"} {
			if !(*s).Offers(req.CallID) {
				said = append(said, "no model")
				continue
			}
			res, err := (*s).Sample(ctx, req.CallID, &sdk.CreateMessageParams{MaxTokens: 10, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: q}}}})
			if err != nil {
				said = append(said, "none: "+err.Error())
				continue
			}
			said = append(said, res.Model+": "+res.Content.(*sdk.TextContent).Text)
		}
		return titled(req, said)
	}
}

// The model that a client offers is asked during its calls, in both eras and over both transports; the call goes on without it when it
// refuses, and where there is none.
func TestSampling(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect func(*testing.T, *Surface, string, *sdk.ClientOptions) *sdk.ClientSession) {
		for name, c := range map[string]struct {
			client *sdk.ClientOptions
			want   string
		}{
			"answers": {sampler(func(text string) (*sdk.CreateMessageResult, error) {
				return &sdk.CreateMessageResult{Model: "theirs", Role: "assistant", Content: &sdk.TextContent{Text: "says " + text}}, nil
			}), "theirs: says one, theirs: says two"},
			"none": {nil, "no model, no model"},
		} {
			t.Run(name, func(t *testing.T) {
				service := &durable{runs: newRuns()}
				var s *Surface
				service.do = asksTheModel(&s)
				s = newSurface(t, service)
				_, res, _ := callTool(t, connect(t, s, version, c.client), "browser_click", map[string]any{"target": map[string]any{"name": "Play"}})
				var result struct {
					Title string `json:"title"`
				}
				if err := json.Unmarshal(res.Result, &result); err != nil || result.Title != c.want {
					t.Errorf("%s %v, want %s", res.Result, err, c.want)
				}
				if s.Offers("") || len(s.asked.open) != 0 {
					t.Error("something is left of the call")
				}
			})
		}
	})
	// A refusal is no answer, and no failure of the call. (In the newer era the SDK's client gives the call up itself.)
	service := &durable{runs: newRuns()}
	var s *Surface
	service.do = asksTheModel(&s)
	s = newSurface(t, service)
	_, res, _ := callTool(t, connect(t, s, legacy, sampler(func(string) (*sdk.CreateMessageResult, error) { return nil, errors.New("not for you") })), "browser_click",
		map[string]any{"target": map[string]any{"name": "Play"}})
	if got := string(res.Result); !res.OK() || strings.Count(got, "none: ") != 2 || !strings.Contains(got, "not for you") {
		t.Error(got)
	}
}

// durable is a service whose calls go on when nobody waits for them, as runs do.
type durable struct{ *runs }

func (d *durable) Call(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
	d.mu.Lock()
	if d.going == nil {
		d.going = map[string]chan struct{}{}
	}
	done := make(chan struct{})
	d.going[req.CallID] = done
	d.mu.Unlock()
	var err error
	go func() {
		defer close(done)
		_, err = d.runs.Call(context.WithoutCancel(ctx), req, lang)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return d.runs.Result(ctx, req.RunID, req.CallID)
}

func (d *durable) Result(ctx context.Context, runID, callID string) (*tool.Result, error) {
	d.mu.Lock()
	done := d.going[callID]
	d.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return d.runs.Result(ctx, runID, callID)
}

// A client that says that it does not want a call any more ends this call, and nothing else; one that is merely gone ends nothing.
func TestCancelledRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version string
		connect func(*testing.T, *Surface, string, *sdk.ClientOptions) *sdk.ClientSession
		want    int
	}{
		"cancelled/legacy/http":  {legacy, connect, 1},
		"cancelled/legacy/stdio": {legacy, connectStdio, 1},
		"cancelled/modern/stdio": {modern, connectStdio, 1},
		"gone/modern/http":       {modern, connect, 0}, // without sessions, all that is seen is a connection that ends
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &durable{runs: newRuns()}
			begun, release := make(chan struct{}), make(chan struct{})
			service.do = func(_ context.Context, req tool.Request) *tool.Result {
				close(begun)
				<-release
				return verified(req, `{}`)
			}
			s := newSurface(t, service)
			cs := c.connect(t, s, c.version, nil)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "browser_click", Arguments: map[string]any{"target": map[string]any{"name": "Play"}}})
				done <- err
			}()
			<-begun
			cancel()
			if err := <-done; err == nil {
				t.Error("the request was answered")
			}
			end := time.Now().Add(5 * time.Second)
			if c.want == 0 {
				end = time.Now().Add(200 * time.Millisecond)
			}
			dropped := func() []string {
				service.mu.Lock()
				defer service.mu.Unlock()
				return service.dropped
			}
			for tick := time.NewTicker(5 * time.Millisecond); len(dropped()) < max(1, c.want) && time.Now().Before(end); {
				<-tick.C
			}
			close(release)
			if got := dropped(); len(got) != c.want || c.want == 1 && got[0] != fmt.Sprintf("%s/%s", service.calls[0].RunID, service.calls[0].CallID) {
				t.Errorf("ended %v", got)
			}
			if len(service.cancelled) != 0 {
				t.Error("a run was ended")
			}
		})
	}
}
