package verification

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// The names behind document(path) and before_document(path), which callers cannot spell, and the functions on documents.
const (
	documentsAfter   = "@documents"
	documentsBefore  = "@documents_before"
	lookupDocument   = "@document"
	sectionOf        = "section"
	unchangedOutside = "unchanged_outside"
	textDigest       = "text_digest"
)

// maxDocuments is how many documents the conditions of one call may ask for by path.
const maxDocuments = 50

// The objects of a document. docs/reference/conditions.md describes the fields.
var (
	countsObject = newObject("the counts", map[string]*cel.Type{
		"headings": cel.IntType, "paragraphs": cel.IntType, "lists": cel.IntType, "items": cel.IntType, "tables": cel.IntType,
		"images": cel.IntType, "links": cel.IntType, "fences": cel.IntType, "quotes": cel.IntType,
	})
	sectionObject = newObject("a section", map[string]*cel.Type{
		"exists": cel.BoolType, "title": cel.StringType, "level": cel.IntType, "path": cel.StringType, "parent": cel.StringType,
		"line": cel.IntType, "end_line": cel.IntType, "words": cel.IntType, "chars": cel.IntType, "text": cel.StringType,
		"parts": cel.ListType(cel.StringType), "subsections": cel.ListType(cel.StringType), "languages": cel.ListType(cel.StringType),
		"counts": countsObject.celType(), "digest": cel.StringType,
	})
	fenceObject = newObject("a fence", map[string]*cel.Type{
		"language": cel.StringType, "line": cel.IntType, "end_line": cel.IntType, "closed": cel.BoolType, "section": cel.StringType,
	})
	linkObject = newObject("a link", map[string]*cel.Type{
		"text": cel.StringType, "target": cel.StringType, "kind": cel.StringType, "line": cel.IntType, "section": cel.StringType,
		"resolves": cel.BoolType, "problem": cel.StringType,
	})
	commentObject = newObject("a comment", map[string]*cel.Type{"text": cel.StringType, "line": cel.IntType, "end_line": cel.IntType})
	symbolObject  = newObject("a symbol", map[string]*cel.Type{"name": cel.StringType, "kind": cel.StringType, "line": cel.IntType, "end_line": cel.IntType})
	touchedObject = newObject("a touched place", map[string]*cel.Type{
		"line": cel.IntType, "end_line": cel.IntType, "text": cel.StringType, "digest": cel.StringType,
	})
	documentObject = newObject("a document", map[string]*cel.Type{
		"path": cel.StringType, "exists": cel.BoolType, "digest": cel.StringType, "format": cel.StringType, "encoding": cel.StringType,
		"bom": cel.BoolType, "line_endings": cel.StringType, "final_newline": cel.BoolType, "mode": cel.StringType, "size": cel.IntType,
		"chars": cel.IntType, "words": cel.IntType, "lines": cel.IntType, "text": cel.StringType, "title": cel.StringType,
		"front_matter": cel.MapType(cel.StringType, cel.DynType), "sections": cel.ListType(sectionObject.celType()),
		"counts": countsObject.celType(), "fences": cel.ListType(fenceObject.celType()), "unclosed_fences": cel.ListType(cel.StringType),
		"links": cel.ListType(linkObject.celType()), "broken_links": cel.ListType(cel.StringType),
		"comments": cel.ListType(commentObject.celType()), "symbols": cel.ListType(symbolObject.celType()), "parses": cel.BoolType,
		"code": cel.StringType, "preamble": cel.StringType, "touched": cel.ListType(touchedObject.celType()), "rest": cel.StringType,
	})

	documentObjects = []*object{countsObject, sectionObject, fenceObject, linkObject, commentObject, symbolObject, touchedObject, documentObject}
)

// documentFunctions declares document(path) and before_document(path), whose macros pass the evidence on as a hidden argument, and the
// functions on documents: section, unchanged_outside, text_digest. All are pure.
func documentFunctions(a types.Adapter) []cel.EnvOption {
	macro := func(name, evidence string) cel.Macro {
		return cel.GlobalMacro(name, 1, func(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			return f.NewCall(lookupDocument, f.NewIdent(evidence), args[0]), nil
		})
	}
	document, section, text := documentObject.celType(), sectionObject.celType(), cel.StringType
	return []cel.EnvOption{
		cel.Macros(macro("document", documentsAfter), macro("before_document", documentsBefore)),
		cel.Function(lookupDocument, cel.Overload("document_by_path", []*cel.Type{cel.DynType, text}, document,
			cel.BinaryBinding(func(evidence, path ref.Val) ref.Val { return documentAt(a, evidence, path) }))),
		// CEL's guards know the maps behind our objects by another type; what comes in is looked at by the functions themselves.
		cel.Function(sectionOf, decls.DisableTypeGuards(true), cel.MemberOverload("document_section", []*cel.Type{document, text}, section,
			cel.BinaryBinding(func(doc, name ref.Val) ref.Val { return sectionAt(a, doc, name) }))),
		cel.Function(unchangedOutside, decls.DisableTypeGuards(true),
			cel.MemberOverload("document_unchanged_outside", []*cel.Type{document, text, document}, cel.BoolType, cel.FunctionBinding(sameOutside)),
			cel.MemberOverload("document_unchanged_outside_all", []*cel.Type{document, cel.ListType(text), document}, cel.BoolType, cel.FunctionBinding(sameOutside))),
		cel.Function(textDigest, cel.Overload("text_digest_string", []*cel.Type{text}, text,
			cel.UnaryBinding(func(s ref.Val) ref.Val { return types.String(digestText(string(s.(types.String)))) }))),
	}
}

func sectionAt(a types.Adapter, doc, name ref.Val) ref.Val {
	title, ok := name.(types.String)
	if !ok {
		return types.NewErr("a heading is a text")
	}
	s, err := findSection(doc.Value(), string(title))
	if err != nil {
		return types.WrapErr(err)
	}
	return a.NativeToValue(s)
}

// headings are the names that unchanged_outside takes: one, or a list.
func headings(v ref.Val) ([]string, error) {
	if s, ok := v.(types.String); ok {
		return []string{string(s)}, nil
	}
	l, ok := v.(traits.Lister)
	if !ok {
		return nil, errors.New("a heading or a list of headings is expected")
	}
	var names []string
	for it := l.Iterator(); it.HasNext() == types.True; {
		s, ok := it.Next().(types.String)
		if !ok {
			return nil, errors.New("a heading is a text")
		}
		names = append(names, string(s))
	}
	return names, nil
}

// digestText is the digest of a text whatever its line endings are, and whatever line breaks stand around it. It is how a text that was
// asked for is found again in a file of another style; executors/document digests in the same way.
func digestText(s string) string {
	s = strings.Trim(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"), "\n")
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// documentAt finds a document in evidence. Evidence that was not asked about it holds no answer, which is an error: nothing is known of the
// file, not even that it does not exist.
func documentAt(a types.Adapter, evidence, path ref.Val) ref.Val {
	docs, _ := evidence.Value().(map[string]any)
	switch d := docs[string(path.(types.String))].(type) {
	case map[string]any:
		return a.NativeToValue(d)
	case *types.Err:
		return d
	}
	return types.NewErr("the evidence holds no answer for document(%q)", path.Value())
}

// documentsOf reads the documents of evidence, by path.
func documentsOf(values map[string]any) (any, error) {
	all, ok := values["documents"].(map[string]any)
	if !ok {
		return map[string]any{}, nil
	}
	out := make(map[string]any, len(all))
	for path, v := range all {
		d, err := readDocument(v)
		if err != nil {
			d = types.WrapErr(err)
		}
		out[path] = d
	}
	return out, nil
}

// readDocument is a document of evidence in canonical form. Where the evidence holds its text, its sections get theirs: evidence says only
// from where to where, so that no text stands in it twice.
func readDocument(v any) (any, error) {
	c, err := canonicalObject(documentObject.name, v)
	if err != nil {
		return nil, err
	}
	doc, ok := c.(map[string]any)
	if !ok {
		return c, nil
	}
	text, hasText := doc["text"].(string)
	list, ok := doc["sections"].([]any)
	if !ok || !hasText {
		return doc, nil
	}
	sections := make([]any, len(list))
	for i, x := range list {
		sections[i] = x
		s, ok := x.(map[string]any)
		if !ok {
			continue
		}
		from, to, ok := span(s)
		if ok && from <= to && to <= len(text) {
			s = maps.Clone(s)
			s["text"] = text[from:to]
			sections[i] = s
		}
	}
	doc = maps.Clone(doc)
	doc["sections"] = sections
	return doc, nil
}

// span is where a section stands in the text, in bytes.
func span(s map[string]any) (from, to int, ok bool) {
	f, ok1 := s["from"].(float64)
	t, ok2 := s["to"].(float64)
	return int(f), int(t), ok1 && ok2 && f >= 0 && t >= 0
}

// sectionsOf are the sections of a canonical document.
func sectionsOf(doc any) ([]map[string]any, error) {
	m, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("there is no document")
	}
	if m["exists"] == false {
		return nil, nil
	}
	if err, ok := m["sections"].(*types.Err); ok {
		return nil, err
	}
	list, ok := m["sections"].([]any)
	if !ok {
		return nil, errors.New("a document has no sections")
	}
	out := make([]map[string]any, len(list))
	for i, x := range list {
		if out[i], ok = x.(map[string]any); !ok {
			return nil, fmt.Errorf("section %d is %s, not an object", i+1, kindOf(x))
		}
	}
	return out, nil
}

// findSection is the section that a heading names: by its title, or by the last part of its path ("Guide > Setup"). When there is none, it
// is one that does not exist; when there are several, that is an error, because nobody said which one is meant.
func findSection(doc any, name string) (map[string]any, error) {
	sections, err := sectionsOf(doc)
	if err != nil {
		return nil, err
	}
	var found []map[string]any
	for _, s := range sections {
		if headingIs(s, name) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return map[string]any{"exists": false}, nil
	case 1:
		s := maps.Clone(found[0])
		s["exists"] = true
		return s, nil
	}
	return nil, fmt.Errorf("there are %d sections %q; name the one that is meant with its parents, such as \"Parent > %s\"", len(found), name, name)
}

// headingIs reports whether a section is called name.
func headingIs(s map[string]any, name string) bool {
	title, _ := s["title"].(string)
	path, _ := s["path"].(string)
	return title == name || path == name || strings.HasSuffix(path, " > "+name)
}

// sameOutside compares two documents without the named sections and all that is in them: the text before the first heading, the headings
// and the text of all other sections, and their order. Blank lines at the end of a section do not count. A section that is missing on one
// side was written, or removed, as a whole.
func sameOutside(args ...ref.Val) ref.Val {
	names, err := headings(args[1])
	if err != nil {
		return types.WrapErr(err)
	}
	a, err := outside(args[0].Value(), names)
	if err != nil {
		return types.WrapErr(err)
	}
	b, err := outside(args[2].Value(), names)
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(slices.Equal(a, b))
}

// part is a heading with its own text, or what stands before the first one.
type part struct{ name, digest string }

// outside are all parts that are not in the named sections, in order.
func outside(doc any, names []string) ([]part, error) {
	sections, err := sectionsOf(doc)
	if err != nil {
		return nil, err
	}
	m, _ := doc.(map[string]any)
	preamble, ok := m["preamble"].(string)
	switch {
	case m["exists"] == false:
		preamble = digestText("")
	case !ok:
		return nil, errors.New("the evidence does not say what stands before the first heading")
	}
	parts := []part{{name: "what stands before the first heading", digest: preamble}}
	skipping := 0.0 // the level of the named section that we are in
	for _, s := range sections {
		level, ok := s["level"].(float64)
		own, ok2 := s["own"].(string)
		if !ok || !ok2 {
			return nil, errors.New("the evidence does not say what a section holds")
		}
		if skipping > 0 && level > skipping {
			continue
		}
		skipping = 0
		if slices.ContainsFunc(names, func(n string) bool { return headingIs(s, n) }) {
			skipping = level
			continue
		}
		parts = append(parts, part{name: fmt.Sprint(briefOne(s)), digest: own})
	}
	return parts, nil
}

// changedOutside names what differs between two documents outside of the named sections, for receipts.
func changedOutside(now any, names []string, before any) (any, error) {
	a, err := outside(now, names)
	if err != nil {
		return nil, err
	}
	b, err := outside(before, names)
	if err != nil {
		return nil, err
	}
	differs := []any{}
	for _, side := range []struct {
		these, those []part
		what         string
	}{{b, a, "changed or gone: "}, {a, b, "new or changed: "}} {
		left := map[part]int{}
		for _, p := range side.those {
			left[p]++
		}
		for _, p := range side.these {
			if left[p]--; left[p] < 0 {
				differs = append(differs, side.what+p.name)
			}
		}
	}
	if len(differs) == 0 && !slices.Equal(a, b) {
		differs = append(differs, "the order of the sections")
	}
	return differs, nil
}

// brief is a value of a document as receipts show it: of sections their headings, of fences and links where they are.
func brief(v any) any {
	list, ok := v.([]any)
	if !ok {
		if m, isMap := v.(map[string]any); isMap {
			return briefOne(m)
		}
		return v
	}
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x
		if m, ok := x.(map[string]any); ok {
			out[i] = briefOne(m)
		}
	}
	return out
}

func isSection(m map[string]any) bool { return m["level"] != nil && m["title"] != nil }

func briefOne(m map[string]any) any {
	str := func(name string) string { s, _ := m[name].(string); return s }
	line := func() string { n, _ := m["line"].(float64); return fmt.Sprintf("line %d", int(n)) }
	switch {
	case isSection(m):
		level, _ := m["level"].(float64)
		return strings.Repeat("#", max(1, min(int(level), 6))) + " " + str("title")
	case m["closed"] != nil:
		state := ""
		if m["closed"] == false {
			state = ", not closed"
		}
		return strings.TrimSpace(str("language")+" fence") + ", " + line() + state
	case m["path"] != nil && m["exists"] != nil: // a document as a whole
		digest := str("digest")
		return strings.TrimSpace(str("path") + " " + digest[:min(len(digest), 15)])
	case m["target"] != nil && m["kind"] != nil:
		s := str("target") + ", " + line()
		if p := str("problem"); p != "" {
			s += ": " + p
		}
		return s
	}
	return m
}
