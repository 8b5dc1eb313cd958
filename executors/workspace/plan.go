package workspace

import (
	"cmp"
	"slices"
	"strconv"
)

// doing is what one step of a restore does. Every step can be repeated and undone: what is where is told by the inodes.
type doing string

const (
	doMeta     doing = "meta"     // set mode, owner, attributes, time
	doWrite    doing = "write"    // write the content in place: the file has names outside of the workspace
	doLift     doing = "lift"     // move what is at the path into a slot
	doRmdir    doing = "rmdir"    // remove an empty directory
	doMkdir    doing = "mkdir"    // make a directory
	doPlace    doing = "place"    // move what is in the slot to the path
	doExchange doing = "exchange" // both at once
	doLink     doing = "link"     // give a file another name
)

// step is one step of a restore.
type step struct {
	Do   doing  `json:"do"`
	Path string `json:"path"`
	Slot string `json:"slot,omitempty"` // a name in the staging folder
	From string `json:"from,omitempty"` // of a link: the other name
	Next string `json:"next,omitempty"` // of a lift: where a later step places it
	// Old and New are the inodes that the path has before and after.
	Old uint64 `json:"old,omitempty"`
	New uint64 `json:"new,omitempty"`
	// Was and Want describe the path before and after; nil: nothing there.
	Was  *entry `json:"was,omitempty"`
	Want *entry `json:"want,omitempty"`
	// WasTime and WantTime are times of modification to be set; nil: none.
	WasTime  *int64 `json:"was_time,omitempty"`
	WantTime *int64 `json:"want_time,omitempty"`
}

// plan is how the folder gets from what it is to what it was, in order.
type plan struct {
	Steps []step `json:"steps"`
	// Stage is what must be made in the staging folder before the first step: by slot, what it is.
	Stage map[string]*entry `json:"stage,omitempty"`
	// Uncovered are the paths that the attempt changed and the backup cannot bring back.
	Uncovered []string `json:"uncovered,omitempty"`
}

// rights are what the process may do.
type rights struct {
	// exchange: the file system can swap two names.
	exchange bool
	// root: modes do not hold the process back.
	root bool
	uid  uint32
}

// restorePlanner builds a plan.
type restorePlanner struct {
	b, a, n *tree
	d       delta
	may     rights

	steps  map[doing][]step
	unlock []step
	dirs   []step // metadata of directories, at the very end
	stage  map[string]*entry
	slots  int

	links     map[inode][]string // of b
	nowLinks  map[inode][]string // of n
	here      map[inode][]string // of n, among d.paths
	claimed   map[inode]bool     // the inodes that the files of b had, among d.paths
	groups    map[inode]bool     // done
	lifted    map[string]string  // path → slot
	needed    map[string]bool    // paths of n whose inode goes elsewhere
	uncovered map[string]bool
	stays     map[string]bool // directories that cannot be removed
	makes     map[string]bool // directories that are made
	touched   map[string]bool // directories whose time the steps change
}

// planRestore plans to bring every path of d, which the attempt changed from b to a, from how it is in n to how it was in b. There must be no
// conflict.
func planRestore(b, a, n *tree, d delta, may rights) plan {
	r := &restorePlanner{b: b, a: a, n: n, d: d, may: may, steps: map[doing][]step{}, stage: map[string]*entry{}, links: b.links(), nowLinks: n.links(),
		here: map[inode][]string{}, claimed: map[inode]bool{}, groups: map[inode]bool{}, lifted: map[string]string{}, needed: map[string]bool{}, uncovered: map[string]bool{},
		stays: map[string]bool{}, makes: map[string]bool{}, touched: map[string]bool{}}
	for _, p := range d.paths {
		if e := n.get(p); e != nil && e.kind() != kindDir {
			r.here[e.inode()] = append(r.here[e.inode()], p)
		}
		if e := b.get(p); e != nil && e.kind() != kindDir {
			r.claimed[e.inode()] = true
		}
	}
	var homes []home
	for _, p := range d.paths {
		if was := b.get(p); was != nil && was.kind() != kindDir {
			homes = append(homes, r.home(p, was)...)
		}
	}
	homes = r.keepClosed(homes)
	r.makeDirs(homes)
	r.clear(homes)
	for _, h := range homes {
		r.settle(h)
	}
	r.tellNext()
	r.finishDirs()
	return r.plan()
}

// home is where one file of the state before belongs: which names it has, and what is to be put there.
type home struct {
	want  *entry
	names []string // that get it; sorted
	keep  string   // a name that has it already
	from  string   // a path that holds it now, and must give it up
	slot  string   // staged
	write bool     // keep has the inode, but not the content
}

// home decides for the file that p names (once for all its names). None when there is nothing to do, or nothing can be done.
func (r *restorePlanner) home(p string, was *entry) []home {
	names := []string{p}
	if was.linked() && len(r.links[was.inode()]) > 1 {
		if r.groups[was.inode()] {
			return nil
		}
		r.groups[was.inode()] = true
		names = r.links[was.inode()]
	}
	h := home{want: was}
	now := r.n.get(p)
	switch {
	case suspicious(was, r.a.get(p)):
		r.uncovered[p] = true
		return nil
	case len(names) == 1 && now != nil && sameContent(was, now) && (now.inode() == was.inode() || !now.linked() && !r.claimed[now.inode()]):
		h.keep = p
		return []home{h}
	case r.rightAlready(names):
		h.keep = names[0]
		return []home{h}
	}
	for _, q := range r.here[was.inode()] {
		if sameContent(was, r.n.get(q)) && !slices.Contains(names, q) {
			h.from = q
			break
		}
	}
	for _, q := range names {
		e := r.n.get(q)
		switch has := e != nil && e.inode() == was.inode() && sameContent(was, e); {
		case has && (h.keep == "" || !r.d.has(h.keep) && r.d.has(q)):
			h.keep = q
		case !has && r.d.has(q):
			h.names = append(h.names, q)
		}
	}
	if h.keep != "" {
		h.from = ""
		return []home{h}
	}
	if h.from != "" {
		r.needed[h.from] = true
		return []home{h}
	}
	if !was.covered() {
		for _, q := range h.names {
			r.uncovered[q] = true
		}
		return nil
	}
	if was.kind() == kindFile && int(was.Nlink) > len(names) {
		for _, q := range h.names {
			if e := r.n.get(q); e != nil && e.kind() == kindFile && e.inode() == was.inode() {
				h.keep, h.write, h.slot = q, true, r.slot()
				h.names = slices.DeleteFunc(h.names, func(x string) bool {
					e := r.n.get(x)
					return e != nil && e.inode() == was.inode()
				})
				return []home{h}
			}
		}
	}
	h.slot = r.slot()
	r.stage[h.slot] = was
	return []home{h}
}

// rightAlready reports whether all names share one file that is as it was, with nobody else.
func (r *restorePlanner) rightAlready(names []string) bool {
	first := r.n.get(names[0])
	if first == nil || len(r.nowLinks[first.inode()]) != len(names) || r.claimed[first.inode()] && first.inode() != r.b.get(names[0]).inode() {
		return false
	}
	for _, p := range names {
		was, now := r.b.get(p), r.n.get(p)
		if now == nil || now.inode() != first.inode() || !sameState(was, now) || !sameTime(was, now) {
			return false
		}
	}
	return true
}

func (r *restorePlanner) slot() string {
	r.slots++
	return strconv.Itoa(r.slots)
}

func (r *restorePlanner) add(s step) {
	switch s.Do {
	case doMeta, doWrite:
	default:
		r.touched[parent(s.Path)] = true
		r.open(parent(s.Path))
	}
	r.steps[s.Do] = append(r.steps[s.Do], s)
}

// open makes a directory writable for a process that its mode would hold back.
func (r *restorePlanner) open(dir string) {
	e := r.n.get(dir)
	if r.may.root || e == nil || e.kind() != kindDir || e.perm()&0o700 == 0o700 || e.UID != r.may.uid ||
		slices.ContainsFunc(r.unlock, func(s step) bool { return s.Path == dir }) {
		return
	}
	want := *e
	want.Mode |= 0o700
	r.unlock = append(r.unlock, step{Do: doMeta, Path: dir, Was: e, Want: &want})
	r.touched[dir] = true
	if dir != "." {
		r.open(parent(dir))
	}
}

// keepClosed finds the directories that would have to go, but hold what was not looked at.
func (r *restorePlanner) keepClosed(homes []home) []home {
	for _, p := range r.d.paths {
		now := r.n.get(p)
		if now == nil || now.kind() != kindDir || !now.has(closed) {
			continue
		}
		if was := r.b.get(p); was != nil && was.kind() == kindDir {
			continue
		}
		r.uncovered[p], r.stays[p] = true, true
		ancestors(p, func(dir string) bool { r.stays[dir] = true; return true })
	}
	return slices.DeleteFunc(homes, func(h home) bool { // nothing can be put where such a directory stays
		if !slices.ContainsFunc(h.names, func(p string) bool { return r.stays[p] }) {
			return false
		}
		for _, p := range h.names {
			r.uncovered[p] = true
		}
		delete(r.stage, h.slot)
		delete(r.needed, h.from)
		return true
	})
}

// makeDirs makes the directories that were there, and those of ignored folders that something can be brought back to.
func (r *restorePlanner) makeDirs(homes []home) {
	needs := map[string]bool{}
	for _, h := range homes {
		for _, p := range h.names {
			ancestors(p, func(dir string) bool { needs[dir] = true; return true })
		}
	}
	for _, p := range r.d.paths {
		was, now := r.b.get(p), r.n.get(p)
		if was == nil || was.kind() != kindDir || now != nil && now.kind() == kindDir {
			continue
		}
		if was.has(watched) && !needs[p] {
			r.uncovered[p] = true
			continue
		}
		r.makes[p] = true
		r.add(step{Do: doMkdir, Path: p, Want: was})
	}
}

// clear moves away and removes what is where it was not before.
func (r *restorePlanner) clear(homes []home) {
	gets := map[string]home{}
	for _, h := range homes {
		for _, p := range h.names {
			gets[p] = h
		}
	}
	for _, p := range r.d.paths {
		was, now := r.b.get(p), r.n.get(p)
		h, get := gets[p]
		if now == nil || !r.needed[p] && (r.uncovered[p] || was != nil && !get && !r.makes[p]) {
			continue
		}
		if now.kind() == kindDir {
			if !r.stays[p] && (was == nil || was.kind() != kindDir) {
				r.add(step{Do: doRmdir, Path: p, Old: now.Ino, Was: now})
			}
			continue
		}
		if get && h.slot != "" && !h.write && h.names[0] == p && !r.needed[p] && r.may.exchange {
			continue // exchanged when it is settled
		}
		r.lifted[p] = r.slot()
		r.add(step{Do: doLift, Path: p, Slot: r.lifted[p], Old: now.Ino, Was: now})
	}
}

// settle puts a file where it belongs.
func (r *restorePlanner) settle(h home) {
	first := h.keep
	names := h.names
	var source *entry // what the metadata of the file are now; nil when it is staged with the right ones
	var file uint64
	switch {
	case h.keep != "":
		source = r.n.get(h.keep)
		file = source.Ino
		if h.write {
			r.add(step{Do: doWrite, Path: h.keep, Slot: h.slot, Old: file, New: file, Was: source, Want: h.want})
		}
	case h.from != "":
		first, source = names[0], r.n.get(h.from)
		file = source.Ino
		r.add(step{Do: doPlace, Path: first, Slot: r.lifted[h.from], New: file, Want: h.want})
		names = names[1:]
	default:
		first = names[0]
		now := r.n.get(first)
		if now != nil && now.kind() != kindDir && r.lifted[first] == "" {
			r.add(step{Do: doExchange, Path: first, Slot: h.slot, Old: now.Ino, Was: now, Want: h.want})
		} else {
			r.add(step{Do: doPlace, Path: first, Slot: h.slot, Want: h.want})
		}
		names = names[1:]
	}
	for _, p := range names {
		r.add(step{Do: doLink, Path: p, From: first, Slot: h.slot, New: file, Want: h.want})
	}
	if source == nil || h.keep != "" && !r.d.has(h.keep) {
		return
	}
	if h.write || source.perm() != h.want.perm() || source.UID != h.want.UID || source.GID != h.want.GID || !sameXattrs(source.Xattrs, h.want.Xattrs) || source.MTime != h.want.MTime {
		r.add(step{Do: doMeta, Path: first, Was: source, Want: h.want, WasTime: &source.MTime, WantTime: &h.want.MTime})
	}
}

// tellNext lets every lift know where what it lifts goes.
func (r *restorePlanner) tellNext() {
	to := map[string]string{}
	for _, s := range r.steps[doPlace] {
		to[s.Slot] = s.Path
	}
	for i := range r.steps[doLift] {
		s := &r.steps[doLift][i]
		s.Next = to[s.Slot]
	}
}

// finishDirs gives directories their metadata and times back: those that were made, that differ, or that the steps before touched.
func (r *restorePlanner) finishDirs() {
	paths := slices.Clone(r.d.times)
	for _, p := range r.d.paths {
		if e := r.b.get(p); e != nil && e.kind() == kindDir && !r.uncovered[p] {
			paths = append(paths, p)
		}
	}
	for p := range r.touched {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		was, ours, now := r.b.get(p), r.a.get(p), r.n.get(p)
		if now != nil && now.kind() != kindDir {
			now = nil
		}
		if was == nil || was.kind() != kindDir || now == nil && !r.makes[p] {
			continue // not there afterwards
		}
		s := step{Do: doMeta, Path: p, Was: now, Want: was, WantTime: &was.MTime}
		if now != nil {
			if !r.d.has(p) {
				s.Want = now // the attempt left its mode alone; others may have changed it
			}
			s.WasTime = &now.MTime
			if slices.ContainsFunc(r.unlock, func(u step) bool { return u.Path == p }) {
				open := *now // an undo needs it open until the last step is undone
				open.Mode |= 0o700
				s.Was = &open
			}
			if now.MTime != was.MTime && (ours == nil || now.MTime != ours.MTime) {
				s.WantTime = nil // something else changed the directory since: its time is theirs
			}
			if sameState(now, s.Want) && !r.touched[p] && (s.WantTime == nil || *s.WantTime == now.MTime) {
				continue
			}
		}
		r.dirs = append(r.dirs, s)
	}
	slices.SortStableFunc(r.dirs, func(x, y step) int { return cmp.Compare(depth(y.Path), depth(x.Path)) })
}

// plan puts the steps into their order.
func (r *restorePlanner) plan() plan {
	shallow := func(x, y step) int { return cmp.Compare(depth(x.Path), depth(y.Path)) }
	slices.SortStableFunc(r.unlock, shallow)
	slices.SortStableFunc(r.steps[doMkdir], shallow)
	slices.SortStableFunc(r.steps[doRmdir], func(x, y step) int { return shallow(y, x) })
	p := plan{Stage: r.stage, Steps: r.unlock}
	for _, do := range []doing{doLift, doWrite, doRmdir, doMkdir, doExchange, doPlace, doLink, doMeta} {
		p.Steps = append(p.Steps, r.steps[do]...)
	}
	p.Steps = append(p.Steps, r.dirs...)
	for u := range r.uncovered {
		p.Uncovered = append(p.Uncovered, u)
	}
	slices.Sort(p.Uncovered)
	return p
}
