//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"toolsvc/tool"
)

// Bounds of a round.
const (
	// answersWithin bounds all calls of a run, from the beginning of the round; it holds the longest fault and the longest recovery.
	answersWithin = 100 * time.Second
	// closesWithin bounds the end of a run after its last call, and of its events after that.
	closesWithin = 30 * time.Second
)

// tally is what a round comes to.
type tally struct {
	injected, landed map[FaultKind]int
	outcomes         map[string]int    // "order: verified", "append: outcome_unknown"
	messages         map[string]string // the latest words of each
	statuses         map[int]int
	calls, effects   int
	replayed         int
	took             time.Duration
	violations       []Violation
}

func newTally() *tally {
	return &tally{injected: map[FaultKind]int{}, landed: map[FaultKind]int{}, outcomes: map[string]int{}, messages: map[string]string{}, statuses: map[int]int{}}
}

func (t *tally) add(o *tally) {
	for k, n := range o.injected {
		t.injected[k] += n
	}
	for k, n := range o.landed {
		t.landed[k] += n
	}
	for k, n := range o.outcomes {
		t.outcomes[k] += n
	}
	maps.Copy(t.messages, o.messages)
	for k, n := range o.statuses {
		t.statuses[k] += n
	}
	t.calls, t.effects, t.replayed, t.took = t.calls+o.calls, t.effects+o.effects, t.replayed+o.replayed, t.took+o.took
	t.violations = append(t.violations, o.violations...)
}

// lived is what was seen of one run.
type lived struct {
	run      Run
	seen     []seen
	state    *runState
	events   []event // all, asked for at the end
	watched  []event // by a client that was there from the beginning
	runID    string
	problems []string // requests that did not get what they should
}

// play plays a round and checks the invariants.
func (w *world) play(ctx context.Context, seed uint64, round Round) *tally {
	t, began := newTally(), time.Now()
	var mu sync.Mutex
	violate := func(v Violation) {
		mu.Lock()
		defer mu.Unlock()
		v.Seed, v.Round = seed, round.Number
		for _, f := range round.Faults {
			v.Faults = append(v.Faults, fmt.Sprintf("%s at %s for %s", f.Kind, f.At, f.For))
		}
		t.violations = append(t.violations, v)
	}
	limited, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	lives := make([]*lived, len(round.Runs))
	var faults, runs sync.WaitGroup
	for _, f := range round.Faults {
		faults.Go(func() {
			landed, err := w.inject(ctx, f)
			mu.Lock()
			t.injected[f.Kind]++
			if landed {
				t.landed[f.Kind]++
			}
			mu.Unlock()
			if err != nil {
				violate(Violation{Rule: ruleLeft, What: fmt.Sprintf("after %q: %v", f.Kind, err)})
			}
		})
	}
	for i, run := range round.Runs {
		runs.Go(func() {
			l := &lived{run: run, runID: run.ID}
			lives[i] = l
			w.live(limited, l)
		})
	}
	runs.Wait()
	faults.Wait()
	for _, d := range w.deaths() {
		violate(Violation{Rule: ruleLeft, What: d})
	}
	for _, s := range w.servers {
		if err := s.revive(ctx); err != nil {
			violate(Violation{Rule: ruleLeft, What: err.Error()})
			return t
		}
	}
	for _, l := range lives {
		runs.Go(func() {
			closing, cancel := context.WithTimeout(ctx, closesWithin)
			defer cancel()
			for _, v := range w.audit(closing, l, t, &mu) {
				v.Run = l.runID
				violate(v)
			}
		})
	}
	runs.Wait()
	w.client.mu.Lock()
	t.statuses, w.client.statuses = w.client.statuses, map[int]int{}
	w.client.mu.Unlock()
	t.took = time.Since(began)
	return t
}

// live makes the calls of a run and ends it.
func (w *world) live(ctx context.Context, l *lived) {
	watching, stop := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watch := func() { watcher.Go(func() { l.watched = w.client.watch(watching, l.runID) }) }
	defer func() {
		ended := make(chan struct{})
		go func() { watcher.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(closesWithin): // agree sees what is missing
		}
		stop()
		<-ended
	}()
	problem := func(err error) {
		if err != nil {
			l.problems = append(l.problems, err.Error())
		}
	}
	switch l.run.Kind {
	case Calls, Appended:
		watch()
		for i, op := range l.run.Ops {
			if l.run.Kind == Appended && i > 0 {
				break
			}
			before, err := w.snapshot(l.run)
			problem(err)
			name, args := w.payload(l.run, op)
			r, err := w.client.call(ctx, l.run.ID, op.ID, name, args)
			problem(err)
			s := seen{op: op, result: r}
			if after, err := w.snapshot(l.run); err == nil && before != nil {
				s.changed = differs(before, after)
			}
			l.seen = append(l.seen, s)
		}
		if l.run.Kind == Appended {
			problem(w.appendRest(ctx, l))
		}
		// From here on nobody calls: the run would wait for half an hour.
		if status, answer, err := w.client.insist(ctx, http.MethodPost, "/v1/runs/"+l.run.ID+"/cancel", "", nil); err != nil || status >= 300 && status != http.StatusConflict && status != http.StatusNotFound {
			problem(fmt.Errorf("cancel: status %d %s %w", status, clip(string(answer), 300), err))
		}
		problem(w.awaitEnd(ctx, l))
	case Script, Goal:
		id, err := w.startRun(ctx, l.run)
		if err != nil {
			problem(err)
		}
		if id == "" { // no answer came in time: only its effects can be looked at
			l.runID = ""
			for _, op := range l.run.Ops {
				l.seen = append(l.seen, seen{op: op, skipped: false})
			}
			return
		}
		l.runID = id
		watch()
		problem(w.awaitEnd(ctx, l))
		for i, op := range l.run.Ops {
			s := seen{op: op, skipped: true}
			if l.state != nil && i < len(l.state.Steps) {
				s.result, s.skipped = l.state.Steps[i].Result, l.state.Steps[i].Status == "skipped"
			} else if l.run.Kind == Script {
				s.skipped = false
			}
			l.seen = append(l.seen, s)
		}
	}
}

// appendRest puts the other calls of the run into its queue at once, and waits for their results.
func (w *world) appendRest(ctx context.Context, l *lived) error {
	var calls []map[string]any
	rest := l.run.Ops[1:]
	for _, op := range rest {
		name, args := w.payload(l.run, op)
		calls = append(calls, map[string]any{"tool": name, "arguments": args})
	}
	for _, op := range rest {
		l.seen = append(l.seen, seen{op: op})
	}
	status, answer, err := w.client.insist(ctx, http.MethodPost, "/v1/runs/"+l.run.ID+"/calls", l.run.ID+"-rest", map[string]any{"calls": calls})
	if err != nil {
		return err
	}
	var accepted struct {
		Calls []struct {
			CallID string `json:"call_id"`
		} `json:"calls"`
	}
	if err := json.Unmarshal(answer, &accepted); err != nil || len(accepted.Calls) != len(rest) {
		return fmt.Errorf("append: status %d %s", status, clip(string(answer), 400))
	}
	for i, c := range accepted.Calls {
		if l.seen[1+i].result, err = w.client.result(ctx, l.run.ID, c.CallID); err != nil {
			return err
		}
	}
	return nil
}

// startRun starts a run with steps or a goal. When the answer gets lost, it starts it again with the same idempotency key.
func (w *world) startRun(ctx context.Context, run Run) (string, error) {
	body := map[string]any{"title": run.ID}
	if run.Kind == Goal {
		_, args := w.payload(run, run.Ops[0])
		body["goal"] = goalText(args["command"].(string))
	} else {
		var steps []map[string]any
		for _, op := range run.Ops {
			name, args := w.payload(run, op)
			steps = append(steps, map[string]any{"tool": name, "arguments": args})
		}
		body["steps"] = steps
	}
	status, answer, err := w.client.insist(ctx, http.MethodPost, "/v1/runs", run.ID+"-start", body)
	if err != nil {
		return "", err
	}
	var started struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(answer, &started); status != http.StatusCreated || err != nil || started.RunID == "" {
		return "", fmt.Errorf("start: status %d %s", status, clip(string(answer), 400))
	}
	return started.RunID, nil
}

// called lists the runs of a title.
func (w *world) called(ctx context.Context, title string) (ids []string, err error) {
	_, answer, err := w.client.insist(ctx, http.MethodGet, "/v1/runs?limit=1000", "", nil)
	if err != nil {
		return nil, err
	}
	var list struct {
		Runs []struct {
			RunID string `json:"run_id"`
			Title string `json:"title"`
		} `json:"runs"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, fmt.Errorf("the list of runs is %s: %w", clip(string(answer), 400), err)
	}
	for _, r := range list.Runs {
		if r.Title == title {
			ids = append(ids, r.RunID)
		}
	}
	return ids, nil
}

// awaitEnd waits until the run is over or waits for a person.
func (w *world) awaitEnd(ctx context.Context, l *lived) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		st, err := w.client.state(ctx, l.runID)
		if err != nil {
			return err
		}
		l.state = st
		if st == nil || st.Outcome != "running" || len(st.Questions) > 0 {
			return nil
		}
		if !pause(ctx, wait) {
			return fmt.Errorf("%w: the run is still %s", errNoResult, st.Outcome)
		}
	}
}

// payload is the call that an operation is.
func (w *world) payload(run Run, op Op) (name string, args map[string]any) {
	at := folder(run)
	command := func(middle string) (string, map[string]any) {
		return "terminal.run", map[string]any{"command": fmt.Sprintf("sleep 0.%d; %s; s=$?; sleep 0.%d; exit $s", op.Before, middle, op.After)}
	}
	line := fmt.Sprintf("echo %s >> %s/log.txt", op.ID, at)
	host, port, _ := strings.Cut(w.site.addr, ":")
	post := fmt.Sprintf(`exec 3<>/dev/tcp/%s/%s && printf 'POST /orders?id=%s HTTP/1.0\r\nHost: shop\r\nContent-Length: 0\r\n\r\n' >&3 && head -n 1 <&3`, host, port, op.ID)
	switch op.Kind {
	case Open:
		return "browser.navigate", map[string]any{"url": fmt.Sprintf("http://%s/order?id=%s&mode=%s", w.site.addr, orderID(run, op), op.Page)}
	case Order, OrderFail:
		return "browser.click", map[string]any{"target": map[string]any{"name": "Place order", "role": "button"}, "expect": []string{`page.text.contains("Order placed")`}}
	case Append:
		return command(line)
	case AppendFail:
		return command(fmt.Sprintf("%s; rm %s/%s; mkdir %s/%s; echo x > %s/%s/x; false", line, at, keepFile(op), at, madeDir(op), at, madeDir(op)))
	case Post:
		return command(post)
	case PostFail:
		return command(post + "; false")
	case Write:
		return "document.write", map[string]any{"path": at + "/note.md", "content": "# Note\n\n" + op.ID + "\n"}
	case Insert:
		return "document.insert", map[string]any{"path": at + "/doc.md", "position": "end", "text": op.ID}
	case InsertFail:
		return "document.insert", map[string]any{"path": at + "/doc.md", "position": "end", "text": op.ID, "expect": []string{`result.path == "never"`}}
	}
	panic("no payload for " + op.Kind)
}

// orderID is the identifier under which the shop counts what the click after an Open does.
func orderID(run Run, open Op) string {
	i := slices.IndexFunc(run.Ops, func(o Op) bool { return o.ID == open.ID })
	return run.Ops[i+1].ID
}

// audit looks at what a run has come to, from outside.
func (w *world) audit(ctx context.Context, l *lived, t *tally, mu *sync.Mutex) (broken []Violation) {
	say := func(rule, what string) { broken = append(broken, Violation{Rule: rule, What: what}) }
	for _, p := range l.problems {
		say(ruleEnds, p)
	}
	lines, err := w.lines(l.run)
	if err != nil {
		say(ruleBack, err.Error())
	}
	counts := map[string]int{}
	for _, id := range lines {
		counts[id]++
	}
	if l.run.Kind == Script || l.run.Kind == Goal { // the others name their runs
		ids, err := w.called(ctx, l.run.ID)
		if err != nil {
			say(ruleStart, err.Error())
		}
		if what := startedOnce(l.runID, ids); what != "" {
			say(ruleStart, what)
		}
	}
	results, calls, effects, outcomes := map[string]*tool.Result{}, 0, 0, []string{}
	var verified []string
	for i, s := range l.seen {
		s.effects = counts[s.op.ID] + w.site.count(s.op.ID)
		if s.op.Kind == AppendFail && s.changed == "" && s.result != nil && rolledBack(s.result) {
			s.changed = w.traces(l.run, s.op)
		}
		if s.op.Kind.InFolder() && s.result != nil && s.result.OK() && counts[s.op.ID] == 1 && slices.Contains([]OpKind{Append, AppendFail}, s.op.Kind) {
			verified = append(verified, s.op.ID)
		}
		rules := judge(s)
		if l.runID == "" { // no answer came: nothing but its effects is known
			rules = slices.DeleteFunc(rules, func(b [2]string) bool { return b[0] != ruleOnce })
		}
		for _, b := range rules {
			v := Violation{Rule: b[0], What: b[1], Op: &l.run.Ops[i]}
			if s.result != nil {
				v.Result, _ = json.Marshal(s.result) // it came as JSON
			}
			broken = append(broken, v)
		}
		calls, effects = calls+1, effects+s.effects
		outcome := outcomeOf(s)
		if l.runID == "" {
			outcome = "no answer to the start"
		}
		outcomes = append(outcomes, string(s.op.Kind)+": "+outcome)
		if s.result != nil {
			results[s.result.CallID] = s.result
		}
	}
	if inLog := slices.DeleteFunc(lines, func(id string) bool { return !slices.Contains(verified, id) }); !slices.Equal(inLog, verified) {
		say(ruleOrder, fmt.Sprintf("the lines stand in the order %v, the calls were %v", inLog, verified))
	}
	replayed := 0
	if l.runID != "" && l.state != nil {
		ended := l.state.Outcome != "running"
		if ended {
			l.events = w.client.watch(ctx, l.runID)
		} else {
			l.events = l.watched
		}
		for _, what := range agree(l.events, l.watched, l.state, results, ended) {
			say(ruleAgree, what)
		}
		if ended {
			if err := w.replay(ctx, l.runID); err != nil {
				say(ruleReplay, err.Error())
			}
			replayed = 1
		}
	}
	mu.Lock()
	defer mu.Unlock()
	t.calls, t.effects, t.replayed = t.calls+calls, t.effects+effects, t.replayed+replayed
	for i, o := range outcomes {
		t.outcomes[o]++
		if r := l.seen[i].result; r != nil && r.Error != nil {
			t.messages[o] = clip(r.Error.Message, 160)
		}
	}
	return broken
}

// traces tells what a failing command left that was taken back.
func (w *world) traces(run Run, op Op) string {
	at := filepath.Join(w.work(), folder(run))
	var what []string
	if text, err := os.ReadFile(filepath.Join(at, keepFile(op))); err != nil || string(text) != "keep "+op.ID+"\n" {
		what = append(what, fmt.Sprintf("%s is %q (%v)", keepFile(op), text, err))
	}
	if _, err := os.Stat(filepath.Join(at, madeDir(op))); err == nil {
		what = append(what, madeDir(op)+" is there")
	}
	return strings.Join(what, ", ")
}

// outcomeOf names what a call has come to.
func outcomeOf(s seen) string {
	switch {
	case s.skipped:
		return "skipped"
	case s.result == nil:
		return "no result"
	case s.result.Status != "":
		return string(s.result.Status)
	case s.result.Error == nil:
		return "verified"
	case rolledBack(s.result):
		return string(s.result.Error.Code) + ", rolled back"
	}
	return string(s.result.Error.Code)
}
