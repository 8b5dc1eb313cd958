package telemetry

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// kind is a kind of metric.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// definition describes a metric, for the registry and for docs/reference/metrics.md.
type definition struct {
	name   string
	kind   kind
	labels []string
	help   string
	// buckets of a histogram, upper bounds in seconds.
	buckets []float64
}

// Buckets: of what a machine does within a call, and of what people are waited for.
var (
	quick = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	slow  = []float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}
)

// catalogue lists every metric of toolsvc's own.
var catalogue = []definition{
	{"toolsvc_calls_total", counter, []string{"tool", "verdict", "failure"}, "Calls that have ended, by the verdict of their verification (none without one) and the failure that ended them (none after a success).", nil},
	{"toolsvc_call_duration_seconds", histogram, []string{"toolset", "verdict"}, "How long calls took from their turn in the queue to their result, waits for people and back-off included.", quick},
	{"toolsvc_call_queue_seconds", histogram, nil, "How long calls waited in the queue of their run for the calls before them.", quick},
	{"toolsvc_call_backoff_seconds", histogram, nil, "How long calls that backed off did so in all.", quick},
	{"toolsvc_calls_healed_total", counter, []string{"toolset"}, "Calls that succeeded after more than one attempt.", nil},
	{"toolsvc_calls_rejected_total", counter, []string{"tool", "failure"}, "Calls that were answered without a run, because their payload does not validate.", nil},
	{"toolsvc_calls_awaited", gauge, nil, "Callers that wait for a result in this process.", nil},
	{"toolsvc_attempts_total", counter, []string{"toolset", "source", "failure", "effect"}, "Attempts at calls that have ended, by the source that found the target, the failure (none without one) and what is known of the effect.", nil},
	{"toolsvc_attempt_duration_seconds", histogram, []string{"toolset", "source"}, "How long attempts took, verification and rollback included.", quick},
	{"toolsvc_rollbacks_total", counter, []string{"toolset", "outcome"}, "Rollbacks: performed, or refused because somebody else had changed the same thing.", nil},
	{"toolsvc_repairs_total", counter, []string{"tier"}, "Corrections of payloads of calls that have ended, by what made them: syntax, lossless, model or person.", nil},
	{"toolsvc_backoffs_total", counter, nil, "Waits before the same attempt was made again, because the other side asked for it.", nil},
	{"toolsvc_questions_total", counter, []string{"kind"}, "Questions that runs asked: arguments, approval, outcome or text.", nil},
	{"toolsvc_question_wait_seconds", histogram, []string{"kind", "how"}, "How long questions were open until they were answered, expired or were cancelled.", slow},
	{"toolsvc_runs_started_total", counter, nil, "Runs that have begun; stages of pipelines and runs of agents are runs, too.", nil},
	{"toolsvc_runs_ended_total", counter, []string{"outcome"}, "Runs that have ended: succeeded, failed, cancelled, or idle because no call came.", nil},
	{"toolsvc_events_total", counter, []string{"kind"}, "Events that this process has stored.", nil},
	{"toolsvc_activities_running", gauge, []string{"activity"}, "Activities that this worker is at.", nil},
	{"toolsvc_activity_duration_seconds", histogram, []string{"activity", "outcome"}, "How long this worker took for activities, repeated ones included; outcome is completed or failed.", quick},
	{"toolsvc_activity_schedule_delay_seconds", histogram, []string{"activity"}, "How long activities waited for a worker that takes them.", quick},
	{"toolsvc_task_queue_backlog", gauge, []string{"type"}, "Tasks that wait in Temporal for a worker, of all workers; type is workflow or activity.", nil},
	{"toolsvc_browser_up", gauge, nil, "1 while this process is connected to a browser.", nil},
	{"toolsvc_browser_sessions", gauge, []string{"state"}, "Runs that have a place in the browser: open counts all, busy those with an attempt under way.", nil},
	{"toolsvc_browser_sessions_limit", gauge, nil, "How many runs may have a place in the browser at once.", nil},
	{"toolsvc_browser_starts_total", counter, nil, "Browsers that this process has started.", nil},
	{"toolsvc_browser_crashes_total", counter, []string{"what"}, "What was lost unasked: the browser, or a tab.", nil},
	{"toolsvc_model_requests_total", counter, []string{"purpose", "outcome"}, "Questions to the model: plan, repair, ground, read or verify; outcome is answered or failed.", nil},
	{"toolsvc_model_tokens_total", counter, []string{"purpose", "direction"}, "Tokens as the service counts them, spent by this process; direction is input or output. What a repeated activity spends again counts again, because it costs again.", nil},
	{"toolsvc_model_duration_seconds", histogram, []string{"purpose"}, "How long questions to the model took, repetitions included.", quick},
	{"toolsvc_http_request_duration_seconds", histogram, []string{"route", "method", "code"}, "HTTP requests by route; streams of events and MCP connections last as long as their clients want.", quick},
	{"toolsvc_grpc_request_duration_seconds", histogram, []string{"method", "code"}, "gRPC requests and streams by method.", quick},
	{"toolsvc_purged_total", counter, []string{"what"}, "What the retention has deleted: runs, events, dispatches, keys and artifacts.", nil},
	{"toolsvc_purged_artifact_bytes_total", counter, nil, "Bytes of artifacts that the retention has deleted.", nil},
	{"toolsvc_artifact_bytes", gauge, nil, "Bytes of all artifacts that are kept.", nil},
	{"toolsvc_build_info", gauge, []string{"version"}, "1, with the version of the program.", nil},
}

// defined finds a metric of the catalogue; one that is not there is a mistake in this package, which every test meets.
func defined(name string, k kind) definition {
	for _, d := range catalogue {
		if d.name == name && d.kind == k {
			return d
		}
	}
	panic(fmt.Sprintf("there is no %s %s in the catalogue", k, name))
}

func (m *metrics) counter(name string) *prometheus.CounterVec {
	d := defined(name, counter)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.name, Help: d.help}, d.labels)
	m.registry.MustRegister(v)
	return v
}

func (m *metrics) gauge(name string) *prometheus.GaugeVec {
	d := defined(name, gauge)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.name, Help: d.help}, d.labels)
	m.registry.MustRegister(v)
	return v
}

func (m *metrics) histogram(name string) *prometheus.HistogramVec {
	d := defined(name, histogram)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.name, Help: d.help, Buckets: d.buckets}, d.labels)
	m.registry.MustRegister(v)
	return v
}

// desc describes a metric that is read when it is scraped.
func desc(name string, k kind) *prometheus.Desc {
	d := defined(name, k)
	return prometheus.NewDesc(d.name, d.help, d.labels, nil)
}
