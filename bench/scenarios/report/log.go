package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Read reads a log. A file that is not there is empty. A last line that was cut off, because the program was killed while it wrote, is left
// out; any other bad line is an error. Of several lines about the same run the last counts.
func Read(path string) ([]Run, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	var runs []Run
	at := map[string]int{}
	var bad error
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		if bad != nil {
			return nil, bad
		}
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		var r Run
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			bad = fmt.Errorf("%s, line %d: %w", path, n, err)
			continue
		}
		if i, again := at[r.Key()]; again {
			runs[i] = r
			continue
		}
		at[r.Key()] = len(runs)
		runs = append(runs, r)
	}
	return runs, in.Err()
}

// Key names what the run was about.
func (r Run) Key() string { return fmt.Sprintf("%s/%t/%d/%d", r.Scenario, r.Healing, r.Seed, r.Number) }

// Write writes the whole log in order: by scenario as they are listed, mode, seed and number.
func Write(path string, runs []Run, scenarios []string) error {
	sorted := slices.Clone(runs)
	slices.SortFunc(sorted, func(a, b Run) int { return compare(a, b, scenarios) })
	var b strings.Builder
	for _, r := range sorted {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode the log: %w", err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func compare(a, b Run, scenarios []string) int {
	if d := slices.Index(scenarios, a.Scenario) - slices.Index(scenarios, b.Scenario); d != 0 {
		return d
	}
	if a.Healing != b.Healing {
		if b.Healing {
			return -1
		}
		return 1
	}
	if a.Seed != b.Seed {
		if a.Seed < b.Seed {
			return -1
		}
		return 1
	}
	return a.Number - b.Number
}
