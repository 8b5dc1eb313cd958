package verification

import (
	"encoding/json"
	"fmt"
	"slices"

	"toolsvc/tool"
)

// EffectClass says how grave one call is: the class of its tool, or the gravest class of the effect rules that its arguments match,
// whichever is graver. Where that cannot be found out (a rule that does not compile, or does not evaluate to true or false), it
// returns the gravest class there is, and why.
func EffectClass(spec *tool.Spec, args json.RawMessage) (tool.EffectClass, error) {
	class, err := effectClass(spec, args)
	if err == nil && !slices.Contains(tool.EffectClasses, class) {
		err = fmt.Errorf("there is no effect class %q", class)
	}
	if err != nil {
		return tool.EffectClasses[len(tool.EffectClasses)-1], fmt.Errorf("decide how grave a call of %s is: %w", spec.ID, err)
	}
	return class, nil
}

func effectClass(spec *tool.Spec, args json.RawMessage) (tool.EffectClass, error) {
	class := spec.Effect
	if len(spec.EffectRules) == 0 {
		return class, nil
	}
	values, issues := decodeArgs(args)
	if len(issues) > 0 {
		return "", issues
	}
	rules, issues := languageOf(spec).own(arguments)
	if len(issues) > 0 {
		return "", issues
	}
	f := newFacts(spec, values, nil, nil, nil)
	for i, rule := range rules {
		matches, err := rule.holds(f)
		if err != nil {
			return "", fmt.Errorf("evaluate %q: %w", rule.Expression, err)
		}
		if c := spec.EffectRules[i].Class; matches && gravity(c) > gravity(class) {
			class = c
		}
	}
	return class, nil
}

// gravity orders the classes; one that is not known is graver than all.
func gravity(c tool.EffectClass) int {
	if i := slices.Index(tool.EffectClasses, c); i >= 0 {
		return i
	}
	return len(tool.EffectClasses)
}
