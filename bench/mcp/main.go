// Command mcp measures what an agent waits for: navigate, snapshot, click and type over MCP on stdio, by toolsvc, Playwright MCP and
// chrome-devtools-mcp, on the same page, in one run, by turns, so that a busy machine is as busy for all. Every click of toolsvc is verified
// and durable; the others verify nothing.
//
//	make bench-mcp
//
// Each click and each text is checked on the page by the page's own count, past the servers: a click that did not land is counted.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	var o options
	flag.IntVar(&o.n, "n", 20, "rounds")
	flag.StringVar(&o.toolsvc, "toolsvc", "bin/toolsvc", "the built toolsvc")
	flag.StringVar(&o.modules, "modules", "test/mcp/node_modules", "where scripts/mcp-deps.sh installed the peers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench-mcp:", err)
		os.Exit(1)
	}
}

type options struct {
	n                int
	toolsvc, modules string
}

// page counts what really happened. Nothing on it moves, loads or waits.
const page = `<!doctype html><html lang="en"><title>Counter</title><h1>Counter</h1>
<button onclick="n.textContent=+n.textContent+1;fetch('/clicked',{method:'POST'}).then(r=>r.text())">Count</button> <span id=n>0</span>
<label>Name <input onchange="fetch('/typed',{method:'POST'}).then(r=>r.text())"></label>
<ul>%s</ul>`

// truth is what the page reports.
type truth struct{ clicks atomic.Int64 }

func (c *truth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/clicked":
		c.clicks.Add(1)
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/html")
		var items strings.Builder
		for i := range 40 {
			fmt.Fprintf(&items, "<li><a href='#%d'>Entry %d</a>", i, i)
		}
		fmt.Fprintf(w, page, items.String()) //nolint:errcheck // the browser has gone
	}
}

// peer is one server, and how it is used.
type peer struct {
	name    string
	command []string
	env     []string
	// does says how to call what, given the last snapshot.
	does map[string]func(url, snapshot string, i int) (name string, args map[string]any)

	session *sdk.ClientSession
	truth   *truth
	url     string
	snap    string
	times   map[string][]time.Duration
	failed  map[string]int
	why     string
}

var operations = []string{"navigate", "snapshot", "click", "type"}

func peers(o options, dir, chromium string) []*peer {
	node := filepath.Join(o.modules, "node", "bin", "node")
	ref := func(pattern, snapshot string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(snapshot)
		if m == nil {
			return ""
		}
		return m[1]
	}
	type does = map[string]func(string, string, int) (string, map[string]any)
	target := func(name, role string) map[string]any { return map[string]any{"name": name, "role": role} }
	return []*peer{
		{name: "toolsvc", command: []string{o.toolsvc, "mcp", "--state-dir", filepath.Join(dir, "state"), "--chromium", chromium}, does: does{
			"navigate": func(url, _ string, _ int) (string, map[string]any) {
				return "browser_navigate", map[string]any{"url": url}
			},
			"snapshot": func(string, string, int) (string, map[string]any) { return "browser_snapshot", map[string]any{} },
			"click": func(string, string, int) (string, map[string]any) {
				return "browser_click", map[string]any{"target": target("Count", "button")}
			},
			"type": func(_, _ string, i int) (string, map[string]any) {
				return "browser_type", map[string]any{"target": target("Name", "textbox"), "text": fmt.Sprint("Ada ", i)}
			},
		}},
		{name: "Playwright MCP", command: []string{node, filepath.Join(o.modules, "@playwright", "mcp", "cli.js"), "--headless", "--isolated", "--no-sandbox", "--executable-path", chromium}, does: does{
			"navigate": func(url, _ string, _ int) (string, map[string]any) {
				return "browser_navigate", map[string]any{"url": url}
			},
			"snapshot": func(string, string, int) (string, map[string]any) { return "browser_snapshot", map[string]any{} },
			"click": func(_, snap string, _ int) (string, map[string]any) {
				return "browser_click", map[string]any{"element": "Count", "target": ref(`button "Count".*?\[ref=(\w+)\]`, snap)}
			},
			"type": func(_, snap string, i int) (string, map[string]any) {
				return "browser_type", map[string]any{"element": "Name", "target": ref(`textbox "Name".*?\[ref=(\w+)\]`, snap), "text": fmt.Sprint("Ada ", i)}
			},
		}},
		{name: "chrome-devtools-mcp", command: []string{node, filepath.Join(o.modules, "chrome-devtools-mcp", "build", "src", "bin", "chrome-devtools-mcp.js"), "--headless", "--isolated", "--executablePath", chromium, "--chromeArg=--no-sandbox"},
			env: []string{"CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS=1"}, does: does{
				"navigate": func(url, _ string, _ int) (string, map[string]any) {
					return "navigate_page", map[string]any{"pageId": 1, "type": "url", "url": url}
				},
				"snapshot": func(string, string, int) (string, map[string]any) {
					return "take_snapshot", map[string]any{"pageId": 1}
				},
				"click": func(_, snap string, _ int) (string, map[string]any) {
					return "click", map[string]any{"pageId": 1, "uid": ref(`uid=(\S+) button "Count"`, snap)}
				},
				"type": func(_, snap string, i int) (string, map[string]any) {
					return "fill", map[string]any{"pageId": 1, "uid": ref(`uid=(\S+) textbox "Name"`, snap), "value": fmt.Sprint("Ada ", i)}
				},
			}},
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		return errors.New("there is no Chromium: make deps installs it")
	}
	dir, err := os.MkdirTemp("", "bench-mcp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // in the temporary folder
	for _, path := range []*string{&o.toolsvc, &o.modules} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	all := peers(o, dir, chromium)
	for _, p := range all {
		p.times, p.failed, p.truth = map[string][]time.Duration{}, map[string]int{}, &truth{}
		srv := httptest.NewServer(p.truth)
		defer srv.Close()
		p.url = srv.URL + "/"
		if err := p.start(ctx, dir); err != nil {
			p.why = err.Error()
			continue
		}
		defer p.session.Close() //nolint:errcheck // it ends with this program anyway
	}
	for i := range o.n + 1 { // the first round warms up: browsers start
		for _, p := range all {
			if p.session != nil {
				p.round(ctx, i)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return report(out, o, all)
}

func (p *peer) start(ctx context.Context, dir string) error {
	if _, err := os.Stat(p.command[0]); err != nil {
		return fmt.Errorf("not installed (make test-mcp installs the peers where npm can be reached): %w", err)
	}
	cmd := exec.Command(p.command[0], p.command[1:]...) //nolint:gosec // fixed above
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Dir = dir
	c := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var err error
	p.session, err = c.Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	return err
}

// round does everything once. The snapshot before a click belongs to those who need its references, and is not counted there.
func (p *peer) round(ctx context.Context, i int) {
	for _, op := range operations {
		if op == "click" || op == "type" {
			p.call(ctx, "snapshot", i, false)
		}
		before := p.truth.clicks.Load()
		p.call(ctx, op, i, i > 0)
		if op == "click" && i > 0 {
			for end := time.Now().Add(2 * time.Second); p.truth.clicks.Load() == before && time.Now().Before(end); {
				time.Sleep(time.Millisecond) // the page's own report is on its way
			}
			if got := p.truth.clicks.Load() - before; got != 1 {
				p.failed["landed"]++
			}
		}
	}
}

func (p *peer) call(ctx context.Context, op string, i int, count bool) {
	name, args := p.does[op](p.url, p.snap, i)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	res, err := p.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	took := time.Since(began)
	if err != nil || res.IsError {
		p.failed[op]++
		if p.why == "" {
			p.why = fmt.Sprintf("%s: %v %s", name, err, textOf(res))
		}
		return
	}
	if op == "snapshot" {
		p.snap = textOf(res)
	}
	if count {
		p.times[op] = append(p.times[op], took)
	}
}

func textOf(res *sdk.CallToolResult) string {
	if res == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// quantile is the value below which that part of the sorted times lies.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func report(out io.Writer, o options, all []*peer) error {
	fmt.Fprintf(out, "%d rounds by turns over stdio, %d CPUs, %s/%s; milliseconds, median (p95)\n\n", o.n, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\t%s\tclicks that did not land\tfailed\t\n", strings.Join(operations, "\t"))
	for _, p := range all {
		fmt.Fprintf(w, "%s\t", p.name)
		calls := 0
		for _, op := range operations {
			ts := p.times[op]
			slices.SortFunc(ts, cmp.Compare)
			fmt.Fprintf(w, "%.0f (%.0f)\t", ms(quantile(ts, 0.5)), ms(quantile(ts, 0.95)))
			calls += p.failed[op]
		}
		fmt.Fprintf(w, "%d\t%d\t\n", p.failed["landed"], calls)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range all {
		if p.why != "" {
			why, err := json.Marshal(p.why)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: %.300s\n", p.name, why)
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
