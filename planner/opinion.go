package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"toolsvc/gemini"
	"toolsvc/tool"
)

// Verifier is a model that says whether an action came to what was meant.
type Verifier interface {
	// Verify never fails open: where there is no usable answer, the opinion is uncertain.
	Verify(ctx context.Context, r gemini.VerifyRequest) (gemini.Opinion, error)
}

// Sometimes is a Verifier that is there for some calls only: the model of whoever makes them.
type Sometimes interface {
	Verifier
	// Available reports whether there is a model for the call of ctx (see [CallOf]).
	Available(ctx context.Context) bool
}

// ErrNoModel is wrapped by the error of a Verifier that turned out to have no model: it refused, took too long, or has gone. Then the
// verdict is that of the conditions alone.
var ErrNoModel = errors.New("no model answered")

// available is the verifier, or nil when it is not there for the call of ctx.
func available(ctx context.Context, v Verifier) Verifier {
	if s, ok := v.(Sometimes); ok && !s.Available(ctx) {
		return nil
	}
	return v
}

// callKey is where the activities say for which call they work.
type callKey struct{}

type callRef struct{ run, call string }

func withCall(ctx context.Context, runID, callID string) context.Context {
	return context.WithValue(ctx, callKey{}, callRef{runID, callID})
}

// CallOf tells a model for which call it is asked; "" outside of one.
func CallOf(ctx context.Context) (runID, callID string) {
	ref, _ := ctx.Value(callKey{}).(callRef)
	return ref.run, ref.call
}

// wanted reports whether a model is to be asked about a verdict of the conditions. A condition that failed has decided already.
func wanted(mode tool.VerifyMode, v tool.Verdict) bool {
	switch mode {
	case tool.VerifyNever:
		return false
	case tool.VerifyAlways:
		return v != tool.VerdictFailure
	}
	return v == tool.VerdictUncertain
}

// combine draws one verdict from that of the conditions and a model's opinion:
//
//   - a condition that failed is a failure, whatever the model thinks;
//   - what the conditions leave open, a model that is sure enough decides; otherwise it stays open;
//   - what the conditions prove stays a success unless a model that was asked besides is sure enough of the contrary: then it is uncertain.
func combine(v tool.Verification, o tool.Opinion, threshold float64) tool.Verification {
	o.Agrees = o.Verdict == v.Verdict
	v.Opinion, v.Threshold = &o, cmp.Or(threshold, tool.DefaultThreshold)
	sure := o.Confidence >= v.Threshold
	switch {
	case v.Verdict == tool.VerdictFailure:
	case v.Verdict == tool.VerdictUncertain && sure && o.Verdict != tool.VerdictUncertain:
		v.Verdict, v.Confidence, v.Explanation = o.Verdict, o.Confidence, v.Explanation+" "+o.Model+" says: "+o.Explanation
	case v.Verdict == tool.VerdictSuccess && sure && o.Verdict == tool.VerdictFailure:
		v.Verdict, v.Confidence = tool.VerdictUncertain, 0
		v.Explanation = fmt.Sprintf("The conditions hold, but %s says: %s", o.Model, o.Explanation)
	}
	return v
}

// opine asks the model about an action, where the policy wants that.
func (a *attempter) opine(ctx context.Context, att tool.Attempt, call *tool.Call, in AttemptInput, v tool.Verification, before, after *tool.Evidence, picture *gemini.Picture) (tool.Verification, gemini.Usage) {
	if a.verifier == nil || !wanted(in.Verify, v.Verdict) {
		return v, gemini.Usage{}
	}
	req := gemini.VerifyRequest{Intent: call.Args.Purpose(), Expectation: expectation(call.Spec, v), Action: fmt.Sprintf("%s %s", call.Spec.ID, call.Spec.Concealing(secretsOf(att)...).Redact(call.Raw)),
		Checks: v.Checks, TextBefore: pageText(before), TextAfter: pageText(after), Language: in.Language}
	if picture != nil {
		req.Before = *picture
	}
	if p := pictureOf(ctx, att); p != nil {
		req.After = *p
	}
	o, err := a.verifier.Verify(ctx, req)
	if errors.Is(err, ErrNoModel) {
		return v, o.Usage
	} // another opinion that could not be had is uncertain, and says why
	return combine(v, tool.Opinion{Model: o.Model, Verdict: o.Verdict, Confidence: o.Confidence, Explanation: o.Explanation}, in.Threshold), o.Usage
}

// expectation says in words what must hold.
func expectation(spec *tool.Spec, v tool.Verification) string {
	var words []string
	for _, c := range spec.Postconditions {
		if c.Message != "" {
			words = append(words, c.Message)
		}
	}
	for _, c := range v.Checks {
		if strings.HasPrefix(c.Name, "expect[") {
			words = append(words, c.Expected)
		}
	}
	return strings.Join(words, "; ")
}

// pictureOf takes a picture of the attempt's world; nil where there is none to take.
func pictureOf(ctx context.Context, att tool.Attempt) *gemini.Picture {
	p, ok := att.(tool.Pictured)
	if !ok {
		return nil
	}
	png, scale, err := p.Picture(ctx)
	if err != nil {
		return nil // the model judges by the text, or says that it cannot
	}
	return &gemini.Picture{Data: png, Scale: scale}
}

// pageText is the visible text of a page, where the evidence holds it.
func pageText(e *tool.Evidence) string {
	if e == nil {
		return ""
	}
	p, _ := e.Values["page"].(map[string]any)
	text, _ := p["text"].(string)
	return text
}
