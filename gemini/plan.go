package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/genai"

	"toolsvc/tool"
)

// MaxHistory bounds what of a conversation is sent, in bytes; older function responses are shortened to fit ([Compact]).
const MaxHistory = 400 << 10

// PlanRequest asks for the next turn of a plan. All of it but Tools is plain data.
type PlanRequest struct {
	// Goal is what the user wants, in words.
	Goal string `json:"goal"`
	// Instructions are those of the stage or the agent, from whoever designed it; "" for none.
	Instructions string `json:"instructions,omitempty"`
	// Language is that of questions and of the final answer, as a BCP 47 tag; "" is the goal's own.
	Language string `json:"language,omitempty"`
	// Messages are the conversation after the goal: the model's messages as they came, and [Answer]s to their calls.
	Messages []Message `json:"messages,omitempty"`
	// Tools are those that may be called.
	Tools []*tool.Spec `json:"-"`
	// RestrictTo withholds all tools but this one on this turn; "" for none.
	RestrictTo tool.ID `json:"restrict_to,omitempty"`
	// NoQuestions withholds the way to ask the user, for runs that nobody attends.
	NoQuestions bool `json:"no_questions,omitempty"`
	// Budget is what is left for the run.
	Budget Budget `json:"budget"`
	// Finalize, when not "", says why the model must come to an end: no tool is declared, and it answers in words.
	Finalize string `json:"finalize,omitempty"`
}

// Budget is what a run may still use. 0 means that there is no such bound.
type Budget struct {
	Calls  int           `json:"calls,omitempty"`
	Tokens int64         `json:"tokens,omitempty"`
	Time   time.Duration `json:"time,omitempty"`
}

// PlanReply is the model's turn: calls, or a question, or the final answer.
type PlanReply struct {
	// Message goes into the conversation as it is; its calls are answered by [Answer].
	Message Message `json:"message"`
	// Calls are to be made in this order, one after the other.
	Calls []PlannedCall `json:"calls,omitempty"`
	// Question is to be answered by the user. Calls that stand before it are made first; none stands after it.
	Question *Question `json:"question,omitempty"`
	// Text is the final answer when there are neither calls nor a question; otherwise what the model says beside them, if anything.
	Text  string `json:"text,omitempty"`
	Usage Usage  `json:"usage"`
	Model string `json:"model"`
}

// Final reports that the model is done: Text is its answer.
func (r PlanReply) Final() bool { return len(r.Calls) == 0 && r.Question == nil }

// PlannedCall is one call of a tool.
type PlannedCall struct {
	// ID is the call's in the conversation.
	ID   string  `json:"id"`
	Tool tool.ID `json:"tool,omitempty"`
	// Args is the payload as the model wrote it; it is not validated.
	Args json.RawMessage `json:"args"`
	// Refused, when not "", says why the call must not be made: it goes to the model as [NotDone] instead.
	Refused string `json:"refused,omitempty"`
}

// Question is the model's question to the user.
type Question struct {
	// ID is the call's in the conversation: the user's answer goes to the model as [UserAnswer] under it.
	ID            string   `json:"id"`
	Text          string   `json:"text"`
	MissingFields []string `json:"missing_fields,omitempty"`
	// Tool is the tool that the answer is for, "" when the model did not say.
	Tool tool.ID `json:"tool,omitempty"`
}

// PlanTurn asks for the next turn. The reply's usage is valid beside an error too. Its errors are *[tool.Failed]; a rate_limited or
// tool_unavailable one may be asked again after its RetryAfter, a malformed_response once or twice.
func (c *Client) PlanTurn(ctx context.Context, r PlanRequest) (PlanReply, error) {
	what := c.called + " did not plan the next step"
	reply := PlanReply{Model: c.model}
	q, declared, err := r.question()
	if err != nil {
		return reply, failed(tool.Internal, what, ErrRejected, "%s.", err)
	}
	q.what = what
	m, usage, err := c.ask(ctx, q)
	reply.Usage = usage
	if err != nil {
		return reply, err
	}
	identify(&m, r.Messages)
	if r.Finalize != "" && len(m.Calls()) > 0 {
		return reply, failed(tool.MalformedResponse, what, ErrMalformed, "it was to finish in words, and called %s.", m.Calls()[0].Name)
	}
	reply.Message, reply.Text = m, m.Text()
	r.sort(&reply, declared)
	if reply.Final() && reply.Text == "" {
		return reply, failed(tool.MalformedResponse, what, ErrEmpty, "its answer is empty.")
	}
	return reply, nil
}

// question renders the request, and lists the tools that are declared, by function name.
func (r PlanRequest) question() (question, map[string]tool.ID, error) {
	q := question{purpose: purposePlan, system: planInstruction(r), timeout: r.Budget.Time}
	if r.Budget.Tokens > 0 {
		q.maxTokens = int(min(r.Budget.Tokens, 1<<30))
	}
	declared := map[string]tool.ID{}
	var specs []*tool.Spec
	if r.Finalize == "" {
		specs = r.Tools
		if r.RestrictTo != "" {
			specs = slices.DeleteFunc(slices.Clone(r.Tools), func(s *tool.Spec) bool { return s.ID != r.RestrictTo })
			if len(specs) == 0 {
				return q, nil, fmt.Errorf("the turn is restricted to %s, which is not among the tools", r.RestrictTo)
			}
		}
		var err error
		if q.tools, err = Declare(specs); err != nil {
			return q, nil, err
		}
		for _, s := range specs {
			declared[FunctionName(s.ID)] = s.ID
		}
		if !r.NoQuestions {
			q.tools = append(q.tools, askUser())
		}
	}
	goal := strings.TrimSpace(r.Goal)
	if goal == "" {
		return q, nil, fmt.Errorf("there is no goal")
	}
	var err error
	q.contents, err = contents(append([]Message{UserText(goal)}, Compact(r.Messages, MaxHistory)...))
	if err == nil && q.contents[len(q.contents)-1].Role != genai.RoleUser {
		err = fmt.Errorf("the conversation ends with the model's own message")
	}
	return q, declared, err
}

// identify gives calls an id where the model gave none, or one that is taken.
func identify(m *Message, before []Message) {
	taken := map[string]bool{}
	n := 0
	for _, b := range before {
		for _, c := range b.Calls() {
			taken[c.ID] = true
			n++
		}
	}
	for _, p := range m.Parts {
		if p.Call == nil {
			continue
		}
		for n++; p.Call.ID == "" || taken[p.Call.ID]; n++ {
			p.Call.ID = fmt.Sprintf("toolsvc-%d", n)
		}
		taken[p.Call.ID] = true
	}
}

// sort divides the model's calls into those of tools and the question, and refuses what must not be done.
func (r PlanRequest) sort(reply *PlanReply, declared map[string]tool.ID) {
	for _, f := range reply.Message.Calls() {
		call := PlannedCall{ID: f.ID, Tool: declared[f.Name], Args: f.Args}
		switch {
		case reply.Question != nil:
			call.Refused = "You asked the user a question in the same turn. Call again when you have the answer, if it is still right."
		case f.Name == AskUser && r.NoQuestions:
			call.Refused = "Nobody can be asked in this run. Go on with what is known, or finish and say what is missing."
		case f.Name == AskUser:
			q, ok := asked(f, declared)
			if ok {
				reply.Question = q
				continue
			}
			call.Refused = AskUser + " needs a question, as text."
		case call.Tool == "" && r.RestrictTo != "":
			call.Refused = fmt.Sprintf("Only %s may be called now.", FunctionName(r.RestrictTo))
		case call.Tool == "":
			call.Refused = fmt.Sprintf("There is no function %s.%s", clip(f.Name, 128), nearest(f.Name, declared))
		}
		reply.Calls = append(reply.Calls, call)
	}
}

func asked(f FunctionCall, declared map[string]tool.ID) (*Question, bool) {
	var a struct {
		Question      string   `json:"question"`
		MissingFields []string `json:"missing_fields"`
		Tool          string   `json:"tool"`
	}
	if json.Unmarshal(f.Args, &a) != nil || strings.TrimSpace(a.Question) == "" {
		return nil, false
	}
	return &Question{ID: f.ID, Text: strings.TrimSpace(a.Question), MissingFields: a.MissingFields, Tool: declared[a.Tool]}, true
}

func nearest(name string, declared map[string]tool.ID) string {
	var names []string
	for n := range declared {
		names = append(names, n)
	}
	slices.Sort(names)
	if n := tool.Nearest(name, names); n != "" {
		return " Perhaps " + n + " is meant."
	}
	return ""
}
