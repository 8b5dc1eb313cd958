package geminitest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// signaturePrefix marks the signatures of this package.
const signaturePrefix = "geminitest:"

// sign makes the thought signature of a function call: opaque bytes that are bound to the function's name, so that a signature which
// was changed, or put on another call, is told from the right one without any state.
func sign(n int, name string) []byte {
	var nonce [8]byte
	binary.BigEndian.PutUint64(nonce[:], uint64(n))
	return append(append([]byte(signaturePrefix), nonce[:]...), mac(nonce[:], name)...)
}

func mac(nonce []byte, name string) []byte {
	sum := sha256.Sum256(bytes.Join([][]byte{[]byte(signaturePrefix), nonce, []byte(name)}, []byte{0}))
	return sum[:12]
}

// signed reports whether s is a signature that sign made for the function.
func signed(s []byte, name string) bool {
	rest, ok := bytes.CutPrefix(s, []byte(signaturePrefix))
	return ok && len(rest) == 20 && bytes.Equal(rest[8:], mac(rest[:8], name))
}
