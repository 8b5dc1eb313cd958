package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// key tells the run of a case from its others.
func (t trial) key() string { return fmt.Sprintf("%s/%t/%d", t.Case, t.Healing, t.Number) }

// readLog reads the runs of a log; none when it is not there. Of a run that was made twice the later counts, and one that could not be
// measured does not. A line that was cut off by an interruption is an error that names it.
func readLog(path string) ([]trial, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	at := map[string]int{}
	var trials []trial
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		if strings.TrimSpace(in.Text()) == "" {
			continue
		}
		var t trial
		if err := json.Unmarshal(in.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w; remove the line to go on", path, n, err)
		}
		if t.Broken != "" {
			continue
		}
		if i, again := at[t.key()]; again {
			trials[i] = t
			continue
		}
		at[t.key()] = len(trials)
		trials = append(trials, t)
	}
	return trials, in.Err()
}
