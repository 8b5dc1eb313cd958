// Package site serves the pages of the published scenarios that run in a browser, beside the failure gym whose look and sound they share: a
// music player, and an editor of source files on CodeMirror 6.
//
// A page is given its faults by its address (?open=canvas&play=swallowed), injects each at the named action, and notes in
// window.__landed when a fault has really taken effect. The truth is the server's: what was played, what was saved, and what a file holds
// ([Site.Played], [Site.Files]). Noting changes no DOM and sends no request, so that it cannot be mistaken for evidence of an effect.
package site

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"toolsvc/bench/gym"
)

//go:embed pages static
var files embed.FS

// The file that the editor shows, and the one that is wanted. It does not end with a line feed, because an editor of the web shows that as an empty
// line, which nobody can tell from none by looking at the page.
const (
	Original = "package harbor\n\n// Lights returns the lights.\nfunc Lights() int {\n\treturn 12\n}"
	Improved = "package harbor\n\n// Lights counts the lamps along the pier that are lit at dusk,\n// from the lighthouse to the ferry landing.\nfunc Lights() int {\n\treturn 12\n}"
	other    = "package harbor\n\nimport \"testing\"\n\nfunc TestLights(t *testing.T) {}\n"
)

// maxFile bounds what is saved, in bytes.
const maxFile = 64 << 10

// Site serves the pages. Start it with [Start].
type Site struct {
	// URL is the origin.
	URL string

	server *http.Server
	mu     sync.Mutex
	visits map[string]*visit
}

// visit is what the server knows of one run.
type visit struct {
	played []string
	files  map[string]string
	saves  map[string]int
	slowed int
}

// Start serves on a free port of the loopback interface.
func Start() (*Site, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the scenarios: %w", err)
	}
	s := &Site{URL: "http://" + l.Addr().String(), visits: map[string]*visit{}}
	mux := http.NewServeMux()
	mux.Handle("GET /", gym.New(""))
	for path, dir := range map[string]string{"/scenarios/": "pages", "/scenarios/static/": "static"} {
		sub, err := fs.Sub(files, dir)
		if err != nil {
			panic(err) // the folder is embedded
		}
		mux.Handle("GET "+path, http.StripPrefix(path, http.FileServerFS(sub)))
	}
	mux.HandleFunc("GET /scenarios/api/tracks", s.tracks)
	mux.HandleFunc("POST /scenarios/api/plays", s.play)
	mux.HandleFunc("GET /scenarios/api/files/{name}", s.read)
	mux.HandleFunc("PUT /scenarios/api/files/{name}", s.save)
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})}
	go func() { _ = s.server.Serve(l) }() // always returns an error: ErrServerClosed after Close
	return s, nil
}

// Close stops serving.
func (s *Site) Close() error { return s.server.Close() }

// Address is that of a page with its faults, action → kind, for one run.
func (s *Site) Address(page, session string, faults map[string]string) string {
	q := url.Values{"session": {session}}
	for action, kind := range faults {
		q.Set(action, kind)
	}
	return s.URL + "/scenarios/" + page + ".html?" + q.Encode()
}

// Played lists what was played in a session, in order, "stop" for a track that was stopped.
func (s *Site) Played(session string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.visit(session).played...)
}

// File is what a file holds, and how often it was saved, in a session.
func (s *Site) File(session, name string) (content string, saves int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.visit(session)
	return v.files[name], v.saves[name]
}

// Slowed is how many answers were held back in a session.
func (s *Site) Slowed(session string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visit(session).slowed
}

// Forget drops a session.
func (s *Site) Forget(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.visits, session)
}

// visit finds or makes a session. The lock is held.
func (s *Site) visit(session string) *visit {
	v := s.visits[session]
	if v == nil {
		v = &visit{files: map[string]string{"harbor.go": Original, "harbor_test.go": other}, saves: map[string]int{}}
		s.visits[session] = v
	}
	return v
}

// The least and the most that a slow answer takes.
const (
	slowLeast = 1200 * time.Millisecond
	slowMost  = 2800 * time.Millisecond
)

// slow holds an answer back when the page asks for it; the time depends on the session and on what is asked. It reports whether the
// visitor is still there.
func (s *Site) slow(r *http.Request) bool {
	session := r.URL.Query().Get("session")
	if r.URL.Query().Get("readiness") != "slow" {
		return true
	}
	h := uint64(14695981039346656037)
	for _, c := range []byte(session + r.URL.Path + r.URL.Query().Get("album")) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	t := time.NewTimer(slowLeast + time.Duration(h%uint64(slowMost-slowLeast)))
	defer t.Stop()
	s.mu.Lock()
	s.visit(session).slowed++
	s.mu.Unlock()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (s *Site) tracks(w http.ResponseWriter, r *http.Request) {
	if !s.slow(r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	list := []string{"Low Tide Sessions"}
	if r.URL.Query().Get("album") != "" {
		list = []string{"Night Ferry", "Harbor Lights"}
	}
	_ = json.NewEncoder(w).Encode(list) // the visitor may be gone: nobody is left to tell
}

func (s *Site) play(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	v := s.visit(r.URL.Query().Get("session"))
	v.played = append(v.played, r.URL.Query().Get("track"))
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func (s *Site) read(w http.ResponseWriter, r *http.Request) {
	content, _ := s.File(r.URL.Query().Get("session"), r.PathValue("name"))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, content) // the visitor may be gone: nobody is left to tell
}

func (s *Site) save(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFile))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	s.mu.Lock()
	v := s.visit(r.URL.Query().Get("session"))
	v.files[r.PathValue("name")] = string(text)
	v.saves[r.PathValue("name")]++
	s.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}
