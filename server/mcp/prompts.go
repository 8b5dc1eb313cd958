package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/planner"
)

// The prompts.
const (
	promptTask        = "do_task"
	promptInvestigate = "investigate_run"
)

// addPrompts offers two ways of working: doing a task so that every step is proven, and finding out why a run went wrong.
func (s *Surface) addPrompts() {
	s.server.AddPrompt(&sdk.Prompt{Name: promptTask, Title: "Do a task, every step verified", Description: "Do something in the browser, the terminal or a document, with proof for every step", Icons: icons("browser"),
		Arguments: []*sdk.PromptArgument{{Name: "task", Description: "What is to be done", Required: true}, {Name: "done_when", Description: "How to tell that it is done"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			task := strings.TrimSpace(r.Params.Arguments["task"])
			if task == "" {
				return nil, missingArgument("task")
			}
			text := "Do this with the toolsvc tools: " + task + "\n"
			if when := strings.TrimSpace(r.Params.Arguments["done_when"]); when != "" {
				text += "It is done when: " + when + "\n"
			}
			return prompt("Do a task", text+`
Work like this:
1. Look before you act: browser_snapshot or browser_read. Name targets by what people see, with role and within.
2. With every action that matters, say in "expect" what must hold afterwards, and in "intent" why you do it.
3. Go on only after a result without an error. On an error, read retry_hint: correct what it names, all of it at once, and never repeat the identical call. When its reason is outcome_unknown, look first.
4. On needs_input, ask me. Never approve by yourself.
5. At the end, prove that the task is done with a reading, and say what you saw.`), nil
		})
	s.server.AddPrompt(&sdk.Prompt{Name: promptInvestigate, Title: "Find out why a run went wrong", Description: "Read a run, its attempts and their evidence, and explain what happened", Icons: icons("run"),
		Arguments: []*sdk.PromptArgument{{Name: "run", Description: "The run (r_…)", Required: true}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			run := strings.TrimSpace(r.Params.Arguments["run"])
			if run == "" {
				return nil, missingArgument("run")
			}
			return prompt("Investigate a run", fmt.Sprintf(`Find out what went wrong in the run %s.
1. Read it with run_get.
2. For each step that was not verified: which sources were tried, how far did each attempt come (started, resolved, dispatched, settled), what effect is known, and which check failed? The evidence is at %s and the digest.
3. Say in plain words what happened, what was undone, what was not, and whether anything may have been done twice. Then say what to do next. Change nothing.`, run, artifactPrefix)), nil
		})
}

func prompt(description, text string) *sdk.GetPromptResult {
	return &sdk.GetPromptResult{Description: description, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}
}

func missingArgument(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("The prompt needs the argument %s.", name)}
}

// maxCompletions is how many values a completion may hold, as the protocol says.
const maxCompletions = 100

// complete suggests runs, which nobody types from memory.
func (s *Surface) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	var values []string
	ref := r.Params.Ref
	isRun := r.Params.Argument.Name == "run" && (ref.Type == "ref/prompt" && ref.Name == promptInvestigate || ref.Type == "ref/resource" && strings.HasPrefix(ref.URI, runPrefix))
	if isRun {
		values = append(values, s.runs.of(s.clientOf(r).key))
		if l, ok := s.o.Service.(Lister); ok {
			runs, err := l.List(ctx, maxCompletions)
			if err != nil {
				s.log.Warn("runs cannot be listed for a completion", "error", err)
			}
			for _, r := range runs {
				values = append(values, r.RunID)
			}
		}
	}
	values = slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, r.Params.Argument.Value) })
	slices.Sort(values)
	values = slices.Compact(values)
	total := len(values)
	if total > maxCompletions {
		values = values[:maxCompletions]
	}
	if values == nil {
		values = []string{}
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: values, Total: total, HasMore: total > len(values)}}, nil
}

// Lister is a Service that lists runs, for completions.
type Lister interface {
	// List lists the latest runs, at most limit.
	List(ctx context.Context, limit int) ([]planner.Summary, error)
}
