package workspace

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pmezard/go-difflib/difflib"
)

// maxConflicts and diffLines bound what a refusal tells.
const (
	maxConflicts = 20
	diffLines    = 40
	diffLineLen  = 200
)

// Conflict is a path that a restore would have to overwrite although something else changed it.
type Conflict struct {
	Path string `json:"path"`
	// Why says in words what stands in the way.
	Why string `json:"why"`
	// Ours is what the attempt left, Theirs what is there now: kind, size, mode, digest or target.
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
	// Diff is a unified diff from ours to theirs, where both are small texts.
	Diff string `json:"diff,omitempty"`
}

// Refused is the error of a restore that would have overwritten what something else changed. Nothing was changed.
type Refused struct {
	Conflicts []Conflict `json:"conflicts"` // the first of them
	Total     int        `json:"total"`
	cause     error
}

// Unwrap returns what was met half-way; nil when the conflicts were seen before anything was done.
func (r *Refused) Unwrap() error { return r.cause }

func (r *Refused) Error() string {
	c := r.Conflicts[0]
	msg := fmt.Sprintf("rollback_refused: %s: %s (after the attempt: %s; now: %s)", c.Path, c.Why, c.Ours, c.Theirs)
	if r.Total > 1 {
		msg += fmt.Sprintf("; and %d more", r.Total-1)
	}
	return msg + "; nothing was overwritten"
}

// Details are the account for a person: each conflict with its difference.
func (r *Refused) Details() string {
	var b strings.Builder
	for _, c := range r.Conflicts {
		fmt.Fprintf(&b, "%s: %s\n  after the attempt: %s\n  now: %s\n", c.Path, c.Why, c.Ours, c.Theirs)
		if c.Diff != "" {
			b.WriteString(c.Diff)
		}
	}
	if more := r.Total - len(r.Conflicts); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return b.String()
}

// textDiff is a short unified diff; "" when one side is no text.
func textDiff(path string, ours, theirs []byte) string {
	if !isText(ours) || !isText(theirs) {
		return ""
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: lines(ours), B: lines(theirs), FromFile: path + " (after the attempt)", ToFile: path + " (now)", Context: 1,
	})
	if err != nil {
		return ""
	}
	all := strings.SplitAfter(text, "\n")
	if len(all) > diffLines {
		all = append(all[:diffLines], "…\n")
	}
	return strings.Join(all, "")
}

// lines are the lines of a text, clipped.
func lines(b []byte) []string {
	ls := strings.SplitAfter(string(b), "\n")
	if ls[len(ls)-1] == "" {
		ls = ls[:len(ls)-1]
	}
	for i, l := range ls {
		if !strings.HasSuffix(l, "\n") {
			l += "\n"
		}
		if len(l) > diffLineLen {
			l = strings.ToValidUTF8(l[:diffLineLen], "") + "…\n"
		}
		ls[i] = l
	}
	return ls
}

func isText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }
