package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// List converts a list; nil stays nil.
func List[T, U any](list []T, convert func(T) U) []U {
	if list == nil {
		return nil
	}
	out := make([]U, len(list))
	for i, x := range list {
		out[i] = convert(x)
	}
	return out
}

// Some is the list, empty where it is nil.
func Some[S ~[]T, T any](list S) S {
	if list == nil {
		return S{}
	}
	return list
}

// Table converts a map; nil stays nil.
func Table[K, L comparable, T, U any](m map[K]T, key func(K) L, convert func(T) U) map[L]U {
	if m == nil {
		return nil
	}
	out := make(map[L]U, len(m))
	for k, x := range m {
		out[key(k)] = convert(x)
	}
	return out
}

// ErrAbsent is the error of a value that is not in the state.
var ErrAbsent = errors.New("is absent")

// Value reads a field of a state as a value of type T: text, a boolean, or a number that T holds. A field that is not there, or null, is
// [ErrAbsent].
func Value[T any](state any, field string) (T, error) {
	var v T
	m, ok := state.(map[string]any)
	if !ok || m[field] == nil {
		return v, fmt.Errorf("what was observed before the call: %s %w", field, ErrAbsent)
	}
	text, err := json.Marshal(m[field])
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return v, fmt.Errorf("what was observed before the call: %s is no %s", field, reflect.TypeFor[T]())
	}
	return v, nil
}

// maxState bounds what Observe may answer, in bytes of JSON.
const maxState = 256 << 10

// plain turns a state into plain JSON values, and returns its JSON too, by which states are compared.
func plain(state any) (any, string, error) {
	text, err := json.Marshal(state) // encoding/json sorts the keys of maps
	if err != nil {
		return nil, "", fmt.Errorf("what was observed is no JSON: %w", err)
	}
	if len(text) > maxState {
		return nil, "", fmt.Errorf("what was observed has %d bytes, more than the %d that evidence may have", len(text), maxState)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, "", fmt.Errorf("what was observed is no JSON: %w", err)
	}
	return v, string(text), nil
}
