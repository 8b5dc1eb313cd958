package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"toolsvc/bench/gym"
	"toolsvc/executors/browser/devtools"
	"toolsvc/stack"
)

// readTruth reads window.__truth of the run's tab over a connection of its own, past toolsvc.
func readTruth(ctx context.Context, s *stack.Stack, runID string) (gym.Truth, error) {
	var truth gym.Truth
	url, err := s.Browser.DebugURL(runID)
	if err != nil {
		return truth, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	text, err := evaluate(ctx, url, "JSON.stringify(window.__truth)")
	if err != nil {
		return truth, err
	}
	if err := json.Unmarshal([]byte(text), &truth); err != nil {
		return truth, fmt.Errorf("read the page's truth: %w", err)
	}
	return truth, nil
}

// evaluate runs an expression in the tab behind the debugging endpoint, and returns its string.
func evaluate(ctx context.Context, url, expression string) (string, error) {
	conn, err := devtools.Dial(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // the answer is what counts
	byValue := true
	r, err := devtools.Call(ctx, conn.Browser(), runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: &byValue})
	if err != nil {
		return "", err
	}
	if r.ExceptionDetails != nil || r.Result == nil {
		return "", errors.New("the page has no truth: " + expression + " failed")
	}
	var text string
	if err := json.Unmarshal(r.Result.Value, &text); err != nil {
		return "", fmt.Errorf("read the answer of the page: %w", err)
	}
	return text, nil
}
