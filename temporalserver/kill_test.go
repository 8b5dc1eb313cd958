package temporalserver_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
)

// Invariant: a workflow whose start the server acknowledged finishes, however often the server is killed meanwhile.
//
// Five times the server is killed with SIGKILL while several callers start workflows (a timer, then an activity) as fast as they can; all
// that were accepted must end with their result. What a caller got an error for may or may not exist: it does not count.
func TestKillsUnderLoadLoseNothing(t *testing.T) {
	const (
		rounds   = 5
		perRound = 40 // accepted before the next kill
		callers  = 8
	)
	dir := t.TempDir()
	server := startChild(t, dir)
	c := dial(t, server.Address) // one client throughout: the server comes back on the same port
	queue := startWorker(t, c.Client)

	var mu sync.Mutex
	var accepted []string
	counts := make(chan int, callers)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var load sync.WaitGroup
	for caller := range callers {
		load.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("load-%d-%d", caller, i)
				attempt, stop := context.WithTimeout(ctx, 2*time.Second)
				_, err := c.Client.ExecuteWorkflow(attempt, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, withTimer, 50*time.Millisecond)
				stop()
				if err != nil {
					continue
				}
				mu.Lock()
				accepted = append(accepted, id)
				n := len(accepted)
				mu.Unlock()
				select {
				case counts <- n:
				case <-ctx.Done():
				}
			}
		})
	}
	for round := 1; round <= rounds; round++ {
		for n := range counts {
			if n >= round*perRound {
				break
			}
		}
		server.kill()
		server = startChild(t, dir)
	}
	cancel()
	load.Wait()

	waiting, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	for _, id := range accepted {
		var answer string
		if err := c.Client.GetWorkflow(waiting, id, "").Get(waiting, &answer); err != nil || answer != "echo timer" {
			t.Errorf("workflow %s was accepted and ended with %q, %v", id, answer, err)
		}
	}
	t.Logf("%d workflows accepted over %d kills, all of them finished", len(accepted), rounds)
}
