package gemini

import (
	"cmp"
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/genai"

	"toolsvc/tool"
)

// The defaults of [GroundOptions].
const (
	// DefaultGroundCalls is how many pictures may be shown for one run.
	DefaultGroundCalls = 30
	// DefaultGroundTokens is how many tokens they may use together.
	DefaultGroundTokens = 150_000
	// DefaultMinConfidence is what a place needs to be returned.
	DefaultMinConfidence = 0.5
	// DefaultGroundTimeout bounds one question about a picture.
	DefaultGroundTimeout = 20 * time.Second
	// SameConfidence is the difference below which two places count as equally good.
	SameConfidence = 0.1

	// cachedAnswers is how many answers a Grounder keeps, and meteredRuns how many runs it counts for.
	cachedAnswers = 128
	meteredRuns   = 1024
)

// GroundOptions bound a [Grounder]. Zero values are the defaults.
type GroundOptions struct {
	// CallsPerRun and TokensPerRun bound what one run may use, counted in this process. Below 0 there is no bound.
	CallsPerRun  int
	TokensPerRun int64
	// MinConfidence is what a place needs to be returned, between 0 and 1.
	MinConfidence float64
	// MaxSide is to what longer side a picture is scaled down, in pixels.
	MaxSide int
	// Timeout bounds one question.
	Timeout time.Duration
}

// Target says what to find. Name or Description must say something.
type Target struct {
	Name        string `json:"name,omitempty"`
	Role        string `json:"role,omitempty"`
	Within      string `json:"within,omitempty"`
	Near        string `json:"near,omitempty"`
	Description string `json:"description,omitempty"`
	// Region limits the search to a part of the picture, in CSS pixels; empty means all of it.
	Region Box `json:"-"`
}

// Place is one place on a picture that answers a [Target].
type Place struct {
	// Box is in CSS pixels of the whole picture. Around a point it has a side of 2.
	Box Box
	// Text is the visible text there, "" for a thing without.
	Text string
	// Confidence is between 0 and 1.
	Confidence float64
	// Exact says that Text is the target's name, letter for letter.
	Exact bool
	// Within and Near are what holds it and what stands beside it, in the words that are visible.
	Within, Near string
}

// Found is the answer to a [Target].
type Found struct {
	// Places are those that the model is sure enough of, best first. None is "not found".
	Places []Place
	// Why says in one sentence why there is none, or more than one that is equally good; "" when there is one best.
	Why   string
	Usage Usage
	// Cached says that the same picture was asked about before in the same way, and nothing was used.
	Cached bool
}

// Ambiguous reports whether the best place has an equal.
func (f Found) Ambiguous() bool {
	p := f.Places
	return len(p) > 1 && p[0].Exact == p[1].Exact && p[0].Confidence-p[1].Confidence < SameConfidence
}

// Grounder finds things in screenshots, by the model. It is safe for concurrent use. It has no effect on anything, so every call of it may
// be repeated or given up.
type Grounder struct {
	c *Client
	o GroundOptions

	mu    sync.Mutex
	cache lru[string, Found]
	spent lru[string, *Usage]
}

// Grounder makes a grounder.
func (c *Client) Grounder(o GroundOptions) *Grounder {
	o.CallsPerRun = cmp.Or(o.CallsPerRun, DefaultGroundCalls)
	o.TokensPerRun = cmp.Or(o.TokensPerRun, DefaultGroundTokens)
	o.MinConfidence = cmp.Or(o.MinConfidence, DefaultMinConfidence)
	o.MaxSide = cmp.Or(o.MaxSide, DefaultMaxSide)
	o.Timeout = cmp.Or(o.Timeout, DefaultGroundTimeout)
	return &Grounder{c: c, o: o, cache: newLRU[string, Found](cachedAnswers), spent: newLRU[string, *Usage](meteredRuns)}
}

// Name is the model's name.
func (g *Grounder) Name() string { return g.c.model }

type runKey struct{}

// WithRun says for which run a grounder is asked, so that its budget applies. Without it, all questions count together.
func WithRun(ctx context.Context, run string) context.Context {
	return context.WithValue(ctx, runKey{}, run)
}

// Locate returns the places that answer the target, best first. It never chooses between equals and never guesses: what is below the
// least confidence is left out, and an answer with a place that cannot be is an error. Its errors are *[tool.Failed].
func (g *Grounder) Locate(ctx context.Context, p Picture, t Target) (Found, error) {
	what := g.c.called + " could not look at the picture"
	t.Name, t.Description = strings.TrimSpace(t.Name), strings.TrimSpace(t.Description)
	if t.Name == "" && t.Description == "" {
		return Found{Why: "There is neither a name nor a description of what to find."}, nil
	}
	s, err := prepare(p, t.Region, g.o.MaxSide)
	if err != nil {
		return Found{}, failed(tool.InvalidArguments, what, ErrRejected, "%s.", err)
	}
	if at, ok := pointOf(t.Description); ok && t.Name == "" {
		return pointed(at, s.part), nil
	}
	asked, err := json.Marshal(t)
	if err != nil {
		return Found{}, failed(tool.Internal, what, ErrRejected, "%s.", err)
	}
	key := tool.Digest(fmt.Append(nil, tool.Digest(s.data), s.part, string(asked)))
	if f, ok := g.cached(key); ok {
		return f, nil
	}
	run, f := g.reserve(ctx, what)
	if f != nil {
		return Found{}, f
	}
	m, usage, err := g.c.ask(ctx, question{what: what, purpose: purposeGround, system: groundInstruction, schema: groundSchema, brief: true, timeout: g.o.Timeout,
		contents: []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{
			{InlineData: &genai.Blob{MIMEType: s.mime, Data: s.data}}, {Text: "Find: " + string(asked)}}}}})
	g.charge(run, usage)
	if err != nil {
		return Found{Usage: usage}, err
	}
	marks, err := parseMarks(m.Text())
	if err != nil {
		return Found{Usage: usage}, failed(tool.MalformedResponse, what, ErrMalformed, "%s.", err)
	}
	found := g.judge(s, marks, t)
	g.keep(key, found)
	found.Usage = usage
	return found, nil
}

// judge sorts what the model said.
func (g *Grounder) judge(s sent, marks []mark, t Target) Found {
	var f Found
	unsure := 0
	for _, m := range marks {
		if m.confidence < g.o.MinConfidence {
			unsure++
			continue
		}
		f.Places = append(f.Places, s.place(m, t.Name))
	}
	slices.SortStableFunc(f.Places, func(a, b Place) int {
		if a.Exact != b.Exact {
			if a.Exact {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Confidence, a.Confidence)
	})
	f.Places = distinct(f.Places)
	switch {
	case len(f.Places) == 0 && unsure > 0:
		f.Why = fmt.Sprintf("The model sees %d places that might be meant, but is not sure enough of any.", unsure)
	case len(f.Places) == 0:
		f.Why = "The model does not see it in the picture."
	case f.Ambiguous():
		f.Why = "The model sees several places that fit equally well."
	}
	return f
}

// Read returns the text in a region (empty: everywhere), line by line from top to bottom. Its usage counts against the run's budget.
func (g *Grounder) Read(ctx context.Context, p Picture, region Box) (string, error) {
	what := g.c.called + " could not read the picture"
	s, err := prepare(p, region, g.o.MaxSide)
	if err != nil {
		return "", failed(tool.InvalidArguments, what, ErrRejected, "%s.", err)
	}
	run, f := g.reserve(ctx, what)
	if f != nil {
		return "", f
	}
	m, usage, err := g.c.ask(ctx, question{what: what, purpose: purposeRead, system: readInstruction, schema: readSchema, brief: true, timeout: g.o.Timeout,
		contents: []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{{InlineData: &genai.Blob{MIMEType: s.mime, Data: s.data}}, {Text: "Transcribe."}}}}})
	g.charge(run, usage)
	if err != nil {
		return "", err
	}
	var a struct {
		Lines []string `json:"lines"`
	}
	if err := strictly(m.Text(), &a); err != nil {
		return "", failed(tool.MalformedResponse, what, ErrMalformed, "its answer is not of the form that was asked for.")
	}
	return strings.Join(a.Lines, "\n"), nil
}

const groundInstruction = `You find things in screenshots of web pages, for a program that will click on them. A wrong place does harm; no place does none.

The question is a JSON object: name (the visible text or label), role (ARIA role), within (the name of the panel, dialog or section that holds it), near (text beside it), description (what it looks like). All that are given must fit.

Answer with all places that fit, and with none when nothing does. Never give the place of something similar instead. When several fit equally well, give all of them with equal confidence. When "within" or "near" is given, leave out places elsewhere.
For each place: box_2d is [ymin, xmin, ymax, xmax] around what can be clicked, in thousandths of the picture's height and width; label is the visible text there, letter for letter, "" when there is none; within and near are what holds it and what stands beside it, in the words that are visible, "" when there is nothing; confidence, from 0 to 1, is how sure you are that exactly this is meant.

` + untrusted

const readInstruction = `You transcribe the text in a screenshot: all visible text, line by line from top to bottom, letter for letter, with nothing added, corrected or translated. No text is an empty list.

` + untrusted

var groundSchema = json.RawMessage(`{"type":"object","properties":{"candidates":{"type":"array","items":{"type":"object","properties":{` +
	`"label":{"type":"string"},"within":{"type":"string"},"near":{"type":"string"},` +
	`"box_2d":{"type":"array","items":{"type":"integer","minimum":0,"maximum":1000},"minItems":4,"maxItems":4,"description":"[ymin, xmin, ymax, xmax]"},` +
	`"confidence":{"type":"number","minimum":0,"maximum":1}},` +
	`"required":["label","within","near","box_2d","confidence"],"propertyOrdering":["label","within","near","box_2d","confidence"]}}},"required":["candidates"]}`)

var readSchema = json.RawMessage(`{"type":"object","properties":{"lines":{"type":"array","items":{"type":"string"}}},"required":["lines"]}`)

// PointTarget describes a place by its coordinates, as a target's description: that is how an action of the computer-use vocabulary becomes
// a call of a tool. A Grounder finds it without asking the model; the gate and the hit test apply to it as to any other place.
func PointTarget(p Point) string {
	return fmt.Sprintf("the point (%d, %d) of the visible page, in CSS pixels", int(p.X), int(p.Y))
}

var pointTarget = regexp.MustCompile(`^the point \((\d{1,6}), (\d{1,6})\) of the visible page, in CSS pixels$`)

func pointOf(description string) (Point, bool) {
	m := pointTarget.FindStringSubmatch(description)
	if m == nil {
		return Point{}, false
	}
	x, _ := strconv.Atoi(m[1]) // six digits always fit
	y, _ := strconv.Atoi(m[2])
	return Point{float64(x), float64(y)}, true
}

// pointed is the answer for a place that is given.
func pointed(p Point, part Box) Found {
	if p.X < part.X || p.Y < part.Y || p.X > part.X+part.W || p.Y > part.Y+part.H {
		return Found{Why: "The point is outside of the picture."}
	}
	return Found{Places: []Place{{Box: Box{p.X - pointSide/2, p.Y - pointSide/2, pointSide, pointSide}, Confidence: 1}}}
}

// reserve counts a call for the run, unless its budget is used up.
func (g *Grounder) reserve(ctx context.Context, what string) (*Usage, *tool.Failed) {
	run, _ := ctx.Value(runKey{}).(string)
	g.mu.Lock()
	defer g.mu.Unlock()
	u, ok := g.spent.get(run)
	if !ok {
		u = &Usage{}
		g.spent.put(run, u)
	}
	switch {
	case g.o.CallsPerRun > 0 && u.Requests >= g.o.CallsPerRun:
		return nil, failed(tool.ToolUnavailable, what, ErrBudget, "the %d pictures that may be shown to it in one run are used up.", g.o.CallsPerRun)
	case g.o.TokensPerRun > 0 && u.Tokens() >= g.o.TokensPerRun:
		return nil, failed(tool.ToolUnavailable, what, ErrBudget, "the %d tokens for pictures in one run are used up.", g.o.TokensPerRun)
	}
	u.Requests++
	return u, nil
}

// charge adds what a reserved call used; its first request is counted already.
func (g *Grounder) charge(run *Usage, used Usage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	used.Requests = max(0, used.Requests-1)
	run.Add(used)
}

// Spent is what a run has used so far, in this process.
func (g *Grounder) Spent(run string) Usage {
	g.mu.Lock()
	defer g.mu.Unlock()
	if u, ok := g.spent.get(run); ok {
		return *u
	}
	return Usage{}
}

func (g *Grounder) cached(key string) (Found, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, ok := g.cache.get(key)
	f.Places, f.Cached = slices.Clone(f.Places), true
	return f, ok
}

func (g *Grounder) keep(key string, f Found) {
	f.Places = slices.Clone(f.Places)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cache.put(key, f)
}

// lru is a map of at most n entries, which forgets what was not used for longest.
type lru[K comparable, V any] struct {
	n     int
	byKey map[K]*list.Element
	order *list.List // the latest first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](n int) lru[K, V] {
	return lru[K, V]{n: n, byKey: map[K]*list.Element{}, order: list.New()}
}

func (l *lru[K, V]) get(k K) (v V, ok bool) {
	e, ok := l.byKey[k]
	if !ok {
		return v, false
	}
	l.order.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

func (l *lru[K, V]) put(k K, v V) {
	if e, ok := l.byKey[k]; ok {
		e.Value = entry[K, V]{k, v}
		l.order.MoveToFront(e)
		return
	}
	l.byKey[k] = l.order.PushFront(entry[K, V]{k, v})
	if l.order.Len() > l.n {
		last := l.order.Back()
		delete(l.byKey, l.order.Remove(last).(entry[K, V]).key)
	}
}
