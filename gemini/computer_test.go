package gemini

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

// planned are tools of the contract that the design may not have yet.
var planned = []string{"browser.back", "browser.forward", "browser.double_click", "browser.hover", "browser.drag", "browser.scroll"}

func TestComputerUse(t *testing.T) {
	t.Parallel()
	const at = `{"description":"the point (640, 200) of the visible page, in CSS pixels"}`
	const to = `{"description":"the point (1279, 799) of the visible page, in CSS pixels"}`
	for _, c := range []struct {
		name, args string
		tool       string
		want       string
		wait       time.Duration
	}{
		// Gemini 3.5
		{"click", `{"x":500,"y":250,"intent":"play"}`, "browser.click", `{"target":` + at + `,"intent":"play"}`, 0},
		{"double_click", `{"x":500,"y":250}`, "browser.double_click", `{"target":` + at + `}`, 0},
		{"right_click", `{"x":500,"y":250}`, "browser.click", `{"target":` + at + `,"button":"right"}`, 0},
		{"middle_click", `{"x":500,"y":250}`, "browser.click", `{"target":` + at + `,"button":"middle"}`, 0},
		{"move", `{"x":500,"y":250}`, "browser.hover", `{"target":` + at + `}`, 0},
		{"type", `{"text":"Ada"}`, "browser.type", `{"target":{"selector":":focus"},"text":"Ada","append":true,"submit":false}`, 0},
		{"type", `{"text":"","press_enter":true}`, "browser.type", `{"target":{"selector":":focus"},"text":"","append":true,"submit":true}`, 0},
		{"drag_and_drop", `{"start_x":500,"start_y":250,"end_x":1000,"end_y":1000}`, "browser.drag", `{"from":` + at + `,"to":` + to + `}`, 0},
		{"scroll", `{"x":500,"y":250,"direction":"down","magnitude_in_pixels":120}`, "browser.scroll", `{"target":` + at + `,"direction":"down","amount":120}`, 0},
		{"scroll", `{"direction":"left"}`, "browser.scroll", `{"direction":"left","amount":300}`, 0},
		{"press_key", `{"key":"ENTER"}`, "browser.press", `{"key":"Enter"}`, 0},
		{"press_key", `{"key":"a"}`, "browser.press", `{"key":"a"}`, 0},
		{"press_key", `{"key":"+"}`, "browser.press", `{"key":"+"}`, 0},
		{"press_key", `{"key":"f5"}`, "browser.press", `{"key":"F5"}`, 0},
		{"hotkey", `{"keys":["CTRL","SHIFT","A"]}`, "browser.press", `{"key":"Control+Shift+a"}`, 0},
		{"hotkey", `{"keys":"cmd++"}`, "browser.press", `{"key":"Meta++"}`, 0},
		{"wait", `{"seconds":3}`, "", ``, 3 * time.Second},
		{"wait", `{}`, "", ``, time.Second},
		{"wait", `{"seconds":1e300}`, "", ``, maxComputerWait},
		{"navigate", `{"url":"https://example.com/a?b=c"}`, "browser.navigate", `{"url":"https://example.com/a?b=c"}`, 0},
		{"go_back", `{}`, "browser.back", `{}`, 0},
		{"go_forward", `{}`, "browser.forward", `{}`, 0},
		{"take_screenshot", `{"intent":"look"}`, "browser.screenshot", `{"intent":"look"}`, 0},
		{"take_screenshot", `{"intent":"` + strings.Repeat("ö", 400) + `"}`, "browser.screenshot", `{"intent":"` + strings.Repeat("ö", 300) + `"}`, 0},
		// the models before it
		{"click_at", `{"x":500,"y":250}`, "browser.click", `{"target":` + at + `}`, 0},
		{"hover_at", `{"x":500,"y":250}`, "browser.hover", `{"target":` + at + `}`, 0},
		{"type_text_at", `{"x":500,"y":250,"text":"Ada"}`, "browser.type", `{"target":` + at + `,"text":"Ada","append":false,"submit":true}`, 0},
		{"type_text_at", `{"x":500,"y":250,"text":"Ada","press_enter":false,"clear_before_typing":false}`, "browser.type", `{"target":` + at + `,"text":"Ada","append":true,"submit":false}`, 0},
		{"drag_and_drop", `{"x":500,"y":250,"destination_x":1000,"destination_y":1000}`, "browser.drag", `{"from":` + at + `,"to":` + to + `}`, 0},
		{"scroll_document", `{"direction":"up"}`, "browser.scroll", `{"direction":"up"}`, 0},
		{"scroll_at", `{"x":500,"y":250,"direction":"down"}`, "browser.scroll", `{"target":` + at + `,"direction":"down","amount":640}`, 0},
		{"scroll_at", `{"x":500,"y":250,"direction":"right","magnitude":100}`, "browser.scroll", `{"target":` + at + `,"direction":"right","amount":128}`, 0},
		{"key_combination", `{"keys":"control+c"}`, "browser.press", `{"key":"Control+c"}`, 0},
		{"wait_5_seconds", `{}`, "", ``, 5 * time.Second},
		{"search", `{}`, "browser.navigate", `{"url":"https://www.google.com/"}`, 0},
		{"open_web_browser", `{}`, "browser.screenshot", `{}`, 0},
	} {
		got, err := ComputerUse(FunctionCall{Name: c.name, Args: args(c.args)}, View{1280, 800})
		if err != nil || got.Tool != c.tool || got.Wait != c.wait || got.Confirm != "" || c.want != "" && !same(got.Args, []byte(c.want)) || c.want == "" && got.Args != nil {
			t.Errorf("%s %s: %s %s, wait %s, %v", c.name, c.args, got.Tool, got.Args, got.Wait, err)
			continue
		}
		if c.tool == "" {
			continue
		}
		spec := toolsets.Registry().Lookup(tool.ID(c.tool))
		if spec == nil && !slices.Contains(planned, c.tool) {
			t.Errorf("%s becomes a call of %s, which is not in the design", c.name, c.tool)
		} else if spec == nil {
			continue
		} else if _, issues := spec.Decode(got.Args); issues != nil {
			t.Errorf("%s becomes a call that the design refuses: %v", c.name, issues)
		}
	}
}

func TestComputerUseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, args, want string }{
		{"click", `{"x":500}`, "no place"},
		{"click", `{"x":1001,"y":2}`, "not between 0 and 1000"},
		{"click", `{"x":-1,"y":2}`, "not between 0 and 1000"},
		{"click", `{"x":"1","y":2}`, "cannot be read"},
		{"click", `[]`, "cannot be read"},
		{"type", `{}`, "no text"},
		{"drag_and_drop", `{"start_x":1,"start_y":1}`, "no place"},
		{"scroll", `{"direction":"away"}`, "direction"},
		{"scroll", `{"direction":"up","magnitude_in_pixels":0}`, "distance"},
		{"press_key", `{"key":""}`, "keys"},
		{"hotkey", `{"keys":["a","b"]}`, "modifiers and one key"},
		{"hotkey", `{"keys":["ctrl"]}`, "modifiers and one key"},
		{"hotkey", `{"keys":[]}`, "no keys"},
		{"wait", `{"seconds":0}`, "above 0"},
		{"navigate", `{"url":"javascript:alert(1)"}`, "http"},
		{"navigate", `{"url":"/relative"}`, "http"},
		{"click", `{"x":1,"y":1,"safety_decision":{"decision":"block","explanation":"no"}}`, "does not allow"},
	} {
		if got, err := ComputerUse(FunctionCall{Name: c.name, Args: args(c.args)}, View{1280, 800}); err == nil || got.Tool != "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %+v, %v", c.name, c.args, got, err)
		}
	}
	for _, name := range []string{"triple_click", "mouse_down", "mouse_up", "key_down", "key_up", "open_app", ""} {
		if _, err := ComputerUse(FunctionCall{Name: name, Args: args(`{"x":1,"y":1,"key":"a"}`)}, View{1280, 800}); !errors.Is(err, ErrNoCounterpart) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ComputerUse(FunctionCall{Name: "click", Args: args(`{"x":1,"y":1}`)}, View{}); err == nil {
		t.Error("a page without a size")
	}
}

// What the model's own safety check wants to be confirmed becomes an approval.
func TestSafetyDecision(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ safety, want string }{
		{`{"decision":"require_confirmation","explanation":"It buys something."}`, "It buys something."},
		{`{"decision":"REQUIRE_CONFIRMATION"}`, "The model's safety check wants a person to confirm click."},
		{`{"decision":"regular"}`, ""},
		{`{}`, ""},
		{`null`, ""},
	} {
		got, err := ComputerUse(FunctionCall{Name: "click", Args: args(`{"x":1,"y":1,"safety_decision":` + c.safety + `}`)}, View{1280, 800})
		if err != nil || got.Confirm != c.want || got.Tool != "browser.click" {
			t.Errorf("%s: %+v, %v", c.safety, got, err)
		}
	}
	b, err := Acknowledged(json.RawMessage(`{"status":"success"}`))
	if err != nil || !same(b, []byte(`{"status":"success","safety_acknowledgement":"true"}`)) {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := Acknowledged(json.RawMessage(`[]`)); err == nil {
		t.Error("a list is acknowledged")
	}
}
