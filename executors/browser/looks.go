package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"strconv"
	"strings"
	"time"

	"toolsvc/executors/browser/page"
	"toolsvc/executors/browser/vision"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// settleNavigation waits until the page that was opened is ready.
func (a *attempt) settleNavigation(ctx context.Context) (tool.Outcome, error) {
	limit := a.act.limit - time.Since(a.sent.At)
	load, cancel := context.WithTimeout(ctx, max(limit, 50*time.Millisecond))
	defer cancel()
	if err := a.tab.AwaitLoad(load, a.work.loader, a.sent); err != nil && ctx.Err() != nil {
		return tool.Outcome{}, err
	} else if err == nil {
		if _, err := a.tab.Ready(load, quietAfter, 1500*time.Millisecond); err != nil && ctx.Err() != nil {
			return tool.Outcome{}, err
		}
	}
	o, err := a.look(ctx, tool.Needs{})
	if err != nil {
		return tool.Outcome{}, err
	}
	status := a.tab.DocumentStatus(a.sent)
	went, err := a.journeyed(ctx, o)
	if err != nil {
		return tool.Outcome{}, err
	}
	a.facts = facts{Delivered: true, Navigated: went}
	out := tool.Outcome{Effect: tool.EffectConfirmed, Proof: fmt.Sprintf("The page at %s was opened (HTTP status %d).", o.url, status)}
	if !went {
		out.Effect, out.Proof = tool.EffectNone, "The page was not left."
		if ds := a.dialogsSince(); len(ds) > 0 {
			out.Proof = fmt.Sprintf("The page asked whether to leave it (%s), and nobody said yes; browser.dialog can.", ds[0].Type)
		}
	}
	switch a.act.kind {
	case kindBack:
		out.Result = &gen.BackResult{URL: o.url, Title: o.title, Status: status, Dialogs: a.dialogsSince()}
	case kindForward:
		out.Result = &gen.ForwardResult{URL: o.url, Title: o.title, Status: status, Dialogs: a.dialogsSince()}
	case kindReload:
		out.Result = &gen.ReloadResult{URL: o.url, Title: o.title, Status: status, Dialogs: a.dialogsSince()}
	default:
		out.Result = &gen.NavigateResult{URL: o.url, Title: o.title, Status: status}
	}
	return out, nil
}

// snapshot renders the page, or a part of it, as a tree.
func (a *attempt) snapshot(ctx context.Context) (tool.Outcome, error) {
	frames := a.tab.Frames()
	start, id := frames[0], 0
	if a.loc != nil {
		start, id = a.loc.frame, a.loc.id
	}
	byOwner, err := a.owners(ctx, frames)
	if err != nil {
		return tool.Outcome{}, err
	}
	out := &tree{max: a.act.maxChars}
	if err := a.render(ctx, out, start, id, 0, byOwner, 0); err != nil {
		return tool.Outcome{}, err
	}
	o, err := a.look(ctx, tool.Needs{})
	if err != nil {
		return tool.Outcome{}, err
	}
	text := strings.Join(out.lines, "\n")
	if text == "" {
		text = "- (the page is empty)"
	}
	// Lines hold references of one document; after another one was opened, nothing can be compared.
	of := fmt.Sprintf("%s %s %d", a.tab.ID, start.Loader(), id)
	diff, compared := a.s.compared(of, out.lines)
	if compared = compared && a.act.changes; compared {
		text = diff
		if len(text) > a.act.maxChars {
			text, out.cut = clip(text, a.act.maxChars), true
		}
	}
	return tool.Outcome{Result: &gen.SnapshotResult{URL: o.url, Title: o.title, Snapshot: text, Truncated: out.cut, Changes: compared}, Effect: tool.EffectNone, Proof: "Nothing was done but looking."}, nil
}

// tree collects the lines of a snapshot.
type tree struct {
	lines     []string
	size, max int
	cut       bool
}

// owned names a frame by the frame that holds it and the number of its element there.
type owned struct {
	parent *page.Frame
	id     int
}

// owners maps frame elements to frames.
func (a *attempt) owners(ctx context.Context, frames []*page.Frame) (map[owned]*page.Frame, error) {
	m := map[owned]*page.Frame{}
	for _, f := range frames[1:] {
		id, err := f.Owner(ctx)
		if err != nil {
			if page.Moved(err) || ctx.Err() == nil {
				continue
			}
			return nil, err
		}
		m[owned{f.Parent(), id}] = f
	}
	return m, nil
}

// prefix is what the references of a frame begin with: nothing for the page itself, f1, f2, … for frames, fixed while the frame's document lives.
func (a *attempt) prefix(ctx context.Context, f *page.Frame) (string, error) {
	if f.IsMain() {
		return "", nil
	}
	top := 0
	for _, g := range a.tab.Frames()[1:] {
		var n int
		if err := g.Eval(ctx, &n, "frameNo", 0); err == nil {
			top = max(top, n)
		}
	}
	var n int
	if err := f.Eval(ctx, &n, "frameNo", top+1); err != nil {
		return "", err
	}
	return "f" + strconv.Itoa(n), nil
}

// render adds a frame's tree, and those of the frames in it at their places.
func (a *attempt) render(ctx context.Context, out *tree, f *page.Frame, id, indent int, byOwner map[owned]*page.Frame, depth int) error {
	prefix, err := a.prefix(ctx, f)
	if err != nil {
		return err
	}
	var s struct {
		Lines []string `json:"lines"`
		Cut   bool     `json:"cut"`
	}
	if err := f.Eval(ctx, &s, "snapshot", id, prefix, out.max-out.size); err != nil {
		return err
	}
	out.cut = out.cut || s.Cut
	for _, l := range s.Lines {
		if mark, ok := strings.CutPrefix(l, "\x01"); ok {
			num, deep, _ := strings.Cut(mark, "\x01")
			n, err1 := strconv.Atoi(num)
			d, err2 := strconv.Atoi(deep)
			child := byOwner[owned{f, n}]
			if err := errors.Join(err1, err2); err != nil || child == nil || depth >= 5 {
				continue
			}
			if err := a.render(ctx, out, child, 0, indent+d, byOwner, depth+1); err != nil && !page.Moved(err) {
				return err
			}
			continue
		}
		l = strings.Repeat("  ", indent) + l
		if out.size+len(l)+1 > out.max {
			out.cut = true
			return nil
		}
		out.size += len(l) + 1
		out.lines = append(out.lines, l)
	}
	return nil
}

// read reads the text of the page or of the target.
func (a *attempt) read(ctx context.Context) (tool.Outcome, error) {
	text, value := "", (*string)(nil)
	switch {
	case a.loc == nil:
		o, err := a.look(ctx, tool.Needs{Text: true})
		if err != nil {
			return tool.Outcome{}, err
		}
		text = o.text
	case a.loc.seen:
		shot, err := a.tab.Screenshot(ctx, nil)
		if err != nil {
			return tool.Outcome{}, err
		}
		b := a.loc.box
		if text, err = a.x.opts.Vision.Read(ctx, vision.Screenshot{PNG: shot, Scale: a.x.opts.DeviceScaleFactor}, vision.Rect{X: b.X - 4, Y: b.Y - 4, W: b.W + 8, H: b.H + 8}); err != nil {
			return tool.Outcome{}, tool.Failf(tool.ToolUnavailable, "the picture of the page could not be read: %w", err)
		}
	default:
		var r *struct {
			Text  string `json:"text"`
			Value string `json:"value"`
			Has   bool   `json:"has"`
		}
		if err := a.loc.frame.Eval(ctx, &r, "read", a.loc.id); err != nil {
			return tool.Outcome{}, err
		}
		if r == nil {
			return tool.Outcome{}, errStale
		}
		text = r.Text
		if r.Has {
			value = &r.Value
		}
	}
	cut := text
	if runes := []rune(text); len(runes) > a.act.maxChars {
		cut = string(runes[:a.act.maxChars])
	}
	return tool.Outcome{Result: &gen.ReadResult{Text: cut, Value: value, Truncated: len(cut) < len(text)}, Effect: tool.EffectNone, Proof: "Nothing was done but looking."}, nil
}

// waitFor waits until what is asked for is so.
func (a *attempt) waitFor(ctx context.Context) (tool.Outcome, error) {
	start := time.Now()
	end := start.Add(a.act.limit)
	for {
		ok, err := a.holdsNow(ctx)
		if err != nil && (!page.Moved(err) || a.tab.Dead() != nil) {
			return tool.Outcome{}, err
		}
		left := time.Until(end)
		if ok || left <= 0 {
			ms := int(time.Since(start).Milliseconds())
			return tool.Outcome{Result: &gen.WaitForResult{Satisfied: ok, WaitedMs: ms}, Effect: tool.EffectNone, Proof: "Nothing was done but waiting."}, nil
		}
		// What changes without a mutation (a style sheet, a transition) is seen by looking again after a while.
		if err := a.awaitChange(ctx, min(left, 250*time.Millisecond)); err != nil {
			return tool.Outcome{}, err
		}
	}
}

// holdsNow reports whether everything that is waited for is so now.
func (a *attempt) holdsNow(ctx context.Context) (bool, error) {
	if a.act.text != "" || a.act.textGone != "" {
		o, err := a.look(ctx, tool.Needs{Text: true})
		if err != nil {
			return false, err
		}
		page := squeeze(o.text)
		if a.act.text != "" && !strings.Contains(page, squeeze(a.act.text)) || a.act.textGone != "" && strings.Contains(page, squeeze(a.act.textGone)) {
			return false, nil
		}
	}
	if a.act.target == nil {
		return true, nil
	}
	loc, err := a.ground(ctx, tool.SourceCDP)
	f := new(tool.Failed)
	switch {
	case errors.As(err, &f) && f.Failure == tool.TargetNotFound:
		a.loc = nil
		return a.act.state == "hidden", nil
	case errors.As(err, &f) && f.Failure == tool.AmbiguousTarget && a.act.state != "enabled":
		return a.act.state == "visible", nil // several are there
	case err != nil:
		return false, err
	}
	a.loc = loc
	t, err := a.target(ctx)
	if err != nil {
		return false, err
	}
	switch a.act.state {
	case "hidden":
		return !t.Exists || !t.Visible, nil
	case "enabled":
		return t.Visible && t.Enabled, nil
	}
	return t.Visible, nil
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// screenshot takes a picture and stores it.
func (a *attempt) screenshot(ctx context.Context) (tool.Outcome, error) {
	if a.x.opts.Artifacts == nil {
		return tool.Outcome{}, tool.Failf(tool.ToolUnavailable, "there is no store for pictures")
	}
	var clip *page.Clip
	switch {
	case a.loc != nil:
		var r *struct{ X, Y, W, H float64 }
		if err := a.loc.frame.Eval(ctx, &r, "rectOf", a.loc.id); err != nil {
			return tool.Outcome{}, err
		}
		if r == nil || r.W <= 0 || r.H <= 0 {
			return tool.Outcome{}, tool.Failf(tool.TargetNotFound, "%s has no picture: it is not shown.", capital(a.loc.words))
		}
		clip = &page.Clip{X: r.X, Y: r.Y, W: r.W, H: r.H}
		if !a.loc.frame.IsMain() { // its place in the page is found by the hit test's way up
			in := *a.loc
			in.fx, in.fy = 0, 0
			if err := a.origin(ctx, &in); err != nil {
				return tool.Outcome{}, err
			}
			var own struct{ X, Y float64 }
			if err := a.loc.frame.Eval(ctx, &own, "scrolled"); err != nil {
				return tool.Outcome{}, err
			}
			var top struct{ X, Y float64 }
			if err := a.tab.Main().Eval(ctx, &top, "scrolled"); err != nil {
				return tool.Outcome{}, err
			}
			clip.X, clip.Y = r.X-own.X+in.x+top.X, r.Y-own.Y+in.y+top.Y
		}
	case a.act.fullPage:
		var s struct{ W, H float64 }
		if err := a.tab.Main().Eval(ctx, &s, "pageSize"); err != nil {
			return tool.Outcome{}, err
		}
		clip = &page.Clip{W: min(s.W, maxSide), H: min(s.H, maxSide)}
	}
	shot, err := a.tab.Screenshot(ctx, clip)
	if err != nil {
		return tool.Outcome{}, err
	}
	size, err := png.DecodeConfig(bytes.NewReader(shot))
	if err != nil {
		return tool.Outcome{}, fmt.Errorf("read the screenshot: %w", err)
	}
	digest, err := a.x.opts.Artifacts.Put(ctx, "image/png", shot)
	if err != nil {
		return tool.Outcome{}, fmt.Errorf("keep the screenshot: %w", err)
	}
	return tool.Outcome{Result: &gen.ScreenshotResult{Artifact: digest, Width: size.Width, Height: size.Height}, Effect: tool.EffectNone, Proof: "Nothing was done but looking."}, nil
}

// maxSide bounds the sides of a picture of a whole page, in CSS pixels.
const maxSide = 16384

// origin finds where a frame's viewport begins in the tab's.
func (a *attempt) origin(ctx context.Context, loc *located) error {
	x, y := 0.0, 0.0
	for f, p := loc.frame, loc.frame.Parent(); p != nil; f, p = p, p.Parent() {
		id, err := f.Owner(ctx)
		if err != nil {
			return err
		}
		var o *frameOwner
		if err := p.Eval(ctx, &o, "owner", id, x, y); err != nil {
			return err
		}
		if o == nil {
			return errStale
		}
		x, y = o.X, o.Y
	}
	loc.x, loc.y = x, y
	return nil
}
