package page

import (
	"context"
	"strings"
	"time"

	cdppage "github.com/chromedp/cdproto/page"

	"toolsvc/executors/browser/devtools"
)

// Dialog is a JavaScript dialog (alert, confirm, prompt, beforeunload), which was answered at once: a page stands still while one is open.
type Dialog struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	// Accepted: it was answered with OK.
	Accepted bool `json:"accepted"`
}

// Reply is how somebody said that the next dialogs are to be answered.
type Reply struct {
	Accept bool
	// Text is put into a prompt; "" leaves what stands in it.
	Text string
	// Contains restricts the reply to dialogs that say this; "" does not.
	Contains string
}

// Reply sets how dialogs are answered from now on; nil goes back to dismissing them. Alerts can only be acknowledged, whatever is said.
func (t *Tab) Reply(r *Reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reply = r
}

// Dialogs are the latest dialogs, at most max of them.
func (t *Tab) Dialogs(max int) []Dialog {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.log.dialogs
	return append([]Dialog(nil), all[len(all)-min(max, len(all)):]...)
}

// decide is the answer to a dialog. The caller holds the lock.
func (t *Tab) decide(e cdppage.EventJavascriptDialogOpening) (accept bool, text string) {
	if e.Type == cdppage.DialogTypeAlert {
		return true, ""
	}
	if r := t.reply; r != nil && (r.Contains == "" || strings.Contains(e.Message, r.Contains)) {
		text := r.Text
		if text == "" {
			text = e.DefaultPrompt
		}
		return r.Accept, text
	}
	return e.Type == cdppage.DialogTypeBeforeunload && t.leaving, ""
}

// answer answers a JavaScript dialog.
func (t *Tab) answer(s *devtools.Session, accept bool, text string) {
	ctx, cancel := context.WithTimeout(t.life, 10*time.Second)
	defer cancel()
	p := cdppage.HandleJavaScriptDialogParams{Accept: accept, PromptText: text}
	if _, err := devtools.Call(ctx, s, cdppage.HandleJavaScriptDialog, p); err != nil && s != t.session {
		// a dialog of an out-of-process frame is answered by the tab's own session
		_, _ = devtools.Call(ctx, t.session, cdppage.HandleJavaScriptDialog, p)
	}
}
