package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

func TestTLSOnBothSurfaces(t *testing.T) {
	t.Parallel()
	lender := httptest.NewTLSServer(nil) // of a certificate for 127.0.0.1
	defer lender.Close()
	roots := x509.NewCertPool()
	roots.AddCert(lender.Certificate())
	s, err := New(Options{Caller: callerFunc(succeed), Registry: smallRegistry(t), TLS: &tls.Config{Certificates: lender.TLS.Certificates, MinVersion: tls.VersionTLS12}})
	if err != nil {
		t.Fatal(err)
	}
	httpL, grpcL := listen(t), listen(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, httpL, grpcL) }()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	client := &http.Client{Transport: transport}
	resp, err := client.Get("https://" + httpL.Addr().String() + "/v1/tools")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || resp.ProtoMajor != 2 {
		t.Errorf("status %d over %s", resp.StatusCode, resp.Proto)
	}
	if resp, err := http.Get("http://" + httpL.Addr().String() + "/v1/tools"); err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode == 200 {
			t.Error("it answers in the clear, too")
		}
	}
	conn, err := grpc.NewClient(grpcL.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: roots})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("gRPC: %v", err)
	}
	_ = conn.Close()
	transport.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
