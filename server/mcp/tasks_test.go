package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"toolsvc/tool"
)

// post sends one request of the era without sessions, as the wire has it, and returns the result or the error's code.
func post(t *testing.T, s *Surface, method, name, params string, tasks bool) (result map[string]any, code float64) {
	t.Helper()
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	extensions := ""
	if tasks {
		extensions = `"extensions":{"` + tasksExtension + `":{}}`
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{%s}}}}`, method, params, modern, extensions)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": modern, "Mcp-Method": method, "Mcp-Name": name} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	var answer struct {
		Result map[string]any `json:"result"`
		Error  struct {
			Code float64 `json:"code"`
		} `json:"error"`
	}
	for lines.Scan() {
		text := strings.TrimPrefix(lines.Text(), "data: ")
		if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &answer) == nil && (answer.Result != nil || answer.Error.Code != 0) {
			return answer.Result, answer.Error.Code
		}
	}
	t.Fatalf("no answer to %s: %s", method, res.Status)
	return nil, 0
}

// A long call is a task where the client takes tasks. It belongs to its run, so another server that has the key goes on with it.
func TestTaskSurvivesARestart(t *testing.T) {
	t.Parallel()
	service := newRuns()
	release := make(chan struct{})
	service.do = func(_ context.Context, req tool.Request) *tool.Result {
		<-release
		return verified(req, `{"n":1}`)
	}
	quick := func(o *Options) { o.TaskAfter = 10 * time.Millisecond }
	const call = `"name":"browser_click","arguments":{"target":{"name":"Play"}}`
	made, _ := post(t, newSurface(t, service, quick), "tools/call", "browser_click", call, true)
	id, _ := made["taskId"].(string)
	if made["resultType"] != "task" || made["status"] != taskWorking || id == "" || made["content"] != nil {
		t.Fatal(made)
	}
	after := newSurface(t, service, quick)
	ask := `"taskId":"` + id + `"`
	if got, _ := post(t, after, "tasks/get", id, ask, true); got["status"] != taskWorking {
		t.Error(got)
	}
	close(release)
	var got map[string]any
	for got["status"] != taskCompleted {
		if got, _ = post(t, after, "tasks/get", id, ask, true); got["status"] != taskCompleted && got["status"] != taskWorking {
			t.Fatal(got)
		}
	}
	inner, _ := got["result"].(map[string]any)
	structured, _ := inner["structuredContent"].(map[string]any)
	if inner["isError"] != nil || fmt.Sprint(structured["result"]) != "map[n:1]" {
		t.Error(got)
	}
	// Who does not take tasks waits for the result, and may not ask for tasks. An id that was changed, or is another's, is unknown.
	if res, _ := post(t, after, "tools/call", "browser_click", call, false); res["taskId"] != nil || res["content"] == nil {
		t.Error(res)
	}
	for _, c := range []struct {
		surface *Surface
		id      string
		tasks   bool
		want    float64
	}{
		{after, id, false, -32021}, {after, id + "A", true, -32602},
		{newSurface(t, service, func(o *Options) { o.Key = []byte(strings.Repeat("x", 32)) }), id, true, -32602},
		{newSurface(t, newRuns()), id, true, -32602},
	} {
		if res, code := post(t, c.surface, "tasks/get", c.id, `"taskId":"`+c.id+`"`, c.tasks); code != c.want {
			t.Errorf("%v %v, want %v", res, code, c.want)
		}
	}
}
