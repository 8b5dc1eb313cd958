// Package devtools speaks the Chrome DevTools Protocol to one Chromium over one WebSocket, on which every tab and every
// out-of-process frame has a session of its own ("flat" sessions).
//
// It stands on chromedp's WebSocket transport (chromedp/remote) and its typed protocol (cdproto), but not on chromedp's contexts and
// targets: those belong to one goroutine, follow the DOM of every page with events, cannot pipeline commands, and do not show
// out-of-process frames beside the page that holds them. The browser executor, its only caller, needs the opposite of all four.
//
// It guarantees:
//   - commands of one session reach the browser in the order of [Start], also when nobody waits for their answers in between;
//   - every wait is bounded: by its context, by [Limit] when that has no deadline, by the end of the session or of the connection;
//   - events of a session are handed over in their order, none is lost between the attachment and [Session.Listen];
//   - a command on a session that has ended fails with [ErrDetached], on a connection that was lost with [ErrLost].
package devtools
