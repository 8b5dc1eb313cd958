package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genai"

	"toolsvc/tool"
)

// The defaults of [Options], and the bounds of what a caller may ask for.
const (
	// DefaultModel is asked when no other is named. It knows function calling, response schemas and pictures.
	DefaultModel = "gemini-3.8-flash"
	// DefaultTimeout bounds one question, repetitions included.
	DefaultTimeout = 60 * time.Second
	// DefaultMaxOutputTokens bounds one answer, the model's thoughts included.
	DefaultMaxOutputTokens = 8192
	// DefaultRetries is how often a question is put again when the service is busy.
	DefaultRetries = 2
	// DefaultMaxWait is the longest wait before that; a longer one is the caller's to arrange.
	DefaultMaxWait = 2 * time.Second

	defaultBaseURL = "https://generativelanguage.googleapis.com/"
)

// Options say how to reach Gemini. The zero values are the defaults; only a key is needed.
type Options struct {
	// APIKey is the key of the Gemini API. It may be empty for a BaseURL on loopback.
	APIKey string
	// BaseURL is where the API is: "" is Google's; "http://127.0.0.1:8931" a fake.
	BaseURL string
	// Model is the name of the model, "" is [DefaultModel].
	Model string
	// Called is what errors call whoever is asked, "" is Gemini: another model may stand behind the same protocol.
	Called string
	// HTTPClient makes the requests; nil is a plain one. Its transport is wrapped, and redirects are not followed.
	HTTPClient *http.Client
	// Timeout bounds each question, 0 is [DefaultTimeout].
	Timeout time.Duration
	// MaxOutputTokens bounds each answer, 0 is [DefaultMaxOutputTokens].
	MaxOutputTokens int
	// Retries is how often a question is put again when the service is busy or the connection broke: a question changes nothing, so that is
	// harmless. 0 is [DefaultRetries], below 0 is never.
	Retries int
	// MaxWait is the longest wait before a question is put again, 0 is [DefaultMaxWait].
	MaxWait time.Duration
	// Asked is told of each question after its end; nil tells nobody.
	Asked func(Asked)
}

// Asked is what one question came to, repetitions included.
type Asked struct {
	// Purpose is plan, repair, ground, read or verify.
	Purpose string
	Usage   Usage
	Took    time.Duration
	// Failed: there is no answer that can be used.
	Failed bool
}

// The purposes of questions.
const (
	purposePlan   = "plan"
	purposeRepair = "repair"
	purposeGround = "ground"
	purposeRead   = "read"
	purposeVerify = "verify"
)

// FromEnvironment fills in what o leaves open from the environment variables that Google's own clients read: GOOGLE_API_KEY, which goes
// before GEMINI_API_KEY, and GOOGLE_GEMINI_BASE_URL.
func FromEnvironment(o Options) Options { return fromEnvironment(o, os.Getenv) }

func fromEnvironment(o Options, getenv func(string) string) Options {
	o.APIKey = cmp.Or(o.APIKey, getenv("GOOGLE_API_KEY"), getenv("GEMINI_API_KEY"))
	o.BaseURL = cmp.Or(o.BaseURL, getenv("GOOGLE_GEMINI_BASE_URL"))
	return o
}

// Client asks Gemini. It is safe for concurrent use.
type Client struct {
	api     *genai.Client
	key     string
	host    string
	model   string
	called  string
	timeout time.Duration
	tokens  int
	retries int
	maxWait time.Duration
	asked   func(Asked)
}

// New makes a client, without asking anything yet. Without a key it returns nil and [ErrNoKey].
func New(o Options) (*Client, error) {
	base := cmp.Or(o.BaseURL, defaultBaseURL)
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// The text is not repeated: a key may stand in it.
		return nil, errors.New("the base URL of Gemini is not an http or https address without user, query and fragment")
	}
	o.APIKey = strings.TrimSpace(o.APIKey)
	if o.APIKey == "" {
		if o.BaseURL == "" || !loopback(u.Hostname()) {
			return nil, ErrNoKey
		}
		o.APIKey = "none" // genai wants one; a fake on this machine does not
	}
	c := &Client{key: o.APIKey, host: u.Host, called: cmp.Or(o.Called, "Gemini"), model: cmp.Or(strings.TrimPrefix(o.Model, "models/"), DefaultModel), timeout: cmp.Or(o.Timeout, DefaultTimeout),
		tokens: cmp.Or(o.MaxOutputTokens, DefaultMaxOutputTokens), retries: max(0, cmp.Or(o.Retries, DefaultRetries)), maxWait: cmp.Or(o.MaxWait, DefaultMaxWait), asked: o.Asked}
	if c.timeout < 0 || c.tokens < 0 || c.maxWait < 0 {
		return nil, errors.New("the limits of Gemini cannot be negative")
	}
	if o.Called != "" {
		c.host = "it" // what stands for the service has no address that means anything to anybody
	}
	c.api, err = genai.NewClient(context.Background(), &genai.ClientConfig{APIKey: o.APIKey, Backend: genai.BackendGeminiAPI,
		HTTPClient: confined(o.HTTPClient), HTTPOptions: genai.HTTPOptions{BaseURL: base}})
	if err != nil {
		return nil, fmt.Errorf("set up the Gemini client: %s", c.scrub(err.Error())) // its text may hold the key, so it is not wrapped
	}
	return c, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Model is the name of the model that is asked.
func (c *Client) Model() string { return c.model }

// String keeps the key out of logs.
func (c *Client) String() string { return c.called + " (" + c.model + ")" }

// GoString keeps the key out of logs.
func (c *Client) GoString() string { return c.String() }

// Check asks the service whether the key and the model are good, without using any tokens.
func (c *Client) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	x := &exchange{}
	if _, err := c.api.Models.Get(withExchange(ctx, x), c.model, nil); err != nil {
		return c.failure(ctx, c.called+" cannot be used", x, err)
	}
	return nil
}

// Usage is what questions cost.
type Usage struct {
	// Requests counts the requests that were made, repeated ones included.
	Requests int `json:"requests"`
	// InputTokens and OutputTokens are counted by the service; the model's thoughts are output.
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Add adds the cost of another question.
func (u *Usage) Add(v Usage) {
	u.Requests += v.Requests
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
}

// Tokens is input and output together.
func (u Usage) Tokens() int64 { return u.InputTokens + u.OutputTokens }

// question is one question to the model.
type question struct {
	// what begins the message of an error: "Gemini did not plan the next step".
	what string
	// purpose is why it is asked, in a word, for those who count.
	purpose  string
	system   string
	contents []*genai.Content
	tools    []*genai.FunctionDeclaration
	// schema is the JSON Schema of the answer, nil for words.
	schema any
	// timeout and maxTokens tighten the client's own bounds; 0 leaves them.
	timeout   time.Duration
	maxTokens int
	// brief asks the model not to think for long.
	brief bool
}

// ask puts a question, again where that is due. The usage is valid beside an error too.
func (c *Client) ask(ctx context.Context, q question) (Message, Usage, error) {
	ctx, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("toolsvc").Start(ctx, "model."+q.purpose, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("gen_ai.provider.name", "gcp.gemini"), attribute.String("gen_ai.request.model", c.model)))
	defer span.End()
	began := time.Now()
	m, usage, err := c.repeatedly(ctx, q)
	span.SetAttributes(attribute.Int64("gen_ai.usage.input_tokens", usage.InputTokens), attribute.Int64("gen_ai.usage.output_tokens", usage.OutputTokens))
	if err != nil {
		span.SetStatus(codes.Error, "") // the text of the error may quote what was asked
	}
	if c.asked != nil {
		c.asked(Asked{Purpose: q.purpose, Usage: usage, Took: time.Since(began), Failed: err != nil})
	}
	return m, usage, err
}

// repeatedly puts a question until it is answered, or may not be put again.
func (c *Client) repeatedly(ctx context.Context, q question) (Message, Usage, error) {
	timeout := c.timeout
	if q.timeout > 0 {
		timeout = min(timeout, q.timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var usage Usage
	for attempt := 1; ; attempt++ {
		m, u, f := c.once(ctx, q)
		usage.Add(u)
		if f == nil {
			return m, usage, nil
		}
		wait, again := c.again(attempt, f)
		if deadline, ok := ctx.Deadline(); !again || ok && time.Until(deadline) <= wait {
			return Message{}, usage, f
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Message{}, usage, c.failure(ctx, q.what, &exchange{}, ctx.Err())
		}
	}
}

// again decides whether a question is put once more, and after which wait: only where the trouble may pass by itself, only a few
// times, and only when the wait is short.
func (c *Client) again(attempt int, f *tool.Failed) (time.Duration, bool) {
	if !errors.Is(f, errTemporary) || attempt > c.retries {
		return 0, false
	}
	wait := cmp.Or(f.RetryAfter, 200*time.Millisecond<<(attempt-1))
	return wait, wait <= c.maxWait
}

// once puts a question one time.
func (c *Client) once(ctx context.Context, q question) (Message, Usage, *tool.Failed) {
	x := &exchange{}
	res, err := c.generate(withExchange(ctx, x), q)
	usage := Usage{Requests: 1}
	if err != nil {
		return Message{}, usage, c.failure(ctx, q.what, x, err)
	}
	if m := res.UsageMetadata; m != nil {
		usage.InputTokens = int64(m.PromptTokenCount) + int64(m.ToolUsePromptTokenCount)
		usage.OutputTokens = int64(m.CandidatesTokenCount) + int64(m.ThoughtsTokenCount)
	}
	if f := c.unusable(q.what, res); f != nil {
		return Message{}, usage, f
	}
	m, ferr := received(res.Candidates[0].Content, x.body)
	if ferr != nil {
		return Message{}, usage, failed(tool.MalformedResponse, q.what, ErrMalformed, "%s.", ferr)
	}
	if len(m.Parts) == 0 {
		return Message{}, usage, failed(tool.MalformedResponse, q.what, ErrEmpty, "its answer is empty.")
	}
	return m, usage, nil
}

// generate calls genai, which panics at answers that are JSON of another shape than it expects.
func (c *Client) generate(ctx context.Context, q question) (res *genai.GenerateContentResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = nil, fmt.Errorf("genai: %v", p)
		}
	}()
	return c.api.Models.GenerateContent(ctx, c.model, q.contents, c.config(q))
}

// config renders a question's settings.
func (c *Client) config(q question) *genai.GenerateContentConfig {
	tokens := c.tokens
	if q.maxTokens > 0 {
		tokens = min(tokens, q.maxTokens)
	}
	no := false
	g := &genai.GenerateContentConfig{MaxOutputTokens: int32(min(tokens, 1<<30)), AutomaticContinuation: &no,
		SystemInstruction: &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: q.system}}}}
	if len(q.tools) > 0 {
		g.Tools = []*genai.Tool{{FunctionDeclarations: q.tools}}
	}
	if q.schema != nil {
		g.ResponseMIMEType, g.ResponseJsonSchema = "application/json", q.schema
	}
	if q.brief && thinksByLevel(c.model) {
		g.ThinkingConfig = &genai.ThinkingConfig{ThinkingLevel: genai.ThinkingLevelLow}
	}
	return g
}

// thinksByLevel: models from Gemini 3 on take a thinking level; those before it refuse one.
func thinksByLevel(model string) bool {
	rest, ok := strings.CutPrefix(model, "gemini-")
	return ok && rest != "" && rest[0] >= '3' && rest[0] <= '9'
}

// unusable sorts out answers that are none. A finish reason that is not known counts as a refusal.
func (c *Client) unusable(what string, res *genai.GenerateContentResponse) *tool.Failed {
	if f := res.PromptFeedback; f != nil && f.BlockReason != "" && f.BlockReason != genai.BlockedReasonUnspecified {
		return failed(tool.PolicyDenied, what, ErrBlocked, "the service blocked the prompt (%s).", c.scrub(string(f.BlockReason)))
	}
	if len(res.Candidates) == 0 || res.Candidates[0] == nil {
		return failed(tool.MalformedResponse, what, ErrEmpty, "the service sent no answer.")
	}
	switch k := res.Candidates[0]; k.FinishReason {
	case genai.FinishReasonStop:
		if k.Content == nil || len(k.Content.Parts) == 0 {
			return failed(tool.MalformedResponse, what, ErrEmpty, "its answer is empty.")
		}
		return nil
	case genai.FinishReasonMaxTokens, genai.FinishReasonContinuation, "", genai.FinishReasonUnspecified:
		return failed(tool.MalformedResponse, what, ErrTruncated, "its answer was cut off before its end.")
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls:
		return failed(tool.MalformedResponse, what, ErrMalformed, "it called a tool in a way that cannot be read (%s).", k.FinishReason)
	default:
		return failed(tool.PolicyDenied, what, ErrRefused, "the service withheld the answer (%s).", c.scrub(string(k.FinishReason)))
	}
}
