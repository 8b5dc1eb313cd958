package terminal

import (
	"context"
	"time"

	"toolsvc/tool"
)

// Confine is how strictly commands are confined.
type Confine string

// The ways to confine.
const (
	// ConfineAuto confines by Landlock where the kernel has it.
	ConfineAuto Confine = "auto"
	// ConfineRequired refuses to run anything where the kernel has no Landlock.
	ConfineRequired Confine = "required"
	// ConfineOff confines nothing. The working directory must still be inside the workspace.
	ConfineOff Confine = "off"
)

// Limits bound what commands and sessions may take. A zero field has its default.
type Limits struct {
	// Run bounds the time of one command, whatever its call asks for; 30 minutes by default.
	Run time.Duration
	// Grace is the time that processes have to end when they are asked to, before they are killed; 500 ms by default.
	Grace time.Duration
	// Commands bounds the commands that run at the same time; 8 by default. A call waits for its turn, at most Queue (30 s by default).
	Commands int
	Queue    time.Duration
	// Sessions bounds the open sessions of one run; 4 by default.
	Sessions int
	// Idle is how long a session goes on with nobody using it; 30 minutes by default.
	Idle time.Duration
	// Head and Tail are the bytes of a long output that a result shows, of its beginning and its end; 16 KiB and 48 KiB by default.
	Head, Tail int
	// Scrollback is how many lines above its screen a session keeps; 2000 by default.
	Scrollback int
	// Keep is how long the record of a command that has ended is kept; 24 hours by default.
	Keep time.Duration
}

// whole is up to how many bytes of each stream are kept whole, so that conditions can read them. Conditions read no more (package verification).
const whole = 1 << 20

func (l Limits) withDefaults() Limits {
	duration := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	count := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	duration(&l.Run, 30*time.Minute)
	duration(&l.Grace, 500*time.Millisecond)
	duration(&l.Queue, 30*time.Second)
	duration(&l.Idle, 30*time.Minute)
	duration(&l.Keep, 24*time.Hour)
	count(&l.Commands, 8)
	count(&l.Sessions, 4)
	count(&l.Head, 16<<10)
	count(&l.Tail, 48<<10)
	count(&l.Scrollback, 2000)
	return l
}

// Options configure an Executor.
type Options struct {
	// StateDir holds the records of commands and sessions, and the home directory that commands see. Required; it must not lie inside Root.
	StateDir string
	// Root is the workspace: commands start in it, and can change files only there. Required.
	Root string
	// Shell is the program that runs commands; "" is bash, or sh where there is no bash.
	Shell string
	// Limits bound everything.
	Limits Limits
	// Inherit names further variables of the service's own environment that commands see. By default they see PATH, the language, the
	// time zone and certificates.
	Inherit []string
	// Env is what commands see besides, "NAME": "value".
	Env map[string]string
	// Confine is ConfineAuto when "".
	Confine Confine
	// ReadOnly and ReadWrite are further files and directories that commands may read, or change: caches, tool chains.
	ReadOnly, ReadWrite []string
	// NoNetwork cuts commands off the network, as far as the kernel can.
	NoNetwork bool
	// EndSessions ends sessions at Shutdown. By default they go on, and the next process finds them.
	EndSessions bool
	// Documents answers what conditions ask of documents (tool.Needs.Documents), by path. Without it only the basic facts are known:
	// exists, size, mode, digest, text, lines.
	Documents func(ctx context.Context, needs tool.Needs) (map[string]any, error)
}
