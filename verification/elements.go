package verification

import (
	"errors"
	"fmt"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"toolsvc/tool"
)

// elements are the answers of one piece of evidence to element queries. It is a CEL value only so that it can be handed to the
// function behind element().
type elements []tool.Element

var elementsType = types.NewOpaqueType("elements")

// find returns the state of the element that the query asked for.
func (e elements) find(q tool.ElementQuery) (map[string]any, bool) {
	for i := range e {
		if e[i].Query == q {
			return e[i].State, e[i].State != nil
		}
	}
	return nil, false
}

// ConvertToNative implements ref.Val.
func (e elements) ConvertToNative(reflect.Type) (any, error) {
	return nil, errors.New("elements have no native form")
}

// ConvertToType implements ref.Val.
func (e elements) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("elements cannot become %s", t.TypeName())
}

// Equal implements ref.Val.
func (e elements) Equal(ref.Val) ref.Val { return types.NewErr("elements cannot be compared") }

// Type implements ref.Val.
func (e elements) Type() ref.Type { return elementsType }

// Value implements ref.Val.
func (e elements) Value() any { return e }

// describe renders a query as conditions spell it: element("Play", "button").
func describe(q tool.ElementQuery) string {
	if q.Role == "" {
		return fmt.Sprintf("element(%q)", q.Name)
	}
	return fmt.Sprintf("element(%q, %q)", q.Name, q.Role)
}
