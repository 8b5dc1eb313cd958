package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// minKey is the least length of a signing key, in bytes.
const minKey = 32

// maxSealed bounds what is accepted for opening, in bytes.
const maxSealed = 8 << 10

// LoadKey reads the signing key of a state directory, and makes it when there is none. Processes that start at the same time get the
// same one.
func LoadKey(stateDir string) ([]byte, error) {
	path := filepath.Join(stateDir, "mcp.key")
	key, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		key, err = makeKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the MCP signing key: %w", err)
	}
	if len(key) < minKey {
		return nil, fmt.Errorf("the MCP signing key %s has %d bytes and needs %d; delete it to have a new one made, which makes open questions of clients invalid", path, len(key), minKey)
	}
	return key, nil
}

// makeKey writes a new key whole, or reads the one that another process has written meanwhile.
func makeKey(path string) ([]byte, error) {
	key := make([]byte, minKey)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mcp.key-*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // a temporary name; the key has its own
	if _, err := f.Write(key); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}

// errSeal says that something was not sealed by this server, was sealed for something else, or is too old.
var errSeal = errors.New("it was not issued by this server, was changed, or has expired")

// seal is what is signed: a purpose keeps one kind from being taken for another.
type seal[T any] struct {
	Purpose string    `json:"p"`
	Expires time.Time `json:"x"`
	Value   T         `json:"v"`
}

func mac(key, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}

// sealed signs a value, so that it can be carried through a client. It is readable by the client, and holds no secret.
func sealed[T any](key []byte, purpose string, expires time.Time, value T) (string, error) {
	text, err := json.Marshal(seal[T]{purpose, expires.UTC().Truncate(time.Second), value})
	if err != nil {
		return "", fmt.Errorf("seal a %s: %w", purpose, err)
	}
	enc := base64.RawURLEncoding
	return enc.EncodeToString(text) + "." + enc.EncodeToString(mac(key, text)), nil
}

// opened returns the value that was sealed for the purpose, or errSeal.
func opened[T any](key []byte, purpose, s string, now time.Time) (value T, err error) {
	body, sum, ok := strings.Cut(s, ".")
	if !ok || len(s) > maxSealed {
		return value, errSeal
	}
	enc := base64.RawURLEncoding.Strict()
	text, err1 := enc.DecodeString(body)
	given, err2 := enc.DecodeString(sum)
	if err1 != nil || err2 != nil || !hmac.Equal(given, mac(key, text)) {
		return value, errSeal
	}
	var v seal[T]
	if err := json.Unmarshal(text, &v); err != nil || v.Purpose != purpose || now.After(v.Expires) {
		return value, errSeal
	}
	return v.Value, nil
}

// Seal signs a text that is carried through a client for at most an hour; for the fixtures of conformance tests.
func (s *Surface) Seal(purpose, text string) (string, error) {
	return sealed(s.o.Key, "fixture "+purpose, time.Now().Add(time.Hour), text)
}

// Open returns what Seal signed for the purpose, or an error.
func (s *Surface) Open(purpose, token string) (string, error) {
	return opened[string](s.o.Key, "fixture "+purpose, token, time.Now())
}
