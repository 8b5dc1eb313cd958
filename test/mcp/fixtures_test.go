package mcptest

//lint:file-ignore SA1019 The official suite asks for sampling, roots and logging, which MCP 2026-07-28 deprecates.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/server/mcp"
)

// The conformance suite calls tools, prompts and resources of fixed names. They are added to a surface here, and served by the same
// handlers, sessions and middleware as the real ones.

// A picture of one red pixel, and a sound without samples.
var (
	pixel = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde\x00\x00\x00\x0cIDAT\x08\xd7c\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\x18\xdd\x8d\xb0\x00\x00\x00\x00IEND\xaeB`\x82")
	sound = []byte("RIFF&\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00")
)

func text(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{say(format, args...)}}
}

func say(format string, args ...any) *sdk.TextContent {
	return &sdk.TextContent{Text: fmt.Sprintf(format, args...)}
}

func user(c sdk.Content) *sdk.PromptMessage { return &sdk.PromptMessage{Role: "user", Content: c} }

func schema(s string) json.RawMessage { return json.RawMessage(s) }

var noArguments = schema(`{"type":"object"}`)

func addFixtures(server *sdk.Server, surface *mcp.Surface) {
	addContents(server)
	addSessions(server)
	addRounds(server, surface)
	addResources(server)
	addPrompts(server)
}

func add(server *sdk.Server, name string, in json.RawMessage, h sdk.ToolHandler) {
	server.AddTool(&sdk.Tool{Name: name, Description: "A fixture of the conformance suite", InputSchema: in}, h)
}

func addContents(server *sdk.Server) {
	embedded := func(uri string) *sdk.EmbeddedResource {
		return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "A resource inside of a result."}}
	}
	image := &sdk.ImageContent{Data: pixel, MIMEType: "image/png"}
	for name, contents := range map[string][]sdk.Content{
		"test_simple_text":            {say("This is a simple text response for testing.")},
		"test_image_content":          {image},
		"test_audio_content":          {&sdk.AudioContent{Data: sound, MIMEType: "audio/wav"}},
		"test_embedded_resource":      {embedded("test://embedded-resource")},
		"test_multiple_content_types": {say("Several kinds of content:"), image, embedded("test://mixed-content-resource")},
		"test_streaming_elicitation":  {say("Nothing but this result is on the stream.")},
	} {
		add(server, name, noArguments, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: contents}, nil
		})
	}
	add(server, "test_error_handling", noArguments, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res := &sdk.CallToolResult{}
		res.SetError(errors.New("This tool intentionally returns an error for testing"))
		return res, nil
	})
	add(server, "json_schema_2020_12_tool", schema(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`), func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text("called with %s", r.Params.Arguments), nil
	})
	add(server, "test_x_mcp_header", schema(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`),
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text("called with %s", r.Params.Arguments), nil
		})
}

func addSessions(server *sdk.Server) {
	logOnce := func(ctx context.Context, r *sdk.CallToolRequest, what string) error {
		return r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: what})
	}
	add(server, "test_tool_with_logging", noArguments, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for _, what := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := logOnce(ctx, r, what); err != nil {
				return nil, err
			}
		}
		return text("logged"), nil
	})
	add(server, "test_logging_tool", noArguments, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text("logged where that was asked for"), logOnce(ctx, r, "a message")
	})
	add(server, "test_tool_with_progress", noArguments, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		token := r.Params.GetProgressToken()
		for _, p := range []float64{0, 50, 100} {
			if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: p, Total: 100}); err != nil {
				return nil, err
			}
		}
		return text("%v", token), nil
	})
	add(server, "test_sampling", schema(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in struct{ Prompt string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		got, err := r.Session.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: say("%s", in.Prompt)}}})
		if err != nil {
			return nil, err
		}
		said, _ := got.Content.(*sdk.TextContent)
		return text("LLM response: %s", said.Text), nil
	})
	elicits := func(name, properties string, message func(json.RawMessage) string) {
		add(server, name, schema(`{"type":"object","properties":{"message":{"type":"string"}}}`), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			got, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: message(r.Params.Arguments), RequestedSchema: schema(properties)})
			if err != nil {
				return nil, err
			}
			content, err := json.Marshal(got.Content)
			return text("User response: action=%s, content=%s", got.Action, content), err
		})
	}
	elicits("test_elicitation", `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`,
		func(args json.RawMessage) string {
			var in struct{ Message string }
			_ = json.Unmarshal(args, &in) // an empty question is a question, too
			return in.Message
		})
	plain := func(s string) func(json.RawMessage) string { return func(json.RawMessage) string { return s } }
	elicits("test_elicitation_sep1034_defaults", `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`, plain("Fields with defaults"))
	elicits("test_elicitation_sep1330_enums", `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`, plain("Kinds of choices"))
	add(server, "test_reconnection", noArguments, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if r.Extra != nil && r.Extra.CloseSSEStream != nil {
			r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		select { // the client comes back meanwhile
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
		return text("The result came after the stream had been closed."), nil
	})
	add(server, "test_missing_capability", noArguments, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if caps := r.ClientCapabilities(); caps != nil && caps.Sampling != nil {
			return text("The client has what is needed."), nil
		}
		data, err := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "needs sampling", Data: data}
	})
	add(server, "test_trigger_tool_change", noArguments, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add(server, "transient_tool", noArguments, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text(""), nil })
		return text("changed"), nil
	})
	add(server, "test_trigger_prompt_change", noArguments, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		server.AddPrompt(&sdk.Prompt{Name: "transient_prompt", Description: "A fixture"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{}, nil
		})
		return text("changed"), nil
	})
}

// asks is one input request of a fixture.
func elicit(message, properties string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: schema(properties)}
}

var (
	askName  = elicit("What is your name?", `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	askOK    = elicit("Please confirm", `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)
	askModel = &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: "What is the capital of France?"}}}}
	askRoots = &sdk.ListRootsParams{}
)

func accepted(rs sdk.InputResponseMap, key, field string) (string, bool) {
	e, ok := rs[key].(*sdk.ElicitResult)
	if !ok || e.Action != "accept" || e.Content == nil {
		return "", false
	}
	v, ok := e.Content[field]
	return fmt.Sprint(v), ok
}

func sampled(rs sdk.InputResponseMap, key string) (string, bool) {
	m, ok := rs[key].(*sdk.CreateMessageWithToolsResult)
	if !ok || len(m.Content) == 0 {
		return "", false
	}
	t, ok := m.Content[0].(*sdk.TextContent)
	if !ok {
		return "", false
	}
	return t.Text, true
}

func need(state string, asks sdk.InputRequestMap) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{InputRequests: asks, RequestState: state}, nil
}

func addRounds(server *sdk.Server, surface *mcp.Surface) {
	round := func(name string, h func(r *sdk.CallToolRequest, in sdk.InputResponseMap) (*sdk.CallToolResult, error)) {
		add(server, "test_input_required_result_"+name, noArguments, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return h(r, r.Params.InputResponses)
		})
	}
	round("elicitation", func(_ *sdk.CallToolRequest, in sdk.InputResponseMap) (*sdk.CallToolResult, error) {
		if name, ok := accepted(in, "user_name", "name"); ok {
			return text("Hello, %s!", name), nil
		}
		return need("", sdk.InputRequestMap{"user_name": askName})
	})
	round("sampling", func(_ *sdk.CallToolRequest, in sdk.InputResponseMap) (*sdk.CallToolResult, error) {
		if said, ok := sampled(in, "capital_question"); ok {
			return text("The model said: %s", said), nil
		}
		return need("", sdk.InputRequestMap{"capital_question": askModel})
	})
	round("list_roots", func(_ *sdk.CallToolRequest, in sdk.InputResponseMap) (*sdk.CallToolResult, error) {
		if roots, ok := in["client_roots"].(*sdk.ListRootsResult); ok {
			return text("%d roots", len(roots.Roots)), nil
		}
		return need("", sdk.InputRequestMap{"client_roots": askRoots})
	})
	for _, name := range []string{"request_state", "tampered_state"} {
		round(name, func(r *sdk.CallToolRequest, in sdk.InputResponseMap) (*sdk.CallToolResult, error) {
			if r.Params.RequestState == "" {
				state, err := surface.Seal(name, "asked")
				if err != nil {
					return nil, err
				}
				return need(state, sdk.InputRequestMap{"confirm": askOK})
			}
			if _, err := surface.Open(name, r.Params.RequestState); err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
			}
			if _, ok := accepted(in, "confirm", "ok"); ok {
				return text("state-ok"), nil
			}
			return need(r.Params.RequestState, sdk.InputRequestMap{"confirm": askOK})
		})
	}
	round("multiple_inputs", func(_ *sdk.CallToolRequest, in sdk.InputResponseMap) (*sdk.CallToolResult, error) {
		name, ok1 := accepted(in, "user_name", "name")
		said, ok2 := sampled(in, "greeting")
		roots, ok3 := in["client_roots"].(*sdk.ListRootsResult)
		if ok1 && ok2 && ok3 {
			return text("%s, %s, %d roots", said, name, len(roots.Roots)), nil
		}
		state, err := surface.Seal("multiple", "asked")
		if err != nil {
			return nil, err
		}
		return need(state, sdk.InputRequestMap{"user_name": askName, "greeting": askModel, "client_roots": askRoots})
	})
	round("multi_round", func(r *sdk.CallToolRequest, in sdk.InputResponseMap) (*sdk.CallToolResult, error) {
		if r.Params.RequestState == "" {
			state, err := surface.Seal("round", "1")
			if err != nil {
				return nil, err
			}
			return need(state, sdk.InputRequestMap{"step1": askName})
		}
		at, err := surface.Open("round", r.Params.RequestState)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		if at == "1" {
			name, _ := accepted(in, "step1", "name")
			state, err := surface.Seal("round", "2 "+name)
			if err != nil {
				return nil, err
			}
			return need(state, sdk.InputRequestMap{"step2": elicit("What is your favourite colour?", `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`)})
		}
		color, _ := accepted(in, "step2", "color")
		return text("%s likes %s", strings.TrimPrefix(at, "2 "), color), nil
	})
	round("capabilities", func(r *sdk.CallToolRequest, in sdk.InputResponseMap) (*sdk.CallToolResult, error) {
		asks, caps := sdk.InputRequestMap{}, r.ClientCapabilities()
		if caps != nil && caps.Elicitation != nil {
			asks["user_name"] = askName
		}
		if caps != nil && caps.Sampling != nil {
			asks["greeting"] = askModel
		}
		if caps != nil && caps.RootsV2 != nil {
			asks["client_roots"] = askRoots
		}
		if len(in) > 0 || len(asks) == 0 {
			return text("done"), nil
		}
		return need("", asks)
	})
}

func addResources(server *sdk.Server) {
	read := func(c sdk.ResourceContents) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			x := c
			x.URI = r.Params.URI
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&x}}, nil
		}
	}
	for uri, c := range map[string]sdk.ResourceContents{
		"test://static-text":      {MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		"test://static-binary":    {MIMEType: "image/png", Blob: pixel},
		"test://watched-resource": {MIMEType: "text/plain", Text: "It may change."},
	} {
		server.AddResource(&sdk.Resource{URI: uri, Name: strings.TrimPrefix(uri, "test://"), MIMEType: c.MIMEType, Description: "A fixture"}, read(c))
	}
	server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			u, err := url.Parse(r.Params.URI)
			if err != nil {
				return nil, err
			}
			id := strings.TrimSuffix(strings.TrimPrefix(u.Path, "/"), "/data")
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}}}, nil
		})
}

func addPrompts(server *sdk.Server) {
	get := func(name string, args []*sdk.PromptArgument, messages func(map[string]string) []*sdk.PromptMessage) {
		server.AddPrompt(&sdk.Prompt{Name: name, Description: "A fixture", Arguments: args}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: messages(r.Params.Arguments)}, nil
		})
	}
	get("test_simple_prompt", nil, func(map[string]string) []*sdk.PromptMessage {
		return []*sdk.PromptMessage{user(say("This is a simple prompt for testing."))}
	})
	get("test_prompt_with_arguments", []*sdk.PromptArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}}, func(a map[string]string) []*sdk.PromptMessage {
		return []*sdk.PromptMessage{user(say("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	})
	get("test_prompt_with_embedded_resource", []*sdk.PromptArgument{{Name: "resourceUri", Required: true}}, func(a map[string]string) []*sdk.PromptMessage {
		return []*sdk.PromptMessage{user(&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "Embedded"}}), user(say("Please process it."))}
	})
	get("test_prompt_with_image", nil, func(map[string]string) []*sdk.PromptMessage {
		return []*sdk.PromptMessage{user(&sdk.ImageContent{Data: pixel, MIMEType: "image/png"}), user(say("Please look at it."))}
	})
	server.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "A fixture"}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if about, ok := accepted(r.Params.InputResponses, "user_context", "context"); ok {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{user(say("Context: %s", about))}}, nil
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": elicit("What is it about?", `{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`)}}, nil
	})
}
