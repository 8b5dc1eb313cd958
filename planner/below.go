package planner

import (
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"toolsvc/tool"
)

// What the run of a stage, or of an agent, asks is asked by the run above it, too: whoever made the call is told, and answers there. The
// run below keeps the question and waits; the one above holds a copy under its own call, and passes the answer down.

const (
	signalBelow = "QuestionBelow"
	signalReply = "AnswerFromAbove"
	// changeAbove is the version from which a run tells the one above it what it asks.
	changeAbove = "questions-above"
)

// Below tells the run above of a question.
type Below struct {
	// Run is the one that tells it: a run of a stage of the one above.
	Run      string        `json:"run"`
	Question tool.Question `json:"question"`
	// How the question was closed: answered, expired or cancelled; "" when it is opened.
	How string `json:"how,omitempty"`
}

// listen takes in what the runs below ask, and the answers that the run above passes on.
func (r *run) listen(ctx workflow.Context) {
	workflow.GoNamed(ctx, "questions of the runs below", func(ctx workflow.Context) {
		for asked := workflow.GetSignalChannel(ctx, signalBelow); ; {
			var b Below
			asked.Receive(ctx, &b)
			if b.How == "" {
				r.askedBelow(ctx, b)
			} else {
				r.closedBelow(ctx, b.Question.ID, b.How)
			}
		}
	})
	workflow.GoNamed(ctx, "answers from the run above", func(ctx workflow.Context) {
		for answers := workflow.GetSignalChannel(ctx, signalReply); ; {
			var a Reply
			answers.Receive(ctx, &a)
			switch {
			case r.state.Below[a.QuestionID] != "":
				r.passDown(ctx, a)
			case slices.ContainsFunc(r.state.Questions, func(q tool.Question) bool { return q.ID == a.QuestionID }) && r.replies[a.QuestionID] == nil:
				r.replies[a.QuestionID] = &a
			}
		}
	})
}

// above tells the run above, where there is one, of a question that was opened, or closed.
func (r *run) above(ctx workflow.Context, q tool.Question, how string) {
	if r.in.Parent == "" || workflow.GetVersion(ctx, changeAbove, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	dctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if err := workflow.SignalExternalWorkflow(dctx, r.in.Parent, "", signalBelow, Below{r.in.RunID, q, how}).Get(dctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("the run above is not told of a question", "question", q.ID, "error", err) // it has ended; the question is still open here
	}
}

// askedBelow puts the question of a run below under the call that the run works for.
func (r *run) askedBelow(ctx workflow.Context, b Below) {
	i := slices.IndexFunc(r.state.Steps, func(st StepState) bool { return st.ChildRun == b.Run && !st.Status.Ended() })
	if i < 0 || r.closed {
		return
	}
	q := b.Question
	q.RunID, q.CallID = r.in.RunID, r.state.Steps[i].CallID
	if r.state.Below == nil {
		r.state.Below = map[string]string{}
	}
	r.state.Below[q.ID] = b.Run
	if err := workflow.ExecuteLocalActivity(local(ctx, "ask for the run "+b.Run), activityForward, Forwarded{q, i + 1, len(r.state.Steps), r.in.Language}).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Error("tell of a question", "question", q.ID, "error", err) // it can be answered all the same
	}
	if r.state.Below[q.ID] == "" { // closed meanwhile
		return
	}
	r.state.Questions = append(r.state.Questions, q)
	r.state.Steps[i].Status = StatusWaiting
	r.settle(q.CallID)
	r.waiting(ctx)
	r.above(ctx, q, "")
}

// closedBelow takes the question of a run below away again. It reports the call that waited for it; "" when it is not open here.
func (r *run) closedBelow(ctx workflow.Context, id, how string) (callID string) {
	delete(r.state.Below, id)
	i := slices.IndexFunc(r.state.Questions, func(q tool.Question) bool { return q.ID == id })
	if i < 0 {
		return ""
	}
	q := r.state.Questions[i]
	r.state.Questions = slices.Delete(slices.Clone(r.state.Questions), i, i+1)
	r.state.WithPeopleMS += workflow.Now(ctx).Sub(q.AskedAt).Milliseconds()
	if st := r.find(q.CallID); st != nil && st.Status == StatusWaiting {
		st.Status = StatusRunning
	}
	r.waiting(ctx)
	closing := Closing{RunID: r.in.RunID, Question: q, How: how, Number: 1 + r.index[q.CallID], Steps: len(r.state.Steps), Language: r.in.Language}
	dctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	if err := workflow.ExecuteLocalActivity(local(dctx, "the question is "+how), activityClose, closing).Get(dctx, nil); err != nil {
		workflow.GetLogger(ctx).Error("tell that a question is closed", "question", id, "error", err)
	}
	if how != "answered" { // an answer came from above, or is told by the run below when it closes its own
		r.above(ctx, q, how)
	}
	return q.CallID
}

// passDown gives an answer to the run below that asked. When that run has ended meanwhile, the call ends by itself.
func (r *run) passDown(ctx workflow.Context, a Reply) {
	to := r.state.Below[a.QuestionID]
	r.closedBelow(ctx, a.QuestionID, "answered")
	if err := workflow.SignalExternalWorkflow(ctx, to, "", signalReply, a).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("an answer does not reach the run that asked", "question", a.QuestionID, "run", to, "error", err)
	}
}

// Forwarded is the question of a run below, as the run above asks it.
type Forwarded struct {
	Question tool.Question `json:"question"`
	Number   int           `json:"number"`
	Steps    int           `json:"steps"`
	Language string        `json:"language"`
}

// ForwardQuestion writes the events of a question that a run below asks.
func (a *Activities) ForwardQuestion(ctx context.Context, f Forwarded) error {
	return a.tellQuestion(ctx, f.Question, f.Language, f.Number, f.Steps)
}

// asker finds the run that asks a question which runs above it hold a copy of, and its own form of the question.
func (s *Service) asker(ctx context.Context, st *State, q tool.Question) (*State, tool.Question, error) {
	for range MaxAgents + 3 {
		run := st.Below[q.ID]
		if run == "" {
			return st, q, nil
		}
		below, err := s.State(ctx, run)
		if err != nil {
			return nil, q, err
		}
		i := slices.IndexFunc(below.Questions, func(o tool.Question) bool { return o.ID == q.ID })
		if i < 0 {
			return nil, q, fmt.Errorf("%w (%s)", ErrQuestionClosed, q.ID)
		}
		st, q = below, below.Questions[i]
	}
	return nil, q, fmt.Errorf("the question %s is passed on too often", q.ID)
}
