package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/store"
	"toolsvc/tool"
)

// Bounds of the pictures in one result.
const (
	maxPictures     = 3
	maxPictureBytes = 5 << 20
)

// render is how a client gets a result: whole as structured content, in words as text, and its pictures as images. A call that waits for
// an answer is no error.
func (s *Surface) render(ctx context.Context, c client, res *tool.Result) *sdk.CallToolResult {
	structured, err := json.Marshal(res)
	if err != nil { // a result that does not encode is a bug of ours
		s.log.Error("a result does not encode", "call_id", res.CallID, "error", err)
		structured = []byte(`{"tool":"","error":{"code":"internal","message":"The result could not be encoded."}}`)
	}
	out := &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: inWords(res)}},
		StructuredContent: json.RawMessage(structured),
		IsError:           res.Error != nil,
	}
	out.Content = append(out.Content, s.pictures(ctx, c, res)...)
	return out
}

// pictures are the images that the result names by digest.
func (s *Surface) pictures(ctx context.Context, c client, res *tool.Result) []sdk.Content {
	if s.o.Artifacts == nil || res.Result == nil {
		return nil
	}
	var out []sdk.Content
	for _, digest := range digests(res.Result) {
		if len(out)/2 >= maxPictures {
			break
		}
		mediaType, data, err := s.o.Artifacts.Artifact(ctx, digest)
		if err != nil {
			if !errors.Is(err, store.ErrNotFound) {
				s.log.Warn("a picture cannot be shown", "digest", digest, "error", err)
			}
			continue
		}
		if !strings.HasPrefix(mediaType, "image/") {
			continue
		}
		if len(data) <= maxPictureBytes {
			out = append(out, &sdk.ImageContent{Data: data, MIMEType: mediaType})
		}
		if c.links() {
			size := int64(len(data))
			out = append(out, &sdk.ResourceLink{URI: artifactURI(digest), Name: "screenshot", Title: "Screenshot", MIMEType: mediaType, Size: &size})
		}
	}
	return out
}

// digests lists the content digests at the top of a result, alone or in lists.
func digests(result json.RawMessage) []string {
	ms, _ := members(result)
	var out []string
	for _, m := range ms {
		var one string
		var several []string
		if json.Unmarshal(m.value, &one) == nil {
			several = []string{one}
		} else if json.Unmarshal(m.value, &several) != nil {
			continue
		}
		for _, v := range several {
			if isDigest(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// Bounds of what is put into words.
const (
	maxIssuesShown     = 20
	maxCandidatesShown = 12
	maxInputShown      = 2 << 10
)

// inWords mirrors the whole result in words, for models whose client shows them only the text. It holds everything that is needed to go
// on: the result, or what failed, what to send instead, and the run.
func inWords(r *tool.Result) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch {
	case r.Question != nil:
		if r.Error != nil {
			say("%s", r.Error.Message)
			sayIssues(say, wrongIn(r))
		}
		sayQuestion(say, r.Question)
	case r.Error != nil:
		sayFailure(say, r)
	default:
		sayResult(say, r)
	}
	for _, x := range r.Repairs {
		say("Corrected %s from %s to %s (%s).", orPayload(x.Path), x.From, x.To, x.Rule)
	}
	if len(r.Attempts) > 1 {
		say("Attempts: %s.", attemptsInWords(r.Attempts))
	}
	if r.RunID != "" {
		say("Run %s, call %s.", r.RunID, r.CallID)
	}
	return strings.TrimSpace(b.String())
}

type sayer func(format string, args ...any)

func sayResult(say sayer, r *tool.Result) {
	if v := r.Verification; v != nil {
		say("Done and verified. %s", v.Explanation)
	}
	ms, ok := members(r.Result)
	if !ok {
		say("%s", r.Result)
		return
	}
	for _, m := range ms { // texts stand as they are: an escaped page is hard to read
		var text string
		if json.Unmarshal(m.value, &text) != nil {
			say("%s: %s", m.name, m.value)
		} else if strings.Contains(text, "\n") {
			say("%s:\n%s", m.name, text)
		} else {
			say("%s: %s", m.name, text)
		}
	}
}

func sayFailure(say sayer, r *tool.Result) {
	say("%s failed (%s). %s", Name(r.Tool), r.Error.Code, r.Error.Message)
	told := r.Error.Message
	for cause := r.Error.Cause; cause != nil; cause = cause.Cause {
		if cause.Message != "" && !strings.Contains(told, cause.Message) && r.RetryHint != nil && len(r.RetryHint.Fields().Issues) == 0 {
			say("Because: %s", cause.Message)
			told += "\n" + cause.Message
		}
	}
	if v := r.Verification; v != nil {
		for _, c := range v.Checks {
			if !c.Passed {
				say("Check %s did not hold: expected %s, observed %s.", c.Name, c.Expected, c.Observed)
			}
		}
	}
	if r.RetryHint == nil {
		return
	}
	h := r.RetryHint.Fields()
	if h.Message != "" && !strings.Contains(r.Error.Message, h.Message) {
		say("What to do (%s): %s", h.Reason, h.Message)
	} else if string(h.Reason) != string(r.Error.Code) {
		say("Reason: %s.", h.Reason)
	}
	if next := nextStep(r.Tool, h.Reason); next != "" {
		say("Next: %s", next)
	}
	sayIssues(say, h.Issues)
	if len(h.MissingFields) > 0 {
		say("Missing: %s", strings.Join(h.MissingFields, ", "))
	}
	sayCandidates(say, h.Candidates)
	if h.Rollback != nil && h.Rollback.Performed {
		say("What the attempt had changed was undone: the state is %s.", h.Rollback.RestoredTo)
	} else if h.Rollback != nil && h.Rollback.RestoredTo != "" {
		say("Not undone: %s.", h.Rollback.RestoredTo)
	}
	if len(h.PriorInput) > 0 {
		say("You sent: %s", clipText(string(h.PriorInput), maxInputShown))
	}
	if len(h.ExampleInput) > 0 {
		say("Valid example: %s", clipText(string(h.ExampleInput), maxInputShown))
	}
	if h.ClarifyingQuestion != "" {
		say("If you do not know, ask: %s", h.ClarifyingQuestion)
	}
	if h.RetryAfterMS > 0 {
		say("Wait %d ms first.", h.RetryAfterMS)
	}
	if h.RestrictToTool {
		say("Repair this call of %s instead of trying another tool.", Name(h.Tool))
	}
}

// nextStep is what to do after a failure whose message says what happened, in the words of the tools that a model has. Messages of
// rejected arguments say it themselves.
func nextStep(id tool.ID, r tool.Reason) string {
	look := "run_get"
	switch id.Toolset() {
	case "browser":
		look = "browser_snapshot"
	case "document":
		look = "document_read"
	case "terminal":
		look = "terminal_run or terminal_read"
	}
	switch r {
	case tool.ReasonTargetNotFound:
		switch id.Toolset() {
		case "browser":
			return "look with browser_snapshot, and name the target as the page shows it now (name, role, within). A ref is good only until the page changes."
		case "document":
			return "check the path; document_outline shows the headings of a file, and document_read its text."
		}
	case tool.ReasonAmbiguousTarget:
		return "send the same call with what leaves one of the candidates: within, near, role or nth."
	case tool.ReasonNoEffect:
		return "repeating is safe, but something else probably has to happen first: look with " + look + "."
	case tool.ReasonPreconditionFailed:
		return "do what the message names, then send the same call again."
	case tool.ReasonOutcomeUnknown, tool.ReasonMalformedResponse:
		return "look with " + look + " before anything else; the call may have done its work. Do not send it again unseen."
	case tool.ReasonLoopDetected:
		return "change something about the call, or ask the user."
	case tool.ReasonConfirmationRequired:
		return "ask the user; do not approve by yourself."
	}
	return ""
}

func sayQuestion(say sayer, q *tool.Question) {
	say("needs_input: %s waits for an answer.", orThisRun(q))
	say("Question: %s", q.Text)
	sayIssues(say, q.Issues)
	sayCandidates(say, q.Candidates)
	if len(q.PriorInput) > 0 {
		say("Arguments so far: %s", clipText(string(q.PriorInput), maxInputShown))
	}
	if q.Kind == tool.AskApproval {
		say(`Ask the user, and then call run_approve with {"run": %q, "approval": %q, "digest": %q, "approve": true} or false. Do not decide this yourself.`, q.RunID, q.ID, q.Digest)
	} else {
		example := q.ExampleInput
		if len(example) == 0 {
			example = json.RawMessage(`{…}`)
		}
		say(`To answer, call run_answer with {"run": %q, "question": %q, "answer": %s}.`, q.RunID, q.ID, clipText(string(example), maxInputShown))
		if len(q.Schema) > 0 {
			say("The answer has to meet this schema: %s", clipText(string(q.Schema), maxInputShown))
		}
	}
	if !q.ExpiresAt.IsZero() {
		say("It stays open until %s.", q.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"))
	}
}

func orThisRun(q *tool.Question) string {
	if q.Tool == "" {
		return "the run"
	}
	return Name(q.Tool)
}

func sayIssues(say sayer, is tool.Issues) {
	for i, x := range is {
		if i == maxIssuesShown {
			say("- and %d more", len(is)-i)
			return
		}
		say("- %s: %s", orPayload(x.Path), x.Message)
	}
}

func sayCandidates(say sayer, cs []tool.Candidate) {
	for i, x := range cs {
		if i == maxCandidatesShown {
			say("- and %d more", len(cs)-i)
			return
		}
		if i == 0 {
			say("Candidates:")
		}
		selector := ""
		if x.Selector != "" {
			selector = " (selector " + x.Selector + ")"
		}
		say("- %s%s", x, selector)
	}
}

func orPayload(path string) string {
	if path == "" {
		return "the arguments"
	}
	return path
}

func attemptsInWords(as []tool.AttemptRecord) string {
	words := make([]string, len(as))
	for i, a := range as {
		words[i] = fmt.Sprintf("%d by %s: ", a.Number, a.Source.Badge())
		switch {
		case a.Failure != "" && a.RolledBack:
			words[i] += string(a.Failure) + ", undone"
		case a.Failure != "":
			words[i] += string(a.Failure)
		default:
			words[i] += "succeeded"
		}
	}
	return strings.Join(words, "; ")
}
