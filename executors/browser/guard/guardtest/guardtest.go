// Package guardtest plays the world that a navigation policy is attacked with: a name server whose answers the test decides, and a vault,
// a server that nobody may reach and that counts who does.
package guardtest

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// DNS is a name server on a UDP port of loopback.
type DNS struct {
	// Addr is its host:port.
	Addr string

	mu      sync.Mutex
	answers map[string][]netip.Addr
	asked   map[string]int
}

// StartDNS starts one that knows no name, and ends it with the test.
func StartDNS(t testing.TB) *DNS {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	d := &DNS{Addr: c.LocalAddr().String(), answers: map[string][]netip.Addr{}, asked: map[string]int{}}
	go func() {
		b := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if answer := d.answer(b[:n]); answer != nil {
				_, _ = c.WriteTo(answer, from) // it asks again when this is lost
			}
		}
	}()
	return d
}

// Set has a name resolve to addresses: to the first when it is asked for the first time, to the next the next time, and so on to the last.
func (d *DNS) Set(name string, addresses ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers[name] = nil
	for _, a := range addresses {
		d.answers[name] = append(d.answers[name], netip.MustParseAddr(a))
	}
}

// Asked counts the questions about a name.
func (d *DNS) Asked(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[name]
}

// answer answers one message; questions about IPv6 get no address unless that is what the name resolves to.
func (d *DNS) answer(message []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(message) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	d.mu.Lock()
	defer d.mu.Unlock()
	list, known := d.answers[name]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	if len(list) > 0 {
		ip := list[0]
		head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
		switch {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			head.Type = dnsmessage.TypeA
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			head.Type = dnsmessage.TypeAAAA
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
		if len(m.Answers) > 0 {
			d.asked[name]++
			if len(list) > 1 {
				d.answers[name] = list[1:]
			}
		}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// VaultAddr is where a vault listens: an address of loopback that a test's policy denies, as it would a metadata service.
const VaultAddr = "127.0.0.66"

// Secret is what a vault tells whoever reaches it.
const Secret = "the-credentials-of-the-machine"

// Vault is a server that nobody may reach.
type Vault struct {
	// Addr is its host:port, and Port its port.
	Addr string
	Port int

	reached atomic.Int64
}

// Reached counts the connections that were made to it.
func (v *Vault) Reached() int { return int(v.reached.Load()) }

// StartVault starts one, and ends it with the test.
func StartVault(t testing.TB) *Vault {
	t.Helper()
	l, err := net.Listen("tcp", VaultAddr+":0")
	if err != nil {
		t.Fatal(err)
	}
	v := &Vault{Addr: l.Addr().String(), Port: l.Addr().(*net.TCPAddr).Port}
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			_, _ = w.Write([]byte(Secret)) // who is gone has not reached it
		}),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				v.reached.Add(1)
			}
		},
	}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return v
}
