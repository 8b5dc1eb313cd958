package page

import (
	"context"
	"encoding/json"
	"fmt"

	cdppage "github.com/chromedp/cdproto/page"

	"toolsvc/executors/browser/devtools"
)

// restore puts back what is missing in the storage of one origin, before any script of the page runs.
const restore = `(s => { if (location.origin !== s.origin || top !== window) return;
	try { for (const [k, v] of Object.entries(s.local)) if (localStorage.getItem(k) === null) localStorage.setItem(k, v); } catch {}
	try { for (const [k, v] of Object.entries(s.session)) if (sessionStorage.getItem(k) === null) sessionStorage.setItem(k, v); } catch {} })(%s)`

// Restore puts storage (an object with origin, local and session) back into the next documents of that origin, until done is called.
func (t *Tab) Restore(ctx context.Context, storage any) (done func(), err error) {
	text, err := json.Marshal(storage)
	if err != nil {
		return nil, fmt.Errorf("encode the storage: %w", err)
	}
	r, err := devtools.Call(ctx, t.session, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: fmt.Sprintf(restore, text)})
	if err != nil {
		return nil, because(ctx, err)
	}
	return func() {
		devtools.Start(t.session, cdppage.RemoveScriptToEvaluateOnNewDocument, cdppage.RemoveScriptToEvaluateOnNewDocumentParams(r))
	}, nil
}
