//go:build linux

package main

import (
	"fmt"
	"html/template"
	"net"
	"net/http"
	"sync"
	"time"
)

// pages are the behaviours of the order page; placed tells whether it ever says that the order was placed.
var pages = []struct {
	name   string
	placed bool
}{
	{"normal", true}, {"normal", true},
	{"late", true},      // the button comes to life late
	{"swallowed", true}, // the first click is lost
	{"slow", true},      // the shop takes its time after it has taken the order
	{"veil", true},      // something covers the button for a while
	{"lost", false},     // the shop takes the order, and the line is cut before its answer
	{"error", false},    // the shop refuses, and the page says so
}

// site is a shop that counts the orders of each id. It is the truth about clicks.
type site struct {
	http *http.Server
	addr string

	mu     sync.Mutex
	orders map[string]int
}

func openSite() (*site, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{addr: l.Addr().String(), orders: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /order", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = orderPage.Execute(w, map[string]string{"ID": r.URL.Query().Get("id"), "Mode": r.URL.Query().Get("mode")}) // the visitor may be gone
	})
	mux.HandleFunc("POST /orders", s.take)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go s.http.Serve(l) //nolint:errcheck // it ends with Close
	return s, nil
}

func (s *site) close() { _ = s.http.Close() } // nobody visits any more

// take takes an order.
func (s *site) take(w http.ResponseWriter, r *http.Request) {
	id, mode := r.URL.Query().Get("id"), r.URL.Query().Get("mode")
	if mode == "error" {
		http.Error(w, "refused", http.StatusInternalServerError)
		return
	}
	s.mu.Lock()
	s.orders[id]++
	s.mu.Unlock()
	switch mode {
	case "slow":
		select {
		case <-time.After(900 * time.Millisecond):
		case <-r.Context().Done():
		}
	case "lost": // cut in the middle of the answer: cut before it, a browser may repeat the request by itself
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusOK)
		fmt.Fprint(w, "pl")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintln(w, "placed")
}

// count is how many orders of an id were taken.
func (s *site) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[id]
}

var orderPage = template.Must(template.New("order").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Checkout</title><link rel="icon" href="data:,">
<style>body{font:16px sans-serif;margin:2em}#veil{position:fixed;inset:0;background:#0004}</style></head>
<body><main><h1>Checkout</h1><p>Order {{.ID}}</p><button id="b">Place order</button><p id="s" role="status"></p></main>
<script>
const mode = {{.Mode}}, id = {{.ID}}, b = document.getElementById("b"), s = document.getElementById("s");
let eat = mode === "swallowed" ? 1 : 0;
async function place() {
  if (eat-- > 0) return;
  try {
    const a = await fetch("/orders?id=" + encodeURIComponent(id) + "&mode=" + mode, {method: "POST"});
    if (!a.ok) throw new Error("refused");
    s.textContent = "Order " + await a.text();
    b.disabled = true;
  } catch (e) {
    s.setAttribute("role", "alert");
    s.textContent = "Something went wrong.";
  }
}
if (mode === "late") setTimeout(() => b.addEventListener("click", place), 500); else b.addEventListener("click", place);
if (mode === "veil") {
  const v = document.createElement("div"); v.id = "veil"; document.body.append(v);
  setTimeout(() => v.remove(), 600);
}
</script></body></html>
`))
