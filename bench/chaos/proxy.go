//go:build linux

package main

import (
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// plain is a client without a pool of connections: every request meets the faults of its own time.
var plain = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: 2 * time.Minute}}

// front is what the clients take for toolsvc: an HTTP proxy that may lose the answers of requests after toolsvc has handled them.
type front struct {
	http *http.Server
	addr string
	// loseUntil is until when about half of the answers are lost, in nanoseconds since 1970.
	loseUntil atomic.Int64
	lost      atomic.Int64
}

func openFront(to string) (*front, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &front{addr: l.Addr().String()}
	p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to})
	p.Transport, p.FlushInterval, p.ErrorLog = plain.Transport, -1, log.New(io.Discard, "", 0)
	p.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // as if there were no proxy
	p.ModifyResponse = func(resp *http.Response) error {
		if strings.HasSuffix(resp.Request.URL.Path, "/events") {
			return nil
		}
		if time.Now().UnixNano() < f.loseUntil.Load() && rand.IntN(2) == 0 {
			_, _ = io.Copy(io.Discard, resp.Body) // it was handled to its end
			f.lost.Add(1)
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	f.http = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	go f.http.Serve(l) //nolint:errcheck // it ends with close
	return f, nil
}

func (f *front) close() { _ = f.http.Close() } // nobody asks any more

// wire is a TCP proxy that can be cut.
type wire struct {
	l  net.Listener
	to string

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

func openWire(to string) (*wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{l: l, to: to, conns: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	return w, nil
}

func (w *wire) addr() string { return w.l.Addr().String() }

// hold keeps a connection for cut; false when the wire is cut.
func (w *wire) hold(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.down {
		w.conns[c] = true
	}
	return !w.down
}

func (w *wire) drop(cs ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range cs {
		delete(w.conns, c)
		c.Close() //nolint:errcheck // it is given up
	}
}

func (w *wire) carry(a net.Conn) {
	b, err := net.DialTimeout("tcp", w.to, 2*time.Second)
	if err != nil {
		a.Close() //nolint:errcheck // it is given up
		return
	}
	defer w.drop(a, b)
	if !w.hold(a) || !w.hold(b) {
		return
	}
	go func() {
		defer w.drop(a, b)
		io.Copy(b, a) //nolint:errcheck // it ends with either side
	}()
	io.Copy(a, b) //nolint:errcheck // it ends with either side
}

// cut closes all connections and refuses new ones until mend; it returns how many there were.
func (w *wire) cut() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	n := len(w.conns)
	for c := range w.conns {
		c.Close() //nolint:errcheck // that is what it is for
	}
	return n / 2
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

func (w *wire) close() {
	w.l.Close() //nolint:errcheck // nobody connects any more
	w.cut()
}
