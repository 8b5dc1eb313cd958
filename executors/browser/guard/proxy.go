package guard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// Bounds of the proxy.
const (
	maxConnections = 2048
	handshakeLimit = 10 * time.Second
)

// Words of SOCKS 5 (RFC 1928).
const (
	version5         = 5
	noAuthentication = 0
	noneAcceptable   = 0xff
	commandConnect   = 1
	typeIPv4         = 1
	typeName         = 3
	typeIPv6         = 4

	replySucceeded   = 0
	replyFailed      = 1
	replyNotAllowed  = 2
	replyUnreachable = 4
	replyRefused     = 5
	replyCommand     = 7
	replyAddressType = 8
)

// Serve answers SOCKS 5 on the listener until it is closed. Each connection that is asked for is made by dial.
func Serve(l net.Listener, dial func(ctx context.Context, host string, port int) (net.Conn, error)) error {
	slots := make(chan struct{}, maxConnections)
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
				time.Sleep(20 * time.Millisecond) // until others have ended
				continue
			}
			return err
		}
		select {
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				defer conn.Close() //nolint:errcheck // there is nobody to tell
				_ = serveOne(conn, dial)
			}()
		default:
			_ = conn.Close()
		}
	}
}

// serveOne takes the order of one connection, and carries it out.
func serveOne(client net.Conn, dial func(ctx context.Context, host string, port int) (net.Conn, error)) error {
	if err := client.SetDeadline(time.Now().Add(handshakeLimit)); err != nil {
		return err
	}
	host, port, code, err := order(client)
	if err != nil {
		if code != replySucceeded {
			_ = reply(client, code)
		}
		return err
	}
	if err := client.SetDeadline(time.Time{}); err != nil {
		return err
	}
	upstream, err := dial(context.Background(), host, port) // bounded by itself
	if err != nil {
		return errors.Join(err, reply(client, replyTo(err)))
	}
	defer upstream.Close() //nolint:errcheck // there is nobody to tell
	if err := reply(client, replySucceeded); err != nil {
		return err
	}
	relay(client, upstream)
	return nil
}

// order reads the greeting and the request. code is the reply to a request that cannot be followed.
func order(c net.Conn) (host string, port int, code byte, err error) {
	var b [256]byte
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return "", 0, 0, err
	}
	if b[0] != version5 {
		return "", 0, 0, fmt.Errorf("version %d of SOCKS", b[0])
	}
	methods := b[:b[1]]
	if _, err := io.ReadFull(c, methods); err != nil {
		return "", 0, 0, err
	}
	answer := byte(noneAcceptable)
	for _, m := range methods {
		if m == noAuthentication {
			answer = noAuthentication
		}
	}
	if _, err := c.Write([]byte{version5, answer}); err != nil || answer != noAuthentication {
		return "", 0, 0, errors.Join(err, errors.New("no common method of authentication"))
	}
	if _, err := io.ReadFull(c, b[:4]); err != nil {
		return "", 0, 0, err
	}
	command, kind := b[1], b[3]
	switch kind {
	case typeIPv4:
		if _, err := io.ReadFull(c, b[:4]); err != nil {
			return "", 0, 0, err
		}
		host = netip.AddrFrom4([4]byte(b[:4])).String()
	case typeIPv6:
		if _, err := io.ReadFull(c, b[:16]); err != nil {
			return "", 0, 0, err
		}
		host = netip.AddrFrom16([16]byte(b[:16])).String()
	case typeName:
		if _, err := io.ReadFull(c, b[:1]); err != nil {
			return "", 0, 0, err
		}
		name := b[:b[0]]
		if _, err := io.ReadFull(c, name); err != nil {
			return "", 0, 0, err
		}
		host = string(name)
	default:
		return "", 0, replyAddressType, fmt.Errorf("address type %d", kind)
	}
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return "", 0, 0, err
	}
	if port = int(binary.BigEndian.Uint16(b[:2])); command != commandConnect {
		return "", 0, replyCommand, fmt.Errorf("command %d", command)
	}
	return host, port, 0, nil
}

// replyTo is the reply that tells of an error.
func replyTo(err error) byte {
	var denied *Denied
	var dns *net.DNSError
	switch {
	case errors.As(err, &denied):
		return replyNotAllowed
	case errors.As(err, &dns), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return replyUnreachable
	case errors.Is(err, syscall.ECONNREFUSED):
		return replyRefused
	}
	return replyFailed
}

func reply(c net.Conn, code byte) error {
	_, err := c.Write([]byte{version5, code, 0, typeIPv4, 0, 0, 0, 0, 0, 0}) // of the bound address nobody makes use
	return err
}

// relay passes bytes on in both directions until both have ended. The end of one direction is passed on as such, and a broken connection
// as a broken connection.
func relay(a, b net.Conn) {
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		defer both.Done()
		if _, err := io.Copy(to, from); err != nil {
			for _, c := range []net.Conn{a, b} {
				if t, ok := c.(*net.TCPConn); ok {
					_ = t.SetLinger(0)
				}
				_ = c.Close()
			}
			return
		}
		if t, ok := to.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
	}
	both.Add(2)
	go pass(b, a)
	pass(a, b)
	both.Wait()
}
