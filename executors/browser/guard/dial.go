package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Bounds of one connection that is asked for.
const (
	resolveLimit = 10 * time.Second
	dialLimit    = 15 * time.Second
	// maxAddresses of a name are tried.
	maxAddresses = 8
)

// Dial connects to a host, a name or an address, if the policy allows it: the name, and each of the addresses that it resolves to. What is
// dialled is the address that was checked; the name is not resolved again. The error is a *[Denied], a *net.DNSError, or that of the
// connection.
func (g *Guard) Dial(ctx context.Context, host string, port int) (net.Conn, error) {
	addrs, err := g.resolve(ctx, host, port)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	var d net.Dialer
	var errs []error
	for i, ip := range addrs {
		one, stop := context.WithTimeout(ctx, dialLimit/time.Duration(len(addrs)-i)) // what does not answer leaves time for the others
		conn, err := d.DialContext(one, "tcp", netip.AddrPortFrom(ip, uint16(port)).String())
		stop()
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// resolve finds the addresses of a host, all of which are allowed.
func (g *Guard) resolve(ctx context.Context, host string, port int) ([]netip.Addr, error) {
	if ip, ok := literal(host); ok {
		return []netip.Addr{ip}, g.checkAddr("", ip, port)
	}
	if err := g.checkName(host, port); err != nil {
		return nil, err
	}
	addrs, err := g.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for i, ip := range addrs {
		addrs[i] = ip.Unmap()
		if err := g.checkAddr(host, addrs[i], port); err != nil {
			return nil, err
		}
	}
	return addrs[:min(len(addrs), maxAddresses)], nil
}

func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if name := normal(host); name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761, as browsers do
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	r := net.DefaultResolver
	if g.policy.DNS != "" {
		r = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, g.policy.DNS)
		}}
	}
	return r.LookupNetIP(ctx, "ip", strings.TrimSuffix(host, ".")+".") // absolute: no search domain makes another name of it
}

// Why finds out why the browser could not connect to an address: the policy's *[Denied], or what stands in the way otherwise, by resolving
// its name and connecting to it as the proxy does. nil means that it can be connected to now.
func (g *Guard) Why(ctx context.Context, address string) error {
	host, port, err := split(strings.Replace(strings.Replace(address, "ws://", "http://", 1), "wss://", "https://", 1))
	if err != nil {
		return err
	}
	conn, err := g.Dial(ctx, host, port)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", net.JoinHostPort(host, strconv.Itoa(port)), err)
	}
	return conn.Close()
}
