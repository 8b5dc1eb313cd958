package orders_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goa "goa.design/goa/v3/pkg"

	"toolsvc/examples/orders"
	gen "toolsvc/examples/orders/gen/orders"
	"toolsvc/examples/orders/gen/toolsets"
	"toolsvc/examples/orders/gen/toolsets/orders/executor"
	"toolsvc/tool"
	"toolsvc/verification"
)

// books opens a shop with one open order, H-1, of 3000 cents.
func books(t *testing.T) *orders.Service {
	t.Helper()
	return booksAt(t, filepath.Join(t.TempDir(), "orders.db"))
}

func booksAt(t *testing.T, where string) *orders.Service {
	t.Helper()
	s, err := orders.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Upsert(t.Context(), &gen.UpsertPayload{ID: "H-1", Customer: "Ada", Lines: []*gen.Line{{Sku: "LPV-0001", Quantity: 3, Cents: 1000}}}); err != nil {
		t.Fatal(err)
	}
	return s
}

// dial makes a client that is closed with the test.
func dial(t *testing.T, address string) *gen.Client {
	t.Helper()
	c, closer, err := orders.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// transports are the ways in which the executor can reach the service.
var transports = map[string]func(t *testing.T, s gen.Service) executor.Orders{
	"in process": func(_ *testing.T, s gen.Service) executor.Orders { return s },
	"http": func(t *testing.T, s gen.Service) executor.Orders {
		srv := httptest.NewServer(orders.Handler(s))
		t.Cleanup(srv.Close)
		return dial(t, srv.URL)
	},
	"grpc": func(t *testing.T, s gen.Service) executor.Orders {
		srv := orders.GRPCServer(s)
		l := listen(t)
		go srv.Serve(l) //nolint:errcheck // Stop ends it
		t.Cleanup(srv.Stop)
		return dial(t, "grpc://"+l.Addr().String())
	},
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// made is what an attempt came to.
type made struct {
	result  string
	failed  *tool.Failed
	effect  tool.Effect
	verdict tool.Verification
	attempt tool.Attempt
	before  *tool.Evidence
}

// attempt makes one attempt at a call, in the order that tool.Attempt demands.
func attempt(t *testing.T, exec tool.Executor, id tool.ID, callID, args string) made {
	t.Helper()
	call := newCall(t, id, callID, args)
	conds, issues := verification.Compile(call.Spec, call.Raw, nil)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	ctx, cancel := context.WithTimeout(t.Context(), call.Spec.TimeLimit)
	defer cancel()
	if !exec.Applies(call, tool.SourceSystem) || exec.Applies(call, tool.SourceAX) {
		t.Error("only the source system applies")
	}
	a, err := exec.Begin(ctx, call, tool.Plan{Number: 1, Source: tool.SourceSystem})
	if err != nil {
		t.Fatal(err)
	}
	m := made{attempt: a}
	if m.before, err = a.Observe(ctx, conds.Needs()); err != nil {
		m.failed = tool.AsFailed(err)
		return m
	}
	if m.verdict = conds.CheckPreconditions(m.before); m.verdict.Verdict != tool.VerdictSuccess {
		m.failed = tool.Failf(tool.PreconditionFailed, "%s", m.verdict.Explanation)
		return m
	}
	if err := errors.Join(a.Resolve(ctx), a.Dispatch(ctx)); err != nil {
		m.failed = tool.AsFailed(err)
		return m
	}
	out, err := a.Settle(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := call.Spec.EncodeResult(out.Result)
	if err != nil {
		t.Fatal(err)
	}
	m.result, m.effect = string(text), out.Effect
	after, err := a.Observe(ctx, conds.Needs())
	if err != nil {
		t.Fatal(err)
	}
	m.verdict = conds.Judge(m.before, after, text)
	return m
}

func newCall(t *testing.T, id tool.ID, callID, args string) *tool.Call {
	t.Helper()
	spec := toolsets.Registry().Lookup(id)
	p, issues := spec.Decode([]byte(args))
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	return &tool.Call{ID: callID, RunID: "r_1", Step: 1, Spec: spec, Args: p, Raw: json.RawMessage(args)}
}

// The same executor does the same by each transport.
func TestTools(t *testing.T) {
	t.Parallel()
	for name, reach := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			useTools(t, executor.New(reach(t, books(t))))
		})
	}
}

// The same, with PostgreSQL behind the service: an empty database, which ORDERS_TEST_POSTGRES names (postgres://…).
func TestToolsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	where := os.Getenv("ORDERS_TEST_POSTGRES")
	if where == "" {
		t.Skip("ORDERS_TEST_POSTGRES names no database")
	}
	useTools(t, executor.New(booksAt(t, where)))
}

// useTools makes calls, right and wrong, in a shop as books opens it.
func useTools(t *testing.T, exec tool.Executor) {
	t.Helper()
	for i, c := range []struct {
		tool    tool.ID
		args    string
		result  string
		failure tool.Failure
		message string
		path    string
	}{
		{"orders.upsert", `{"order":"H-2","customer":"Bob","lines":[{"sku":"LPV-0002","cents":500},{"sku":"LPV-0003","quantity":2,"cents":10}],"note":"soon"}`, `{"total_cents":520}`, "", "", ""},
		{"orders.upsert", `{"order":"H-2","customer":"Bob","lines":[{"sku":"LPV-0002","cents":500}]}`, `{"total_cents":500}`, "", "", ""},
		{"orders.upsert", `{"order":"H-3","customer":"Bob","lines":[{"sku":"LPV-0002","cents":500},{"sku":"LPV-0003","quantity":99,"cents":1000000}]}`, "", tool.InvalidArguments,
			"an order costs at most 10000000 cents; up to this line it is 99000500. Order less, or in several orders.", "/lines/1/quantity"},
		{"orders.find", `{"order":"H-2"}`, `{"customer":"Bob","lines":[{"sku":"LPV-0002","quantity":1,"cents":500}],"total_cents":500,"refunded_cents":0,"status":"open"}`, "", "", ""},
		{"orders.find", `{"order":"H-9"}`, "", tool.TargetNotFound, "there is no order H-9. Check the order number.", ""},
		{"orders.refund", `{"order":"H-1","cents":9000,"reason":"late"}`, "", tool.InvalidArguments,
			"only 3000 cents of order H-1 can still be paid back, not 9000. Pay back no more than what is left of the order; orders.find shows it.", "/cents"},
		{"orders.refund", `{"order":"H-1","cents":1000,"reason":"late"}`, `{"refund":"R-1","cents":1000}`, "", "", ""},
		{"orders.upsert", `{"order":"H-1","customer":"Eve","lines":[{"sku":"LPV-0002","cents":500}]}`, "", tool.PreconditionFailed,
			"order H-1 is open, with 1000 cents paid back, and cannot be changed. Write a new order under another number.", ""},
		{"orders.cancel", `{"order":"H-2"}`, `{"status":"cancelled"}`, "", "", ""},
		{"orders.cancel", `{"order":"H-2"}`, "", tool.PreconditionFailed, `open: expected the order is open, observed state.status = "cancelled"`, ""},
	} {
		m := attempt(t, exec, c.tool, fmt.Sprintf("c_%d", i), c.args)
		switch {
		case c.failure == "" && m.failed != nil:
			t.Errorf("%s %s: %v", c.tool, c.args, m.failed)
		case c.failure == "" && (m.result != c.result || m.verdict.Verdict != tool.VerdictSuccess):
			t.Errorf("%s %s: %s, %s", c.tool, c.args, m.result, m.verdict.Explanation)
		case c.failure == "":
		case m.failed == nil || m.failed.Failure != c.failure || m.failed.Dispatched || !strings.Contains(m.failed.Message, strings.TrimSuffix(c.message, ".")):
			t.Errorf("%s %s: %+v, want %s: %s", c.tool, c.args, m.failed, c.failure, c.message)
		case c.path != "":
			if is := (tool.Issues)(nil); !errors.As(m.failed, &is) || len(is) != 1 || is[0].Path != c.path {
				t.Errorf("%s %s: issues %+v", c.tool, c.args, is)
			}
		}
	}
}

// A call that was made already, whose answer is asked for again under the same identifier, pays nothing back a second time.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := books(t)
	p := &gen.RefundPayload{ID: "H-1", Cents: 1000, Reason: "late", Key: "c_1"}
	first, err := s.Refund(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	m := attempt(t, executor.New(s), "orders.refund", "c_1", `{"order":"H-1","cents":1000,"reason":"late"}`)
	if m.failed == nil || m.failed.Failure != tool.PreconditionFailed {
		t.Errorf("what was paid back was not seen: %+v", m)
	}
	again, err := s.Refund(t.Context(), p)
	if err != nil || again.Number != first.Number {
		t.Errorf("%+v, %v", again, err)
	}
	if o, err := s.Find(t.Context(), &gen.FindPayload{ID: "H-1"}); err != nil || o.RefundedCents != 1000 {
		t.Errorf("%+v, %v", o, err)
	}
}

// wrapped is a service of which a test replaces methods.
type wrapped struct {
	*orders.Service
	refund func(context.Context, *gen.RefundPayload) (*gen.Receipt, error)
	cancel func(context.Context, *gen.CancelPayload) (*gen.Order, error)
}

func (w *wrapped) Refund(ctx context.Context, p *gen.RefundPayload) (*gen.Receipt, error) {
	if w.refund == nil {
		return w.Service.Refund(ctx, p)
	}
	return w.refund(ctx, p)
}

func (w *wrapped) Cancel(ctx context.Context, p *gen.CancelPayload) (*gen.Order, error) {
	if w.cancel == nil {
		return w.Service.Cancel(ctx, p)
	}
	return w.cancel(ctx, p)
}

const refund = `{"order":"H-1","cents":1000,"reason":"late"}`

// What an error of the method says of the effect, by each transport.
func TestErrors(t *testing.T) {
	t.Parallel()
	fails := func(err error) func(context.Context, *gen.RefundPayload) (*gen.Receipt, error) {
		return func(context.Context, *gen.RefundPayload) (*gen.Receipt, error) { return nil, err }
	}
	for name, reach := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				name       string
				refund     func(context.Context, *gen.RefundPayload) (*gen.Receipt, error)
				failure    tool.Failure
				dispatched bool
				wait       time.Duration
			}{
				{"busy", fails(&gen.Busy{Name: "busy", Message: "much to do", Seconds: 7}), tool.RateLimited, false, 7 * time.Second},
				{"a fault", fails(goa.Fault("the disk is full")), tool.ToolUnavailable, true, 0},
				{"an error of no name", fails(errors.New("the disk is full")), tool.ToolUnavailable, true, 0},
				{"a receipt that breaks its design", func(context.Context, *gen.RefundPayload) (*gen.Receipt, error) {
					return &gen.Receipt{Number: "one", Order: "H-1", Cents: 1000, Reason: "late"}, nil
				}, tool.MalformedResponse, true, 0},
			} {
				switch {
				case c.failure != tool.MalformedResponse:
				case name == "in process":
					continue // there the encoder of the result finds it
				case name == "grpc":
					c.failure = tool.ToolUnavailable // Goa's gRPC client does not tell what kind of error it is
				}
				m := attempt(t, executor.New(reach(t, &wrapped{Service: books(t), refund: c.refund})), "orders.refund", "c_1", refund)
				if m.failed == nil || m.failed.Failure != c.failure || m.failed.Dispatched != c.dispatched || m.failed.RetryAfter != c.wait {
					t.Errorf("%s: %+v", c.name, m.failed)
				}
			}
		})
	}
}

// A service in this process may hang or panic; the attempt ends, and nobody claims to know what was done.
func TestMethodsThatHangOrPanic(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	s := books(t)
	call := newCall(t, "orders.refund", "c_1", refund)
	for name, c := range map[string]struct {
		refund  func(context.Context, *gen.RefundPayload) (*gen.Receipt, error)
		failure tool.Failure
	}{
		"hangs":           {func(context.Context, *gen.RefundPayload) (*gen.Receipt, error) { <-release; return nil, nil }, tool.Timeout},
		"panics":          {func(context.Context, *gen.RefundPayload) (*gen.Receipt, error) { panic("no paper") }, tool.ToolUnavailable},
		"answers nothing": {func(context.Context, *gen.RefundPayload) (*gen.Receipt, error) { return nil, nil }, tool.MalformedResponse},
		"heeds the time": {func(ctx context.Context, _ *gen.RefundPayload) (*gen.Receipt, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, tool.Timeout},
		"says it timed out": {func(context.Context, *gen.RefundPayload) (*gen.Receipt, error) {
			return nil, goa.PermanentTimeoutError("bank", "the bank is slow")
		}, tool.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			a, err := executor.New(&wrapped{Service: s, refund: c.refund}).Begin(ctx, call, tool.Plan{Number: 1, Source: tool.SourceSystem})
			if err != nil {
				t.Fatal(err)
			}
			f := tool.AsFailed(a.Dispatch(ctx))
			if f.Failure != c.failure || !f.Dispatched {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Nobody listens: nothing was sent, and the error says so.
func TestServiceThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "grpc"} {
		l := listen(t)
		address := scheme + "://" + l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		call := newCall(t, "orders.refund", "c_1", refund)
		a, err := executor.New(dial(t, address)).Begin(t.Context(), call, tool.Plan{Number: 1, Source: tool.SourceSystem})
		if err != nil {
			t.Fatal(err)
		}
		if f := tool.AsFailed(a.Dispatch(t.Context())); f.Failure != tool.ToolUnavailable || f.Dispatched || !strings.Contains(f.Message, "nothing was sent") {
			t.Errorf("%s: %+v", scheme, f)
		}
		if _, err := a.Observe(t.Context(), tool.Needs{}); tool.AsFailed(err).Failure != tool.ToolUnavailable {
			t.Errorf("%s: observed %v", scheme, err)
		}
	}
}

// cutting serves the shop over HTTP, and cuts the connections of requests that change something: after they arrived, or before.
func cutting(t *testing.T, s gen.Service, arrives bool) string {
	t.Helper()
	backend := orders.Handler(s)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			backend.ServeHTTP(w, r)
			return
		}
		if arrives {
			backend.ServeHTTP(httptest.NewRecorder(), r) // perhaps twice: Go's client sends a request with such a key again
		}
		panic(http.ErrAbortHandler) // the connection is cut without an answer
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// An answer that is lost on its way is made up for by looking at the books, where they tell; otherwise the effect is unknown.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	m := attempt(t, executor.New(dial(t, cutting(t, books(t), true))), "orders.refund", "c_1", refund)
	if m.failed != nil || m.result != `{"refund":"R-1","cents":1000}` || m.verdict.Verdict != tool.VerdictSuccess || m.effect != tool.EffectConfirmed {
		t.Errorf("the request arrived: %+v", m)
	}
	exec := executor.New(dial(t, cutting(t, books(t), false)))
	m = attempt(t, exec, "orders.refund", "c_1", refund)
	if m.failed == nil || !m.failed.Dispatched || m.failed.Failure != tool.ToolUnavailable {
		t.Errorf("the request was lost: %+v", m)
	}
	if _, out, err := exec.Reconcile(t.Context(), newCall(t, "orders.refund", "c_1", refund), m.before); err == nil {
		t.Errorf("an unchanged state is taken for an answer: %+v", out)
	}
}

// A worker that died after the dispatch leaves the books, in which another one finds what became of the call.
func TestReconcile(t *testing.T) {
	t.Parallel()
	s := books(t)
	before := attempt(t, executor.New(s), "orders.refund", "c_1", refund).before
	exec := executor.New(s)
	call := newCall(t, "orders.refund", "c_1", refund)
	a, out, err := exec.Reconcile(t.Context(), call, before)
	if err != nil {
		t.Fatal(err)
	}
	text, err := call.Spec.EncodeResult(out.Result)
	if err != nil || out.Effect != tool.EffectConfirmed || string(text) != `{"refund":"R-1","cents":1000}` {
		t.Errorf("%s, %+v, %v", text, out, err)
	}
	conds, issues := verification.Compile(call.Spec, call.Raw, nil)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	after, err := a.Observe(t.Context(), conds.Needs())
	if err != nil {
		t.Fatal(err)
	}
	if v := conds.Judge(before, after, text); v.Verdict != tool.VerdictSuccess {
		t.Error(v.Explanation)
	}
	// A find has no Observe, so nothing tells what became of it.
	if _, _, err := exec.Reconcile(t.Context(), newCall(t, "orders.find", "c_2", `{"order":"H-1"}`), before); err == nil {
		t.Error("a call that nothing can be found out of is taken for done")
	}
}

// What is found wrong after a cancellation is compensated, and that it was is proven by looking.
func TestCompensation(t *testing.T) {
	t.Parallel()
	s := books(t)
	exec := executor.New(s)
	m := attempt(t, exec, "orders.cancel", "c_1", `{"order":"H-1"}`)
	if m.failed != nil || m.verdict.Verdict != tool.VerdictSuccess {
		t.Fatalf("%+v", m)
	}
	rb, err := m.attempt.Rollback(t.Context())
	if err != nil || !rb.Performed || rb.Refused != "" {
		t.Errorf("%+v, %v", rb, err)
	}
	if o, err := s.Find(t.Context(), &gen.FindPayload{ID: "H-1"}); err != nil || o.Status != "open" {
		t.Errorf("%+v, %v", o, err)
	}

	// Someone else changes the order meanwhile: the compensation does not claim to have restored it.
	m = attempt(t, exec, "orders.cancel", "c_2", `{"order":"H-1"}`)
	if _, err := s.Reopen(t.Context(), &gen.ReopenPayload{ID: "H-1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Upsert(t.Context(), &gen.UpsertPayload{ID: "H-1", Customer: "Eve", Lines: []*gen.Line{{Sku: "LPV-0001", Quantity: 1, Cents: 1}}}); err != nil {
		t.Fatal(err)
	}
	if rb, err = m.attempt.Rollback(t.Context()); err != nil || rb.Performed || !strings.Contains(rb.Refused, "Eve") {
		t.Errorf("%+v, %v", rb, err)
	}

	// Without a Compensate nothing is undone.
	m = attempt(t, exec, "orders.refund", "c_3", `{"order":"H-1","cents":1,"reason":"late"}`)
	if rb, err = m.attempt.Rollback(t.Context()); err != nil || rb.Performed || !strings.Contains(rb.Refused, "declares no Compensate") {
		t.Errorf("%+v, %v", rb, err)
	}
}

// A payload that keeps the tool's schema and breaks the service's is refused by Goa before the method sees it: nothing was done.
func TestServiceThatDoesNotAcceptThePayload(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"http", "grpc"} {
		call := newCall(t, "orders.refund", strings.Repeat("k", 101), refund) // longer than the service allows a key to be
		a, err := executor.New(transports[name](t, books(t))).Begin(t.Context(), call, tool.Plan{Number: 1, Source: tool.SourceSystem})
		if err != nil {
			t.Fatal(err)
		}
		if f := tool.AsFailed(a.Dispatch(t.Context())); f.Failure != tool.InvalidArguments || f.Dispatched || !strings.Contains(f.Message, "key") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Refunds at the same time never pay back more than the order cost, and those that are told to wait paid nothing back.
func TestRefundsAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := books(t)
	paid := make(chan int64, 40)
	for i := range cap(paid) {
		go func() {
			r, err := s.Refund(t.Context(), &gen.RefundPayload{ID: "H-1", Cents: 100, Reason: "late", Key: fmt.Sprint(i)})
			if err != nil {
				if n, ok := err.(interface{ GoaErrorName() string }); !ok || n.GoaErrorName() != "busy" && n.GoaErrorName() != "rejected" {
					t.Error(err)
				}
				paid <- 0
				return
			}
			paid <- r.Cents
		}()
	}
	var sum int64
	for range cap(paid) {
		sum += <-paid
	}
	if o, err := s.Find(t.Context(), &gen.FindPayload{ID: "H-1"}); err != nil || o.RefundedCents != sum || sum == 0 || sum > 3000 {
		t.Errorf("%d paid back, %+v, %v", sum, o, err)
	}
}
