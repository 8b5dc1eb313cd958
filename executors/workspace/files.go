package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeFile writes a file as a whole: whoever reads it sees the old or the new content. durable: it survives a loss of power when this returns.
func writeFile(dir, name string, data []byte, durable bool) (err error) {
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	at("write " + name)
	if err = os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	at("wrote " + name)
	if !durable {
		return nil
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// writeRecord writes a value as JSON.
func writeRecord(dir, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return full(writeFile(dir, name, text, true))
}

// readRecords reads all records of a directory, by name. What a killed write left is removed; a record that cannot be read is an error:
// it may be somebody's way back.
func readRecords[T any](dir string) (map[string]*T, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	records := map[string]*T{}
	for _, n := range names {
		path := filepath.Join(dir, n.Name())
		if strings.HasPrefix(n.Name(), ".new-") {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		v := new(T)
		if err := json.Unmarshal(text, v); err != nil {
			return nil, fmt.Errorf("the record %s is damaged: %w", path, err)
		}
		records[n.Name()] = v
	}
	return records, nil
}

// remove removes a file; nothing when it is not there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
