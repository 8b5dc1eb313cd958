package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Expiry is how long an entry is used after it was last confirmed. The store deletes what was not put for as long.
const Expiry = 180 * 24 * time.Hour

// refresh is the age after which an entry that is confirmed unchanged is written again, so that it does not expire. More often would cost
// a write with every action.
const refresh = 24 * time.Hour

// maxEntry bounds an entry, in bytes of JSON.
const maxEntry = 16 << 10

// Entry is what is remembered of one target on the pages of one pattern.
type Entry struct {
	Page
	Target Target `json:"target"`
	// Element is what identified the element that was verified last.
	Element Fingerprint `json:"element"`
	// Relocated: the description does not lead to it any more; it was found by what was remembered.
	Relocated bool `json:"relocated,omitempty"`
	// LearntAt is when it was first verified, ConfirmedAt when it was last written; Times counts the verified changes of what identifies it.
	LearntAt    time.Time `json:"learnt_at"`
	ConfirmedAt time.Time `json:"confirmed_at"`
	Times       int       `json:"times"`
}

// Backend keeps entries. [toolsvc/store.Store] does. The data is an Entry as JSON; scope is the origin, key the rest.
type Backend interface {
	// PutMemory keeps an entry; one of the same scope and key is replaced. It bounds how many there are: those that were not put for the
	// longest time go.
	PutMemory(ctx context.Context, scope, key string, data []byte) error
	// Memory returns an entry; found is false when there is none.
	Memory(ctx context.Context, scope, key string) (data []byte, found bool, err error)
	// Memories lists the entries of a scope, "" for all, latest put first.
	Memories(ctx context.Context, scope string) ([][]byte, error)
	// EraseMemory removes an entry; with key "" all of the scope; with scope "" too, all. It returns how many there were.
	EraseMemory(ctx context.Context, scope, key string) (int64, error)
}

// Memory recalls and learns. It is safe for concurrent use, also by several processes with one backend.
type Memory struct {
	backend Backend
	now     func() time.Time
}

// New makes a memory on a backend. now is the clock; time.Now when nil.
func New(b Backend, now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	return &Memory{backend: b, now: now}
}

// key names an entry within its origin.
func key(p Page, t Target) string { return p.Pattern + " " + t.key() }

// Recall returns what is remembered of a target on pages of that pattern; nil when there is nothing, or it has expired.
func (m *Memory) Recall(ctx context.Context, p Page, t Target) (*Entry, error) {
	if t.key() == "" {
		return nil, nil
	}
	data, found, err := m.backend.Memory(ctx, p.Origin, key(p, t))
	if err != nil || !found {
		return nil, err
	}
	e := new(Entry)
	if err := json.Unmarshal(data, e); err != nil || e.Page != p || e.Target != t {
		return nil, nil // written by another version: it is learnt anew
	}
	if m.now().Sub(e.ConfirmedAt) > Expiry {
		return nil, nil
	}
	return e, nil
}

// Confirm remembers an element that a verified success was had with. before is what [Memory.Recall] returned, nil for nothing.
func (m *Memory) Confirm(ctx context.Context, p Page, t Target, element Fingerprint, relocated bool, before *Entry) error {
	if t.key() == "" {
		return nil
	}
	now := m.now().UTC()
	e := Entry{Page: p, Target: t, Element: element.Clean(), Relocated: relocated, LearntAt: now, ConfirmedAt: now, Times: 1}
	if before != nil {
		if sameElement(before.Element, e.Element) && before.Relocated == relocated && now.Sub(before.ConfirmedAt) < refresh {
			return nil
		}
		e.LearntAt, e.Times = before.LearntAt, before.Times+1
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("remember %s: %w", t, err)
	}
	if len(data) > maxEntry {
		return fmt.Errorf("remember %s: it takes %d bytes, at most %d are kept", t, len(data), maxEntry)
	}
	if err := m.backend.PutMemory(ctx, p.Origin, key(p, t), data); err != nil {
		return fmt.Errorf("remember %s: %w", t, err)
	}
	return nil
}

// Refute forgets an entry, because what was done with its element came to nothing.
func (m *Memory) Refute(ctx context.Context, p Page, t Target) error {
	if t.key() == "" {
		return nil
	}
	if _, err := m.backend.EraseMemory(ctx, p.Origin, key(p, t)); err != nil {
		return fmt.Errorf("forget %s: %w", t, err)
	}
	return nil
}

// Filter selects entries; empty fields select all.
type Filter struct {
	// Origin as in [Page].
	Origin string
	// Pattern of the page.
	Pattern string
	// Contains selects by a part of the target's description or of the element's name, in any letter case.
	Contains string
}

func (f Filter) fits(e Entry) bool {
	if f.Pattern != "" && f.Pattern != e.Pattern {
		return false
	}
	want := strings.ToLower(f.Contains)
	return want == "" || strings.Contains(strings.ToLower(e.Target.String()), want) || strings.Contains(strings.ToLower(e.Element.Name), want)
}

// List returns the entries that the filter selects, latest first. Expired ones are left out.
func (m *Memory) List(ctx context.Context, f Filter) ([]Entry, error) {
	data, err := m.backend.Memories(ctx, strings.ToLower(f.Origin))
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, d := range data {
		var e Entry
		if err := json.Unmarshal(d, &e); err != nil || m.now().Sub(e.ConfirmedAt) > Expiry || !f.fits(e) {
			continue // one of another version is never recalled, and goes when it is erased or replaced
		}
		out = append(out, e)
	}
	return out, nil
}

// Erase removes the entries that the filter selects, and returns how many.
func (m *Memory) Erase(ctx context.Context, f Filter) (int64, error) {
	if f.Pattern == "" && f.Contains == "" {
		return m.backend.EraseMemory(ctx, strings.ToLower(f.Origin), "")
	}
	list, err := m.List(ctx, f)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, e := range list {
		n, err := m.backend.EraseMemory(ctx, e.Origin, key(e.Page, e.Target))
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// sameElement reports whether two fingerprints are equal but for what changes without a redesign: the place in a list and the size.
func sameElement(a, b Fingerprint) bool {
	a.Index, a.Of, a.W, a.H, b.Index, b.Of, b.W, b.H = 0, 0, 0, 0, 0, 0, 0, 0
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}
