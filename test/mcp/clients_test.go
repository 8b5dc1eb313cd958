package mcptest

import (
	"os"
	"strings"
	"testing"

	"toolsvc/tool"
)

// how a client of the TypeScript SDK reaches toolsvc.
type way struct {
	name    string
	sdk     int
	mode    string
	stdio   bool
	version string
}

var ways = []way{
	{"v1 stdio", 1, "", true, ""},
	{"v1 http", 1, "", false, "2025-11-25"},
	{"v2 stdio", 2, "auto", true, "2026-07-28"},
	{"v2 http", 2, "auto", false, "2026-07-28"},
	{"v2 http legacy", 2, "legacy", false, "2025-11-25"},
}

func (w way) plan(t *testing.T, s *serving) plan {
	p := plan{SDK: w.sdk, Mode: w.mode}
	if w.stdio {
		p.Command, p.Args = toolsvc(t), []string{"mcp", "--state-dir", t.TempDir()}
		p.Env = map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")}
	} else {
		p.URL = s.url()
	}
	return p
}

// Every client finds the tools, reads a hint, acts on it, hears the narration, and sees the picture.
func TestTypeScriptClients(t *testing.T) {
	modules(t)
	url := pages(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			var s *serving
			if !w.stdio {
				s = serve(t)
			}
			p := w.plan(t, s)
			p.Calls = []planCall{
				{Name: "browser_navigate", Arguments: map[string]any{"url": url + "/c/canvas"}},
				{Name: "browser_click", Arguments: map[string]any{"target": map[string]any{"nmae": "Play", "rloe": "x"}, "expect": []string{"page.nonsense"}}},
				{Name: "browser_click", Arguments: map[string]any{"target": map[string]any{"name": "Play"}, "expect": []string{`page.text.contains("Playing")`}}},
				{Name: "browser_screenshot"},
			}
			results, others := drive(t, p, nil)
			if !has(others, "connected", func(e event) bool { return w.version == "" || e.Version == w.version }) {
				t.Errorf("negotiated %+v, want %s", others[0], w.version)
			}
			if !has(others, "tools", func(e event) bool { return strings.Contains(strings.Join(e.Names, " "), "browser_click") }) {
				t.Error("the tools were not listed")
			}
			if len(results) != len(p.Calls) {
				t.Fatalf("%d results: %+v", len(results), results)
			}
			if r := results[0].result(t); !r.OK() {
				t.Fatal(results[0].Text)
			}
			wrong := results[1].result(t)
			if wrong.Error == nil || wrong.Error.Code != tool.InvalidArguments || !strings.Contains(results[1].Text, "page.nonsense") && !strings.Contains(results[1].Text, "rloe") {
				t.Errorf("a wrong call: %s", results[1].Text)
			}
			clicked := results[2].result(t)
			if !clicked.OK() || len(clicked.Attempts) < 2 || clicked.Attempts[len(clicked.Attempts)-1].Source != tool.SourceVision {
				t.Errorf("the button in a canvas: %s", results[2].Text)
			}
			if !has(others, "progress", func(e event) bool { return strings.Contains(e.Message, "[Vision]") }) {
				t.Error("no progress tells of the source that was used")
			}
			if r := results[3].result(t); !r.OK() || len(results[3].Images) != 1 {
				t.Errorf("the screenshot: %d images, %s", len(results[3].Images), results[3].Text)
			}
		})
	}
}

// The same question, answered by a form in each era.
func TestClarificationByForm(t *testing.T) {
	modules(t)
	url := pages(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			var s *serving
			if !w.stdio {
				s = serve(t)
			}
			p := w.plan(t, s)
			p.Elicit = map[string]any{"action": "accept", "content": map[string]any{"target.name": "Play"}}
			p.Calls = []planCall{{Name: "browser_navigate", Arguments: map[string]any{"url": url + "/c/canvas"}}, {Name: "browser_click", Arguments: map[string]any{"expect": []string{`page.text.contains("Playing")`}}}}
			results, others := drive(t, p, nil)
			if !has(others, "elicit", func(e event) bool { return strings.Contains(e.Message, "Which element should be clicked?") }) {
				t.Fatalf("nothing was asked: %s", results[len(results)-1].Text)
			}
			clicked := results[1].result(t)
			if !clicked.OK() || len(clicked.Repairs) == 0 || clicked.Repairs[0].Tier != "person" {
				t.Errorf("%s", results[1].Text)
			}
		})
	}
}

// The answer to a question reaches a server that was killed and started again meanwhile. Nothing is done twice, and nothing is lost.
func TestAnswerReachesTheRestartedServer(t *testing.T) {
	modules(t)
	url := pages(t)
	s := serve(t)
	p := plan{SDK: 2, Mode: "auto", URL: s.url(), Pause: true, Elicit: map[string]any{"action": "accept", "content": map[string]any{"target.name": "Play"}},
		Calls: []planCall{{Name: "browser_navigate", Arguments: map[string]any{"url": url + "/c/canvas"}}, {Name: "browser_click", Arguments: map[string]any{"expect": []string{`page.text.contains("Playing")`}}}}}
	results, _ := drive(t, p, func() {
		s.end(os.Kill)
		s.start()
	})
	if len(results) != 2 || !results[1].result(t).OK() {
		t.Fatalf("%+v", results)
	}
}

// A client that cannot show forms answers by a tool, also one that comes later, to another process, after the first was killed.
func TestClarificationByTool(t *testing.T) {
	modules(t)
	url := pages(t)
	s := serve(t, "--mcp-ask")
	first, _ := drive(t, plan{SDK: 1, URL: s.url(), Calls: []planCall{{Name: "browser_navigate", Arguments: map[string]any{"url": url + "/c/canvas"}}, {Name: "browser_click", Arguments: map[string]any{"expect": []string{`page.text.contains("Playing")`}}}}}, nil)
	asked := first[1].result(t)
	if first[1].IsError || asked.Status != tool.StatusNeedsInput {
		t.Fatal(first[1].Text)
	}
	s.end(os.Kill)
	s.start()
	second, _ := drive(t, plan{SDK: 2, Mode: "auto", URL: s.url(), Calls: []planCall{
		{Name: "run_get", Arguments: map[string]any{"run": asked.RunID}},
		{Name: "run_answer", Arguments: map[string]any{"run": asked.RunID, "question": asked.Question.ID, "answer": map[string]any{"target": map[string]any{"name": "Play"}}}},
	}}, nil)
	if !strings.Contains(second[0].Text, asked.Question.ID) {
		t.Errorf("run_get: %s", second[0].Text)
	}
	if !second[1].result(t).OK() {
		t.Errorf("run_answer: %s", second[1].Text)
	}
}
