package tool

// Verdict is what verification says of an action. It is three-valued: uncertain is never success.
type Verdict string

// The verdicts.
const (
	VerdictSuccess   Verdict = "success"
	VerdictFailure   Verdict = "failure"
	VerdictUncertain Verdict = "uncertain"
)

// Check is one condition with its receipt: what was expected, what was observed.
type Check struct {
	Name      string `json:"name"`
	Condition string `json:"condition"`
	Expected  string `json:"expected"`
	Observed  string `json:"observed"`
	Passed    bool   `json:"passed"`
	// Undecided is set when the evidence did not hold what the condition reads; such a check never counts as passed.
	Undecided bool `json:"undecided,omitempty"`
}

// EvidenceRefs name the stored evidence by content digest ("sha256:…"); readable as artifacts.
type EvidenceRefs struct {
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Verification is a verdict with its receipts.
type Verification struct {
	Verdict Verdict `json:"verdict"`
	// Confidence is between 0 and 1; deterministic verdicts have 1.
	Confidence float64 `json:"confidence"`
	// Threshold is the least confidence that counts as success, between 0 and 1.
	Threshold   float64      `json:"threshold"`
	Explanation string       `json:"explanation"`
	Checks      []Check      `json:"checks"`
	Evidence    EvidenceRefs `json:"evidence"`
	// Opinion is what a model thinks, where one was asked; nil otherwise.
	Opinion *Opinion `json:"opinion,omitempty"`
}

// Opinion is a model's verdict beside that of the conditions.
type Opinion struct {
	Model       string  `json:"model"`
	Verdict     Verdict `json:"verdict"`
	Confidence  float64 `json:"confidence"`
	Explanation string  `json:"explanation"`
	// Agrees: the conditions, by themselves, came to the same verdict.
	Agrees bool `json:"agrees"`
}

// Failed lists the names of the checks that did not pass.
func (v Verification) Failed() []string {
	var names []string
	for _, c := range v.Checks {
		if !c.Passed {
			names = append(names, c.Name)
		}
	}
	return names
}
