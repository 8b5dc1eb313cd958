//go:build linux

package supervise

import (
	"bytes"
	"io"
	"slices"
)

// Mask stands where a secret stood.
const Mask = "[redacted]"

// masker replaces secrets in a stream, also where one comes in pieces. What may be the beginning of a secret is held back until more
// comes, or until flush.
type masker struct {
	to      io.Writer
	secrets [][]byte // the longest first
	held    []byte
}

func newMasker(to io.Writer, secrets []string) *masker {
	m := &masker{to: to}
	for _, s := range secrets {
		if b := []byte(s); s != "" && !slices.ContainsFunc(m.secrets, func(o []byte) bool { return bytes.Equal(o, b) }) {
			m.secrets = append(m.secrets, b)
		}
	}
	slices.SortFunc(m.secrets, func(a, b []byte) int { return len(b) - len(a) })
	return m
}

func (m *masker) Write(p []byte) (int, error) {
	if len(m.secrets) == 0 {
		return m.to.Write(p)
	}
	m.held = append(m.held, p...)
	if err := m.pass(false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush passes on what is held back: no more is coming, or not soon.
func (m *masker) flush() error { return m.pass(true) }

func (m *masker) pass(all bool) error {
	b := m.held
	var out []byte
	for len(b) > 0 {
		at, length := -1, 0
		for _, s := range m.secrets {
			if i := bytes.Index(b, s); i >= 0 && (at < 0 || i < at) {
				at, length = i, len(s)
			}
		}
		keep := 0 // of the end, which may be the beginning of a secret
		if !all {
			keep = m.partial(b)
		}
		if at >= 0 && (keep == 0 || len(b)-keep > at) {
			out = append(append(out, b[:at]...), Mask...)
			b = b[at+length:]
			continue
		}
		out = append(out, b[:len(b)-keep]...)
		b = b[len(b)-keep:]
		break
	}
	m.held = append(m.held[:0], b...)
	if len(out) == 0 {
		return nil
	}
	_, err := m.to.Write(out)
	return err
}

// partial is the length of the longest end of b that begins a secret.
func (m *masker) partial(b []byte) int {
	most := 0
	for _, s := range m.secrets {
		for n := min(len(s)-1, len(b)); n > most; n-- {
			if bytes.HasPrefix(s, b[len(b)-n:]) {
				most = n
				break
			}
		}
	}
	return most
}
