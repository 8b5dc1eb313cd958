package temporalclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Endpoint says where the embedded Temporal of a state directory listens. It lies beside the lock as endpoint.json, and is valid only
// while the lock is held.
type Endpoint struct {
	PID       int       `json:"pid"`              // the process that holds the lock
	Address   string    `json:"temporal_address"` // host:port of the frontend
	UIURL     string    `json:"ui_url,omitempty"` // of the web UI; empty without one
	Namespace string    `json:"namespace"`        // where toolsvc's runs are
	Started   time.Time `json:"started"`          // when that process took the directory
	// Ready: the server answers at these addresses. Before that they are those of the process before, kept so that ports stay the same.
	Ready bool `json:"ready"`
}

const (
	lockName   = "temporal.lock"
	recordName = "endpoint.json"
)

// maxRecord bounds what is read of a record, in bytes.
const maxRecord = 64 << 10

// ReadEndpoint finds the Temporal that some process runs on a state directory. It reports false when none runs or when it is not ready
// yet, and an error only when the directory cannot be read. It starts nothing and leaves nothing behind.
func ReadEndpoint(stateDir string) (Endpoint, bool, error) {
	held, err := lockHeld(filepath.Join(stateDir, lockName))
	if err != nil {
		return Endpoint{}, false, fmt.Errorf("look for a running Temporal in %s: %w", stateDir, err)
	}
	if !held {
		return Endpoint{}, false, nil
	}
	record, err := readRecord(stateDir)
	if err != nil {
		return Endpoint{}, false, err
	}
	// A process that has just taken over from a killed one has the lock, but for an instant the record is still its predecessor's.
	if !record.Ready || !processAlive(record.PID) {
		return record, false, nil
	}
	return record, true, nil
}

// readRecord returns the last record of a state directory, whether or not it is valid; the zero Endpoint if there is none or if it is
// not a record (it is only a hint then, and the next owner writes it anew).
func readRecord(stateDir string) (Endpoint, error) {
	path := filepath.Join(stateDir, recordName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > maxRecord {
		return Endpoint{}, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Endpoint{}, nil
	}
	if err != nil {
		return Endpoint{}, fmt.Errorf("read the record of the running Temporal: %w", err)
	}
	var record Endpoint
	if json.Unmarshal(text, &record) != nil {
		return Endpoint{}, nil
	}
	return record, nil
}

// writeRecord replaces the record atomically, so that a reader sees the old one or the new one, and a crash leaves one of them.
func writeRecord(stateDir string, record Endpoint) error {
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record of the running Temporal: %w", err)
	}
	file, err := os.CreateTemp(stateDir, recordName+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write the record of the running Temporal: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(stateDir, recordName))
	}
	if err != nil {
		return fmt.Errorf("write the record of the running Temporal: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
