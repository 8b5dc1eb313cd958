package server

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"toolsvc/server/auth"
)

const unauthorizedDetail = "This toolsvc is for those who have a token: send it as Authorization: Bearer TOKEN. Nothing was done."

// isPage reports whether a path is one that people open in a browser, which can ask them for a token.
func isPage(path string) bool { return path == "/" || strings.HasPrefix(path, "/runs/") }

// authenticated finds out who makes the request, and refuses those who are unknown. Whether the process is up and ready is told to everyone.
// A token may also come as the password of HTTP's basic authentication, because that is what browsers ask people for, and send with every
// request of the page; other sites cannot make use of it, since their requests are refused before.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			next.ServeHTTP(w, r)
			return
		}
		p, ok := s.tokens.Authorize(r.Header.Get("Authorization"), true)
		if !ok {
			w.Header().Add("WWW-Authenticate", `Bearer realm="toolsvc"`)
			if isPage(r.URL.Path) {
				w.Header().Add("WWW-Authenticate", `Basic realm="toolsvc: any name, and the token as the password", charset="UTF-8"`)
			}
			writeProblem(w, refuse(r.Context(), kindUnauthorized, unauthorizedDetail))
			return
		}
		note(r.Context(), slog.String("principal", p.Name))
		next.ServeHTTP(w, r.WithContext(auth.With(r.Context(), p)))
	})
}

// authenticate is the same for gRPC, where the token comes in the metadata.
func (s *Server) authenticate(ctx context.Context, method string) (context.Context, error) {
	if method == healthpb.Health_Check_FullMethodName || method == healthpb.Health_Watch_FullMethodName || method == healthpb.Health_List_FullMethodName {
		return ctx, nil
	}
	var authorization string
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if vs := md.Get("authorization"); len(vs) > 0 {
			authorization = vs[0]
		}
	}
	p, ok := s.tokens.Authorize(authorization, false)
	if !ok {
		return ctx, status.Error(codes.Unauthenticated, unauthorizedDetail)
	}
	note(ctx, slog.String("principal", p.Name))
	return auth.With(ctx, p), nil
}

func (s *Server) authenticateUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, err := s.authenticate(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (s *Server) authenticateStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, err := s.authenticate(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return next(srv, &streamIn{stream, ctx})
}

// streamIn is a stream with another context.
type streamIn struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *streamIn) Context() context.Context { return s.ctx }
