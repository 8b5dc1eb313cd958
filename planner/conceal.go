package planner

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"toolsvc/tool"
)

// What goes into a field for a password is a secret, although no design says so: only the page does. It is kept out of whatever an attempt
// leaves: its report, which the history, the events and the result are made from, and what a model is asked.

// secretsOf are the JSON Pointers of the arguments that the attempt knows to be secrets.
func secretsOf(att tool.Attempt) []string {
	if c, ok := att.(tool.Concealing); ok {
		return c.Secrets()
	}
	return nil
}

// conceal takes the secrets out of the report of an attempt.
func (rep Report) conceal(att tool.Attempt, payload json.RawMessage) Report {
	rep.Secrets = secretsOf(att)
	texts := tool.At(payload, rep.Secrets)
	if len(texts) == 0 {
		return rep
	}
	scrub := func(s string) string { return tool.Scrub(s, texts) }
	rep.Record.Message, rep.What, rep.Proof = scrub(rep.Record.Message), scrub(rep.What), scrub(rep.Proof)
	if rep.Verification != nil {
		v := concealed(*rep.Verification, texts)
		rep.Verification = &v
	}
	if rep.Result != nil {
		rep.Result = scrubJSON(rep.Result, texts)
	}
	for i := range rep.Candidates {
		c := &rep.Candidates[i]
		c.Name, c.Near, c.Within = scrub(c.Name), scrub(c.Near), scrub(c.Within)
	}
	for i := range rep.Issues {
		rep.Issues[i].Got, rep.Issues[i].Message = scrub(rep.Issues[i].Got), scrub(rep.Issues[i].Message)
	}
	rep.Error = scrubError(rep.Error, texts)
	if rep.Rollback != nil {
		notice := *rep.Rollback
		notice.RestoredTo = scrub(notice.RestoredTo)
		rep.Rollback = &notice
	}
	return rep
}

// concealed is the verification without the secrets.
func concealed(v tool.Verification, texts []string) tool.Verification {
	if len(texts) == 0 {
		return v
	}
	v.Explanation = tool.Scrub(v.Explanation, texts)
	checks := make([]tool.Check, len(v.Checks))
	for i, c := range v.Checks {
		c.Condition, c.Expected, c.Observed = tool.Scrub(c.Condition, texts), tool.Scrub(c.Expected, texts), tool.Scrub(c.Observed, texts)
		checks[i] = c
	}
	v.Checks = checks
	if v.Opinion != nil {
		o := *v.Opinion
		o.Explanation = tool.Scrub(o.Explanation, texts)
		v.Opinion = &o
	}
	return v
}

// shownRepairs are the corrections of a payload, without what they did to arguments that turned out to be secrets.
func shownRepairs(s Step) []tool.Repair {
	if len(s.Concealed) == 0 {
		return s.Repairs
	}
	shown := slices.Clone(s.Repairs)
	for i, r := range shown {
		if r.Path == "" || slices.ContainsFunc(s.Concealed, func(p string) bool { return r.Path == p || strings.HasPrefix(p, r.Path+"/") }) {
			shown[i].From, shown[i].To = tool.Redacted, tool.Redacted
		}
	}
	return shown
}

func scrubError(e *tool.Error, texts []string) *tool.Error {
	if e == nil {
		return nil
	}
	return &tool.Error{Code: e.Code, Message: tool.Scrub(e.Message, texts), Cause: scrubError(e.Cause, texts)}
}

// scrubJSON replaces secrets in the texts of a JSON value.
func scrubJSON(raw json.RawMessage, texts []string) json.RawMessage {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // a number stays as it is
	if d.Decode(&v) != nil {
		return json.RawMessage(`"` + tool.Redacted + `"`)
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch x := v.(type) {
		case string:
			for _, t := range texts {
				if x == t {
					return tool.Redacted
				}
			}
			return tool.Scrub(x, texts)
		case []any:
			for i := range x {
				x[i] = walk(x[i])
			}
		case map[string]any:
			for k := range x {
				x[k] = walk(x[k])
			}
		}
		return v
	}
	out, err := json.Marshal(walk(v))
	if err != nil {
		return json.RawMessage(`"` + tool.Redacted + `"`)
	}
	return out
}
