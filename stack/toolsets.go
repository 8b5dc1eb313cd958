package stack

import (
	"fmt"
	"slices"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
	"toolsvc/verification"
)

// Toolset is a toolset that does not belong to toolsvc itself: a user's own.
type Toolset struct {
	// Specs are its tools, as generated: gen/toolsets/<name>.Specs().
	Specs []*tool.Spec
	// Executor does them: gen/toolsets/<name>/executor.New, or one that is written by hand; nil when agents do all of them.
	Executor tool.Executor
	// Name is that of a toolset whose tools are not known yet, and come by [Stack.Replace]; otherwise the tools have it.
	Name string
}

func (t Toolset) name() string {
	if len(t.Specs) == 0 {
		return t.Name
	}
	return t.Specs[0].ID.Toolset()
}

// Replace gives a toolset of the options other tools; calls that were accepted go on with what they were accepted with. It refuses what
// [NewRegistry] refuses, and a toolset that was not there.
func (s *Stack) Replace(t Toolset) error {
	if _, err := NewRegistry(t); err != nil {
		return err
	}
	name := t.name()
	if len(t.Specs) == 0 {
		return fmt.Errorf("the toolset %s has no tools", name)
	}
	if s.Service.Executors[name] != t.Executor {
		return fmt.Errorf("the toolset %s is not one of this toolsvc's own", name)
	}
	return s.Service.Registry.Replace(name, t.Specs)
}

// NewRegistry is the registry of toolsvc's own tools and those of the given toolsets. It refuses a toolset without tools and name, or without an
// executor, one that is there already, and one whose conditions do not compile.
func NewRegistry(own ...Toolset) (*tool.Registry, error) {
	builtin := toolsets.Registry()
	var sets [][]*tool.Spec
	taken := map[string]bool{}
	var specs []*tool.Spec
	for _, id := range builtin.IDs() {
		taken[id.Toolset()] = true
		specs = append(specs, builtin.Lookup(id))
	}
	sets = append(sets, specs)
	for i, t := range own {
		name := t.name()
		switch {
		case name == "":
			return nil, fmt.Errorf("toolset %d of the options has neither tools nor a name", i+1)
		case t.Executor == nil && len(t.Specs) == 0, t.Executor == nil && slices.ContainsFunc(t.Specs, func(s *tool.Spec) bool { return s.Agent == nil }):
			return nil, fmt.Errorf("the toolset %s has no executor", name)
		case taken[name]:
			return nil, fmt.Errorf("there are two toolsets %s; give yours another name", name)
		}
		taken[name] = true
		for _, s := range t.Specs {
			if s.ID.Toolset() != name {
				return nil, fmt.Errorf("%s does not belong to the toolset %s", s.ID, name)
			}
			if _, issues := verification.Compile(s, s.Example, nil); len(issues) > 0 {
				return nil, fmt.Errorf("the conditions of %s do not compile: %w", s.ID, issues)
			}
			if _, err := verification.EffectClass(s, s.Example); err != nil {
				return nil, err
			}
		}
		sets = append(sets, t.Specs)
	}
	return tool.NewRegistry(sets...)
}
