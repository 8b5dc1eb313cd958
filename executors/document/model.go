package document

import (
	"path"
	"strings"
	"sync"

	"toolsvc/executors/document/files"
	"toolsvc/executors/document/markdown"
	"toolsvc/executors/document/source"
	"toolsvc/executors/document/textfile"
)

// model is a file and what it consists of. It is immutable; what is costly is found out when it is asked for.
type model struct {
	file *files.File
	// text is nil when there is no file, or notText says why it is none.
	text    *textfile.Text
	notText error
	format  string
	lang    *source.Language // nil when it is not known
	isMD    bool

	mdOnce  sync.Once
	md      *markdown.Model
	symOnce sync.Once
	syms    []source.Symbol
}

const formatText, formatMarkdown = "text", "markdown"

// newModel takes a file apart as far as that is cheap.
func newModel(f *files.File) *model {
	m := &model{file: f, format: formatText}
	src := ""
	if f.Exists {
		if m.text, m.notText = textfile.Decode(f.Data); m.text != nil {
			src = m.text.LF
		}
	}
	switch strings.ToLower(path.Ext(f.Path)) {
	case ".md", ".markdown", ".mdown", ".mkd":
		m.format, m.isMD = formatMarkdown, true
		return m
	}
	if m.lang = source.Of(f.Path, src); m.lang != nil {
		m.format = m.lang.Name
	}
	return m
}

// markdown is the model of Markdown; that of an empty text when there is none.
func (m *model) markdown() *markdown.Model {
	m.mdOnce.Do(func() { m.md = markdown.Parse(m.src()) })
	return m.md
}

// symbols are those of a source file.
func (m *model) symbols() []source.Symbol {
	m.symOnce.Do(func() {
		if m.lang != nil && m.text != nil {
			m.syms = m.lang.Symbols(m.src())
		}
	})
	return m.syms
}

// src is the text with a line feed for every line ending; "" when there is none.
func (m *model) src() string {
	if m.text == nil {
		return ""
	}
	return m.text.LF
}

// models keeps the models of files that were looked at, so that looking again at what did not change costs nothing.
type models struct {
	mu    sync.Mutex
	byKey map[string]*model
	order []string
	size  int // of the files, in bytes
}

func (c *models) of(f *files.File) *model {
	if !f.Exists {
		return newModel(f)
	}
	key := f.Path + "\x00" + f.Digest
	c.mu.Lock()
	m := c.byKey[key]
	c.mu.Unlock()
	if m != nil {
		if m.file.Mode == f.Mode {
			return m
		}
		again := &model{file: f, text: m.text, notText: m.notText, format: m.format, lang: m.lang, isMD: m.isMD}
		return again
	}
	m = newModel(f)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = map[string]*model{}
	}
	if c.byKey[key] == nil {
		c.order = append(c.order, key)
		c.size += len(f.Data)
		c.byKey[key] = m
	}
	for len(c.order) > 1 && (len(c.order) > maxModels || c.size > maxRemembered) {
		c.size -= len(c.byKey[c.order[0]].file.Data)
		delete(c.byKey, c.order[0])
		c.order = c.order[1:]
	}
	return m
}
