// Package textfile decodes text files and edits them so that nothing but the edited places changes, to the byte.
//
// It guarantees:
//   - Decode accepts only what Encode gives back byte by byte: UTF-8, with or without a byte-order mark, and UTF-16 with one. Anything else
//     (Latin-1, binary data, broken UTF-8 or UTF-16) is an error that says where and why, never a guess;
//   - places are given in a view of the text that has a line feed for every line ending (LF), and edits are made in the text as it stands:
//     bytes outside of them stay as they are, whatever mixture of line endings they hold;
//   - inserted text takes the line endings of the file.
package textfile
