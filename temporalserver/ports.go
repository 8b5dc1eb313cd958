package temporalserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
)

// loopback is the only interface anything here listens on.
const loopback = "127.0.0.1"

// listen opens a loopback port: the one that is wanted, or, when that is 0, the one used last time if it is free, or any.
func listen(what string, wanted, last int) (net.Listener, error) {
	if wanted == 0 && last != 0 {
		if l, err := net.Listen("tcp", hostPort(last)); err == nil {
			return l, nil
		}
	}
	l, err := net.Listen("tcp", hostPort(wanted))
	if err != nil {
		return nil, fmt.Errorf("open port %d for %s: %w; free the port, or choose another (0 takes a free one)", wanted, what, err)
	}
	return l, nil
}

// ports are those of the server's four services. They differ from one another.
type ports struct{ frontend, history, matching, worker int }

// reservePorts finds ports that are free now. The server opens its ports itself, so they cannot be handed over open: between here and
// there another process may take one, which Start notices and, where the port was not asked for by number, mends by trying anew.
func reservePorts(wantedFrontend, lastFrontend int) (p ports, err error) {
	var open []net.Listener
	defer func() {
		for _, l := range open {
			err = errors.Join(err, l.Close())
		}
	}()
	reserve := func(what string, wanted, last int) int {
		if err != nil {
			return 0
		}
		var l net.Listener
		if l, err = listen(what, wanted, last); err != nil {
			return 0
		}
		open = append(open, l)
		return portOf(l.Addr().String())
	}
	p.frontend = reserve("the Temporal frontend", wantedFrontend, lastFrontend)
	p.history = reserve("Temporal's history service", 0, 0)
	p.matching = reserve("Temporal's matching service", 0, 0)
	p.worker = reserve("Temporal's worker service", 0, 0)
	return p, err
}

// hostPort is the loopback address of a port.
func hostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// portOf is the port of a host:port, or 0.
func portOf(address string) int {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return int(port)
}

// portOfURL is the port in a URL, or 0.
func portOfURL(address string) int {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	return portOf(u.Host)
}
