package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/executors/mcpclient"
	"toolsvc/tool"
)

// runTools are the names of the tools that this surface has by itself, so that a client without elicitation or tasks can go on with a run
// that waits.
var runTools = map[string]bool{"run_get": true, "run_answer": true, "run_approve": true, "run_cancel": true}

const runArg = `"run":{"type":"string","minLength":1,"maxLength":200,"description":"The run, as a result names it (r_…)"}`

// addRunTools adds the tools that reach runs.
func (s *Surface) addRunTools() {
	no, yes := false, true
	read := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
	s.addRunTool("get", "Look at a run", "Read a run: its steps, results, verdicts, and the questions that wait for an answer. Leave run out for the current one.",
		`{"type":"object","properties":{`+runArg+`,"call":{"type":"string","maxLength":200,"description":"Only the result of this call (c_…)"}},"additionalProperties":false}`,
		`{}`, read, s.runGet)
	s.addRunTool("answer", "Answer a question", "Answer the question that a call waits for (status needs_input). An answer that does not fit is named with its issues, and the question stays open. Returns the call's result, or its next question.",
		`{"type":"object","properties":{`+runArg+`,"question":{"type":"string","minLength":1,"maxLength":200,"description":"The question (q_…)"},"answer":{"type":"object","description":"What was asked for; it is merged into the arguments of the call"}},"required":["run","question","answer"],"additionalProperties":false}`,
		`{"run":"r_…","question":"q_…","answer":{"target":{"name":"Play"}}}`, &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no}, s.runAnswer)
	s.addRunTool("approve", "Approve or refuse", "Decide about a call that waits for an approval, after asking the user. The digest binds the decision to the exact arguments.",
		`{"type":"object","properties":{`+runArg+`,"approval":{"type":"string","minLength":1,"maxLength":200,"description":"The approval (a_…)"},"digest":{"type":"string","minLength":1,"maxLength":200,"description":"The digest of the arguments, as the question names it"},"approve":{"type":"boolean","description":"true to make the call, false to refuse it"}},"required":["run","approval","digest","approve"],"additionalProperties":false}`,
		`{"run":"r_…","approval":"a_…","digest":"sha256:…","approve":true}`, &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no}, s.runApprove)
	s.addRunTool("cancel", "Cancel a run", "End a run. Calls that wait are not made; what was done stays done. The next call starts another run.",
		`{"type":"object","properties":{`+runArg+`},"required":["run"],"additionalProperties":false}`,
		`{"run":"r_…"}`, &sdk.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no}, s.runCancel)
}

// runRequest holds the arguments of all of these tools.
type runRequest struct {
	Run      string          `json:"run"`
	Call     string          `json:"call"`
	Question string          `json:"question"`
	Answer   json.RawMessage `json:"answer"`
	Approval string          `json:"approval"`
	Digest   string          `json:"digest"`
	Approve  bool            `json:"approve"`
}

type runHandler func(ctx context.Context, c client, r *sdk.CallToolRequest, in runRequest) (*sdk.CallToolResult, error)

func (s *Surface) addRunTool(name, title, description, schema, example string, a *sdk.ToolAnnotations, handle runHandler) {
	id := tool.ID("run." + name)
	strict, err := mcpclient.NewSchema(json.RawMessage(schema), "payload")
	if err != nil {
		panic(fmt.Sprintf("mcp: schema of %s: %v", id, err)) // a constant above
	}
	spec := &tool.Spec{ID: id, Title: title, PayloadSchema: json.RawMessage(schema), Example: json.RawMessage(example)}
	a.Title = title
	s.server.AddTool(&sdk.Tool{Name: Name(id), Title: title, Description: description, InputSchema: advertised(spec.PayloadSchema, false), Annotations: a, Icons: icons("run")},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			c := s.clientOf(r)
			args := r.Params.Arguments
			if len(args) == 0 {
				args = json.RawMessage(`{}`)
			}
			var in runRequest
			_, issues := strict.Decode(args)
			if issues == nil {
				if err := json.Unmarshal(args, &in); err != nil {
					issues = tool.Issues{{Constraint: tool.ConstraintSyntax, Message: "The payload cannot be read: " + err.Error() + "."}}
				}
			}
			if issues != nil {
				return s.render(ctx, c, invalid(spec, issues, args)), nil
			}
			in.Run = s.runOf(c, in.Run)
			return handle(ctx, c, r, in)
		})
}

// invalid is the result of a call whose payload does not validate.
func invalid(spec *tool.Spec, issues tool.Issues, args json.RawMessage) *tool.Result {
	hint := tool.HintArguments(spec, issues, args)
	code := tool.InvalidArguments
	if hint.Reason() == tool.ReasonMissingFields {
		code = tool.MissingFields
	}
	return &tool.Result{CallID: tool.NewCallID(), Tool: spec.ID, RetryHint: hint, Error: &tool.Error{Code: code, Message: hint.Fields().Message, Cause: tool.ErrorFrom(issues)}}
}

func (s *Surface) runGet(ctx context.Context, c client, _ *sdk.CallToolRequest, in runRequest) (*sdk.CallToolResult, error) {
	if in.Run == "" {
		in.Run = s.runs.of(c.key)
	}
	if in.Call != "" {
		res, err := s.o.Service.Result(ctx, in.Run, in.Call)
		if res, err = s.resultOf(ctx, tool.Request{CallID: in.Call, RunID: in.Run, Tool: "run.get"}, res, err); err != nil {
			return nil, err
		}
		return s.render(ctx, c, res), nil
	}
	st, err := s.o.Service.State(ctx, in.Run)
	if err != nil {
		return s.failed(ctx, c, in.Run, "run.get", err)
	}
	structured, err := json.Marshal(st)
	if err != nil {
		return nil, fmt.Errorf("encode the state of run %s: %w", in.Run, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Run %s: %s, %d steps.\n", st.RunID, st.Outcome, len(st.Steps))
	for i, step := range st.Steps {
		fmt.Fprintf(&b, "%d. %s: %s (call %s)\n", i+1, step.Title, step.Status, step.CallID)
		if r := step.Result; r != nil && r.Error != nil {
			fmt.Fprintf(&b, "   %s: %s\n", r.Error.Code, r.Error.Message)
		}
	}
	for i := range st.Questions {
		sayQuestion(func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }, &st.Questions[i])
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.TrimSpace(b.String())}}, StructuredContent: json.RawMessage(structured)}, nil
}

func (s *Surface) runAnswer(ctx context.Context, c client, r *sdk.CallToolRequest, in runRequest) (*sdk.CallToolResult, error) {
	res, err := s.o.Service.Answer(ctx, in.Run, in.Question, in.Answer, c.by())
	if err != nil {
		return s.failed(ctx, c, in.Run, "run.answer", err)
	}
	return s.settle(ctx, c, r, res)
}

func (s *Surface) runApprove(ctx context.Context, c client, r *sdk.CallToolRequest, in runRequest) (*sdk.CallToolResult, error) {
	res, err := s.o.Service.Approve(ctx, in.Run, in.Approval, in.Approve, in.Digest, c.by())
	if err != nil {
		return s.failed(ctx, c, in.Run, "run.approve", err)
	}
	return s.settle(ctx, c, r, res)
}

func (s *Surface) runCancel(ctx context.Context, c client, _ *sdk.CallToolRequest, in runRequest) (*sdk.CallToolResult, error) {
	if err := s.o.Service.Cancel(ctx, in.Run); err != nil {
		return s.failed(ctx, c, in.Run, "run.cancel", err)
	}
	structured := json.RawMessage(fmt.Sprintf(`{"run_id":%s,"cancelled":true}`, quote(in.Run)))
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "The run " + in.Run + " is being ended."}}, StructuredContent: structured}, nil
}

// failed is the result of a request about a run that could not be carried out. Nothing was changed.
func (s *Surface) failed(ctx context.Context, c client, run string, id tool.ID, err error) (*sdk.CallToolResult, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	res := s.refused(tool.Request{CallID: tool.NewCallID(), RunID: run, Tool: id}, err)
	return s.render(ctx, c, res), nil
}
