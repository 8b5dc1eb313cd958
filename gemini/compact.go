package gemini

import (
	"encoding/json"
	"slices"
)

// keepWhole is how many of the latest messages Compact never shortens.
const keepWhole = 2

// Compact shortens a conversation to at most about limit bytes: the oldest function responses lose all but their status, failure and
// rollback, then the arguments of the oldest calls go; the latest messages stay whole, because they are what the model reacts to. Texts,
// names, ids and signatures stay, so that the service accepts the conversation. The messages that are passed in are not changed.
func Compact(messages []Message, limit int) []Message {
	over := size(messages) - limit
	if over <= 0 {
		return messages
	}
	out := slices.Clone(messages)
	for _, shorten := range []func(Part) Part{shortResponse, shortCall} {
		for i := range max(0, len(out)-keepWhole) {
			if over <= 0 {
				return out
			}
			m := out[i]
			m.Parts = slices.Clone(m.Parts)
			for j, p := range m.Parts {
				m.Parts[j] = shorten(p)
				over -= p.size() - m.Parts[j].size()
			}
			out[i] = m
		}
	}
	return out
}

func size(messages []Message) int {
	n := 0
	for _, m := range messages {
		for _, p := range m.Parts {
			n += p.size()
		}
	}
	return n
}

func (p Part) size() int {
	n := len(p.Text) + len(p.Signature)
	if p.Call != nil {
		n += len(p.Call.Name) + len(p.Call.Args)
	}
	if p.Response != nil {
		n += len(p.Response.Name) + len(p.Response.Response)
	}
	return n
}

// shortResponse keeps of a response what later decisions need.
func shortResponse(p Part) Part {
	if p.Response == nil {
		return p
	}
	var whole, short map[string]json.RawMessage
	if json.Unmarshal(p.Response.Response, &whole) != nil {
		return p
	}
	short = map[string]json.RawMessage{"note": json.RawMessage(`"shortened: an earlier response"`)}
	for _, k := range []string{"status", "failure", "rollback", "answer"} {
		if v := whole[k]; v != nil && len(v) <= 1<<10 {
			short[k] = v
		}
	}
	b, err := json.Marshal(short)
	if err != nil || len(b) >= len(p.Response.Response) {
		return p
	}
	r := *p.Response
	r.Response = b
	p.Response = &r
	return p
}

// shortCall drops the arguments of a call.
func shortCall(p Part) Part {
	const short = `{"note":"shortened: an earlier call"}`
	if p.Call == nil || len(p.Call.Args) <= len(short) {
		return p
	}
	c := *p.Call
	c.Args = json.RawMessage(short)
	p.Call = &c
	return p
}
