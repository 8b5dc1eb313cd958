package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	promodel "github.com/prometheus/common/model"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"toolsvc/server"
	"toolsvc/telemetry"
	"toolsvc/tool"
)

// lines is a log that several goroutines write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// What an operator sees agrees with what callers got (invariant 8 of the architecture): the metrics count each call once, with its tool,
// verdict, attempts and repairs, also when its result is written again; one call is one connected trace from the request to the action; and
// its end is one line in the log. What callers wrote stands in none of them.
func TestOperatorsSeeWhatCallersGot(t *testing.T) {
	t.Parallel()
	const password, traceID, parent = "correct-horse-battery", "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	var log lines
	spans := tracetest.NewInMemoryExporter()
	shown, err := telemetry.New(t.Context(), telemetry.Options{Spans: spans, Logger: telemetry.NewLogger(&log, slog.LevelDebug)})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{StateDir: filepath.Join(dir, "state"), UIPort: -1, Workspace: work, Ephemeral: true, KeepRuns: 24 * time.Hour, Telemetry: shown, Logger: telemetry.NewLogger(&log, slog.LevelInfo)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	opts := server.Options{Caller: s.Service, Registry: s.Service.Registry, Events: s.Store, Artifacts: s.Store, Ready: s.Ready, Logger: telemetry.NewLogger(&log, slog.LevelInfo)}
	Show(&opts, shown)
	srv, err := server.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.HTTPHandler())
	t.Cleanup(web.Close)
	do := func(method, path, body string) []byte {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("traceparent", "00-"+traceID+"-"+parent+"-01")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}

	want := map[string]float64{} // series, by what callers got
	var results []*tool.Result
	for i, c := range []struct{ name, args string }{
		{"document.write", `{"path":"notes.md","content":"# Notes\n\nThe password is ` + password + `.\n"}`},
		{"document.read", `{"path":"notes.md"}`},
		{"document.read", `{"path":"nowhere-` + password + `.md"}`},
		{"terminal.run", `{"command":"echo ` + password + `","timeout_ms":"20000"}`},
		{"terminal.run", `{"command":"exit 3"}`},
		{"document.write", `{"path":"` + password + `"}`},
	} {
		res := new(tool.Result)
		if err := json.Unmarshal(do(http.MethodPost, "/v1/tools/"+c.name+"?repair=lossless", c.args), res); err != nil {
			t.Fatal(c, err)
		}
		if i == 0 && !res.OK() {
			t.Fatalf("%+v", res.Error)
		}
		results = append(results, res)
		failure, verdict := "none", "none"
		if res.Error != nil {
			failure = string(res.Error.Code)
		}
		if res.Verification != nil {
			verdict = string(res.Verification.Verdict)
		}
		if len(res.Attempts) == 0 {
			want[fmt.Sprintf("toolsvc_calls_rejected_total{failure=%q,tool=%q}", failure, c.name)]++
			continue
		}
		want[fmt.Sprintf("toolsvc_calls_total{failure=%q,tool=%q,verdict=%q}", failure, c.name, verdict)]++
		want["toolsvc_runs_started_total{}"]++
		for _, a := range res.Attempts {
			failure := string(a.Failure)
			if failure == "" {
				failure = "none"
			}
			set, _, _ := strings.Cut(c.name, ".")
			want[fmt.Sprintf("toolsvc_attempts_total{effect=%q,failure=%q,source=%q,toolset=%q}", a.Effect, failure, a.Source, set)]++
		}
		for _, r := range res.Repairs {
			want[fmt.Sprintf("toolsvc_repairs_total{tier=%q}", r.Tier)]++
		}
	}
	if results[3].Repairs == nil || results[5].Attempts != nil || results[2].Error == nil {
		t.Fatalf("the calls did not come to what this test is about: %+v", results)
	}
	for _, res := range results[:5] { // an activity that is repeated writes its events again
		events, err := s.Store.Events(t.Context(), res.RunID, 0, 0)
		if err != nil || len(events) < 3 {
			t.Fatal(len(events), err)
		}
		if _, err := s.Store.AppendEvents(t.Context(), res.RunID, events); err != nil {
			t.Fatal(err)
		}
	}
	text := do(http.MethodGet, "/metrics", "")
	got := series(t, text)
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s is %v, and callers got %v", name, got[name], n)
		}
	}
	for name := range got {
		if base, _, _ := strings.Cut(name, "{"); (base == "toolsvc_calls_total" || base == "toolsvc_attempts_total" || base == "toolsvc_calls_rejected_total") && want[name] == 0 {
			t.Errorf("%s is %v, of which no caller knows", name, got[name])
		}
	}
	for _, name := range []string{"toolsvc_browser_up{}", "toolsvc_task_queue_backlog{type=\"activity\"}", "toolsvc_artifact_bytes{}"} {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is not there", name)
		}
	}

	// The first call's spans: from the request on, through the run, to the action.
	awaited := []string{"HTTP POST /v1/tools/{tool}", "UpdateWithStartWorkflow:call", "RunWorkflow:Run", "StartActivity:Attempt", "RunActivity:Attempt", "attempt document.write",
		"document.begin", "document.resolve", "document.dispatch", "document.settle", "document.verify"}
	byName := map[string]tracetest.SpanStub{}
	for deadline := time.Now().Add(20 * time.Second); ; {
		byID := map[string]tracetest.SpanStub{}
		clear(byName)
		var all tracetest.SpanStubs = spans.GetSpans()
		for _, sp := range all {
			byID[sp.SpanContext.SpanID().String()] = sp
			if _, ok := byName[sp.Name]; !ok {
				byName[sp.Name] = sp
			}
		}
		complete := true
		for _, name := range awaited {
			if _, ok := byName[name]; !ok {
				complete = false
			}
		}
		if !complete && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond) // the run's span ends after the answer
			continue
		}
		for _, name := range awaited {
			sp, ok := byName[name]
			if !ok || sp.SpanContext.TraceID().String() != traceID {
				t.Errorf("no span %q in the trace: %v", name, sp.SpanContext.TraceID())
				continue
			}
			for id := sp.Parent.SpanID().String(); id != parent; {
				up, ok := byID[id]
				if !ok {
					t.Errorf("span %q does not lead to the request: its ancestor %s is not there", name, id)
					break
				}
				id = up.Parent.SpanID().String()
			}
		}
		if strings.Contains(fmt.Sprintf("%+v", all), password) {
			t.Error("a span holds what a caller wrote")
		}
		break
	}

	ended := map[string]int{}
	for line := range strings.Lines(log.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l["msg"] == "call ended" {
			ended[fmt.Sprint(l["run_id"], " ", l["call_id"], " ", l["tool"], " ", l["trace_id"])]++
		}
	}
	told := map[string]int{}
	for _, res := range results[:5] {
		told[fmt.Sprint(res.RunID, " ", res.CallID, " ", res.Tool, " ", traceID)]++
	}
	if !maps.Equal(ended, told) {
		t.Errorf("the log tells of %v, callers of %v", ended, told)
	}
	if strings.Contains(log.String()+string(text), password) {
		t.Error("the log or the metrics hold what a caller wrote")
	}
}

// series reads what /metrics shows: counters and gauges.
func series(t *testing.T, text []byte) map[string]float64 {
	t.Helper()
	p := expfmt.NewTextParser(promodel.UTF8Validation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %.2000s", err, text)
	}
	out := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			if m.GetHistogram() == nil {
				out[name+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
			}
		}
	}
	return out
}
