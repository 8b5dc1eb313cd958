package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	goagrpc "goa.design/goa/v3/grpc"
	goa "goa.design/goa/v3/pkg"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	toolspb "toolsvc/gen/grpc/tools/pb"
	toolsgrpc "toolsvc/gen/grpc/tools/server"
	"toolsvc/gen/tools"
	"toolsvc/tool"
)

// spareMessage is what a message may hold beside the largest payload, in bytes.
const spareMessage = 16 << 10

// grpcServer puts the gRPC surface together. The transport itself answers a message that is too large, with ResourceExhausted.
func (s *Server) grpcServer(endpoints *tools.Endpoints, calls int) (*grpc.Server, *health.Server) {
	srv := grpc.NewServer(
		grpc.ChainUnaryInterceptor(s.logUnary, s.recoverUnary),
		grpc.ChainStreamInterceptor(s.recoverStream),
		grpc.MaxRecvMsgSize(tool.MaxPayload+spareMessage),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(uint32(calls+spareConnections)),
		grpc.ConnectionTimeout(headerTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}), // finds clients that are gone
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second, PermitWithoutStream: true}),
	)
	impl := toolsgrpc.New(endpoints, nil)
	impl.CallH = goagrpc.NewUnaryHandler(endpoints.Call, decodeCall, toolsgrpc.EncodeCallResponse)
	toolspb.RegisterToolsServer(srv, impl)
	h := health.NewServer()
	healthpb.RegisterHealthServer(srv, h)
	for _, name := range []string{"", toolspb.Tools_ServiceDesc.ServiceName} {
		h.SetServingStatus(name, healthpb.HealthCheckResponse_NOT_SERVING)
	}
	reflection.Register(srv)
	return srv, h
}

// decodeCall decodes a call as Goa does, and answers wrong parameters in the same words as HTTP.
func decodeCall(ctx context.Context, v any, md metadata.MD) (any, error) {
	if len(md.Get("idempotency-key")) > 0 {
		return nil, noIdempotencyKey(ctx)
	}
	payload, err := toolsgrpc.DecodeCallRequest(ctx, v, md)
	var invalid *goa.ServiceError
	if errors.As(err, &invalid) {
		return nil, invalidParameter(ctx, invalid)
	}
	return payload, err
}

// logUnary writes one line about each request.
func (s *Server) logUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	began := time.Now()
	ctx, x := s.begin(ctx, nil)
	resp, err := next(ctx, req)
	if err != nil && ctx.Err() != nil {
		err = status.FromContextError(ctx.Err()).Err()
	}
	code := status.Code(err)
	level := slog.LevelInfo
	switch {
	case code == codes.Internal, code == codes.Unknown, code == codes.Unavailable:
		level = slog.LevelWarn
	case info.FullMethod == healthpb.Health_Check_FullMethodName:
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{slog.String("request_id", x.id), slog.String("method", info.FullMethod), slog.String("code", code.String()),
		slog.Int64("duration_ms", time.Since(began).Milliseconds())}
	if p, ok := peer.FromContext(ctx); ok {
		attrs = append(attrs, slog.String("remote", p.Addr.String()))
	}
	s.log.LogAttrs(ctx, level, "grpc request", append(attrs, x.attrs...)...)
	return resp, err
}

// recoverUnary answers a panic with Internal.
func (s *Server) recoverUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, s.panicked(ctx, info.FullMethod, p)
		}
	}()
	return next(ctx, req)
}

// recoverStream does the same for the streams of reflection and health.
func (s *Server) recoverStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.panicked(stream.Context(), info.FullMethod, p)
		}
	}()
	return next(srv, stream)
}

func (s *Server) panicked(ctx context.Context, method string, p any) error {
	s.log.ErrorContext(ctx, "panic", "request_id", requestID(ctx), "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	detail := fault
	if method == toolspb.Tools_Call_FullMethodName {
		detail = faultInCall
	}
	r := refuse(ctx, kindInternal, detail)
	return goagrpc.NewStatusError(codes.Internal, r, toolsgrpc.NewCallInternalError(r.Problem))
}
