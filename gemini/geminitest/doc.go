// Package geminitest is a fake of the Gemini API for tests: a real HTTP server on loopback that speaks the service's wire protocol, so
// that a real client (google.golang.org/genai, gemini-cli, curl) can be pointed at it by its base URL.
//
// It is strict where the service is strict. Every request is checked before the script sees it, and a request that the service would
// refuse is refused in the service's own format (see check.go for the list): roles that do not alternate, a function call that is not
// answered by a response of the same name and id, a thought signature that was dropped or changed, a schema beside a MIME type that
// does not allow it, a picture that cannot be decoded. What the service would silently ignore, such as JSON Schema keywords that it does
// not know, is listed in [Request.Ignored], for the test to judge.
//
// It does not think: the test says what is answered, by a script of [Turn]s.
//
//	s := geminitest.Start(t,
//		geminitest.Turn{Reply: geminitest.Calls(geminitest.Call("browser_click", map[string]any{"target": map[string]any{"name": "Play"}}))},
//		geminitest.Turn{If: geminitest.Answers("browser_click"), Reply: geminitest.Text("The song is playing.")},
//	)
//	client, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: "test", HTTPOptions: genai.HTTPOptions{BaseURL: s.URL()}})
//
// The turns that may be used once are taken in order; a turn with Times [Always] answers whatever its matcher accepts and the next turn
// in order does not. A request that no turn answers is a failure of the test, and an HTTP 500. When the test ends, turns that were never
// used are a failure too.
//
// Everything that goes wrong at the real service can be scripted: a reply that stops early or is withheld ([Finish]), a refused prompt
// ([Blocked]), an error with or without a time to wait ([Fail]), a body that is no JSON ([Body]), a dropped connection ([Drop],
// [Reply.Cut]), and a reply that comes only when the test says so ([Reply.Until]); nothing in here sleeps.
//
// Without a test, [Load] reads the same script from a YAML or JSON file and [Serve] serves it; the program in gemini/geminitest/fakegemini does
// just that, for `toolsvc --gemini-url`.
//
// Served are POST {v1,v1beta}/models/M:generateContent, :streamGenerateContent (server-sent events with ?alt=sse, otherwise a JSON
// array) and :countTokens, and GET {v1,v1beta}/models and /models/M. Field names are accepted in camelCase, as the official clients send
// them.
package geminitest
