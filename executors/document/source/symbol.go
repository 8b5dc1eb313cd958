package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Symbol is a function, a method, a type, or a region.
type Symbol struct {
	// Name is as calls name it: main, Server.Start.
	Name string
	// Kind is function, method, type or region.
	Kind string
	// Level is how deep it is nested, from 1.
	Level int
	// Start and End are where it stands, whole lines. A comment before a function does not belong to it.
	Start, End int
}

// Symbols lists the symbols of a text, in order.
func (l *Language) Symbols(src string) []Symbol {
	out := l.regions(src)
	if l == goLang {
		out = append(out, goSymbols(src)...)
		slices.SortStableFunc(out, func(a, b Symbol) int { return a.Start - b.Start })
	}
	return out
}

// regions are marked by comments: region NAME, endregion.
func (l *Language) regions(src string) []Symbol {
	var out []Symbol
	var open []int
	for _, c := range l.Comments(src) {
		text := strings.TrimPrefix(c.Text, "#")
		word, name, _ := strings.Cut(text, " ")
		switch strings.ToLower(word) {
		case "region":
			open = append(open, len(out))
			out = append(out, Symbol{Name: strings.TrimSpace(name), Kind: "region", Level: len(open), Start: strings.LastIndexByte(src[:c.Start], '\n') + 1, End: len(src)})
		case "endregion":
			if len(open) > 0 {
				out[open[len(open)-1]].End = min(lineEnd(src, c.End, len(src))+1, len(src))
				open = open[:len(open)-1]
			}
		}
	}
	return out
}

// goSymbols are those of Go, as far as the file can be parsed.
func goSymbols(src string) []Symbol {
	set := token.NewFileSet()
	f, _ := parser.ParseFile(set, "", src, parser.SkipObjectResolution) // what could be parsed is there in spite of an error
	if f == nil {
		return nil
	}
	var out []Symbol
	add := func(name, kind string, level int, n ast.Node) {
		start, end := set.Position(n.Pos()).Offset, set.Position(n.End()).Offset
		start, end = min(max(start, 0), len(src)), min(max(end, 0), len(src))
		if end < start {
			return
		}
		out = append(out, Symbol{Name: name, Kind: kind, Level: level, Start: strings.LastIndexByte(src[:start], '\n') + 1, End: min(lineEnd(src, end, len(src))+1, len(src))})
	}
	for _, d := range f.Decls {
		switch x := d.(type) {
		case *ast.FuncDecl:
			if x.Recv == nil || len(x.Recv.List) == 0 {
				add(x.Name.Name, "function", 1, x)
				continue
			}
			add(receiver(x.Recv.List[0].Type)+"."+x.Name.Name, "method", 1, x)
		case *ast.GenDecl:
			if x.Tok != token.TYPE {
				continue
			}
			for _, s := range x.Specs {
				t, ok := s.(*ast.TypeSpec)
				switch {
				case !ok:
				case x.Lparen.IsValid():
					add(t.Name.Name, "type", 2, t)
				default:
					add(t.Name.Name, "type", 1, x)
				}
			}
		}
	}
	return out
}

func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return "?"
		}
	}
}

// FindSymbol lists the indexes of the symbols that a name means: main, func main, Server.Start, (*Server).Start, type Server, Start.
func FindSymbol(all []Symbol, name string) []int {
	name = strings.TrimSpace(name)
	kind := ""
	if word, rest, ok := strings.Cut(name, " "); ok {
		switch word {
		case "func", "type", "region":
			kind, name = word, strings.TrimSpace(rest)
		}
	}
	name = strings.NewReplacer("(*", "", "(", "", ")", "").Replace(name)
	var exact, last []int
	for i, s := range all {
		if kind == "type" && s.Kind != "type" || kind == "region" && s.Kind != "region" || kind == "func" && s.Kind != "function" && s.Kind != "method" {
			continue
		}
		if s.Name == name || s.Kind == "region" && strings.NewReplacer("(*", "", "(", "", ")", "").Replace(s.Name) == name {
			exact = append(exact, i)
		}
		if s.Kind == "method" && strings.HasSuffix(s.Name, "."+name) {
			last = append(last, i)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return last
}

// Parses reports whether a text is without syntax errors; known is false for languages that are not parsed.
func (l *Language) Parses(src string) (ok, known bool) {
	switch l {
	case goLang:
		_, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
		return err == nil, true
	case jsonLang:
		return json.Valid([]byte(src)), true
	case yamlLang:
		d := yaml.NewDecoder(bytes.NewReader([]byte(src)))
		for {
			var n yaml.Node
			if err := d.Decode(&n); err != nil {
				return errors.Is(err, io.EOF), true
			}
		}
	}
	return false, false
}
