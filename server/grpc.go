package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
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
func (s *Server) grpcServer(outside []grpc.ServerOption, ofTools *tools.Endpoints, ofRuns *runs.Endpoints, atOnce int) (*grpc.Server, *health.Server) {
	opts := append(slices.Clone(outside),
		grpc.ChainUnaryInterceptor(s.logUnary, s.recoverUnary, s.authenticateUnary),
		grpc.ChainStreamInterceptor(s.logStream, s.recoverStream, s.authenticateStream),
		grpc.MaxRecvMsgSize(tool.MaxPayload+spareMessage),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(uint32(atOnce+spareConnections)),
		grpc.ConnectionTimeout(headerTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}), // finds clients that are gone
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second, PermitWithoutStream: true}),
	)
	if s.tls != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(s.tls.Clone())))
	}
	srv := grpc.NewServer(opts...)
	t := toolsgrpc.New(ofTools, nil)
	t.CallH = unary(ofTools.Call, toolsgrpc.DecodeCallRequest, toolsgrpc.EncodeCallResponse)
	toolspb.RegisterToolsServer(srv, t)
	r := runsgrpc.New(ofRuns, nil, nil)
	r.StartH = unary(ofRuns.Start, runsgrpc.DecodeStartRequest, runsgrpc.EncodeStartResponse)
	r.ListH = unary(ofRuns.List, runsgrpc.DecodeListRequest, runsgrpc.EncodeListResponse)
	r.ShowH = unary(ofRuns.Show, runsgrpc.DecodeShowRequest, runsgrpc.EncodeShowResponse)
	r.AppendH = unary(ofRuns.Append, runsgrpc.DecodeAppendRequest, runsgrpc.EncodeAppendResponse)
	r.ResultH = unary(ofRuns.Result, runsgrpc.DecodeResultRequest, runsgrpc.EncodeResultResponse)
	r.WatchH = stream{goagrpc.NewStreamHandler(ofRuns.Watch, runsgrpc.DecodeWatchRequest), runsgrpc.DecodeWatchRequest}
	r.ArtifactH = stream{goagrpc.NewStreamHandler(ofRuns.Artifact, runsgrpc.DecodeArtifactRequest), runsgrpc.DecodeArtifactRequest}
	r.AnswerH = unary(ofRuns.Answer, runsgrpc.DecodeAnswerRequest, runsgrpc.EncodeAnswerResponse)
	r.ApproveH = unary(ofRuns.Approve, runsgrpc.DecodeApproveRequest, runsgrpc.EncodeApproveResponse)
	r.PauseH = unary(ofRuns.Pause, runsgrpc.DecodePauseRequest, runsgrpc.EncodePauseResponse)
	r.ResumeH = unary(ofRuns.Resume, runsgrpc.DecodeResumeRequest, runsgrpc.EncodeResumeResponse)
	r.CancelH = unary(ofRuns.Cancel, runsgrpc.DecodeCancelRequest, runsgrpc.EncodeCancelResponse)
	runspb.RegisterRunsServer(srv, r)
	h := health.NewServer()
	healthpb.RegisterHealthServer(srv, h)
	for _, name := range healthNames {
		h.SetServingStatus(name, healthpb.HealthCheckResponse_NOT_SERVING)
	}
	reflection.Register(srv)
	return srv, h
}

// checked is a handler of Goa's that answers wrong parameters with a problem, in the same words as HTTP. Goa itself would answer with
// text only.
type checked struct {
	goagrpc.UnaryHandler
	decode goagrpc.RequestDecoder
}

func unary(endpoint goa.Endpoint, decode goagrpc.RequestDecoder, encode goagrpc.ResponseEncoder) goagrpc.UnaryHandler {
	return checked{goagrpc.NewUnaryHandler(endpoint, decode, encode), decode}
}

func (h checked) Handle(ctx context.Context, message any) (any, error) {
	if err := check(ctx, h.decode, message); err != nil {
		return nil, err
	}
	return h.UnaryHandler.Handle(ctx, message)
}

// stream does the same for streams.
type stream struct {
	goagrpc.StreamHandler
	decode goagrpc.RequestDecoder
}

func (h stream) Decode(ctx context.Context, message any) (any, error) {
	if err := check(ctx, h.decode, message); err != nil {
		return nil, err
	}
	return h.StreamHandler.Decode(ctx, message)
}

func check(ctx context.Context, decode goagrpc.RequestDecoder, message any) error {
	md, _ := metadata.FromIncomingContext(ctx)
	_, err := decode(ctx, message, md)
	var invalid *goa.ServiceError
	if errors.As(err, &invalid) {
		return invalidParameter(ctx, invalid)
	}
	return nil // any other error is met again
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
