package narration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"toolsvc/tool"
)

// calls are what the golden files describe.
var calls = []struct {
	tool tool.ID
	args string
}{
	{"browser.navigate", `{"url":"http://127.0.0.1:8080/shop/"}`},
	{"browser.navigate", `{"url":"https://ada:hunter22@example.com/a?token=hunter22#hunter22"}`},
	{"browser.navigate", `{"url":"ftp://example.com/a"}`},
	{"browser.navigate", `{}`},
	{"browser.back", `{}`},
	{"browser.forward", `{}`},
	{"browser.reload", `{}`},
	{"browser.snapshot", `{}`},
	{"browser.snapshot", `{"target":{"name":"Cart"}}`},
	{"browser.read", `{}`},
	{"browser.read", `{"target":{"name":"Status","role":"status"}}`},
	{"browser.screenshot", `{"full_page":true}`},
	{"browser.screenshot", `{"target":{"selector":"#chart"}}`},
	{"browser.click", `{"target":{"name":"Play","role":"button","within":"Now playing"}}`},
	{"browser.click", `{"target":{"name":"재생","within":"앨범"},"button":"left"}`},
	{"browser.click", `{"target":{"name":"再生","near":"3曲目"}}`},
	{"browser.click", `{"target":{"name":"Play","within":"Album","near":"Track 3","nth":2}}`},
	{"browser.click", `{"target":{"name":"Play"},"button":"right"}`},
	{"browser.click", `{"target":{"name":"Play"},"button":"middle"}`},
	{"browser.click", `{"target":{"selector":"#play","within":"Album"}}`},
	{"browser.click", `{"target":{"ref":"e12"}}`},
	{"browser.click", `{"target":{"description":"the round green play button at the bottom of the player bar, left of the shuffle button"}}`},
	{"browser.double_click", `{"target":{"name":"File"}}`},
	{"browser.hover", `{"target":{"name":"Menu"}}`},
	{"browser.drag", `{"from":{"name":"파일"},"to":{"name":"휴지통"}}`},
	{"browser.drag", `{"from":{"name":"Card"},"to":{"name":"Done"}}`},
	{"browser.drag", `{"from":{"name":"Volume"},"by_x":40}`},
	{"browser.type", `{"target":{"name":"E-mail","role":"textbox"},"text":"hunter22"}`},
	{"browser.clear", `{"target":{"name":"Search"}}`},
	{"browser.press", `{"key":"Enter"}`},
	{"browser.press", `{"key":"Control+a","target":{"name":"Editor"}}`},
	{"browser.select", `{"target":{"name":"Country"},"values":["Japan"]}`},
	{"browser.select", `{"target":{"name":"Country"},"values":["Japan","대한민국","France","Chile"]}`},
	{"browser.select", `{"target":{"name":"Country"},"values":[]}`},
	{"browser.check", `{"target":{"name":"I accept the terms"}}`},
	{"browser.uncheck", `{"target":{"name":"Newsletter"}}`},
	{"browser.upload", `{"target":{"name":"Photo"},"files":["a.png"]}`},
	{"browser.upload", `{"files":["a.png"]}`},
	{"browser.scroll", `{"target":{"name":"List"}}`},
	{"browser.scroll", `{"until":{"name":"Zebra finch"}}`},
	{"browser.scroll", `{}`},
	{"browser.wait_for", `{"text":"Order placed","state":"visible"}`},
	{"browser.wait_for", `{"text":"주문 완료","state":"visible"}`},
	{"browser.wait_for", `{"text_gone":"Loading","state":"visible"}`},
	{"browser.wait_for", `{"target":{"name":"Pay"},"state":"visible"}`},
	{"browser.wait_for", `{"target":{"name":"Spinner"},"state":"hidden"}`},
	{"browser.wait_for", `{"target":{"name":"결제"},"state":"enabled"}`},
	{"browser.fill_form", `{"fields":[{"name":"Password","value":"hunter22"}]}`},
	{"browser.dialog", `{"accept":true,"text":"hunter22"}`},
	{"browser.tabs", `{"action":"list"}`},
	{"browser.tabs", `{"action":"new","url":"http://127.0.0.1/"}`},
	{"browser.tabs", `{"action":"select","index":1}`},
	{"browser.tabs", `{"action":"close"}`},
	{"browser.tabs", `{}`},
	{"browser.console", `{}`},
	{"browser.network", `{}`},
	{"browser.evaluate", `{"expression":"localStorage.token='hunter22'"}`},
	{"terminal.run", `{"command":"go vet ./..."}`},
	{"terminal.run", `{"command":"PASSWORD=hunter22 make\ndeploy"}`},
	{"terminal.open", `{}`},
	{"terminal.type", `{"text":"hunter22"}`},
	{"terminal.press", `{"key":"Control+c"}`},
	{"terminal.read", `{}`},
	{"terminal.close", `{}`},
	{"document.read", `{"path":"docs/안내.md"}`},
	{"document.read", `{"path":"a.md","heading":"Guide > Setup"}`},
	{"document.outline", `{"path":"a.md"}`},
	{"document.write", `{"path":"a.md","content":"hunter22"}`},
	{"document.replace", `{"path":"a.md","old":"hunter22","new":"x"}`},
	{"document.insert", `{"path":"a.md","text":"hunter22"}`},
	{"document.insert", `{"path":"a.md","heading":"설정","position":"end","text":"hunter22"}`},
	{"document.write_section", `{"path":"a.md","heading":"Intro","content":"hunter22"}`},
	{"document.comment", `{"path":"main.go","text":"hunter22"}`},
	{"document.comment", `{"path":"main.go","heading":"Server.Start","text":"hunter22"}`},
	{"document.diff", `{"path":"a.md"}`},
	{"shop.refund", `{"text":"hunter22","order":"A-17","password":"hunter22","amount":12.50}`},
	{"shop.restock", `{"note":"x"}`},
}

// specOf is a tool with a schema and a secret, as an own toolset may have it.
func specOf(id tool.ID) *tool.Spec {
	return &tool.Spec{ID: id, Title: map[tool.ID]string{"shop.refund": "Refund an order"}[id],
		PayloadSchema: json.RawMessage(`{"type":"object","required":["text","password","order","amount"]}`),
		Secrets:       []string{"/password", "/fields/*/value"}}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, l := range Langs {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			said := map[string]bool{}
			for _, c := range calls {
				a := arguments{spec: specOf(c.tool), lang: l, values: object([]byte(c.args)), room: 40}
				for _, key := range a.keys() {
					said[key] = true
				}
				got := Describe(specOf(c.tool), []byte(c.args), string(l))
				fmt.Fprintf(&b, "%s %s\n    %s\n", c.tool, c.args, got)
				if utf8.RuneCountInString(got) > 80 || got != Clean(got) || strings.Contains(got, "hunter22") {
					t.Errorf("%s %s: %q", c.tool, c.args, got)
				}
			}
			for key := range catalogue[l] {
				if strings.HasPrefix(key, "do.") && !said[key] {
					t.Errorf("%s is never said", key)
				}
			}
			golden(t, "calls."+string(l)+".txt", b.String())
		})
	}
}

// Long names are clipped so that the sentence keeps its verb, which stands last in Korean and Japanese.
func TestDescribeClipsNamesNotSentences(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("아주 긴 이름 ", 20)
	args, err := json.Marshal(map[string]any{"target": map[string]any{"name": long, "within": long, "near": long, "nth": 2}})
	if err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string][2]string{"en": {"Click “", "”"}, "ko": {"“", " 클릭"}, "ja": {"「", "をクリック"}} {
		got := Describe(specOf("browser.click"), args, lang)
		if !strings.HasPrefix(got, want[0]) || !strings.HasSuffix(got, want[1]) || utf8.RuneCountInString(got) > 80 {
			t.Errorf("%s: %s", lang, got)
		}
	}
}

func TestDescribeNeverShowsSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		secrets []string
		id      tool.ID
		args    string
	}{
		{[]string{"/target/name"}, "browser.click", `{"target":{"name":"hunter22","selector":"#a"}}`},
		{[]string{"/target"}, "browser.click", `{"target":{"name":"hunter22"}}`},
		{[]string{"/url"}, "browser.navigate", `{"url":"http://hunter22"}`},
		{[]string{"/values/*"}, "browser.select", `{"target":{"name":"PIN"},"values":["hunter22"]}`},
		{[]string{"/*"}, "terminal.run", `{"command":"hunter22"}`},
		{[]string{"/command"}, "terminal.run", `{"command":"hunter22"}`},
		{[]string{"/pin"}, "shop.pay", `{"pin":"hunter22"}`},
	} {
		spec := &tool.Spec{ID: c.id, Title: "A tool", Secrets: c.secrets, PayloadSchema: json.RawMessage(`{"required":["pin","values"]}`)}
		for _, l := range Langs {
			if got := Describe(spec, []byte(c.args), string(l)); strings.Contains(got, "hunter22") || got == "" {
				t.Errorf("%s with the secrets %v: %q", c.id, c.secrets, got)
			}
		}
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"curl -H 'Authorization: Bearer abc.def-123456' x": "curl -H 'Authorization: Bearer [redacted]' x",
		"GITHUB_TOKEN=abc make":                            "GITHUB_TOKEN=[redacted] make",
		`{"password": "a b c", "user": "ada"}`:             `{"password": [redacted], "user": "ada"}`,
		"mysql --password hunter22 db":                     "mysql --password [redacted] db",
		"x --api-key='a b' y":                              "x --api-key=[redacted] y",
		"git clone https://ada:hunter22@example.com/r.git": "git clone https://[redacted]@example.com/r.git",
		"use sk-abcdefghijklmnop now":                      "use [redacted] now",
		"eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl":           "[redacted]",
		"reset the password":                               "reset the password",
		"go test ./token -run Secret":                      "go test ./token -run Secret",
		"비밀번호 token: 열쇠":                                   "비밀번호 token: [redacted]",
	} {
		if got := mask(in); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", in, got, want)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	for _, c := range calls {
		f.Add(string(c.tool), c.args)
	}
	f.Fuzz(func(t *testing.T, id, args string) {
		for _, l := range Langs {
			got := Describe(specOf(tool.ID(id)), []byte(args), string(l))
			if utf8.RuneCountInString(got) > 80 || got != Clean(got) {
				t.Errorf("%s %s: %q", id, args, got)
			}
		}
	})
}
