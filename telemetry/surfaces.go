package telemetry

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// methods are those of HTTP that have series of their own.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions}

// Route is the route of a path, as it stands in labels and names of spans: what names a tool, a run or a file is left out.
func Route(path string) string {
	switch path {
	case "/", "/mcp", "/metrics", "/healthz", "/readyz", "/openapi.json", "/v1/tools", "/v1/runs":
		return path
	}
	for _, prefix := range []string{"/runs/", "/assets/"} {
		if strings.HasPrefix(path, prefix) {
			return prefix + "*"
		}
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) < 3 || parts[0] != "v1" {
		return other
	}
	switch {
	case parts[1] == "tools" && len(parts) == 3:
		return "/v1/tools/{tool}"
	case parts[1] == "artifacts" && len(parts) == 3:
		return "/v1/artifacts/{digest}"
	case parts[1] != "runs":
		return other
	case len(parts) == 3:
		return "/v1/runs/{run}"
	case len(parts) == 4 && slices.Contains([]string{"calls", "events", "pause", "resume", "cancel"}, parts[3]):
		return "/v1/runs/{run}/" + parts[3]
	case len(parts) == 5 && slices.Contains([]string{"calls", "answers", "approvals"}, parts[3]):
		return "/v1/runs/{run}/" + parts[3] + "/{id}"
	}
	return other
}

// HTTP measures and traces requests. It takes the trace from the request's traceparent (W3C Trace Context), and passes it on in the same
// header, by which the MCP surface finds it.
func (t *Telemetry) HTTP(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, method := Route(r.URL.Path), label(r.Method, methods)
		ctx := carrier.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		quiet := route == "/healthz" || route == "/readyz" || route == "/metrics" || route == "/assets/*"
		var span trace.Span
		if !quiet {
			ctx, span = t.Tracer().Start(ctx, "HTTP "+method+" "+route, trace.WithSpanKind(trace.SpanKindServer),
				trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route)))
			defer span.End()
			r.Header.Del("traceparent")
			r.Header.Del("tracestate")
			carrier.Inject(ctx, propagation.HeaderCarrier(r.Header))
		}
		rec := &statusRecorder{ResponseWriter: w}
		began := time.Now()
		defer func() {
			code := rec.status
			if code == 0 { // nothing was written: the connection was cut, or the answer is empty
				code = http.StatusOK
			}
			t.httpSeconds.WithLabelValues(route, method, strconv.Itoa(code)).Observe(time.Since(began).Seconds())
			if span != nil {
				span.SetAttributes(attribute.Int("http.response.status_code", code))
				if code >= http.StatusInternalServerError {
					span.SetStatus(otelcodes.Error, "")
				}
			}
		}()
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// statusRecorder remembers the status of an answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (r *statusRecorder) WriteHeader(code int) {
	if r.status == 0 {
		r.status = code
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *statusRecorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Flush lets streams through that ask for a Flusher in the old way.
func (r *statusRecorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController reach the connection.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// GRPC measures and traces requests and streams; the trace comes in the metadata traceparent.
func (t *Telemetry) GRPC() []grpc.ServerOption {
	if t == nil {
		return nil
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			ctx, end := t.rpc(ctx, info.FullMethod)
			resp, err := next(ctx, req)
			end(err)
			return resp, err
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			ctx, end := t.rpc(stream.Context(), info.FullMethod)
			err := next(srv, &streamIn{stream, ctx})
			end(err)
			return err
		}),
	}
}

// rpc begins a request; end is told what came of it.
func (t *Telemetry) rpc(ctx context.Context, method string) (_ context.Context, end func(error)) {
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = carrier.Extract(ctx, metadataCarrier(md))
	}
	var span trace.Span
	if !strings.HasPrefix(method, "/grpc.health.") && !strings.HasPrefix(method, "/grpc.reflection.") {
		ctx, span = t.Tracer().Start(ctx, strings.TrimPrefix(method, "/"), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("rpc.system.name", "grpc"), attribute.String("rpc.method", strings.TrimPrefix(method, "/"))))
	}
	began := time.Now()
	return ctx, func(err error) {
		code := status.Code(err).String()
		t.grpcSeconds.WithLabelValues(method, code).Observe(time.Since(began).Seconds())
		if span != nil {
			span.SetAttributes(attribute.String("rpc.response.status_code", code))
			span.End()
		}
	}
}

// metadataCarrier reads the trace from gRPC's metadata.
type metadataCarrier metadata.MD

func (m metadataCarrier) Get(key string) string {
	if vs := metadata.MD(m).Get(key); len(vs) > 0 {
		return vs[0]
	}
	return ""
}
func (m metadataCarrier) Set(key, value string) { metadata.MD(m).Set(key, value) }
func (m metadataCarrier) Keys() []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// streamIn is a stream with another context.
type streamIn struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *streamIn) Context() context.Context { return s.ctx }

// MCP traces requests of MCP clients, in the trace that traceparent in their _meta names, and otherwise in that of the HTTP request, or of ctx.
// Where the client named its own, a link leads to the HTTP request. It puts the span into the context that the surface calls tools with.
func (t *Telemetry) MCP(next sdk.MethodHandler) sdk.MethodHandler {
	if t == nil {
		return next
	}
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method != "tools/call" { // what lists and subscribes is no work
			return next(ctx, method, req)
		}
		start := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("mcp.method.name", method))}
		if extra := req.GetExtra(); extra != nil && extra.Header != nil {
			ctx = Remote(ctx, extra.Header.Get("traceparent"))
		}
		if p, ok := req.GetParams().(*sdk.CallToolParamsRaw); ok && p != nil {
			named, _ := p.GetMeta()["traceparent"].(string)
			if sc := trace.SpanContextFromContext(Remote(context.Background(), named)); sc.IsValid() {
				if carrying := trace.SpanContextFromContext(ctx); carrying.IsValid() {
					start = append(start, trace.WithLinks(trace.Link{SpanContext: carrying}))
				}
				ctx = trace.ContextWithRemoteSpanContext(ctx, sc)
			}
		}
		ctx, span := t.Tracer().Start(ctx, "MCP "+method, start...)
		defer span.End()
		res, err := next(ctx, method, req)
		if err != nil {
			span.SetStatus(otelcodes.Error, "")
		}
		return res, err
	}
}

// Command begins the span of a command line's call, in the trace that the environment's TRACEPARENT names.
func (t *Telemetry) Command(ctx context.Context, name, traceparent string) (context.Context, func()) {
	if t == nil {
		return ctx, func() {}
	}
	if traceparent != "" {
		ctx = Remote(ctx, traceparent)
	}
	ctx, span := t.Tracer().Start(ctx, "toolsvc "+name, trace.WithSpanKind(trace.SpanKindInternal))
	return ctx, func() { span.End() }
}
