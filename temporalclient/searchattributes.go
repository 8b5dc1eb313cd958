package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
)

// The typed search attributes of a run. In the UI and the CLI they make queries such as
//
//	ToolsvcTool = "browser.click" AND ToolsvcOutcome = "verification_failed"
//	ToolsvcWaiting = true
//
// A list attribute matches with = when any of its elements does.
var (
	// SearchAttributeTool: every tool that the run called (browser.click), each once.
	SearchAttributeTool = temporal.NewSearchAttributeKeyKeywordList("ToolsvcTool")
	// SearchAttributeOutcome: how the last finished call of the run ended: success, or the code of its error.
	SearchAttributeOutcome = temporal.NewSearchAttributeKeyKeyword("ToolsvcOutcome")
	// SearchAttributeSource: the grounding source of the last attempt (ax, cdp, vision).
	SearchAttributeSource = temporal.NewSearchAttributeKeyKeyword("ToolsvcSource")
	// SearchAttributeFailure: the failure of the last attempt that failed (target_not_found).
	SearchAttributeFailure = temporal.NewSearchAttributeKeyKeyword("ToolsvcFailure")
	// SearchAttributeHealed: whether some call succeeded only after an attempt that failed.
	SearchAttributeHealed = temporal.NewSearchAttributeKeyBool("ToolsvcHealed")
	// SearchAttributeWaiting: whether the run waits for a person (a question or an approval) now.
	SearchAttributeWaiting = temporal.NewSearchAttributeKeyBool("ToolsvcWaiting")
)

// visibleWithin bounds the wait until added search attributes can be used, and visibleInterval is the pause between two looks.
const (
	visibleWithin   = 15 * time.Second
	visibleInterval = 100 * time.Millisecond
)

// SearchAttributes lists toolsvc's search attributes by name, with their types: what a namespace needs before a run can start in it.
// The map is the caller's own.
func SearchAttributes() map[string]enums.IndexedValueType {
	keys := []temporal.SearchAttributeKey{SearchAttributeTool, SearchAttributeOutcome, SearchAttributeSource, SearchAttributeFailure,
		SearchAttributeHealed, SearchAttributeWaiting}
	types := make(map[string]enums.IndexedValueType, len(keys))
	for _, key := range keys {
		types[key.GetName()] = key.GetValueType()
	}
	return types
}

// EnsureSearchAttributes registers toolsvc's search attributes in the connection's namespace, as far as they are missing, and waits until
// the cluster lists them (at most 15 s). It is idempotent, and safe when several processes do it at once.
//
// A server that keeps its namespaces cached (every cluster; 2 s by default) may refuse a workflow that uses them for a moment longer.
// Where the credentials may not register them, the error matches [ErrDenied] and names the command that someone else can run. An
// attribute that exists with another type is an error, because Temporal cannot change a type.
func (c *Conn) EnsureSearchAttributes(ctx context.Context) error {
	return ensureSearchAttributes(ctx, c.Client.OperatorService(), c.Namespace, SearchAttributes())
}

func ensureSearchAttributes(ctx context.Context, operator operatorservice.OperatorServiceClient, namespace string, wanted map[string]enums.IndexedValueType) error {
	missing, err := missingSearchAttributes(ctx, operator, namespace, wanted)
	if err != nil || len(missing) == 0 {
		return err
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return explainSearchAttributes(err, "add", namespace, missing)
	}
	ctx, cancel := context.WithTimeout(ctx, visibleWithin)
	defer cancel()
	for {
		missing, err := missingSearchAttributes(ctx, operator, namespace, wanted)
		if err != nil || len(missing) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for search attributes %s in namespace %q: %w", names(missing), namespace, ctx.Err())
		case <-time.After(visibleInterval):
		}
	}
}

// missingSearchAttributes returns those wanted ones that the namespace lacks; one of another type is an error.
func missingSearchAttributes(ctx context.Context, operator operatorservice.OperatorServiceClient, namespace string, wanted map[string]enums.IndexedValueType) (map[string]enums.IndexedValueType, error) {
	have, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, explainSearchAttributes(err, "list", namespace, wanted)
	}
	missing := map[string]enums.IndexedValueType{}
	for name, want := range wanted {
		switch got, ok := have.GetCustomAttributes()[name]; {
		case !ok:
			missing[name] = want
		case got != want:
			return nil, fmt.Errorf("search attribute %s of namespace %q is a %s and toolsvc needs a %s: remove it (temporal operator search-attribute remove --namespace %s --name %s) or use another namespace",
				name, namespace, got, want, namespace, name)
		}
	}
	return missing, nil
}

func explainSearchAttributes(err error, did, namespace string, attributes map[string]enums.IndexedValueType) error {
	var denied *serviceerror.PermissionDenied
	var lacking *serviceerror.Unimplemented
	if errors.As(err, &denied) || errors.As(err, &lacking) {
		var command strings.Builder
		fmt.Fprintf(&command, "temporal operator search-attribute create --namespace %s", namespace)
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			fmt.Fprintf(&command, " --name %s --type %s", name, attributes[name])
		}
		return fmt.Errorf("%w: %s search attributes in namespace %q: someone with the right to do so must run %q (on Temporal Cloud: add them in the namespace's settings): %w",
			ErrDenied, did, namespace, command.String(), err)
	}
	return fmt.Errorf("%s search attributes %s in namespace %q: %w", did, names(attributes), namespace, err)
}

func names(attributes map[string]enums.IndexedValueType) string {
	return strings.Join(slices.Sorted(maps.Keys(attributes)), ", ")
}
