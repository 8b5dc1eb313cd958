package gym

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // the handshake of RFC 6455 asks for it; nothing is kept secret by it
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"time"
)

// room is a WebSocket (RFC 6455) on which visitors wave. It only listens: each text frame is one wave, and nothing is ever answered.
func (g *Gym) room(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Sec-WebSocket-Key")
	if r.Header.Get("Upgrade") != "websocket" || key == "" {
		http.Error(w, "this address is for WebSockets", http.StatusBadRequest)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "take over the connection: "+err.Error(), http.StatusInternalServerError)
		return
	}
	defer conn.Close() //nolint:errcheck // nothing was written that could be lost
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n"); err != nil {
		return // the visitor is gone
	}
	const visit = 10 * time.Minute
	if err := conn.SetDeadline(time.Now().Add(visit)); err != nil {
		return
	}
	for {
		text, err := readText(buffered.Reader)
		if err != nil {
			return // the visitor left, the visit is over, or it is no WebSocket: in each case nothing more is heard
		}
		if text == "wave" {
			g.books.deed(session(r), "waved")
		}
	}
}

// readText reads frames until a whole text frame of at most 125 bytes has come; longer and fragmented ones are refused, other kinds are
// skipped, a closing frame ends it with io.EOF.
func readText(r *bufio.Reader) (string, error) {
	for {
		var head [6]byte // kind, length, mask: a visitor's frames are always masked
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return "", err
		}
		kind, length := head[0], head[1]&0x7f
		if head[1]&0x80 == 0 || length > 125 {
			return "", errors.New("a frame without a mask, or too long")
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(r, body); err != nil {
			return "", err
		}
		mask := binary.BigEndian.Uint32(head[2:])
		for i := range body {
			body[i] ^= byte(mask >> (24 - 8*(i%4)))
		}
		switch kind {
		case 0x81:
			return string(body), nil
		case 0x88:
			return "", io.EOF
		}
	}
}
