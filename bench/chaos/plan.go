//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Round is what is done and broken in one round. It follows from seed and number alone.
type Round struct {
	Number   int
	External bool // Temporal is a process of its own
	Machines bool // several workers share everything but their browsers
	Runs     []Run
	Faults   []Fault
}

// Run is one run of a round.
type Run struct {
	ID   string // of the run where the client may choose it; of its folder and page in any case
	Kind RunKind
	Ops  []Op
}

// RunKind is how a run reaches toolsvc.
type RunKind string

// The kinds.
const (
	Calls    RunKind = "calls"    // one call after the other, each with an idempotency key, each waited for
	Appended RunKind = "appended" // the first call as above, the others in rapid succession, by one request with one key
	Script   RunKind = "script"   // all steps at the start
	Goal     RunKind = "goal"     // a model plans
)

// OpKind is what a call does to the world.
type OpKind string

// The kinds. Those that end in Fail must not succeed, whatever happens.
const (
	Open       OpKind = "open"        // opens a page; no effect that counts
	Order      OpKind = "order"       // clicks a button that posts an order
	OrderFail  OpKind = "order-fail"  // the same, and the page never says that it was placed
	Append     OpKind = "append"      // a command that appends a line
	AppendFail OpKind = "append-fail" // a command that appends a line, removes a file, makes another, and fails
	Post       OpKind = "post"        // a command that posts an order
	PostFail   OpKind = "post-fail"   // a command that posts an order and fails
	Write      OpKind = "write"       // writes a document: may be repeated
	Insert     OpKind = "insert"      // inserts a line into a document
	InsertFail OpKind = "insert-fail" // inserts a line, with an expectation that cannot hold
)

// Fails reports whether a success would be a lie.
func (k OpKind) Fails() bool {
	return k == OrderFail || k == AppendFail || k == PostFail || k == InsertFail
}

// InFolder reports whether the effect is a line in the run's folder, which can be taken back.
func (k OpKind) InFolder() bool {
	return k == Append || k == AppendFail || k == Write || k == Insert || k == InsertFail
}

// Op is one call.
type Op struct {
	ID   string
	Kind OpKind
	// Page is how the page behaves (see site.go), of Open.
	Page string
	// Before and After are how long a command takes before and after its effect, in tenths of a second.
	Before, After int
}

// FaultKind is what is broken.
type FaultKind string

// The faults.
const (
	Kill         FaultKind = "kill -9"
	Pause        FaultKind = "pause"
	KillBrowser  FaultKind = "browser killed"
	LoseAnswers  FaultKind = "answers lost"
	LockStore    FaultKind = "store locked"
	StopStore    FaultKind = "store killed"
	FillDisk     FaultKind = "disk full"
	CutTemporal  FaultKind = "temporal cut off"
	KillTemporal FaultKind = "temporal killed"
	SlowModel    FaultKind = "model slow"
	BadModel     FaultKind = "model fails"
)

// Fault is one fault: at which time of the round, and for how long.
type Fault struct {
	Kind    FaultKind
	At, For time.Duration
	Machine int // the one that is broken, where there are several
}

// block is how many rounds one server lives for, apart from its deaths.
const block = 20

// draw makes the plan of a round. full tells that there is a disk that can be filled.
func draw(seed uint64, number int, full bool) Round {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	round := Round{Number: number, External: number/block%2 == 1}
	goal := false
	for i := range 3 + r.IntN(2) {
		run := drawRun(r, fmt.Sprintf("r_%d_%d_%d", seed, number, i))
		goal = goal || run.Kind == Goal
		round.Runs = append(round.Runs, run)
	}
	kinds := []FaultKind{Kill, Kill, Pause, KillBrowser, LoseAnswers, LockStore}
	if full {
		kinds = append(kinds, FillDisk)
	}
	if round.External {
		kinds = append(kinds, CutTemporal, CutTemporal, KillTemporal)
	}
	if goal {
		kinds = append(kinds, SlowModel, BadModel)
	}
	ms := func(from, to int) time.Duration { return time.Duration(from+r.IntN(to-from)) * time.Millisecond }
	for range r.IntN(8)/2 + r.IntN(2) { // 0 to 4, mostly 1 to 3
		f := Fault{Kind: kinds[r.IntN(len(kinds))], At: ms(0, 2500), For: ms(200, 1500)}
		switch f.Kind {
		case Kill, KillTemporal: // For is how long it stays dead
			f.For = ms(0, 600)
		case Pause:
			if r.IntN(5) == 0 {
				f.For = ms(4500, 6000) // longer than a worker may be silent
			}
		case LoseAnswers, SlowModel, BadModel:
			f.At, f.For = 0, ms(1500, 4000)
		}
		round.Faults = append(round.Faults, f)
	}
	return round
}

func drawRun(r *rand.Rand, id string) Run {
	run := Run{ID: id}
	add := func(kinds ...OpKind) {
		for _, k := range kinds {
			op := Op{ID: fmt.Sprintf("%s_%d", id[2:], len(run.Ops)), Kind: k, Before: r.IntN(6), After: r.IntN(6)}
			run.Ops = append(run.Ops, op)
		}
	}
	order := func() {
		page := pages[r.IntN(len(pages))]
		add(Open)
		run.Ops[len(run.Ops)-1].Page = page.name
		if page.placed {
			add(Order)
		} else {
			add(OrderFail)
		}
	}
	pick := func(kinds ...OpKind) OpKind { return kinds[r.IntN(len(kinds))] }
	switch r.IntN(8) {
	case 0, 1:
		run.Kind = Calls
		order()
	case 2:
		run.Kind = Calls
		add(Append)
		order()
		add(pick(Insert, Append))
	case 3, 4:
		run.Kind = Appended
		add(Append, pick(Append, AppendFail, Post, PostFail), pick(Append, Insert, AppendFail))
	case 5:
		run.Kind = Calls
		add(Write, Insert, pick(InsertFail, AppendFail, Insert))
	case 6:
		run.Kind = Script
		add(Append, pick(Insert, Post))
		if r.IntN(2) == 0 {
			order()
		} else {
			add(Append)
		}
	default:
		run.Kind = Goal
		add(Append)
	}
	return run
}
