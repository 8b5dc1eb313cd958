package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// ID identifies a tool: "toolset.tool".
type ID string

// Toolset is the part before the dot.
func (id ID) Toolset() string { s, _, _ := strings.Cut(string(id), "."); return s }

// Name is the part after the dot.
func (id ID) Name() string { _, n, _ := strings.Cut(string(id), "."); return n }

// Condition is a named CEL expression with a sentence for people.
type Condition struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
	// Message says what holds when the condition holds: "the field shows the text".
	Message string `json:"message,omitempty"`
}

// EffectRule gives a call another effect class when a CEL condition over args holds: a field that is only filled is idempotent, one
// that is submitted is not.
type EffectRule struct {
	When  string      `json:"when"`
	Class EffectClass `json:"class"`
}

// Spec is the design-time contract of one tool, as generated from its design.
type Spec struct {
	ID          ID
	Title       string
	Description string
	// Effect is the class of the tool; EffectRules may make single calls graver.
	Effect      EffectClass
	EffectRules []EffectRule
	// Sources are the ways to ground the call, in the order of trying.
	Sources        []Source
	Preconditions  []Condition
	Postconditions []Condition
	// Confirm is the question of the approval, "" when none is asked for by the design. Irreversible tools always need one.
	Confirm string
	// Question is the clarifying question when fields are missing.
	Question string
	// Agent does the tool's work in a run of its own; nil when an executor does.
	Agent *Agent
	// Rollback says in one sentence what a rollback can undo, and when it refuses; "" when nothing can be undone.
	Rollback string
	// TimeLimit bounds one attempt.
	TimeLimit time.Duration
	// PayloadSchema and ResultSchema are closed JSON Schema 2020-12 documents.
	PayloadSchema, ResultSchema json.RawMessage
	// Example is a valid payload.
	Example json.RawMessage
	// Secrets are the JSON Pointers of payload fields that are never shown; a "*" segment stands for any index or key.
	Secrets []string
	// Decode decodes and validates a payload strictly, and fills in defaults.
	Decode func([]byte) (Payload, Issues)
	// EncodeResult renders a result; a result that breaks its own schema is an Issues error, never passed on.
	EncodeResult func(any) ([]byte, error)
	// DecodeResult decodes and validates a result strictly.
	DecodeResult func([]byte) (any, Issues)
}

// Registry is a set of tools. It stays as it is but for [Registry.Replace], and may be used by several goroutines.
type Registry struct {
	now atomic.Pointer[catalogue]
}

type catalogue struct {
	byID map[ID]*Spec
	ids  []ID
}

// NewRegistry makes a registry of all specs; two of one ID are an error.
func NewRegistry(sets ...[]*Spec) (*Registry, error) {
	c := &catalogue{byID: map[ID]*Spec{}}
	for _, s := range slices.Concat(sets...) {
		if c.byID[s.ID] != nil {
			return nil, fmt.Errorf("tool %s is declared twice", s.ID)
		}
		c.byID[s.ID] = s
		c.ids = append(c.ids, s.ID)
	}
	slices.Sort(c.ids)
	r := &Registry{}
	r.now.Store(c)
	return r, nil
}

// Replace gives a toolset other tools, such as those that another server lists now. Calls that were accepted keep what they were accepted
// with. Tools of another toolset, and two of one ID, are an error, and change nothing.
func (r *Registry) Replace(toolset string, specs []*Spec) error {
	for {
		was := r.now.Load()
		var kept []*Spec
		for _, id := range was.ids {
			if id.Toolset() != toolset {
				kept = append(kept, was.byID[id])
			}
		}
		for _, s := range specs {
			if s.ID.Toolset() != toolset {
				return fmt.Errorf("%s does not belong to the toolset %s", s.ID, toolset)
			}
		}
		next, err := NewRegistry(kept, specs)
		if err != nil {
			return err
		}
		if r.now.CompareAndSwap(was, next.now.Load()) {
			return nil
		}
	}
}

// Lookup returns the tool's spec, nil when there is none.
func (r *Registry) Lookup(id ID) *Spec { return r.now.Load().byID[id] }

// IDs lists all tools, sorted.
func (r *Registry) IDs() []ID { return slices.Clone(r.now.Load().ids) }

// Nearest lists up to three tools whose names are near to id, nearest first. Of a toolset that is there, the tools whose own names are
// near: a long common beginning makes no two names alike.
func (r *Registry) Nearest(id ID) []ID {
	prefix := id.Toolset() + "."
	var own, all []string
	for _, x := range r.now.Load().ids {
		all = append(all, string(x))
		if name, ok := strings.CutPrefix(string(x), prefix); ok {
			own = append(own, name)
		}
	}
	var near []ID
	if len(own) == 0 {
		for _, n := range nearest(string(id), all, 3) {
			near = append(near, ID(n))
		}
		return near
	}
	for _, n := range nearest(strings.TrimPrefix(string(id), prefix), own, 3) {
		near = append(near, ID(prefix+n))
	}
	return near
}
