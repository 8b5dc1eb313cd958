package narration

// Stage is what a run is busy with.
type Stage string

// The stages.
const (
	AnalyzingCommand Stage = "analyzing_command"
	PlanningSteps    Stage = "planning_steps"
	ExecutingStep    Stage = "executing_step"
	VerifyingResult  Stage = "verifying_result"
	RetryingStep     Stage = "retrying_step"
	Completing       Stage = "completing"
	ObservingScreen  Stage = "observing_screen"
)

// Stages lists all stages.
var Stages = []Stage{AnalyzingCommand, PlanningSteps, ExecutingStep, VerifyingResult, RetryingStep, Completing, ObservingScreen}

// Label is the stage's name for people.
func (s Stage) Label(lang string) string { return Match(lang).text("stage."+string(s), nil) }

// Level is how a text is meant.
type Level string

// The levels.
const (
	Info    Level = "info"
	Warning Level = "warning" // something did not go as planned, and the run goes on, or waits
	Error   Level = "error"   // something failed for good
	Success Level = "success" // something is verified
)

// Levels lists all levels.
var Levels = []Level{Info, Warning, Error, Success}
