package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

// heard is a message on a stream.
type heard struct {
	ID     any            `json:"id"`
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
	Result map[string]any `json:"result"`
	Error  *struct {
		Code float64 `json:"code"`
	} `json:"error"`
}

// opener opens a stream with a request to listen, as the wire has it. next waits for a message; leave ends the listening.
type opener func(t *testing.T, s *Surface, body string) (next func() heard, leave func())

func listenHTTP(t *testing.T, s *Surface, body string) (func() heard, func()) {
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel) // before the server is closed
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": modern, "Mcp-Method": methodListen} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return heardOn(t, res.Body), cancel
}

func listenStdio(t *testing.T, s *Surface, body string) (func() heard, func()) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	done := make(chan error, 1)
	go func() {
		done <- s.ServeStdio(ctx, inR, outW)
		_ = outW.Close() // whoever reads it sees the end
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	say := func(line string) {
		if _, err := io.WriteString(inW, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	go say(body)
	return heardOn(t, outR), func() { say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`) }
}

// heardOn reads messages: lines, or the data of events.
func heardOn(t *testing.T, r io.Reader) func() heard {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	return func() heard {
		t.Helper()
		for lines.Scan() {
			text := strings.TrimPrefix(lines.Text(), "data: ")
			if !strings.HasPrefix(text, "{") {
				continue
			}
			var m heard
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return m
		}
		t.Fatalf("the stream has ended: %v", lines.Err())
		return heard{}
	}
}

func listenBody(notifications string, tasks bool) string {
	extensions := ""
	if tasks {
		extensions = `"extensions":{"` + tasksExtension + `":{}}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{"notifications":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{%s}}}}`,
		methodListen, notifications, modern, extensions)
}

// A client that listens to its tasks hears what they are and whenever they have become something else, with all that tasks/get would say,
// beside what else it listens to. Tasks that are not its own are not among those that are acknowledged.
func TestListenToTasks(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]opener{"http": listenHTTP, "stdio": listenStdio} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := newRuns()
			release := make(chan struct{})
			service.do = func(_ context.Context, req tool.Request) *tool.Result {
				<-release
				return verified(req, `{"n":1}`)
			}
			s := newSurface(t, service, func(o *Options) { o.TaskAfter = 10 * time.Millisecond })
			made, _ := post(t, s, "tools/call", "browser_click", `"name":"browser_click","arguments":{"target":{"name":"Play"}}`, true)
			id, _ := made["taskId"].(string)
			next, _ := open(t, s, listenBody(fmt.Sprintf(`{"toolsListChanged":true,"taskIds":[%q,%q,"foreign"]}`, id, id), true))

			ack := next()
			agreed, _ := ack.Params["notifications"].(map[string]any)
			if ack.Method != notificationAck || agreed["toolsListChanged"] != true || fmt.Sprint(agreed["taskIds"]) != "["+id+"]" {
				t.Fatalf("acknowledged: %+v", ack)
			}
			working := next()
			meta, _ := working.Params["_meta"].(map[string]any)
			if working.Method != notificationOfTask || working.Params["taskId"] != id || working.Params["status"] != taskWorking || fmt.Sprint(meta["io.modelcontextprotocol/subscriptionId"]) != "7" || working.Params["resultType"] != nil {
				t.Fatalf("%+v", working)
			}
			close(release)
			completed := next()
			asked, _ := post(t, s, "tasks/get", id, `"taskId":"`+id+`"`, true)
			inner, _ := completed.Params["result"].(map[string]any)
			if completed.Params["status"] != taskCompleted || inner == nil || fmt.Sprint(inner["structuredContent"]) != fmt.Sprint(asked["result"].(map[string]any)["structuredContent"]) {
				t.Fatalf("%+v, and tasks/get says %v", completed, asked)
			}
			// The stream goes on with what else was asked for.
			specs := []*tool.Spec{}
			for _, id := range toolsets.Registry().IDs()[1:] {
				specs = append(specs, toolsets.Registry().Lookup(id))
			}
			fewer, err := tool.NewRegistry(specs)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.SetRegistry(fewer); err != nil {
				t.Fatal(err)
			}
			if m := next(); m.Method != "notifications/tools/list_changed" {
				t.Errorf("%+v", m)
			}
		})
	}
}

// Who listens to nothing but tasks listens until they leave; who does not take tasks is told so.
func TestListenEnds(t *testing.T) {
	t.Parallel()
	s := newSurface(t, newRuns(), func(o *Options) { o.TaskAfter = 10 * time.Millisecond })
	id, err := sealed(testKey, purposeTask, time.Now().Add(time.Hour), taskID{Run: "r_gone", Call: "c_gone"})
	if err != nil {
		t.Fatal(err)
	}
	next, leave := listenStdio(t, s, listenBody(`{"taskIds":["`+id+`"]}`, true))
	if ack := next(); ack.Method != notificationAck {
		t.Fatalf("%+v", ack)
	}
	go leave()
	if end := next(); end.ID != 7.0 { // a result, or that it was cancelled: it has ended because the client left
		t.Errorf("%+v", end)
	}
	for name, open := range map[string]opener{"http": listenHTTP, "stdio": listenStdio} {
		next, _ := open(t, s, listenBody(`{"taskIds":["`+id+`"]}`, false))
		if m := next(); m.Error == nil || m.Error.Code != -32021 {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if len(s.listens.open) != 0 {
		t.Error("something is left of the requests")
	}
}
