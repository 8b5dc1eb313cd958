package server

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	toolspb "toolsvc/gen/grpc/tools/pb"
	"toolsvc/planner"
	"toolsvc/store"
	"toolsvc/tool"
)

func TestReflectionListsTheServices(t *testing.T) {
	t.Parallel()
	w := start(t, Options{})
	stream, err := reflectionpb.NewServerReflectionClient(w.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	var names []string
	for _, s := range ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().Service {
		names = append(names, s.Name)
	}
	for _, want := range []string{"toolsvc.tools.v1.Tools", "grpc.health.v1.Health"} {
		if !slices.Contains(names, want) {
			t.Errorf("the services are %v, without %s", names, want)
		}
	}
	files := ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "toolsvc.tools.v1.ToolResult"}})
	if len(files.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("ToolResult is not described: %v", files)
	}
}

func TestHealthFollowsReadiness(t *testing.T) {
	t.Parallel()
	var broken atomic.Pointer[error]
	w := start(t, Options{Ready: func(context.Context) error {
		if err := broken.Load(); err != nil {
			return *err
		}
		return nil
	}}, func(s *Server) { s.readyEvery = 5 * time.Millisecond })
	for _, service := range []string{"", "toolsvc.tools.v1.Tools"} {
		broken.Store(nil)
		watch, err := healthpb.NewHealthClient(w.conn).Watch(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		until := func(want healthpb.HealthCheckResponse_ServingStatus) {
			for {
				r, err := watch.Recv()
				if err != nil {
					t.Fatal(err)
				}
				if r.Status == want {
					return
				}
			}
		}
		until(healthpb.HealthCheckResponse_SERVING)
		if a := w.do(t, "GET", "/readyz", nil); a.status != 200 || a.json(t)["status"] != "ready" {
			t.Errorf("readyz %d %s", a.status, a.body)
		}
		err = fmt.Errorf("%w: dial tcp 10.1.2.3:7233", planner.ErrUnavailable)
		broken.Store(&err)
		until(healthpb.HealthCheckResponse_NOT_SERVING)
		a := w.do(t, "GET", "/readyz", nil)
		if p := wantProblem(t, a, kindNotReady); !strings.Contains(p["detail"].(string), "Temporal") || strings.Contains(string(a.body), "10.1.2.3") {
			t.Errorf("readyz says %s", a.body)
		}
		if a := w.do(t, "GET", "/healthz", nil); a.status != 200 || a.json(t)["status"] != "ok" {
			t.Errorf("healthz %d: a process that is up is healthy even when it is not ready", a.status)
		}
	}
	w.log.find(t, func(l map[string]any) bool {
		return l["msg"] == "not ready" && strings.Contains(fmt.Sprint(l["error"]), "10.1.2.3")
	})
}

func TestWhyNotReady(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"Temporal, which": planner.ErrUnavailable, "Temporal, which keeps": context.DeadlineExceeded, "stopping": errStopping,
		"The database that keeps the store": fmt.Errorf("%w: %w", store.ErrUnavailable, context.DeadlineExceeded), "is full": planner.ErrNoRoom, "Something": errors.New("x"),
	} {
		if got := whyNotReady(err); !strings.Contains(got, want) {
			t.Errorf("%v: %q", err, got)
		}
	}
}

func TestLargeMessages(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Caller: callerFunc(func(context.Context, tool.Request, string) (*tool.Result, error) {
		t.Error("a payload that is too large was passed on")
		return nil, nil
	})})
	_, err := w.grpc.Call(t.Context(), callPayload("lamp.read", strings.Repeat(" ", tool.MaxPayload+1)))
	if p := problemFrom(t, err); p.Code != kindPayloadTooLarge.code || !strings.Contains(p.Detail, "this one has 1048577") {
		t.Errorf("problem %+v", p)
	}
	_, err = toolspb.NewToolsClient(w.conn).Call(t.Context(), &toolspb.CallRequest{Tool: "lamp.read", Arguments: make([]byte, 5<<20)})
	if st := status.Convert(err); st.Code() != codes.ResourceExhausted || !strings.Contains(st.Message(), "larger than max") {
		t.Errorf("status %v", st)
	}
}

func TestDeadlineOfAClient(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	w := start(t, Options{Caller: callerFunc(func(ctx context.Context, _ tool.Request, _ string) (*tool.Result, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, fmt.Errorf("update: %w", ctx.Err())
	})})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := toolspb.NewToolsClient(w.conn).Call(ctx, &toolspb.CallRequest{Tool: "lamp.read"})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("status %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the wait did not end")
	}
}

// The catalogue says the same on both transports, and all of a spec.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	w := start(t, Options{})
	for transport, client := range w.clients() {
		list, err := client.List(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", transport, err)
		}
		if len(list.Tools) != 2 || list.Tools[0].ID != "lamp.read" || list.Tools[1].ID != "lamp.switch" {
			t.Fatalf("%s: %+v", transport, list.Tools)
		}
	}
	a := w.do(t, "GET", "/v1/tools/lamp.switch", nil)
	got := a.json(t)
	schema := map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
		"properties": map[string]any{"what": map[string]any{"$ref": "#/$defs/What"}}, "$defs": map[string]any{"What": map[string]any{"type": "string", "maxLength": number(9)}}}
	want := map[string]any{
		"id": "lamp.switch", "title": "Switch", "description": "Switch the lamp.", "effect": "reversible",
		"effect_rules":   []any{map[string]any{"when": "args.forever", "class": "irreversible"}},
		"sources":        []any{"ax", "cdp"},
		"preconditions":  []any{map[string]any{"name": "bulb", "expression": "lamp.bulb", "message": "there is a bulb"}},
		"postconditions": []any{map[string]any{"name": "lit", "expression": "lamp.lit"}},
		"confirm":        "Switch it?", "question": "Which lamp?", "rollback": "Switches it back.", "time_limit_ms": number(1500),
		"payload_schema": schema, "result_schema": schema, "example": map[string]any{"what": "red"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the catalogue says\n%v\nwant\n%v", got, want)
	}
	listed := w.do(t, "GET", "/v1/tools", nil).json(t)["tools"].([]any)
	if !reflect.DeepEqual(listed[1], want) {
		t.Errorf("the list says\n%v", listed[1])
	}
	if read := listed[0].(map[string]any); !reflect.DeepEqual(read["preconditions"], []any{}) || !reflect.DeepEqual(read["effect_rules"], []any{}) {
		t.Errorf("an empty list is not []: %v", read)
	}
}

func TestUnknownToolIsNotShown(t *testing.T) {
	t.Parallel()
	w := start(t, Options{})
	for transport, client := range w.clients() {
		_, err := client.Show(t.Context(), showPayload("lamp.swicht"))
		if p := problemFrom(t, err); p.Code != kindUnknownTool.code || !slices.Equal(p.Nearest, []string{"lamp.switch"}) {
			t.Errorf("%s: %+v", transport, p)
		}
	}
	long := strings.Repeat("é", 5000)
	if p := wantProblem(t, w.do(t, "GET", "/v1/tools/"+long, nil), kindUnknownTool); len(p["detail"].(string)) > 300 {
		t.Errorf("a long name comes back whole: %d bytes", len(p["detail"].(string)))
	}
}
