package gym

import (
	"fmt"
	"sync"
	"time"
)

// Truth is what really happened on a page: window.__truth has this form, and [Gym.Truth] gives it for the server's side.
type Truth struct {
	// Goal counts how often the wanted effect happened.
	Goal int `json:"goal"`
	// Wrong counts unwanted effects: a second order, another button's effect, a decision taken in the user's place.
	Wrong int `json:"wrong"`
	// Effects counts all effects: goal, wrong, and neutral ones such as refusing cookies.
	Effects int     `json:"effects"`
	Log     []Event `json:"log"`
}

// Event is one entry of the log.
type Event struct {
	ID string `json:"id"`
	// At is in milliseconds: since the page was opened, or since the session began on the server.
	At int64 `json:"at"`
	// Kind is goal, wrong, effect (a neutral one) or note (no effect: an ignored click, a refused order).
	Kind string `json:"kind"`
	What string `json:"what"`
}

func (t *Truth) add(e Event) {
	t.Log = append(t.Log, e)
	switch e.Kind {
	case "goal":
		t.Goal++
		t.Effects++
	case "wrong":
		t.Wrong++
		t.Effects++
	case "effect":
		t.Effects++
	}
}

// maxSessions bounds the books; the oldest session is forgotten first.
const maxSessions = 10000

// maxEvents bounds the log of one session; later events are counted, not logged.
const maxEvents = 1000

// books counts effects on the server, per session.
type books struct {
	mu       sync.Mutex
	sessions map[string]*account
	order    []string
}

type account struct {
	truth Truth
	begun time.Time
	done  map[string]int // how often each kind of deed was done
	next  int            // number of the next order
}

// open finds or makes the account of a session. The caller holds the lock.
func (b *books) open(session string) *account {
	if a := b.sessions[session]; a != nil {
		return a
	}
	if b.sessions == nil {
		b.sessions = map[string]*account{}
	}
	if len(b.order) >= maxSessions {
		delete(b.sessions, b.order[0])
		b.order = b.order[1:]
	}
	a := &account{begun: time.Now(), done: map[string]int{}, next: 2043}
	b.sessions[session] = a
	b.order = append(b.order, session)
	return a
}

// record enters one event, and returns how many of its kind and words there are now.
func (b *books) record(session, kind, what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.enter(b.open(session), kind, what)
}

// deed enters an effect that is wanted once: the first is the goal, each further one is wrong. It returns the number of the deed's
// document (an order's number), which is never given twice in a session.
func (b *books) deed(session, what string) (number string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.open(session)
	if a.done[what]++; a.done[what] == 1 {
		b.enter(a, "goal", what)
	} else {
		b.enter(a, "wrong", what+" again")
	}
	number = fmt.Sprintf("H-%d", a.next)
	a.next++
	return number
}

func (b *books) enter(a *account, kind, what string) int {
	e := Event{ID: fmt.Sprintf("server-%d", len(a.truth.Log)+1), At: time.Since(a.begun).Milliseconds(), Kind: kind, What: what}
	log := a.truth.Log
	a.truth.add(e)
	if len(log) >= maxEvents {
		a.truth.Log = log
	}
	a.done[kind+" "+what]++
	return a.done[kind+" "+what]
}

// truth returns a copy of what the session's account holds.
func (b *books) truth(session string) Truth {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := Truth{Log: []Event{}}
	if a := b.sessions[session]; a != nil {
		t = a.truth
		t.Log = append([]Event{}, a.truth.Log...)
	}
	return t
}
