package browser

import (
	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// maxDialogs bounds the dialogs in a result.
const maxDialogs = 20

// reply is how the dialogs of one call are to be answered.
type reply struct {
	page.Reply
	call string // that it is for; "" until a call that acts comes
}

// armReply keeps an answer for the dialogs of the next call that acts. It replaces an earlier one.
func (s *session) armReply(r page.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply = &reply{Reply: r}
}

// replyFor is the answer for the dialogs of a call: that which was said immediately before it. All attempts at the call get the same; the
// next call gets none. An answer is lost with this process, and then dialogs are dismissed.
func (s *session) replyFor(call string) *page.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reply == nil:
		return nil
	case s.reply.call == "":
		s.reply.call = call
	case s.reply.call != call:
		s.reply = nil
		return nil
	}
	return &s.reply.Reply
}

// dialogs says that the answer is ready, and which dialogs there were.
func (a *attempt) dialogs() tool.Outcome {
	return tool.Outcome{Result: &gen.DialogResult{Armed: true, Latest: answered(a.tab.Dialogs(maxDialogs))}, Effect: tool.EffectNone, Proof: "The answer is kept for the next action."}
}

// answered puts dialogs into a result.
func answered(ds []page.Dialog) []*gen.AnsweredDialog {
	out := []*gen.AnsweredDialog{}
	for _, d := range ds[max(0, len(ds)-maxDialogs):] {
		out = append(out, &gen.AnsweredDialog{Type: d.Type, Message: d.Message, Accepted: d.Accepted})
	}
	return out
}
