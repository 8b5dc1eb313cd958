//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"toolsvc/tool"
)

// client calls toolsvc as a careful client does: it repeats a request with its idempotency key until an answer comes.
type client struct {
	base     string
	inFlight atomic.Int64 // requests under way: a fault lands when there are some
	mu       sync.Mutex
	statuses map[int]int // answers by status; 0: none came
}

// runState is the state of a run, as far as it is looked at.
type runState struct {
	RunID   string `json:"run_id"`
	Outcome string `json:"outcome"`
	Steps   []struct {
		CallID string       `json:"call_id"`
		Tool   string       `json:"tool"`
		Status string       `json:"status"`
		Result *tool.Result `json:"result"`
	} `json:"steps"`
	Questions []json.RawMessage `json:"questions"`
}

// once makes one request. Status 0 says that no answer came.
func (c *client) once(ctx context.Context, method, path, key string, body any) (status int, answer []byte) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // bodies are of our own making
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	if body == nil {
		req.Body, req.ContentLength, req.GetBody = nil, 0, nil
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	c.inFlight.Add(1)
	defer c.inFlight.Add(-1)
	defer func() {
		c.mu.Lock()
		c.statuses[status]++
		c.mu.Unlock()
	}()
	resp, err := plain.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil
	}
	return resp.StatusCode, answer
}

// insist repeats a request until an answer comes that is not "later": no answer, 429, 500 and 503 are.
func (c *client) insist(ctx context.Context, method, path, key string, body any) (status int, answer []byte, err error) {
	for {
		status, answer = c.once(ctx, method, path, key, body)
		switch {
		case status != 0 && status != http.StatusTooManyRequests && status < 500:
			return status, answer, nil
		case !pause(ctx, 150*time.Millisecond):
			return status, answer, fmt.Errorf("%w: %s %s: last status %d %s", errNoResult, method, path, status, clip(string(answer), 300))
		}
	}
}

// call makes a call in a run and waits for its result.
func (c *client) call(ctx context.Context, run, key, name string, args any) (*tool.Result, error) {
	return asResult(c.insist(ctx, http.MethodPost, "/v1/tools/"+name+"?run="+run, key, args))
}

// result waits for the result of a call.
func (c *client) result(ctx context.Context, run, call string) (*tool.Result, error) {
	return asResult(c.insist(ctx, http.MethodGet, "/v1/runs/"+run+"/calls/"+call, "", nil))
}

func asResult(status int, answer []byte, err error) (*tool.Result, error) {
	if err != nil {
		return nil, err
	}
	var r tool.Result
	if err := json.Unmarshal(answer, &r); err != nil || r.CallID == "" {
		return nil, fmt.Errorf("status %d with %s, which is no result", status, clip(string(answer), 400))
	}
	return &r, nil
}

// state reads a run; nil when there is none.
func (c *client) state(ctx context.Context, run string) (*runState, error) {
	status, answer, err := c.insist(ctx, http.MethodGet, "/v1/runs/"+run, "", nil)
	if err != nil || status == http.StatusNotFound {
		return nil, err
	}
	var st runState
	if err := json.Unmarshal(answer, &st); err != nil || st.RunID == "" {
		return nil, fmt.Errorf("the state of %s is status %d with %s", run, status, clip(string(answer), 400))
	}
	return &st, nil
}

// watch follows the events of a run until it is over or ctx ends, and takes up the stream again where it broke off.
func (c *client) watch(ctx context.Context, run string) (events []event) {
	for ctx.Err() == nil {
		over := c.follow(ctx, run, &events)
		if over || !pause(ctx, 100*time.Millisecond) {
			break
		}
	}
	return events
}

// follow reads one stream; over tells that the server said that nothing will follow.
func (c *client) follow(ctx context.Context, run string, events *[]event) (over bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/runs/"+run+"/events", nil)
	if err != nil {
		panic(err)
	}
	if n := len(*events); n > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt((*events)[n-1].ID, 10))
	}
	resp, err := plain.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close() //nolint:errcheck // it breaks off or has ended
	if resp.StatusCode == http.StatusNoContent {
		return true
	}
	if resp.StatusCode != http.StatusOK {
		return false
	}
	var e event
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			e.ID, _ = strconv.ParseInt(value, 10, 64) // a broken one is out of place, and is found so
		case "event":
			e.Kind = value
		case "data":
			e.Data = json.RawMessage(value)
		case "":
			if lines.Text() == "" && e.Data != nil {
				*events = append(*events, e)
				e = event{}
			}
		}
	}
	return false
}
