//go:build linux

package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// The bounds of a session.
const (
	maxRaw     = 512 << 10 // bytes of what was written that are kept to show what followed an input
	maxWaiting = 1 << 20   // bytes that wait to be shown; then the program waits
	maxHead    = 32 << 10  // bytes that are kept of the beginning of what followed the latest input
	maxSent    = 64        // inputs that are remembered
	sendLimit  = 10 * time.Second
	tick       = 10 * time.Millisecond
	// maxLine is the kernel's bound of a line while it edits lines for a program (N_TTY_BUF_SIZE), less the line's end.
	maxLine = 4095
	// probeEvery bounds how often the kernel is asked what the processes of the foreground are doing.
	probeEvery = 25 * time.Millisecond
)

// Input is what is sent to a session.
type Input struct {
	// Key names it: the same key is sent once.
	Key string `json:"key"`
	// Text is typed; Press is a key that is pressed Times times; Erase characters are erased, one after the other.
	Text  string `json:"text,omitempty"`
	Press string `json:"press,omitempty"`
	Times int    `json:"times,omitempty"`
	Erase int    `json:"erase,omitempty"`
	// Submit presses Enter afterwards.
	Submit bool `json:"submit,omitempty"`
	// Secret masks the text wherever it is shown.
	Secret bool `json:"secret,omitempty"`
}

// Sent is what became of an input.
type Sent struct {
	Key string `json:"key"`
	// Bytes of Want were taken by the terminal.
	Bytes int `json:"bytes"`
	Want  int `json:"want"`
	// Refused says why nothing was sent.
	Refused string `json:"refused,omitempty"`
	// Again: it had been sent before, and was not sent again.
	Again bool `json:"again,omitempty"`
	// Asked: it went to the prompt of a shell that marks its prompts.
	Asked bool `json:"asked,omitempty"`

	offset    int64
	at        time.Time
	submitted bool
	// The marks before it.
	began, ended, prompts int
}

// Settled is a session after waiting.
type Settled struct {
	Screen *Screen `json:"screen"`
	// Known: the input that was waited for is known to have been sent.
	Known bool `json:"known"`
	// Output is what was written since, as it reads on a screen; of a shell's command, its output alone.
	Output Output `json:"output"`
	Found  bool   `json:"found"`
	// CommandExit is the exit code of the shell's command that ended since.
	CommandExit *int          `json:"command_exit,omitempty"`
	Wrote       int64         `json:"wrote"` // bytes written since
	Waited      time.Duration `json:"waited"`
	Sent        *Sent         `json:"sent,omitempty"`
}

// session is a program in a terminal.
type session struct {
	order  Order
	master *os.File
	child  int
	tty    uint64 // the device of the terminal

	mu       sync.Mutex
	screen   *display
	mask     *masker
	raw      []byte // the latest bytes, up to written
	written  int64
	latest   time.Time // of the last byte
	asked    time.Time // when somebody last asked
	changed  chan struct{}
	head     []byte // the first bytes after headAt
	headAt   int64
	sent     []*Sent
	dead     bool
	segment  int64 // where the piece ends that the emulator works on
	marked   bool  // the shell has marked a prompt
	prompt   bool  // it stands at one
	prompts  int   // how many it has come to
	began    int   // how many commands have begun
	ended    int   // how many have ended
	exit     int   // of the last one
	from, to int64 // where its output begins and ends

	probed time.Time
	fore   foreground
	// calm is since when a process has been seen to wait for the terminal with nothing written meanwhile; zero when none does. unseen counts
	// bytes that were read and are not shown yet.
	calm   time.Time
	unseen atomic.Int64
	leader int

	replies chan []byte
	drained chan struct{}
	gone    chan struct{}
}

// startSession starts the order's program in a terminal.
func (s *supervisor) startSession(cmd *exec.Cmd) error {
	master, tty, err := pty.Open()
	if err != nil {
		return fmt.Errorf("open a terminal: %w", err)
	}
	defer master.Close() //nolint:errcheck // a copy of it stays
	defer tty.Close()    //nolint:errcheck // the program has it
	if err := pty.Setsize(master, &pty.Winsize{Rows: uint16(s.order.Rows), Cols: uint16(s.order.Cols)}); err != nil {
		return fmt.Errorf("set the size of the terminal: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(tty.Fd()), &st); err != nil {
		return fmt.Errorf("look at the terminal: %w", err)
	}
	// A copy that does not block, so that writing to a program that does not read has a limit.
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fmt.Errorf("copy the terminal's descriptor: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return fmt.Errorf("set the terminal not to block: %w", err)
	}
	x := &session{order: s.order, master: os.NewFile(uintptr(fd), "terminal"), tty: st.Rdev, changed: make(chan struct{}), latest: time.Now(), asked: time.Now(),
		replies: make(chan []byte, 64), drained: make(chan struct{}), gone: make(chan struct{})}
	x.screen = x.newScreen()
	x.mask = newMasker(feeder{x}, s.order.Secrets)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0, Pdeathsig: unix.SIGKILL}
	if err := s.startConfined(cmd); err != nil {
		_ = x.master.Close()
		return err
	}
	x.child = cmd.Process.Pid
	s.session = x
	go x.read()
	go x.reply()
	go x.idle(s.end)
	return nil
}

func (x *session) newScreen() *display {
	return newDisplay(x.order.Rows, x.order.Cols, x.order.Scrollback, x.onMark, func(b []byte) {
		select {
		case x.replies <- b:
		default: // a program that asks and does not read the answers gets no more of them
		}
	})
}

// read takes what is written until nobody can write any more. A terminal gives a few kilobytes at a time; what has come while the
// display was busy is shown together.
func (x *session) read() {
	pieces := make(chan []byte, maxWaiting/4096)
	go func() {
		defer close(pieces)
		b := make([]byte, 64<<10)
		for {
			n, err := x.master.Read(b)
			if n > 0 {
				x.unseen.Add(int64(n))
				pieces <- bytes.Clone(b[:n])
			}
			if err != nil { // EIO: the last process that had the terminal has gone
				return
			}
		}
	}()
	defer close(x.drained)
	for p := range pieces {
		for more := true; more && len(p) < maxWaiting; {
			select {
			case q := <-pieces:
				p, more = append(p, q...), q != nil
			default:
				more = false
			}
		}
		x.mu.Lock()
		x.latest = time.Now()
		_, _ = x.mask.Write(p) // a feeder takes everything
		x.unseen.Add(-int64(len(p)))
		x.calm = time.Time{}
		x.tell()
		x.mu.Unlock()
	}
}

// tell wakes everybody who waits. The lock is held.
func (x *session) tell() {
	close(x.changed)
	x.changed = make(chan struct{})
}

// reply sends the emulator's answers to a program's questions.
func (x *session) reply() {
	for {
		select {
		case b := <-x.replies:
			_ = x.master.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = x.master.Write(b) // who asks and does not read gets no answer
		case <-x.gone:
			return
		}
	}
}

// idle ends a session that nobody asks for.
func (x *session) idle(end chan<- Ended) {
	t := time.NewTicker(max(x.order.Idle/20, 10*time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-x.gone:
			return
		}
		x.mu.Lock()
		since := time.Since(x.asked)
		x.mu.Unlock()
		if since > x.order.Idle {
			select {
			case end <- EndedIdle:
			default:
			}
			return
		}
	}
}

// feeder takes what is left of a program's output when its secrets are masked. The session's lock is held.
type feeder struct{ x *session }

func (f feeder) Write(p []byte) (int, error) {
	x := f.x
	x.raw = append(x.raw, p...)
	if len(x.raw) > maxRaw*2 {
		x.raw = append(x.raw[:0], x.raw[len(x.raw)-maxRaw:]...)
	}
	for rest := p; len(rest) > 0; {
		// The emulator reports a mark while it works on the piece that ends it, so the piece's end is where the mark stands.
		n := len(rest)
		if i := bytes.IndexByte(rest, '\a'); i >= 0 {
			n = i + 1
		}
		x.segment = x.written + int64(n)
		x.screen.write(rest[:n])
		x.written += int64(n)
		if fresh := min(int64(n), x.written-x.headAt); fresh > 0 {
			piece := rest[int64(n)-fresh : n]
			x.head = append(x.head, piece[:min(len(piece), maxHead-len(x.head))]...)
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// onMark notes what the shell tells of itself (OSC 133): A before the prompt, B after it, C before a command's output, D after it.
func (x *session) onMark(kind byte, rest string) {
	switch kind {
	case 'A':
		x.marked = true
	case 'B':
		x.marked, x.prompt = true, true
		x.prompts++
	case 'C':
		x.prompt = false
		x.began++
		x.from, x.to = x.segment, 0
		x.head, x.headAt = nil, x.segment
	case 'D':
		if x.began == x.ended {
			return // the first prompt, or an empty line
		}
		x.ended = x.began
		x.exit = 0
		_, _ = fmt.Sscanf(rest, "%d", &x.exit) // without a number it is 0
		x.to = x.segment - int64(len("\x1b]133;D;\a")+len(rest))
	}
}

// respond answers a question about the session.
func (x *session) respond(q request, gone, over <-chan struct{}) response {
	x.mu.Lock()
	x.asked = time.Now()
	x.mu.Unlock()
	switch {
	case q.Op == "look":
		return response{Screen: x.look(q.Scrollback)}
	case q.Op == "send" && q.Send != nil:
		return response{Sent: x.send(*q.Send)}
	case q.Op == "settle" && q.Patience != nil:
		return response{Settled: x.settle(*q.Patience, gone, over)}
	}
	return response{Problem: "an unknown question"}
}

// probe asks the kernel what the terminal's foreground is doing. The lock is held; it is asked at most every probeEvery.
func (x *session) probe() (echo, canonical bool) {
	echo, canonical = true, true
	conn, err := x.master.SyscallConn()
	if err != nil {
		return echo, canonical
	}
	leader := 0
	_ = conn.Control(func(fd uintptr) {
		if t, err := unix.IoctlGetTermios(int(fd), unix.TCGETS); err == nil {
			echo, canonical = t.Lflag&unix.ECHO != 0, t.Lflag&unix.ICANON != 0
		}
		if n, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP); err == nil {
			leader = n
		}
	})
	if time.Since(x.probed) >= probeEvery || leader != x.leader {
		x.probed, x.leader = time.Now(), leader
		x.fore = lookAtForeground(leader, x.tty)
		// What a process wrote before it began to wait may still be on its way to us. So its state is looked at first.
		switch {
		case !x.fore.reading && !x.fore.polling || x.pending():
			x.calm = time.Time{}
		case x.calm.IsZero():
			x.calm = time.Now()
		}
	}
	return echo, canonical
}

// pending reports whether something was written that is not shown yet.
func (x *session) pending() bool {
	if x.unseen.Load() > 0 {
		return true
	}
	readable := false
	if conn, err := x.master.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) {
			p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(p, 0)
			readable = err == nil && n > 0 && p[0].Revents&unix.POLLIN != 0
		})
	}
	return readable
}

// calmFor is for how long a process has been waiting for the terminal, as far as it was seen.
func (x *session) calmFor() time.Duration {
	if x.calm.IsZero() {
		return 0
	}
	return x.probed.Sub(x.calm) // not until now: a look may lie back
}

// quietFor is for how long nothing has been written.
func (x *session) quietFor() time.Duration {
	if x.pending() {
		return 0
	}
	return time.Since(x.latest)
}

// sight collects what tells what the session asks for. The lock is held.
func (x *session) sight() sight {
	echo, canonical := x.probe()
	s := sight{line: x.screen.line(), echo: echo, canonical: canonical, program: x.fore.program, shell: x.leader == x.child,
		marked: x.marked, atPrompt: x.prompt, reading: x.fore.reading, polling: x.fore.polling, fullScreen: x.screen.em.IsAltScreen()}
	for _, l := range x.screen.lines() {
		if strings.TrimSpace(l) != "" {
			s.last = l
		}
	}
	return s
}

// look shows the session as it is now.
func (x *session) look(scrollback int) *Screen {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lookLocked(scrollback)
}

func (x *session) lookLocked(scrollback int) *Screen {
	x.flushQuiet()
	p := x.screen.em.CursorPosition()
	sc := &Screen{Text: x.screen.text(), Above: x.screen.above(scrollback), AboveLines: x.screen.scrolled(), Row: p.Y + 1, Col: p.X + 1, Prompt: PromptNone,
		Alive: !x.dead, Title: x.screen.title, Cwd: x.screen.cwd, FullScreen: x.screen.em.IsAltScreen(), Written: x.written, Line: strings.TrimRight(x.screen.line(), " ")}
	if x.dead {
		return sc
	}
	s := x.sight()
	sc.Prompt, sc.Waiting = s.ask()
	sc.Program, sc.Echo = s.program, s.echo
	if sc.Cwd == "" {
		sc.Cwd, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", x.child)) // a program that does not tell
	}
	sc.Running = !sc.Waiting
	if x.marked {
		sc.Running = x.began > x.ended
	}
	return sc
}

// flushQuiet lets go of what was held back as the possible beginning of a secret, once nothing has followed for a while.
func (x *session) flushQuiet() {
	if len(x.mask.held) > 0 && time.Since(x.latest) >= quietEcho {
		_ = x.mask.flush()
		x.tell()
	}
}

// send sends an input, once.
func (x *session) send(in Input) *Sent {
	x.mu.Lock()
	for _, old := range x.sent {
		if old.Key == in.Key {
			again := *old
			again.Again = true
			x.mu.Unlock()
			return &again
		}
	}
	_, canonical := x.probe()
	out := &Sent{Key: in.Key, at: time.Now(), offset: x.written, submitted: in.Submit, Asked: x.marked && x.prompt && x.leader == x.child, began: x.began, ended: x.ended, prompts: x.prompts}
	b, err := x.bytes(in)
	if err == nil && canonical {
		for _, l := range bytes.FieldsFunc(b, func(r rune) bool { return r == '\r' || r == '\n' }) {
			if len(l) > maxLine {
				err = fmt.Errorf("while a program reads whole lines, a terminal takes lines of up to %d bytes, and this one has %d", maxLine, len(l))
			}
		}
	}
	if err == nil && x.dead {
		err = errors.New("the session's program has ended")
	}
	if err != nil {
		out.Refused = err.Error()
		x.mu.Unlock()
		return out
	}
	if in.Press != "" {
		out.submitted = strings.ContainsAny(string(b), "\r\x03\x04\x1a\x1c")
	}
	if in.Secret && in.Text != "" {
		x.mask.secrets = newMasker(nil, append(stringsOf(x.mask.secrets), in.Text)).secrets
	}
	if out.submitted {
		x.prompt = false // until the shell marks the next one; what it asks for meanwhile is the rest of a command
	}
	x.calm = time.Time{}
	x.head, x.headAt = nil, x.written
	out.Want = len(b)
	if x.sent = append(x.sent, out); len(x.sent) > maxSent {
		x.sent = x.sent[1:]
	}
	x.mu.Unlock()

	_ = x.master.SetWriteDeadline(time.Now().Add(sendLimit))
	n, _ := x.master.Write(b) // how much was taken is the answer
	x.mu.Lock()
	out.Bytes = n
	answer := *out
	x.mu.Unlock()
	return &answer
}

func stringsOf(bs [][]byte) []string {
	var s []string
	for _, b := range bs {
		s = append(s, string(b))
	}
	return s
}

// bytes are what a keyboard would send for the input. The lock is held.
func (x *session) bytes(in Input) ([]byte, error) {
	var b strings.Builder
	b.WriteString(strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(in.Text))
	if in.Press != "" {
		k, err := Keys(in.Press, x.screen.application)
		if err != nil {
			return nil, err
		}
		b.WriteString(strings.Repeat(k, max(1, in.Times)))
	}
	b.WriteString(strings.Repeat("\x7f", in.Erase))
	if in.Submit {
		b.WriteByte('\r')
	}
	return []byte(b.String()), nil
}

// settle waits until the session has settled, or the asker has gone.
func (x *session) settle(p Patience, gone, over <-chan struct{}) *Settled {
	start := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	var sent *Sent
	for _, old := range x.sent {
		if p.Key != "" && old.Key == p.Key {
			sent = old
		}
	}
	w := wait{session: x, patience: p, sent: sent, start: start, from: x.written, prompts: x.prompts, searched: -1, found: p.Text == ""}
	if sent != nil {
		w.start, w.from, w.prompts = sent.at, sent.offset, sent.prompts
	}
	if p.Opening {
		w.prompts, w.from = 0, 0
	}
	for !w.moment().settled() {
		changed := x.changed
		x.mu.Unlock()
		asked := true
		select {
		case <-changed:
		case <-time.After(tick):
		case <-over:
			time.Sleep(tick) // the session is being ended; it says so in a moment
		case <-gone:
			asked = false
		}
		x.mu.Lock()
		if !asked {
			break // nobody waits any more
		}
	}
	out := &Settled{Screen: x.lookLocked(0), Known: sent != nil, Found: w.found, Wrote: x.written - w.from, Waited: time.Since(start)}
	if sent == nil {
		return out
	}
	copied := *sent
	out.Sent = &copied
	from, to := sent.offset, x.written
	if sent.Asked && x.began == sent.began+1 {
		from = x.from
	}
	if x.ended > sent.ended {
		exit := x.exit
		out.CommandExit = &exit
		to = max(from, x.to)
	}
	out.Output = x.output(from, to)
	return out
}

// wait is one wait of settle. The session's lock is held whenever it is used.
type wait struct {
	session  *session
	patience Patience
	sent     *Sent
	start    time.Time
	from     int64
	prompts  int
	searched int64
	found    bool
}

func (w *wait) moment() moment {
	x := w.session
	x.flushQuiet()
	s := x.sight()
	if !w.found && w.searched != x.written {
		w.found, w.searched = x.has(w.patience.Text, w.sent), x.written
	}
	prompt, _ := s.ask()
	return moment{dead: x.dead, text: w.patience.Text != "", found: w.found, looking: w.sent == nil, opening: w.patience.Opening,
		submitted: w.sent != nil && w.sent.submitted, marks: x.order.Marked, marked: x.marked, prompted: x.prompt && x.prompts > w.prompts,
		running: x.began > x.ended, wrote: x.written > w.from, reading: x.fore.reading, polling: x.fore.polling, asking: prompt != PromptNone,
		quiet: x.quietFor(), calm: x.calmFor(), elapsed: time.Since(w.start), limit: w.patience.Limit}
}

// has reports whether a text has appeared: after an input, in what the program wrote since, but for the echo of the input itself; otherwise on
// the screen. The lock is held.
func (x *session) has(want string, sent *Sent) bool {
	if sent == nil || x.screen.em.IsAltScreen() {
		return strings.Contains(x.screen.text(), want)
	}
	from := sent.offset
	if sent.Asked && sent.submitted {
		if x.began == sent.began {
			return false
		}
		from = x.from
	}
	raw := x.since(from, x.written)
	if !sent.Asked && sent.submitted {
		i := bytes.IndexByte(raw, '\n')
		if i < 0 {
			return false
		}
		raw = raw[i+1:]
	}
	plain := strings.ReplaceAll(ansi.Strip(text(raw)), "\r", "")
	return strings.Contains(plain, want)
}

// since are the raw bytes between two positions, as far as they are kept. The lock is held.
func (x *session) since(from, to int64) []byte {
	begin := x.written - int64(len(x.raw))
	from, to = max(from, begin), min(to, x.written)
	if from >= to {
		return nil
	}
	return x.raw[from-begin : to-begin]
}

// output renders what was written between two positions. Of a program that used the whole screen there is only the screen. Of what is not kept
// any more, or takes more than renderScrollback rows, there is the beginning, when it followed the latest input, and the end. Omitted counts all that
// is not shown; only where it is 0 the output is whole.
func (x *session) output(from, to int64) Output {
	raw := x.since(from, to)
	for _, alt := range []string{"\x1b[?1049h", "\x1b[?47h", "\x1b[?1047h"} {
		if bytes.Contains(raw, []byte(alt)) {
			return Output{}
		}
	}
	all := max(0, to-from)
	if int64(len(raw)) < all {
		raw = raw[bytes.IndexByte(raw, '\n')+1:] // from the first whole line on
	}
	if raw = lastRows(raw, x.order.Cols, renderScrollback); int64(len(raw)) == all {
		sp := newSpool(x.order.Whole, x.order.Head, x.order.Tail)
		_, _ = sp.Write([]byte(render(raw, x.order.Cols))) // it takes everything
		return sp.output()
	}
	var o Output
	o.Tail, o.Omitted = render(raw, x.order.Cols), all-int64(len(raw))
	head := x.head[:min(int64(len(x.head)), o.Omitted)]
	if i := bytes.LastIndexByte(head, '\n'); x.headAt == from && i > 0 {
		o.Head = render(head[:i], x.order.Cols)
		o.Omitted -= int64(i)
	}
	return o
}

// finish is called when the program has ended, and everything with it.
func (x *session) finish() {
	select {
	case <-x.drained:
	case <-time.After(drainLimit):
	}
	close(x.gone)
	_ = x.master.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.mask.flush()
	x.dead, x.prompt = true, false
	x.tell()
}

// ShellMarks is a file for bash that has it mark its prompts (OSC 133) and tell its directory (OSC 7).
const ShellMarks = `PS1='\[\e]133;A\a\]\$ \[\e]133;B\a\]'
PS0='\e]133;C\a'
__toolsvc_ended() { local s=$?; printf '\033]133;D;%s\007\033]7;file://%s\007' "$s" "$PWD"; return "$s"; }
PROMPT_COMMAND=__toolsvc_ended
unset HISTFILE MAILCHECK
shopt -s checkwinsize
`
