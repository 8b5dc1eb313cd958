package browser

import (
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

const asking = `<button onclick="out.textContent=String(confirm('Delete the playlist?'))">Delete</button><button onclick="out.textContent=String(prompt('Name?','Untitled'))">Rename</button>
	<button onclick="alert('Saved');out.textContent='told'">Save</button><p id=out>-</p>`

// Nobody said anything: confirmations and prompts are dismissed, and the result says so.
func TestDialogsAreDismissed(t *testing.T) {
	t.Parallel()
	p := open(t, asking)
	for name, want := range map[string]string{"Delete": "false", "Rename": "null", "Save": "told"} {
		d := p.do("click", clickOn(name)).must(t, tool.EffectConfirmed)
		r := d.out.Result.(*gen.ClickResult)
		if p.truth("out.textContent") != want || len(r.Dialogs) != 1 || r.Dialogs[0].Accepted != (name == "Save") {
			t.Errorf("%s: %s, %+v", name, p.truth("out.textContent"), r.Dialogs)
		}
	}
}

// An answer is for the next call that acts, for all attempts at it, and for no other.
func TestDialogAnswerIsForOneCall(t *testing.T) {
	t.Parallel()
	p := open(t, asking)
	d := p.do("dialog", map[string]any{"accept": true}).must(t, tool.EffectNone)
	if r := d.out.Result.(*gen.DialogResult); !r.Armed || len(r.Latest) != 0 {
		t.Errorf("%+v", r)
	}
	p.do("snapshot", map[string]any{}) // looking is no action
	call := p.call("click", clickOn("Delete"))
	for n := 1; n <= 2; n++ {
		p.attempt(call, tool.Plan{Number: n, Source: tool.SourceAX, Input: tool.InputMouse}, tool.Needs{}).must(t, tool.EffectConfirmed)
		if got := p.truth("out.textContent"); got != "true" {
			t.Errorf("attempt %d: %s", n, got)
		}
	}
	p.do("click", clickOn("Delete")).must(t, tool.EffectConfirmed)
	if got := p.truth("out.textContent"); got != "false" {
		t.Errorf("the next call: %s", got)
	}
}

func TestDialogAnswers(t *testing.T) {
	t.Parallel()
	p := open(t, asking)
	for _, c := range []struct {
		args          map[string]any
		button, wants string
	}{
		{map[string]any{"accept": true, "prompt_text": "Road trip"}, "Rename", "Road trip"},
		{map[string]any{"accept": true}, "Rename", "Untitled"},
		{map[string]any{"accept": false}, "Rename", "null"},
		{map[string]any{"accept": true, "message_contains": "account"}, "Delete", "false"}, // another dialog than the one that was meant
		{map[string]any{"accept": true, "message_contains": "playlist"}, "Delete", "true"},
	} {
		p.do("dialog", c.args).must(t, tool.EffectNone)
		p.do("click", clickOn(c.button)).must(t, tool.EffectConfirmed)
		if got := p.truth("out.textContent"); got != c.wants {
			t.Errorf("%v: %s, want %s", c.args, got, c.wants)
		}
	}
	r := p.do("dialog", map[string]any{"accept": false}).out.Result.(*gen.DialogResult)
	if len(r.Latest) != 5 || r.Latest[4].Message != "Delete the playlist?" || !r.Latest[4].Accepted {
		t.Errorf("%+v", r.Latest)
	}
}
