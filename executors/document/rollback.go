package document

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"toolsvc/executors/document/files"
	"toolsvc/executors/document/textfile"
	"toolsvc/tool"
)

// Rollback implements tool.Attempt: it restores what was there, when the file still is what was written.
func (a *attempt) Rollback(ctx context.Context) (tool.Rollback, error) {
	if a.wrote && !a.lost { // a rollback writes, too, also that of an attempt which another process made
		if err := a.editing(ctx); err != nil {
			return tool.Rollback{}, err
		}
	}
	rb, err := a.rollback()
	return rb, a.fail(ctx, err)
}

func (a *attempt) rollback() (tool.Rollback, error) {
	switch {
	case a.lost:
		return tool.Rollback{Refused: "what was there before is not kept any more"}, nil
	case !a.wrote:
		return tool.Rollback{Performed: true, RestoredTo: "nothing had been written"}, nil
	}
	was := a.change.before.file
	err := a.x.root.Restore(was, a.change.digest, a.call.ID)
	var changed *files.ChangedError
	if errors.As(err, &changed) {
		now, readErr := a.x.root.Read(was.Path)
		if readErr != nil {
			return tool.Rollback{}, readErr
		}
		return tool.Rollback{Refused: fmt.Sprintf("%v, so it was left as it is. %s", changed, a.difference(now))}, nil
	}
	if err != nil {
		return tool.Rollback{}, err
	}
	now, err := a.x.root.Read(was.Path)
	if err != nil {
		return tool.Rollback{}, err
	}
	if now.Exists != was.Exists || now.Digest != was.Digest || now.Mode != was.Mode {
		return tool.Rollback{Refused: fmt.Sprintf("%s is not as it was: %s, mode %04o, instead of %s, mode %04o", was.Path, short(digestOrNone(now)), now.Mode.Perm(), short(digestOrNone(was)), was.Mode.Perm())}, nil
	}
	a.wrote = false
	if was.Exists {
		return tool.Rollback{Performed: true, RestoredTo: fmt.Sprintf("%s has its %d bytes and its mode %04o back", was.Path, len(was.Data), was.Mode.Perm())}, nil
	}
	if stay := a.x.root.RemoveFolders(a.made); len(stay) > 0 {
		return tool.Rollback{Refused: fmt.Sprintf("%s was removed, but not the folders made for it, because other things are in them: %s", was.Path, strings.Join(stay, ", "))}, nil
	}
	return tool.Rollback{Performed: true, RestoredTo: was.Path + " is gone again"}, nil
}

// difference tells what somebody else made of what was written.
func (a *attempt) difference(now *files.File) string {
	if !now.Exists {
		return "The file is gone."
	}
	theirs, err := textfile.Decode(now.Data)
	if err != nil {
		return fmt.Sprintf("It is no text now: %v.", err)
	}
	d, _, _ := unified("written", "now", a.change.after.LF, theirs.LF, 1)
	if d == "" {
		return "It differs in line endings or encoding."
	}
	return "What differs from what was written:\n" + clip(d, maxDifference)
}

// unified compares two texts line by line.
func unified(from, to, a, b string, context int) (diff string, added, removed int) {
	if a == b {
		return "", 0, 0
	}
	edits := udiff.Lines(a, b)
	u, err := udiff.ToUnifiedDiff(from, to, a, edits, context)
	if err != nil { // the edits were made from this text
		return "", 0, 0
	}
	for _, h := range u.Hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Insert:
				added++
			case udiff.Delete:
				removed++
			}
		}
	}
	return fmt.Sprint(u), added, removed
}
