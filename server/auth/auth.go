// Package auth says who makes a request, and what they may do.
//
// A caller presents a bearer token; [Tokens] finds whose it is, in constant time. The [Principal] travels in the context, from where every
// surface reads it: as the author of answers, and as the scope of idempotency keys. [Guard] keeps what a principal may not do from
// the planner, in one place for all surfaces.
//
// Who may do what:
//
//   - call: read the catalogue, make calls, start runs; and read, answer, pause, resume and cancel a run whose identifier it knows.
//     Identifiers that toolsvc makes cannot be guessed, so that they keep runs apart; a name that a client chose itself can.
//   - approve: decide about approvals, say what became of an action, allow a run to do without approvals, and list all runs.
//   - admin: everything.
package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Scope is something that a principal may do.
type Scope string

// The scopes.
const (
	Call    Scope = "call"
	Approve Scope = "approve"
	Admin   Scope = "admin"
)

// Scopes lists all scopes.
var Scopes = []Scope{Call, Approve, Admin}

// Principal is who makes a request. The zero Principal may do nothing.
type Principal struct {
	// Name is what the tokens file calls it; it is not empty.
	Name   string
	Scopes []Scope
}

// Local is everyone where no tokens are set up, which is allowed on loopback only.
var Local = Principal{Name: "local", Scopes: []Scope{Admin}}

// May reports whether the principal has the scope; admin has all.
func (p Principal) May(s Scope) bool {
	return slices.Contains(p.Scopes, s) || slices.Contains(p.Scopes, Admin)
}

// Key is the principal's own form of an idempotency key: keys of different principals never meet. "" stays "".
func (p Principal) Key(idempotencyKey string) string {
	if idempotencyKey == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(p.Name + "\x00" + idempotencyKey))
	return "k_" + hex.EncodeToString(sum[:])
}

type contextKey struct{}

// With returns a context in which p makes the request.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns who makes the request of ctx; the zero Principal, which may do nothing, when that was not found out.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
