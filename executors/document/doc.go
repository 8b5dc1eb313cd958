// Package document is the executor of the document tools (design/document.go): it reads and edits Markdown by its headings, source files by
// lines, symbols and comments, any text by matches, and proves what its edits did.
//
// It guarantees:
//   - nothing outside of the workspace's folder is read or written, whatever paths and symbolic links say;
//   - a place that is meant twice is never guessed: ambiguous_target lists them all, with their lines;
//   - bytes outside of the edited places stay as they are, and so do encoding, byte-order mark, line endings, mode and owner; a file whose
//     encoding cannot be kept (Latin-1, binary data) is refused;
//   - a file is replaced as a whole or not at all, and never when somebody else changed it since it was looked at;
//   - [tool.EffectNone] only when the bytes are those from before. After the loss of the process that acted, digests decide: the file is what was to
//     be written, or what was there before, or it is unknown;
//   - a rollback restores bytes, mode, owner and time, or removes what was made; when the file is not what was written any more, nothing is
//     touched and the difference is told.
//
// The layers below: files (a folder, and nothing outside of it), textfile (encodings, lines, edits), markdown and source (what the text consists
// of). The planner calls it through the interfaces of package tool.
package document
