// Package markdown is a model of a Markdown text by places: its sections, fenced code, links, front matter, and how many there are of what.
//
// What is a heading, a fence, a link is decided by goldmark (CommonMark, with the tables, task lists, strikethrough and footnotes of GitHub); this
// package adds from where to where each goes, what is below what, whether a fence is closed, and the anchors that GitHub makes of headings.
//
// It guarantees: offsets are bytes of the text that was parsed, which it does not change; sections cover the text behind the first heading
// without gaps; no text makes it panic.
package markdown
