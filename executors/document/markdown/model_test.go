package markdown

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const sample = `---
title: Guide
date: 2026-11-21
tags: [a, b]
---
Before any heading.

# Guide  

## Overview

Text with a [link](other.md#setup) and ![image](a.png) and <https://example.com>.

Setext *Heading*
----------------

- **Easy**: one
- **Normal:** two

  ` + "```go" + `
  # not a heading
  ` + "```" + `

> # Quoted heading
> ` + "~~~" + `
> open

### Deep ` + "`code`" + ` & more ###

| a | b |
|---|---|
| 1 | 2 |

<!-- a comment -->
<a id="explicit"></a>

# Guide
` + "````mermaid\n```\ngraph\n````\n```\nnever closed\n# no heading\n"

func TestModel(t *testing.T) {
	t.Parallel()
	m := Parse(sample)
	var got []string
	for _, s := range m.Sections {
		got = append(got, fmt.Sprintf("%d %s|%s|%q..%q|%v|%v", s.Level, s.Title, s.Path, firstLine(sample[s.Start:]), lastLine(sample[:s.End]), s.Parts, s.Languages))
	}
	want := []string{
		"1 Guide|Guide|\"# Guide  \"..\"<a id=\\\"explicit\\\"></a>\"|[Overview Setext Heading]|[go ]",
		"2 Overview|Guide > Overview|\"## Overview\"..\"Text with a [link](other.md#setup) and ![image](a.png) and <https://example.com>.\"|[]|[]",
		"2 Setext Heading|Guide > Setext Heading|\"Setext *Heading*\"..\"<a id=\\\"explicit\\\"></a>\"|[Deep code & more Easy Normal]|[go ]",
		"3 Deep code & more|Guide > Setext Heading > Deep code & more|\"### Deep `code` & more ###\"..\"<a id=\\\"explicit\\\"></a>\"|[]|[]",
		"1 Guide|Guide|\"# Guide\"..\"# no heading\"|[]|[mermaid ]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sections\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	var fences []string
	for _, f := range m.Fences {
		fences = append(fences, fmt.Sprintf("%s %v %q", f.Language, f.Closed, firstLine(sample[f.Start:])))
	}
	if want := []string{"go true \"  ```go\"", " false \"> ~~~\"", "mermaid true \"````mermaid\"", " false \"```\""}; !slices.Equal(fences, want) {
		t.Errorf("fences %q\nwant %q", fences, want)
	}
	var links []string
	for _, l := range m.Links {
		links = append(links, fmt.Sprintf("%s %s %v %d", l.Text, l.Target, l.Image, l.Section))
	}
	if want := []string{"link other.md#setup false 1", "image a.png true 1", "https://example.com https://example.com false 1"}; !slices.Equal(links, want) {
		t.Errorf("links %q", links)
	}
	for _, a := range []string{"guide", "guide-1", "overview", "setext-heading", "deep-code--more", "quoted-heading", "explicit"} {
		if !m.Anchors[a] {
			t.Errorf("there is no anchor %q: %v", a, m.Anchors)
		}
	}
	if m.Front == nil || fmt.Sprint(m.Front.Keys) != "[title date tags]" || m.Front.Values["date"] != "2026-11-21" || m.Front.Err != nil {
		t.Errorf("front matter %+v", m.Front)
	}
	if m.Counts != (Counts{Headings: 6, Paragraphs: 5, Lists: 1, Items: 2, Tables: 1, Images: 1, Links: 2, Fences: 4, Quotes: 1}) {
		t.Errorf("counts %+v", m.Counts)
	}
	if len(m.Comments) != 1 || sample[m.Comments[0].Start:m.Comments[0].End] != "<!-- a comment -->" {
		t.Errorf("comments %v", m.Comments)
	}
	if s := sample[:m.Preamble(sample)]; !strings.HasSuffix(s, "Before any heading.\n\n") {
		t.Errorf("preamble %q", s)
	}
}

func firstLine(s string) string { l, _, _ := strings.Cut(s, "\n"); return l }

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func TestFind(t *testing.T) {
	t.Parallel()
	m := Parse("# A\n## Setup\n### Linux\n## B > C\n# Other\n## Setup\n## `go vet`\n## # hash\n")
	for name, want := range map[string][]int{
		"Setup": {1, 5}, "A > Setup": {1}, "Other > Setup": {5}, "Setup > Linux": {2}, "## Setup": {1, 5}, "# Setup": nil, "B > C": {3}, "go vet": {6},
		"`go vet`": {6}, "setup": nil, "A > Linux": nil, "# hash": {7}, " A ": {0}, "": nil,
	} {
		if got := m.Find(name); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// What closes a fence, and what does not.
func TestFences(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"```\n```\n":                         "[true]",
		"```":                                "[false]",
		"```\n":                              "[false]",
		"```\ncode":                          "[false]",
		"```\ncode\n```":                     "[true]",
		"```\ncode\n````  \nafter":           "[true]",
		"````\ncode\n```\n":                  "[false]",
		"~~~\n```\n~~~":                      "[true]",
		"```\n\n\n":                          "[false]",
		"```go title=x\ncode\n   ```\nx":     "[true]",
		"- ```\n  code\n  ```\n":             "[true]",
		"- ```\n  code\n```\nx\n```\n":       "[false true]",
		"> ```\n> code\n> ```\n":             "[true]",
		"> ```\n> code\n```\nx\n":            "[false false]",
		"1. a\n\n   ```sh\n   x\n   ```\n2.": "[true]",
		"    ```\n    indented code":         "[]",
		"text\n```\n\n```\ntext\n":           "[true]",
	} {
		var got []bool
		for _, f := range Parse(src).Fences {
			got = append(got, f.Closed)
		}
		if s := fmt.Sprint(got); s != want {
			t.Errorf("%q: %s, want %s", src, s, want)
		}
	}
}

func TestFrontMatter(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"---\na: 1\nb: {c: [x]}\n---\n# T\n": "[a b] map[a:1 b:map[c:[x]]] <nil>",
		"---\n---\n":                         "[] map[] <nil>",
		"---\na: [\n---\n":                   "[] map[] the front matter is not valid YAML: yaml: line 1: did not find expected node content",
		"---\n- a\n---\n":                    "[] map[] the front matter is not a mapping of keys to values",
		"+++\na = 1\n+++\n":                  "[] map[] the front matter is TOML, which is not decoded",
		"---\nnever ended\n":                 "none",
		" ---\na: 1\n---\n":                  "none",
		"---":                                "none",
		"---\n1: x\n2026-01-01: y\n...\n":    "[1 2026-01-01] map[1:x 2026-01-01:y] <nil>",
	} {
		got := "none"
		if f := Parse(src).Front; f != nil {
			got = fmt.Sprint(f.Keys, " ", f.Values, " ", f.Err)
			if f.Keys == nil {
				got = fmt.Sprint("[] ", f.Values, " ", f.Err)
			}
		}
		if got != want {
			t.Errorf("%q\n got %s\nwant %s", src, got, want)
		}
	}
	if m := Parse("---\n# no: heading\n---\n# Heading\n"); len(m.Sections) != 1 || m.Sections[0].Start != len("---\n# no: heading\n---\n") {
		t.Errorf("a heading inside of front matter: %+v", m.Sections)
	}
}

// FuzzParse: no text makes the model panic; places lie inside of the text and at the start of lines; the sections cover the text behind the
// first heading, each lies in its parent, and their own texts put together are the text.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	for _, s := range []string{"", "#", "# a\n#\n", "a\n=\n", "- # a\n", "> > ```\n> x\n```\n", "---\n---\n# a", "\n\n# a\n\n\n", "[a](b \"c\") ![x](y)", "<!--", "<!-- a\n# b -->\n# c",
		"a\n-\n\n```\n\t", "1) ~~~\n   x", "# a\x00b", "[a]: b\n# [a]\n", "***a***\n===", "* * *\n## x ##", "[^1]: # foot\n\n[^1]", "|a|\n|-|\n# x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		m := Parse(src)
		var b strings.Builder
		b.WriteString(src[:m.Preamble(src)])
		for i, s := range m.Sections {
			if s.Start < 0 || s.Start >= s.Body && s.Body != len(src) || s.Body > s.Own || s.Own > s.End || s.End > len(src) {
				t.Fatalf("section %d of %q lies wrong: %+v", i, src, s)
			}
			if s.Start > 0 && src[s.Start-1] != '\n' {
				t.Fatalf("section %d of %q starts inside of a line: %+v", i, src, s)
			}
			if p := s.Parent; p >= 0 && (p >= i || m.Sections[p].Start >= s.Start || m.Sections[p].End < s.End || m.Sections[p].Level >= s.Level) {
				t.Fatalf("section %d of %q is not in its parent: %+v", i, src, s)
			}
			own := s.OwnText()
			b.WriteString(src[own.Start:own.End])
		}
		if b.String() != src {
			t.Fatalf("the sections of %q are %q", src, b.String())
		}
		for _, f := range m.Fences {
			if f.Start < 0 || f.Start > f.End || f.End > len(src) || f.Section >= len(m.Sections) {
				t.Fatalf("a fence of %q lies wrong: %+v", src, f)
			}
		}
		for _, l := range m.Links {
			if l.At < 0 || l.At > len(src) || l.Section >= len(m.Sections) {
				t.Fatalf("a link of %q lies wrong: %+v", src, l)
			}
		}
		for _, c := range m.Comments {
			if !strings.HasPrefix(src[c.Start:c.End], "<!--") {
				t.Fatalf("a comment of %q lies wrong: %+v", src, c)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	src := strings.Repeat("# Heading\n\nSome text with a [link](other.md), `code` and **bold** words that goes on for a while.\n\n```go\nfunc main() {}\n```\n\n- one\n- two\n\n", 1<<20/150)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		Parse(src)
	}
}
