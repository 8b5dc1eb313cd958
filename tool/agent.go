package tool

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"
)

// Bounds of an agent, and what holds when its design says nothing.
const (
	DefaultAgentCalls  = 30
	DefaultAgentTokens = 200_000
	MaxAgentCalls      = 1000
	// MaxAgentTime bounds one attempt of an agent whose design says nothing.
	MaxAgentTime = 10 * time.Minute
	// MaxAgentWords bounds the instructions, and the goal, in bytes.
	MaxAgentWords = 32 << 10
)

// ArgsPlace is where the arguments stand in an [Agent]'s Goal, as JSON.
const ArgsPlace = "{{args}}"

// Agent does a tool's work: a model that is given a goal, and tools to reach it with, in a run of its own.
type Agent struct {
	// Instructions are the designer's, the same for every call.
	Instructions string
	// Goal is what one call is to reach, with the call's arguments in the place of [ArgsPlace]. When it is "", the tool's description and
	// the arguments are the goal.
	Goal string
	// Tools that the agent may call, as patterns of path.Match ("orders.*"). The policy of the caller's run narrows them further.
	Tools []string
	// MaxCalls bounds the calls of one attempt, and TokenBudget the model's tokens; 0 means [DefaultAgentCalls] and [DefaultAgentTokens].
	MaxCalls    int
	TokenBudget int64
	// Attempts bounds the attempts; 0 means as many as any tool has.
	Attempts int
}

// Calls and Tokens are the bounds with the defaults filled in.
func (a *Agent) Calls() int    { return cmp.Or(a.MaxCalls, DefaultAgentCalls) }
func (a *Agent) Tokens() int64 { return cmp.Or(a.TokenBudget, DefaultAgentTokens) }

// Task is the goal of one call of the tool s, whose arguments are args.
func (a *Agent) Task(s *Spec, args []byte) string {
	goal := a.Goal
	if goal == "" {
		goal = s.Description + "\n\nThe arguments of this call: " + ArgsPlace
	}
	return strings.ReplaceAll(goal, ArgsPlace, string(args))
}

// Uses lists those of the tools that the agent may call.
func (a *Agent) Uses(ids []ID) []string {
	var uses []string
	for _, id := range ids {
		if slices.ContainsFunc(a.Tools, func(pattern string) bool { ok, err := path.Match(pattern, string(id)); return err == nil && ok }) {
			uses = append(uses, string(id))
		}
	}
	return uses
}
