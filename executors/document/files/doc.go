// Package files reads and replaces the files of one folder, and nothing outside of it.
//
// It guarantees:
//   - no path, and no symbolic link, leads out of the folder (os.Root checks each step; a link that points outside is an error). A link that
//     points to a file inside is followed: the file is replaced, the link stays;
//   - a file is replaced as a whole or not at all: written beside it, synced, then swapped. Its mode and owner stay; where that cannot be, nothing
//     is written;
//   - a file that is not any more what it was when it was read is not replaced. On Linux the swap is an exchange, so that what was displaced is
//     looked at before it is thrown away, and no change of somebody else can be lost in between;
//   - only regular files of a bounded size are read.
//
// Of a file with several hard links, the one that is named gets the new content, the others keep the old.
package files
