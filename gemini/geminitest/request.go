package geminitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Request is one request as the fake received it, decoded.
type Request struct {
	// N is the number of the request, from 1, in the order of arrival.
	N int
	// Operation is generateContent, streamGenerateContent, countTokens, list or get.
	Operation string
	// Version is the API version in the path: v1 or v1beta.
	Version string
	// Model is the model's name, without "models/".
	Model string
	// Header is the request's header. The API key is replaced by "[redacted]".
	Header http.Header
	// Raw is the body.
	Raw json.RawMessage
	// System is the system instruction's text.
	System string
	// Contents is the conversation.
	Contents []Content
	// Functions are the declared functions, in order.
	Functions []Function
	// ComputerUse reports that the computer-use tool is declared.
	ComputerUse bool
	// Mode is the mode of function calling: "", AUTO, ANY, NONE or VALIDATED.
	Mode string
	// AllowedFunctions restricts the functions that may be called; nil for all.
	AllowedFunctions []string
	// ResponseMIMEType is the format that is asked for, "" for text.
	ResponseMIMEType string
	// ResponseSchema is responseJsonSchema, or responseSchema where that is absent.
	ResponseSchema json.RawMessage
	// MaxOutputTokens is 0 when the request does not say.
	MaxOutputTokens int
	// ThinkingLevel is "" when the request does not say.
	ThinkingLevel string
	// Ignored lists what the real service accepts and ignores, as places and names: JSON Schema keywords that it does not know.
	Ignored []string
}

// Content is one message: role "user" or "model".
type Content struct {
	Role  string
	Parts []Part
}

// Part is one part of a message; one of Text, Call, Response and Image is set.
type Part struct {
	Text      string
	Call      *FunctionCall
	Response  *FunctionResponse
	Image     *Image
	Thought   bool
	Signature []byte
}

// FunctionCall is a call that the model made.
type FunctionCall struct {
	ID, Name string
	Args     json.RawMessage
}

// FunctionResponse is the answer to a call.
type FunctionResponse struct {
	ID, Name string
	Response json.RawMessage
}

// Image is a picture in a message.
type Image struct {
	MediaType string
	Data      []byte
}

// Function is a declared function.
type Function struct {
	Name, Description string
	// Parameters is parametersJsonSchema, or parameters where that is absent.
	Parameters json.RawMessage
}

// Function returns the declaration of that name, nil when there is none.
func (r *Request) Function(name string) *Function {
	for i := range r.Functions {
		if r.Functions[i].Name == name {
			return &r.Functions[i]
		}
	}
	return nil
}

// FunctionNames lists the declared functions in order.
func (r *Request) FunctionNames() []string {
	var names []string
	for _, f := range r.Functions {
		names = append(names, f.Name)
	}
	return names
}

// Text is all text of the conversation, the system instruction apart, one part a line.
func (r *Request) Text() string {
	var lines []string
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			if p.Text != "" {
				lines = append(lines, p.Text)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// Last is the last message of the conversation: what the model is to react to.
func (r *Request) Last() Content {
	if len(r.Contents) == 0 {
		return Content{}
	}
	return r.Contents[len(r.Contents)-1]
}

// Responses are the function responses of the last message, in order.
func (r *Request) Responses() []FunctionResponse {
	var out []FunctionResponse
	for _, p := range r.Last().Parts {
		if p.Response != nil {
			out = append(out, *p.Response)
		}
	}
	return out
}

// Images are all pictures of the conversation, in order.
func (r *Request) Images() []Image {
	var out []Image
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			if p.Image != nil {
				out = append(out, *p.Image)
			}
		}
	}
	return out
}

// fill sets the fields that the body gives.
func (r *Request) fill(w *wireRequest) {
	if w.SystemInstruction != nil {
		var lines []string
		for _, p := range w.SystemInstruction.Parts {
			if p.Text != nil {
				lines = append(lines, *p.Text)
			}
		}
		r.System = strings.Join(lines, "\n")
	}
	for _, c := range w.Contents {
		r.Contents = append(r.Contents, c.plain())
	}
	for _, t := range w.Tools {
		r.ComputerUse = r.ComputerUse || t.ComputerUse != nil
		for _, f := range t.FunctionDeclarations {
			fn := Function{Name: f.Name, Description: f.Description, Parameters: f.ParametersJSONSchema}
			if fn.Parameters == nil {
				fn.Parameters = f.Parameters
			}
			r.Functions = append(r.Functions, fn)
		}
	}
	if w.ToolConfig != nil && w.ToolConfig.FunctionCallingConfig != nil {
		c := w.ToolConfig.FunctionCallingConfig
		r.Mode, r.AllowedFunctions = c.Mode, slices.Clone(c.AllowedFunctionNames)
	}
	if g := w.GenerationConfig; g != nil {
		r.ResponseMIMEType, r.ResponseSchema = g.ResponseMIMEType, g.ResponseJSONSchema
		if r.ResponseSchema == nil {
			r.ResponseSchema = g.ResponseSchema
		}
		if g.MaxOutputTokens != nil {
			r.MaxOutputTokens = *g.MaxOutputTokens
		}
		if g.ThinkingConfig != nil {
			r.ThinkingLevel = g.ThinkingConfig.ThinkingLevel
		}
	}
	r.Ignored = ignored(w)
}

func (c wireContent) plain() Content {
	role := c.Role
	if role == "" {
		role = "user"
	}
	out := Content{Role: role}
	for _, p := range c.Parts {
		part := Part{Thought: p.Thought, Signature: p.ThoughtSignature}
		if p.Text != nil {
			part.Text = *p.Text
		}
		if f := p.FunctionCall; f != nil {
			part.Call = &FunctionCall{ID: f.ID, Name: f.Name, Args: f.Args}
		}
		if f := p.FunctionResponse; f != nil {
			part.Response = &FunctionResponse{ID: f.ID, Name: f.Name, Response: f.Response}
		}
		if b := p.InlineData; b != nil {
			part.Image = &Image{MediaType: b.MimeType, Data: b.Data}
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}
