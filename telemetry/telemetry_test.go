package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"toolsvc/gemini"
	"toolsvc/store"
	"toolsvc/tool"
)

var update = flag.Bool("update", false, "write docs/reference/metrics.md")

func shown(t *testing.T, o Options) *Telemetry {
	t.Helper()
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// value reads one series; -1 when it is not there.
func value(t *testing.T, s *Telemetry, name string, labels ...string) float64 {
	t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if slices.Equal(labels, values(m)) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return -1
}

// values are the values of a series' labels, in the order of their names.
func values(m *dto.Metric) (vs []string) {
	for _, l := range m.GetLabel() {
		vs = append(vs, l.GetValue())
	}
	return vs
}

func event(t *testing.T, kind, key string, data any) store.Event {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return store.Event{ID: 1, RunID: "r_1", Kind: kind, Key: key, Data: text, At: time.Date(2030, 1, 1, 0, 1, 0, 0, time.UTC)}
}

const secret = "hunter2-the-secret"

// What is counted of a call stands in its result; what callers wrote stands in no label and in no line.
func TestObserve(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	s := shown(t, Options{Logger: NewLogger(&lines, slog.LevelDebug)})
	healed := &tool.Result{CallID: "c_1", RunID: "r_1", Tool: "browser.click", Result: json.RawMessage(`{"password":"` + secret + `"}`),
		Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Threshold: .7, Explanation: secret},
		Attempts: []tool.AttemptRecord{{Number: 1, Source: tool.SourceAX, Effect: tool.EffectNone, Failure: tool.TargetNotFound, Message: secret, DurationMS: 20},
			{Number: 2, Source: tool.SourceCDP, Effect: tool.EffectUnknown, Failure: tool.VerificationFailed, RolledBack: true},
			{Number: 3, Source: tool.SourceVision, Effect: tool.EffectConfirmed}},
		Repairs:   []tool.Repair{{Path: "/x", Rule: "string_to_integer", Tier: "lossless", From: secret, To: "5"}},
		Telemetry: tool.Telemetry{DurationMS: 300, WaitedMS: 1000}}
	failed := &tool.Result{CallID: "c_2", RunID: "r_1", Tool: "browser.click", Error: tool.NewError("made_up_"+secret, secret),
		Attempts: []tool.AttemptRecord{{Number: 1, Source: "made up " + secret, Effect: tool.EffectUnknown, Failure: tool.RollbackRefused}}}
	question := tool.Question{ID: "a_1", Kind: tool.AskApproval, Text: secret, AskedAt: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	traced := Remote(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	s.Observe(traced, []store.Event{
		event(t, store.KindRun, "run/running", map[string]any{"outcome": "running", "title": secret}),
		event(t, store.KindToolResult, "c_1/0/result", healed),
		event(t, store.KindNarration, "c_1/10/wait", map[string]any{"text": secret}),
		event(t, store.KindToolResult, "c_2/0/result", failed),
		event(t, store.KindApproval, "a_1/asked", question),
		event(t, store.KindApproval, "a_1/closed", map[string]any{"question": question, "how": "answered", "by": secret}),
		event(t, store.KindRun, "run/failed", map[string]any{"outcome": "failed"}),
		event(t, "kind "+secret, "k", nil),
		{RunID: "r_1", Kind: store.KindToolResult, Data: []byte("broken " + secret)},
	})
	s.Rejected(&tool.Result{Tool: "browser.type", Error: tool.NewError(tool.MissingFields, secret)})
	s.Asked(gemini.Asked{Purpose: "plan", Usage: gemini.Usage{InputTokens: 100, OutputTokens: 7}, Took: time.Second})
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"toolsvc_calls_total", []string{"none", "browser.click", "success"}, 1}, // failure, tool, verdict
		{"toolsvc_calls_total", []string{"other", "browser.click", "none"}, 1},
		{"toolsvc_calls_healed_total", []string{"browser"}, 1},
		{"toolsvc_calls_rejected_total", []string{"missing_fields", "browser.type"}, 1},
		{"toolsvc_attempts_total", []string{"none", "target_not_found", "ax", "browser"}, 1}, // effect, failure, source, toolset
		{"toolsvc_attempts_total", []string{"confirmed", "none", "vision", "browser"}, 1},
		{"toolsvc_attempts_total", []string{"unknown", "rollback_refused", "other", "browser"}, 1},
		{"toolsvc_rollbacks_total", []string{"performed", "browser"}, 1},
		{"toolsvc_rollbacks_total", []string{"refused", "browser"}, 1},
		{"toolsvc_repairs_total", []string{"lossless"}, 1},
		{"toolsvc_repairs_total", []string{"model"}, 0},
		{"toolsvc_backoffs_total", nil, 1},
		{"toolsvc_call_backoff_seconds", nil, 1},
		{"toolsvc_runs_started_total", nil, 1},
		{"toolsvc_runs_ended_total", []string{"failed"}, 1},
		{"toolsvc_questions_total", []string{"approval"}, 1},
		{"toolsvc_question_wait_seconds", []string{"answered", "approval"}, 1},
		{"toolsvc_events_total", []string{"tool_result"}, 3},
		{"toolsvc_events_total", []string{"other"}, 1},
		{"toolsvc_model_tokens_total", []string{"input", "plan"}, 100},
	} {
		if got := value(t, s, c.name, c.labels...); got != c.want {
			t.Errorf("%s%q is %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	rec := httptest.NewRecorder()
	s.MetricsHandler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if text := rec.Body.String(); strings.Contains(text, secret) || !strings.Contains(text, "process_open_fds") || !strings.Contains(text, "go_goroutines") {
		t.Errorf("metrics: %.3000s", text)
	}
	if strings.Contains(lines.String(), secret) {
		t.Errorf("the log holds the secret: %s", &lines)
	}
	ends := 0
	for line := range strings.Lines(lines.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if l["trace_id"] != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("a line without its trace: %s", line)
		}
		if l["msg"] == "call ended" {
			if ends++; l["call_id"] == "c_1" && (l["run_id"] != "r_1" || l["attempt"] != 3.0 || l["verdict"] != "success" || l["source"] != "vision") {
				t.Errorf("line %s", line)
			}
		}
	}
	if ends != 2 {
		t.Errorf("%d calls ended in the log: %s", ends, &lines)
	}
}

func TestToolsAreBounded(t *testing.T) {
	t.Parallel()
	s := shown(t, Options{})
	for n := range maxTools + 5 {
		s.Rejected(&tool.Result{Tool: tool.ID(fmt.Sprintf("mcp.tool%d", n)), Error: tool.NewError(tool.MissingFields, "x")})
	}
	if got := value(t, s, "toolsvc_calls_rejected_total", "missing_fields", "other"); got != 5 {
		t.Errorf("%v calls are of other tools", got)
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/": "/", "/mcp": "/mcp", "/v1/tools/browser.click": "/v1/tools/{tool}", "/v1/runs/r_1": "/v1/runs/{run}", "/v1/runs/r_1/events": "/v1/runs/{run}/events",
		"/v1/runs/r_1/answers/q_1": "/v1/runs/{run}/answers/{id}", "/v1/artifacts/sha256:00": "/v1/artifacts/{digest}", "/runs/r_1": "/runs/*", "/v1/runs/r_1/" + secret: other, "/" + secret: other, "/v1/x/y": other, "": other} {
		if got := Route(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// Nothing is traced, and nothing dialled, unless the environment names a receiver.
func TestTracingIsOffByDefault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env map[string]string
		on  bool
		err string
	}{
		"nothing":      {nil, false, ""},
		"an endpoint":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true, ""},
		"for traces":   {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, true, ""},
		"disabled":     {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, false, ""},
		"no exporter":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"another one":  {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "otlp and none"},
		"a protocol":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false, "http/protobuf and grpc"},
		"an empty one": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, false, ""},
	} {
		s, err := New(t.Context(), Options{Getenv: func(k string) string { return c.env[k] }})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || (s.provider != nil) != c.on {
			t.Errorf("%s: tracing %v, %v", name, s.provider != nil, err)
			continue
		}
		interceptors, err := s.ClientInterceptors()
		if err != nil || (len(interceptors) > 0) != c.on {
			t.Errorf("%s: %d interceptors, %v", name, len(interceptors), err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var none *Telemetry // what is not there shows nothing, and breaks nothing
	none.Observe(t.Context(), nil)
	none.Rejected(nil)
	none.Awaited()()
	none.Tracer()
	if err := none.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestHTTPTakesAndPassesOnTheTrace(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	s := shown(t, Options{Spans: spans})
	var passed string
	h := s.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		passed += r.Header.Get("traceparent")
		w.WriteHeader(http.StatusTeapot)
	}))
	r := httptest.NewRequest(http.MethodPost, "/v1/tools/browser.click?token="+secret, strings.NewReader(secret))
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	r.Header.Set("Authorization", "Bearer "+secret)
	h.ServeHTTP(httptest.NewRecorder(), r)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("BREW", "/healthz", nil))
	got := spans.GetSpans()
	if len(got) != 1 || got[0].Name != "HTTP POST /v1/tools/{tool}" || got[0].Parent.SpanID().String() != "b7ad6b7169203331" ||
		passed != "00-0af7651916cd43dd8448eb211c80319c-"+got[0].SpanContext.SpanID().String()+"-01" {
		t.Fatalf("%+v, passed %s", got, passed)
	}
	if strings.Contains(fmt.Sprintf("%+v", got), secret) {
		t.Error("the span holds the secret")
	}
	if value(t, s, "toolsvc_http_request_duration_seconds", "418", "POST", "/v1/tools/{tool}") != 1 || value(t, s, "toolsvc_http_request_duration_seconds", "418", "other", "/healthz") != 1 {
		t.Error("the requests were not measured")
	}
}

var descName = regexp.MustCompile(`fqName: "([^"]+)"`)

// The catalogue lists what is exported, and the reference lists the catalogue.
func TestMetricsReference(t *testing.T) {
	t.Parallel()
	s := shown(t, Options{})
	s.Read(Readings{Browser: func() Browser { return Browser{Up: true, Crashes: 2} }, Backlog: func(context.Context) (map[string]int64, error) { return map[string]int64{"activity": 3}, nil }})
	if value(t, s, "toolsvc_browser_crashes_total", "browser") != 2 || value(t, s, "toolsvc_task_queue_backlog", "activity") != 3 {
		t.Error("what is read at a scrape is not there")
	}
	exported := map[string]bool{}
	ch := make(chan *prometheus.Desc)
	go func() { s.registry.Describe(ch); close(ch) }()
	for d := range ch {
		if m := descName.FindStringSubmatch(d.String()); m != nil && strings.HasPrefix(m[1], "toolsvc_") {
			exported[m[1]] = true
		}
	}
	var b strings.Builder
	b.WriteString("# Metrics\n\n<!-- go test ./telemetry -update -->\n\nWhat `/metrics` shows of toolsvc's own, beside the usual `go_` and `process_` metrics. [Operations](../operations.md#metrics) says how to scrape it.\nA histogram has the series `_bucket`, `_sum` and `_count`; `toolset` is the part of a tool's name before the dot.\n\n| metric | kind | labels | |\n|---|---|---|---|\n")
	listed := map[string]bool{}
	for _, d := range catalogue {
		listed[d.name] = true
		labels := "–"
		if len(d.labels) > 0 {
			labels = "`" + strings.Join(d.labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.name, d.kind, labels, d.help)
		if (d.kind == counter) != strings.HasSuffix(d.name, "_total") || d.kind == histogram && !strings.HasSuffix(d.name, "_seconds") {
			t.Errorf("%s is no name for a %s", d.name, d.kind)
		}
	}
	if !maps.Equal(exported, listed) {
		t.Errorf("exported %q\nlisted %q", slices.Sorted(maps.Keys(exported)), slices.Sorted(maps.Keys(listed)))
	}
	file := filepath.Join("..", "docs", "reference", "metrics.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != b.String() {
		t.Errorf("docs/reference/metrics.md is not what the catalogue says (%v): go test ./telemetry -update", err)
	}
}

// The dashboard asks for nothing that is not there, by no label that is not there, and shows all there is.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "deploy", "grafana", "toolsvc.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID    string `json:"uid"`
		Panels []struct {
			ID      int    `json:"id"`
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &board); err != nil || board.UID == "" || len(board.Panels) < 10 {
		t.Fatalf("%d panels, %v", len(board.Panels), err)
	}
	used, ids := map[string]bool{}, map[int]bool{}
	name, by := regexp.MustCompile(`toolsvc_[a-z_]+`), regexp.MustCompile(`by \(([^)]*)\)`)
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			known := map[string]bool{"le": true, "job": true, "instance": true}
			for _, n := range name.FindAllString(target.Expr, -1) {
				i := slices.IndexFunc(catalogue, func(d definition) bool {
					if d.kind == histogram {
						return n == d.name+"_bucket" || n == d.name+"_sum" || n == d.name+"_count"
					}
					return n == d.name
				})
				if i < 0 {
					t.Errorf("panel %q asks for %s, which is not exported", p.Title, n)
					continue
				}
				used[catalogue[i].name] = true
				for _, l := range catalogue[i].labels {
					known[l] = true
				}
			}
			for _, m := range by.FindAllStringSubmatch(target.Expr, -1) {
				for l := range strings.SplitSeq(m[1], ",") {
					if !known[strings.TrimSpace(l)] {
						t.Errorf("panel %q groups by %s, which no metric of it has", p.Title, l)
					}
				}
			}
		}
	}
	for _, d := range catalogue {
		if !used[d.name] {
			t.Errorf("no panel shows %s", d.name)
		}
	}
}
