package design

import (
	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
)

// OutlineItem is a heading, a function, a type or a region.
var OutlineItem = Type("OutlineItem", func() {
	Description("A heading of Markdown, or a symbol of a source file.")
	Attribute("title", String, "Title or name")
	Attribute("kind", String, "heading, function, method, type or region")
	Attribute("level", Int, "Level of a heading, from 1 to 6; depth of a region or symbol, from 1")
	Attribute("path", String, "Titles from the top: Guide > Setup. It names the item in other calls")
	Attribute("line", Int, "First line, from 1")
	Attribute("end_line", Int, "Last line, with all that is below it")
	Required("title", "kind", "level", "path", "line", "end_line")
})

// OutlineFence is a block of fenced code.
var OutlineFence = Type("OutlineFence", func() {
	Description("Fenced code of Markdown.")
	Attribute("language", String, "Language after the fence; empty when there is none")
	Attribute("line", Int, "Line of the opening fence")
	Attribute("end_line", Int, "Line of the closing fence, or the last line when it is not closed")
	Attribute("closed", Boolean, "Whether there is a closing fence")
	Required("language", "line", "end_line", "closed")
})

var _ = Toolset("document", func() {
	Description("Reads and edits the files of a workspace: Markdown by its headings, source files by lines and comments, any text by matches. What is not edited stays as it is, to the byte.")

	Tool("read", "Read a file, or a part of it: a range of lines, the section of a heading, or the lines of a match.", func() {
		Args(func() {
			pathOf("The file to read")
			headingOf("Only this section, with its heading and subsections, or this symbol of a source file")
			Attribute("match", String, "Only the lines that hold this text", matchText)
			nthOf()
			lineOf("start_line", "Only from this line on; of a section, counted in the file all the same")
			lineOf("end_line", "Only to this line")
			Attribute("line_numbers", Boolean, "Put the number of each line before it", func() { Default(false) })
			Attribute("max_chars", Int, "Cut the text after this many characters", func() {
				Minimum(1)
				Maximum(200000)
				Default(50000)
			})
			Required("path")
			Example(Val{"path": "docs/guide.md", "heading": "Setup"})
		})
		Return(func() {
			Attribute("path", String, "The file, relative to the workspace")
			Attribute("text", String, "The text, with line feeds for line endings of any kind")
			Attribute("line", Int, "First line read; 0 of an empty file")
			Attribute("end_line", Int, "Last line read")
			Attribute("lines", Int, "How many lines the file has")
			Attribute("truncated", Boolean, "Whether the text was cut")
			style()
			Required("path", "text", "line", "end_line", "lines", "truncated", "digest", "format", "encoding", "line_endings")
		})
		Effect(ReadOnly)
		Sources(System)
		Postcondition("still_there", `document.digest == result.digest`, "the file still holds what was read")
		TimeLimit("20s")
		Ask("Which file should be read?")
	})

	Tool("outline", "List the headings of Markdown with their levels and lines, its fenced code and front matter; of a source file its functions, types and regions.", func() {
		Args(func() {
			pathOf("The file")
			Attribute("max_items", Int, "List at most so many items and fences each", func() {
				Minimum(1)
				Maximum(5000)
				Default(500)
			})
			Required("path")
			Example(Val{"path": "docs/guide.md"})
		})
		Return(func() {
			Attribute("path", String, "The file, relative to the workspace")
			Attribute("items", ArrayOf(OutlineItem), "Headings or symbols, in order")
			Attribute("fences", ArrayOf(OutlineFence), "Fenced code, in order")
			Attribute("front_matter", ArrayOf(String), "Keys of the front matter")
			Attribute("front_matter_end", Int, "Last line of the front matter; 0 when there is none")
			Attribute("lines", Int, "How many lines the file has")
			Attribute("words", Int, "How many words")
			Attribute("truncated", Boolean, "Whether items or fences were left out")
			Attribute("note", String, "What this outline cannot show")
			style()
			Required("path", "items", "fences", "front_matter", "front_matter_end", "lines", "words", "truncated", "digest", "format", "encoding", "line_endings")
		})
		Effect(ReadOnly)
		Sources(System)
		Postcondition("still_there", `document.digest == result.digest`, "the file still holds what was read")
		TimeLimit("20s")
		Ask("Of which file should the outline be read?")
	})

	Tool("write", "Create a file, or replace all of its content. Line endings, encoding, byte-order mark and mode of a file that is there are kept.", func() {
		Args(func() {
			pathOf("The file to write; missing folders are made")
			Attribute("content", String, "The whole content", func() { MaxLength(1000000) })
			Attribute("if_exists", String, "What to do with a file that is there", func() {
				Enum("replace", "refuse")
				Default("replace")
			})
			Attribute("line_endings", String, "Line endings to write; keep means those of the file that is there, or line feeds", func() {
				Enum("keep", "lf", "crlf")
				Default("keep")
			})
			ifDigest()
			Required("path", "content")
			Example(Val{"path": "docs/guide.md", "content": "# Guide\n\nHow to begin.\n"})
		})
		Return(func() { wrote() })
		Effect(Idempotent)
		Sources(System)
		Postcondition("content_there", `document.exists && size(document.touched) == 1 && document.touched.all(t, t.digest == text_digest(args.content))`, "the file holds the content")
		Postcondition("line_endings", `args.line_endings != "keep" ? document.line_endings in [args.line_endings, "none"] : `+
			`!before.document.exists || document.line_endings in [before.document.line_endings, "none"] || before.document.line_endings in ["none", "mixed"]`,
			"the line endings are as they should be")
		Postcondition("style_kept", styleKept, "encoding, byte-order mark and mode are what they were")
		TimeLimit("20s")
		Ask("Which file should be written, with which content?")
		Rollback("Restores the bytes and the mode of the file, or removes the file and the folders that were made. Refused when the file was changed meanwhile.")
	})

	Tool("replace", "Replace a text in a file by another, or a range of lines. The text must occur exactly once, unless nth or count says otherwise.", func() {
		Args(func() {
			pathOf("The file to change")
			Attribute("old", String, "The text to replace, exactly as it stands in the file; line endings of any kind match", matchText)
			Attribute("new", String, "The text to put there; empty to delete", func() { MaxLength(1000000) })
			Attribute("count", Int, "How many matches there must be; all are replaced. 0 for any number, but at least one", func() {
				Minimum(0)
				Maximum(1000)
				Default(1)
			})
			nthOf()
			headingOf("Search only in this section, or in this symbol of a source file")
			lineOf("start_line", "Search only from this line on; without old, the first line to replace")
			lineOf("end_line", "Search only to this line; without old, the last line to replace")
			ifDigest()
			AtLeastOne("old", "start_line")
			Required("path", "new")
			Example(Val{"path": "docs/guide.md", "old": "How to begin.", "new": "How to begin, in five minutes."})
		})
		Return(func() {
			wrote()
			Attribute("replaced", Int, "How many places were replaced")
			Required("replaced")
		})
		Effect(Reversible)
		Sources(System)
		Postcondition("replaced", `document.exists && size(document.touched) == result.replaced && document.touched.all(t, t.digest == text_digest(args.new))`, "the new text stands where the old one was")
		Postcondition("rest_unchanged", `document.rest == before.document.rest`, "everything else is as it was, to the byte")
		Postcondition("changed", `document.digest != before.document.digest`, "the file was changed")
		Postcondition("line_endings_kept", lineEndingsKept, "the line endings are what they were")
		Postcondition("style_kept", styleKept, "encoding, byte-order mark and mode are what they were")
		TimeLimit("20s")
		Ask("What should be replaced in which file, and by what?")
		Rollback(restores)
	})

	Tool("insert", "Insert lines into a file: before or after a line, a heading or a match, at the end of a section, or at either end of the file.", func() {
		Args(func() {
			pathOf("The file to change")
			Attribute("text", String, "The lines to insert", func() {
				MinLength(1)
				MaxLength(1000000)
			})
			Attribute("position", String, "Where: before or after the line, the heading's own line, or the lines of the match; end is the end of the heading's section, subsections included. "+
				"Without a line, heading or match, it is the file as a whole. Default: after", func() {
				Enum("before", "after", "end")
			})
			lineOf("line", "Insert at this line")
			headingOf("Insert at this heading, or this symbol of a source file; with match or line, search only in it")
			Attribute("match", String, "Insert at the lines that hold this text, which must occur once", matchText)
			nthOf()
			ifDigest()
			AtLeastOne("line", "heading", "match", "position")
			Required("path", "text")
			Example(Val{"path": "docs/guide.md", "heading": "Setup", "position": "end", "text": "Then restart."})
		})
		Return(func() { wrote() })
		Effect(Reversible)
		Sources(System)
		Postcondition("inserted", `document.exists && size(document.touched) == 1 && document.touched.all(t, t.digest == text_digest(args.text))`, "the text stands there")
		Postcondition("rest_unchanged", `document.rest == before.document.rest`, "everything else is as it was, to the byte")
		Postcondition("line_endings_kept", lineEndingsKept, "the line endings are what they were")
		Postcondition("style_kept", styleKept, "encoding, byte-order mark and mode are what they were")
		TimeLimit("20s")
		Ask("What should be inserted, and where?")
		Rollback(restores)
	})

	Tool("write_section", "Write the section of a heading in Markdown: replace what is below the heading, or create the heading with its text where it is missing.", func() {
		Args(func() {
			pathOf("The Markdown file; made when it is missing and if_missing is create")
			Attribute("heading", String, "Title of the heading, or its path: Guide > Setup. A missing one is created under its parent", headingText)
			Attribute("content", String, "What is below the heading, subsections included. The heading itself may stand first", func() { MaxLength(1000000) })
			nthOf()
			Attribute("level", Int, "Level of a heading that is created; by default one below its parent, or, at the top, that of the headings there", func() {
				Minimum(1)
				Maximum(6)
			})
			Attribute("if_missing", String, "What to do when there is no such heading", func() {
				Enum("create", "refuse")
				Default("create")
			})
			Attribute("after", String, "Create it after the section of this heading; by default at the end of its parent, or of the file", headingText)
			Attribute("before", String, "Create it before this heading", headingText)
			Attribute("keep_subsections", Boolean, "Replace only what stands before the first subsection", func() { Default(false) })
			ifDigest()
			Required("path", "heading", "content")
			Example(Val{"path": "docs/guide.md", "heading": "Guide > Setup", "content": "Install it, then run it."})
		})
		Return(func() {
			wrote()
			Attribute("heading", String, "Path of the heading")
			Attribute("level", Int, "Level of the heading")
			Attribute("section_created", Boolean, "Whether the heading was created")
			Required("heading", "level", "section_created")
		})
		Effect(Idempotent)
		Sources(System)
		Postcondition("section_there", `document.sections.exists(s, s.path == result.heading && s.line <= result.line)`, "there is a section of that heading")
		Postcondition("content_there", `document.exists && size(document.touched) == 1 && document.touched.all(t, t.digest == text_digest(args.content))`, "it holds the content")
		Postcondition("rest_unchanged", `!before.document.exists || document.rest == before.document.rest`, "everything else is as it was, to the byte")
		Postcondition("other_sections_unchanged", `document.unchanged_outside(result.heading, before.document)`, "all other sections are still sections, with the same text")
		Postcondition("line_endings_kept", lineEndingsKept, "the line endings are what they were")
		Postcondition("style_kept", styleKept, "encoding, byte-order mark and mode are what they were")
		TimeLimit("20s")
		Ask("Which section of which file should be written, with which content?")
		Rollback("Restores the bytes and the mode of the file, or removes a file that was made. Refused when the file was changed meanwhile.")
	})

	Tool("comment", "Write a comment into a source file in the syntax of its language, or turn lines into comments and back.", func() {
		Args(func() {
			pathOf("The source file")
			Attribute("text", String, "The comment to insert, without comment marks; may have several lines", func() {
				MinLength(1)
				MaxLength(20000)
			})
			Attribute("action", String, "Turn the lines into comments, or back, instead of inserting one; toggle turns them back when all are comments", func() {
				Enum("comment", "uncomment", "toggle")
			})
			lineOf("line", "At this line, or from it on")
			lineOf("end_line", "To this line, with action")
			Attribute("match", String, "At the lines that hold this text, which must occur once", matchText)
			nthOf()
			headingOf("At this function, type or region: main, Server.Start")
			Attribute("position", String, "Where a comment is inserted: on lines of its own before or after the place, or at the end of its line", func() {
				Enum("before", "after", "end_of_line")
				Default("before")
			})
			ifDigest()
			AtLeastOne("text", "action")
			AtLeastOne("line", "match", "heading")
			Required("path")
			Example(Val{"path": "cmd/serve.go", "heading": "main", "text": "main starts the server and waits for a signal."})
		})
		Return(func() {
			wrote()
			Attribute("language", String, "Language whose syntax was used")
			Attribute("commented", Boolean, "Whether the lines are comments now")
			Required("language", "commented")
		})
		Effect(Reversible)
		Sources(System)
		Postcondition("comment_there", `!result.commented || document.comments.exists(c, c.line <= result.end_line && c.end_line >= result.line)`, "the lines hold a comment")
		Postcondition("code_as_asked", `has(args.action) ? (document.code != before.document.code) == result.changed : document.code == before.document.code`,
			"without its comments the code is what it was, but for lines that were turned into comments or back")
		Postcondition("rest_unchanged", `document.rest == before.document.rest`, "everything else is as it was, to the byte")
		Postcondition("line_endings_kept", lineEndingsKept, "the line endings are what they were")
		Postcondition("style_kept", styleKept, "encoding, byte-order mark and mode are what they were")
		TimeLimit("20s")
		Ask("What should be commented, and where?")
		Rollback(restores)
	})

	Tool("diff", "Compare a file with a text, with another file, or with an earlier version of itself, as a unified diff.", func() {
		Args(func() {
			pathOf("The file")
			Attribute("other", String, "Another file: what leads from the file to it", func() {
				MinLength(1)
				MaxLength(1000)
			})
			Attribute("text", String, "A text: what leads from the file to it", func() { MaxLength(1000000) })
			Attribute("digest", String, "Digest of an earlier version: what led from it to the file", func() { Pattern(`^sha256:[0-9a-f]{64}$`) })
			Attribute("context", Int, "Unchanged lines around each change", func() {
				Minimum(0)
				Maximum(100)
				Default(3)
			})
			Attribute("max_chars", Int, "Cut the diff after this many characters", func() {
				Minimum(1)
				Maximum(200000)
				Default(50000)
			})
			AtLeastOne("other", "text", "digest")
			Required("path")
			Example(Val{"path": "docs/guide.md", "other": "docs/guide.old.md"})
		})
		Return(func() {
			Attribute("path", String, "The file, relative to the workspace")
			Attribute("diff", String, "Unified diff; empty when nothing differs but perhaps line endings")
			Attribute("equal", Boolean, "Whether both sides are the same, line endings and encoding included")
			Attribute("added", Int, "How many lines are only in the second side")
			Attribute("removed", Int, "How many lines are only in the first side")
			Attribute("truncated", Boolean, "Whether the diff was cut")
			Attribute("digest", String, "Digest of the file", digestPattern)
			Required("path", "diff", "equal", "added", "removed", "truncated", "digest")
		})
		Effect(ReadOnly)
		Sources(System)
		Postcondition("still_there", `document.digest == result.digest`, "the file still holds what was compared")
		TimeLimit("20s")
		Ask("What should be compared with what?")
	})
})

// What the conditions of the writing tools have in common.
const (
	lineEndingsKept = `!before.document.exists || document.line_endings in [before.document.line_endings, "none"] || before.document.line_endings in ["none", "mixed"]`
	styleKept       = `!before.document.exists || (document.encoding == before.document.encoding && document.bom == before.document.bom && document.mode == before.document.mode)`
	restores        = "Restores the bytes and the mode of the file. Refused when the file was changed meanwhile."
)

func pathOf(what string) {
	Attribute("path", String, what+", as a path from the workspace's root", func() {
		MinLength(1)
		MaxLength(1000)
		Example("docs/guide.md")
	})
}

func headingOf(what string) {
	Attribute("heading", String, what+". A title, or a path: Guide > Setup", headingText)
}

func headingText() {
	MinLength(1)
	MaxLength(1000)
	Example("Guide > Setup")
}

func matchText() {
	MinLength(1)
	MaxLength(100000)
}

func nthOf() {
	Attribute("nth", Int, "Which of several equal ones, counted from 1", func() {
		Minimum(1)
		Maximum(100000)
	})
}

func lineOf(name, what string) {
	Attribute(name, Int, what+"; from 1", func() {
		Minimum(1)
		Maximum(100000000)
	})
}

func ifDigest() {
	Attribute("if_digest", String, "Refuse unless the file still has this digest, as read returned it; none: unless there is no file", func() {
		Pattern(`^(none|sha256:[0-9a-f]{64})$`)
	})
}

func digestPattern() { Pattern(`^sha256:[0-9a-f]{64}$`) }

// style is what the reading tools tell of the file.
func style() {
	Attribute("digest", String, "Digest of the file, for if_digest", digestPattern)
	Attribute("format", String, "markdown, text, or the language")
	Attribute("encoding", String, "utf-8, utf-16le or utf-16be")
	Attribute("line_endings", String, "lf, crlf, cr, mixed or none")
}

// wrote is what the writing tools answer.
func wrote() {
	Attribute("path", String, "The file, relative to the workspace")
	Attribute("created", Boolean, "Whether the file was made")
	Attribute("changed", Boolean, "Whether its bytes are others than before")
	Attribute("line", Int, "First line of what was written")
	Attribute("end_line", Int, "Last line of it")
	Attribute("lines", Int, "How many lines the file has now")
	Attribute("digest", String, "Digest of the file now, for if_digest", digestPattern)
	Attribute("previous_digest", String, "Digest of the file before; not there when it was made. diff knows it", digestPattern)
	Required("path", "created", "changed", "line", "end_line", "lines", "digest")
}
