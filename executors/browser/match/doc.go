// Package match decides which of several elements a target means. Its rules are the same for every grounding source, pure, and strict:
// what could be wrong is never chosen.
//
//   - A name that is the same, letter for letter, always wins; then one that differs only in case, spaces or width of characters. Case and
//     punctuation are sometimes the only difference between two targets.
//   - A longer name that contains the one that was asked for counts only when it is the only one, and when what is left over says
//     little: punctuation, a number, a key; or when the words asked for are several and make up most of it.
//   - Where two are equally good, neither is chosen: the choice is ambiguous.
//
// The browser executor is its only caller.
package match
