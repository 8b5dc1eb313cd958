package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Recovery is what Open did about a restore that a killed process had left unfinished.
type Recovery struct {
	// Restore names it.
	Restore string `json:"restore"`
	// Outcome: "finished", "undone", or "stuck", when something else has changed what the restore had changed already. What a stuck restore
	// displaced is kept, and the next Open tries again.
	Outcome string `json:"outcome"`
	// Why it was not finished.
	Why string `json:"why,omitempty"`
}

// Recovered lists what Open found unfinished.
func (w *Workspace) Recovered() []Recovery { return w.recovered }

// recover finishes or undoes every restore that has a journal.
func (w *Workspace) recover() error {
	names, err := os.ReadDir(w.restoresDir())
	if err != nil {
		return err
	}
	for _, n := range names {
		done, err := w.recoverOne(n.Name())
		if err != nil {
			return fmt.Errorf("finish the restore %s: %w", n.Name(), err)
		}
		w.recovered = append(w.recovered, done)
	}
	return nil
}

func (w *Workspace) recoverOne(id string) (Recovery, error) {
	r := &restore{w: w, dir: filepath.Join(w.restoresDir(), id)}
	text, err := os.ReadFile(filepath.Join(r.dir, planFile))
	if errors.Is(err, fs.ErrNotExist) { // nothing was done yet, or all was
		if err := r.clearInner(); err != nil {
			return Recovery{}, err
		}
		return Recovery{Restore: id, Outcome: "undone", Why: "it had only been prepared, or was already over"}, removeAll(r.dir)
	}
	if err != nil {
		return Recovery{}, err
	}
	var p plan
	if err := json.Unmarshal(text, &p); err != nil {
		return Recovery{}, fmt.Errorf("its plan is damaged: %w", err)
	}
	if err := r.openStage(false); errors.Is(err, fs.ErrNotExist) { // the end had begun
		return Recovery{Restore: id, Outcome: "finished"}, errors.Join(r.clearInner(), removeAll(r.dir))
	} else if err != nil {
		return Recovery{}, err
	}
	why, undone := r.run(&p, true)
	switch {
	case why == nil:
		return Recovery{Restore: id, Outcome: "finished"}, r.end()
	case undone:
		return Recovery{Restore: id, Outcome: "undone", Why: why.Error()}, r.end()
	}
	return Recovery{Restore: id, Outcome: "stuck", Why: why.Error()}, r.stage.close()
}
