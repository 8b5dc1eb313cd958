package shape

import "slices"

// holds lists the named objects and unions that a value of t holds directly, through arrays and maps as well.
func (t *Type) holds() []*Named {
	switch t.Kind {
	case Object, Union:
		return []*Named{t.Named}
	case Array, Map:
		return t.Elem.holds()
	}
	return nil
}

// MarkRecursive sets Recursive on every type that can hold itself.
func MarkRecursive(types []*Named) {
	for _, n := range types {
		seen := map[*Named]bool{}
		var reach func(*Named) bool
		reach = func(from *Named) bool {
			for _, f := range from.Fields {
				for _, h := range f.Type.holds() {
					if h == n {
						return true
					}
					if !seen[h] {
						seen[h] = true
						if reach(h) {
							return true
						}
					}
				}
			}
			return false
		}
		n.Recursive = reach(n)
	}
}

// Secrets lists the JSON Pointers of the secret values in t, "*" standing for any index or key. A secret inside a recursive type
// would stand in endlessly many places; recursive is the name of such a type, "" when there is none.
func Secrets(t *Type) (pointers []string, recursive string) {
	var open []*Named
	var walk func(t *Type, at string)
	walk = func(t *Type, at string) {
		if t.Secret {
			pointers = append(pointers, at)
			for _, n := range open {
				if n.Recursive {
					recursive = n.Name
				}
			}
			return
		}
		switch t.Kind {
		case Object, Union:
			if slices.Contains(open, t.Named) {
				return
			}
			open = append(open, t.Named)
			for _, f := range t.Named.Fields {
				walk(f.Type, at+"/"+f.Name)
			}
			open = open[:len(open)-1]
		case Array, Map:
			walk(t.Elem, at+"/*")
		}
	}
	walk(t, "")
	return pointers, recursive
}
