package workspace

import "slices"

// conflictsOf finds what stands in the way of a restore: paths that the attempt changed (d, from b to a) and that are neither as it left them
// nor as they were before it (n is now); what others put below a directory that would have to go; directories that others
// replaced. foreign are paths that something else may have changed during the attempt, and why that is so.
func conflictsOf(b, a, n *tree, d delta, foreign map[string]string) []Conflict {
	var cs []Conflict
	add := func(p, why string, ours, theirs *entry) {
		cs = append(cs, Conflict{Path: p, Why: why, Ours: ours.words(), Theirs: theirs.words()})
	}
	links := b.links()
	for _, p := range d.paths {
		was, ours, theirs := b.get(p), a.get(p), n.get(p)
		if was != nil && was.linked() && !(alike(theirs, was) && sameTime(theirs, was)) {
			for _, other := range links[was.inode()] {
				if now := n.get(other); !d.has(other) && now != nil && (now.inode() != was.inode() || !alike(now, b.get(other))) {
					add(other, "it shares its content with "+p+", and was changed by something else after the attempt", a.get(other), now)
				}
			}
		}
		switch why, other := foreign[p]; {
		case alike(theirs, was) && sameTime(theirs, was): // nothing to do
		case other:
			add(p, why, ours, theirs)
		case !sameState(theirs, ours) && !alike(theirs, was):
			add(p, changedSince(ours, theirs), ours, theirs)
		}
		if theirs != nil && theirs.kind() == kindDir && (was == nil || was.kind() != kindDir) {
			n.below(p, func(e *entry) {
				if !d.has(e.Path) {
					add(e.Path, "it was put into a directory that the attempt made", a.get(e.Path), e)
				}
			})
		}
		if was == nil {
			continue
		}
		ancestors(p, func(dir string) bool {
			if now := n.get(dir); !d.has(dir) && (now == nil || now.kind() != kindDir) {
				add(dir, "its directory was replaced after the attempt", a.get(dir), now)
				return false
			}
			return !d.has(dir)
		})
	}
	slices.SortStableFunc(cs, func(x, y Conflict) int {
		if x.Path < y.Path {
			return -1
		}
		if x.Path > y.Path {
			return 1
		}
		return 0
	})
	return slices.CompactFunc(cs, func(x, y Conflict) bool { return x.Path == y.Path })
}

// changedSince says what somebody else did.
func changedSince(ours, theirs *entry) string {
	const by = " by something else after the attempt"
	switch {
	case ours == nil:
		return "it was created" + by
	case theirs == nil:
		return "it was deleted" + by
	case sameContent(ours, theirs):
		return "its mode or owner was changed" + by
	}
	return "it was changed" + by
}
