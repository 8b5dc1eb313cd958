package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	goahttp "goa.design/goa/v3/http"

	"toolsvc/executors/mcpclient"
	runshttp "toolsvc/gen/http/runs/server"
	toolshttp "toolsvc/gen/http/tools/server"
	"toolsvc/gen/runs"
	"toolsvc/gen/tools"
	"toolsvc/server/auth"
)

// handler puts the HTTP surface together. A request passes, in this order: the log, the recovery from panics, the checks of host and
// origin, who makes it, the routes.
func (s *Server) handler(o Options, ofTools *tools.Endpoints, ofRuns *runs.Endpoints, svc *runService, description []byte) (http.Handler, error) {
	v, err := decodeJSON(description)
	if err != nil {
		return nil, err
	}
	doc, _ := v.(object)
	schemas := map[string]*mcpclient.Schema{}
	for _, name := range []string{"StartRequestBody", "AppendRequestBody", "ApproveRequestBody"} {
		if schemas[name], err = bodySchema(doc, name); err != nil {
			return nil, err
		}
	}
	mux := router{http.NewServeMux()}
	t := toolshttp.New(ofTools, mux, requestDecoder, responseEncoder, s.encodingFailed, formatProblem)
	t.Call = s.bounded(t.Call)
	t.Mount(mux)
	r := runshttp.New(ofRuns, mux, requestDecoder, responseEncoder, s.encodingFailed, formatProblem)
	r.Start = s.checked(schemas["StartRequestBody"], r.Start)
	r.Append = s.checked(schemas["AppendRequestBody"], r.Append)
	r.Approve = s.checked(schemas["ApproveRequestBody"], r.Approve)
	r.Answer = s.bounded(r.Answer)
	r.Mount(mux)
	mux.Handle(http.MethodGet, "/v1/runs/{run}/events", svc.events)
	mux.Handle(http.MethodGet, "/v1/artifacts/{digest}", svc.artifact)
	mux.Handle(http.MethodGet, "/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(description) // a client that has gone cannot be told so
	})
	if o.MCP != nil {
		mcp := o.MCP
		if s.tokens != nil {
			mcp = auth.ForMCP(mcp)
		}
		mux.mux.Handle("/mcp", s.counted(mcp))
	}
	if o.Page != nil {
		mux.mux.Handle("GET /{$}", o.Page)
		mux.mux.Handle("GET /runs/", o.Page)
		mux.mux.Handle("GET /assets/", o.Page)
	}
	if o.Metrics != nil {
		mux.mux.Handle("GET /metrics", o.Metrics)
	}
	mux.Handle(http.MethodGet, "/healthz", s.healthz)
	mux.Handle(http.MethodGet, "/readyz", s.readyz)

	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(refuseOrigin))
	return s.logged(s.recovered(s.ownHost(origin.Handler(s.authenticated(mux))))), nil
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
