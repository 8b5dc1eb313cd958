package gym

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

// maxDelay bounds how late an answer may be asked to come.
const maxDelay = 30 * time.Second

// services registers what the pages ask of their server.
func (g *Gym) services() {
	g.mux.HandleFunc("GET /api/tracks", func(w http.ResponseWriter, r *http.Request) {
		if !late(r) {
			return
		}
		answer(w, http.StatusOK, []map[string]string{
			{"title": "Breakwater", "length": "3:41"}, {"title": "Slack Water", "length": "4:05"}, {"title": "Harbor Lights", "length": "3:12"},
			{"title": "Night Ferry", "length": "5:20"},
		})
	})

	// The script of a page that was rendered on the server: it brings the play button to life.
	g.mux.HandleFunc("GET /api/player.js", func(w http.ResponseWriter, r *http.Request) {
		if !late(r) {
			return
		}
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write([]byte(`$("play").removeEventListener("click", early); $("play").addEventListener("click", player($("play"), $("status")));`))
	})

	g.mux.HandleFunc("GET /api/harbor-lights.wav", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "audio/wav")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(song()))
	})

	var polls atomic.Int64
	g.mux.HandleFunc("GET /api/listeners", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, map[string]int64{"count": 211 + polls.Add(1)%5})
	})

	g.mux.HandleFunc("POST /api/votes", func(w http.ResponseWriter, r *http.Request) {
		if choice := r.URL.Query().Get("choice"); choice == "like" {
			g.books.deed(session(r), "voted")
		} else {
			g.books.record(session(r), "wrong", "voted against it")
		}
		w.WriteHeader(http.StatusNoContent)
	})

	g.mux.HandleFunc("GET /api/room", g.room)

	g.mux.HandleFunc("GET /api/receipt.txt", func(w http.ResponseWriter, r *http.Request) {
		g.books.deed(session(r), "downloaded")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="receipt-H-2041.txt"`)
		_, _ = w.Write([]byte("Harbor Shop\nOrder H-2041\nLow Tide Sessions, vinyl: 24.00 EUR\n"))
	})

	g.mux.HandleFunc("POST /api/likes", func(w http.ResponseWriter, r *http.Request) { // refused, always
		if late(r) {
			g.books.record(session(r), "note", "refused a like")
			answer(w, http.StatusInternalServerError, map[string]string{"error": "likes are closed"})
		}
	})

	g.mux.HandleFunc("POST /api/orders", g.takeOrder)
	g.mux.HandleFunc("GET /api/truth", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, g.Truth(session(r)))
	})
}

// takeOrder takes an order and answers as the mode says: normal, slow, lost, error, redirect.
func (g *Gym) takeOrder(w http.ResponseWriter, r *http.Request) {
	mode := r.URL.Query().Get("mode")
	if mode == "error" {
		g.books.record(session(r), "note", "refused with 500")
		answer(w, http.StatusInternalServerError, map[string]string{"error": "the order could not be taken"})
		return
	}
	number := g.books.deed(session(r), "ordered")
	switch mode {
	case "lost":
		// The line is cut in the middle of the answer. Cut before its first byte, a browser may send the request again by itself, which
		// would be the browser's duplicate and not the tool's.
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte(`{"number":`))
		if err := http.NewResponseController(w).Flush(); err != nil {
			g.books.record(session(r), "note", "the visitor was gone before the line was cut")
		}
		panic(http.ErrAbortHandler)
	case "redirect":
		if late(r) {
			http.Redirect(w, r, "/c/order-form/receipt?number="+url.QueryEscape(number), http.StatusSeeOther)
		}
	default:
		if late(r) {
			answer(w, http.StatusOK, map[string]string{"number": number})
		}
	}
}

// session names the visit that a request belongs to.
func session(r *http.Request) string {
	if s := r.URL.Query().Get("session"); s != "" && len(s) <= 200 {
		return s
	}
	return "visitor"
}

// late waits as long as the request asks for (?delay=, in milliseconds), and reports whether the visitor is still there.
func late(r *http.Request) bool {
	ms, err := strconv.ParseFloat(r.URL.Query().Get("delay"), 64)
	if err != nil || !(ms > 0) {
		return true
	}
	wait := maxDelay
	if ms < float64(maxDelay.Milliseconds()) {
		wait = time.Duration(ms * float64(time.Millisecond))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, "encode the answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the visitor may be gone: nobody is left to tell
}
