package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"toolsvc/examples/orders"
	gen "toolsvc/examples/orders/gen/orders"
	tools "toolsvc/examples/orders/gen/toolsets/orders"
	"toolsvc/examples/orders/gen/toolsets/orders/executor"
	"toolsvc/stack"
	"toolsvc/tool"
)

// TestRefund pays money back through all of toolsvc, with the service elsewhere and an answer that is lost on its way: it is asked for an
// approval, dispatched once, found in the books, and verified. What the service does not accept comes back with its place.
func TestRefund(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	shop, err := orders.Open(ctx, filepath.Join(t.TempDir(), "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shop.Close(); err != nil {
			t.Error(err)
		}
	})
	backend := orders.Handler(shop)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			backend.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		backend.ServeHTTP(answer, r)
		if answer.Code < 300 {
			panic(http.ErrAbortHandler) // done, and nobody is told
		}
		for k, v := range answer.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(answer.Code)
		if _, err := w.Write(answer.Body.Bytes()); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(front.Close)
	client, closer, err := orders.Dial(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := stack.Open(ctx, stack.Options{StateDir: filepath.Join(t.TempDir(), "state"), UIPort: -1, Ephemeral: true, NoVision: true,
		Toolsets: []stack.Toolset{{Specs: tools.Specs(), Executor: executor.New(client)}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	call := func(id tool.ID, args string) *tool.Result {
		t.Helper()
		res, err := s.Service.Call(ctx, tool.Request{Tool: id, Arguments: json.RawMessage(args)}, "en")
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := call("orders.upsert", `{"order":"H-1","customer":"Ada","lines":[{"sku":"LPV-0001","quantity":3,"cents":1000}]}`); !res.OK() {
		t.Fatalf("%+v", res.Error)
	}

	approved := func(res *tool.Result) *tool.Result {
		t.Helper()
		if res.Status != tool.StatusNeedsInput || res.Question == nil || res.Question.Digest == "" {
			t.Fatalf("nobody is asked: %+v %+v", res, res.Error)
		}
		res, err := s.Service.Approve(ctx, res.RunID, res.Question.ID, true, res.Question.Digest, "the test")
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := approved(call("orders.refund", `{"order":"H-1","cents":1000,"reason":"late"}`))
	if !res.OK() || string(res.Result) != `{"refund":"R-1","cents":1000}` || len(res.Attempts) != 1 || res.Attempts[0].Effect != tool.EffectConfirmed {
		t.Errorf("%s %+v %+v", res.Result, res.Error, res.Attempts)
	}
	if o, err := shop.Find(ctx, &gen.FindPayload{ID: "H-1"}); err != nil || o.RefundedCents != 1000 {
		t.Errorf("%+v, %v", o, err)
	}

	res = approved(call("orders.refund", `{"order":"H-1","cents":9000,"reason":"late"}`))
	if res.Error == nil || res.Error.Code != tool.InvalidArguments || res.RetryHint == nil {
		t.Fatalf("%+v", res)
	}
	if h := res.RetryHint.Fields(); len(h.Issues) != 1 || h.Issues[0].Path != "/cents" || h.Reason != tool.ReasonInvalidArguments {
		t.Errorf("%+v", h)
	}
	if o, err := shop.Find(ctx, &gen.FindPayload{ID: "H-1"}); err != nil || o.RefundedCents != 1000 {
		t.Errorf("%+v, %v", o, err)
	}
}
