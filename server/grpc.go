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
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	runspb "toolsvc/gen/grpc/runs/pb"
	runsgrpc "toolsvc/gen/grpc/runs/server"
	toolspb "toolsvc/gen/grpc/tools/pb"
	toolsgrpc "toolsvc/gen/grpc/tools/server"
	"toolsvc/gen/runs"
	"toolsvc/gen/tools"
	"toolsvc/tool"
)

// spareMessage is what a message may hold beside the largest payload, in bytes.
const spareMessage = 16 << 10

// grpcServer puts the gRPC surface together. The transport itself answers a message that is too large, with ResourceExhausted.
func (s *Server) grpcServer(ofTools *tools.Endpoints, ofRuns *runs.Endpoints, atOnce int) (*grpc.Server, *health.Server) {
	opts := []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.logUnary, s.recoverUnary, s.authenticateUnary),
		grpc.ChainStreamInterceptor(s.logStream, s.recoverStream, s.authenticateStream),
		grpc.MaxRecvMsgSize(tool.MaxPayload + spareMessage),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(uint32(atOnce + spareConnections)),
		grpc.ConnectionTimeout(headerTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}), // finds clients that are gone
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second, PermitWithoutStream: true}),
	}
	if s.tls != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(s.tls.Clone())))
	}
	srv := grpc.NewServer(opts...)
	t := toolsgrpc.New(ofTools, nil)
	t.CallH = goagrpc.NewUnaryHandler(ofTools.Call, plainly(toolsgrpc.DecodeCallRequest), toolsgrpc.EncodeCallResponse)
	toolspb.RegisterToolsServer(srv, t)
	r := runsgrpc.New(ofRuns, nil, nil)
	r.StartH = goagrpc.NewUnaryHandler(ofRuns.Start, plainly(runsgrpc.DecodeStartRequest), runsgrpc.EncodeStartResponse)
	r.ListH = goagrpc.NewUnaryHandler(ofRuns.List, plainly(runsgrpc.DecodeListRequest), runsgrpc.EncodeListResponse)
	r.ShowH = goagrpc.NewUnaryHandler(ofRuns.Show, plainly(runsgrpc.DecodeShowRequest), runsgrpc.EncodeShowResponse)
	r.AppendH = goagrpc.NewUnaryHandler(ofRuns.Append, plainly(runsgrpc.DecodeAppendRequest), runsgrpc.EncodeAppendResponse)
	r.ResultH = goagrpc.NewUnaryHandler(ofRuns.Result, plainly(runsgrpc.DecodeResultRequest), runsgrpc.EncodeResultResponse)
	r.WatchH = goagrpc.NewStreamHandler(ofRuns.Watch, plainly(runsgrpc.DecodeWatchRequest))
	r.ArtifactH = goagrpc.NewStreamHandler(ofRuns.Artifact, plainly(runsgrpc.DecodeArtifactRequest))
	r.AnswerH = goagrpc.NewUnaryHandler(ofRuns.Answer, plainly(runsgrpc.DecodeAnswerRequest), runsgrpc.EncodeAnswerResponse)
	r.ApproveH = goagrpc.NewUnaryHandler(ofRuns.Approve, plainly(runsgrpc.DecodeApproveRequest), runsgrpc.EncodeApproveResponse)
	r.PauseH = goagrpc.NewUnaryHandler(ofRuns.Pause, plainly(runsgrpc.DecodePauseRequest), runsgrpc.EncodePauseResponse)
	r.ResumeH = goagrpc.NewUnaryHandler(ofRuns.Resume, plainly(runsgrpc.DecodeResumeRequest), runsgrpc.EncodeResumeResponse)
	r.CancelH = goagrpc.NewUnaryHandler(ofRuns.Cancel, plainly(runsgrpc.DecodeCancelRequest), runsgrpc.EncodeCancelResponse)
	runspb.RegisterRunsServer(srv, r)
	h := health.NewServer()
	healthpb.RegisterHealthServer(srv, h)
	for _, name := range healthNames {
		h.SetServingStatus(name, healthpb.HealthCheckResponse_NOT_SERVING)
	}
	reflection.Register(srv)
	return srv, h
}

// plainly answers wrong parameters in the same words as HTTP.
func plainly(decode goagrpc.RequestDecoder) goagrpc.RequestDecoder {
	return func(ctx context.Context, v any, md metadata.MD) (any, error) {
		payload, err := decode(ctx, v, md)
		var invalid *goa.ServiceError
		if errors.As(err, &invalid) {
			return nil, invalidParameter(ctx, invalid)
		}
		return payload, err
	}
}

// logUnary writes one line about each request.
func (s *Server) logUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	began := time.Now()
	ctx, x := s.begin(ctx, nil)
	resp, err := next(ctx, req)
	return resp, s.logEnd(ctx, x, info.FullMethod, began, err)
}

// logStream writes one line about each stream when it has ended.
func (s *Server) logStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	began := time.Now()
	ctx, x := s.begin(stream.Context(), nil)
	return s.logEnd(ctx, x, info.FullMethod, began, next(srv, &streamIn{stream, ctx}))
}

// logEnd writes the line, and returns the error that the client gets.
func (s *Server) logEnd(ctx context.Context, x *exchange, method string, began time.Time, err error) error {
	if err != nil && ctx.Err() != nil {
		err = status.FromContextError(ctx.Err()).Err()
	}
	code := status.Code(err)
	level := slog.LevelInfo
	switch {
	case code == codes.Internal, code == codes.Unknown, code == codes.Unavailable:
		level = slog.LevelWarn
	case method == healthpb.Health_Check_FullMethodName:
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{slog.String("request_id", x.id), slog.String("method", method), slog.String("code", code.String()),
		slog.Int64("duration_ms", time.Since(began).Milliseconds())}
	if p, ok := peer.FromContext(ctx); ok {
		attrs = append(attrs, slog.String("remote", p.Addr.String()))
	}
	s.log.LogAttrs(ctx, level, "grpc request", append(attrs, x.attrs...)...)
	return err
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

// recoverStream does the same for streams.
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
	if method == toolspb.Tools_Call_FullMethodName || method == runspb.Runs_Append_FullMethodName || method == runspb.Runs_Answer_FullMethodName || method == runspb.Runs_Approve_FullMethodName {
		detail = faultInCall
	}
	r := refuse(ctx, kindInternal, detail)
	return goagrpc.NewStatusError(codes.Internal, r, toolsgrpc.NewCallInternalError(r.Problem))
}
