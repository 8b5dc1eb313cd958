package server

import (
	"fmt"
	"net"
)

// Exposure is how a toolsvc can be reached.
type Exposure struct {
	// Address is where it listens: host:port.
	Address string
	// Tokens: only those who have one may make requests.
	Tokens bool
	// TLS: what is sent is encrypted.
	TLS bool
	// BehindProxy: whoever runs it states that a proxy in front encrypts, and that nobody reaches the address past the proxy.
	BehindProxy bool
}

// Check refuses an exposure that would let strangers call tools, or read tokens on the way. Loopback is open to everyone on the machine
// unless there are tokens; any other address, and a proxy, takes tokens; and any other address takes TLS, here or in the proxy.
func (e Exposure) Check() error {
	host, _, err := net.SplitHostPort(e.Address)
	if err != nil {
		return fmt.Errorf("address %q: %w; write host:port, such as 127.0.0.1:7070", e.Address, err)
	}
	elsewhere := !isLoopback(host)
	switch {
	case e.BehindProxy && !e.Tokens:
		return fmt.Errorf("a proxy lets others reach %s, who have to show a token: give --tokens", e.Address)
	case elsewhere && !e.Tokens:
		return fmt.Errorf("address %q is not loopback, so those who call have to show a token: give --tokens, or listen on 127.0.0.1", e.Address)
	case elsewhere && !e.TLS && !e.BehindProxy:
		return fmt.Errorf("address %q is not loopback, so tokens must not travel in the clear: give --tls-cert and --tls-key, or say --behind-proxy when a proxy in front encrypts", e.Address)
	}
	return nil
}
