package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	runspb "toolsvc/gen/grpc/runs/pb"
	toolspb "toolsvc/gen/grpc/tools/pb"
	"toolsvc/planner"
	"toolsvc/store"
)

const (
	// readyTimeout bounds one question for readiness.
	readyTimeout = 2 * time.Second
	// readyEvery is how often the health service of gRPC is brought up to date.
	readyEvery = 2 * time.Second
)

// healthNames are the names that the health service of gRPC knows: the server as a whole, and its services.
var healthNames = []string{"", toolspb.Tools_ServiceDesc.ServiceName, runspb.Runs_ServiceDesc.ServiceName}

// healthz says that the process is up.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = encode(w, map[string]string{"status": "ok"}) // a client that has gone cannot be told so
}

// readyz says whether calls can be made.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if err := s.askReady(r.Context()); err != nil {
		s.log.WarnContext(r.Context(), "not ready", "request_id", requestID(r.Context()), "error", err)
		writeProblem(w, refuse(r.Context(), kindNotReady, whyNotReady(err)))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = encode(w, map[string]string{"status": "ready"}) // a client that has gone cannot be told so
}

func (s *Server) askReady(ctx context.Context) error {
	if s.traffic.isClosed() {
		return errStopping
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return s.ready(ctx)
}

// noRoom says to callers what toolsvc doctor says to the operator, without naming folders.
const noRoom = "The disk that keeps the runs is full. Calls are refused until its operator has made room."

func whyNotReady(err error) string {
	switch {
	case errors.Is(err, store.ErrUnavailable): // before what its own error may be about, a time that is over
		return "The database that keeps the store cannot be reached. Calls wait, or fail, until it is back."
	case errors.Is(err, planner.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return "Temporal, which keeps the runs, cannot be reached. Calls are refused until it is back."
	case errors.Is(err, planner.ErrNoRoom):
		return noRoom
	case errors.Is(err, errStopping):
		return "toolsvc is stopping."
	}
	return "Something that calls need is missing. The log tells more under this request_id."
}

// watchReadiness keeps the health service of gRPC up to date until ctx ends.
func (s *Server) watchReadiness(ctx context.Context) {
	ticker := time.NewTicker(s.readyEvery)
	defer ticker.Stop()
	known := healthpb.HealthCheckResponse_UNKNOWN
	for {
		status := healthpb.HealthCheckResponse_SERVING
		err := s.askReady(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			status = healthpb.HealthCheckResponse_NOT_SERVING
		}
		if status != known {
			s.log.InfoContext(ctx, "readiness", "ready", err == nil, "error", err)
			known = status
		}
		s.setHealth(status)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// setHealth sets the status of the server as a whole and of the service.
func (s *Server) setHealth(status healthpb.HealthCheckResponse_ServingStatus) {
	for _, name := range healthNames {
		s.health.SetServingStatus(name, status)
	}
}
