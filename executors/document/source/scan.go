package source

import (
	"strings"
)

// Kind is what a token is.
type Kind int

// The kinds of tokens; everything else is code.
const (
	Comment Kind = iota
	String
	// Opaque is text in which nothing can be commented: the inside of a tag.
	Opaque
)

// Token is a comment or a string, in bytes.
type Token struct {
	Kind       Kind
	Start, End int
	// Language is that of the comment where it differs from the file's: a script in HTML.
	Language *Language
}

// Tokens finds the comments and strings of a text, in order.
func (l *Language) Tokens(src string) []Token {
	if l.scan != nil {
		return l.scan(src)
	}
	return l.marks(src, 0, len(src))
}

// marks scans by the language's marks.
func (l *Language) marks(src string, from, to int) []Token {
	var out []Token
	for i := from; i < to; {
		if end, ok := l.commentEnd(src, i, to); ok {
			out = append(out, Token{Kind: Comment, Start: i, End: end})
			i = end
			continue
		}
		if q, ok := quoteAt(l.strings, src[i:to]); ok {
			end := q.end(src, i, to)
			out = append(out, Token{Kind: String, Start: i, End: end})
			i = end
			continue
		}
		i++
	}
	return out
}

// commentEnd finds the end of a comment that begins at i; of a line comment that is the line's end, without its line feed.
func (l *Language) commentEnd(src string, i, to int) (int, bool) {
	if l.Open != "" && strings.HasPrefix(src[i:to], l.Open) {
		if j := strings.Index(src[i+len(l.Open):to], l.Close); j >= 0 {
			return i + len(l.Open) + j + len(l.Close), true
		}
		return to, true
	}
	for _, m := range l.Line {
		if strings.HasPrefix(src[i:to], m) && (!l.spaced || i == 0 || strings.IndexByte(" \t\n", src[i-1]) >= 0) {
			return lineEnd(src, i, to), true
		}
	}
	return 0, false
}

func lineEnd(src string, i, to int) int {
	if j := strings.IndexByte(src[i:to], '\n'); j >= 0 {
		return i + j
	}
	return to
}

func quoteAt(quotes []quote, s string) (quote, bool) {
	for _, q := range quotes {
		if strings.HasPrefix(s, q.open) {
			return q, true
		}
	}
	return quote{}, false
}

// end is behind a string that begins at i. One that may have only one line ends with it.
func (q quote) end(src string, i, to int) int {
	for i += len(q.open); i < to; i++ {
		switch {
		case q.escape && src[i] == '\\':
			i++ // also a line feed: the string goes on
		case strings.HasPrefix(src[i:to], q.close):
			return i + len(q.close)
		case !q.multi && src[i] == '\n':
			return i
		}
	}
	return to
}

// slashes are comments as C++ and JavaScript write them.
var slashes = &Language{Line: []string{"//"}, Open: "/*", Close: "*/"}

// scanCPP adds raw strings: R"x( … )x".
func scanCPP(src string) []Token {
	var out []Token
	for i := 0; i < len(src); {
		if end, ok := slashes.commentEnd(src, i, len(src)); ok {
			out = append(out, Token{Kind: Comment, Start: i, End: end})
			i = end
			continue
		}
		end := 0
		switch {
		case strings.HasPrefix(src[i:], `R"`):
			delim, _, ok := strings.Cut(src[i+2:min(len(src), i+2+17)], "(")
			if ok {
				end = len(src)
				if j := strings.Index(src[i:], ")"+delim+`"`); j >= 0 {
					end = i + j + len(delim) + 2
				}
			}
		case src[i] == '"':
			end = double.end(src, i, len(src))
		case src[i] == '\'' && (i == 0 || !isWord(src[i-1])): // not the separator of digits
			end = single.end(src, i, len(src))
		}
		if end > i {
			out = append(out, Token{Kind: String, Start: i, End: end})
			i = end
			continue
		}
		i++
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// scanJS knows templates with code inside, and regular expressions, which begin where a value is expected.
func scanJS(src string) []Token { return scanScript(src, 0, len(src)) }

func scanScript(src string, from, to int) []Token {
	var out []Token
	var templates []int           // for each open ${, how many braces are open in it
	value := true                 // a value is expected, so that / begins a regular expression
	word := [2]int{}              // where the last word stands
	template := func(i int) int { // from inside of a template to its end or its next ${
		for ; i < to; i++ {
			switch {
			case src[i] == '\\':
				i++
			case src[i] == '`':
				return i + 1
			case strings.HasPrefix(src[i:to], "${"):
				templates = append(templates, 0)
				return i + 2
			}
		}
		return to
	}
	for i := from; i < to; {
		c := src[i]
		switch {
		case strings.HasPrefix(src[i:to], "//"), strings.HasPrefix(src[i:to], "/*"):
			end, _ := slashes.commentEnd(src, i, to)
			out = append(out, Token{Kind: Comment, Start: i, End: end})
			i = end
			continue
		case c == '"', c == '\'':
			q := double
			q.open, q.close = string(c), string(c)
			end := q.end(src, i, to)
			out = append(out, Token{Kind: String, Start: i, End: end})
			i, value, word = end, false, [2]int{}
			continue
		case c == '`':
			end := template(i + 1)
			out = append(out, Token{Kind: String, Start: i, End: end})
			i, value, word = end, strings.HasSuffix(src[i:end], "${"), [2]int{}
			continue
		case c == '}' && len(templates) > 0 && templates[len(templates)-1] == 0:
			templates = templates[:len(templates)-1]
			end := template(i + 1)
			out = append(out, Token{Kind: String, Start: i, End: end})
			i, value, word = end, strings.HasSuffix(src[i:end], "${"), [2]int{}
			continue
		case c == '/' && (value || valueFollows[src[word[0]:word[1]]]):
			end := regexpEnd(src, i, to)
			if end > i {
				out = append(out, Token{Kind: String, Start: i, End: end})
				i, value, word = end, false, [2]int{}
				continue
			}
		case c == '{' && len(templates) > 0:
			templates[len(templates)-1]++
		case c == '}' && len(templates) > 0:
			templates[len(templates)-1]--
		}
		switch {
		case isWord(c):
			if i == from || !isWord(src[i-1]) {
				word[0] = i
			}
			word[1] = i + 1
			value = false
		case c == ' ', c == '\t', c == '\n', c == '\r':
		default:
			value, word = c != ')' && c != ']' && c != '}', [2]int{}
		}
		i++
	}
	return out
}

// valueFollows are the words behind which a value stands, although they are words.
var valueFollows = map[string]bool{"return": true, "typeof": true, "case": true, "in": true, "of": true, "delete": true, "void": true, "throw": true, "new": true,
	"do": true, "else": true, "yield": true, "await": true, "instanceof": true}

// maxRegexp bounds how far the end of a regular expression is looked for, so that a long line costs no more than its length.
const maxRegexp = 4096

// regexpEnd is behind a regular expression that begins at i; i when there is none in this line.
func regexpEnd(src string, i, to int) int {
	class := false
	for j := i + 1; j < min(to, i+maxRegexp) && src[j] != '\n'; j++ {
		switch {
		case src[j] == '\\':
			j++
		case src[j] == '[':
			class = true
		case src[j] == ']':
			class = false
		case src[j] == '/' && !class:
			return j + 1
		}
	}
	return i
}

// scanShell knows heredocs, and that # begins a comment only at the start of a word.
func scanShell(src string) []Token {
	var out []Token
	var docs []heredoc // announced in this line
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '\\':
			i += 2
			continue
		case c == '#' && (i == 0 || strings.IndexByte(" \t\n;|&()", src[i-1]) >= 0):
			end := lineEnd(src, i, len(src))
			out = append(out, Token{Kind: Comment, Start: i, End: end})
			i = end
			continue
		case c == '"', c == '\'':
			q := doubleML
			if c == '\'' {
				q = singleML
				q.escape = i > 0 && src[i-1] == '$' // $'…'
			}
			end := q.end(src, i, len(src))
			out = append(out, Token{Kind: String, Start: i, End: end})
			i = end
			continue
		case strings.HasPrefix(src[i:], "<<<"):
			i += 3
			continue
		case strings.HasPrefix(src[i:], "<<"):
			d, n := heredocAt(src[i:])
			if n > 0 {
				docs = append(docs, d)
				i += n
				continue
			}
		case c == '\n' && len(docs) > 0: // the line feed belongs to the document: what is inserted behind it is in it
			for _, d := range docs {
				end := d.end(src, min(i+1, len(src)))
				out = append(out, Token{Kind: String, Start: i, End: end})
				i = end
			}
			docs = nil
			continue
		}
		i++
	}
	return out
}

type heredoc struct {
	word string
	tabs bool
}

// heredocAt reads <<WORD, <<-WORD, <<'WORD'.
func heredocAt(s string) (heredoc, int) {
	var d heredoc
	i := 2
	if i < len(s) && s[i] == '-' {
		d.tabs = true
		i++
	}
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	for ; i < len(s) && strings.IndexByte(" \t\n;|&<>()", s[i]) < 0; i++ {
		if s[i] != '\'' && s[i] != '"' && s[i] != '\\' {
			d.word += string(s[i])
		}
	}
	if d.word == "" || d.word[0] >= '0' && d.word[0] <= '9' { // 1 << 2 in arithmetic
		return d, 0
	}
	return d, i
}

// end is behind the line that ends the document.
func (d heredoc) end(src string, i int) int {
	for i < len(src) {
		end := lineEnd(src, i, len(src))
		line := src[i:end]
		if d.tabs {
			line = strings.TrimLeft(line, "\t")
		}
		i = min(end+1, len(src))
		if line == d.word {
			return end
		}
	}
	return len(src)
}

// scanYAML knows block scalars, and that quotes and # mean something only where a value or a word begins.
func scanYAML(src string) []Token {
	var out []Token
	scalar, indent := false, 0 // inside of a block scalar whose key is indented so far
	for start := 0; start < len(src); {
		end := lineEnd(src, start, len(src))
		line := src[start:end]
		width := len(line) - len(strings.TrimLeft(line, " "))
		if scalar {
			if strings.TrimSpace(line) == "" || width > indent {
				out = append(out, Token{Kind: String, Start: start - 1, End: end}) // with the line feed before it, as with heredocs
				start = end + 1
				continue
			}
			scalar = false
		}
		next := end + 1
		begins := true // a value may begin here
		text := start
		for i := start; i < end; {
			c := src[i]
			switch {
			case c == '#' && (i == start || src[i-1] == ' ' || src[i-1] == '\t'):
				out = append(out, Token{Kind: Comment, Start: i, End: end})
				i = end
				continue
			case begins && (c == '"' || c == '\''):
				q := doubleML
				if c == '\'' {
					q = singleML // '' is two strings, one behind the other
				}
				stop := q.end(src, i, len(src))
				out = append(out, Token{Kind: String, Start: i, End: stop})
				i, text = stop, stop
				if stop > end { // it had several lines
					end = lineEnd(src, stop, len(src))
					next = end + 1
				}
				begins = c == '\''
				continue
			}
			switch c {
			case ' ', '\t':
			case ':', ',', '[', '{', '-', '?', '!', '&', '*':
				begins = true
			default:
				begins = false
			}
			if c != ' ' && c != '\t' {
				text = i + 1
			}
			i++
		}
		scalar = opensScalar(src[start:max(start, min(text, end))])
		indent = width
		if scalar && strings.HasPrefix(strings.TrimLeft(line, " "), "- ") { // the key of an item stands behind its dashes
			for rest := line[width:]; strings.HasPrefix(rest, "- ") && strings.Contains(rest, ":"); rest = rest[2:] {
				indent += 2
			}
		}
		start = next
	}
	return out
}

// opensScalar reports whether a line, its comment taken away, ends with the mark of a block scalar.
func opensScalar(line string) bool {
	line = strings.TrimRight(line, " \t")
	i := strings.LastIndexAny(line, " \t")
	mark := line[i+1:]
	if mark == "" || mark[0] != '|' && mark[0] != '>' || strings.Trim(mark[1:], "+-0123456789") != "" {
		return false
	}
	before := strings.TrimRight(line[:i+1], " \t")
	return before == "" || strings.HasSuffix(before, ":") || strings.HasSuffix(before, "-") || strings.Contains(before, "!") || strings.Contains(before, "&")
}

// scanHTML knows tags, scripts and styles.
func scanHTML(src string) []Token { return scanMarkup(src, true) }

// scanXML knows tags and CDATA.
func scanXML(src string) []Token { return scanMarkup(src, false) }

func scanMarkup(src string, html bool) []Token {
	var out []Token
	for i := 0; i < len(src); {
		if src[i] != '<' {
			i++
			continue
		}
		end := len(src)
		upTo := func(mark string) int {
			if j := strings.Index(src[i:], mark); j >= 0 {
				return i + j + len(mark)
			}
			return len(src)
		}
		switch {
		case strings.HasPrefix(src[i:], "<!--"):
			if j := strings.Index(src[i+4:], "-->"); j >= 0 {
				end = i + 4 + j + 3
			}
			out = append(out, Token{Kind: Comment, Start: i, End: end})
		case !html && strings.HasPrefix(src[i:], "<![CDATA["):
			end = upTo("]]>")
			out = append(out, Token{Kind: String, Start: i, End: end})
		case i+1 < len(src) && (isWord(src[i+1]) || src[i+1] == '/' || src[i+1] == '!' || src[i+1] == '?'):
			end = tagEnd(src, i)
			out = append(out, Token{Kind: Opaque, Start: i, End: end})
			if !html {
				break
			}
			if stop, lang, ok := rawText(src, i, end); ok {
				out = append(out, embedded(src, end, stop, lang)...)
				end = stop
			}
		default:
			end = i + 1
		}
		i = end
	}
	return out
}

// rawText is the content of an element whose content holds no tags, when its start tag lies from open to end: it goes from there to stop, and
// is of a language, or nil for plain text.
func rawText(src string, open, end int) (stop int, lang *Language, ok bool) {
	for _, e := range []struct {
		name string
		lang *Language
	}{{"script", jsLang}, {"style", cssLang}, {"textarea", nil}, {"title", nil}} {
		if !tagIs(src[open:], e.name) {
			continue
		}
		if j := closingTag(src[end:], e.name); j >= 0 {
			return end + j, e.lang, true
		}
		return len(src), e.lang, true
	}
	return 0, nil, false
}

// embedded are the tokens of what stands inside of a script or a style; of what is plain text it is a string.
func embedded(src string, from, to int, l *Language) []Token {
	if l == nil {
		return []Token{{Kind: String, Start: from, End: to}}
	}
	var tokens []Token
	if l == jsLang {
		tokens = scanScript(src, from, to)
	} else {
		tokens = l.marks(src, from, to)
	}
	for i := range tokens {
		tokens[i].Language = l
	}
	return tokens
}

// closingTag is where </name stands; -1 when it does not.
func closingTag(s, name string) int {
	for i := 0; ; i += 2 {
		j := strings.Index(s[i:], "</")
		if j < 0 {
			return -1
		}
		i += j
		if rest := s[i+2:]; len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) {
			return i
		}
	}
}

func tagIs(s, name string) bool {
	if len(s) < len(name)+2 || !strings.EqualFold(s[1:1+len(name)], name) {
		return false
	}
	return !isWord(s[1+len(name)])
}

// tagEnd is behind the > of a tag; one inside of quotes does not count.
func tagEnd(src string, i int) int {
	var in byte
	for ; i < len(src); i++ {
		switch c := src[i]; {
		case in != 0:
			if c == in {
				in = 0
			}
		case c == '"' || c == '\'':
			in = c
		case c == '>':
			return i + 1
		}
	}
	return len(src)
}

// languageAt is the language in which a comment at this place is written: in HTML, that of the script or style around it; nil inside of text
// that takes none.
func (l *Language) languageAt(src string, offset int) *Language {
	if l != htmlLang {
		return l
	}
	for i := 0; i < len(src); {
		j := strings.IndexByte(src[i:], '<')
		if j < 0 || i+j >= offset {
			return l
		}
		i += j
		switch {
		case strings.HasPrefix(src[i:], "<!--"):
			end := strings.Index(src[i+4:], "-->")
			if end < 0 {
				return l
			}
			i += 4 + end + 3
			continue
		case i+1 >= len(src) || !isWord(src[i+1]):
			i++
			continue
		}
		end := tagEnd(src, i)
		if stop, lang, ok := rawText(src, i, end); ok {
			if offset >= end && offset <= stop && stop > end {
				return lang
			}
			end = stop
		}
		i = max(end, i+1)
	}
	return l
}
