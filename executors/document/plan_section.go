package document

import (
	"strings"

	"toolsvc/executors/document/files"
	"toolsvc/executors/document/markdown"
	"toolsvc/executors/document/textfile"
	gen "toolsvc/gen/toolsets/document"
	"toolsvc/tool"
)

// planWriteSection writes what is below a heading, or creates the heading.
func planWriteSection(m *model, p *gen.WriteSectionPayload) (*change, error) {
	if !m.isMD {
		return nil, tool.Failf(tool.PreconditionFailed, "%s is %s, not Markdown (.md), so it has no sections. Use replace, insert or write.", m.file.Path, m.format)
	}
	content := strings.Trim(textfile.Normalize(p.Content), "\n")
	var found []int
	if m.file.Exists {
		found = m.markdown().Find(p.Heading)
	}
	if len(found) == 0 && p.Nth == nil {
		if p.IfMissing == "refuse" {
			if m.file.Exists {
				_, err := m.heading(p.Heading, nil)
				return nil, err
			}
			return nil, missingFile(m, nil)
		}
		return planNewSection(m, p, content)
	}
	it, err := m.heading(p.Heading, p.Nth)
	if err != nil {
		return nil, err
	}
	return replaceSection(m, p, it, content)
}

// begins reports whether a content begins with the heading of a title, and of which level that is.
func begins(content, title string) (level int, ok bool) {
	md := markdown.Parse(content)
	if len(md.Sections) == 0 || md.Sections[0].Start != 0 {
		return 0, false
	}
	s := md.Sections[0]
	return s.Level, s.Title == title || s.Source == title
}

// replaceSection replaces what is below a heading that is there. The blank lines around it stay as they were.
func replaceSection(m *model, p *gen.WriteSectionPayload, it item, content string) (*change, error) {
	src := m.src()
	end := it.end
	if p.KeepSubsections {
		end = it.own
	}
	e := edit{start: it.body, end: end, text: content}
	if level, ok := begins(content, it.title); ok {
		if level != it.level {
			return nil, tool.Failf(tool.PreconditionFailed, "The content begins with the heading %q of level %d, but that of %s is of level %d. Leave the heading out, or write it with %s.",
				it.title, level, m.file.Path, it.level, strings.Repeat("#", it.level))
		}
		e.start = it.start
	}
	old := src[e.start:e.end]
	inner := strings.Trim(old, "\n")
	if e.start == it.body {
		switch {
		case e.start > 0 && src[e.start-1] != '\n': // the heading is the last line, and not ended
			e.lead = "\n\n"
		case inner == "" || strings.HasPrefix(old, "\n"):
			e.lead = "\n"
		}
	}
	switch {
	case inner != "":
		e.trail = old[len(strings.TrimRight(old, "\n")):]
	case e.end < len(src):
		e.trail = "\n\n"
	case strings.HasSuffix(src, "\n"):
		e.trail = "\n"
	}
	if content == "" {
		e.lead, e.trail = "", ""
		if e.end < len(src) {
			e.trail = "\n"
		}
	}
	c, err := makeChange(m, e)
	if err != nil {
		return nil, err
	}
	c.heading, c.level = it.path, it.level
	return c, nil
}

// planNewSection creates a heading with its text.
func planNewSection(m *model, p *gen.WriteSectionPayload, content string) (*change, error) {
	name := strings.TrimSpace(p.Heading)
	hashes := len(name) - len(strings.TrimLeft(name, "#"))
	if hashes > 6 || hashes > 0 && !strings.HasPrefix(name[hashes:], " ") {
		hashes = 0
	}
	name = strings.TrimSpace(name[hashes:])
	parent, title := "", name
	if i := strings.LastIndex(name, markdown.Separator); i >= 0 {
		parent, title = name[:i], strings.TrimSpace(name[i+len(markdown.Separator):])
	}
	if title == "" || strings.Contains(title, "\n") {
		return nil, tool.Failf(tool.PreconditionFailed, "%q cannot be a heading.", p.Heading)
	}
	at, level, err := newSectionPlace(m, p, parent)
	if err != nil {
		return nil, err
	}
	given, included := begins(content, title)
	switch {
	case p.Level != nil:
		level = *p.Level
	case hashes > 0:
		level = hashes
	case included:
		level = given
	}
	if included && given != level {
		return nil, tool.Failf(tool.PreconditionFailed, "The content begins with the heading %q of level %d, but it is to be created with level %d. Leave the heading out, or write it with %s.",
			title, given, level, strings.Repeat("#", level))
	}
	if level > 6 {
		return nil, tool.Failf(tool.PreconditionFailed, "A heading below %q would have level %d; Markdown has 6.", parent, level)
	}
	src := m.src()
	e := edit{start: at, end: at, text: content, lead: gap(src[:at], at > 0), trail: "\n"}
	if !included {
		e.lead += strings.Repeat("#", level) + " " + title + "\n"
		if content != "" {
			e.lead += "\n"
		} else {
			e.trail = ""
		}
	}
	switch {
	case at < len(src):
		e.trail += "\n"
	case src != "" && !strings.HasSuffix(src, "\n"):
		e.trail = ""
		if content == "" {
			e.lead = strings.TrimSuffix(e.lead, "\n")
		}
	}
	c, err := newSectionChange(m, e)
	if err != nil {
		return nil, err
	}
	start := at + len(gap(src[:at], at > 0))
	for _, s := range newModel(&files.File{Path: m.file.Path, Exists: true, Data: c.data}).markdown().Sections {
		if s.Start == start {
			c.heading, c.level, c.sectionCreated = s.Path, s.Level, true
			if s.Title != title && s.Source != title {
				return nil, tool.Failf(tool.PreconditionFailed, "The heading %q would be read as %q. Write its markup as it is to be.", title, s.Title)
			}
			if parent != "" && !strings.HasSuffix(s.Path, parent+markdown.Separator+s.Title) {
				return nil, tool.Failf(tool.PreconditionFailed, "With level %d the heading would not be below %q but be %q. Leave level out, or name another place.", level, parent, s.Path)
			}
			return c, nil
		}
	}
	return nil, tool.Failf(tool.PreconditionFailed, "A heading put there would not be one: the place is inside of fenced code or the like, which is left open before it.")
}

// newSectionChange is makeChange also for a file that is not there yet.
func newSectionChange(m *model, e edit) (*change, error) {
	if m.file.Exists {
		return makeChange(m, e)
	}
	if err := storable(e.all(), 0); err != nil {
		return nil, err
	}
	return finishChange(&change{before: m, edits: []edit{e}, after: textfile.New(e.all()), creating: true})
}

// newSectionPlace finds where a heading is created, and of which level.
func newSectionPlace(m *model, p *gen.WriteSectionPayload, parent string) (at, level int, err error) {
	var under *item
	at = len(m.src())
	level = topLevel(m)
	if parent != "" {
		if !m.file.Exists {
			return 0, 0, tool.Failf(tool.TargetNotFound, "There is no %s yet, so there is no heading %q in it.", m.file.Path, parent)
		}
		it, err := m.heading(parent, nil)
		if err != nil {
			return 0, 0, err
		}
		under, at, level = &it, it.end, it.level+1
	}
	for _, sibling := range []struct {
		name *string
		end  bool
	}{{p.After, true}, {p.Before, false}} {
		if sibling.name == nil {
			continue
		}
		if !m.file.Exists {
			return 0, 0, tool.Failf(tool.TargetNotFound, "There is no %s yet, so there is no heading %q in it.", m.file.Path, *sibling.name)
		}
		it, err := m.heading(*sibling.name, nil)
		if err != nil {
			return 0, 0, err
		}
		if under != nil && (it.start < under.start || it.end > under.end) {
			return 0, 0, tool.Failf(tool.PreconditionFailed, "The heading %q is not below %q.", *sibling.name, parent)
		}
		at = it.start
		if sibling.end {
			at = it.end
		}
		level = it.level
	}
	return at, level, nil
}

// topLevel is the level of a heading without a parent: that of the others at the top. One heading of level 1 that begins the text is its title,
// and the others are below it.
func topLevel(m *model) int {
	if !m.file.Exists || len(m.markdown().Sections) == 0 {
		return 1
	}
	ones, least := 0, 6
	for _, s := range m.markdown().Sections {
		if s.Level == 1 {
			ones++
		}
		least = min(least, s.Level)
	}
	if first := m.markdown().Sections[0]; ones == 1 && first.Level == 1 && len(m.markdown().Sections) > 1 {
		return 2
	}
	return least
}
