package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
)

// exchange is what is known of one request while it is answered. One goroutine uses it at a time.
type exchange struct {
	id  string
	log *slog.Logger
	// header of the response; nil on gRPC.
	header http.Header
	// attrs end up in the request's line in the log.
	attrs []slog.Attr
}

type exchangeKey struct{}

// begin makes the exchange of a request.
func (s *Server) begin(ctx context.Context, header http.Header) (context.Context, *exchange) {
	x := &exchange{id: "q_" + strings.ToLower(rand.Text()[:16]), log: s.log, header: header}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// exchangeOf returns the exchange of ctx. A context without one, as in a direct call of the service, gets one that goes nowhere.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{log: slog.New(slog.DiscardHandler), header: http.Header{}}
}

func requestID(ctx context.Context) string { return exchangeOf(ctx).id }

// note adds to the request's line in the log.
func note(ctx context.Context, attrs ...slog.Attr) {
	x := exchangeOf(ctx)
	x.attrs = append(x.attrs, attrs...)
}
