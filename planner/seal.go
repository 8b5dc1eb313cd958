package planner

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// SealKeySize is the size of a Sealer's key, in bytes.
const SealKeySize = 32

// sealedPrefix begins what a Sealer has sealed.
const sealedPrefix = "sealed:v1:"

// Sealer keeps the arguments of calls out of Temporal's histories, where secrets that are typed into fields would stand in clear for as
// long as the history is kept: what enters a history is encrypted (AES-256-GCM), and opened again only where a call is made. The same
// text is sealed alike, so that a repeated request is the same request. A nil Sealer seals nothing.
type Sealer struct {
	aead cipher.AEAD
	mac  []byte
}

// NewSealer makes a Sealer from a key of [SealKeySize] random bytes. All workers of one Temporal namespace need the same key.
func NewSealer(key []byte) (*Sealer, error) {
	if len(key) != SealKeySize {
		return nil, fmt.Errorf("a sealing key has %d bytes; this one has %d", SealKeySize, len(key))
	}
	derive := func(purpose string) []byte {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(purpose))
		return m.Sum(nil)
	}
	block, err := aes.NewCipher(derive("toolsvc arguments: encryption"))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{aead: aead, mac: derive("toolsvc arguments: nonce")}, nil
}

// seal returns a copy of the step without its arguments in clear, nor what was corrected in them.
func (s *Sealer) seal(st Step) (Step, error) {
	if s == nil {
		return st, nil
	}
	if len(st.Arguments) > 0 && !isSealed(st.Arguments) {
		text, err := json.Marshal(s.text(st.Arguments))
		if err != nil {
			return st, err
		}
		st.Arguments = text
	}
	if d := st.Draft; d != nil && !isSealed(d.Payload) {
		st.Draft = &Draft{Payload: []byte(s.text(d.Payload)), Issues: d.Issues}
	}
	st.Repairs = slices.Clone(st.Repairs) // of the caller
	for i := range st.Repairs {
		for _, v := range []*string{&st.Repairs[i].From, &st.Repairs[i].To} {
			if *v != "" && !isSealed([]byte(*v)) {
				*v = s.text([]byte(*v))
			}
		}
	}
	return st, nil
}

// text seals a text. The nonce depends on the text, so it is never used for two of them.
func (s *Sealer) text(clear []byte) string {
	m := hmac.New(sha256.New, s.mac)
	m.Write(clear)
	nonce := m.Sum(nil)[:s.aead.NonceSize()]
	return sealedPrefix + base64.StdEncoding.EncodeToString(s.aead.Seal(nonce, nonce, clear, nil))
}

func isSealed(b []byte) bool {
	return strings.HasPrefix(strings.TrimPrefix(string(b[:min(len(b), 20)]), `"`), sealedPrefix)
}

// errNoSealKey: arguments were sealed by another key, or there is none.
var errNoSealKey = errors.New("the call's arguments were sealed with another key; all workers need the same one (TOOLSVC_SEAL_KEY)")

// open returns a copy of the step with its arguments in clear.
func (s *Sealer) open(st Step) (Step, error) {
	if isSealed(st.Arguments) {
		var sealed string
		if err := json.Unmarshal(st.Arguments, &sealed); err != nil {
			return st, fmt.Errorf("open the arguments of call %s: %w", st.CallID, err)
		}
		clear, err := s.clear(sealed)
		if err != nil {
			return st, fmt.Errorf("open the arguments of call %s: %w", st.CallID, err)
		}
		st.Arguments = clear
	}
	if d := st.Draft; d != nil && isSealed(d.Payload) {
		clear, err := s.clear(string(d.Payload))
		if err != nil {
			return st, fmt.Errorf("open the payload of call %s: %w", st.CallID, err)
		}
		st.Draft = &Draft{Payload: clear, Issues: d.Issues}
	}
	st.Repairs = slices.Clone(st.Repairs) // of the caller
	for i := range st.Repairs {
		for _, v := range []*string{&st.Repairs[i].From, &st.Repairs[i].To} {
			if !isSealed([]byte(*v)) {
				continue
			}
			clear, err := s.clear(*v)
			if err != nil {
				return st, fmt.Errorf("open the corrections of call %s: %w", st.CallID, err)
			}
			*v = string(clear)
		}
	}
	return st, nil
}

func (s *Sealer) clear(sealed string) ([]byte, error) {
	if s == nil {
		return nil, errNoSealKey
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sealed, sealedPrefix))
	n := s.aead.NonceSize()
	if err != nil || len(data) < n {
		return nil, errors.New("what was sealed is damaged")
	}
	clear, err := s.aead.Open(nil, data[:n], data[n:], nil)
	if err != nil {
		return nil, errNoSealKey
	}
	return clear, nil
}
