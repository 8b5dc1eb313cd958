package design

import (
	"fmt"
	"strings"

	. "goa.design/goa/v3/dsl"

	"toolsvc/tool"
)

// The types that every surface answers with. Their fields are those of package tool, which says what each guarantees; a test in server
// compares the two, so that none can be forgotten.

// rawJSON makes an attribute of type Bytes free JSON: it stands in a JSON body as it is, and in a protobuf message as its text.
func rawJSON() {
	Meta("struct:field:type", "json.RawMessage", "encoding/json")
}

// shared puts a type that several services answer with into a package of its own, so that it is one type in Go.
func shared() { Meta("struct:pkg:path", "types") }

// alwaysThere keeps an empty list in a JSON body: [] rather than nothing. It cannot be required, because protobuf does not tell an empty
// list from none, so that Goa's gRPC client would reject it.
func alwaysThere(name string) func() {
	return func() { Meta("struct:tag:json", name) }
}

// oneOf lists the values of an open enumeration for a description. They are not enforced, because an older client must be able to read a
// newer server's answer.
func oneOf[T ~string](values []T) string {
	w := make([]string, len(values))
	for i, v := range values {
		w[i] = string(v)
	}
	return "one of " + strings.Join(w, ", ")
}

var toolResultType = Type("ToolResult", func() {
	shared()
	Description("What every call ends in, on every surface. A result and an error exclude each other; a call that waits has neither.")
	Field(1, "call_id", String, "Identifier of the call", func() { Example("c_7k2vq3xw5n4hj6rtd8ym9bzapc") })
	Field(2, "run_id", String, "Identifier of the run that the call was made in; empty when the call was rejected before it entered a run", func() {
		Example("r_4mwhq6zt2c9xk7bnv5sd3jyp8a")
	})
	Field(3, "tool", String, "The tool: toolset.tool", func() { Example("browser.click") })
	Field(4, "result", Bytes, "The tool's typed result, as its result schema says", rawJSON)
	Field(5, "error", toolErrorType)
	Field(6, "retry_hint", retryHintType)
	Field(7, "verification", verificationType)
	Field(8, "attempts", ArrayOf(attemptType), "The attempts, in order")
	Field(9, "repairs", ArrayOf(repairType), "Corrections that were made to the payload before the call")
	Field(10, "telemetry", telemetryType)
	Field(11, "children_count", Int, "How many calls an agent-backed tool made")
	Field(12, "run_link", runLinkType)
	Field(13, "status", String, "needs_input while the call waits for the answer to its question; absent when it has ended", func() { Example(string(tool.StatusNeedsInput)) })
	Field(14, "question", questionType)
	Field(15, "child_runs", ArrayOf(runLinkType), "The runs in which an agent did the work, one for each attempt; absent for other tools")
	Required("call_id", "run_id", "tool", "telemetry", "children_count")
})

var questionType = Type("Question", func() {
	shared()
	Description("What a run waits for. It survives restarts, and can be answered from any surface.")
	Field(1, "id", String, "Identifier of the question: q_…, of an approval a_…", func() { Example("q_5jx2mn4tq7wkc3zr6vbd8hysfa") })
	Field(2, "kind", String, "What is asked: "+oneOf([]tool.QuestionKind{tool.AskArguments, tool.AskApproval, tool.AskOutcome, tool.AskFreely}), func() { Example(string(tool.AskArguments)) })
	Field(3, "run_id", String, "The run that asks", func() { Example("r_4mwhq6zt2c9xk7bnv5sd3jyp8a") })
	Field(4, "call_id", String, "The call that waits; absent when a planner asks")
	Field(5, "tool", String, "Its tool; absent when a planner asks", func() { Example("browser.click") })
	Field(6, "text", String, "The question in words", func() { Example("Which element should be clicked?") })
	Field(7, "reason", String, "Why it is asked: "+oneOf(tool.Reasons()), func() { Example(string(tool.ReasonMissingFields)) })
	Field(8, "missing_fields", ArrayOf(String), "RFC 6901 pointers of the required fields that are absent")
	Field(9, "issues", ArrayOf(issueType), "All violations of the payload")
	Field(10, "candidates", ArrayOf(candidateType), "What an ambiguous target may mean")
	Field(11, "schema", Bytes, "JSON Schema 2020-12 that every answer has to meet; forms are made from it. Of arguments, an answer may leave out what the payload has already", rawJSON)
	Field(12, "example_input", Bytes, "A valid payload", rawJSON)
	Field(13, "prior_input", Bytes, "The payload so far; of an approval, the exact arguments. Secrets are redacted", rawJSON)
	Field(14, "digest", String, "Binds an approval to the tool and the exact arguments")
	Field(15, "restrict_to_tool", Boolean, "Whether only this tool's call can follow; absent when not")
	Field(16, "asked_at", String, "When it was asked, RFC 3339", func() { Example("2026-11-21T12:00:00Z") })
	Field(17, "expires_at", String, "When it stops waiting, RFC 3339", func() { Example("2026-11-28T12:00:00Z") })
	Required("id", "kind", "run_id", "text", "asked_at", "expires_at")
})

var toolErrorType = Type("ToolError", func() {
	shared()
	Description("Why a call failed. The chain of causes survives retries, rollbacks and agent-as-tool hops.")
	Field(1, "code", String, "What failed: "+oneOf(tool.Failures), func() { Example(string(tool.VerificationFailed)) })
	Field(2, "message", String, "What was tried, on what, and what stood in the way", func() {
		Example(`button "Play" was clicked, but "the page reacted" did not come true`)
	})
	Field(3, "cause", Bytes, "The ToolError that led to it, as JSON; null at the end of the chain", func() {
		rawJSON()                        // Goa's gRPC generator does not end on a type that holds itself
		Meta("struct:tag:json", "cause") // null, not absent: the end of a chain is said
	})
	Required("message")
})

var retryHintType = Type("RetryHint", func() {
	shared()
	Description("What to do next. It never invites a repetition of a call whose effect is unknown.")
	Field(1, "reason", String, "Why: "+oneOf(tool.Reasons()), func() { Example(string(tool.ReasonMissingFields)) })
	Field(2, "tool", String, "The tool that the hint is about", func() { Example("browser.click") })
	Field(3, "restrict_to_tool", Boolean, "Whether the next call must be to the same tool")
	Field(4, "missing_fields", ArrayOf(String), "RFC 6901 pointers of the required fields that are absent")
	Field(5, "issues", ArrayOf(issueType), "All violations of the payload, in a stable order")
	Field(6, "candidates", ArrayOf(candidateType), "What an ambiguous target may mean")
	Field(7, "example_input", Bytes, "A valid payload", rawJSON)
	Field(8, "prior_input", Bytes, "The payload as it came, secrets redacted; a JSON string when it was not JSON or is long", rawJSON)
	Field(9, "clarifying_question", String, "What to ask a person", func() { Example("Which element should be clicked?") })
	Field(10, "message", String, "What to do, in words")
	Field(11, "retry_after_ms", Int64, "How long to wait before the same call, in milliseconds; 0 when that is not the advice")
	Field(12, "rollback", rollbackNoticeType)
	Required("reason", "tool", "restrict_to_tool", "message", "retry_after_ms")
})

var issueType = Type("Issue", func() {
	shared()
	Description("One violation found in a payload.")
	Field(1, "path", String, "RFC 6901 pointer into the payload; empty for the whole payload", func() { Example("/target/name") })
	Field(2, "constraint", String, "JSON Schema 2020-12 keyword, or one of syntax, duplicate, maxBytes, condition", func() { Example("maxLength") })
	Field(3, "limit", Bytes, "The bound, pattern or format that was not kept", rawJSON)
	Field(4, "allowed", ArrayOf(String), "Allowed values, or known names of fields")
	Field(5, "expected_type", String, "JSON type that was expected", func() { Example("string") })
	Field(6, "got", String, "The value found, as JSON text, clipped; secrets redacted")
	Field(7, "offset", Int64, "Byte position in the payload, from 0")
	Field(8, "suggestion", String, "Nearest known name or allowed value")
	Field(9, "message", String, "The violation in one plain sentence")
	Required("path", "constraint", "offset", "message")
})

var candidateType = Type("Candidate", func() {
	shared()
	Description("One thing that a target may mean, in words that tell it from the others.")
	Field(1, "name", String, "Accessible name")
	Field(2, "role", String, "ARIA role")
	Field(3, "within", String, "Panel, landmark, dialog or frame that holds it")
	Field(4, "near", String, "Text beside it")
	Field(5, "selector", String, "CSS selector")
	Required("name")
})

var rollbackNoticeType = Type("RollbackNotice", func() {
	shared()
	Description("What a rollback undid.")
	Field(1, "performed", Boolean, "Whether the state is proven to be as before")
	Field(2, "restored_to", String, "To which state, in words", func() { Example("before attempt 1") })
	Field(3, "failed_checks", ArrayOf(String), "Names of the checks that led to it", alwaysThere("failed_checks"))
	Required("performed", "restored_to")
})

var verificationType = Type("Verification", func() {
	shared()
	Description("The verdict on an action, with its receipts.")
	Field(1, "verdict", String, "Uncertain is never success", func() {
		Enum(string(tool.VerdictSuccess), string(tool.VerdictFailure), string(tool.VerdictUncertain))
	})
	Field(2, "confidence", Float64, "From 0 to 1; 1 for a deterministic verdict", func() { Example(1.0) })
	Field(3, "threshold", Float64, "Least confidence that counts as success, from 0 to 1", func() { Example(0.7) })
	Field(4, "explanation", String, "Why, in words")
	Field(5, "checks", ArrayOf(checkType), "Every condition with what was expected and what was observed", alwaysThere("checks"))
	Field(6, "evidence", evidenceType)
	Field(7, "opinion", opinionType)
	Required("verdict", "confidence", "threshold", "explanation", "evidence")
})

var opinionType = Type("Opinion", func() {
	shared()
	Description("What a model thinks, where one was asked.")
	Field(1, "model", String, "The model")
	Field(2, "verdict", String, "Its verdict: success, failure or uncertain")
	Field(3, "confidence", Float64, "From 0 to 1")
	Field(4, "explanation", String, "Why, in words")
	Field(5, "agrees", Boolean, "Whether the conditions, by themselves, came to the same verdict")
	Required("model", "verdict", "confidence", "explanation", "agrees")
})

var checkType = Type("Check", func() {
	shared()
	Description("One condition with its receipt.")
	Field(1, "name", String, "Name of the condition", func() { Example("something_changed") })
	Field(2, "condition", String, "The CEL expression", func() { Example("effect.changed") })
	Field(3, "expected", String, "What was expected, in words")
	Field(4, "observed", String, "What was observed, in words")
	Field(5, "passed", Boolean, "Whether it held")
	Field(6, "undecided", Boolean, "Whether the evidence did not hold what the condition reads; never true of a check that passed")
	Required("name", "condition", "expected", "observed", "passed")
})

var evidenceType = Type("EvidenceRefs", func() {
	shared()
	Description("The stored evidence, by content digest.")
	Field(1, "before", String, "Taken immediately before the action", func() { Example("sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae") })
	Field(2, "after", String, "Taken after it")
})

var attemptType = Type("AttemptRecord", func() {
	shared()
	Description("The account of one attempt.")
	Field(1, "number", Int, "From 1", func() { Example(1) })
	Field(2, "source", String, "How the target was found: "+oneOf(tool.Sources), func() { Example(string(tool.SourceAX)) })
	Field(3, "input", String, "How the action was sent: "+oneOf([]tool.Input{tool.InputMouse, tool.InputKeyboard}), func() { Example(string(tool.InputMouse)) })
	Field(4, "phase", String, "How far it came: "+oneOf([]tool.Phase{tool.PhaseStarted, tool.PhaseResolved, tool.PhaseDispatched, tool.PhaseSettled}), func() {
		Example(string(tool.PhaseSettled))
	})
	Field(5, "effect", String, "What is known of its effect", func() {
		Enum(string(tool.EffectNone), string(tool.EffectConfirmed), string(tool.EffectUnknown))
	})
	Field(6, "failure", String, "What failed; absent when nothing did: "+oneOf(tool.Failures), func() { Example(string(tool.TargetNotFound)) })
	Field(7, "message", String, "The failure in words")
	Field(8, "rolled_back", Boolean, "Whether what it changed was undone")
	Field(9, "duration_ms", Int64, "In milliseconds", func() { Example(12) })
	Required("number", "source", "phase", "effect", "rolled_back", "duration_ms")
})

var repairType = Type("Repair", func() {
	shared()
	Description("One correction of a payload.")
	Field(1, "path", String, "RFC 6901 pointer", func() { Example("/timeout_ms") })
	Field(2, "rule", String, "What was done", func() { Example("string_to_integer") })
	Field(3, "tier", String, "Who corrected it: one of syntax, lossless, model, person", func() { Example("lossless") })
	Field(4, "from", String, "Before, as JSON text", func() { Example(`"500"`) })
	Field(5, "to", String, "After, as JSON text", func() { Example("500") })
	Required("path", "rule", "tier", "from", "to")
})

var telemetryType = Type("Telemetry", func() {
	shared()
	Description("What the call cost.")
	Field(1, "duration_ms", Int64, "In milliseconds", func() { Example(180) })
	Field(2, "queued_ms", Int64, "How long it waited for the calls before it, in milliseconds", func() { Example(0) })
	Field(3, "model", String, "The model that was used; empty when none was", func() { Example("") })
	Field(4, "input_tokens", Int64, "Tokens read by the model", func() { Example(0) })
	Field(5, "output_tokens", Int64, "Tokens written by the model", func() { Example(0) })
	Field(6, "waited_ms", Int64, "How long it backed off, or waited for a person, in milliseconds; absent when it did not")
	Required("duration_ms", "queued_ms", "model", "input_tokens", "output_tokens")
})

var runLinkType = Type("RunLink", func() {
	shared()
	Description("Where the run is in Temporal.")
	Field(1, "workflow_id", String, "Workflow identifier")
	Field(2, "url", String, "Its page in Temporal's UI")
	Required("workflow_id")
})

var toolSpecType = Type("ToolSpec", func() {
	Description("What a tool is for, what it takes, what it may do to the world, and what is checked before and after it.")
	Field(1, "id", String, "toolset.tool", func() { Example("browser.click") })
	Field(2, "title", String, "Short name for people", func() { Example("Click") })
	Field(3, "description", String, "What it does")
	Field(4, "effect", String, "What it may do to the world; healing obeys it", effectClasses)
	Field(5, "effect_rules", ArrayOf(effectRuleType), "Calls that belong to another effect class", alwaysThere("effect_rules"))
	Field(6, "sources", ArrayOf(String), "How the target is found, in the order of trying: "+oneOf(tool.Sources), alwaysThere("sources"))
	Field(7, "preconditions", ArrayOf(conditionType), "Checked before it; when one fails, nothing runs", alwaysThere("preconditions"))
	Field(8, "postconditions", ArrayOf(conditionType), "Checked after it, on fresh evidence", alwaysThere("postconditions"))
	Field(9, "time_limit_ms", Int64, "Bound of one attempt, in milliseconds", func() { Example(30000) })
	Field(10, "confirm", String, "What a person is asked to approve first; absent when the design asks for no approval")
	Field(11, "rollback", String, "What a rollback can undo, and when it refuses; absent when nothing can be undone")
	Field(12, "question", String, "What to ask a person when fields are missing")
	Field(13, "payload_schema", Bytes, "JSON Schema 2020-12 of the payload, closed", rawJSON)
	Field(14, "result_schema", Bytes, "JSON Schema 2020-12 of the result, closed", rawJSON)
	Field(15, "example", Bytes, "A valid payload", rawJSON)
	Required("id", "title", "description", "effect", "time_limit_ms", "payload_schema", "result_schema", "example")
})

var effectRuleType = Type("EffectRule", func() {
	Description("Gives a call another effect class when a condition over its arguments holds.")
	Field(1, "when", String, "CEL expression over args", func() { Example("args.submit") })
	Field(2, "class", String, "The class of such a call", effectClasses)
	Required("when", "class")
})

var conditionType = Type("Condition", func() {
	Description("A named CEL expression with a sentence for people.")
	Field(1, "name", String, "Name", func() { Example("something_changed") })
	Field(2, "expression", String, "The CEL expression", func() { Example("effect.changed") })
	Field(3, "message", String, "What holds when it holds", func() { Example("the page reacted") })
	Required("name", "expression")
})

// effectClasses is a closed enumeration: a client that does not know a class must not guess what it allows.
func effectClasses() {
	values := make([]any, len(tool.EffectClasses))
	for i, c := range tool.EffectClasses {
		values[i] = string(c)
	}
	Enum(values...)
	Example(string(tool.Reversible))
}

var problemType = Type("Problem", func() {
	shared()
	Description("Why a request was refused, as RFC 9457 problem details. A call that was refused was not made, unless the text says otherwise.")
	Field(1, "type", String, "Identifies the kind of problem", func() { Example("urn:toolsvc:problem:unknown_tool") })
	Field(2, "title", String, "The kind of problem in words; the same for each of its kind", func() { Example("Unknown tool") })
	Field(3, "status", Int, "HTTP status", func() { Example(404) })
	Field(4, "detail", String, "What is wrong with this request, and what to do", func() { Example(`There is no tool "browser.clik". Is browser.click meant?`) })
	Field(5, "code", String, "The kind of problem as a word", func() {
		Meta("struct:error:name")
		Example("unknown_tool")
	})
	Field(6, "nearest", ArrayOf(String), "Known names that are near to the one given, nearest first", func() { Example([]string{"browser.click"}) })
	Field(7, "retry_after", Int, "Wait this many seconds before the same request", func() { Example(1) })
	Field(9, "issues", ArrayOf(issueType), "What is wrong with the body, all of it; paths are RFC 6901 pointers into the body")
	Field(8, "request_id", String, "Names the request in the log of toolsvc", func() { Example(fmt.Sprintf("q_%s", "3vkd7mzq2w")) })
	Required("type", "title", "status", "detail", "code")
})
