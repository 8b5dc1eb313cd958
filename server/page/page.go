package page

import (
	"bytes"
	"embed"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"toolsvc/tool"
)

//go:embed index.html assets
var files embed.FS

// policy is the Content-Security-Policy of the page. It needs no exception: styles are set through the CSSOM only, pictures come from
// artifacts or are drawn.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// runPath is the address of a run's page; what a run may be called is decided by the interface.
var runPath = regexp.MustCompile(`^/runs/[A-Za-z0-9_-]{1,64}$`)

// file is one embedded file, ready to be served.
type file struct {
	mediaType string
	data      []byte
	etag      string
}

// pages answers requests for the page and its assets.
type pages struct {
	index  file
	assets map[string]file // by path
}

// New makes the handler of /, of /runs/{run} and of everything below /assets/. It fails only when what is embedded is broken.
func New() (http.Handler, error) {
	p := &pages{assets: map[string]file{}}
	index, err := files.ReadFile("index.html")
	if err != nil {
		return nil, err
	}
	p.index = newFile("index.html", index)
	entries, err := files.ReadDir("assets")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := files.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, err
		}
		p.assets["/assets/"+e.Name()] = newFile(e.Name(), data)
	}
	module, err := textsModule()
	if err != nil {
		return nil, fmt.Errorf("put the texts of the live page together: %w", err)
	}
	p.assets["/assets/texts.js"] = newFile("texts.js", module)
	return p, nil
}

// mediaTypes are those of the files that there are; the machine's own table may say otherwise, or nothing.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

func newFile(name string, data []byte) file {
	return file{mediaType: mediaTypes[path.Ext(name)], data: data, etag: `"` + strings.TrimPrefix(tool.Digest(data), "sha256:")[:32] + `"`}
}

// ServeHTTP answers GET and HEAD.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := p.assets[r.URL.Path]
	if r.URL.Path == "/" || runPath.MatchString(r.URL.Path) {
		f, ok = p.index, true
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if !ok {
		http.Error(w, "There is nothing at this address. The list of runs is at /.", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", f.mediaType)
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache") // kept, but asked for each time, so that an upgrade is seen at once
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}
