// Package page drives one tab of Chromium: its frames (also those in other processes), what happens in it, and the input sent to it.
//
// In every frame a script of ours lives in an isolated world, which the page's own scripts cannot see: it watches the document from its
// start, finds elements, checks what must hold before an action, guards the dispatch, and takes evidence (see js/). This package is the
// Go half: it knows which frames there are, calls into their worlds, and keeps what only the protocol tells: requests, dialogs,
// exceptions, navigations, crashes.
//
// It guarantees:
//   - a JavaScript dialog (alert, confirm, prompt, beforeunload) never blocks: it is answered at once, never with OK where that agrees
//     to something, and recorded;
//   - every call ends when the tab crashes ([ErrCrashed]) or the browser is lost, also those that wait for a promise;
//   - a tab that an earlier process of toolsvc used is found with its worlds, and what they have recorded, intact ([Open]).
//
// The browser executor is its only caller.
package page
