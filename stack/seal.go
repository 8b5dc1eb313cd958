package stack

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"toolsvc/planner"
)

// SealKeyVariable is the environment variable with the key that keeps arguments out of histories, in Base64: needed where several
// machines work for one Temporal, and made by `head -c 32 /dev/urandom | base64`. One machine makes a key of its own.
const SealKeyVariable = "TOOLSVC_SEAL_KEY"

// openSealer reads the sealing key, and makes one the first time.
func openSealer(stateDir string) (*planner.Sealer, error) {
	if text := os.Getenv(SealKeyVariable); text != "" {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%s is not Base64; make one with: head -c %d /dev/urandom | base64", SealKeyVariable, planner.SealKeySize)
		}
		s, err := planner.NewSealer(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", SealKeyVariable, err)
		}
		return s, nil
	}
	path := filepath.Join(stateDir, "seal.key")
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the sealing key: %w", err)
	}
	s, err := planner.NewSealer(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// makeKey writes a new key. Of two processes that do so at once, one wins, and both use its key.
func makeKey(path string) ([]byte, error) {
	key := make([]byte, planner.SealKeySize)
	rand.Read(key) //nolint:errcheck // never fails
	tmp, err := os.CreateTemp(filepath.Dir(path), "seal-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // a link keeps what it holds
	if _, err := tmp.Write(key); err != nil {
		return nil, err
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}
