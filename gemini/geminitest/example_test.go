package geminitest_test

import (
	"context"
	"fmt"

	"google.golang.org/genai"

	"toolsvc/gemini/geminitest"
)

// A model that calls a tool, reads what came of it, and answers. In a test, Start(t, …) takes the place of Serve: it stops the server,
// and fails the test for requests that the service would refuse.
func Example() {
	s, err := geminitest.Serve("127.0.0.1:0", &geminitest.Script{Turns: []geminitest.Turn{
		{Reply: geminitest.Calls(geminitest.Call("weather", map[string]any{"city": "Oslo"}))},
		{If: geminitest.Answers("weather"), Reply: geminitest.Text("Take an umbrella.")},
	}})
	if err != nil {
		panic(err)
	}
	defer s.Close()

	ctx := context.Background()
	client, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: "test", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL()}})
	if err != nil {
		panic(err)
	}
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "weather", ParametersJsonSchema: map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
	}}}}}
	talk := genai.Text("Do I need an umbrella in Oslo?")
	reply, err := client.Models.GenerateContent(ctx, "gemini-3.8-flash", talk, config)
	if err != nil {
		panic(err)
	}
	call := reply.FunctionCalls()[0]
	fmt.Println("calls", call.Name, call.Args["city"])

	talk = append(talk, reply.Candidates[0].Content, &genai.Content{Role: "user", Parts: []*genai.Part{{
		FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{"rain": true}},
	}}})
	reply, err = client.Models.GenerateContent(ctx, "gemini-3.8-flash", talk, config)
	if err != nil {
		panic(err)
	}
	fmt.Println("says", reply.Text())
	fmt.Println("was sent", string(s.Requests()[1].Responses()[0].Response))
	// Output:
	// calls weather Oslo
	// says Take an umbrella.
	// was sent {"rain":true}
}
