package tool

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// RepairLevel says how far toolsvc may go in correcting a payload. Each level includes those before it.
type RepairLevel string

// The levels, cheapest first.
const (
	// RepairNone takes a payload as it stands.
	RepairNone RepairLevel = "none"
	// RepairSyntax mends broken JSON whose meaning is certain.
	RepairSyntax RepairLevel = "syntax"
	// RepairLossless also corrects values and names where nothing is lost or guessed. The default.
	RepairLossless RepairLevel = "lossless"
	// RepairModel also lets a model propose corrections, which the decoder has to accept.
	RepairModel RepairLevel = "model"
	// RepairPerson also asks for what is missing, and waits for the answer.
	RepairPerson RepairLevel = "person"
)

var repairLevels = []RepairLevel{RepairNone, RepairSyntax, RepairLossless, RepairModel, RepairPerson}

// Reaches reports whether level includes other. The zero level is [RepairLossless].
func (level RepairLevel) Reaches(other RepairLevel) bool { return level.rank() >= other.rank() }

func (level RepairLevel) rank() int {
	if level == "" {
		level = RepairLossless
	}
	for i, l := range repairLevels {
		if l == level {
			return i
		}
	}
	return -1
}

// ApproveMode says what becomes of a call that needs an approval: every irreversible one, and those whose design asks for one.
type ApproveMode string

// The modes.
const (
	// ApproveAsk asks, and waits for the answer. The default.
	ApproveAsk ApproveMode = "ask"
	// ApproveAllow makes the call without asking: whoever sets it has decided.
	ApproveAllow ApproveMode = "allow"
	// ApproveDeny refuses the call with confirmation_required.
	ApproveDeny ApproveMode = "deny"
)

// VerifyMode says when a model is asked to verify.
type VerifyMode string

// The modes.
const (
	VerifyUndecided VerifyMode = ""
	VerifyAlways    VerifyMode = "always"
	VerifyNever     VerifyMode = "never"
)

// DefaultThreshold is the least confidence of a model's verdict that counts.
const DefaultThreshold = 0.7

// Bounds of a policy's numbers, and what holds when one is 0.
const (
	DefaultMaxCalls    = 500
	MaxMaxCalls        = 100_000
	DefaultMaxFailures = 10
	DefaultQuestionTTL = 7 * 24 * time.Hour
	MaxQuestionTTL     = 90 * 24 * time.Hour
	DefaultWaitBudget  = 10 * time.Minute
	MaxBudget          = 30 * 24 * time.Hour
)

// Policy bounds a run. The zero value is the default policy.
type Policy struct {
	// Repair says how far a payload may be corrected; "" means lossless.
	Repair RepairLevel `json:"repair,omitempty" yaml:"repair,omitempty"`
	// Ask lets the run ask a person, and wait, where a target is ambiguous or an outcome unknown.
	Ask bool `json:"ask,omitempty" yaml:"ask,omitempty"`
	// Approve says what becomes of calls that need an approval; "" means ask.
	Approve ApproveMode `json:"approve,omitempty" yaml:"approve,omitempty"`
	// Verify says when a model is asked whether an action came to what was meant: "" where the conditions do not decide, "always" beside
	// them too, "never" not at all. A model never overrules a condition that failed.
	Verify VerifyMode `json:"verify,omitempty" yaml:"verify,omitempty"`
	// Threshold is the least confidence of a model's verdict that counts, between 0 and 1; 0 means [DefaultThreshold].
	Threshold float64 `json:"threshold,omitempty" yaml:"threshold,omitempty"`
	// Allow and Deny list tools, as patterns of path.Match ("browser.*"). Deny wins; an empty Allow allows all.
	Allow []string `json:"allow,omitempty" yaml:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty" yaml:"deny,omitempty"`
	// MaxCalls bounds the calls of the run; 0 means [DefaultMaxCalls].
	MaxCalls int `json:"max_calls,omitempty" yaml:"max_calls,omitempty"`
	// MaxFailures bounds how many calls may fail one after the other; 0 means [DefaultMaxFailures].
	MaxFailures int `json:"max_failures,omitempty" yaml:"max_failures,omitempty"`
	// TimeBudgetMS bounds the run's time, waiting for people excepted, in milliseconds; 0 means no bound but the calls' own.
	TimeBudgetMS int64 `json:"time_budget_ms,omitempty" yaml:"time_budget_ms,omitempty"`
	// TokenBudget bounds the model's tokens, input and output together; 0 means no bound but the planner's own.
	TokenBudget int64 `json:"token_budget,omitempty" yaml:"token_budget,omitempty"`
	// WaitBudgetMS bounds how long the run backs off in all, in milliseconds; 0 means [DefaultWaitBudget].
	WaitBudgetMS int64 `json:"wait_budget_ms,omitempty" yaml:"wait_budget_ms,omitempty"`
	// QuestionTTLMS is how long a question stays open, in milliseconds; 0 means [DefaultQuestionTTL].
	QuestionTTLMS int64 `json:"question_ttl_ms,omitempty" yaml:"question_ttl_ms,omitempty"`
}

// Calls, Failures, Waits and QuestionTTL are the bounds with the defaults filled in.
func (p Policy) Calls() int    { return orDefault(p.MaxCalls, DefaultMaxCalls) }
func (p Policy) Failures() int { return orDefault(p.MaxFailures, DefaultMaxFailures) }
func (p Policy) Waits() time.Duration {
	return orDefault(time.Duration(p.WaitBudgetMS)*time.Millisecond, DefaultWaitBudget)
}
func (p Policy) QuestionTTL() time.Duration {
	return orDefault(time.Duration(p.QuestionTTLMS)*time.Millisecond, DefaultQuestionTTL)
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Or is the policy with what it leaves open taken from q: q's fields replace those that are zero, and its lists are added.
func (p Policy) Or(q Policy) Policy {
	p.Repair = cmp.Or(p.Repair, q.Repair)
	p.Approve = cmp.Or(p.Approve, q.Approve)
	p.Ask = p.Ask || q.Ask
	p.Verify, p.Threshold = cmp.Or(p.Verify, q.Verify), cmp.Or(p.Threshold, q.Threshold)
	p.Allow, p.Deny = append(slices.Clone(p.Allow), q.Allow...), append(slices.Clone(p.Deny), q.Deny...)
	p.MaxCalls, p.MaxFailures = cmp.Or(p.MaxCalls, q.MaxCalls), cmp.Or(p.MaxFailures, q.MaxFailures)
	p.TimeBudgetMS, p.TokenBudget = cmp.Or(p.TimeBudgetMS, q.TimeBudgetMS), cmp.Or(p.TokenBudget, q.TokenBudget)
	p.WaitBudgetMS, p.QuestionTTLMS = cmp.Or(p.WaitBudgetMS, q.WaitBudgetMS), cmp.Or(p.QuestionTTLMS, q.QuestionTTLMS)
	return p
}

// Narrow is the policy of a run inside a run of this policy, which has bounds of its own: of two bounds the tighter one holds. inner's
// allow list holds names, not patterns; when this policy permits none of them, nothing may be called.
func (p Policy) Narrow(inner Policy) Policy {
	out := p
	out.Allow, out.Deny = nil, append(slices.Clone(p.Deny), inner.Deny...)
	for _, name := range inner.Allow {
		if ok, _ := p.Permits(ID(name)); ok {
			out.Allow = append(out.Allow, name)
		}
	}
	if len(out.Allow) == 0 {
		out.Deny = []string{"*"}
	}
	out.MaxCalls, out.MaxFailures = tighter(p.MaxCalls, inner.MaxCalls), tighter(p.MaxFailures, inner.MaxFailures)
	out.TimeBudgetMS, out.TokenBudget = tighter(p.TimeBudgetMS, inner.TimeBudgetMS), tighter(p.TokenBudget, inner.TokenBudget)
	return out
}

// tighter is the lesser of two bounds; 0 is none.
func tighter[T int | int64](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Permits reports whether the policy lets the tool be called; if not, rule names what forbids it.
func (p Policy) Permits(id ID) (ok bool, rule string) {
	matches := func(patterns []string) string {
		for _, pat := range patterns {
			if m, err := path.Match(pat, string(id)); err == nil && m {
				return pat
			}
		}
		return ""
	}
	if pat := matches(p.Deny); pat != "" {
		return false, fmt.Sprintf("the policy denies %q", pat)
	}
	if len(p.Allow) > 0 && matches(p.Allow) == "" {
		return false, "the policy's allow list does not name it"
	}
	return true, ""
}

// Validate lists everything that is wrong with the policy; the pointers begin with at.
func (p Policy) Validate(at string) Issues {
	var is Issues
	add := func(field, constraint, message string, allowed ...string) {
		is = append(is, Issue{Path: at + "/" + field, Constraint: constraint, Message: message, Allowed: allowed})
	}
	if p.Repair.rank() < 0 {
		add("repair", "enum", fmt.Sprintf("repair is %q; it must be none, syntax, lossless, model or person.", p.Repair), "none", "syntax", "lossless", "model", "person")
	}
	switch p.Approve {
	case "", ApproveAsk, ApproveAllow, ApproveDeny:
	default:
		add("approve", "enum", fmt.Sprintf("approve is %q; it must be ask, allow or deny.", p.Approve), "ask", "allow", "deny")
	}
	switch p.Verify {
	case VerifyUndecided, VerifyAlways, VerifyNever:
	default:
		add("verify", "enum", fmt.Sprintf("verify is %q; it must be always or never, or left out.", p.Verify), "always", "never")
	}
	if p.Threshold < 0 || p.Threshold > 1 {
		add("threshold", "maximum", fmt.Sprintf("threshold is %v; it must be between 0 and 1.", p.Threshold))
	}
	for name, list := range map[string][]string{"allow": p.Allow, "deny": p.Deny} {
		for i, pat := range list {
			if _, err := path.Match(pat, ""); err != nil || pat == "" {
				add(fmt.Sprintf("%s/%d", name, i), "pattern", fmt.Sprintf("%q is not a pattern; write a tool's name, or browser.* for all of a toolset.", pat))
			}
		}
	}
	for _, b := range []struct {
		field      string
		value, max int64
	}{
		{"max_calls", int64(p.MaxCalls), MaxMaxCalls}, {"max_failures", int64(p.MaxFailures), MaxMaxCalls},
		{"time_budget_ms", p.TimeBudgetMS, MaxBudget.Milliseconds()}, {"token_budget", p.TokenBudget, 1 << 40},
		{"wait_budget_ms", p.WaitBudgetMS, MaxBudget.Milliseconds()}, {"question_ttl_ms", p.QuestionTTLMS, MaxQuestionTTL.Milliseconds()},
	} {
		if b.value < 0 {
			add(b.field, "minimum", fmt.Sprintf("%s is %d; it must be at least 0.", b.field, b.value))
		}
		if b.value > b.max {
			add(b.field, "maximum", fmt.Sprintf("%s is %d; it must be at most %d.", b.field, b.value, b.max))
		}
	}
	slices.SortStableFunc(is, func(a, b Issue) int { return strings.Compare(a.Path, b.Path) })
	return is
}
