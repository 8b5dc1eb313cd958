package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	gen "toolsvc/examples/orders/gen/orders"
	runspb "toolsvc/gen/grpc/runs/pb"
	"toolsvc/planner"
	"toolsvc/tool"
)

// ask sends a request as the holder of the token, and decodes the answer into v when it has the wanted status.
func ask(t *testing.T, token, method, path, body string, want int, v any, change ...func(*http.Request)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for _, f := range change {
		f(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != want {
		t.Fatalf("%s %s: %d, want %d: %s", method, path, resp.StatusCode, want, text)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

func key(k string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Idempotency-Key", k) }
}

// event is a server-sent event.
type event struct {
	id   int64
	kind string
	data string
}

// events reads a stream from behind an event, until stop says so or it ends.
func events(t *testing.T, run string, after int64, stop func(event) bool) (es []event, ended bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", base+"/v1/runs/"+run+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+agentToken)
	if after > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it is left
	if resp.StatusCode == http.StatusNoContent {
		return nil, true
	}
	var e event
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			if e.id, err = strconv.ParseInt(value, 10, 64); err != nil {
				t.Fatal(err)
			}
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind == "" {
				continue
			}
			es = append(es, e)
			if stop(e) {
				return es, false
			}
			e = event{}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return es, true
}

func refunded(t *testing.T, order string) int64 {
	t.Helper()
	o, err := shop.Find(t.Context(), &gen.FindPayload{ID: order})
	if err != nil {
		t.Fatal(err)
	}
	return o.RefundedCents
}

// The life of a run over HTTP: calls are appended, a missing field is asked for and answered wrongly, then rightly, an irreversible call is
// approved with a wrong digest, then the right one, by the person and not by the agent, the run is cancelled; and a reader of its events who
// loses the connection again and again misses none and gets none twice.
func TestLifeOfARun(t *testing.T) {
	t.Parallel()
	var started struct {
		RunID string `json:"run_id"`
	}
	ask(t, agentToken, "POST", "/v1/runs", `{"title":"Life","policy":{"repair":"person"}}`, 201, &started)
	run := "/v1/runs/" + started.RunID
	var appended struct {
		Calls []struct {
			CallID string `json:"call_id"`
		} `json:"calls"`
	}
	const calls = `{"calls":[{"tool":"orders.find","arguments":{"order":"H-5"}},{"tool":"orders.find"},{"tool":"orders.refund","arguments":{"order":"H-5","cents":500,"reason":"late"}}]}`
	ask(t, agentToken, "POST", run+"/calls", calls, 202, &appended, key("append-1"))
	ids := appended.Calls
	if ask(t, agentToken, "POST", run+"/calls", calls, 202, &appended, key("append-1")); len(appended.Calls) != 3 || !slices.Equal(appended.Calls, ids) {
		t.Errorf("the same request again appended %v, first %v", appended.Calls, ids)
	}
	ask(t, agentToken, "POST", run+"/calls", `{"calls":[{"tool":"orders.find","arguments":{"order":"H-6"}}]}`, 422, nil, key("append-1"))

	seen, _ := events(t, started.RunID, 0, func(e event) bool { return e.kind == "question" })
	var q tool.Question
	if err := json.Unmarshal([]byte(seen[len(seen)-1].data), &q); err != nil || q.CallID != ids[1].CallID || !slices.Equal(q.MissingFields, []string{"/order"}) {
		t.Fatalf("question %+v %v", q, err)
	}
	var first, res tool.Result
	if ask(t, agentToken, "GET", run+"/calls/"+ids[0].CallID, "", 200, &first); !first.OK() {
		t.Errorf("the first call came to %+v", first)
	}
	ask(t, agentToken, "POST", run+"/answers/"+q.ID, `{"order":""}`, 422, &res)
	if res.Status != tool.StatusNeedsInput || res.Question == nil || res.Question.ID != q.ID || res.Error == nil {
		t.Errorf("a wrong answer came to %+v", res)
	}
	ask(t, agentToken, "POST", run+"/answers/q_none", `{}`, 409, nil)
	res = tool.Result{}
	if ask(t, agentToken, "POST", run+"/answers/"+q.ID, `{"order":"H-5"}`, 200, &res); !res.OK() || res.CallID != ids[1].CallID {
		t.Errorf("the right answer came to %+v", res)
	}
	ask(t, agentToken, "POST", run+"/answers/"+q.ID, `{"order":"H-5"}`, 409, nil)

	more, _ := events(t, started.RunID, seen[len(seen)-1].id, func(e event) bool { return e.kind == "approval" })
	seen = append(seen, more...)
	var a tool.Question
	if err := json.Unmarshal([]byte(seen[len(seen)-1].data), &a); err != nil || a.CallID != ids[2].CallID || a.Digest == "" {
		t.Fatalf("approval %+v %v", a, err)
	}
	approve := fmt.Sprintf(`{"approved":true,"digest":%q}`, a.Digest)
	ask(t, agentToken, "POST", run+"/approvals/"+a.ID, approve, 403, nil)
	ask(t, agentToken, "POST", run+"/answers/"+a.ID, approve, 403, nil)
	ask(t, personToken, "POST", run+"/approvals/"+a.ID, `{"approved":true,"digest":"sha256:0"}`, 422, &res)
	ask(t, personToken, "POST", run+"/approvals/"+a.ID, `{"approved":true}`, 422, &res)
	if n := refunded(t, "H-5"); n != 0 {
		t.Fatalf("%d cents were paid back without an approval", n)
	}
	res = tool.Result{}
	if ask(t, personToken, "POST", run+"/approvals/"+a.ID, approve, 200, &res); !res.OK() || refunded(t, "H-5") != 500 {
		t.Errorf("the approval came to %+v, and %d cents were paid back", res, refunded(t, "H-5"))
	}
	ask(t, agentToken, "GET", "/v1/artifacts/"+res.Verification.Evidence.After, "", 200, &map[string]any{})

	var list struct {
		Runs []planner.Summary `json:"runs"`
	}
	ask(t, agentToken, "GET", "/v1/runs", "", 403, nil)
	if ask(t, personToken, "GET", "/v1/runs?limit=1000", "", 200, &list); !slices.ContainsFunc(list.Runs, func(s planner.Summary) bool { return s.RunID == started.RunID && s.Title == "Life" }) {
		t.Errorf("the run is not listed: %+v", list.Runs)
	}
	ask(t, agentToken, "POST", run+"/pause", "", 204, nil)
	var st planner.State
	if ask(t, agentToken, "GET", run, "", 200, &st); !st.Paused || len(st.Steps) != 3 || st.Steps[2].Status != planner.StatusVerified {
		t.Errorf("the run is %+v", st)
	}
	ask(t, agentToken, "POST", run+"/resume", "", 204, nil)
	ask(t, agentToken, "POST", run+"/cancel", "", 204, nil)

	for ended := false; !ended; { // a reader who loses the connection after every second event
		n := 0
		more, ended = events(t, started.RunID, seen[len(seen)-1].id, func(event) bool { n++; return n == 2 })
		seen = append(seen, more...)
	}
	by := ""
	for i, e := range seen {
		if e.id != int64(i+1) {
			t.Fatalf("event %d has the id %d", i+1, e.id)
		}
		var closing planner.Closing
		if e.kind == "approval" && json.Unmarshal([]byte(e.data), &closing) == nil && closing.How == "answered" {
			by = closing.By
		}
	}
	if last := seen[len(seen)-1]; last.kind != "run" || !strings.Contains(last.data, `"outcome":"cancelled"`) {
		t.Errorf("the last event is %+v", last)
	}
	if by != "person" {
		t.Errorf("approved by %q", by)
	}
	whole, _ := events(t, started.RunID, 0, func(event) bool { return false })
	if !slices.Equal(whole, seen) {
		t.Errorf("in one piece there are %d events, in pieces %d", len(whole), len(seen))
	}
	ask(t, agentToken, "POST", run+"/calls", `{"calls":[{"tool":"orders.find","arguments":{"order":"H-5"}}]}`, 409, nil)
	ask(t, agentToken, "POST", run+"/pause", "", 409, nil)
	var again tool.Result // the results of a run that has ended are there
	if ask(t, agentToken, "GET", run+"/calls/"+ids[0].CallID, "", 200, &again); !bytes.Equal(again.Result, first.Result) {
		t.Errorf("the first call's result is %s, was %s", again.Result, first.Result)
	}

	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+agentToken)
	stream, err := runspb.NewRunsClient(conn).Watch(ctx, &runspb.WatchRequest{Run: started.RunID})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		e, err := stream.Recv()
		if err == io.EOF && i == len(seen) {
			break
		}
		if err != nil || i >= len(seen) || e.Id != seen[i].id || e.Type != seen[i].kind || string(e.Data) != seen[i].data {
			t.Fatalf("event %d over gRPC is %+v %v", i+1, e, err)
		}
	}
}

// The same request under the same key pays once, and gets the same result, also when its run has ended; other arguments are refused, and
// the key of somebody else is another key.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	const path, body = "/v1/tools/orders.refund?approve=allow", `{"order":"H-7","cents":300,"reason":"damaged"}`
	var first, again tool.Result
	if ask(t, personToken, "POST", path, body, 200, &first, key("refund-1")); !first.OK() {
		t.Fatalf("%+v", first)
	}
	for range 2 { // the run of one call ends meanwhile, or has ended
		again = tool.Result{}
		ask(t, personToken, "POST", path, body, 200, &again, key("refund-1"))
		if again.CallID != first.CallID || !bytes.Equal(again.Result, first.Result) {
			t.Errorf("the same request came to %+v, first %+v", again, first)
		}
		_, _ = events(t, first.RunID, 0, func(event) bool { return false })
	}
	if n := refunded(t, "H-7"); n != 300 {
		t.Errorf("%d cents were paid back", n)
	}
	ask(t, personToken, "POST", path, `{"order":"H-7","cents":301,"reason":"damaged"}`, 422, nil, key("refund-1"))
	ask(t, agentToken, "POST", path, body, 403, nil, key("refund-1"))
	if ask(t, agentToken, "POST", "/v1/tools/orders.find", `{"order":"H-7"}`, 200, &again, key("refund-1")); again.CallID == first.CallID {
		t.Error("two principals share a key")
	}
}

// Steps are validated all at once, and run to the end.
func TestScriptOverHTTP(t *testing.T) {
	t.Parallel()
	ask(t, agentToken, "POST", "/v1/runs", `{"steps":[{"tool":"orders.find"},{"tool":"orders.fnd"}]}`, 422, nil)
	var started struct {
		RunID string `json:"run_id"`
	}
	ask(t, agentToken, "POST", "/v1/runs", `{"steps":[{"tool":"orders.find","arguments":{"order":"H-9"}},{"tool":"orders.cancel","arguments":{"order":"H-9"},"title":"Close it"}]}`, 201, &started)
	es, ended := events(t, started.RunID, 0, func(event) bool { return false })
	if last := es[len(es)-1]; !ended || !strings.Contains(last.data, `"outcome":"succeeded","verified":2,"steps":2`) {
		t.Errorf("the last event is %+v", last)
	}
	var st planner.State
	if ask(t, agentToken, "GET", "/v1/runs/"+started.RunID, "", 200, &st); !st.Succeeded() || st.Steps[1].Title != "Close it" {
		t.Errorf("the run is %+v", st)
	}
}
