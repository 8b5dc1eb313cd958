package document

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"toolsvc/tool"
)

// The kinds of links.
const (
	linkFile   = "file"
	linkAnchor = "anchor"
	linkWeb    = "web"
	linkMail   = "mail"
	linkOther  = "other"
)

// linkKind tells what a target leads to, and takes one that leads to a file apart.
func linkKind(target string) (kind, file, anchor string) {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return linkOther, "", ""
	case u.Scheme == "http", u.Scheme == "https", u.Scheme == "" && u.Host != "":
		return linkWeb, "", ""
	case u.Scheme == "mailto":
		return linkMail, "", ""
	case u.Scheme != "":
		return linkOther, "", ""
	case u.Path == "" && target == "" || u.Path == "" && strings.HasPrefix(target, "#"):
		return linkAnchor, "", u.Fragment
	case u.Path == "": // only a query
		return linkOther, "", ""
	}
	return linkFile, u.Path, u.Fragment
}

// linkValues are the links of a document. Whether they lead somewhere is looked up only on request.
func (x *Executor) linkValues(m *model, needs tool.Needs, v map[string]any, title func(int) string) []any {
	check := &linkCheck{x: x, from: m, models: map[string]*model{}}
	var links, broken []any
	for _, l := range m.markdown().Links[:min(len(m.markdown().Links), maxListed)] {
		kind, file, anchor := linkKind(l.Target)
		line := m.text.Line(l.At)
		one := map[string]any{"text": clip(l.Text, 200), "target": clip(l.Target, 1000), "kind": kind, "line": line, "section": title(l.Section)}
		if needs.Links && (kind == linkFile || kind == linkAnchor) {
			if problem, known := check.look(file, anchor); known {
				one["resolves"] = problem == ""
				if problem != "" {
					one["problem"] = clip(problem, 300)
					broken = append(broken, fmt.Sprintf("%s, line %d: %s", clip(l.Target, 200), line, clip(problem, 300)))
				}
			}
		}
		links = append(links, one)
	}
	if needs.Links && !check.tired {
		v["broken_links"] = orEmpty(broken)
	}
	return orEmpty(links)
}

// linkCheck looks up where links lead, each file once.
type linkCheck struct {
	x      *Executor
	from   *model
	models map[string]*model
	tired  bool // too many files: what was not looked at is not known
}

// look says what is wrong with a link, "" when nothing is; known is false when that was not looked up.
func (c *linkCheck) look(file, anchor string) (problem string, known bool) {
	to := c.from
	if file != "" {
		at := path.Join(path.Dir(c.from.file.Path), file)
		if strings.HasPrefix(file, "/") {
			at = path.Clean(strings.TrimLeft(file, "/")) // from the workspace's root, as hosts of repositories read it
		}
		if strings.HasPrefix(at, "../") || at == ".." {
			return "it leads out of the workspace", true
		}
		exists, dir, err := c.x.root.Stat(at)
		switch {
		case err != nil:
			return "it cannot be looked up: " + tool.AsFailed(err).Message, true
		case !exists:
			return "there is no " + at, true
		case dir || anchor == "":
			return "", true
		}
		if to = c.models[at]; to == nil {
			if len(c.models) >= maxLinkedFiles {
				c.tired = true
				return "", false
			}
			f, err := c.x.root.Read(at)
			if err != nil {
				return "it cannot be read: " + tool.AsFailed(err).Message, true
			}
			to = c.x.models.of(f)
			c.models[at] = to
		}
	}
	if !to.isMD || anchor == "" { // what an anchor means elsewhere (#L10) is not ours to say
		return "", true
	}
	if a := to.markdown().Anchors; a[anchor] || a[strings.ToLower(anchor)] {
		return "", true
	}
	return fmt.Sprintf("there is no heading or anchor #%s in %s", anchor, to.file.Path), true
}
