//go:build linux

package supervise

import (
	"strings"
	"unicode/utf8"
)

// spool keeps a stream: all of it up to a size, and of a longer one the beginning and the end. It is not safe for concurrent use.
type spool struct {
	whole, head, tail int
	begin             []byte // all, as long as there is not more than whole; then the first head bytes
	ring              []byte // the latest tail bytes, once there is more than whole
	at                int    // where the next byte goes, when the ring is full
	total             int64
}

func newSpool(whole, head, tail int) *spool {
	return &spool{whole: max(whole, head+tail), head: head, tail: tail}
}

// Write never fails.
func (s *spool) Write(p []byte) (int, error) {
	n := len(p)
	s.total += int64(n)
	if s.ring == nil {
		if len(s.begin)+n <= s.whole {
			s.begin = append(s.begin, p...)
			return n, nil
		}
		all := append(s.begin, p...) //nolint:gocritic // the old slice is given up
		s.begin = append([]byte(nil), all[:s.head]...)
		s.ring = make([]byte, 0, s.tail)
		p = all[s.head:]
	}
	p = p[max(0, len(p)-s.tail):]
	if room := s.tail - len(s.ring); room > 0 {
		k := min(room, len(p))
		s.ring, p = append(s.ring, p[:k]...), p[k:]
	}
	for len(p) > 0 {
		k := copy(s.ring[s.at:], p)
		p, s.at = p[k:], (s.at+k)%s.tail
	}
	return n, nil
}

// output is what was kept, cut at the borders of characters.
func (s *spool) output() Output {
	if s.ring == nil {
		return Output{Head: text(s.begin)}
	}
	head := s.begin
	for i := 1; i <= utf8.UTFMax && i <= len(head); i++ { // a character that was cut begins among the last bytes
		if c := head[len(head)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(head[len(head)-i:]) {
				head = head[:len(head)-i]
			}
			break
		}
	}
	tail := append(append(make([]byte, 0, len(s.ring)), s.ring[s.at:]...), s.ring[:s.at]...)
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	return Output{Head: text(head), Tail: text(tail), Omitted: s.total - int64(len(head)) - int64(len(tail))}
}

// text is b as valid UTF-8: what is none shows as U+FFFD.
func text(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
