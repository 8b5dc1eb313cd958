package narration

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"toolsvc/tool"
)

// Bounds of what is put into texts, in runes.
const (
	maxTitle   = 80  // as long as Describe makes them
	maxCommand = 120 // a command or a question in the caller's words
	maxWhat    = 60
)

// Moment is where in a run something happens, and in which language it is told. Its methods make the event.
type Moment struct {
	// Lang is the run's language, as [Match] takes it.
	Lang  string
	RunID string
	// Step, Steps, Attempt and Source are as in [Event].
	Step, Steps, Attempt int
	Source               tool.Source
	At                   time.Time
}

// Trouble is why something failed.
type Trouble struct {
	Failure tool.Failure
	// What stood in the way, as people know it: the name of what covers the target, of the check that failed, of the program that is
	// missing; "" when that is not known. It is shown as it is, so it should be a name or an expression, not an English sentence.
	What string
}

func (m Moment) event(stage Stage, level Level, key string, values map[string]string) Event {
	for name, v := range values {
		values[name] = Clean(v)
	}
	return Event{RunID: m.RunID, Step: m.Step, Steps: m.Steps, Attempt: m.Attempt, Stage: stage, Source: m.Source, Level: level, At: m.At,
		Text: Clip(Match(m.Lang).text(key, values), MaxText)}
}

// Accepted: the run was accepted. command is the goal in the caller's words, or the title of the run; it may be "".
func (m Moment) Accepted(command string) Event {
	if command = told(command); command == "" {
		return m.event(AnalyzingCommand, Info, "say.accepted.bare", nil)
	}
	return m.event(AnalyzingCommand, Info, "say.accepted", map[string]string{"command": command})
}

// Planned: the run has m.Steps steps.
func (m Moment) Planned() Event {
	return m.event(PlanningSteps, Info, one("say.planned", m.Steps), map[string]string{"steps": strconv.Itoa(m.Steps)})
}

// Observing: evidence is being collected.
func (m Moment) Observing() Event { return m.event(ObservingScreen, Info, "say.observing", nil) }

// Executing: an attempt at the step begins. title is what the step does, as [Describe] words it.
func (m Moment) Executing(title string) Event {
	return m.event(ExecutingStep, Info, "say.executing", map[string]string{"title": short(title)})
}

// Verifying: the action is done, and its result is being checked.
func (m Moment) Verifying() Event { return m.event(VerifyingResult, Info, "say.verifying", nil) }

// Retrying: the attempt by the source from failed, and the next one goes by m.Source.
func (m Moment) Retrying(from tool.Source, why Trouble) Event {
	l := Match(m.Lang)
	key := "say.retrying"
	if from == m.Source || m.Source == "" {
		key = "say.retrying.same"
	}
	return m.event(RetryingStep, Warning, key, map[string]string{"from": l.source(from), "why": l.why(why), "to": l.source(m.Source)})
}

// RetryingStage: an attempt at a stage failed, and whoever works at it is told so before the next one.
func (m Moment) RetryingStage(why Trouble) Event {
	return m.event(RetryingStep, Warning, "say.retrying.stage", map[string]string{"why": Match(m.Lang).why(why)})
}

// RolledBack: what the attempt had changed is undone, and that is proven.
func (m Moment) RolledBack() Event { return m.event(RetryingStep, Warning, "say.rolled_back", nil) }

// NotRolledBack: what the attempt had changed could not be undone, or not all of it.
func (m Moment) NotRolledBack() Event {
	return m.event(RetryingStep, Error, "say.not_rolled_back", nil)
}

// Verified: the step is done, verified, and took that long.
func (m Moment) Verified(title string, took time.Duration) Event {
	return m.event(VerifyingResult, Success, "say.verified", map[string]string{"title": short(title), "took": Match(m.Lang).duration(took)})
}

// Failed: the step has failed for good, after attempts by the sources that were tried, if any.
func (m Moment) Failed(title string, why Trouble, tried ...tool.Source) Event {
	l := Match(m.Lang)
	values := map[string]string{"title": short(title), "why": l.why(why), "tried": badges(tried, l)}
	if len(tried) == 0 {
		return m.event(VerifyingResult, Error, "say.failed.bare", values)
	}
	return m.event(VerifyingResult, Error, "say.failed", values)
}

// WaitingForAnswer: the run waits until somebody answers the question.
func (m Moment) WaitingForAnswer(question string) Event {
	return m.event(AnalyzingCommand, Warning, "say.waiting_for_answer", map[string]string{"question": told(question)})
}

// WaitingForApproval: the step waits until somebody approves it.
func (m Moment) WaitingForApproval(question string) Event {
	return m.event(ExecutingStep, Warning, "say.waiting_for_approval", map[string]string{"question": told(question)})
}

// Waiting: the step is tried again after a while.
func (m Moment) Waiting(wait time.Duration, why Trouble) Event {
	l := Match(m.Lang)
	return m.event(RetryingStep, Warning, "say.waiting", map[string]string{"wait": l.duration(wait), "why": l.why(why)})
}

// AnswerGiven: the question was answered, and the run goes on.
func (m Moment) AnswerGiven() Event { return m.event(AnalyzingCommand, Info, "say.answer_given", nil) }

// Answered: the planner has given its final answer.
func (m Moment) Answered(answer string) Event {
	return m.event(Completing, Info, "say.answered", map[string]string{"answer": told(answer)})
}

// Paused: no step begins before the run is resumed.
func (m Moment) Paused() Event { return m.event(PlanningSteps, Warning, "say.paused", nil) }

// Resumed: the run goes on.
func (m Moment) Resumed() Event { return m.event(PlanningSteps, Info, "say.resumed", nil) }

// Completed: the run has succeeded. In one that a model planned, some of its m.Steps steps may have failed and been made good by others.
func (m Moment) Completed(verified int) Event {
	if verified < m.Steps {
		return m.event(Completing, Success, "say.completed.some", map[string]string{"steps": strconv.Itoa(m.Steps), "verified": strconv.Itoa(verified)})
	}
	return m.event(Completing, Success, one("say.completed", m.Steps), map[string]string{"steps": strconv.Itoa(m.Steps)})
}

// Stopped: the run has ended, with only some of its m.Steps steps verified.
func (m Moment) Stopped(verified int) Event {
	return m.event(Completing, Error, one("say.stopped", m.Steps), map[string]string{"steps": strconv.Itoa(m.Steps), "verified": strconv.Itoa(verified)})
}

// Cancelled: the run was cancelled after some of its m.Steps steps had been verified.
func (m Moment) Cancelled(verified int) Event {
	return m.event(Completing, Warning, one("say.cancelled", m.Steps), map[string]string{"steps": strconv.Itoa(m.Steps), "verified": strconv.Itoa(verified)})
}

// one picks the text for a single one.
func one(key string, n int) string {
	if n == 1 {
		return key + ".one"
	}
	return key
}

// told is what somebody said, made fit to be shown.
func told(s string) string { return Clip(mask(Clean(s)), maxCommand) }

func short(title string) string { return Clip(mask(Clean(title)), maxTitle) }

// why words a trouble.
func (l Lang) why(t Trouble) string {
	key := "failure." + string(t.Failure)
	if what := Clip(mask(Clean(t.What)), maxWhat); what != "" {
		if text, ok := l.template(key + ".what"); ok {
			return fill(text, map[string]string{"what": what})
		}
	}
	if text, ok := l.template(key); ok {
		return text
	}
	return string(t.Failure) // of a later version of toolsvc
}

// source words a source.
func (l Lang) source(s tool.Source) string {
	if text, ok := l.template("source." + string(s)); ok {
		return text
	}
	return string(s)
}

// badges lists the sources in the order of trying, each once.
func badges(sources []tool.Source, l Lang) string {
	var list []string
	for _, s := range sources {
		if b := s.Badge(); !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	return strings.Join(list, l.text("list", nil))
}
