package gym

import (
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed index.tmpl.html
var indexText string

var indexTemplate = template.Must(template.New("index").Parse(indexText))

// index lists all cases, for people.
func index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	err := indexTemplate.Execute(w, []struct {
		Title string
		Cases []Case
	}{
		{"Not found at first", notFound}, {"Another one of that name", wrongTarget}, {"Covered", covered},
		{"Moving, disabled, replaced", unstable}, {"Nothing seems to happen", noEffect}, {"Done, but not right", verification},
		{"Elsewhere on the page", places}, {"Fields", forms}, {"More than a click", pointing}, {"Leading elsewhere", navigation}, {"Around the page", around}, {"Orders, counted by the server", orders},
		{"The player scenario, one fault at a time", player},
	})
	if err != nil {
		http.Error(w, "list the cases: "+err.Error(), http.StatusInternalServerError)
	}
}
