//go:build linux

package supervise

import (
	"regexp"
	"strings"
	"sync"
)

// Prompt is what a session asks for.
type Prompt string

// The prompts.
const (
	PromptNone     Prompt = "none"
	PromptShell    Prompt = "shell"
	PromptPassword Prompt = "password"
	PromptYesNo    Prompt = "yes_no"
	PromptPager    Prompt = "pager"
	PromptInput    Prompt = "input"
)

// sight is all that tells what a session asks for.
type sight struct {
	// line is the text of the cursor's line up to the cursor, last the last line with text.
	line, last string
	// echo and canonical are the terminal's settings: what is typed is shown; lines are edited by the kernel.
	echo, canonical bool
	// program is the name of the program in the foreground, shell whether that is the session's own program.
	program string
	shell   bool
	// marked: the shell marks its prompts. atPrompt: it stands at one.
	marked, atPrompt bool
	// reading: a process of the foreground is blocked in reading the terminal. polling: it waits for the terminal among other things.
	reading, polling bool
	// fullScreen: the alternate screen is shown.
	fullScreen bool
}

var (
	passwordWords = lazy(`(?i)(pass(word|phrase|code)|passwort|mot de passe|contraseña|\bPIN\b|verification code|one-time|OTP|パスワード|비밀번호|암호)[^\n]{0,120}[:：?]\s*$`)
	yesNoWords    = lazy(`(?i)[\[(<]\s*(y(es)?\s*/\s*no?|no?\s*/\s*y(es)?)\b[^)>\n]{0,40}[\])>]\s*[?:]?\s*(\[[^\]]{1,12}\]\s*)?[?:]?\s*$|(\byes or no|\(yes\))\s*[?:]?\s*$`)
	pagerWords    = lazy(`^\s*(:|\(END\)|--More--.*|-- ?more ?--.*|.*\(press h for help or q to quit\)|lines \d+-\d+.*|.*\(END\)|(Manual page|Help) .* line \d+.*|.*\(\d+%\))\s*$`)
	shellLine     = lazy(`[$#%❯➜>]\s*$`)
	asking        = lazy(`[:?>=\])…]\s*$`)
)

// lazy compiles an expression when it is first used: most supervisors never need it, and each would have to wait for it.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// pagers are programs that show text page by page.
var pagers = map[string]bool{"less": true, "more": true, "most": true, "man": true, "pg": true, "bat": true, "batcat": true}

// ask decides what a session asks for, and whether it waits for input. What the kernel knows goes before what a line looks like: a
// password is asked for where the echo is off while lines are edited, and a process that is blocked in reading the terminal waits. A line
// that merely looks like a question is believed only when the program is not known to do something else.
func (s sight) ask() (Prompt, bool) {
	line := strings.TrimRight(s.line, " ")
	idle := s.reading || s.polling
	switch {
	case s.marked && s.shell && s.atPrompt:
		return PromptShell, true
	case s.marked && s.shell && s.polling && !s.canonical && strings.HasSuffix(line, ">"): // the shell wants the rest of a command
		return PromptInput, true
	case !s.echo && s.canonical:
		return PromptPassword, true
	case passwordWords().MatchString(s.line) && (!s.echo || idle):
		return PromptPassword, true
	case !s.canonical && idle && (pagers[s.program] || pagerWords().MatchString(s.last)):
		return PromptPager, true
	case yesNoWords().MatchString(s.line) && idle:
		return PromptYesNo, true
	case s.shell && !s.marked && idle && shellLine().MatchString(s.line):
		return PromptShell, true
	case s.reading:
		return PromptInput, true
	case s.polling && !s.canonical: // a full-screen program, a line editor
		return PromptInput, true
	case s.polling && asking().MatchString(line):
		return PromptInput, true
	}
	return PromptNone, false
}
