package gym

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

//go:embed pages static demo
var files embed.FS

// Gym serves the pages, their small services, and the demo. Make it with [New].
type Gym struct {
	mux   *http.ServeMux
	books books
	// demoOrders counts the orders of the demo's shop.
	demoOrders atomic.Int64
	// other is the origin under which the same pages are another site; "" when there is none.
	other func(r *http.Request) string
}

// New makes the gym. other is the origin ("http://localhost:8091") under which the same gym can be reached as another site: pages with a
// frame of another site load it from there. With "" those frames stay empty and say why.
func New(other string) *Gym {
	return newGym(func(*http.Request) string { return other })
}

func newGym(other func(*http.Request) string) *Gym {
	g := &Gym{mux: http.NewServeMux(), other: other}
	static, err := fs.Sub(files, "static")
	if err != nil {
		panic(err) // the folder is embedded
	}
	g.mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(static)))
	g.mux.HandleFunc("GET /{$}", index)
	g.mux.HandleFunc("GET /c/{name}", page)
	g.mux.HandleFunc("GET /c/{name}/{sub}", page)
	g.mux.HandleFunc("GET /elsewhere/{path...}", g.elsewhere)
	g.services()
	g.demo()
	return g
}

// ServeHTTP answers one request. Nothing is cached, so that a second visit is like the first.
func (g *Gym) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	g.mux.ServeHTTP(w, r)
}

// Truth is what the server itself counted in a session: orders, votes, downloads.
func (g *Gym) Truth(session string) Truth { return g.books.truth(session) }

// page serves /c/late from pages/late.html and /c/nav-full/record from pages/nav-full.record.html.
func page(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if sub := r.PathValue("sub"); sub != "" {
		name += "." + sub
	}
	servePage(w, "pages/"+name+".html")
}

func servePage(w http.ResponseWriter, path string) {
	body, err := files.ReadFile(path)
	if err != nil {
		http.Error(w, "no such page; the list of all is at /", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(body) // the visitor may be gone: nobody is left to tell
}

// elsewhere sends a frame to the same path on the other site.
func (g *Gym) elsewhere(w http.ResponseWriter, r *http.Request) {
	other := g.other(r)
	if other == "" {
		http.Error(w, "this gym was started without a second origin", http.StatusNotFound)
		return
	}
	to := other + "/" + r.PathValue("path")
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	http.Redirect(w, r, to, http.StatusFound)
}

// Server is a gym that listens on two loopback ports, of which the second is the other site.
type Server struct {
	*Gym
	// URL is the origin, "http://127.0.0.1:port"; Other is the other site's, "http://localhost:port".
	URL, Other string
	servers    []*http.Server
}

// Start serves a gym on two free ports of the loopback interface.
func Start() (*Server, error) { return Listen("127.0.0.1:0") }

// Listen serves a gym on address ("127.0.0.1:8090"; port 0 is any free one), which has to be a loopback address, and the other site on
// a free port of the same host.
func Listen(address string) (*Server, error) {
	first, err := listenLoopback(address)
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(first.Addr().String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gym: read own address: %w", err), first.Close())
	}
	second, err := listenLoopback(net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, errors.Join(err, first.Close())
	}
	_, otherPort, err := net.SplitHostPort(second.Addr().String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gym: read own address: %w", err), first.Close(), second.Close())
	}
	s := &Server{URL: "http://" + net.JoinHostPort(host, port), Other: "http://localhost:" + otherPort}
	// Sites are told apart by host name, not by port: whoever came by one name of the loopback interface is sent to the other.
	s.Gym = newGym(func(r *http.Request) string {
		if strings.HasPrefix(r.Host, "localhost:") {
			return "http://" + net.JoinHostPort(host, otherPort)
		}
		return s.Other
	})
	for _, l := range []net.Listener{first, second} {
		server := &http.Server{Handler: s.Gym, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
		s.servers = append(s.servers, server)
		go func() { _ = server.Serve(l) }() // always returns an error: ErrServerClosed after Close
	}
	return s, nil
}

func listenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("gym: listen on %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("gym: listen on %q: the gym is for this machine only, use a loopback address such as 127.0.0.1", address)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("gym: listen on %q: %w", address, err)
	}
	return l, nil
}

// Close stops serving, and ends requests that are under way after one second.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var errs []error
	for _, server := range s.servers {
		if err := server.Shutdown(ctx); err != nil {
			errs = append(errs, server.Close())
		}
	}
	return errors.Join(errs...)
}
