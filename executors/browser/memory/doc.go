// Package memory is the heal memory of the browser: it keeps what identified an element that was acted on with a verified success, so that
// the element is found again when the page was redesigned and the caller's description no longer leads to it.
//
// An entry belongs to a page pattern (origin, and path with its identifiers generalised) and to a target as it was described. It holds a
// [Fingerprint]: role, name, attributes, classes, place and neighbours of the element; never the text of a field.
//
// It guarantees:
//   - only a verified success is remembered ([Memory.Confirm]), and the first contrary verdict forgets it ([Memory.Refute]);
//   - an entry serves only the origin and page pattern where it was learnt;
//   - [Choose], a pure function, returns an element only when it carries evidence of identity, is similar enough, and no other one is
//     nearly as similar. A twin is never chosen; a name that says the contrary ("Delete all" for "Delete") rules an element out, whatever
//     else agrees;
//   - entries expire after [Expiry], are bounded in size and number, and can be listed and erased.
//
// The browser executor is the only one to recall and learn; the command line lists and erases.
package memory
