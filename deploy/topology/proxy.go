package topology

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// startProxy shares requests out among the workers, one after the other, and leaves out those that cannot be connected to. Any worker answers
// for any run, so nothing needs to stay with one.
func startProxy(ctx context.Context, address string, workers []*Worker, to io.Writer) (string, *http.Server, error) {
	var targets []*url.URL
	for _, w := range workers {
		u, err := url.Parse(w.URL)
		if err != nil {
			return "", nil, err
		}
		targets = append(targets, u)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cmp.Or(address, "127.0.0.1:0"))
	if err != nil {
		return "", nil, fmt.Errorf("listen for the proxy: %w", err)
	}
	var next atomic.Uint64
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	transport := &http.Transport{
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     30 * time.Second,
		// A connection is made to the next worker that takes one. A request that was sent is never sent again.
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var errs []error
			first := next.Add(1)
			for i := range targets {
				c, err := dialer.DialContext(ctx, network, targets[(first+uint64(i))%uint64(len(targets))].Host)
				if err == nil {
					return c, nil
				}
				errs = append(errs, err)
			}
			return nil, errors.Join(errs...)
		},
		DisableKeepAlives: true, // each request is shared out
	}
	srv := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &httputil.ReverseProxy{
		Transport:     transport,
		ErrorLog:      log.New(cmp.Or(to, io.Discard), "proxy      ", 0),
		FlushInterval: -1, // server-sent events
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(targets[0]) // whichever takes the connection; all of them are loopback to each other
			r.Out.Host = targets[0].Host
		},
	}}
	go func() { _ = srv.Serve(l) }() // ends with Close
	return "http://" + l.Addr().String(), srv, nil
}
