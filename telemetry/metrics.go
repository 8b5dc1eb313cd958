package telemetry

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"toolsvc/gemini"
	"toolsvc/store"
	"toolsvc/tool"
)

// none is the value of a label where there is nothing to name, other where a name is not one of those that are expected.
const (
	none  = "none"
	other = "other"
)

// maxTools bounds the tools that have series of their own; calls of further ones count as other.
const maxTools = 1000

// metrics are the metrics of one process.
type metrics struct {
	registry *prometheus.Registry

	calls, healed, rejected, attempts, rollbacks, repairs, backoffs, questions, runsStarted, runsEnded, events,
	modelRequests, modelTokens, purged, purgedBytes *prometheus.CounterVec
	callSeconds, queueSeconds, backoffSeconds, attemptSeconds, questionSeconds, modelSeconds, httpSeconds, grpcSeconds,
	activitySeconds, scheduleSeconds *prometheus.HistogramVec
	awaited, activities *prometheus.GaugeVec

	mu    sync.Mutex
	tools map[tool.ID]bool // those that have series
}

func newMetrics(version string) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), tools: map[tool.ID]bool{}}
	m.calls, m.healed, m.rejected = m.counter("toolsvc_calls_total"), m.counter("toolsvc_calls_healed_total"), m.counter("toolsvc_calls_rejected_total")
	m.attempts, m.rollbacks, m.repairs = m.counter("toolsvc_attempts_total"), m.counter("toolsvc_rollbacks_total"), m.counter("toolsvc_repairs_total")
	m.backoffs, m.questions = m.counter("toolsvc_backoffs_total"), m.counter("toolsvc_questions_total")
	m.runsStarted, m.runsEnded, m.events = m.counter("toolsvc_runs_started_total"), m.counter("toolsvc_runs_ended_total"), m.counter("toolsvc_events_total")
	m.modelRequests, m.modelTokens = m.counter("toolsvc_model_requests_total"), m.counter("toolsvc_model_tokens_total")
	m.purged, m.purgedBytes = m.counter("toolsvc_purged_total"), m.counter("toolsvc_purged_artifact_bytes_total")
	m.callSeconds, m.queueSeconds, m.backoffSeconds = m.histogram("toolsvc_call_duration_seconds"), m.histogram("toolsvc_call_queue_seconds"), m.histogram("toolsvc_call_backoff_seconds")
	m.attemptSeconds, m.questionSeconds, m.modelSeconds = m.histogram("toolsvc_attempt_duration_seconds"), m.histogram("toolsvc_question_wait_seconds"), m.histogram("toolsvc_model_duration_seconds")
	m.httpSeconds, m.grpcSeconds = m.histogram("toolsvc_http_request_duration_seconds"), m.histogram("toolsvc_grpc_request_duration_seconds")
	m.activitySeconds, m.scheduleSeconds = m.histogram("toolsvc_activity_duration_seconds"), m.histogram("toolsvc_activity_schedule_delay_seconds")
	m.awaited, m.activities = m.gauge("toolsvc_calls_awaited"), m.gauge("toolsvc_activities_running")
	m.gauge("toolsvc_build_info").WithLabelValues(version).Set(1)
	for _, c := range []*prometheus.CounterVec{m.backoffs, m.runsStarted, m.purgedBytes} { // 0 is a value, too
		c.WithLabelValues()
	}
	for _, tier := range tiers {
		m.repairs.WithLabelValues(tier)
	}
	m.awaited.WithLabelValues()
	m.queueSeconds.WithLabelValues()
	m.backoffSeconds.WithLabelValues()
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// MetricsHandler answers scrapes, in Prometheus' text format or OpenMetrics.
func (t *Telemetry) MetricsHandler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// toolLabel is the tool's name while there are few enough.
func (m *metrics) toolLabel(id tool.ID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.tools[id] {
		if len(m.tools) >= maxTools {
			return other
		}
		m.tools[id] = true
	}
	return string(id)
}

// toolsetLabel is the toolset of a tool that has a name.
func (m *metrics) toolsetLabel(id tool.ID) string {
	if l := m.toolLabel(id); l == other {
		return other
	}
	return id.Toolset()
}

// Rejected counts a call that was answered without a run.
func (t *Telemetry) Rejected(res *tool.Result) {
	if t == nil || res == nil || res.Error == nil {
		return
	}
	t.rejected.WithLabelValues(t.toolLabel(res.Tool), failureLabel(res.Error.Code)).Inc()
}

// Awaited counts a caller that waits for a result until done is called.
func (t *Telemetry) Awaited() (done func()) {
	if t == nil {
		return func() {}
	}
	g := t.awaited.WithLabelValues()
	g.Inc()
	return g.Dec
}

// Asked counts a question to the model.
func (t *Telemetry) Asked(a gemini.Asked) {
	if t == nil {
		return
	}
	outcome := "answered"
	if a.Failed {
		outcome = "failed"
	}
	t.modelRequests.WithLabelValues(a.Purpose, outcome).Inc()
	t.modelTokens.WithLabelValues(a.Purpose, "input").Add(float64(a.Usage.InputTokens))
	t.modelTokens.WithLabelValues(a.Purpose, "output").Add(float64(a.Usage.OutputTokens))
	t.modelSeconds.WithLabelValues(a.Purpose).Observe(a.Took.Seconds())
}

// Purged counts what the retention deleted.
func (t *Telemetry) Purged(p store.Purged) {
	if t == nil {
		return
	}
	for what, n := range map[string]int64{"runs": p.Runs, "events": p.Events, "dispatches": p.Dispatches, "keys": p.Keys, "artifacts": p.Artifacts} {
		t.purged.WithLabelValues(what).Add(float64(n))
	}
	t.purgedBytes.WithLabelValues().Add(float64(p.ArtifactBytes))
}
