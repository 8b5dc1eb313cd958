// Package page is the live page of toolsvc: runs, their steps with attempts, verdicts and evidence, the narration as it happens, and the
// questions and approvals that wait for a person; in English, Korean and Japanese.
//
// It is static: HTML, style sheets and modules that are embedded as they were written, without a build step, and that need nothing from
// the network but the server that they came from. Everything that it shows it reads from the public HTTP interface, as any other client
// would; it has no door of its own.
//
// It guarantees:
//   - what comes from tools, pages and callers is shown as text. The policy that goes with the page forbids inline scripts, foreign sources
//     and the parsing of strings as HTML (Trusted Types), so that a mistake in a module would be refused by the browser;
//   - events are shown each once and in order, also after a lost connection;
//   - every text exists in all languages of the narration.
//
// cmd/toolsvc gives [New] to server.Options.Page, which puts it behind the same checks of host, origin and token as everything else.
package page
