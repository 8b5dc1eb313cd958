package verification

import (
	"maps"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// object is a structured value of evidence: a name for the type checker, and the fields it can have. The name holds a space, so
// that no expression can spell it.
type object struct {
	name   string
	fields map[string]*types.FieldType
	names  []string // sorted
}

// newObject declares an object type.
func newObject(name string, fields map[string]*cel.Type) *object {
	o := &object{name: name, fields: make(map[string]*types.FieldType, len(fields)), names: slices.Sorted(maps.Keys(fields))}
	for f, t := range fields {
		o.fields[f] = fieldType(name, f, t)
	}
	return o
}

func (o *object) celType() *cel.Type { return cel.ObjectType(o.name) }

// The objects of evidence. docs/reference/conditions.md describes the fields.
var (
	dialogObject  = newObject("a dialog", map[string]*cel.Type{"type": cel.StringType, "message": cel.StringType})
	requestObject = newObject("a request", map[string]*cel.Type{"method": cel.StringType, "url": cel.StringType, "status": cel.IntType})
	mediaObject   = newObject("a media element", map[string]*cel.Type{"paused": cel.BoolType, "current_time": cel.DoubleType, "ended": cel.BoolType})
	pageObject    = newObject("the page", map[string]*cel.Type{
		"url": cel.StringType, "title": cel.StringType, "ready": cel.BoolType, "text": cel.StringType,
		"dialogs": cel.ListType(dialogObject.celType()), "errors": cel.ListType(cel.StringType),
		"requests": cel.ListType(requestObject.celType()), "media": cel.ListType(mediaObject.celType()),
	})
	elementObject = newObject("an element", map[string]*cel.Type{
		"exists": cel.BoolType, "visible": cel.BoolType, "enabled": cel.BoolType, "focused": cel.BoolType, "checked": cel.BoolType,
		"selected": cel.ListType(cel.StringType), "selected_labels": cel.ListType(cel.StringType), "expanded": cel.BoolType,
		"pressed": cel.BoolType, "concealed": cel.BoolType, "entered": cel.BoolType, "value": cel.StringType, "text": cel.StringType, "name": cel.StringType, "role": cel.StringType,
		"count": cel.IntType,
	})
	effectObject = newObject("the effect", map[string]*cel.Type{
		"delivered": cel.BoolType, "changed": cel.BoolType, "mutations": cel.IntType, "requests": cel.IntType,
		"navigated": cel.BoolType, "pixels": cel.DoubleType, "proof": cel.StringType,
	})
	terminalObject = newObject("the terminal", map[string]*cel.Type{
		"alive": cel.BoolType, "waiting": cel.BoolType, "running": cel.BoolType, "prompt": cel.StringType, "prompt_text": cel.StringType,
		"program": cel.StringType, "title": cel.StringType, "cwd": cel.StringType, "full_screen": cel.BoolType, "echo": cel.BoolType,
		"row": cel.IntType, "col": cel.IntType,
	})
	beforeObject = newObject("the evidence before", map[string]*cel.Type{
		"page": pageObject.celType(), "target": elementObject.celType(), "document": documentObject.celType(), "state": cel.DynType,
		"exit_code": cel.IntType, "stdout": cel.StringType, "stderr": cel.StringType,
		"screen": cel.StringType, "terminal": terminalObject.celType(),
	})

	evidenceObjects = append([]*object{dialogObject, requestObject, mediaObject, pageObject, elementObject, effectObject, terminalObject, beforeObject}, documentObjects...)
)

// phase is when a condition is evaluated, which decides what it can know.
type phase int

const (
	// after: a postcondition or an expectation.
	after phase = iota
	// before: a precondition. No target is known yet, and nothing has happened.
	before
	// arguments: an effect rule. Only the call itself is known.
	arguments
)

// evidenceVariables are the variables of a phase that evidence fills, with their types; args and result come from the tool's
// schemas.
func evidenceVariables(p phase) map[string]*cel.Type {
	switch p {
	case after:
		return map[string]*cel.Type{
			"page": pageObject.celType(), "target": elementObject.celType(), "effect": effectObject.celType(),
			"before": beforeObject.celType(), "document": documentObject.celType(), "state": cel.DynType,
			"exit_code": cel.IntType, "stdout": cel.StringType, "stderr": cel.StringType,
			"screen": cel.StringType, "terminal": terminalObject.celType(),
		}
	case before:
		return map[string]*cel.Type{"page": pageObject.celType(), "document": documentObject.celType(), "state": cel.DynType}
	}
	return nil
}

// afterwards are the variables that only exist once the action is done, for a better message where they are used too early.
var afterwards = []string{"before", "effect", "exit_code", "result", "screen", "stderr", "stdout", "target", "terminal"}
