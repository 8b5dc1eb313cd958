package planner

import (
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"toolsvc/tool"
)

// Bounds of a toolset's circuit breaker.
const (
	// breakAfter is how many attempts in a row must find the toolset unavailable before it is left alone.
	breakAfter = 5
	// breakFor is how long it is left alone; then one attempt tries whether it is back.
	breakFor = 15 * time.Second
)

// breakers keep this worker from calling a toolset that is down again and again: after [breakAfter] attempts in a row that found it
// unavailable, further ones fail at once with tool_unavailable and a wait, for [breakFor]. The zero value is ready.
type breakers struct {
	mu        sync.Mutex
	byToolset map[string]*gobreaker.TwoStepCircuitBreaker[any]
}

func (b *breakers) of(toolset string) *gobreaker.TwoStepCircuitBreaker[any] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byToolset == nil {
		b.byToolset = map[string]*gobreaker.TwoStepCircuitBreaker[any]{}
	}
	cb := b.byToolset[toolset]
	if cb == nil {
		cb = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{Name: toolset, MaxRequests: 1, Timeout: breakFor,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakAfter }})
		b.byToolset[toolset] = cb
	}
	return cb
}

// guard makes an attempt, unless the toolset is left alone. Only unavailability counts against it: a target that is not there says nothing
// about the toolset.
func (b *breakers) guard(toolset string, attempt func() Report) (Report, error) {
	done, err := b.of(toolset).Allow()
	if err != nil {
		return Report{}, &tool.Failed{Failure: tool.ToolUnavailable, RetryAfter: breakFor, Cause: err,
			Message: toolset + " was unavailable several times in a row, so it is left alone for a while"}
	}
	rep := attempt()
	var failed error
	if rep.Record.Failure == tool.ToolUnavailable {
		failed = &tool.Failed{Failure: tool.ToolUnavailable}
	}
	done(failed)
	return rep, nil
}
