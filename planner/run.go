package planner

import (
	"encoding/json"
	"time"

	"toolsvc/gemini"
	"toolsvc/tool"
)

// Names under which the run's workflow is reached in Temporal.
const (
	// TaskQueue is where runs and their activities are worked on.
	TaskQueue = "toolsvc"
	// WorkflowRun is the workflow type of a run.
	WorkflowRun = "Run"
	// UpdateCall appends a call to the run's queue, and returns its Result when it has ended.
	UpdateCall = "call"
	// UpdateAnswer answers a question of the run, and returns the Result of the call that waited for it, or its next question.
	UpdateAnswer = "answer"
	// UpdateControl pauses or resumes the run.
	UpdateControl = "control"
	// QueryState returns the run's State.
	QueryState = "state"
	// QueryStep returns a call's Step, with its arguments as they are.
	QueryStep = "step"
)

// Bounds of a run.
const (
	// MaxSteps bounds the steps of a plan.
	MaxSteps = 1000
	// MaxQueued bounds the calls that wait in a run's queue.
	MaxQueued = 200
	// DefaultIdle is how long a run that waits for calls stays open without one.
	DefaultIdle = 30 * time.Minute
)

// Kind says where the calls of a run come from.
type Kind string

const (
	// KindCaller: calls arrive one by one.
	KindCaller Kind = "caller"
	// KindScript: the steps are given at the start; the run ends with the first that fails.
	KindScript Kind = "script"
	// KindPipeline: stages are given, each a run of its own between conditions.
	KindPipeline Kind = "pipeline"
	// KindGemini: a goal is given in words, and a model plans the calls.
	KindGemini Kind = "gemini"
)

// Input starts a run.
type Input struct {
	RunID string `json:"run_id"`
	Kind  Kind   `json:"kind"`
	// Title is what the run is called in lists.
	Title string `json:"title,omitempty"`
	// Language of the narration: en, ko or ja.
	Language string `json:"language"`
	// Policy bounds the run.
	Policy tool.Policy `json:"policy,omitzero"`
	// Goal is what a model is to reach, and Instructions are those of whoever designed the agent; at most MaxGoal bytes each.
	Goal         string `json:"goal,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	// Parent is the run whose stage this run is.
	Parent string `json:"parent,omitempty"`
	// Backs is the call whose work this run does, and Above are the digests of it and of the calls of agent-backed tools above it.
	Backs *Backed  `json:"backs,omitempty"`
	Above []string `json:"above,omitempty"`
	// Outer is the allow list of the caller at the very top, which holds for agents below agents, too.
	Outer []string `json:"outer,omitempty"`
	// Conversation is that of an earlier attempt, which the planner goes on from without its first Skip messages, and Notice is what it
	// has to know of what happened since.
	Conversation string `json:"conversation,omitempty"`
	Skip         int    `json:"skip,omitempty"`
	Notice       string `json:"notice,omitempty"`
	// Steps of a script, or the stages of a pipeline.
	Steps []Step `json:"steps,omitempty"`
	// NoHealing limits every step to one attempt, for comparison.
	NoHealing bool `json:"no_healing,omitempty"`
	// KeepSession leaves the run's tab open when the run has ended, for somebody who looks at it afterwards.
	KeepSession bool `json:"keep_session,omitempty"`
	// Single ends the run after its first call.
	Single bool `json:"single,omitempty"`
	// IdleMS ends a run that waits for calls after this long without one; [DefaultIdle] when 0.
	IdleMS int64 `json:"idle_ms,omitempty"`
	// Worker is the one that has the tabs and files that the run is to begin with; "" for any.
	Worker string `json:"worker,omitempty"`
	// Carried is the state of a run that goes on in a new history.
	Carried *State `json:"carried,omitempty"`
}

// Step is one accepted call: validated, and with everything from its Spec that the workflow's decisions depend on, so that a
// history replays the same whatever becomes of the design.
type Step struct {
	CallID    string          `json:"call_id"`
	Tool      tool.ID         `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	// Concealed are JSON Pointers of arguments that turned out to be secrets.
	Concealed []string `json:"concealed,omitempty"`
	// Title says what the step does, in the run's language.
	Title   string           `json:"title"`
	Class   tool.EffectClass `json:"class"`
	Sources []tool.Source    `json:"sources"`
	// TimeLimitMS bounds one attempt.
	TimeLimitMS int64 `json:"time_limit_ms"`
	// ExpectFailure makes the step right when the call fails in exactly this way with nothing dispatched; "" otherwise.
	ExpectFailure tool.Failure `json:"expect_failure,omitempty"`
	// Repairs are the corrections that were made before the call was accepted.
	Repairs []tool.Repair `json:"repairs,omitempty"`
	// Stage makes the step a run of its own; nil for a call of a tool.
	Stage *Stage `json:"stage,omitempty"`
	// Draft is set while the payload does not validate; Arguments is empty then.
	Draft *Draft `json:"draft,omitempty"`
	// Confirm is the question of the approval that the call needs; "" when it needs none.
	Confirm string `json:"confirm,omitempty"`
	// Digest identifies the tool and the exact arguments: "sha256:…".
	Digest string `json:"digest,omitempty"`
	// Model is the one that corrected the payload; "" when none did.
	Model string `json:"model,omitempty"`
	// Trace is the trace that the call belongs to, as in W3C's header traceparent; "" without one. No decision depends on it.
	Trace string `json:"trace,omitempty"`
}

// Draft is a payload that does not validate yet, and that the run's policy lets be corrected by a model or a person.
type Draft struct {
	Payload []byte      `json:"payload"`
	Issues  tool.Issues `json:"issues"`
}

// Status of a step.
type Status string

// The statuses.
const (
	StatusQueued   Status = "queued"
	StatusRunning  Status = "running"
	StatusVerified Status = "verified"
	StatusFailed   Status = "failed"
	// StatusWaiting: the step waits for the answer to a question.
	StatusWaiting Status = "waiting"
	// StatusSkipped: an earlier step of the script failed.
	StatusSkipped Status = "skipped"
)

// Ended reports whether the step will not change any more.
func (s Status) Ended() bool { return s == StatusVerified || s == StatusFailed || s == StatusSkipped }

// State is the run as a query shows it.
type State struct {
	RunID    string      `json:"run_id"`
	Title    string      `json:"title,omitempty"`
	Language string      `json:"language"`
	Kind     Kind        `json:"kind"`
	Outcome  Outcome     `json:"outcome"`
	Steps    []StepState `json:"steps"`
	// Paused: no step begins before the run is resumed.
	Paused bool `json:"paused,omitempty"`
	// Controls counts how often it was paused and resumed.
	Controls int `json:"controls,omitempty"`
	// Questions are those that wait for an answer, in the order of asking.
	Questions []tool.Question `json:"questions,omitempty"`
	// Below names, by question, the run of a stage or an agent that asks it.
	Below map[string]string `json:"below,omitempty"`
	// Policy of the run.
	Policy tool.Policy `json:"policy,omitzero"`
	// Past is what the loop guard and the policy know of the calls that have ended, the latest last.
	Past []Ended `json:"past,omitempty"`
	// WaitedMS is how long the run has backed off in all.
	WaitedMS int64 `json:"waited_ms,omitempty"`
	// Began is when the run began, WithPeopleMS how long it has waited for people.
	Began        time.Time `json:"began,omitzero"`
	WithPeopleMS int64     `json:"with_people_ms,omitempty"`
	// Asked counts the questions so far, Tokens the model's tokens, of which OutputTokens were its own.
	Asked        int   `json:"asked,omitempty"`
	Tokens       int64 `json:"tokens,omitempty"`
	OutputTokens int64 `json:"output_tokens,omitempty"`
	// Worker is the one that has the run's tab, shells and files; "" where one worker serves all runs, or before the first attempt.
	Worker string `json:"worker,omitempty"`
	// Goal and Planning are those of a run with a goal.
	Goal     string    `json:"goal,omitempty"`
	Planning *Planning `json:"planning,omitempty"`
}

// Outcome of a run.
type Outcome string

// The outcomes.
const (
	OutcomeRunning   Outcome = "running"
	OutcomeSucceeded Outcome = "succeeded" // every step is verified
	OutcomeFailed    Outcome = "failed"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeIdle      Outcome = "idle" // ended because no call came
)

// StepState is one step of a State.
type StepState struct {
	CallID  string       `json:"call_id"`
	Tool    tool.ID      `json:"tool"`
	Title   string       `json:"title"`
	Status  Status       `json:"status"`
	Result  *tool.Result `json:"result,omitempty"`
	Expects tool.Failure `json:"expect_failure,omitempty"`
	// Kept stands for the Result of a step that ended before the run went on in a new history.
	Kept *Kept `json:"kept,omitempty"`
	// Class of the call; "" in states that were kept by older versions.
	Class tool.EffectClass `json:"class,omitempty"`
	// ChildRun is the latest run that does, or did, the work of an agent-backed tool or of a stage.
	ChildRun string `json:"child_run,omitempty"`
}

// Succeeded reports whether every step is verified, and there is one.
func (s *State) Succeeded() bool {
	for _, st := range s.Steps {
		if st.Status != StatusVerified {
			return false
		}
	}
	return len(s.Steps) > 0
}

// AttemptInput is what the attempt activity works from.
type AttemptInput struct {
	RunID    string    `json:"run_id"`
	Language string    `json:"language"`
	Step     Step      `json:"step"`
	Number   int       `json:"number"` // of the step, from 1
	Steps    int       `json:"steps"`  // known so far
	Plan     tool.Plan `json:"plan"`
	// Round counts the waits of the step before this attempt: each round has a dispatch record of its own.
	Round int `json:"round,omitempty"`
	// After is what the attempt ended with, where it ended after its dispatch without knowing what became of it; "" where its worker was lost.
	After tool.Failure `json:"after,omitempty"`
	// Worker is the one that made the attempt whose outcome is looked for, or may have made it; "" when that is not known. Lost is the one
	// that had the run's tab before it was lost.
	Worker string `json:"worker,omitempty"`
	Lost   string `json:"lost,omitempty"`
	// Verify and Threshold are those of the run's policy.
	Verify    tool.VerifyMode `json:"verify,omitempty"`
	Threshold float64         `json:"threshold,omitempty"`
}

// dispatch is the number under which the attempt's dispatch is recorded.
func (in AttemptInput) dispatch() int { return in.Plan.Number + in.Round*10*MaxAttempts }

// Report is what an attempt came to.
type Report struct {
	Record       tool.AttemptRecord `json:"record"`
	Verification *tool.Verification `json:"verification,omitempty"`
	Result       json.RawMessage    `json:"result,omitempty"`
	Candidates   []tool.Candidate   `json:"candidates,omitempty"`
	// Issues are what the tool itself found wrong: in the payload (invalid_arguments), or in its own answer (malformed_response).
	Issues       tool.Issues          `json:"issues,omitempty"`
	Error        *tool.Error          `json:"error,omitempty"`
	RetryAfterMS int64                `json:"retry_after_ms,omitempty"`
	Rollback     *tool.RollbackNotice `json:"rollback,omitempty"`
	// What stood in the way, as people know it: the name of the cover, of the missing field.
	What string `json:"what,omitempty"`
	// Final: another attempt would come to the same, because whoever worked at it says that it cannot be done.
	Final bool `json:"final,omitempty"`
	// Reask: the work may be right, but the answer is not in its form, so only the answer is asked for again.
	Reask bool `json:"reask,omitempty"`
	// Proof says why the effect is what it is.
	Proof string `json:"proof,omitempty"`
	// Usage is what asking a model about it cost.
	Usage gemini.Usage `json:"usage,omitzero"`
	// Worker is the one that made the attempt; "" where one worker serves all runs.
	Worker string `json:"worker,omitempty"`
	// Secrets are JSON Pointers of arguments that turned out to be secrets. Nothing else in the report holds them.
	Secrets []string `json:"secrets,omitempty"`
}
