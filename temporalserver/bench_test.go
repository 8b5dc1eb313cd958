package temporalserver_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"toolsvc/temporalclient"
)

// The benchmarks report the median, the 95th and the 99th percentile and the slowest, in milliseconds, beside the mean that Go reports.
//
//	go test ./temporalserver -run '^$' -bench . -benchtime 500x

// latencies measures do once per iteration.
func latencies(b *testing.B, do func(i int) error) {
	b.Helper()
	for i := range 20 { // the first calls load caches and open pollers
		must(b, do(-1-i))
	}
	taken := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		must(b, do(i))
		taken = append(taken, time.Since(began))
	}
	slices.Sort(taken)
	for name, part := range map[string]float64{"p50-ms": 0.5, "p95-ms": 0.95, "p99-ms": 0.99, "max-ms": 1} {
		at := taken[int(float64(len(taken)-1)*part)]
		b.ReportMetric(float64(at.Microseconds())/1000, name)
	}
}

func benchmark(b *testing.B, o worker.Options, do func(c *temporalclient.Conn, queue, id string) error) {
	c := dial(b, shared.Address())
	queue := fmt.Sprintf("bench-%d", queues.Add(1))
	startWorkerOn(b, c.Client, queue, o)
	latencies(b, func(i int) error { return do(c, queue, fmt.Sprintf("%s-%d", queue, i)) })
}

func run(eager bool, workflow any) func(c *temporalclient.Conn, queue, id string) error {
	return func(c *temporalclient.Conn, queue, id string) error {
		r, err := c.Client.ExecuteWorkflow(ctxOf(), client.StartWorkflowOptions{ID: id, TaskQueue: queue, EnableEagerStart: eager}, workflow, "x")
		if err != nil {
			return err
		}
		return r.Get(ctxOf(), nil)
	}
}

func updateWithStart(eager bool, what call) func(c *temporalclient.Conn, queue, id string) error {
	return func(c *temporalclient.Conn, queue, id string) error {
		start := c.Client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{ID: id, TaskQueue: queue, EnableEagerStart: eager,
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING}, untilUpdated)
		h, err := c.Client.UpdateWithStartWorkflow(ctxOf(), client.UpdateWithStartWorkflowOptions{StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{UpdateName: "call", Args: []any{what}, WaitForStage: client.WorkflowUpdateStageCompleted}})
		if err != nil {
			return err
		}
		return h.Get(ctxOf(), nil)
	}
}

func BenchmarkActivity(b *testing.B)      { benchmark(b, worker.Options{}, run(false, withActivity)) }
func BenchmarkActivityEager(b *testing.B) { benchmark(b, worker.Options{}, run(true, withActivity)) }
func BenchmarkLocalActivity(b *testing.B) {
	benchmark(b, worker.Options{}, run(false, withLocalActivity))
}
func BenchmarkLocalActivityEager(b *testing.B) {
	benchmark(b, worker.Options{}, run(true, withLocalActivity))
}
func BenchmarkUpdateWithStart(b *testing.B) {
	benchmark(b, worker.Options{}, updateWithStart(false, call{None: true, Last: true}))
}
func BenchmarkUpdateWithStartActivity(b *testing.B) {
	benchmark(b, worker.Options{}, updateWithStart(false, call{Last: true}))
}
func BenchmarkUpdateWithStartLocalActivity(b *testing.B) {
	benchmark(b, worker.Options{}, updateWithStart(false, call{Local: true, Last: true}))
}

// benchmarkUpdate measures calls of one run that goes on.
func benchmarkUpdate(b *testing.B, o worker.Options, what call) {
	c := dial(b, shared.Address())
	queue := fmt.Sprintf("bench-%d", queues.Add(1))
	startWorkerOn(b, c.Client, queue, o)
	var id string
	n := 0
	latencies(b, func(int) error {
		if n++; n%500 == 1 { // a run takes 2,000 updates at most
			id = fmt.Sprintf("%s-run-%d", queue, n)
			if err := updateWithStart(false, call{None: true})(c, queue, id); err != nil {
				return err
			}
		}
		h, err := c.Client.UpdateWorkflow(ctxOf(), client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: "call", Args: []any{what}, WaitForStage: client.WorkflowUpdateStageCompleted})
		if err != nil {
			return err
		}
		return h.Get(ctxOf(), nil)
	})
}

func BenchmarkUpdate(b *testing.B)         { benchmarkUpdate(b, worker.Options{}, call{None: true}) }
func BenchmarkUpdateActivity(b *testing.B) { benchmarkUpdate(b, worker.Options{}, call{}) }
func BenchmarkUpdateLocalActivity(b *testing.B) {
	benchmarkUpdate(b, worker.Options{}, call{Local: true})
}

func ctxOf() context.Context { return context.Background() }
