package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"toolsvc/gemini/geminitest"
	"toolsvc/tool"
)

// key is the API key of the tests; it must show up nowhere.
const key = "AIza-not-to-be-seen"

// client is a client of a fake with a script.
func client(t testing.TB, turns ...geminitest.Turn) (*Client, *geminitest.Server) {
	t.Helper()
	s := geminitest.Start(t, turns...)
	return connect(t, s, Options{}), s
}

func connect(t testing.TB, s *geminitest.Server, o Options) *Client {
	t.Helper()
	o.APIKey, o.BaseURL = key, s.URL()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reply is a script of one answer.
func reply(r geminitest.Reply) geminitest.Turn { return geminitest.Turn{Reply: r} }

// hello is the shortest question.
func hello(ctx context.Context, c *Client) (Message, Usage, error) {
	return c.ask(ctx, question{what: "Gemini did not answer", system: "Be short.", contents: genai.Text("Hello")})
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    Options
		want string // in the error; "" for none
	}{
		{"no key", Options{}, "GEMINI_API_KEY"},
		{"blank key", Options{APIKey: " \n"}, "GEMINI_API_KEY"},
		{"no key for another machine", Options{BaseURL: "http://gemini.example"}, "GEMINI_API_KEY"},
		{"no key on this machine", Options{BaseURL: "http://127.0.0.1:1"}, ""},
		{"no key on this machine by name", Options{BaseURL: "http://localhost:1/"}, ""},
		{"a key", Options{APIKey: key}, ""},
		{"no address", Options{APIKey: key, BaseURL: "gemini"}, "base URL"},
		{"a key in the address", Options{APIKey: key, BaseURL: "https://host/?key=" + key}, "base URL"},
		{"a password in the address", Options{APIKey: key, BaseURL: "https://u:" + key + "@host/"}, "base URL"},
		{"another scheme", Options{APIKey: key, BaseURL: "ftp://host/"}, "base URL"},
		{"a negative limit", Options{APIKey: key, Timeout: -1}, "negative"},
	} {
		got, err := New(c.o)
		if c.want == "" && (err != nil || got == nil) || c.want != "" && (err == nil || got != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key)) {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
	if _, err := New(Options{}); !errors.Is(err, ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		given   Options
		env     map[string]string
		key     string
		baseURL string
	}{
		{"nothing", Options{}, nil, "", ""},
		{"Gemini's", Options{}, map[string]string{"GEMINI_API_KEY": "a"}, "a", ""},
		{"Google's goes first, as with its own clients", Options{}, map[string]string{"GEMINI_API_KEY": "a", "GOOGLE_API_KEY": "b"}, "b", ""},
		{"an address", Options{}, map[string]string{"GEMINI_API_KEY": "a", "GOOGLE_GEMINI_BASE_URL": "http://x"}, "a", "http://x"},
		{"what is given stays", Options{APIKey: "c", BaseURL: "http://y"}, map[string]string{"GEMINI_API_KEY": "a", "GOOGLE_GEMINI_BASE_URL": "http://x"}, "c", "http://y"},
	} {
		o := fromEnvironment(c.given, func(k string) string { return c.env[k] })
		if o.APIKey != c.key || o.BaseURL != c.baseURL {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
}

// Every way in which the service fails is an error of the contract's, of one kind, in a sentence, and without the key.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		reply geminitest.Reply
		want  tool.Failure
		is    error
		after time.Duration
		says  string
	}{
		{"blocked prompt", geminitest.Blocked("PROHIBITED_CONTENT"), tool.PolicyDenied, ErrBlocked, 0, "PROHIBITED_CONTENT"},
		{"withheld answer", geminitest.Finish("SAFETY", ""), tool.PolicyDenied, ErrRefused, 0, "SAFETY"},
		{"withheld in the middle", geminitest.Finish("RECITATION", "as the poet said"), tool.PolicyDenied, ErrRefused, 0, "RECITATION"},
		{"a reason of the future", geminitest.Finish("BAD_MOOD", "no"), tool.PolicyDenied, ErrRefused, 0, "BAD_MOOD"},
		{"cut", geminitest.Finish("MAX_TOKENS", "The answ"), tool.MalformedResponse, ErrTruncated, 0, "cut off"},
		{"no finish reason", geminitest.Finish("-", "The answ"), tool.MalformedResponse, ErrTruncated, 0, "cut off"},
		{"to be continued", geminitest.Finish("CONTINUATION", "The answ"), tool.MalformedResponse, ErrTruncated, 0, "cut off"},
		{"malformed call", geminitest.Finish("MALFORMED_FUNCTION_CALL", ""), tool.MalformedResponse, ErrMalformed, 0, "MALFORMED_FUNCTION_CALL"},
		{"unexpected call", geminitest.Finish("UNEXPECTED_TOOL_CALL", ""), tool.MalformedResponse, ErrMalformed, 0, "UNEXPECTED_TOOL_CALL"},
		{"no candidate", geminitest.Empty(), tool.MalformedResponse, ErrEmpty, 0, "no answer"},
		{"no part", geminitest.Reply{}, tool.MalformedResponse, ErrEmpty, 0, "empty"},
		{"empty text", geminitest.Text(""), tool.MalformedResponse, ErrEmpty, 0, "empty"},
		{"HTML", geminitest.Body("<html>" + key + "</html>"), tool.MalformedResponse, ErrMalformed, 0, "cannot be read"},
		{"half JSON", geminitest.Body(`{"candidates":[`), tool.MalformedResponse, ErrMalformed, 0, "cannot be read"},
		{"JSON of another shape", geminitest.Body(`{"candidates":"` + key + `"}`), tool.MalformedResponse, ErrMalformed, 0, "cannot be read"},
		{"JSON of another shape inside", geminitest.Body(`{"candidates":[{"content":{"parts":"x"},"finishReason":"STOP"}]}`), tool.MalformedResponse, ErrMalformed, 0, "cannot be read"},
		{"a list", geminitest.Body(`[1]`), tool.MalformedResponse, ErrMalformed, 0, "cannot be read"},
		{"an empty body", geminitest.Body(""), tool.MalformedResponse, ErrEmpty, 0, "no answer"},
		{"too large", geminitest.Body(strings.Repeat(" ", maxAnswer+1)), tool.MalformedResponse, ErrMalformed, 0, "larger than 8 MB"},
		{"rate limited", geminitest.Fail(429, "Quota exceeded for "+key+".").After(30 * time.Second), tool.RateLimited, errTemporary, 30 * time.Second, "asks to wait 30s (Quota exceeded for [redacted])"},
		{"rate limited, by the header", withHeader(geminitest.Fail(429, "Slow down."), "Retry-After", "40"), tool.RateLimited, errTemporary, 40 * time.Second, "asks to wait 40s"},
		{"overloaded", geminitest.Fail(503, "The model is overloaded.").After(90 * time.Second), tool.ToolUnavailable, errTemporary, 90 * time.Second, "503"},
		{"key refused", geminitest.Fail(400, "API key not valid. Please pass a valid API key."), tool.ToolUnavailable, ErrUnauthorized, 0, "Check GEMINI_API_KEY"},
		{"no permission", geminitest.Fail(403, "Permission denied: "+key), tool.ToolUnavailable, ErrUnauthorized, 0, "Check GEMINI_API_KEY"},
		{"no such model", geminitest.Fail(404, "models/x is not found"), tool.ToolUnavailable, ErrRejected, 0, DefaultModel},
		{"our mistake", geminitest.Fail(400, "Invalid value at 'contents'"), tool.Internal, ErrRejected, 0, "400: Invalid value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g, _ := client(t, reply(c.reply.Tokens(100, 20, 3)))
			m, usage, err := hello(t.Context(), g)
			f := tool.AsFailed(err)
			if f.Failure != c.want || !errors.Is(err, c.is) || f.RetryAfter != c.after || !strings.Contains(f.Message, c.says) || !strings.HasPrefix(f.Message, "Gemini did not answer: ") || !strings.HasSuffix(f.Message, ".") {
				t.Errorf("%v, after %s; want %s, after %s, saying %q", err, f.RetryAfter, c.want, c.after, c.says)
			}
			if text := fmt.Sprintf("%v %+v %v", err, tool.ErrorFrom(err), f.Cause); strings.Contains(text, key) {
				t.Errorf("the key is in %s", text)
			}
			if len(m.Parts) > 0 {
				t.Errorf("a message beside the error: %+v", m)
			}
			spent := c.reply.Status == 0 && c.reply.RawBody == nil
			if usage.Requests != 1 || spent != (usage.InputTokens == 100 && usage.OutputTokens == 23) {
				t.Errorf("usage %+v", usage)
			}
		})
	}
}

func withHeader(r geminitest.Reply, name, value string) geminitest.Reply {
	r.Header = http.Header{name: {value}}
	return r
}

// What may pass by itself is asked again, a few times, and only after a short wait.
func TestAsksAgain(t *testing.T) {
	t.Parallel()
	busy := geminitest.Fail(503, "Overloaded.").After(time.Millisecond)
	for _, c := range []struct {
		name     string
		replies  []geminitest.Reply
		options  Options
		requests int
		want     tool.Failure // "" for an answer
	}{
		{"at once", []geminitest.Reply{geminitest.Text("Hi")}, Options{}, 1, ""},
		{"overloaded, then not", []geminitest.Reply{busy, geminitest.Text("Hi")}, Options{}, 2, ""},
		{"rate limited for a moment", []geminitest.Reply{geminitest.Fail(429, "Slow.").After(time.Millisecond), geminitest.Text("Hi")}, Options{}, 2, ""},
		{"dropped, then not", []geminitest.Reply{geminitest.Drop(), geminitest.Text("Hi")}, Options{}, 2, ""},
		{"cut in the middle, then not", []geminitest.Reply{geminitest.Text("Hi there, how are you?").Cut(30), geminitest.Text("Hi")}, Options{}, 2, ""},
		{"never better", []geminitest.Reply{busy, busy, busy}, Options{}, 3, tool.ToolUnavailable},
		{"not to be repeated", []geminitest.Reply{busy}, Options{Retries: -1}, 1, tool.ToolUnavailable},
		{"a wait that is too long", []geminitest.Reply{geminitest.Fail(429, "Slow.").After(time.Hour)}, Options{}, 1, tool.RateLimited},
		{"a wait beyond the time", []geminitest.Reply{geminitest.Fail(429, "Slow.").After(time.Hour)}, Options{MaxWait: 2 * time.Hour}, 1, tool.RateLimited},
		{"a refusal stays one", []geminitest.Reply{geminitest.Finish("SAFETY", "")}, Options{}, 1, tool.PolicyDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var turns []geminitest.Turn
			for _, r := range c.replies {
				turns = append(turns, reply(r))
			}
			s := geminitest.Start(t, turns...)
			m, usage, err := hello(t.Context(), connect(t, s, c.options))
			if usage.Requests != c.requests || len(s.Requests()) != c.requests {
				t.Errorf("%d requests, counted %d, want %d", len(s.Requests()), usage.Requests, c.requests)
			}
			if c.want == "" && (err != nil || m.Text() != "Hi") || c.want != "" && tool.AsFailed(err).Failure != c.want {
				t.Errorf("%q, %v", m.Text(), err)
			}
		})
	}
}

func TestAgain(t *testing.T) {
	t.Parallel()
	c := &Client{retries: 2, maxWait: time.Second}
	busy := func(after time.Duration) *tool.Failed {
		return &tool.Failed{Failure: tool.RateLimited, Cause: errTemporary, RetryAfter: after}
	}
	for _, x := range []struct {
		attempt int
		f       *tool.Failed
		wait    time.Duration
		again   bool
	}{
		{1, busy(0), 200 * time.Millisecond, true},
		{2, busy(0), 400 * time.Millisecond, true},
		{3, busy(0), 0, false},
		{1, busy(time.Second), time.Second, true},
		{1, busy(time.Second + 1), time.Second + 1, false},
		{1, &tool.Failed{Failure: tool.ToolUnavailable, Cause: ErrUnauthorized}, 0, false},
		{1, &tool.Failed{Failure: tool.MalformedResponse, Cause: ErrTruncated}, 0, false},
	} {
		if wait, again := c.again(x.attempt, x.f); again != x.again || again && wait != x.wait {
			t.Errorf("attempt %d, %v: %v, %v", x.attempt, x.f, wait, again)
		}
	}
}

func TestTooSlow(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	s := geminitest.Start(t, geminitest.Turn{Reply: geminitest.Text("Hi").Until(never), Times: geminitest.Always}) // on a busy machine it may not even be asked
	_, usage, err := hello(t.Context(), connect(t, s, Options{Timeout: 50 * time.Millisecond}))
	if f := tool.AsFailed(err); f.Failure != tool.Timeout || !errors.Is(err, context.DeadlineExceeded) || usage.Requests != 1 {
		t.Errorf("%v, %+v", err, usage)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	c, s := client(t, reply(geminitest.Text("Hi").Until(make(chan struct{}))))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = s.Await(t.Context(), 1)
		cancel()
	}()
	if _, _, err := hello(ctx, c); tool.AsFailed(err).Failure != tool.Cancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := geminitest.Start(t)
	c := connect(t, s, Options{Retries: -1})
	s.Close()
	_, _, err := hello(t.Context(), c)
	if f := tool.AsFailed(err); f.Failure != tool.ToolUnavailable || !strings.Contains(f.Message, "cannot be reached") {
		t.Errorf("%v", err)
	}
}

// A redirect would take the key to somebody else.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header.Get("X-Goog-Api-Key") }))
	t.Cleanup(thief.Close)
	here := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	t.Cleanup(here.Close)
	c, err := New(Options{APIKey: key, BaseURL: here.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := hello(t.Context(), c); !errors.Is(err, ErrRejected) {
		t.Errorf("%v", err)
	}
	select {
	case got := <-asked:
		t.Errorf("the other server was sent %q", got)
	default:
	}
}

func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	c, _ := New(Options{APIKey: key})
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, c); strings.Contains(text, key) || !strings.Contains(text, DefaultModel) {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	s := geminitest.Start(t)
	if err := connect(t, s, Options{}).Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := connect(t, s, Options{Model: "gemini-0"}).Check(t.Context()); !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "gemini-0 is not there") {
		t.Errorf("another model: %v", err)
	}
}

// The settings of a question arrive, and only those that the model takes.
func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model string
		q     question
		level string
		most  int
	}{
		{"", question{}, "", DefaultMaxOutputTokens},
		{"", question{brief: true, maxTokens: 50}, "LOW", 50},
		{"models/gemini-3.5-flash", question{brief: true, maxTokens: 1 << 20}, "LOW", DefaultMaxOutputTokens},
		{"gemini-2.5-flash", question{brief: true}, "", DefaultMaxOutputTokens},
		{"gemma-3", question{brief: true}, "", DefaultMaxOutputTokens},
	} {
		s := geminitest.Start(t, reply(geminitest.Text("Hi").Tokens(1, 2, 3)))
		c.q.contents, c.q.system = genai.Text("Hello"), "Be short."
		m, usage, err := connect(t, s, Options{Model: c.model}).ask(t.Context(), c.q)
		if err != nil || m.Text() != "Hi" || usage != (Usage{Requests: 1, InputTokens: 1, OutputTokens: 5}) {
			t.Errorf("%q, %+v, %v", m.Text(), usage, err)
		}
		if r := s.Requests()[0]; r.ThinkingLevel != c.level || r.MaxOutputTokens != c.most || r.System != "Be short." || r.Header.Get("X-Goog-Api-Key") == "" {
			t.Errorf("%s: %+v", c.model, r)
		}
	}
}

// Errors name whoever was asked: another model may stand behind the same protocol.
func TestErrorsNameTheModelThatWasAsked(t *testing.T) {
	t.Parallel()
	c, err := New(Options{APIKey: "none", BaseURL: "http://127.0.0.1", Called: "The client's model", Retries: -1, HTTPClient: &http.Client{Transport: nobody{}}})
	if err != nil {
		t.Fatal(err)
	}
	_, planErr := c.PlanTurn(t.Context(), PlanRequest{Goal: "Buy milk."})
	_, verifyErr := c.Verify(t.Context(), VerifyRequest{})
	for _, err := range []error{planErr, verifyErr, c.Check(t.Context())} {
		f := tool.AsFailed(err)
		if !strings.HasPrefix(f.Message, "The client's model ") || strings.Contains(f.Message, "Gemini") || strings.Contains(f.Message, "127.0.0.1") {
			t.Errorf("%v", err)
		}
	}
}

// nobody answers.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nobody is there")
}
