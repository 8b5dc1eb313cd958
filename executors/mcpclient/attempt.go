package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// attempt is one call of a server's tool.
type attempt struct {
	e       *Executor
	call    *tool.Call
	payload *Payload
	name    string
	token   string
	session *sdk.ClientSession
	conn    *connection
	result  *Result
}

// Resolve reaches the server.
func (a *attempt) Resolve(ctx context.Context) (err error) {
	a.conn = a.e.connection(a.call.RunID)
	a.session, err = a.conn.get(ctx)
	return err
}

// Observe tells whether the server answered: nothing else of its world can be seen from here.
func (a *attempt) Observe(context.Context, tool.Needs) (*tool.Evidence, error) {
	values := map[string]any{}
	if a.result != nil {
		values["effect"] = map[string]any{"delivered": true, "proof": "the MCP server " + a.e.name + " answered"}
	}
	return &tool.Evidence{Values: values}, nil
}

// Dispatch calls the tool.
func (a *attempt) Dispatch(ctx context.Context) error {
	a.e.mu.Lock()
	a.e.calls[a.token] = a.call.ID
	a.e.mu.Unlock()
	defer func() {
		a.e.mu.Lock()
		delete(a.e.calls, a.token)
		a.e.mu.Unlock()
	}()
	params := &sdk.CallToolParams{Name: a.name, Arguments: a.payload.Arguments}
	params.SetProgressToken(a.token)
	res, err := a.session.CallTool(context.WithValue(ctx, callKey{}, a.call.ID), params)
	if err != nil {
		f := explain(ctx, a.e.name, a.name, err)
		if gone(err) {
			a.conn.lost(a.session)
		}
		return f
	}
	if res.IsError {
		return refused(a.e.name, a.name, textOf(res.Content))
	}
	a.result, err = a.e.resultOf(ctx, res)
	if err != nil {
		return &tool.Failed{Failure: tool.Internal, Dispatched: true, Cause: err, Message: fmt.Sprintf("What %s answered could not be kept: %s", a.name, err)}
	}
	if a.e.listed.Load().output[a.call.Spec.ID] && len(a.result.Structured) == 0 {
		return &tool.Failed{Failure: tool.MalformedResponse, Dispatched: true, What: a.e.name,
			Message: fmt.Sprintf("%s of the MCP server %s declares structured output and answered without it.", a.name, a.e.name)}
	}
	return nil
}

// Settle has nothing to wait for: the server has answered.
func (a *attempt) Settle(context.Context) (tool.Outcome, error) {
	out := tool.Outcome{Result: a.result, Effect: tool.EffectConfirmed, Proof: fmt.Sprintf("the MCP server %s answered", a.e.name)}
	if a.call.Spec.Effect == tool.ReadOnly {
		out.Effect = tool.EffectNone
	}
	return out, nil
}

// Rollback undoes nothing: no server says how.
func (a *attempt) Rollback(context.Context) (tool.Rollback, error) {
	return tool.Rollback{Refused: "an MCP server does not say how its tools can be undone"}, nil
}

// Close frees nothing: the connection stays with the run.
func (a *attempt) Close() error { return nil }

// Bounds of what a server answers.
const (
	maxText      = 512 << 10 // bytes of all texts together
	maxImages    = 10
	maxResources = 100
)

// resultOf reads a server's answer.
func (e *Executor) resultOf(ctx context.Context, res *sdk.CallToolResult) (*Result, error) {
	r := &Result{Text: clip(textOf(res.Content), maxText)}
	left := maxText - len(r.Text)
	if res.StructuredContent != nil {
		text, err := json.Marshal(res.StructuredContent)
		if err != nil {
			return nil, err
		}
		r.Structured = text
	}
	for _, c := range res.Content {
		switch x := c.(type) {
		case *sdk.ImageContent:
			if e.options.PutArtifact == nil || len(r.Images) == maxImages {
				continue
			}
			digest, err := e.options.PutArtifact(ctx, x.MIMEType, x.Data)
			if err != nil {
				return nil, err
			}
			r.Images = append(r.Images, digest)
		case *sdk.ResourceLink:
			if len(r.Resources) == maxResources {
				continue
			}
			r.Resources = append(r.Resources, Resource{URI: x.URI, Name: x.Name})
		case *sdk.EmbeddedResource:
			if x.Resource == nil || len(r.Resources) == maxResources {
				continue
			}
			text := clip(x.Resource.Text, max(0, left))
			left -= len(text)
			r.Resources = append(r.Resources, Resource{URI: x.Resource.URI, Text: text})
		}
	}
	return r, nil
}

func textOf(contents []sdk.Content) string {
	var texts []string
	for _, c := range contents {
		if t, ok := c.(*sdk.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}
