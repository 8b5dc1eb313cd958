// Package chromium finds, starts, finds again and ends the one Chromium of a machine.
//
// The browser is started detached, in a session of its own, with its debugging port on loopback chosen by the system, and what is
// needed to find it again is recorded in the state directory. So a toolsvc process that was killed and started again finds the same
// browser, with its tabs. Only a process that this package recorded is ever ended, by its id, and only while that id still belongs
// to the process that was started (its start time is compared).
//
// The browser executor is its only caller.
package chromium
