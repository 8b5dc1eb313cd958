package repair_test

import (
	"fmt"
	"testing"

	"toolsvc/gen/toolsets/browser"
	"toolsvc/repair"
	"toolsvc/tool"
	"toolsvc/toolset/codegen/codegentest"
)

func spec(id tool.ID) *tool.Spec {
	for _, s := range append(codegentest.KitchenSink(), browser.Specs()...) {
		if s.ID == id {
			return s
		}
	}
	return nil
}

func TestTry(t *testing.T) {
	for _, c := range []struct{ id, in string }{
		{"browser.click", `{"target":{"name":"Play"},}`},
		{"browser.click", `{'target': {'name': "it's"}, 'button': 'left', /* x */ modifiers: ['Alt',],}`},
		{"browser.click", "Sure! Here it is:\n```json\n{\"target\":{\"name\":\"Play\"}}\n```\nDone."},
		{"browser.click", "```json\n{\"target\":{\"name\":\"Play\"}\n```"},
		{"browser.click", `{"target":{"name":"Play","button":"left"}`},
		{"browser.click", `{"target":{"name":"Play"}`},
		{"browser.click", `{"target":{"name":"Play"},"modifiers":["Alt","button":"left"}`},
		{"browser.click", `{"target":{"name":"Play"},"modifiers":["Alt"}`},
		{"browser.click", `{"target":{"name":"Play"}}}`},
		{"browser.click", `{"target":{"name":"Play"} "button":"left"}`},
		{"browser.click", `{“target”:{“name”:“Play”}}`},
		{"browser.click", `{\"target\":{\"name\":\"Play\"}}`},
		{"browser.click", `"{\"target\":{\"name\":\"Play\"}}"`},
		{"browser.click", `{"target":{"name":"Play"},"target":{"name":"Play"}}`},
		{"browser.click", `{"target":{"name":"Play"},"target":{"name":"Pause"}}`},
		{"browser.click", `{"target":"{\"name\":\"Play\",\"nth\":\"1\"}","button":"LEFT","modifiers":"alt"}`},
		{"browser.click", `{"Target":{"name":"Play","nth":"x"}}`},
		{"browser.click", `{"tagret":{"name":"Play"}}`},
		{"browser.click", `{"arguments":{"target":{"name":"Play"}}}`},
		{"browser.click", `{"tool":"browser_click","arguments":"{\"target\":{\"name\":\"Play\"}}"}`},
		{"browser.click", `{"tool":"browser_type","arguments":{"target":{"name":"Play"}}}`},
		{"browser.click", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"browser_click","arguments":{"target":{"name":"Play"}}}}`},
		{"browser.click", `[{"target":{"name":"Play","nth":null}}]`},
		{"browser.click", `{"target":{"name":["Play"]},"modifiers":["Alt","bad"]}`},
		{"browser.click", `browser.click({"target":{"name":"Play"}})`},
		{"browser.click", `{"target":{"name":"Pl`},
		{"browser.click", `{"target":{"name":5,"nth":True,"role":"1"}}`},
		{"browser.click", `{"target":{"name":"say "hi" now"}}`},
		{"browser.click", `{"target":{"name":"Play"},"expect":"page.ready"}`},
		{"browser.click", `{"target":{"name":"Play"},"expect":"[\"page.ready\"]"}`},
		{"browser.click", "{\"target\":{\"name\":\"a\nb\"}}"},
		{"kitchen.strings", `{"plain":"x","date_time":"2026-11-21 09:30","color":"RED","date":" 2026-11-21 "}`},
		{"kitchen.strings", `{"plain":"x","date_time":"2026-11-21 09:30 UTC"}`},
		{"kitchen.numbers", `{"int":"5","bool":"TRUE","float64":".5","small":"5.5"}`},
		{"kitchen.objects", `{"choice":{"pick":{"Word":"YES","point":null}},"left":"l"}`},
		{"kitchen.secrets", `{"user":"ada","password":12345678,"pins":"12"}`},
		{"kitchen.secrets", `{'user':'ada','pasword':'correct horse'}`},
	} {
		out := repair.Payload(spec(tool.ID(c.id)), []byte(c.in), repair.Lossless)
		fmt.Printf("%s\n  %s ok=%v\n", c.in, out.Payload, out.OK())
		for _, r := range out.Repairs {
			fmt.Printf("     %+v\n", r)
		}
		for _, r := range out.Issues {
			fmt.Printf("     ! %s %s %s\n", r.Path, r.Constraint, r.Message)
		}
	}
}
