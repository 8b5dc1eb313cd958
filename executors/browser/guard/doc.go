// Package guard keeps the browser from connecting to where it must not: the navigation policy, and the process that enforces it.
//
// All of Chromium's connections go through a small SOCKS 5 proxy on loopback, which resolves the name that Chromium asks for, checks the
// addresses that come out, and dials the very address that it has checked. So it makes no difference how a page gets there (a call, a
// link, a redirect, a script, a frame, an image, a WebSocket), and a name that resolves to something else the second time (DNS rebinding)
// wins nothing. Bytes are passed through as they are: TLS stays end to end, and a closed or reset connection looks to the page as it would
// without the proxy.
//
// It guarantees:
//   - nothing but http, https and about:blank can be asked for ([Guard.CheckURL]); Chromium itself keeps pages from leading to file:,
//     chrome: and other privileged schemes;
//   - addresses of cloud metadata services, link-local, multicast and reserved ones are never dialled, whatever is allowed;
//   - private networks are not dialled unless they are allowed, loopback unless it is denied, and toolsvc's own ports never;
//   - when the proxy is not there, the browser reaches nothing: it fails closed.
//
// The proxy is a process of its own, the same program started again, because Chromium outlives the toolsvc that started it: after a kill,
// pages go on, and are still guarded. It ends when the browser has ended. Starting it is an init function of this package, so every
// program that links the browser executor can be its host.
//
// The browser executor is its only caller.
package guard
