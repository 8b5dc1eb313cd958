package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"

	"toolsvc/executors/browser/match"
	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// How long a source waits for a target that is not there yet.
const (
	waitBusy   = 3 * time.Second         // the first source, while the page is at work
	waitQuiet  = 2500 * time.Millisecond // the first source, on a page at rest
	waitOpaque = 250 * time.Millisecond  // the first source, where a picture may hold the target and a later source can look at it
	waitLater  = 150 * time.Millisecond  // every later source
	axAgain    = 80 * time.Millisecond   // between two looks into the accessibility tree while waiting
	axLarge    = 2500                    // elements, above which the whole accessibility tree takes too long
	axMany     = 300                     // nodes of one name, above which the accessibility tree cannot tell them apart
)

// found is an element as the page's world describes it.
type found struct {
	ID          int      `json:"id"`
	Role        string   `json:"role"`
	Names       []string `json:"names"`
	Tag         string   `json:"tag"`
	Interactive bool     `json:"interactive"`
	Clickable   bool     `json:"clickable"`
	Editable    bool     `json:"editable"`
	Visible     bool     `json:"visible"`
	Enabled     bool     `json:"enabled"`
	Within      []holder `json:"within"`
	Near        string   `json:"near"`
	Path        string   `json:"path"`
	Words       string   `json:"words"`
	Shown       string   `json:"shown"`
	Box         box      `json:"box"`
	At          float64  `json:"at"`
	Beside      *struct {
		Rivals   int  `json:"rivals"`
		Distance int  `json:"distance"`
		Exact    bool `json:"exact"`
	} `json:"beside"`

	frame *page.Frame
	// said are the names by which the page's DOM called what the accessibility tree found, at another moment.
	said []string
}

type holder struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type box struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
	W float64 `json:"w"`
	H float64 `json:"h"`
}

// located is a target that was found.
type located struct {
	frame *page.Frame
	id    int
	words string
	// known is where the element was, and when (by the page's clock), so that the gate can tell whether it moved since.
	known *look
	// x and y are the point to act on, in the viewport; fx and fy in the frame's own.
	x, y, fx, fy float64
	// seen: found in a picture. canvas: what is at the point can only be judged by its picture.
	seen, canvas bool
	box          box
	scrolled     bool
	notes        []string
}

type look struct {
	Box box     `json:"box"`
	At  float64 `json:"at"`
}

// domQuery is what the page's world is asked to find.
type domQuery struct {
	Name     string `json:"name,omitempty"`
	Selector string `json:"selector,omitempty"`
	Near     string `json:"near,omitempty"`
	Within   string `json:"within,omitempty"`
	Nth      int    `json:"nth,omitempty"`
	Role     string `json:"role,omitempty"`
	Ref      int    `json:"ref,omitempty"`
	// Options asks for the options of closed lists as well.
	Options bool `json:"options,omitempty"`
	// Ahead has the gate begun at what is found, of so many milliseconds at most; 0 has not.
	Ahead int64 `json:"ahead,omitempty"`
}

// ground finds the target by the plan's source, waiting for one that is late. It changes nothing.
func (a *attempt) ground(ctx context.Context, source tool.Source) (*located, error) {
	if source == tool.SourceVision {
		return a.groundVision(ctx)
	}
	var s page.Surfaces
	if a.surfaces != nil {
		s, a.surfaces = *a.surfaces, nil
	} else if err := a.tab.Main().Eval(ctx, &s, "surfaces"); err != nil && !page.Moved(err) {
		return nil, err
	}
	a.elements = s.Elements
	if s.Hosts > 0 {
		if err := a.tab.Main().Enter(ctx); err != nil && !page.Moved(err) {
			return nil, err
		}
	}
	end := time.Now().Add(a.patience(s))
	lastAX := time.Time{}
	for {
		dom := a.startFind(ctx, a.act.gated())
		var loc *located
		var err error
		if source == tool.SourceAX && time.Since(lastAX) >= axAgain {
			lastAX = time.Now()
			loc, err = a.viaAX(ctx, dom)
		} else if source != tool.SourceAX {
			if loc, err = a.viaDOM(ctx, dom); err == nil {
				a.lookAhead(ctx, dom.list)
			}
		} else {
			err = missing("accessibility tree", a.act, "name")
		}
		f := new(tool.Failed)
		switch {
		case err == nil:
			return loc, nil
		case errors.As(err, &f) && f.Failure != tool.TargetNotFound:
			return nil, err
		case f.Failure != tool.TargetNotFound && !page.Moved(err):
			return nil, err
		}
		if source == tool.SourceAX {
			if there, derr := a.viaDOM(ctx, dom); (derr == nil && there != nil || ambiguous(derr)) && (there == nil || there.frame.Unrest() == 0) {
				return nil, err // the DOM has it, the accessibility tree does not: the next source need not wait
			}
		}
		left := time.Until(end)
		if left <= 0 {
			if page.Moved(err) {
				err = tool.Failf(tool.NotReady, "the page was being replaced all the time while %s was looked for: %w", words(a.act.target), err)
			}
			a.offer(ctx, f)
			return nil, err
		}
		if err := a.awaitChange(ctx, min(left, time.Second)); err != nil {
			return nil, err
		}
	}
}

// The bounds of what is told of a page that has not what was asked for.
const (
	maxOffered = 300         // names that are compared, of each frame
	maxAlike   = 3           // names that are told
	offerLimit = time.Second // for all frames: the answer is the same without them
)

// offer adds to a failure the things on the page whose names are like the one that was asked for. A frame that does not answer has none.
func (a *attempt) offer(ctx context.Context, f *tool.Failed) {
	t := a.act.target
	if f.Failure != tool.TargetNotFound || t.Name == nil || len(f.Candidates) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, offerLimit)
	defer cancel()
	var all []tool.Candidate
	var names []string
	for _, frame := range a.tab.Frames() {
		var there []tool.Candidate
		if err := frame.Eval(ctx, &there, "offered", maxOffered); err != nil {
			continue
		}
		for _, c := range there {
			all, names = append(all, c), append(names, c.Name)
		}
	}
	var said []string
	for _, i := range match.Alike(*t.Name, names, maxAlike) {
		f.Candidates = append(f.Candidates, all[i])
		said = append(said, fmt.Sprintf("%s %q", all[i].Role, all[i].Name))
	}
	if len(said) > 0 {
		f.Message += " Alike on the page: " + strings.Join(said, ", ") + "."
	}
}

func ambiguous(err error) bool {
	var f *tool.Failed
	return errors.As(err, &f) && f.Failure == tool.AmbiguousTarget
}

// patience is how long this source waits for a late target.
func (a *attempt) patience(s page.Surfaces) time.Duration {
	pictures := a.x.seeing() && (a.act.target.Name != nil || a.act.target.Description != nil)
	switch {
	case a.act.kind == kindWait:
		return 0
	case a.plan.Number > 1:
		return waitLater
	case s.Opaque+s.Pictures > 0 && pictures && s.Ready == "complete" && a.tab.Busy(page.Mark{}) == 0:
		if s.Busy {
			return 2 * waitOpaque
		}
		return waitOpaque
	case s.Busy:
		return waitBusy
	}
	return waitQuiet
}

// awaitChange waits until something changes in any frame, or limit has passed.
func (a *attempt) awaitChange(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit+2*time.Second)
	defer cancel()
	frames := a.tab.Frames()
	done := make(chan error, len(frames))
	for _, f := range frames {
		go func() { done <- f.Eval(ctx, nil, "changed", limit.Milliseconds()) }()
	}
	err := <-done
	if page.Moved(err) { // a frame went away or came: that is a change; its successor's world takes a moment
		if a.tab.Dead() != nil {
			return a.tab.Dead()
		}
		t := time.NewTimer(5 * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		return nil
	}
	return err
}

// finding is a search of the DOM that is under way in all frames.
type finding struct {
	frames []*page.Frame
	calls  []*page.Call
	query  domQuery
	done   bool
	list   []found
	err    error
}

// startFind starts the search in the DOM, and with ahead the gate at what it finds.
func (a *attempt) startFind(ctx context.Context, ahead bool) *finding {
	t := a.act.target
	fd := &finding{query: domQuery{Name: str(t.Name), Selector: str(t.Selector), Near: str(t.Near), Within: str(t.Within), Role: str(t.Role), Options: str(t.Role) == "option"}}
	if t.Nth != nil {
		fd.query.Nth = *t.Nth
	}
	frames := a.tab.Frames()
	if t.Ref != nil {
		frame, n, err := a.frameOfRef(ctx, frames, *t.Ref)
		if err != nil {
			fd.err, fd.done = err, true
			return fd
		}
		frames, fd.query = []*page.Frame{frame}, domQuery{Ref: n}
	}
	if ahead {
		fd.query.Ahead = gateLimit.Milliseconds()
	}
	for _, f := range frames {
		fd.frames = append(fd.frames, f)
		fd.calls = append(fd.calls, f.Start(ctx, "find", fd.query))
	}
	return fd
}

// wait returns what was found, frame by frame in document order.
func (fd *finding) wait(ctx context.Context) ([]found, error) {
	if fd.done {
		return fd.list, fd.err
	}
	fd.done = true
	for i, c := range fd.calls {
		var r struct {
			Found []found `json:"found"`
			Error string  `json:"error"`
		}
		err := c.Into(ctx, &r)
		switch {
		case page.Moved(err) && i > 0: // an iframe that went away holds nothing
			continue
		case err != nil:
			fd.err = err
			return nil, err
		case r.Error != "":
			fd.err = tool.Failf(tool.InvalidArguments, "%q is not a CSS selector.", fd.query.Selector)
			return nil, fd.err
		}
		for _, x := range r.Found {
			x.frame = fd.frames[i]
			fd.list = append(fd.list, x)
		}
	}
	return fd.list, nil
}

// frameOfRef finds the frame of a reference such as f2e15, and the element's number in it.
func (a *attempt) frameOfRef(ctx context.Context, frames []*page.Frame, ref string) (*page.Frame, int, error) {
	prefix, number, _ := strings.Cut(ref, "e")
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, 0, tool.Failf(tool.InvalidArguments, "%q is not a reference of a snapshot.", ref)
	}
	if prefix == "" {
		return frames[0], n, nil
	}
	want, err := strconv.Atoi(strings.TrimPrefix(prefix, "f"))
	if err != nil || !strings.HasPrefix(prefix, "f") {
		return nil, 0, tool.Failf(tool.InvalidArguments, "%q is not a reference of a snapshot.", ref)
	}
	for _, f := range frames[1:] {
		var is int
		if err := f.Eval(ctx, &is, "frameNo", 0); err == nil && is == want {
			return f, n, nil
		}
	}
	return nil, 0, tool.Failf(tool.TargetNotFound, "the frame of %s is gone; take a new snapshot", ref)
}

// viaDOM chooses among what the DOM search found.
func (a *attempt) viaDOM(ctx context.Context, fd *finding) (*located, error) {
	list, err := fd.wait(ctx)
	if err != nil {
		return nil, err
	}
	if list, err = a.framed(ctx, list); err != nil {
		return nil, err
	}
	loc, err := a.pick(ctx, list, false, "page")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(x found) bool { return x.frame == loc.frame && x.ID == loc.id })
	return loc, a.crossed(ctx, list[i], list)
}

// crossed is an ambiguity that names alone do not show: what was chosen is called by the wanted name but shows another text, while
// another control shows the wanted one. People go by what they see, so which one is meant is for them to say.
func (a *attempt) crossed(ctx context.Context, chosen found, all []found) error {
	q := a.act.query()
	if q.Any || q.Nth > 0 || chosen.Shown == "" || match.Name(q.Name, chosen.Shown) != match.None {
		return nil
	}
	for _, x := range all {
		if x.frame == chosen.frame && x.ID == chosen.ID || !x.Visible || !x.Interactive || match.Name(q.Name, x.Shown) < match.Folded || match.RoleFits(chosen.Role, x.Role) < 3 {
			continue
		}
		c := match.Candidate{Names: []string{x.Shown}, Role: x.Role, Interactive: true, Visible: true}
		for _, w := range x.Within {
			c.Within = append(c.Within, w.Name)
		}
		if x.Beside != nil {
			c.Rivals, c.Distance, c.BesideExact = x.Beside.Rivals, x.Beside.Distance, x.Beside.Exact
		}
		if match.Choose(q, []match.Candidate{c}, true).Verdict != match.Found {
			continue
		}
		if chosen.said != nil && match.Best(q.Name, chosen.said) == match.None {
			return errStale // the page has given out the names anew between the two looks
		}
		f := a.ambiguity(ctx, []found{chosen, x}, []int{0, 1})
		f.Message = fmt.Sprintf("One %s is called %q but shows %q, another one shows %q.", chosen.Role, str(a.act.target.Name), chosen.Shown, x.Shown)
		return f
	}
	return nil
}

// holding roles take their name from what they hold.
var holding = map[string]bool{"cell": true, "gridcell": true, "row": true, "rowheader": true, "columnheader": true, "listitem": true, "paragraph": true, "generic": true, "layouttablecell": true, "layouttablerow": true}

// viaAX chooses among what the accessibility tree holds.
func (a *attempt) viaAX(ctx context.Context, fd *finding) (*located, error) {
	q := a.act.query()
	frames := a.tab.Frames()
	queries := make([]*page.AXQuery, len(frames))
	large := map[*page.Frame][]int{} // on a large page only what the DOM search points at is asked about
	if a.elements > axLarge {
		dom, err := fd.wait(ctx)
		if err != nil {
			return nil, err
		}
		if len(dom) > axMany {
			return nil, tool.Failf(tool.TargetNotFound, "The page has %d things that may be %s, too many to ask the accessibility tree about.", len(dom), words(a.act.target))
		}
		for _, x := range dom {
			large[x.frame] = append(large[x.frame], x.ID)
		}
	}
	for i, f := range frames {
		switch ids := large[f]; {
		case a.elements <= axLarge:
			queries[i] = f.QueryAX(ctx, q.Role)
		case len(ids) > 0:
			queries[i] = f.QueryAXIn(ctx, ids)
		default:
			queries[i] = new(page.AXQuery)
		}
	}
	if dom, err := fd.wait(ctx); err == nil { // Chromium answers with its next frame; the gate can count that one
		a.lookAhead(ctx, dom)
	}
	var list []found
	for i, f := range frames {
		nodes, err := queries[i].Wait(ctx)
		if page.Moved(err) && i > 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		controls := slices.ContainsFunc(nodes, func(n page.AXNode) bool { return !holding[n.Role] && match.Name(q.Name, n.Name) > match.None })
		byNode, keep := map[cdp.BackendNodeID]page.AXNode{}, []cdp.BackendNodeID{}
		for _, n := range nodes {
			if controls && holding[n.Role] && q.Role == "" {
				continue // a cell is called by what is in it
			}
			if _, double := byNode[n.Node]; !double && match.Name(q.Name, n.Name) > match.None {
				byNode[n.Node] = n
				keep = append(keep, n.Node)
			}
		}
		if len(keep) == 0 {
			continue
		}
		if len(keep) > axMany {
			return nil, tool.Failf(tool.TargetNotFound, "The accessibility tree has %d things called %q, too many to tell apart.", len(keep), q.Name)
		}
		var here []found
		if err := f.Adopt(ctx, &here, fd.query, keep); err != nil {
			if page.Moved(err) && i > 0 {
				continue
			}
			return nil, err
		}
		if len(here) != len(keep) { // a node went away between the two: what is left cannot be told apart safely
			return nil, page.ErrNavigated
		}
		for k := range here {
			n := byNode[keep[k]]
			here[k].frame = f
			here[k].Role = n.Role
			here[k].Names, here[k].said = []string{n.Name}, here[k].Names
		}
		list = append(list, here...)
	}
	list, err := a.framed(ctx, list)
	if err != nil {
		return nil, err
	}
	loc, err := a.pick(ctx, list, true, "accessibility tree")
	if err != nil {
		return nil, err
	}
	if dom, err := fd.wait(ctx); err == nil {
		if i := slices.IndexFunc(list, func(x found) bool { return x.frame == loc.frame && x.ID == loc.id }); i >= 0 {
			if dom, err = a.framed(ctx, dom); err != nil {
				return nil, err
			}
			if err := a.crossed(ctx, list[i], dom); err != nil {
				return nil, err
			}
		} // where the DOM search, a frame earlier, saw the same element
		for _, x := range dom {
			if x.frame == loc.frame && x.ID == loc.id {
				loc.known = &look{Box: x.Box, At: x.At}
			}
		}
	}
	return loc, nil
}

// framed adds, for elements in iframes, what holds the iframe.
func (a *attempt) framed(ctx context.Context, list []found) ([]found, error) {
	if a.act.target.Within == nil {
		return list, nil
	}
	outer := map[*page.Frame][]holder{}
	for i := range list {
		f := list[i].frame
		if f.IsMain() {
			continue
		}
		hs, ok := outer[f]
		if !ok {
			var err error
			if hs, err = a.holders(ctx, f); err != nil && !page.Moved(err) {
				return nil, err
			}
			outer[f] = hs
		}
		list[i].Within = append(list[i].Within, hs...)
	}
	return list, nil
}

// holders are the names of what holds a frame: its own name and title, and what its element lies in.
func (a *attempt) holders(ctx context.Context, f *page.Frame) ([]holder, error) {
	var hs []holder
	for p := f.Parent(); p != nil; f, p = p, p.Parent() {
		id, err := f.Owner(ctx)
		if err != nil {
			return hs, err
		}
		var o *frameOwner
		if err := p.Eval(ctx, &o, "owner", id, 0, 0); err != nil || o == nil {
			return hs, err
		}
		if o.Name != "" {
			hs = append(hs, holder{Name: o.Name, Kind: "frame"})
		}
		hs = append(hs, o.Within...)
		var title struct {
			Title string `json:"title"`
		}
		if err := f.Eval(ctx, &title, "observe", map[string]any{}); err == nil && title.Title != "" {
			hs = append(hs, holder{Name: title.Title, Kind: "frame"})
		}
	}
	return hs, nil
}

// decide applies the matching rules.
func (a *attempt) decide(list []found, strict bool) match.Choice {
	cs := make([]match.Candidate, len(list))
	for i, x := range list {
		c := match.Candidate{Names: x.Names, Role: x.Role, Interactive: x.Interactive, Clickable: x.Clickable, Visible: x.Visible}
		for _, w := range x.Within {
			c.Within = append(c.Within, w.Name)
		}
		if x.Beside != nil {
			c.Rivals, c.Distance, c.BesideExact = x.Beside.Rivals, x.Beside.Distance, x.Beside.Exact
		}
		cs[i] = c
	}
	return match.Choose(a.act.query(), cs, strict)
}

// pick is the element that the matching rules choose, or why there is none.
func (a *attempt) pick(ctx context.Context, list []found, strict bool, where string) (*located, error) {
	ch := a.decide(list, strict)
	switch ch.Verdict {
	case match.Found:
		x := list[ch.Index]
		w := x.Words
		if len(x.Within) > 0 && a.act.target.Within != nil {
			w += fmt.Sprintf(" in %q", str(a.act.target.Within))
		}
		return &located{frame: x.frame, id: x.ID, words: w, box: x.Box, canvas: x.Tag == "canvas"}, nil
	case match.Ambiguous:
		return nil, a.ambiguity(ctx, list, ch.Equals)
	}
	return nil, missing(where, a.act, ch.Lacking)
}

// missing says that the target is not there, and what was lacking.
func missing(where string, act action, lacking string) *tool.Failed {
	t := act.target
	what := words(t)
	switch lacking {
	case "role":
		what = fmt.Sprintf("%q, but not as a %s", str(t.Name), str(t.Role))
		if t.Role == nil {
			return tool.Failf(tool.TargetNotFound, "The %s has %q, but nothing of that name that one can %s.", where, str(t.Name), act.kind)
		}
		return tool.Failf(tool.TargetNotFound, "The %s has %s.", where, what)
	case "within":
		return tool.Failf(tool.TargetNotFound, "The %s has %q, but not within %q.", where, str(t.Name), str(t.Within))
	case "near":
		return tool.Failf(tool.TargetNotFound, "The %s has %q, but not beside %q.", where, str(t.Name), str(t.Near))
	case "nth":
		return tool.Failf(tool.TargetNotFound, "The %s has %q, but not %d of them.", where, str(t.Name), *t.Nth)
	}
	return tool.Failf(tool.TargetNotFound, "The %s has no %s.", where, what)
}

// maxCandidates bounds the candidates that are listed.
const maxCandidates = 10

// ambiguity lists the candidates in words that tell them apart.
func (a *attempt) ambiguity(ctx context.Context, list []found, equals []int) *tool.Failed {
	f := tool.Failf(tool.AmbiguousTarget, "%d things fit %s equally well.", len(equals), words(a.act.target))
	var few []found
	for _, i := range equals[:min(len(equals), maxCandidates)] {
		few = append(few, a.detailed(ctx, list[i]))
	}
	shared, paths := map[string]int{}, map[string]int{}
	for _, x := range few {
		for _, w := range x.Within {
			shared[w.Name]++
		}
		paths[x.Path]++
	}
	for _, x := range few {
		c := tool.Candidate{Name: str(a.act.target.Name), Role: x.Role, Near: x.Near}
		if len(x.Names) > 0 {
			c.Name = x.Names[0]
		}
		if paths[x.Path] == 1 {
			c.Selector = x.Path
		}
		for _, w := range x.Within {
			if shared[w.Name] < len(few) {
				c.Within = w.Name
				break
			}
		}
		f.Candidates = append(f.Candidates, c)
	}
	return f
}

// detailed adds what tells an element from others: what holds it, a text beside it, a selector. A candidate that went away meanwhile keeps
// what is known of it.
func (a *attempt) detailed(ctx context.Context, x found) found {
	var ds []struct {
		Within []holder `json:"within"`
		Near   string   `json:"near"`
		Path   string   `json:"path"`
	}
	if err := x.frame.Eval(ctx, &ds, "details", []int{x.ID}); err != nil || len(ds) == 0 {
		return x
	}
	x.Within, x.Near, x.Path = ds[0].Within, ds[0].Near, ds[0].Path
	if !x.frame.IsMain() {
		if hs, err := a.holders(ctx, x.frame); err == nil {
			x.Within = append(x.Within, hs...)
		}
	}
	return x
}
