package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Policy says where the browser may connect to. The zero Policy allows public addresses and loopback.
//
// Loopback is allowed because pages on this machine (what an agent is building, what a test serves) are the main use; what toolsvc itself
// serves there is in Own, and refused.
type Policy struct {
	// Allow, when it is not empty, lists the only sites that may be reached, by the pages' own requests too. A site is a host name
	// (example.com), a name and all below it (*.example.com), an address, or a network (10.1.0.0/16); each with :port or for all ports.
	// What it names by address may be private or loopback, but never link-local or a metadata service.
	Allow []string `json:"allow,omitempty"`
	// Deny lists sites that may not be reached; it wins over Allow.
	Deny []string `json:"deny,omitempty"`
	// PrivateNetworks allows addresses of private networks (RFC 1918, RFC 4193, RFC 6598).
	PrivateNetworks bool `json:"private_networks,omitempty"`
	// NoLoopback refuses this machine's loopback addresses.
	NoLoopback bool `json:"no_loopback,omitempty"`
	// Own are ports of this machine that toolsvc serves: a page, or an agent that was talked into it, must not approve its own calls there.
	Own []int `json:"own,omitempty"`
	// DNS is a server (host:port) to resolve names with instead of the system's; for tests.
	DNS string `json:"dns,omitempty"`
}

// Digest tells policies apart.
func (p Policy) Digest() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // a struct of strings, numbers and booleans
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Denied is the error of what the policy refuses.
type Denied struct {
	// What was refused: an address, a host name, or a name with the address that it resolves to.
	What string
	// Why names the rule, and what to do where it can be changed.
	Why string
}

func (d *Denied) Error() string { return d.What + " " + d.Why }

// Guard decides by a policy.
type Guard struct {
	policy      Policy
	allow, deny []site
	// own finds this machine's addresses.
	own func() []netip.Addr
}

// New compiles a policy. It fails when a site cannot be understood.
func New(p Policy) (*Guard, error) {
	g := &Guard{policy: p, own: ownAddresses}
	for _, l := range []struct {
		from []string
		to   *[]site
	}{{p.Allow, &g.allow}, {p.Deny, &g.deny}} {
		for _, s := range l.from {
			site, err := parseSite(s)
			if err != nil {
				return nil, err
			}
			*l.to = append(*l.to, site)
		}
	}
	return g, nil
}

// CheckURL decides about an address that someone asks to open, as far as that is possible without resolving its name.
func (g *Guard) CheckURL(address string) error {
	if address == "about:blank" {
		return nil
	}
	host, port, err := split(address)
	if err != nil {
		return err
	}
	if ip, ok := literal(host); ok {
		return g.checkAddr("", ip, port)
	}
	return g.checkName(host, port)
}

// split is the host and port of an address that may be opened.
func split(address string) (host string, port int, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", 0, &Denied{strconv.Quote(clip(address)), "is not an absolute http or https address, and others are not opened"}
	}
	port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return "", 0, &Denied{strconv.Quote(clip(address)), "has no valid port"}
		}
	}
	return normal(u.Hostname()), port, nil
}

func clip(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}

// normal is a host name in the form in which names are compared: lower case, without the final dot, in ASCII.
func normal(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// metadataNames are names of cloud metadata services. Most resolve to link-local addresses, which are refused in any case.
var metadataNames = []string{"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}

const metadataWhy = "is the metadata service of a cloud, which hands out credentials; it is never opened"

// checkName decides about a host by its name alone.
func (g *Guard) checkName(host string, port int) error {
	name := normal(host)
	for _, s := range g.deny {
		if s.hasName(name, port) {
			return &Denied{name, "is on the list of denied sites (" + s.text + ")"}
		}
	}
	if slices.Contains(metadataNames, name) {
		return &Denied{name, metadataWhy}
	}
	if len(g.allow) > 0 && !g.namedOrByAddress(name, port) {
		return &Denied{name, "is not on the list of allowed sites; --allow-site adds one"}
	}
	return nil
}

// namedOrByAddress reports whether a name is allowed, or may yet turn out to be by its address.
func (g *Guard) namedOrByAddress(name string, port int) bool {
	return slices.ContainsFunc(g.allow, func(s site) bool { return s.net.IsValid() || s.hasName(name, port) })
}

// checkAddr decides about an address; name is what resolved to it, "" when it was given as an address.
func (g *Guard) checkAddr(name string, ip netip.Addr, port int) error {
	what := ip.String()
	if name != "" {
		what = fmt.Sprintf("%s (%s)", name, ip)
	}
	for _, ip := range meant(ip) {
		for _, s := range g.deny {
			if s.hasAddr(ip, port) {
				return &Denied{what, "is on the list of denied sites (" + s.text + ")"}
			}
		}
		if why := never(ip); why != "" {
			return &Denied{what, why}
		}
		if slices.Contains(g.policy.Own, port) && (ip.IsLoopback() || ip.IsUnspecified() || slices.Contains(g.own(), ip)) {
			return &Denied{fmt.Sprintf("%s, port %d,", what, port), "belongs to toolsvc itself, which its own browser does not open: a page there could approve calls"}
		}
		named := slices.ContainsFunc(g.allow, func(s site) bool { return s.hasAddr(ip, port) })
		byName := name != "" && slices.ContainsFunc(g.allow, func(s site) bool { return s.hasName(normal(name), port) })
		switch {
		case len(g.allow) > 0 && !named && !byName:
			return &Denied{what, "is not on the list of allowed sites; --allow-site adds one"}
		case named:
		case g.policy.NoLoopback && (ip.IsLoopback() || ip.IsUnspecified()):
			return &Denied{what, "is this machine itself, and loopback is denied"}
		case !g.policy.PrivateNetworks && private(ip):
			return &Denied{what, "is in a private network; --allow-private-networks allows them"}
		}
	}
	return nil
}

// never is why an address is refused whatever the policy says, "" when it is not.
func never(ip netip.Addr) string {
	switch {
	case slices.Contains(metadataAddrs, ip):
		return metadataWhy
	case ip.IsLinkLocalUnicast():
		return "is link-local, where metadata services of clouds answer; such addresses are never opened"
	case ip.IsMulticast() || ip == broadcast || !ip.IsLoopback() && !ip.IsUnspecified() && contains(reserved, ip):
		return "is a multicast or reserved address, where no page can be"
	}
	return ""
}

func contains(nets []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(nets, func(n netip.Prefix) bool { return n.Contains(ip) })
}

func private(ip netip.Addr) bool { return ip.IsPrivate() || contains(shared, ip) }

var (
	// metadataAddrs that are not link-local: Amazon over IPv6, Google over IPv6, Alibaba, Azure's host agent, Oracle.
	metadataAddrs = addrs("fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192")
	broadcast     = netip.MustParseAddr("255.255.255.255")
	// reserved networks of the IANA registries of special-purpose addresses. 0.0.0.0 itself means this machine on Linux.
	reserved = nets("0.0.0.0/8", "192.0.0.0/24", "240.0.0.0/4", "100::/64", "fec0::/10")
	// shared address space of carriers (RFC 6598), which clouds and VPNs use as a private network.
	shared = nets("100.64.0.0/10")
	// Networks whose addresses hold an IPv4 address that a gateway connects to: NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056).
	nat64, nat64Local, sixToFour = netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16")
)

func addrs(list ...string) (out []netip.Addr) {
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func nets(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// meant are the addresses that a connection to ip may end at: itself, and the IPv4 address that is embedded in it.
func meant(ip netip.Addr) []netip.Addr {
	ip = ip.Unmap().WithZone("")
	out := []netip.Addr{ip}
	if !ip.Is6() {
		return out
	}
	b := ip.As16()
	switch {
	case nat64.Contains(ip) || nat64Local.Contains(ip):
		out = append(out, netip.AddrFrom4([4]byte(b[12:])))
	case sixToFour.Contains(ip):
		out = append(out, netip.AddrFrom4([4]byte(b[2:6])))
	case b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7]|b[8]|b[9]|b[10]|b[11] == 0 && !ip.IsLoopback() && !ip.IsUnspecified(): // IPv4-compatible
		out = append(out, netip.AddrFrom4([4]byte(b[12:])))
	}
	return out
}

// ownAddresses are the addresses of this machine's interfaces.
func ownAddresses() []netip.Addr {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil // loopback is known without
	}
	var out []netip.Addr
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, ip.Unmap())
			}
		}
	}
	return out
}
