package docs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"gopkg.in/yaml.v3"

	"toolsvc/bench/gym"
	"toolsvc/examples/document-pipeline"
	"toolsvc/gemini/geminitest"
	"toolsvc/tool"
)

// The bounds of one command, and of the start of a server; on an idle machine both take seconds.
const (
	commandLimit = 6 * time.Minute
	startLimit   = 90 * time.Second
)

// host is what all pages share: the program, a server, and the local sites that stand for those of the examples.
type host struct {
	checkout, dir, state string
	env                  []string
	address              string // of the server's HTTP surface
	shop                 *gym.Server
	controls             string // of the page that has what the examples of tools act on
	config               string // a configuration with a tool that needs an approval
}

// open builds the program and starts the server, both by the README's own commands.
func open(t *testing.T) *host {
	t.Helper()
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{checkout: checkout, dir: t.TempDir()}
	h.state = filepath.Join(h.dir, "state")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} { // HOME is another one below
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		h.env = append(h.env, name+"="+strings.TrimSpace(string(out)))
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "HOME" && name != "PATH" && !regexp.MustCompile("^(TOOLSVC|GEMINI|GOOGLE|TEMPORAL|OTEL|XDG|MAKE)").MatchString(name) {
			h.env = append(h.env, v)
		}
	}
	h.env = append(h.env, "PATH="+filepath.Join(checkout, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
	if h.shop, err = gym.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.shop.Close() }) // nothing is lost with it
	site := httptest.NewServer(http.HandlerFunc(controls))
	t.Cleanup(site.Close)
	h.controls = site.URL
	h.config = h.till(t)

	b := h.scene(t, "README.md")
	b.shell(snippet{page: "README.md", text: "make build"}, 0)
	if err := os.CopyFS(b.dir, os.DirFS("testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	h.address = b.serve(snippet{page: "README.md", text: "bin/toolsvc serve"}, "TOOLSVC_CONFIG="+h.config)
	return h
}

// till serves, by MCP, a tool that needs an approval: a sale. It returns a configuration with it.
func (h *host) till(t *testing.T) string {
	t.Helper()
	srv := sdk.NewServer(&sdk.Implementation{Name: "till", Version: "1"}, nil)
	yes := true
	srv.AddTool(&sdk.Tool{Name: "pay", Description: "Pays.", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "paid"}}}, nil
		})
	s := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, nil))
	t.Cleanup(s.Close)
	file := filepath.Join(h.dir, "till.yaml")
	if err := os.WriteFile(file, []byte("backends:\n  till:\n    url: "+s.URL+"\n    effects: {pay: irreversible}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// scene is a reader of one page: a working directory that looks like the checkout, a home, and what was said so far.
type scene struct {
	*host
	*testing.T
	page, dir, home, state string
	env                    []string
	replace                map[string]string // what stands for what is written as an example
	said                   string            // what the last command printed
	seen                   []snippet
}

func (h *host) scene(t *testing.T, page string) *scene {
	t.Helper()
	at := filepath.Join(h.dir, strings.NewReplacer("/", "-", ".", "-").Replace(page))
	s := &scene{host: h, T: t, page: page, dir: filepath.Join(at, "work"), home: filepath.Join(at, "home"), state: h.state}
	if _, err := os.Stat(s.dir); err == nil {
		s.dir = filepath.Join(at, "again")
	}
	for _, dir := range []string{s.dir, s.home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bin", "examples"} {
		if err := os.Symlink(filepath.Join(h.checkout, name), filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	shop := h.shop.URL
	s.replace = map[string]string{"http://127.0.0.1:7070": h.address, "127.0.0.1:7070": strings.TrimPrefix(h.address, "http://"), "http://127.0.0.1:8090": shop,
		"https://shop.example": shop, "https://example.com": shop, "http://127.0.0.1:8080": h.controls}
	return s
}

// fresh gives the scene a state directory of its own, and so a Temporal and a browser of its own, and leaves out the given server.
func (s *scene) fresh(name string) {
	state := filepath.Join(filepath.Dir(s.dir), "state-"+name)
	s.state = state // which may be another one by the end
	s.Cleanup(func() { endBrowser(s.T, state) })
}

// endBrowser ends the Chromium that a command has left running, so that the next one finds its tabs.
func endBrowser(t *testing.T, state string) {
	text, err := os.ReadFile(filepath.Join(state, "browser", "browser", "chromium.json"))
	if err != nil {
		return
	}
	var p struct{ PID int }
	if err := json.Unmarshal(text, &p); err != nil || p.PID <= 1 {
		t.Errorf("%s: %v", text, err)
		return
	}
	_ = syscall.Kill(p.PID, syscall.SIGTERM) // it may have ended by itself
}

func (s *scene) say(text string) string {
	for _, old := range slices.SortedFunc(maps.Keys(s.replace), func(a, b string) int { return len(b) - len(a) }) {
		text = strings.ReplaceAll(text, old, s.replace[old])
	}
	return text
}

// write puts a file into the working directory, or, with ~, into the home.
func (s *scene) write(name, text string) {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		path = filepath.Join(s.home, rest)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(s.say(text)+"\n"), 0o644)); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) environment() []string {
	return slices.Concat(s.host.env, []string{"HOME=" + s.home, "TOOLSVC_STATE_DIR=" + s.state, "TOOLSVC_HTTP=127.0.0.1:0", "TOOLSVC_GRPC=127.0.0.1:0"}, s.env)
}

func (s *scene) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = s.dir, s.environment()
	if strings.HasPrefix(script, "make ") {
		cmd.Dir = s.checkout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// shell runs a line to its end, and wants this exit status.
func (s *scene) shell(u snippet, status int) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), commandLimit)
	defer cancel()
	out, err := s.command(ctx, s.say(u.command())).CombinedOutput()
	s.said = string(out)
	got := 0
	if ended := new(exec.ExitError); errors.As(err, &ended) {
		got = ended.ExitCode()
	} else if err != nil {
		s.Fatalf("%s: %s: %v\n%s", u.at(), s.say(u.command()), err, out)
	}
	if got != status {
		s.Fatalf("%s: %s\nended with status %d, want %d:\n%s", u.at(), s.say(u.command()), got, status, out)
	}
	return s.said
}

// serve starts a server, waits until it is ready, ends it with the test by Ctrl-C, and returns the address of its HTTP surface.
func (s *scene) serve(u snippet, env ...string) string {
	s.Helper()
	address, stop := s.start(u, env...)
	s.Cleanup(stop)
	return address
}

func (s *scene) start(u snippet, env ...string) (address string, stop func()) {
	s.Helper()
	cmd := s.command(context.Background(), "exec env "+s.say(u.command()))
	cmd.Env = append(cmd.Env, env...)
	var out printed
	out.ready = make(chan struct{})
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		s.Fatalf("%s: %v", u.at(), err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	state := s.state
	stop = func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			s.Errorf("%s: %v", u.at(), err)
		}
		select {
		case err := <-ended:
			if err != nil {
				s.Errorf("%s: it ended with %v:\n%s", u.at(), err, out.String())
			}
		case <-time.After(time.Minute):
			_ = cmd.Cancel() // so that nothing is left behind
			s.Errorf("%s: it did not end on Ctrl-C:\n%s", u.at(), out.String())
		}
		endBrowser(s.T, state)
	}
	select {
	case <-out.ready:
	case err := <-ended:
		s.Fatalf("%s: it ended before it was ready: %v\n%s", u.at(), err, out.String())
	case <-time.After(startLimit):
		_ = cmd.Cancel()
		s.Fatalf("%s: it was not ready after %s:\n%s", u.at(), startLimit, out.String())
	}
	m := regexp.MustCompile(`(?m)^HTTP +(\S+)$`).FindStringSubmatch(out.String())
	if m == nil {
		s.Fatalf("%s: it does not say where it answers:\n%s", u.at(), out.String())
	}
	return m[1], stop
}

// printed keeps what a server prints, and tells when it is ready.
type printed struct {
	mu    sync.Mutex
	text  strings.Builder
	ready chan struct{}
	said  bool
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.text.Write(b)
	if !p.said && strings.Contains(p.text.String(), "\nReady.") {
		p.said = true
		close(p.ready)
	}
	return n, err
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// model starts a scripted Gemini and has the scene's commands ask it.
func (s *scene) model(turns ...geminitest.Turn) {
	s.Helper()
	m, err := geminitest.Serve("127.0.0.1:0", &geminitest.Script{Turns: turns})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(m.Close)
	s.env = append(s.env, "GEMINI_API_KEY=scripted", "TOOLSVC_GEMINI_URL="+m.URL())
}

// writers are the turns of the document pipeline's models.
func (s *scene) writers(models ...string) []geminitest.Turn {
	s.Helper()
	turns, err := pipeline.Turns(models...)
	if err != nil {
		s.Fatal(err)
	}
	return turns
}

// turn is one of a script: what it waits for, and what it calls or, without a tool, says.
func turn(answers, function string, args any) geminitest.Turn {
	t := geminitest.Turn{Reply: geminitest.Text("Done.")}
	if function != "" {
		t.Reply = geminitest.Calls(geminitest.Call(function, args))
	}
	if answers != "" {
		t.If = geminitest.Answers(answers)
	}
	return t
}

// execute does with a snippet what a reader of the page does.
func (s *scene) execute(u snippet) {
	s.Helper()
	defer func() { s.seen = append(s.seen, u) }()
	if do := readers[s.page]; do != nil && do(s, u) {
		return
	}
	switch {
	case u.language == "json":
		s.client(u)
	case u.language != "sh":
		s.Errorf("%s: nothing says what a test does with this block of %q", u.at(), u.language)
	case strings.HasPrefix(u.command(), "toolsvc mcp"):
		s.mcp(u, sdk.CommandTransport{Command: s.command(s.Context(), "exec "+u.command())})
	case strings.HasPrefix(u.command(), "export "):
	default:
		s.shell(u, 0)
		if strings.HasPrefix(u.text, "curl ") && !strings.Contains(s.said, `"verdict":"success"`) {
			s.Errorf("%s: %s", u.at(), s.said)
		}
	}
}

// client starts what the configuration of an MCP client names, as the client does.
func (s *scene) client(u snippet) {
	s.Helper()
	var c map[string]map[string]struct {
		Command string
		Args    []string
	}
	if err := json.Unmarshal([]byte(u.text), &c); err != nil {
		s.Fatalf("%s: %v", u.at(), err)
	}
	for _, servers := range c {
		for _, server := range servers {
			s.mcp(u, sdk.CommandTransport{Command: s.command(s.Context(), "exec "+server.Command+" "+strings.Join(server.Args, " "))})
			return
		}
	}
	s.Errorf("%s names no server", u.at())
}

// mcp connects, lists the tools, and calls one.
func (s *scene) mcp(u snippet, transport any) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), commandLimit)
	defer cancel()
	var tr sdk.Transport
	switch x := transport.(type) {
	case sdk.CommandTransport:
		tr = &x
	case string:
		tr = &sdk.StreamableClientTransport{Endpoint: x}
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "reader", Version: "1"}, nil).Connect(ctx, tr, nil)
	if err != nil {
		s.Fatalf("%s: %v", u.at(), err)
	}
	defer session.Close() //nolint:errcheck // what it answered is what counts
	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) < 30 {
		s.Fatalf("%s: %v, %v", u.at(), tools, err)
	}
	res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "browser_navigate", Arguments: map[string]any{"url": s.shop.URL + "/demo"}})
	if err != nil || res.IsError {
		s.Errorf("%s: %v, %v", u.at(), res, err)
	}
}

var (
	run      = regexp.MustCompile(`r_[a-z0-9]+`)
	question = regexp.MustCompile(`q_[a-z0-9]+`)
	approval = regexp.MustCompile(`a_[a-z0-9]+`)
	seconds  = regexp.MustCompile(`\d+(\.\d)? ?s\b`)
	spaces   = regexp.MustCompile(` +`)
)

// plain is text without what differs from run to run.
func plain(text string) string {
	return spaces.ReplaceAllString(seconds.ReplaceAllString(text, "0.0 s"), " ")
}

// shows checks that what was printed has these lines, in this order, whatever stands between them. "…" in a line is anything.
func (s *scene) shows(u snippet, printed string) {
	s.Helper()
	rest := plain(printed)
	for line := range strings.Lines(u.text) {
		line = plain(strings.TrimRight(line, "\n"))
		if line == "…" || strings.HasPrefix(line, "$ ") {
			continue
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*")
		at := regexp.MustCompile(pattern).FindStringIndex(rest)
		if at == nil {
			s.Errorf("%s: the page shows\n%s\nwhich is not, or not there, in\n%s", u.at(), line, printed)
			return
		}
		rest = rest[at[1]:]
	}
}

// readers do what is particular to a page. What they answer with false for is done as on any page.
var readers = map[string]func(*scene, snippet) bool{
	"README.md":                            (*scene).readme,
	"docs/plans.md":                        (*scene).plans,
	"docs/questions.md":                    (*scene).questions,
	"docs/pipelines.md":                    (*scene).pipelines,
	"examples/document-pipeline/README.md": (*scene).documentPipeline,
	"docs/operations.md":                   (*scene).operations,
	"docs/declare-a-tool.md":               (*scene).declareATool,
	"docs/several-machines.md":             (*scene).severalMachines,
	"docs/clients/other.md":                (*scene).otherClients,
	"docs/reference/http.md":               (*scene).tokens,
	"docs/reference/commands.md":           (*scene).commands,
	"docs/reference/tools.md":              (*scene).tools,
}

func (s *scene) readme(u snippet) bool {
	switch {
	case u.command() == "make demo":
		s.fresh("demo")
		s.shell(u, 0)
		s.state = s.host.state
	case u.language == "text":
		s.shows(u, s.said)
	case u.command() == "bin/toolsvc serve": // the server of this test was started so
	case strings.HasPrefix(u.command(), "bin/toolsvc run plan.yaml"):
		s.write("plan.yaml", s.first("docs/plans.md", "yaml"))
		return false
	default:
		return false
	}
	return true
}

// first is the first block of a language on a page.
func (s *scene) first(name, language string) string {
	s.Helper()
	p := pages(s.T)[name]
	for _, b := range p.blocks {
		if b.language == language {
			return p.text(b)
		}
	}
	s.Fatalf("%s has no block of %s", name, language)
	return ""
}

func (s *scene) plans(u snippet) bool {
	switch {
	case u.language == "yaml" && strings.Contains(u.text, "stages:"):
		s.fresh("stages")
		s.write("plan.yaml", u.text)
		s.write("~/article/guide.md", "# Guide\n\nHow to begin.")
		s.model(turn("", "document_write_section", map[string]any{"path": "guide.md", "heading": "Guide > Overview", "content": strings.Repeat("It begins with a plan of small steps. ", 8)}),
			turn("document_write_section", "", nil))
	case u.language == "yaml":
		s.write("plan.yaml", u.text)
	case u.language == "console":
		s.write("plan.yaml", strings.Replace(s.first(u.page, "yaml"), "page.title", "page.titel", 1))
		s.shell(snippet{page: u.page, line: u.line, text: "toolsvc run plan.yaml"}, 2)
		s.shows(u, s.said)
	case strings.HasSuffix(u.command(), "--json"):
		s.shell(u, 0)
		s.replace["r_…"] = run.FindString(s.said)
	default:
		return false
	}
	return true
}

func (s *scene) questions(u snippet) bool {
	toolsvc := func(line string, status int) {
		s.Helper()
		s.shell(snippet{page: u.page, line: u.line, text: line}, status)
	}
	switch c := u.command(); {
	case strings.HasPrefix(c, "toolsvc run --goal"):
		s.fresh("goal")
		s.model(turn("", "browser_navigate", map[string]any{"url": s.shop.URL + "/demo"}),
			turn("browser_navigate", "browser_click", map[string]any{"target": map[string]any{"name": "New arrivals", "role": "button"}}),
			turn("browser_click", "browser_click", map[string]any{"target": map[string]any{"name": "Add to cart", "role": "button", "within": "Low Tide Sessions"}}),
			turn("browser_click", "", nil))
		s.shell(u, 0)
		s.state, s.env = s.host.state, []string{"TOOLSVC_CONFIG=" + s.config}
	case strings.HasPrefix(c, "toolsvc call browser.click"):
		s.replace["r_…"] = tool.NewRunID()
		toolsvc(`toolsvc call browser.navigate '{"url":"`+s.shop.URL+`/c/order?mode=normal&session=`+s.replace["r_…"]+`"}' --repair person --run r_…`, 0)
		s.shell(u, 3)
	case c == "toolsvc answer r_…":
		s.shell(u, 0)
		s.replace["q_…"] = question.FindString(s.said)
	case strings.HasSuffix(c, "--approve"):
		s.replace["r_…"] = tool.NewRunID()
		toolsvc(`toolsvc call till.pay '{}' --run r_…`, 3)
		s.replace["a_…"] = approval.FindString(s.said)
		s.shell(u, 0)
	default:
		return false
	}
	return true
}

// pipelines: a stage that failed is done again, and verified, after its writer was corrected.
func (s *scene) pipelines(u snippet) bool {
	s.fresh("pipeline")
	if err := pipeline.CopyStart(filepath.Join(s.dir, "article")); err != nil {
		s.Fatal(err)
	}
	s.dir = filepath.Join(s.dir, "article")
	plan, err := os.ReadFile(filepath.Join(root, "examples", "document-pipeline", "plan.yaml"))
	if err != nil {
		s.Fatal(err)
	}
	s.write("plan.yaml", string(plan))
	s.model(s.writers("overview", "concepts-insists")...)
	s.shell(snippet{page: u.page, line: u.line, text: "toolsvc run plan.yaml"}, 1)
	s.model(s.writers("concepts", "visualization")...)
	s.shell(u, 0)
	return true
}

func (s *scene) documentPipeline(u snippet) bool {
	switch c := u.command(); {
	case strings.HasPrefix(c, "make demo-pipeline BEHAVIOUR="):
		s.shell(u, 2) // make's own, for the pipeline that stopped
	case strings.HasPrefix(c, "export "):
		s.fresh("article")
		s.model(s.writers("overview", "concepts-insists")...)
	case strings.Contains(c, "--from"):
		s.model(s.writers("concepts", "visualization")...)
		s.shell(u, 0)
	case strings.HasPrefix(c, "toolsvc --workspace"):
		s.shell(u, 1)
	default:
		return false
	}
	return true
}

func (s *scene) operations(u snippet) bool {
	switch c := u.command(); {
	case strings.HasPrefix(u.text, "# ~/.config/toolsvc/config.yaml"):
		s.write("~/.config/toolsvc/config.yaml", u.text)
		s.shell(snippet{page: u.page, line: u.line, text: "toolsvc tools"}, 0)
		if err := os.Remove(filepath.Join(s.home, ".config", "toolsvc", "config.yaml")); err != nil {
			s.Fatal(err)
		}
	case u.language == "yaml":
		s.scraped(u)
	case strings.Contains(c, "--temporal-address") || strings.HasPrefix(c, "TEMPORAL_PROFILE="):
		s.cluster()
		s.write("temporal.toml", fmt.Sprintf("[profile.production]\naddress = %q\nnamespace = \"agents\"", s.replace["temporal.internal:7233"]))
		s.shell(snippet{page: u.page, line: u.line, text: "toolsvc --temporal-address temporal.internal:7233 --namespace agents temporal setup"}, 0)
		s.fresh("cluster")
		_, stop := s.start(u, "TEMPORAL_CONFIG_FILE="+filepath.Join(s.dir, "temporal.toml"))
		stop()
		s.state = s.host.state
	case strings.HasPrefix(c, "OTEL_"):
		s.traced(u)
	case strings.HasPrefix(c, "toolsvc show"):
		s.replace["r_…"] = s.openRun()
		s.shell(u, 0)
	default:
		return false
	}
	return true
}

// openRun starts a run that waits for calls.
func (s *scene) openRun() string {
	s.Helper()
	id := tool.NewRunID()
	s.shell(snippet{page: s.page, text: `toolsvc call document.read '{"path":"docs/guide.md"}' --run ` + id}, 0)
	return id
}

// cluster has the server's Temporal stand for the cluster of the examples.
func (s *scene) cluster() {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.host.state, "temporal", "endpoint.json"))
	if err != nil {
		s.Fatal(err)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(string(text))
	if address == "" {
		s.Fatalf("where Temporal listens does not stand in %s", text)
	}
	s.replace["temporal.internal:7233"] = address
}

// scraped reads the metrics from where the configuration has Prometheus look.
func (s *scene) scraped(u snippet) {
	s.Helper()
	var c struct {
		ScrapeConfigs []struct {
			JobName       string            `yaml:"job_name"`
			Authorization map[string]string `yaml:"authorization"`
			StaticConfigs []struct {
				Targets []string `yaml:"targets"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	d := yaml.NewDecoder(strings.NewReader(s.say(u.text)))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		s.Fatalf("%s: %v", u.at(), err)
	}
	res, err := http.Get("http://" + c.ScrapeConfigs[0].StaticConfigs[0].Targets[0] + "/metrics")
	if err != nil {
		s.Fatalf("%s: %v", u.at(), err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if text, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(text), "toolsvc_") {
		s.Errorf("%s: %v: %.500s", u.at(), err, text)
	}
}

// traced starts a server that sends its spans to a receiver of this test, and makes a call.
func (s *scene) traced(u snippet) {
	s.Helper()
	var got atomic.Int64
	receiver := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "race") { // /v1/traces, or TraceService/Export
			got.Add(1)
		}
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	}))
	grpc := strings.Contains(u.text, "grpc")
	if grpc {
		receiver.Config.Protocols = new(http.Protocols)
		receiver.Config.Protocols.SetUnencryptedHTTP2(true)
	}
	receiver.Start()
	s.Cleanup(receiver.Close)
	s.fresh("traced")
	s.replace["http://127.0.0.1:4318"], s.replace["http://127.0.0.1:4317"] = receiver.URL, receiver.URL
	address, stop := s.start(u, "TOOLSVC_WORKSPACE=none")
	client := &http.Client{Timeout: 30 * time.Second}
	for range 1 {
		req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, address+"/v1/tools/browser.click", nil)
		if err != nil {
			s.Fatal(err)
		}
		req.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01") // sampled, so its children are
		res, err := client.Do(req)
		if err != nil {
			s.Fatalf("%s: %v", u.at(), err)
		}
		res.Body.Close() //nolint:errcheck // only that it was answered counts
	}
	stop() // sends what is left
	if got.Load() == 0 {
		s.Errorf("%s: no spans arrived", u.at())
	}
	s.state = s.host.state
}

// declareATool: a module of a reader's own gets the tools.
func (s *scene) declareATool(u snippet) bool {
	s.dir = filepath.Join(s.home, "shop")
	s.write("~/shop/go.mod", "module shop\n\ngo 1.26\n\nrequire toolsvc v0.0.0\n\nreplace toolsvc => "+s.checkout)
	s.shell(u, 0)
	s.shell(snippet{page: u.page, line: u.line, text: "go tool -n protolite"}, 0)
	return true
}

func (s *scene) severalMachines(u snippet) bool {
	switch {
	case strings.HasPrefix(u.text, "cp deploy/"):
		if err := os.CopyFS(filepath.Join(s.dir, "deploy"), os.DirFS(filepath.Join(root, "deploy"))); err != nil {
			s.Fatal(err)
		}
	case strings.Contains(u.text, "temporal setup"):
		s.cluster()
	}
	return false
}

func (s *scene) otherClients(u snippet) bool {
	if u.command() == "toolsvc mcp" {
		s.mcp(u, s.address+"/mcp") // what the page says of HTTP
	}
	return false
}

// tokens starts a server with the file of tokens that the page shows.
func (s *scene) tokens(u snippet) bool {
	if u.language != "" {
		return false
	}
	s.write("tokens", u.text)
	if err := os.Chmod(filepath.Join(s.dir, "tokens"), 0o600); err != nil {
		s.Fatal(err)
	}
	s.fresh("tokens")
	address := s.serve(snippet{page: u.page, line: u.line, text: "toolsvc serve --tokens tokens"})
	for token, want := range map[string]int{"": 401, "another-long-random-text": 200, "something-else": 401} {
		req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, address+"/v1/runs", nil)
		if err != nil {
			s.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			s.Fatal(err)
		}
		res.Body.Close() //nolint:errcheck // its status is what counts
		if res.StatusCode != want {
			s.Errorf("%s: status %d for the token %q, want %d", u.at(), res.StatusCode, token, want)
		}
	}
	return true
}

// commands: each command says what it does.
func (s *scene) commands(u snippet) bool {
	name := regexp.MustCompile(`^toolsvc( [a-z]+)+`).FindString(u.text)
	if s.shell(snippet{page: u.page, line: u.line, text: name + " --help"}, 0); !strings.Contains(s.said, "Usage: "+name) {
		s.Errorf("%s: %s", u.at(), s.said)
	}
	return true
}

// tools makes every example of the reference, one after the other in one run, as the lines with curl make them: to start the program each time would
// take most of the time. The line with toolsvc before it has to say the same.
func (s *scene) tools(u snippet) bool {
	const id = "r_reference"
	if strings.HasPrefix(u.text, "toolsvc ") {
		return true
	}
	before := s.seen[len(s.seen)-1]
	out, err := exec.CommandContext(s.Context(), "bash", "-c", `toolsvc() { printf '%s\n' "$2" "$3"; }; curl() { printf '%s\n' "${2##*/}" "$4"; }; `+before.text+"\n"+u.text).Output()
	if err != nil {
		s.Fatalf("%s: %v", u.at(), err)
	}
	said := strings.Split(string(out), "\n")
	if len(said) != 5 || said[0] != said[2] || said[1] != said[3] {
		s.Fatalf("%s: the two lines differ: %q", before.at(), said)
	}
	if len(s.seen) == 1 { // browser.back, the first one, needs a page to go back to
		s.post(u, id, "browser.navigate", `{"url":"`+s.controls+`/shop?1"}`)
		s.post(u, id, "browser.navigate", `{"url":"`+s.controls+`/shop?2"}`)
	}
	if said[2] == "browser.tabs" { // which chooses the second one
		s.post(u, id, "browser.tabs", `{"action":"new","url":"`+s.controls+`/shop?3"}`)
	}
	s.post(u, id, said[2], s.say(said[3]))
	return true
}

func (s *scene) post(u snippet, id, name, payload string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), commandLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address+"/v1/tools/"+name+"?run="+id, strings.NewReader(payload))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatalf("%s: %v", u.at(), err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	var got tool.Result
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		s.Errorf("%s: %s %s: %v", u.at(), name, payload, err)
	} else if !got.OK() {
		text, _ := json.MarshalIndent(got, "", "  ") // it was made of JSON
		s.Errorf("%s: %s %s\n%s", u.at(), name, payload, text)
	}
}

// controls serves a page with everything that the examples of browser tools act on.
func controls(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/shop" {
		http.NotFound(w, r)
		return
	}
	http.ServeFile(w, r, "testdata/controls.html")
}
