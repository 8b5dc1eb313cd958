package geminitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // what the service accepts and the standard library can read
	_ "image/png"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// maxBody bounds a request, as the service does for requests with inline data.
const maxBody = 20 << 20

// refusal is a request that the service would not accept.
type refusal struct {
	code    int
	status  string
	message string
	details []any
}

func badRequest(format string, args ...any) *refusal {
	return &refusal{code: http.StatusBadRequest, status: "INVALID_ARGUMENT", message: fmt.Sprintf(format, args...)}
}

// decode reads a body strictly: broken JSON and unknown fields are refused, as the service does.
func decode(body []byte) (*wireRequest, *refusal) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var w wireRequest
	if err := d.Decode(&w); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return nil, badRequest("Invalid JSON payload received. Unknown name %s: Cannot find field.", name)
		}
		return nil, badRequest("Invalid JSON payload received. %s", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, badRequest("Invalid JSON payload received. Expected end of input.")
	}
	return &w, nil
}

// check refuses what the service refuses. issued are signatures that scripts gave out in their own bytes.
func check(model string, w *wireRequest, issued func([]byte) bool) *refusal {
	for _, c := range []func() *refusal{
		func() *refusal { return checkContents(w) },
		func() *refusal { return checkTurns(w.Contents) },
		func() *refusal { return checkSignatures(model, w.Contents, issued) },
		func() *refusal { return checkTools(w) },
		func() *refusal { return checkGeneration(model, w) },
	} {
		if r := c(); r != nil {
			return r
		}
	}
	return nil
}

// checkContents looks at each message by itself.
func checkContents(w *wireRequest) *refusal {
	if len(w.Contents) == 0 {
		return badRequest("* GenerateContentRequest.contents: contents is not specified")
	}
	if s := w.SystemInstruction; s != nil {
		if slices.ContainsFunc(s.Parts, func(p wirePart) bool { return p.Text == nil }) {
			return badRequest("System instruction may only hold text.")
		}
	}
	for i, c := range w.Contents {
		if c.Role != "" && c.Role != "user" && c.Role != "model" {
			return badRequest("Please use a valid role: user, model.")
		}
		if len(c.Parts) == 0 {
			return badRequest("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
		}
		for j, p := range c.Parts {
			if n := p.datas(); n != 1 {
				return badRequest("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field", i, j)
			}
			if b := p.InlineData; b != nil {
				if r := checkImage(b); r != nil {
					return r
				}
			}
			if f := p.FunctionCall; f != nil && f.Args != nil && !isObject(f.Args) {
				return badRequest("* GenerateContentRequest.contents[%d].parts[%d].function_call.args: must be an object", i, j)
			}
			if f := p.FunctionResponse; f != nil && (f.Name == "" || !isObject(f.Response)) {
				return badRequest("* GenerateContentRequest.contents[%d].parts[%d].function_response: needs a name, and a response that is an object", i, j)
			}
		}
	}
	return nil
}

// datas counts the kinds of data in a part; exactly one is legal.
func (p wirePart) datas() int {
	n := 0
	for _, has := range []bool{p.Text != nil, p.InlineData != nil, p.FileData != nil, p.FunctionCall != nil, p.FunctionResponse != nil} {
		if has {
			n++
		}
	}
	return n
}

func checkImage(b *wireBlob) *refusal {
	if !strings.HasPrefix(b.MimeType, "image/") {
		return nil // documents and audio are passed on unseen
	}
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}, b.MimeType) {
		return badRequest("Unsupported MIME type: %s", b.MimeType)
	}
	if b.MimeType == "image/png" || b.MimeType == "image/jpeg" {
		if _, format, err := image.DecodeConfig(bytes.NewReader(b.Data)); err != nil || "image/"+format != b.MimeType {
			return badRequest("Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting")
		}
	}
	return nil
}

// checkTurns looks at the order of messages: roles alternate, a function call is answered at once, by as many responses, of the same
// names and ids.
func checkTurns(cs []wireContent) *refusal {
	role := func(c wireContent) string {
		if c.Role == "" {
			return "user"
		}
		return c.Role
	}
	for i, c := range cs {
		calls, responses := c.calls(), c.responses()
		if role(c) == "user" && len(calls) > 0 {
			return badRequest("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		if role(c) == "model" && len(responses) > 0 {
			return badRequest("Please ensure that function response turn comes immediately after a function call turn.")
		}
		if i == 0 {
			if role(c) == "model" && len(calls) > 0 {
				return badRequest("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
			}
			if len(responses) > 0 {
				return badRequest("Please ensure that function response turn comes immediately after a function call turn.")
			}
			continue
		}
		before := cs[i-1]
		if role(before) == role(c) {
			return badRequest("Please ensure that multiturn requests alternate between user and model.")
		}
		if len(responses) > 0 && len(before.calls()) == 0 {
			return badRequest("Please ensure that function response turn comes immediately after a function call turn.")
		}
		if asked := before.calls(); len(asked) > 0 {
			if len(responses) != len(asked) {
				return badRequest("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
			}
			if r := checkAnswers(asked, responses); r != nil {
				return r
			}
		}
	}
	last := cs[len(cs)-1]
	if role(last) != "user" {
		return badRequest("Please ensure that multiturn requests end with a user turn or a function response.")
	}
	return nil
}

// checkAnswers pairs responses with calls: by id where the call has one, otherwise in order of place, and by name.
func checkAnswers(calls []wireCall, responses []wireCallResponse) *refusal {
	for i, c := range calls {
		r := responses[i]
		if c.ID != "" {
			j := slices.IndexFunc(responses, func(r wireCallResponse) bool { return r.ID == c.ID })
			if j < 0 {
				return badRequest("Function call %q has no function response with its id %q.", c.Name, c.ID)
			}
			r = responses[j]
		}
		if r.Name != c.Name {
			return badRequest("Function response %q does not carry the name of its function call %q.", r.Name, c.Name)
		}
	}
	return nil
}

func (c wireContent) calls() []wireCall {
	var out []wireCall
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			out = append(out, *p.FunctionCall)
		}
	}
	return out
}

func (c wireContent) responses() []wireCallResponse {
	var out []wireCallResponse
	for _, p := range c.Parts {
		if p.FunctionResponse != nil {
			out = append(out, *p.FunctionResponse)
		}
	}
	return out
}

// checkSignatures asks for the signature of the first function call of each step in the current turn, which begins with the last message
// of the user that is no function response. Models before Gemini 3 do not demand one. A signature that is there must be one that was
// given out for that function, whatever the model.
func checkSignatures(model string, cs []wireContent, issued func([]byte) bool) *refusal {
	current := 0
	for i, c := range cs {
		if c.Role != "model" && len(c.responses()) == 0 {
			current = i
		}
	}
	for i, c := range cs {
		first := true
		for j, p := range c.Parts {
			f := p.FunctionCall
			if f == nil {
				continue
			}
			switch {
			case len(p.ThoughtSignature) > 0 && !signed(p.ThoughtSignature, f.Name) && !issued(p.ThoughtSignature):
				return badRequest("Corrupted thought signature.")
			case first && len(p.ThoughtSignature) == 0 && i > current && demandsSignatures(model):
				return badRequest("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s`, position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", f.Name, i+j+1)
			}
			first = false
		}
	}
	return nil
}

// demandsSignatures: Gemini 3 and later refuse a function call without its signature.
func demandsSignatures(model string) bool {
	return !strings.HasPrefix(model, "gemini-1") && !strings.HasPrefix(model, "gemini-2")
}

var functionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$`)

func checkTools(w *wireRequest) *refusal {
	var names []string
	for i, t := range w.Tools {
		for j, f := range t.FunctionDeclarations {
			at := fmt.Sprintf("GenerateContentRequest.tools[%d].function_declarations[%d]", i, j)
			if !functionName.MatchString(f.Name) {
				return badRequest("* %s.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.", at)
			}
			if slices.Contains(names, f.Name) {
				return badRequest("Duplicate function declaration found: %s", f.Name)
			}
			names = append(names, f.Name)
			if f.Parameters != nil && f.ParametersJSONSchema != nil {
				return badRequest("* %s: only one of parameters and parameters_json_schema may be set.", at)
			}
			if s := f.ParametersJSONSchema; s != nil {
				var root struct{ Type string }
				if json.Unmarshal(s, &root) != nil || root.Type != "object" {
					return badRequest("* %s.parameters_json_schema: must describe an object", at)
				}
			}
		}
	}
	if w.ToolConfig == nil || w.ToolConfig.FunctionCallingConfig == nil {
		return nil
	}
	c := w.ToolConfig.FunctionCallingConfig
	if !slices.Contains([]string{"", "MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"}, c.Mode) {
		return badRequest("Invalid value at 'tool_config.function_calling_config.mode': %q", c.Mode)
	}
	if len(c.AllowedFunctionNames) > 0 && c.Mode != "ANY" && c.Mode != "VALIDATED" {
		return badRequest("Function calling config is set with allowed_function_names, which is only supported when the mode is ANY or VALIDATED.")
	}
	for _, n := range c.AllowedFunctionNames {
		if !slices.Contains(names, n) {
			return badRequest("Function calling config's allowed_function_names holds %q, which is not declared.", n)
		}
	}
	return nil
}

func checkGeneration(model string, w *wireRequest) *refusal {
	g := w.GenerationConfig
	if g == nil {
		return nil
	}
	if g.ResponseSchema != nil && g.ResponseJSONSchema != nil {
		return badRequest("* GenerateContentRequest.generation_config: only one of response_schema and response_json_schema may be set.")
	}
	if (g.ResponseSchema != nil || g.ResponseJSONSchema != nil) && g.ResponseMIMEType != "application/json" && g.ResponseMIMEType != "text/x.enum" {
		return badRequest("* GenerateContentRequest.generation_config.response_json_schema: a response schema needs the response_mime_type 'application/json'")
	}
	if !slices.Contains([]string{"", "text/plain", "application/json", "text/x.enum"}, g.ResponseMIMEType) {
		return badRequest("* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are `text/plain`, `application/json`, `text/x.enum`")
	}
	if g.ResponseMIMEType == "application/json" && len(w.Tools) > 0 && !demandsSignatures(model) {
		return badRequest("Function calling with a response mime type: 'application/json' is unsupported")
	}
	if g.MaxOutputTokens != nil && *g.MaxOutputTokens < 1 {
		return badRequest("* GenerateContentRequest.generation_config.max_output_tokens: must be a positive integer.")
	}
	if t := g.ThinkingConfig; t != nil {
		if t.ThinkingLevel != "" && !demandsSignatures(model) {
			return badRequest("Thinking level is not supported for this model.")
		}
		if t.ThinkingLevel != "" && t.ThinkingBudget != nil {
			return badRequest("You can only set only one of thinking budget and thinking level.")
		}
	}
	return nil
}

func isObject(b json.RawMessage) bool {
	return json.Valid(b) && bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{"))
}
