package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"toolsvc/gemini"
	"toolsvc/tool"
)

// Planner decides what a run with a goal does next. It is asked by an activity, so it may take its time and may fail; what it says is
// data that the workflow acts on. The other two planners need no asking: a script's steps are given, a caller's arrive.
type Planner interface {
	// PlanStart plans the first turn.
	PlanStart(ctx context.Context, in PlanStart) (Turn, error)
	// PlanResume plans the next turn, after what the last one asked for has been done.
	PlanResume(ctx context.Context, in PlanResume) (Turn, error)
}

// PlanStart is what a planner starts from.
type PlanStart struct {
	RunID, Goal, Instructions, Language string
	// Tools that may be called.
	Tools []*tool.Spec
	// Budget is what is left for the run; a zero field is no bound.
	Budget Budget
	// NoQuestions: nobody can be asked.
	NoQuestions bool
	// Finalize, when not "", says why the planner has to come to an end now, with a final answer and no calls.
	Finalize string
}

// Budget is what a run may still use.
type Budget struct {
	Calls  int           `json:"calls,omitempty"`
	Tokens int64         `json:"tokens,omitempty"`
	Time   time.Duration `json:"time,omitempty"`
}

// PlanResume is what a planner goes on from.
type PlanResume struct {
	PlanStart
	// Messages are the conversation so far, as the last Turn left it.
	Messages json.RawMessage
	// News are the results, with their hints, of what the last turn asked for, in its order.
	News []News
	// RestrictTo withholds all tools but this one on this turn; "" for none.
	RestrictTo tool.ID
	// Notice is something that the planner has to know beside the news; "" for none.
	Notice string
}

// News is what became of one thing that the planner asked for; one of Result, Answer and NotDone is set.
type News struct {
	// ID is the planner's own, of the call or of the question.
	ID     string
	Result *tool.Result
	// Answer is a person's answer: {"text": "…"}.
	Answer json.RawMessage
	// NotDone says why it was not done.
	NotDone string
}

// Turn is what a planner wants done: calls, an await, or the end.
type Turn struct {
	// Messages are the conversation, this turn included.
	Messages json.RawMessage
	// Calls are made in this order, one after the other.
	Calls []PlannedCall
	// Question is asked after the calls; nil when there is none.
	Question *PlannedQuestion
	// Final is the final response, when there are neither calls nor a question.
	Final string
	// Tokens is what the turn cost, input and output together, and Output its own part of it; Model says which one.
	Tokens int64
	Output int64
	Model  string
}

// PlannedCall is one call that a planner wants made.
type PlannedCall struct {
	ID        string
	Tool      tool.ID
	Arguments json.RawMessage
	// Refused says why it cannot be made; it is given back to the planner.
	Refused string
}

// PlannedQuestion is a planner's question.
type PlannedQuestion struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Gemini plans by function calling.
type Gemini struct{ Client *gemini.Client }

// PlanStart plans the first turn.
func (g Gemini) PlanStart(ctx context.Context, in PlanStart) (Turn, error) {
	return g.turn(ctx, in, nil, "")
}

// PlanResume answers the calls of the last turn, and plans the next.
func (g Gemini) PlanResume(ctx context.Context, in PlanResume) (Turn, error) {
	var messages []gemini.Message
	if err := json.Unmarshal(in.Messages, &messages); err != nil {
		return Turn{}, fmt.Errorf("decode the conversation of run %s: %w", in.RunID, err)
	}
	if n := len(messages); n > 0 && messages[n-1].Role == gemini.RoleModel && len(messages[n-1].Calls()) == 0 { // it had finished
		messages = append(messages, gemini.UserText(in.Notice))
	} else if n > 0 && messages[n-1].Role == gemini.RoleModel {
		responses := map[string]json.RawMessage{}
		for _, news := range in.News {
			switch {
			case news.Result != nil:
				responses[news.ID] = gemini.Response(news.Result)
			case news.Answer != nil:
				responses[news.ID] = gemini.UserAnswer(news.Answer)
			default:
				responses[news.ID] = gemini.NotDone(news.NotDone)
			}
		}
		answer := gemini.Answer(messages[n-1], responses)
		if in.Notice != "" {
			answer.Parts = append(answer.Parts, gemini.Part{Text: in.Notice})
		}
		messages = append(messages, answer)
	}
	return g.turn(ctx, in.PlanStart, messages, in.RestrictTo)
}

func (g Gemini) turn(ctx context.Context, in PlanStart, messages []gemini.Message, restrict tool.ID) (Turn, error) {
	reply, err := g.Client.PlanTurn(ctx, gemini.PlanRequest{Goal: in.Goal, Instructions: in.Instructions, Language: in.Language, Messages: messages, Tools: in.Tools,
		RestrictTo: restrict, NoQuestions: in.NoQuestions, Finalize: in.Finalize, Budget: gemini.Budget{Calls: in.Budget.Calls, Tokens: in.Budget.Tokens, Time: in.Budget.Time}})
	t := Turn{Tokens: reply.Usage.Tokens(), Output: reply.Usage.OutputTokens, Model: reply.Model}
	if err != nil {
		return t, err
	}
	if t.Messages, err = json.Marshal(append(messages, reply.Message)); err != nil {
		return t, fmt.Errorf("encode the conversation of run %s: %w", in.RunID, err)
	}
	for _, c := range reply.Calls {
		t.Calls = append(t.Calls, PlannedCall{ID: c.ID, Tool: c.Tool, Arguments: c.Args, Refused: c.Refused})
	}
	if q := reply.Question; q != nil {
		t.Question = &PlannedQuestion{ID: q.ID, Text: q.Text}
	}
	if reply.Final() {
		t.Final = reply.Text
	}
	return t, nil
}
