//go:build linux

package supervise

import "time"

// How long a session must have been quiet before it counts as settled. The kernel's word that a process waits for the terminal makes
// the wait short; without it there is only the quiet.
const (
	quietPrompt  = 5 * time.Millisecond   // at a prompt that the shell has marked
	quietEcho    = 30 * time.Millisecond  // after typing, when something was shown
	quietSilent  = 120 * time.Millisecond // after typing, when nothing was shown: the echo may be off
	quietWaiting = 40 * time.Millisecond  // when it is known to wait for input
	quietPolling = 150 * time.Millisecond // when it waits for several things, input among them
	quietUnknown = time.Second            // when nothing is known but the quiet
	quietGone    = 250 * time.Millisecond // a text that was to appear will not: the command has ended
)

// Patience is how long to wait, for what.
type Patience struct {
	// Key names what was sent; what follows it counts. Without one, the screen as it is.
	Key string `json:"key,omitempty"`
	// Opening waits until a program that was just started asks for something.
	Opening bool `json:"opening,omitempty"`
	// Text to wait for.
	Text string `json:"text,omitempty"`
	// Limit bounds the wait.
	Limit time.Duration `json:"limit"`
}

// moment is what decides whether a session has settled.
type moment struct {
	dead bool
	// text: one is waited for; found: it is there.
	text, found bool
	// looking: nothing was sent. opening: the program was just started. submitted: what was sent hands something over to a program, as
	// Enter does.
	looking, opening, submitted bool
	// marks: the shell was told to mark its prompts. marked: it does. prompted: it has come to a prompt since. running: a command of the
	// shell is at work.
	marks, marked, prompted, running bool
	// wrote: something was written since.
	wrote bool
	// reading and polling: a process waits for the terminal, alone or among other things. asking: what is on the screen asks for something.
	reading, polling, asking bool
	// quiet is the time since something was written, calm for how long a process has been waiting for the terminal with nothing written,
	// elapsed the time since the input.
	quiet, calm, elapsed, limit time.Duration
}

// settled decides whether waiting is over. Where the shell marks its prompts, that is the word that counts, for however long its command
// takes; a program that waits for an answer ends the wait as well.
func (m moment) settled() bool {
	waits := m.reading && m.calm >= quietWaiting || m.polling && m.asking && m.calm >= quietPolling
	switch {
	case m.dead, m.elapsed >= m.limit:
		return true
	case m.text && m.found:
		return true
	case m.text:
		return m.prompted && m.quiet >= quietGone // the command has ended without it
	case m.opening && m.marks:
		return m.prompted || !m.marked && min(m.quiet, m.elapsed) >= quietUnknown
	case m.looking && !m.opening:
		return m.quiet >= quietEcho || m.elapsed >= quietSilent
	case m.prompted:
		return m.quiet >= quietPrompt
	case !m.looking && !m.submitted:
		// The echo of a terminal and the answer of a program may be far apart on a busy machine; who waits for the next key has dealt with this one.
		since := min(m.quiet, m.elapsed)
		heard := (m.reading || m.polling) && m.calm >= quietEcho
		return since >= quietUnknown || heard && (m.wrote && since >= quietEcho || since >= quietSilent)
	case m.marked && m.running:
		return waits
	case m.marked: // the shell wants the rest of the command
		return m.polling && m.calm >= quietPolling
	}
	return waits || min(m.quiet, m.elapsed) >= quietUnknown
}
