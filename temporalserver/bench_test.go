package temporalserver_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
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
	cpu := processorTime(b)
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		must(b, do(i))
		taken = append(taken, time.Since(began))
	}
	report(b, taken, cpu)
}

// report adds the percentiles to a benchmark's line, and the processor time of server, worker and client together since began, which
// varies less on a busy machine than the time on the clock.
func report(b *testing.B, taken []time.Duration, began time.Duration) {
	b.ReportMetric(float64((processorTime(b)-began).Microseconds())/1000/float64(len(taken)), "cpu-ms/op")
	slices.Sort(taken)
	for name, part := range map[string]float64{"p50-ms": 0.5, "p95-ms": 0.95, "p99-ms": 0.99, "max-ms": 1} {
		at := taken[int(float64(len(taken)-1)*part)]
		b.ReportMetric(float64(at.Microseconds())/1000, name)
	}
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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

// BenchmarkWorkerOptions compares what a worker can be told, for the shape of a healthy step: an update that runs one activity.
func BenchmarkWorkerOptions(b *testing.B) {
	autoscaling := worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{})
	for _, v := range []struct {
		name    string
		options worker.Options
	}{
		{"default", worker.Options{}},
		{"8 pollers", worker.Options{MaxConcurrentWorkflowTaskPollers: 8, MaxConcurrentActivityTaskPollers: 8}},
		{"autoscaling pollers", worker.Options{WorkflowTaskPollerBehavior: autoscaling, ActivityTaskPollerBehavior: autoscaling}},
		{"no eager activities", worker.Options{DisableEagerActivities: true}},
		{"no eager activities, 8 pollers", worker.Options{DisableEagerActivities: true, MaxConcurrentWorkflowTaskPollers: 8, MaxConcurrentActivityTaskPollers: 8}},
	} {
		b.Run(v.name, func(b *testing.B) { benchmarkUpdate(b, v.options, call{}) })
	}
}

// BenchmarkParallel measures runs of one activity, several at a time: throughput is 1 / (ns/op).
func BenchmarkParallel(b *testing.B) {
	for _, atOnce := range []int{4, 16, 64} {
		b.Run(fmt.Sprint(atOnce), func(b *testing.B) {
			c := dial(b, shared.Address())
			queue := fmt.Sprintf("bench-%d", queues.Add(1))
			startWorkerOn(b, c.Client, queue, worker.Options{MaxConcurrentWorkflowTaskPollers: 8, MaxConcurrentActivityTaskPollers: 8})
			do := updateWithStart(false, call{Last: true})
			var mu sync.Mutex
			var taken []time.Duration
			var next atomic.Int64
			cpu := processorTime(b)
			b.SetParallelism(max(1, atOnce/runtime.GOMAXPROCS(0)))
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					began := time.Now()
					if err := do(c, queue, fmt.Sprintf("%s-%d", queue, next.Add(1))); err != nil {
						b.Error(err)
						return
					}
					mu.Lock()
					taken = append(taken, time.Since(began))
					mu.Unlock()
				}
			})
			report(b, taken, cpu)
		})
	}
}
