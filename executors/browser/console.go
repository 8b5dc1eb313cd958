package browser

import (
	"slices"
	"strings"

	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// severity orders the levels of the console.
var severity = []string{"debug", "info", "warning", "error"}

// console lists the messages of the page.
func (a *attempt) console() tool.Outcome {
	ms, cut := filterConsole(a.tab.Console(), a.act.level, a.act.most)
	return tool.Outcome{Result: &gen.ConsoleResult{Messages: ms, Truncated: cut || a.tab.ConsoleCut()}, Effect: tool.EffectNone, Proof: "Nothing was done but looking."}
}

// filterConsole keeps the latest messages of at least that level. It is pure.
func filterConsole(all []page.Message, level string, most int) (out []*gen.ConsoleMessage, cut bool) {
	least := slices.Index(severity, level)
	out = []*gen.ConsoleMessage{}
	for _, m := range all {
		if slices.Index(severity, m.Level) < least {
			continue
		}
		x := &gen.ConsoleMessage{Level: m.Level, Text: m.Text}
		if m.Location != "" {
			x.Location = &m.Location
		}
		out = append(out, x)
	}
	if len(out) > most {
		return out[len(out)-most:], true
	}
	return out, false
}

// network lists the requests of the page.
func (a *attempt) network() tool.Outcome {
	rs, cut := filterRequests(a.tab.Requests(), a.act)
	return tool.Outcome{Result: &gen.NetworkResult{Requests: rs, Truncated: cut}, Effect: tool.EffectNone, Proof: "Nothing was done but looking."}
}

// filterRequests keeps the latest requests that are asked for. It is pure.
func filterRequests(all []page.Request, want action) (out []*gen.NetworkRequest, cut bool) {
	out = []*gen.NetworkRequest{}
	for _, r := range all {
		if want.contains != "" && !strings.Contains(r.URL, want.contains) || want.method != "" && r.Method != want.method ||
			want.failed && (r.Open || r.Problem == "" && r.Status < 400) {
			continue
		}
		x := &gen.NetworkRequest{Method: r.Method, URL: r.URL, Status: r.Status, Type: r.Type}
		if x.Type == "" {
			x.Type = "other"
		}
		if !r.Open && r.Took > 0 {
			ms := int(r.Took.Milliseconds())
			x.DurationMs = &ms
		}
		if r.Problem != "" {
			problem := r.Problem
			if problem == page.NoConnection {
				problem = "no connection was made: nothing answers there, or the navigation policy refuses it (" + problem + ")"
			}
			x.Problem = &problem
		}
		out = append(out, x)
	}
	if len(out) > want.most {
		return out[len(out)-want.most:], true
	}
	return out, false
}
