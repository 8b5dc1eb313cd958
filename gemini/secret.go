package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"toolsvc/tool"
)

// secrets are the values that were taken out of a payload, by what stands in their place.
type secrets map[string]any

// hide replaces the secrets of a payload: those of the design, and what the decoder redacted in its issues, because it may be one in the
// wrong place. A payload of a tool with secrets in which they cannot be told is an error.
func hide(s *tool.Spec, payload []byte, issues tool.Issues) ([]byte, secrets, error) {
	if len(s.Secrets) == 0 {
		return payload, nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, nil, errors.New("the payload may hold secrets, and is not JSON in which they could be found, so it was not shown to the model")
	}
	places := append([]string(nil), s.Secrets...)
	for _, i := range issues {
		switch {
		case i.Constraint == tool.ConstraintSyntax, i.Constraint == tool.ConstraintMaxBytes, i.Constraint == tool.ConstraintMaxDepth,
			i.Constraint == tool.ConstraintDuplicate, i.Got == tool.Redacted && i.Path == "":
			return nil, nil, errors.New("the payload holds secrets in places that cannot be told, so it was not shown to the model")
		case i.Got == tool.Redacted:
			places = append(places, i.Path)
		}
	}
	if len(issues) >= tool.MaxIssues {
		return nil, nil, errors.New("the payload breaks too many rules to tell where its secrets are, so it was not shown to the model")
	}
	found := secrets{}
	for _, p := range places {
		v = found.take(v, strings.Split(strings.TrimPrefix(p, "/"), "/"))
	}
	b, err := json.Marshal(v)
	return b, found, err
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// take replaces the values at a path; "*" stands for any key or index.
func (s secrets) take(v any, path []string) any {
	if len(path) == 0 {
		if name, ok := v.(string); ok && s[name] != nil {
			return v // taken already
		}
		name := fmt.Sprintf("[secret %d]", len(s)+1)
		s[name] = v
		return name
	}
	key := unescape.Replace(path[0])
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			if path[0] == "*" || k == key {
				x[k] = s.take(x[k], path[1:])
			}
		}
	case []any:
		for i := range x {
			if path[0] == "*" || strconv.Itoa(i) == key {
				x[i] = s.take(x[i], path[1:])
			}
		}
	}
	return v
}

// restore puts the secrets back. A secret that is inside of a longer text, or that nobody took out, was tampered with.
func (s secrets) restore(payload json.RawMessage) (json.RawMessage, error) {
	if len(s) == 0 {
		return payload, nil
	}
	v, err := s.put(value(payload))
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func (s secrets) put(v any) (any, error) {
	var err error
	switch x := v.(type) {
	case string:
		if secret, ok := s[x]; ok {
			return secret, nil
		}
		if strings.Contains(x, "[secret ") {
			return nil, errors.New("it changed a secret")
		}
	case []any:
		for i := range x {
			if x[i], err = s.put(x[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range x {
			if x[k], err = s.put(x[k]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
