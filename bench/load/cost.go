//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"toolsvc/bench/gym"
	"toolsvc/temporalclient"
	"toolsvc/tool"
)

// cost says what a healthy step costs in Temporal, and what of a verified click is not the browser's own time.
func cost(ctx context.Context, s *server, site *gym.Server, n int, out io.Writer) error {
	var runs []string
	steps := 0
	var whole, attempt []time.Duration
	for range n {
		run := tool.NewRunID()
		r, err := s.call(ctx, run, "browser.navigate", map[string]any{"url": site.URL + "/c/order?mode=normal&session=" + run})
		if err != nil || !r.OK() {
			return fmt.Errorf("open the page: %w %+v", err, r)
		}
		began := time.Now()
		r, err = s.call(ctx, run, "browser.click", placeOrder)
		if err != nil || !r.OK() || len(r.Attempts) != 1 {
			return fmt.Errorf("click: %w %+v", err, r)
		}
		whole = append(whole, time.Since(began))
		attempt = append(attempt, time.Duration(r.Attempts[0].DurationMS)*time.Millisecond)
		if r, err = s.call(ctx, run, "document.read", map[string]any{"path": "guide.md"}); err != nil || !r.OK() {
			return fmt.Errorf("read: %w %+v", err, r)
		}
		steps += 3
		runs = append(runs, run)
		if err := s.end(ctx, run); err != nil {
			return err
		}
	}
	activities, local, err := s.activities(ctx, runs)
	if err != nil {
		return err
	}
	var w, a time.Duration
	for i := range whole {
		w, a = w+whole[i], a+attempt[i]
	}
	fmt.Fprintf(out, "\nA healthy step: %.2f activities (%d of %d steps in %d runs), and %.2f local ones.\n", float64(activities)/float64(steps), activities, steps, len(runs), float64(local)/float64(steps))
	fmt.Fprintf(out, "\nA verified click: %.0f ms median for the client, of which the attempt (finding, looking, clicking, settling, looking again) takes %.0f ms;\n"+
		"in sum, %.0f %% of the time is spent outside of it: HTTP, Temporal, the store, the queue.\n", percentile(whole, 50).Seconds()*1000, percentile(attempt, 50).Seconds()*1000, 100*(1-a.Seconds()/w.Seconds()))
	return nil
}

// activities counts the activities, and the local ones, in the histories of runs.
func (s *server) activities(ctx context.Context, runs []string) (activities, local int, err error) {
	at, ready, err := temporalclient.ReadEndpoint(filepath.Join(s.dir, "state", "temporal"))
	if err != nil || !ready {
		return 0, 0, fmt.Errorf("find Temporal: ready %t, %w", ready, err)
	}
	c, err := temporalclient.Dial(ctx, temporalclient.Options{Address: at.Address, Namespace: at.Namespace, Direct: true})
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	for _, run := range runs {
		events := c.Client.GetWorkflowHistory(ctx, run, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				return 0, 0, err
			}
			switch e.EventType {
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				activities++
			case enumspb.EVENT_TYPE_MARKER_RECORDED:
				if e.GetMarkerRecordedEventAttributes().GetMarkerName() == "LocalActivity" {
					local++
				}
			}
		}
	}
	return activities, local, nil
}
