package verification

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// adapter turns Go values into CEL values. Its maps are walked in the order of their keys, because Go's own order is random and a
// verdict must not be.
type adapter struct{ *types.Registry }

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(v any) ref.Val {
	switch x := v.(type) {
	case map[string]any:
		return orderedMap{types.NewStringInterfaceMap(a, x), x}
	case []any:
		return types.NewDynamicList(a, x)
	}
	return a.Registry.NativeToValue(v)
}

// orderedMap is a map of evidence that is walked in the order of its keys.
type orderedMap struct {
	traits.Mapper
	values map[string]any
}

// Iterator implements traits.Iterable.
func (m orderedMap) Iterator() traits.Iterator { return &keyIterator{keys: sortedKeys(m.values)} }

// keyIterator walks keys. Only Next and HasNext are ever asked of an iterator.
type keyIterator struct {
	types.Null // for the methods of ref.Val
	keys       []string
}

// HasNext implements traits.Iterator.
func (i *keyIterator) HasNext() ref.Val { return types.Bool(len(i.keys) > 0) }

// Next implements traits.Iterator.
func (i *keyIterator) Next() ref.Val {
	if len(i.keys) == 0 {
		return nil
	}
	k := types.String(i.keys[0])
	i.keys = i.keys[1:]
	return k
}
