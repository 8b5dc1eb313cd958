package tool

// Fields are the fields of an object, as the codecs know them. All slices that are indexed by field have the same length.
type Fields struct {
	// Names are the JSON names, in design order.
	Names []string
	// Types are their JSON types, "" for any.
	Types []string
	// Required are the indexes of the fields that must be there.
	Required []int
	// AtLeastOne are groups of indexes; of each group one field must be there.
	AtLeastOne [][]int
	// Union demands exactly one of all fields.
	Union bool
}

// lacking are the violations of an object that has the seen fields. Paths are relative to the object.
func (fs *Fields) lacking(seen []uint64) (found []finding) {
	has := func(i int) bool { return seen[i/64]&(1<<(i%64)) != 0 }
	for _, i := range fs.Required {
		if !has(i) {
			f := finding{}
			f.Path, f.Constraint, f.ExpectedType = "/"+fs.Names[i], "required", fs.Types[i]
			found = append(found, f)
		}
	}
groups:
	for _, group := range fs.AtLeastOne {
		for _, i := range group {
			if has(i) {
				continue groups
			}
		}
		f := finding{}
		f.Constraint, f.ExpectedType = "anyOf", "object"
		for _, i := range group {
			f.Allowed = append(f.Allowed, fs.Names[i])
		}
		found = append(found, f)
	}
	if fs.Union {
		n := 0
		for i := range fs.Names {
			if has(i) {
				n++
			}
		}
		if n != 1 {
			f := finding{count: n}
			f.Constraint, f.Allowed, f.ExpectedType = "oneOf", fs.Names, "object"
			found = append(found, f)
		}
	}
	return found
}
