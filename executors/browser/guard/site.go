package guard

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// site is one entry of a list of sites.
type site struct {
	text  string
	name  string       // "" when it is a network
	below bool         // names below it as well
	net   netip.Prefix // not valid when it is a name
	port  int          // 0 for all
}

// parseSite reads one: example.com, *.example.com, 10.0.0.0/8, [::1]:8080, …
func parseSite(text string) (site, error) {
	s, host := site{text: text}, strings.TrimSpace(text)
	bad := func(why string) (site, error) {
		return site{}, fmt.Errorf("%q is no site: %s; a site is a name (example.com, *.example.com), an address or a network (10.0.0.0/8), with :port where only one is meant", text, why)
	}
	if h, p, err := net.SplitHostPort(host); err == nil {
		if s.port, err = strconv.Atoi(p); err != nil || s.port < 1 || s.port > 65535 {
			return bad("its port is not a number from 1 to 65535")
		}
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if n, err := netip.ParsePrefix(host); err == nil {
		s.net = n.Masked()
		return s, nil
	}
	if ip, ok := literal(host); ok {
		s.net = netip.PrefixFrom(ip, ip.BitLen())
		return s, nil
	}
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		host, s.below = rest, true
	}
	s.name = normal(host)
	if s.name == "" || strings.ContainsAny(s.name, "*/:@?#[] \t\\") {
		return bad("it is not a host name")
	}
	return s, nil
}

func (s site) hasPort(port int) bool { return s.port == 0 || s.port == port }

func (s site) hasName(name string, port int) bool {
	return s.name != "" && s.hasPort(port) && (name == s.name || s.below && strings.HasSuffix(name, "."+s.name))
}

func (s site) hasAddr(ip netip.Addr, port int) bool {
	return s.net.IsValid() && s.hasPort(port) && s.net.Contains(ip)
}

// literal reads an address as a browser does, IPv4 also in the forms of the URL standard's IPv4 parser (0x7f.1, 2130706433).
func literal(host string) (netip.Addr, bool) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().WithZone(""), true
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, p := range parts {
		n, ok := number(p)
		last := i == len(parts)-1
		if !ok || !last && n > 255 || last && n >= 1<<(8*(5-len(parts))) {
			return netip.Addr{}, false
		}
		if last {
			v |= n
		} else {
			v |= n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

// number is one of decimal, octal (0…) or hexadecimal (0x…) digits.
func number(s string) (uint64, bool) {
	base := 10
	switch {
	case s == "":
		return 0, false
	case len(s) > 1 && (s[:2] == "0x" || s[:2] == "0X"):
		if s, base = s[2:], 16; s == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil
}
