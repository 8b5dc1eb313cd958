package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Browser is what the pool of the browser holds.
type Browser struct {
	Up bool
	// Open counts the runs that have a place, Busy those of them with an attempt under way, and Limit bounds them.
	Open, Busy, Limit int
	// Starts, Crashes and TabCrashes count from the start of the process.
	Starts, Crashes, TabCrashes int64
}

// Readings are what is read at a scrape; nil leaves one out.
type Readings struct {
	Browser func() Browser
	// Backlog returns how many tasks wait in Temporal, by type. It has a second to answer, and is asked every ten at most.
	Backlog func(context.Context) (map[string]int64, error)
	// ArtifactBytes returns the size of all artifacts, under the same terms.
	ArtifactBytes func(context.Context) (int64, error)
}

// Read lets scrapes read what is not counted; what was to be read before is forgotten.
func (t *Telemetry) Read(r Readings) {
	if t == nil {
		return
	}
	t.reading.Lock()
	defer t.reading.Unlock()
	if t.scraped != nil {
		t.registry.Unregister(t.scraped)
	}
	t.scraped = &scraped{Readings: r}
	t.registry.MustRegister(t.scraped)
}

const (
	readTimeout = time.Second
	readEvery   = 10 * time.Second
)

// scraped is the collector of Readings.
type scraped struct {
	Readings

	mu      sync.Mutex
	read    time.Time
	backlog map[string]int64
	bytes   int64
	hasSize bool
}

// What is read at a scrape.
var (
	browserUp      = desc("toolsvc_browser_up", gauge)
	browserOpen    = desc("toolsvc_browser_sessions", gauge)
	browserLimit   = desc("toolsvc_browser_sessions_limit", gauge)
	browserStarts  = desc("toolsvc_browser_starts_total", counter)
	browserCrashes = desc("toolsvc_browser_crashes_total", counter)
	backlog        = desc("toolsvc_task_queue_backlog", gauge)
	artifactBytes  = desc("toolsvc_artifact_bytes", gauge)
)

// Describe implements prometheus.Collector.
func (s *scraped) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{browserUp, browserOpen, browserLimit, browserStarts, browserCrashes, backlog, artifactBytes} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. What cannot be read now is left out of the scrape, so that an old value is never taken for a new one.
func (s *scraped) Collect(ch chan<- prometheus.Metric) {
	give := func(d *prometheus.Desc, k prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, k, v, labels...)
	}
	if s.Browser != nil {
		b := s.Browser()
		up := 0.0
		if b.Up {
			up = 1
		}
		give(browserUp, prometheus.GaugeValue, up)
		give(browserOpen, prometheus.GaugeValue, float64(b.Open), "open")
		give(browserOpen, prometheus.GaugeValue, float64(b.Busy), "busy")
		give(browserLimit, prometheus.GaugeValue, float64(b.Limit))
		give(browserStarts, prometheus.CounterValue, float64(b.Starts))
		give(browserCrashes, prometheus.CounterValue, float64(b.Crashes), "browser")
		give(browserCrashes, prometheus.CounterValue, float64(b.TabCrashes), "tab")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.read) >= readEvery {
		s.ask()
	}
	for kind, n := range s.backlog {
		give(backlog, prometheus.GaugeValue, float64(n), kind)
	}
	if s.hasSize {
		give(artifactBytes, prometheus.GaugeValue, float64(s.bytes))
	}
}

// ask reads what takes a while.
func (s *scraped) ask() {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	s.read, s.backlog, s.hasSize = time.Now(), nil, false
	if s.Backlog != nil {
		if n, err := s.Backlog(ctx); err == nil {
			s.backlog = n
		}
	}
	if s.ArtifactBytes != nil {
		if n, err := s.ArtifactBytes(ctx); err == nil {
			s.bytes, s.hasSize = n, true
		}
	}
}
