package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	goahttp "goa.design/goa/v3/http"

	toolshttp "toolsvc/gen/http/tools/server"
	"toolsvc/gen/tools"
	"toolsvc/tool"
)

// handler puts the HTTP surface together. A request passes, in this order: the log, the recovery from panics, the checks of host and
// origin, the routes.
func (s *Server) handler(endpoints *tools.Endpoints, description []byte, mcp http.Handler) http.Handler {
	mux := router{http.NewServeMux()}
	goa := toolshttp.New(endpoints, mux, requestDecoder, responseEncoder, s.encodingFailed, formatProblem)
	goa.Call = s.bounded(goa.Call)
	goa.Mount(mux)
	mux.Handle(http.MethodGet, "/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(description) // a client that has gone cannot be told so
	})
	if mcp != nil {
		mux.mux.Handle("/mcp", mcp)
	}
	mux.Handle(http.MethodGet, "/healthz", s.healthz)
	mux.Handle(http.MethodGet, "/readyz", s.readyz)

	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(refuseOrigin))
	return s.logged(s.recovered(s.ownHost(origin.Handler(mux))))
}

// router is http.ServeMux as Goa mounts its handlers on it. What it does not know is answered with a problem.
type router struct{ mux *http.ServeMux }

// Handle registers a handler; patterns have the syntax of http.ServeMux.
func (m router) Handle(method, pattern string, h http.HandlerFunc) {
	m.mux.HandleFunc(method+" "+pattern, h)
}

// Vars returns the values of the wildcards of the pattern that r matched.
func (m router) Vars(r *http.Request) map[string]string {
	vars := map[string]string{}
	for _, segment := range strings.Split(r.Pattern, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			vars[name] = r.PathValue(name)
		}
	}
	return vars
}

// ServeHTTP routes r.
func (m router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, pattern := m.mux.Handler(r)
	if pattern != "" {
		m.mux.ServeHTTP(w, r)
		return
	}
	probe := &statusOnly{header: http.Header{}}
	h.ServeHTTP(probe, r) // writes 404, or 405 with Allow
	if allow := probe.header.Get("Allow"); probe.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", allow)
		writeProblem(w, refuse(r.Context(), kindMethodNotAllowed, fmt.Sprintf("%s does not work here; %s does.", clip(r.Method), alternatives(strings.Split(allow, ", ")))))
		return
	}
	writeProblem(w, refuse(r.Context(), kindNotFound, fmt.Sprintf("There is nothing at %s. /openapi.json describes what there is.", clip(r.URL.Path))))
}

// statusOnly takes the status and the header of a response, and drops its body.
type statusOnly struct {
	header http.Header
	status int
}

func (p *statusOnly) Header() http.Header         { return p.header }
func (p *statusOnly) WriteHeader(status int)      { p.status = status }
func (p *statusOnly) Write(b []byte) (int, error) { return len(b), nil }

// payloadBody is a body that was read already.
type payloadBody struct{ payload []byte }

func (payloadBody) Read([]byte) (int, error) { return 0, io.EOF }
func (payloadBody) Close() error             { return nil }

// bounded reads the payload of a call: at most tool.MaxPayload bytes, within the time limit for bodies. The tool's own decoder gets it
// byte for byte.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, refused := s.readPayload(w, r)
		if refused != nil {
			w.Header().Set("Connection", "close") // the rest of the body is not read
			writeProblem(w, refused)
			return
		}
		r.Body = payloadBody{payload}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) readPayload(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	ctx := r.Context()
	if r.Header.Get("Idempotency-Key") != "" {
		return nil, noIdempotencyKey(ctx)
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, refuse(ctx, kindEncodedBody, fmt.Sprintf("A payload must come unencoded, not as %q. Nothing was called.", clip(e)))
	}
	if r.ContentLength > tool.MaxPayload {
		return nil, tooLarge(ctx, r.ContentLength)
	}
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(s.bodyTimeout)); err != nil {
		s.log.WarnContext(ctx, "the time for a body cannot be bounded", "request_id", requestID(ctx), "error", err)
	}
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, tool.MaxPayload))
	var over *http.MaxBytesError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &over):
		return nil, tooLarge(ctx, -1)
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, refuse(ctx, kindBodyTimeout, fmt.Sprintf("The payload did not come within %s. Nothing was called.", s.bodyTimeout))
	case err != nil:
		return nil, refuse(ctx, kindBrokenBody, "The payload broke off before its end. Nothing was called.")
	}
	if err := control.SetReadDeadline(time.Time{}); err != nil { // or the wait for the result would count too
		s.log.WarnContext(ctx, "the time limit of a body cannot be lifted", "request_id", requestID(ctx), "error", err)
	}
	return payload, nil
}

// noIdempotencyKey refuses a promise that cannot be kept: a caller that believes in it would repeat a call without harm in mind.
func noIdempotencyKey(ctx context.Context) *refusal {
	return refuse(ctx, kindInvalidParameter, "Idempotency-Key is not supported, so a repeated request would be a second call. Nothing was called. Send the request without it.")
}

// requestDecoder hands the payload over as it came; nothing is decoded here.
func requestDecoder(r *http.Request) goahttp.Decoder {
	return goahttp.EncodingFunc(func(v any) error {
		body, ok := r.Body.(payloadBody)
		into, raw := v.(*json.RawMessage)
		if !ok || !raw {
			return fmt.Errorf("a body of %T cannot be decoded into %T", r.Body, v)
		}
		*into = body.payload
		return nil
	})
}

// responseEncoder writes JSON, whatever the client accepts: there is nothing else to offer.
func responseEncoder(ctx context.Context, w http.ResponseWriter) goahttp.Encoder {
	contentType, ok := ctx.Value(goahttp.ContentTypeKey).(string)
	if !ok {
		contentType = "application/json"
	}
	w.Header().Set("Content-Type", contentType)
	return goahttp.EncodingFunc(func(v any) error { return encode(w, v) })
}

// encodingFailed logs a response that could not be written to its end: mostly a client that has gone.
func (s *Server) encodingFailed(ctx context.Context, _ http.ResponseWriter, err error) {
	s.log.WarnContext(ctx, "a response was not written to its end", "request_id", requestID(ctx), "error", err)
}
