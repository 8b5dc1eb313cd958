package gym

import "net/http"

// demo registers Harbor Records, a record shop in which one flow of a dozen steps meets the usual faults one after the other. The plan
// for it is examples/demo/plan.yaml.
func (g *Gym) demo() {
	for path, file := range map[string]string{"/demo": "index", "/demo/voucher": "voucher"} {
		g.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { servePage(w, "demo/"+file+".html") })
	}
	for path, kind := range map[string]string{"/demo/shop.css": "text/css", "/demo/shop.js": "text/javascript"} {
		g.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			http.ServeFileFS(w, r, files, r.URL.Path[1:])
		})
	}
	g.mux.HandleFunc("GET /demo/arrivals", func(w http.ResponseWriter, r *http.Request) {
		if !late(r) {
			return
		}
		answer(w, http.StatusOK, []map[string]any{
			{"title": "Night Ferry", "by": "Mira Oh", "about": "Piano, rain, and the last boat home.", "price": 14, "cover": "b"},
			{"title": "Low Tide Sessions", "by": "The Low Tide", "about": "One night in an empty ferry terminal.", "price": 24, "cover": ""},
		})
	})
	// The shop's own books: one order is wanted in a visit.
	g.mux.HandleFunc("POST /demo/orders", func(w http.ResponseWriter, r *http.Request) {
		number := g.books.deed(session(r), "ordered")
		g.demoOrders.Add(1)
		if late(r) {
			answer(w, http.StatusOK, map[string]string{"number": number})
		}
	})
}

// DemoOrders is how many orders the demo's shop has taken, in all visits.
func (g *Gym) DemoOrders() int { return int(g.demoOrders.Load()) }
