package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolsvc/bench/gym"
	"toolsvc/deploy/topology"
	"toolsvc/planner"
	"toolsvc/store/postgrestest"
	"toolsvc/temporalclient"
	"toolsvc/tool"
)

// machines is several toolsvc on one machine, and a shop that counts what they do.
type machines struct {
	*testing.T
	*topology.Topology
	ctx  context.Context
	site *gym.Server
	runs *planner.Service // to ask Temporal itself
}

func startMachines(t *testing.T) *machines {
	t.Helper()
	if testing.Short() {
		t.Skip("starts PostgreSQL, Temporal and two servers; not with -short")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	tp, err := topology.Start(ctx, topology.Options{Program: exe, Env: []string{asProgram + "=1"}, Args: []string{"--end-browser"}, TemporalUI: -1, Log: &lockedWriter{to: log}})
	if errors.Is(err, postgrestest.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tp.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the processes wrote:\n%s", log)
		}
	})
	site := gymSite(t)
	conn, err := temporalclient.Dial(ctx, temporalclient.Options{Address: tp.Temporal.Said("Temporal"), Direct: true, Namespace: temporalclient.DefaultNamespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return &machines{T: t, Topology: tp, ctx: ctx, site: site, runs: &planner.Service{Client: conn.Client}}
}

// ask makes a request, and decodes the answer into out unless that is nil. It returns the status.
func (m *machines) ask(method, url, body string, out any) int {
	m.Helper()
	req, err := http.NewRequestWithContext(m.ctx, method, url, strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		m.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		m.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			m.Fatalf("%s %s: %d %s", method, url, resp.StatusCode, text)
		}
	}
	if resp.StatusCode >= 500 {
		m.Fatalf("%s %s: %d %s", method, url, resp.StatusCode, text)
	}
	return resp.StatusCode
}

// watch collects the events of a run, as "id kind", from one process; it ends with the run.
func (m *machines) watch(url, run string) <-chan []string {
	m.Helper()
	req, err := http.NewRequestWithContext(m.ctx, http.MethodGet, url+"/v1/runs/"+run+"/events", nil)
	if err != nil {
		m.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		m.Fatalf("watch %s: %v, %+v", run, err, resp)
	}
	done := make(chan []string, 1)
	go func() {
		defer resp.Body.Close()
		var seen []string
		id := ""
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if v, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = v
			}
			if v, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				seen = append(seen, id+" "+v)
			}
		}
		done <- seen
	}()
	return done
}

// until waits for a condition.
func (m *machines) until(what string, ok func() bool) {
	m.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-m.ctx.Done():
			m.Fatalf("it never came to this: %s", what)
		}
	}
}

// begin starts a run for calls at a process, which one may ask about.
func (m *machines) begin(url string) (run string) {
	m.Helper()
	var made struct {
		RunID string `json:"run_id"`
	}
	if status := m.ask(http.MethodPost, url+"/v1/runs", `{"title": "Order", "policy": {"repair": "person", "ask": true}}`, &made); status != http.StatusCreated {
		m.Fatalf("a run is answered with %d", status)
	}
	return made.RunID
}

// append appends a call at a process, and returns its identifier.
func (m *machines) append(url, run, name, args string) (call string) {
	m.Helper()
	var out struct {
		Calls []struct {
			CallID string `json:"call_id"`
		} `json:"calls"`
	}
	m.ask(http.MethodPost, url+"/v1/runs/"+run+"/calls", fmt.Sprintf(`{"calls": [{"tool": %q, "arguments": %s}]}`, name, args), &out)
	if len(out.Calls) != 1 {
		m.Fatalf("appended %+v", out)
	}
	return out.Calls[0].CallID
}

// comesTo waits for what a call comes to, at a process.
func (m *machines) comesTo(url, run, call string) (res tool.Result) {
	m.Helper()
	m.ask(http.MethodGet, url+"/v1/runs/"+run+"/calls/"+call, "", &res)
	return res
}

func (m *machines) orders(session string) int {
	n := m.site.Truth(session)
	return n.Goal + n.Wrong
}

// owner is the worker that has the run's tab, and another one.
func (m *machines) owner(run string) (owner, other *topology.Worker) {
	m.Helper()
	st, err := m.runs.State(m.ctx, run)
	if err != nil {
		m.Fatal(err)
	}
	for _, w := range m.Workers {
		name, err := w.Name()
		if err != nil {
			m.Fatal(err)
		}
		if name == st.Worker {
			owner = w
		} else {
			other = w
		}
	}
	if owner == nil || other == nil {
		m.Fatalf("the run is with %q, who is none of the workers", st.Worker)
	}
	return owner, other
}

const clickOrder = `{"target": {"name": "Place order", "role": "button"}, "expect": ["page.text.contains(\"placed\")"]}`

// Several processes are one toolsvc: any of them answers for any run, and a run outlives the one that works at it.
//
// Invariants: events are seen at every process, numbered without a gap; a question that was asked through one is answered through another;
// whatever is killed, an order is placed at most once, and when it is said to be verified exactly once; what nobody can know is asked about.
func TestSeveralMachines(t *testing.T) {
	t.Parallel()
	m := startMachines(t)
	a, b := m.Workers[0], m.Workers[1]

	t.Run("any process answers", func(t *testing.T) {
		m := *m
		m.T = t
		session := tool.NewRunID()
		run := m.begin(a.URL)
		seen := m.watch(b.URL, run)
		asked := m.append(b.URL, run, "browser.navigate", `{}`) // without its address
		var question struct {
			ID string `json:"id"`
		}
		m.until("a question is open at the other process", func() bool {
			var st struct {
				Questions []struct {
					ID string `json:"id"`
				} `json:"questions"`
			}
			m.ask(http.MethodGet, a.URL+"/v1/runs/"+run, "", &st)
			if len(st.Questions) == 1 {
				question.ID = st.Questions[0].ID
			}
			return question.ID != ""
		})
		var res tool.Result
		m.ask(http.MethodPost, b.URL+"/v1/runs/"+run+"/answers/"+question.ID, fmt.Sprintf(`{"url": "%s/c/order?mode=normal&session=%s"}`, m.site.URL, session), &res)
		if res.CallID != asked || !res.OK() {
			t.Fatalf("the answer came to %+v", res)
		}
		if res = m.comesTo(m.URL, run, m.append(m.URL, run, "browser.click", clickOrder)); !res.OK() || m.orders(session) != 1 {
			t.Errorf("%d orders, %+v", m.orders(session), res)
		}
		m.ask(http.MethodPost, a.URL+"/v1/runs/"+run+"/cancel", "", nil)
		events := <-seen
		for i, e := range events {
			if !strings.HasPrefix(e, fmt.Sprint(i+1, " ")) {
				t.Fatalf("event %q in place %d", e, i+1)
			}
		}
		if n := len(slices.DeleteFunc(slices.Clone(events), func(e string) bool { return !strings.HasSuffix(e, " tool_result") })); n != 2 {
			t.Errorf("%d results in the events %v", n, events)
		}
		if again := <-m.watch(a.URL, run); !slices.Equal(events, again) {
			t.Errorf("one process tells %v, the other %v", events, again)
		}
	})

	t.Run("a worker is killed and comes back", func(t *testing.T) {
		m := *m
		m.T = t
		session := tool.NewRunID()
		run := m.begin(a.URL)
		if res := m.comesTo(a.URL, run, m.append(a.URL, run, "browser.navigate", fmt.Sprintf(`{"url": "%s/c/order?mode=slow&delay=3000&session=%s"}`, m.site.URL, session))); !res.OK() {
			t.Fatalf("%+v", res)
		}
		owner, other := m.owner(run)
		call := m.append(other.URL, run, "browser.click", clickOrder)
		m.until("the order is placed", func() bool { return m.orders(session) > 0 })
		if err := owner.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := owner.Restart(m.ctx); err != nil {
			t.Fatal(err)
		}
		res := m.comesTo(other.URL, run, call)
		t.Logf("%s: %+v", res.Status, res.Attempts)
		if n := m.orders(session); n != 1 {
			t.Errorf("%d orders", n)
		}
		if unknown := res.Question != nil && res.Question.Kind == tool.AskOutcome; !res.OK() && !unknown {
			t.Errorf("it is neither verified nor asked about: %+v", res)
		}
		m.ask(http.MethodPost, other.URL+"/v1/runs/"+run+"/cancel", "", nil)
	})

	t.Run("a worker is killed for good", func(t *testing.T) {
		m := *m
		m.T = t
		session := tool.NewRunID()
		run := m.begin(m.URL)
		if res := m.comesTo(m.URL, run, m.append(m.URL, run, "browser.navigate", fmt.Sprintf(`{"url": "%s/c/order?mode=slow&delay=60000&session=%s"}`, m.site.URL, session))); !res.OK() {
			t.Fatalf("%+v", res)
		}
		owner, other := m.owner(run)
		call := m.append(m.URL, run, "browser.click", clickOrder)
		m.until("the order is placed", func() bool { return m.orders(session) > 0 })
		if err := owner.Kill(); err != nil {
			t.Fatal(err)
		}
		res := m.comesTo(m.URL, run, call)
		if res.Question == nil || res.Question.Kind != tool.AskOutcome || !strings.Contains(res.Question.Text, "is gone") {
			t.Fatalf("the other worker says %+v", res)
		}
		var answered tool.Result
		m.ask(http.MethodPost, other.URL+"/v1/runs/"+run+"/answers/"+res.Question.ID, `{"happened": true}`, &answered)
		if n := m.orders(session); n != 1 {
			t.Errorf("%d orders", n)
		}
		// The run goes on where a worker is.
		next := m.comesTo(m.URL, run, m.append(m.URL, run, "browser.navigate", fmt.Sprintf(`{"url": "%s/c/order?mode=normal&session=%s"}`, m.site.URL, tool.NewRunID())))
		if now, err := m.runs.State(m.ctx, run); err != nil || !next.OK() {
			t.Errorf("the next call came to %+v, %v", next, err)
		} else if name, err := other.Name(); err != nil || now.Worker != name {
			t.Errorf("the run is with %q, the worker that is left is %q, %v", now.Worker, name, err)
		}
		if err := owner.Restart(m.ctx); err != nil {
			t.Error(err)
		}
	})
}

// lockedWriter lets several processes write into one log.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
