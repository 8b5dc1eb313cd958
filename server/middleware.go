package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"
)

// logged gives the request an id and writes one line about it when it is answered. Neither payloads nor query strings are logged.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		ctx, x := s.begin(r.Context(), w.Header())
		w.Header().Set("X-Request-Id", x.id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		rec := &recorder{ResponseWriter: w}
		defer func() {
			level := slog.LevelInfo
			switch {
			case rec.status >= http.StatusInternalServerError:
				level = slog.LevelWarn
			case r.URL.Path == "/healthz" || r.URL.Path == "/readyz":
				level = slog.LevelDebug
			}
			attrs := append([]slog.Attr{
				slog.String("request_id", x.id), slog.String("method", clip(r.Method)), slog.String("path", clip(r.URL.Path)),
				slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes), slog.Int64("duration_ms", time.Since(began).Milliseconds()),
				slog.String("remote", r.RemoteAddr),
			}, x.attrs...)
			s.log.LogAttrs(ctx, level, "http request", attrs...)
		}()
		next.ServeHTTP(rec, r.WithContext(ctx))
	})
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// recovered answers a panic with a problem, or cuts the connection when the answer has begun already.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.log.ErrorContext(r.Context(), "panic", "request_id", requestID(r.Context()), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if rec, ok := w.(*recorder); ok && rec.status != 0 {
				panic(http.ErrAbortHandler)
			}
			detail := fault
			if r.Method != http.MethodGet && r.Method != http.MethodHead {
				detail = faultInCall
			}
			writeProblem(w, refuse(r.Context(), kindInternal, detail))
		}()
		next.ServeHTTP(w, r)
	})
}

// hostSet is the set of names of allowed hosts, as hostName writes them.
func hostSet(names []string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[hostName(n)] = true
	}
	return set
}

// ownHost refuses a request for a host that is neither a loopback address nor allowed. A page of a foreign site whose name was made to
// point to this machine (DNS rebinding) sends its own name, and so gets nothing.
func (s *Server) ownHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := hostName(r.Host); !isLoopback(name) && !s.hosts[name] {
			writeProblem(w, refuse(r.Context(), kindForeignHost, fmt.Sprintf(
				"This server does not answer for the host %q. Use a loopback address, or add the host to the allowed ones.", clip(name))))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostName is the name in a Host header, in lower case, without port, brackets and the final dot.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

func refuseOrigin(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, refuse(r.Context(), kindCrossOrigin, "A page of another site may not call tools here. Nothing was called."))
}
