package main

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// site serves both designs of every page, and counts the clicks that they get.
type site struct {
	url   string
	pairs []pair
	srv   *http.Server

	mu   sync.Mutex
	hits map[string][]string // by visit: what was clicked, "right" or "wrong"
}

// script tells the site what was clicked.
const script = `addEventListener('click', e => {
  let t = e.composedPath()[0];
  if (t.closest('label') && t.closest('label').control && t !== t.closest('label').control) return; // the click on its field follows
  if (t.closest('a')) e.preventDefault();
  document.title = 'clicked';
  fetch('/hit?visit=%s&truth=' + (t.closest('[data-truth]') ? 'right' : 'wrong'));
}, true);`

func serve(pairs []pair) (*site, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{url: "http://" + l.Addr().String(), pairs: pairs, hits: map[string][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /pair/{pair}/{design}/{visit}", s.page)
	mux.HandleFunc("GET /hit", s.hit)
	s.srv = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go s.srv.Serve(l) //nolint:errcheck // it ends when it is closed
	return s, nil
}

// address of a page: both designs have the same pattern, because a redesign does not change where a page is.
func (s *site) address(pair int, redesigned bool, visit int) string {
	design := 10
	if redesigned {
		design = 20
	}
	return fmt.Sprintf("%s/pair/n%s/%d/%d", s.url, letters(pair), design, visit)
}

// letters writes a number without digits, so that every pair is a page pattern of its own.
func letters(n int) string { return string(rune('a'+n/26)) + string(rune('a'+n%26)) }

func (s *site) page(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("pair")
	i := int(name[1]-'a')*26 + int(name[2]-'a')
	if i < 0 || i >= len(s.pairs) {
		http.NotFound(w, r)
		return
	}
	p, visit := s.pairs[i], r.PathValue("visit")
	body, mark := p.after, ""
	if r.PathValue("design") == "10" {
		body, mark = p.before, fmt.Sprintf("document.querySelector(%s).dataset.truth = 'right';", strconv.Quote(p.selector))
	}
	html := "<html lang=en>"
	if rest, lang, ok := cutLang(body); ok {
		body, html = rest, lang
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html>%s<meta charset=utf-8><title>Page</title><style>button,a,[role]{padding:4px;margin:2px;display:inline-block}</style><body>%s<script>%s%s</script>", html, body, fmt.Sprintf(script, visit), mark)
}

// cutLang takes an <html lang=…> off the beginning.
func cutLang(body string) (rest, tag string, ok bool) {
	if !strings.HasPrefix(body, "<html ") {
		return body, "", false
	}
	tag, rest, _ = strings.Cut(body, ">")
	return rest, tag + ">", true
}

func (s *site) hit(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := r.FormValue("visit")
	s.hits[v] = append(s.hits[v], r.FormValue("truth"))
	w.WriteHeader(http.StatusNoContent)
}

func (s *site) clicked(visit int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[strconv.Itoa(visit)]
}
