package orders

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	goahttp "goa.design/goa/v3/http"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	grpcclient "toolsvc/examples/orders/gen/grpc/orders/client"
	orderspb "toolsvc/examples/orders/gen/grpc/orders/pb"
	grpcserver "toolsvc/examples/orders/gen/grpc/orders/server"
	httpclient "toolsvc/examples/orders/gen/http/orders/client"
	httpserver "toolsvc/examples/orders/gen/http/orders/server"
	gen "toolsvc/examples/orders/gen/orders"
)

// maxBody bounds a request over HTTP, in bytes.
const maxBody = 1 << 20

// Handler serves the service over HTTP.
func Handler(s gen.Service) http.Handler {
	mux := goahttp.NewMuxer()
	httpserver.Mount(mux, httpserver.New(gen.NewEndpoints(s), mux, goahttp.RequestDecoder, goahttp.ResponseEncoder, nil, nil))
	return http.MaxBytesHandler(mux, maxBody)
}

// GRPCServer serves the service over gRPC.
func GRPCServer(s gen.Service) *grpc.Server {
	srv := grpc.NewServer()
	orderspb.RegisterOrdersServer(srv, grpcserver.New(gen.NewEndpoints(s), nil))
	return srv
}

// Dial makes a client of the service at http://host:port or grpc://host:port. It connects with the first call.
func Dial(address string) (*gen.Client, io.Closer, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, fmt.Errorf("address of the orders service: %w", err)
	}
	switch u.Scheme {
	case "http", "https":
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = 30 * time.Second
		c := httpclient.NewClient(u.Scheme, u.Host, &http.Client{Transport: transport}, goahttp.RequestEncoder, goahttp.ResponseDecoder, false)
		return gen.NewClient(c.Upsert(), c.Find(), c.Cancel(), c.Reopen(), c.Refund(), c.FindRefund()), idle{transport}, nil
	case "grpc":
		conn, err := grpc.NewClient(u.Host, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, nil, fmt.Errorf("address of the orders service: %w", err)
		}
		c := grpcclient.NewClient(conn)
		return gen.NewClient(c.Upsert(), c.Find(), c.Cancel(), c.Reopen(), c.Refund(), c.FindRefund()), conn, nil
	}
	return nil, nil, fmt.Errorf("address of the orders service: %q is neither http://host:port nor grpc://host:port", address)
}

// idle closes the connections that an HTTP client keeps.
type idle struct{ t *http.Transport }

func (i idle) Close() error {
	i.t.CloseIdleConnections()
	return nil
}
