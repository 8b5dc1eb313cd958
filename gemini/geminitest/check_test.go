package geminitest_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genai"

	"toolsvc/gemini/geminitest"
)

// Each request breaks one rule of the service, and is refused with 400 in its format; the same without the fault is accepted.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const (
		user  = `{"role":"user","parts":[{"text":"go"}]}`
		old   = `{"contents":[` + user + `,{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}}},{"functionCall":{"id":"2","name":"g"}}]},{"role":"user","parts":[%s]}]}`
		resp1 = `{"functionResponse":{"id":"1","name":"f","response":{}}}`
		resp2 = `{"functionResponse":{"id":"2","name":"g","response":{"a":1}}}`
	)
	answered := func(parts string) string { return strings.Replace(old, "%s", parts, 1) }
	function := func(f string) string {
		return `{"contents":[` + user + `],"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}},` + f + `]}]}`
	}
	image := func(mime, data string) string {
		return `{"contents":[{"parts":[{"inlineData":{"mimeType":"` + mime + `","data":"` + data + `"}}]}]}`
	}
	png := base64.StdEncoding.EncodeToString(picture(t))
	for _, c := range []struct {
		name, model, body, want string // want "" is accepted
	}{
		{"accepted", model, `{"contents":[` + user + `]}`, ""},
		{"broken JSON", model, `{"contents":[`, "Invalid JSON payload"},
		{"two documents", model, `{"contents":[` + user + `]} {}`, "Expected end of input"},
		{"unknown field", model, `{"contents":[` + user + `],"temperature":1}`, `Unknown name "temperature"`},
		{"no contents", model, `{}`, "contents is not specified"},
		{"unknown role", model, `{"contents":[{"role":"assistant","parts":[{"text":"x"}]}]}`, "valid role"},
		{"no parts", model, `{"contents":[{"role":"user","parts":[]}]}`, "must not be empty"},
		{"part without data", model, `{"contents":[{"role":"user","parts":[{"thoughtSignature":"AAAA"}]}]}`, "oneof field 'data'"},
		{"two users", model, `{"contents":[` + user + `,` + user + `]}`, "alternate"},
		{"ends with the model", model, `{"contents":[` + user + `,{"role":"model","parts":[{"text":"x"}]}]}`, "end with a user turn"},
		{"starts with a call", model, `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[` + resp1 + `]}]}`, "function call turn comes immediately after"},
		{"response without call", model, `{"contents":[{"role":"user","parts":[` + resp1 + `]}]}`, "function response turn comes immediately after"},
		{"both answered", "gemini-2.5-flash", answered(resp1 + "," + resp2), ""},
		{"answered in another order", "gemini-2.5-flash", answered(resp2 + "," + resp1), ""},
		{"one answered", "gemini-2.5-flash", answered(resp1), "number of function response parts"},
		{"none answered", "gemini-2.5-flash", answered(`{"text":"well?"}`), "number of function response parts"},
		{"wrong id", "gemini-2.5-flash", answered(resp1 + "," + strings.Replace(resp2, `"2"`, `"3"`, 1)), `its id "2"`},
		{"wrong name", "gemini-2.5-flash", answered(resp1 + "," + strings.Replace(resp2, `"g"`, `"h"`, 1)), `the name of its function call "g"`},
		{"response is no object", "gemini-2.5-flash", answered(resp1 + `,{"functionResponse":{"id":"2","name":"g","response":[]}}`), "a response that is an object"},
		{"signature missing", model, answered(resp1 + "," + resp2), "missing a thought_signature"},
		{"signature of an earlier turn is not demanded", model, strings.TrimSuffix(answered(resp1+","+resp2), "]}") + `,{"role":"model","parts":[{"text":"done"}]},` + user + `]}`, ""},
		{"signature invented", model, strings.Replace(answered(resp1+","+resp2), `}},{"functionCall":{"id":"2"`, `},"thoughtSignature":"AAAA"},{"functionCall":{"id":"2"`, 1), "Corrupted thought signature"},
		{"one more function", model, function(`{"name":"g"}`), ""},
		{"function twice", model, function(`{"name":"f"}`), "Duplicate function declaration"},
		{"function's name", model, function(`{"name":"2 f"}`), "Invalid function name"},
		{"two schemas of a function", model, function(`{"name":"g","parameters":{"type":"OBJECT"},"parametersJsonSchema":{"type":"object"}}`), "only one of parameters"},
		{"parameters are no object", model, function(`{"name":"g","parametersJsonSchema":{"type":"array"}}`), "must describe an object"},
		{"allowed names without ANY", model, `{"contents":[` + user + `],"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["f"]}}}`, "mode is ANY"},
		{"allowed name unknown", model, `{"contents":[` + user + `],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}}}`, "not declared"},
		{"mode unknown", model, `{"contents":[` + user + `],"toolConfig":{"functionCallingConfig":{"mode":"SOME"}}}`, "mode"},
		{"schema without MIME type", model, `{"contents":[` + user + `],"generationConfig":{"responseJsonSchema":{"type":"object"}}}`, "response_mime_type"},
		{"two response schemas", model, `{"contents":[` + user + `],"generationConfig":{"responseMimeType":"application/json","responseSchema":{},"responseJsonSchema":{}}}`, "only one of response_schema"},
		{"MIME type unknown", model, `{"contents":[` + user + `],"generationConfig":{"responseMimeType":"text/html"}}`, "allowed mimetypes"},
		{"JSON with functions before Gemini 3", "gemini-2.5-flash", strings.TrimSuffix(function(`{"name":"g"}`), "}") + `,"generationConfig":{"responseMimeType":"application/json"}}`, "is unsupported"},
		{"JSON with functions since Gemini 3", model, strings.TrimSuffix(function(`{"name":"g"}`), "}") + `,"generationConfig":{"responseMimeType":"application/json"}}`, ""},
		{"no tokens", model, `{"contents":[` + user + `],"generationConfig":{"maxOutputTokens":0}}`, "positive"},
		{"thinking level before Gemini 3", "gemini-2.5-flash", `{"contents":[` + user + `],"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW"}}}`, "Thinking level is not supported"},
		{"picture", model, image("image/png", png), ""},
		{"picture of another type", model, image("image/jpeg", png), "Unable to process input image"},
		{"picture that is none", model, image("image/png", "AAAA"), "Unable to process input image"},
		{"type of picture", model, image("image/bmp", png), "Unsupported MIME type"},
		{"picture in the instruction", model, `{"contents":[` + user + `],"systemInstruction":{"parts":[{"inlineData":{"mimeType":"image/png","data":"` + png + `"}}]}}`, "only hold text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := geminitest.Start(t, geminitest.Turn{Times: geminitest.Always, Reply: geminitest.Text("ok")})
			if c.want != "" {
				s.Tolerate()
			}
			status, body := post(t, s, "/v1beta/models/"+c.model+":generateContent", c.body)
			if c.want == "" {
				if status != 200 {
					t.Errorf("%d: %v", status, body)
				}
				return
			}
			e, _ := body["error"].(map[string]any)
			if msg, _ := e["message"].(string); status != 400 || e["status"] != "INVALID_ARGUMENT" || e["code"] != float64(400) || !strings.Contains(msg, c.want) {
				t.Errorf("%d: %v, want %q", status, body, c.want)
			}
			if why := s.Refused(); len(why) != 1 {
				t.Errorf("refused %q", why)
			}
		})
	}
}

// A refusal that the test did not expect fails it.
func TestRefusalFailsTheTest(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	s := geminitest.Start(r)
	post(t, s, "/v1beta/models/m:generateContent", `{}`)
	if r.end(); len(r.errors) != 1 || !strings.Contains(r.errors[0], "contents is not specified") {
		t.Errorf("told the test: %q", r.errors)
	}
}

// The signature has to come back with the call that it was made for, unchanged.
func TestSignatureComesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		reply  geminitest.Reply
		change func(parts []*genai.Part)
		want   string
	}{
		{"unchanged", geminitest.Calls(geminitest.Call("f", none()), geminitest.Call("g", none())), func([]*genai.Part) {}, ""},
		{"of the script's own", signedBy("f", "mine"), func([]*genai.Part) {}, ""},
		{"dropped", geminitest.Calls(geminitest.Call("f", none())), func(ps []*genai.Part) { ps[0].ThoughtSignature = nil }, "missing a thought_signature"},
		{"changed", geminitest.Calls(geminitest.Call("f", none())), func(ps []*genai.Part) { ps[0].ThoughtSignature[3]++ }, "Corrupted"},
		{"the script's own changed", signedBy("f", "mine"), func(ps []*genai.Part) { ps[0].ThoughtSignature[0]++ }, "Corrupted"},
		{"cut", geminitest.Calls(geminitest.Call("f", none())), func(ps []*genai.Part) { ps[0].ThoughtSignature = ps[0].ThoughtSignature[:9] }, "Corrupted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := geminitest.Start(t, geminitest.Turn{Reply: c.reply}, geminitest.Turn{Times: geminitest.Always, Reply: geminitest.Text("done")})
			if c.want != "" {
				s.Tolerate()
			}
			talk := genai.Text("go")
			res, err := client(t, s).Models.GenerateContent(t.Context(), model, talk, nil)
			if err != nil {
				t.Fatal(err)
			}
			answers := &genai.Content{Role: "user"}
			for _, f := range res.FunctionCalls() {
				answers.Parts = append(answers.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: f.ID, Name: f.Name, Response: map[string]any{"ok": true}}})
			}
			c.change(res.Candidates[0].Content.Parts)
			_, err = client(t, s).Models.GenerateContent(t.Context(), model, append(talk, res.Candidates[0].Content, answers), nil)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// none are no arguments.
func none() any { return map[string]any{} }

func signedBy(name, signature string) geminitest.Reply {
	r := geminitest.Calls(geminitest.Call(name, json.RawMessage(`{}`)))
	r.Parts[0].Signature = []byte(signature)
	return r
}
