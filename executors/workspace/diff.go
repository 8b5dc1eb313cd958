package workspace

import (
	"slices"
	"strings"
)

// delta is what lies between two trees.
type delta struct {
	// paths differ: there or not, kind, content, target, mode, owner, attributes, time of a file, or which names share one file. Sorted.
	paths []string
	// times are the directories that differ in their time only, which follows from changes in them.
	times []string
	// unseen are the directories whose entries are not all known in one of the trees; nothing below them is in paths. Sorted.
	unseen []string
}

func (d delta) has(path string) bool {
	_, ok := slices.BinarySearch(d.paths, path)
	return ok
}

// compare finds what differs between two trees.
func compare(b, a *tree) delta {
	var d delta
	blind := map[string]bool{}
	for _, t := range []*tree{b, a} {
		for i := range t.entries {
			if e := &t.entries[i]; e.has(closed) {
				blind[e.Path] = true
			}
		}
	}
	for p := range blind {
		d.unseen = append(d.unseen, p)
	}
	slices.Sort(d.unseen)
	i, j := 0, 0
	for i < len(b.entries) || j < len(a.entries) {
		switch {
		case j == len(a.entries) || i < len(b.entries) && b.entries[i].Path < a.entries[j].Path:
			d.paths = append(d.paths, b.entries[i].Path)
			i++
		case i == len(b.entries) || a.entries[j].Path < b.entries[i].Path:
			d.paths = append(d.paths, a.entries[j].Path)
			j++
		default:
			x, y := &b.entries[i], &a.entries[j]
			switch {
			case !sameState(x, y) || !sameTime(x, y):
				d.paths = append(d.paths, x.Path)
			case x.MTime != y.MTime && !x.has(watched):
				d.times = append(d.times, x.Path)
			}
			i++
			j++
		}
	}
	if more := relinked(b, a); len(more) > 0 {
		d.paths = append(d.paths, more...)
		slices.Sort(d.paths)
		d.paths = slices.Compact(d.paths)
	}
	if len(blind) > 0 {
		d.paths = slices.DeleteFunc(d.paths, func(p string) (below bool) {
			ancestors(p, func(dir string) bool { below = blind[dir]; return !below })
			return below
		})
	}
	return d
}

// relinked finds the files that are in both trees, and share their content with other names in one than in the other.
func relinked(b, a *tree) []string {
	inBoth := func(p string) bool {
		x, y := b.get(p), a.get(p)
		return x != nil && y != nil && x.kind() != kindDir && y.kind() != kindDir
	}
	was, is := b.links(), a.links()
	with := func(t *tree, groups map[inode][]string, p string) string {
		e := t.get(p)
		var names []string
		for _, q := range groups[e.inode()] {
			if q != p && inBoth(q) {
				names = append(names, q)
			}
		}
		return strings.Join(names, "\x00")
	}
	var differ []string
	seen := map[string]bool{}
	for _, groups := range []map[inode][]string{was, is} {
		for _, names := range groups {
			for _, p := range names {
				if !seen[p] && inBoth(p) && with(b, was, p) != with(a, is, p) {
					differ = append(differ, p)
				}
				seen[p] = true
			}
		}
	}
	return differ
}

// links are the names of each file that has several, sorted.
func (t *tree) links() map[inode][]string {
	groups := map[inode][]string{}
	for i := range t.entries {
		if e := &t.entries[i]; e.linked() {
			groups[e.inode()] = append(groups[e.inode()], e.Path)
		}
	}
	return groups
}

// Op is what was done to a path.
type Op string

// What can be done to a path.
const (
	Created Op = "created"
	Changed Op = "changed" // the content, or what kind of thing it is
	Deleted Op = "deleted"
	Moved   Op = "moved"
	Mode    Op = "mode"    // mode, owner or extended attributes only
	Touched Op = "touched" // the time of modification only
	Linked  Op = "linked"  // shares its content with other names than before
)

// Change is one difference between two states of the folder.
type Change struct {
	Path string `json:"path"`
	Op   Op     `json:"op"`
	// From is the earlier path of what was moved.
	From string `json:"from,omitempty"`
	// Before and After describe it in words: kind, size, mode, digest, target. "nothing" when it was or is not there.
	Before string `json:"before"`
	After  string `json:"after"`
	// Covered reports that the backup can take the change back.
	Covered bool `json:"covered"`
}

// changes renders a delta for people: a file or directory that only has another path is one change.
func (d delta) changes(b, a *tree) []Change {
	movedTo := map[inode]*entry{} // what appeared
	for _, p := range d.paths {
		if e := a.get(p); e != nil && b.get(p) == nil {
			movedTo[e.inode()] = e
		}
	}
	from := map[string]string{} // new path → old path
	for _, p := range d.paths {
		if x := b.get(p); x != nil && a.get(p) == nil {
			if y := movedTo[x.inode()]; y != nil && sameContent(x, y) {
				from[y.Path] = p
				delete(movedTo, x.inode())
			}
		}
	}
	to := map[string]string{}
	for n, o := range from {
		to[o] = n
	}
	var cs []Change
	for _, p := range d.paths {
		x, y := b.get(p), a.get(p)
		c := Change{Path: p, Before: x.words(), After: y.words(), Covered: revocable(x, y)}
		switch {
		case x == nil && from[p] != "":
			old := from[p]
			c.Op, c.From, c.Before = Moved, old, b.get(old).words()
			if up := from[parent(p)]; up != "" && up == parent(old) && base(p) == base(old) {
				continue // moved with its directory
			}
		case x == nil:
			c.Op = Created
		case y == nil && to[p] != "":
			continue // told with its new path
		case y == nil:
			c.Op = Deleted
		case !sameContent(x, y):
			c.Op = Changed
		case !sameState(x, y):
			c.Op = Mode
		case !sameTime(x, y):
			c.Op = Touched
		default:
			c.Op = Linked
		}
		cs = append(cs, c)
	}
	return cs
}

func base(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// revocable reports whether the backup can bring back x where y is now, as far as the entries tell.
func revocable(x, y *entry) bool {
	switch {
	case x == nil:
		return !y.has(closed)
	case x.covered():
		return true
	}
	return y != nil && sameContent(x, y) && x.kind() != kindDir && !suspicious(x, y)
}
