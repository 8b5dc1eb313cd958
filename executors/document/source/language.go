package source

import (
	"path"
	"strings"
)

// Language is how a language writes comments and strings.
type Language struct {
	Name string
	// Line are the marks of comments that end with the line, the usual one first; none for languages that have only block comments.
	Line []string
	// Open and Close are the marks of block comments; "" when there are none.
	Open, Close string
	// strings are the delimiters of texts, the longest first.
	strings []quote
	// spaced: a line comment begins only behind a space or at the start of a line.
	spaced bool
	// continued: a backslash at the end of a line joins the next one to it.
	continued bool
	// scan finds the tokens, for languages that need more than marks.
	scan func(src string) []Token
}

type quote struct {
	open, close string
	escape      bool // a backslash takes the meaning of what follows
	multi       bool // may have several lines
}

// Block reports whether comments can only be written as blocks.
func (l *Language) Block() bool { return len(l.Line) == 0 }

var (
	double   = quote{open: `"`, close: `"`, escape: true}
	single   = quote{open: "'", close: "'", escape: true}
	doubleML = quote{open: `"`, close: `"`, escape: true, multi: true}
	singleML = quote{open: "'", close: "'", multi: true}
)

var (
	goLang     = &Language{Name: "go", Line: []string{"//"}, Open: "/*", Close: "*/", strings: []quote{{open: "`", close: "`", multi: true}, double, single}}
	cLang      = &Language{Name: "c", Line: []string{"//"}, Open: "/*", Close: "*/", strings: []quote{double, single}, continued: true}
	cppLang    = &Language{Name: "cpp", Line: []string{"//"}, Open: "/*", Close: "*/", continued: true, scan: scanCPP}
	javaLang   = &Language{Name: "java", Line: []string{"//"}, Open: "/*", Close: "*/", strings: []quote{{open: `"""`, close: `"""`, escape: true, multi: true}, double, single}}
	jsLang     = &Language{Name: "javascript", Line: []string{"//"}, Open: "/*", Close: "*/", scan: scanJS}
	tsLang     = &Language{Name: "typescript", Line: []string{"//"}, Open: "/*", Close: "*/", scan: scanJS}
	pythonLang = &Language{Name: "python", Line: []string{"#"}, continued: true, strings: []quote{
		{open: `"""`, close: `"""`, escape: true, multi: true}, {open: "'''", close: "'''", escape: true, multi: true}, double, single}}
	shellLang = &Language{Name: "shell", Line: []string{"#"}, continued: true, scan: scanShell}
	yamlLang  = &Language{Name: "yaml", Line: []string{"#"}, scan: scanYAML}
	htmlLang  = &Language{Name: "html", Open: "<!--", Close: "-->", scan: scanHTML}
	xmlLang   = &Language{Name: "xml", Open: "<!--", Close: "-->", scan: scanXML}
	cssLang   = &Language{Name: "css", Open: "/*", Close: "*/", strings: []quote{double, single}}
	sqlLang   = &Language{Name: "sql", Line: []string{"--"}, Open: "/*", Close: "*/", strings: []quote{{open: "'", close: "'", multi: true}, {open: `"`, close: `"`, multi: true}}}
	tomlLang  = &Language{Name: "toml", Line: []string{"#"}, strings: []quote{
		{open: `"""`, close: `"""`, escape: true, multi: true}, {open: "'''", close: "'''", multi: true}, double, {open: "'", close: "'"}}}
	protoLang = &Language{Name: "protobuf", Line: []string{"//"}, Open: "/*", Close: "*/", strings: []quote{double, single}}
	makeLang  = &Language{Name: "makefile", Line: []string{"#"}, spaced: true, continued: true}
	confLang  = &Language{Name: "config", Line: []string{"#"}, spaced: true}
	iniLang   = &Language{Name: "ini", Line: []string{";", "#"}, spaced: true}
	jsonLang  = &Language{Name: "json", strings: []quote{double}}
)

var byExtension = map[string]*Language{
	".go": goLang, ".py": pythonLang, ".pyi": pythonLang, ".js": jsLang, ".mjs": jsLang, ".cjs": jsLang, ".ts": tsLang, ".mts": tsLang, ".cts": tsLang,
	".c": cLang, ".h": cLang, ".cc": cppLang, ".cpp": cppLang, ".cxx": cppLang, ".hpp": cppLang, ".hh": cppLang, ".java": javaLang,
	".sh": shellLang, ".bash": shellLang, ".html": htmlLang, ".htm": htmlLang, ".xml": xmlLang, ".svg": xmlLang, ".yaml": yamlLang, ".yml": yamlLang,
	".css": cssLang, ".sql": sqlLang, ".toml": tomlLang, ".proto": protoLang, ".mk": makeLang, ".ini": iniLang, ".json": jsonLang,
}

var byName = map[string]*Language{
	"makefile": makeLang, "gnumakefile": makeLang, "dockerfile": confLang, "containerfile": confLang, ".gitignore": confLang, ".dockerignore": confLang,
	".bashrc": shellLang, ".profile": shellLang, ".bash_profile": shellLang, "go.mod": {Name: "gomod", Line: []string{"//"}},
}

// Of is the language of a file, by its name, or by the interpreter in its first line; nil when it is not known.
func Of(name, src string) *Language {
	base := strings.ToLower(path.Base(name))
	if l := byName[base]; l != nil {
		return l
	}
	if l := byExtension[path.Ext(base)]; l != nil {
		return l
	}
	first, _, _ := strings.Cut(src, "\n")
	if strings.HasPrefix(first, "#!") && path.Ext(base) == "" {
		switch {
		case strings.Contains(first, "python"):
			return pythonLang
		case strings.Contains(first, "node"):
			return jsLang
		case strings.HasSuffix(strings.Fields(first + " x")[0], "sh"), strings.Contains(first, " bash"), strings.Contains(first, " sh"):
			return shellLang
		}
	}
	return nil
}

// Names lists the languages whose comments can be written.
func Names() []string {
	return []string{"C", "C++", "CSS", "Go", "HTML", "Java", "JavaScript", "Makefile", "Protocol Buffers", "Python", "shell", "SQL", "TOML", "TypeScript", "XML", "YAML"}
}
