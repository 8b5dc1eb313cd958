package guard

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolsvc/executors/browser/chromium"
	"toolsvc/executors/browser/guard/guardtest"
)

func compile(t *testing.T, p Policy) *Guard {
	t.Helper()
	g, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy  Policy
		allowed []string
		denied  []string
	}{
		"zero": {Policy{}, []string{"about:blank", "http://example.com", "https://example.com:8443/a?b#c", "http://127.0.0.1:8080/", "http://localhost/", "http://[::1]/", "http://8.8.8.8/", "HTTPS://EXAMPLE.COM/"},
			[]string{"", "example.com", "//example.com/", "file:///etc/passwd", "chrome://settings", "devtools://devtools/bundled/inspector.html", "view-source:http://example.com", "javascript:alert(1)",
				"data:text/html,x", "blob:http://example.com/1", "ftp://example.com", "about:config", "http://", "http:///x", "http://example.com:0/", "http://example.com:99999/",
				"http://169.254.169.254/latest/meta-data/", "http://169.254.169.254./", "http://2852039166/", "http://0xa9fea9fe/", "http://0xa9.0xfe.0xa9.0xfe/", "http://0251.0376.0251.0376/", "http://169.254.43518/",
				"http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::1]/", "http://[::a9fe:a9fe]/", "http://[fe80::1]/", "http://[fd00:ec2::254]/",
				"http://100.100.100.200/", "http://168.63.129.16/", "http://192.0.0.192/", "http://metadata.google.internal/computeMetadata/v1/", "http://METADATA.GOOGLE.INTERNAL./", "http://metadata/",
				"http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.1.1/", "http://100.64.0.1/", "http://[fd00::1]/", "http://[::ffff:10.0.0.1]/", "http://[64:ff9b:1::a00:1]/", "http://0.1.2.3/", "http://224.0.0.1/",
				"http://255.255.255.255/", "http://240.0.0.1/", "http://[ff02::1]/"}},
		"private": {Policy{PrivateNetworks: true}, []string{"http://10.0.0.1/", "http://192.168.1.1/", "http://[fd00::1]/", "http://100.64.0.1/"},
			[]string{"http://169.254.169.254/", "http://100.100.100.200/", "http://[fd00:ec2::254]/", "http://[fd20:ce::254]/", "http://[fe80::1]/"}},
		"no loopback": {Policy{NoLoopback: true}, []string{"http://example.com/"}, []string{"http://127.0.0.1/", "http://127.9.9.9/", "http://[::1]/", "http://0.0.0.0/", "http://[::]/", "http://2130706433/", "http://[::ffff:127.0.0.1]/"}},
		"own":         {Policy{Own: []int{7070}}, []string{"http://127.0.0.1:7071/", "http://example.com:7070/"}, []string{"http://127.0.0.1:7070/", "http://[::1]:7070/", "http://0.0.0.0:7070/", "http://127.1:7070/"}},
		"allow": {Policy{Allow: []string{"example.com", "*.shop.test", "10.1.0.0/16", "127.0.0.1:8080", "häuser.test"}},
			[]string{"http://example.com/", "https://example.com:444/", "http://www.shop.test/", "http://a.b.shop.test/", "http://10.1.2.3/", "http://127.0.0.1:8080/", "http://häuser.test/", "http://xn--huser-gra.test/"},
			[]string{"http://10.2.0.1/", "http://127.0.0.1/", "http://8.8.8.8/", "http://169.254.169.254/"}},
		"allow names only": {Policy{Allow: []string{"example.com"}}, []string{"http://example.com./"}, []string{"http://www.example.com/", "http://example.com.evil.test/", "http://notexample.com/", "http://example.org/", "http://127.0.0.1/"}},
		"allow never":      {Policy{Allow: []string{"169.254.169.254", "metadata.google.internal", "0.0.0.0/0", "::/0"}}, nil, []string{"http://169.254.169.254/", "http://metadata.google.internal/"}},
		"deny": {Policy{Allow: []string{"*.example.com", "example.com"}, Deny: []string{"*.ads.example.com", "example.com:8080", "203.0.113.0/24"}}, []string{"http://example.com/", "http://www.example.com/"},
			[]string{"http://ads.example.com/", "http://x.ads.example.com/", "http://example.com:8080/"}},
		"deny addresses": {Policy{Deny: []string{"203.0.113.0/24", "198.51.100.1"}}, []string{"http://203.0.114.1/"}, []string{"http://203.0.113.9/", "http://198.51.100.1:81/", "http://[::ffff:203.0.113.9]/"}},
	} {
		g := compile(t, c.policy)
		for _, u := range c.allowed {
			if err := g.CheckURL(u); err != nil {
				t.Errorf("%s: %s is refused: %v", name, u, err)
			}
		}
		for _, u := range c.denied {
			var d *Denied
			if err := g.CheckURL(u); !errors.As(err, &d) || d.What == "" || d.Why == "" {
				t.Errorf("%s: %s: %v", name, u, err)
			}
		}
	}
}

func TestSitesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", " ", "http://example.com", "example.com/path", "*", "a*b.com", "user@example.com", "example.com:0", "example.com:http", "example.com:70000", "*."} {
		if _, err := New(Policy{Deny: []string{s}}); err == nil {
			t.Errorf("%q is a site", s)
		}
	}
}

// A name is as good as what it resolves to: all of it, whatever the name looks like.
func TestResolve(t *testing.T) {
	t.Parallel()
	dns := guardtest.StartDNS(t)
	for name, ip := range map[string]string{"meta.test": "169.254.169.254", "meta6.test": "fd00:ec2::254", "lan.test": "192.168.0.1", "mapped.test": "::ffff:10.0.0.1", "nat64.test": "64:ff9b::a9fe:a9fe",
		"here.test": "127.0.0.1", "zero.test": "0.0.0.0", "denied.test": "203.0.113.7", "public.test": "198.51.100.7"} {
		dns.Set(name, ip)
	}
	g := compile(t, Policy{DNS: dns.Addr, Deny: []string{"203.0.113.0/24"}, Own: []int{7070}})
	for _, host := range []string{"meta.test", "META.test.", "meta6.test", "lan.test", "mapped.test", "nat64.test", "denied.test"} {
		var d *Denied
		if _, err := g.resolve(t.Context(), host, 80); !errors.As(err, &d) {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{"here.test", "public.test", "localhost", "app.localhost"} {
		if got, err := g.resolve(t.Context(), host, 80); err != nil || len(got) == 0 {
			t.Errorf("%s: %v, %v", host, got, err)
		}
	}
	for _, host := range []string{"here.test", "zero.test", "localhost"} {
		if _, err := g.resolve(t.Context(), host, 7070); err == nil {
			t.Errorf("%s leads to toolsvc itself", host)
		}
	}
	var gone *net.DNSError
	if _, err := g.resolve(t.Context(), "unknown.test", 80); !errors.As(err, &gone) || !gone.IsNotFound {
		t.Errorf("an unknown name: %v", err)
	}
	listed := compile(t, Policy{DNS: dns.Addr, Allow: []string{"public.test", "10.0.0.0/8"}})
	if _, err := listed.resolve(t.Context(), "public.test", 80); err != nil {
		t.Error(err)
	}
	if _, err := listed.resolve(t.Context(), "mapped.test", 80); err != nil {
		t.Errorf("a name of an allowed network: %v", err)
	}
	for _, host := range []string{"here.test", "lan.test", "meta.test"} {
		if _, err := listed.resolve(t.Context(), host, 80); err == nil {
			t.Errorf("%s is not on the list", host)
		}
	}
}

// The address that was checked is the one that is dialled: a name that resolves to another one the next time (DNS rebinding) wins nothing.
func TestRebinding(t *testing.T) {
	t.Parallel()
	dns, vault := guardtest.StartDNS(t), guardtest.StartVault(t)
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(vault.Port))
	if err != nil {
		t.Skipf("the vault's port is not free on another address: %v", err)
	}
	defer l.Close() //nolint:errcheck // of no interest
	g := compile(t, Policy{DNS: dns.Addr, Deny: []string{guardtest.VaultAddr}})
	dns.Set("rebind.test", "127.0.0.1", guardtest.VaultAddr)
	c, err := g.Dial(t.Context(), "rebind.test", vault.Port)
	if err != nil {
		t.Fatal(err)
	}
	if got := netip.MustParseAddrPort(c.RemoteAddr().String()).Addr().String(); got != "127.0.0.1" || dns.Asked("rebind.test") != 1 {
		t.Errorf("connected to %s after %d questions", got, dns.Asked("rebind.test"))
	}
	_ = c.Close()
	var d *Denied
	if _, err := g.Dial(t.Context(), "rebind.test", vault.Port); !errors.As(err, &d) || !strings.Contains(d.What, guardtest.VaultAddr) {
		t.Errorf("the second time: %v", err)
	}
	if n := vault.Reached(); n != 0 {
		t.Errorf("the vault was reached %d times", n)
	}
}

// speak sends bytes to a proxy, and returns what it answers until it ends.
func speak(t *testing.T, addr string, send ...byte) []byte {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // of no interest
	if _, err := c.Write(send); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	got, _ := io.ReadAll(c) // reset or ended, it is over
	return got
}

func TestSOCKS(t *testing.T) {
	t.Parallel()
	vault := guardtest.StartVault(t)
	g := compile(t, Policy{Deny: []string{guardtest.VaultAddr}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- Serve(l, g.Dial) }()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := closed.Addr().(*net.TCPAddr).Port
	_ = closed.Close()
	port := func(n int) []byte { return []byte{byte(n >> 8), byte(n)} }
	hello := []byte{5, 1, 0}
	vaultIP := netip.MustParseAddr(guardtest.VaultAddr).As4()
	for name, c := range map[string]struct {
		send []byte
		want []byte
	}{
		"nothing":           {nil, nil},
		"http":              {[]byte("GET / HTTP/1.1\r\n\r\n"), nil},
		"version 4":         {[]byte{4, 1, 0, 80, 127, 0, 0, 1, 0}, nil},
		"no such method":    {[]byte{5, 1, 2}, []byte{5, 0xff}},
		"cut short":         {append(hello, 5, 1, 0, 3, 200, 'x'), []byte{5, 0}},
		"bind":              {append(append(hello, 5, 2, 0, 1, 127, 0, 0, 1), port(free)...), []byte{5, 0, 5, 7}},
		"address type":      {append(hello, 5, 1, 0, 9), []byte{5, 0, 5, 8}},
		"denied":            {append(append(append(hello, 5, 1, 0, 1), vaultIP[:]...), port(vault.Port)...), []byte{5, 0, 5, 2}},
		"denied as IPv6":    {append(append(append(append(hello, 5, 1, 0, 4), make([]byte, 10)...), append([]byte{255, 255}, vaultIP[:]...)...), port(vault.Port)...), []byte{5, 0, 5, 2}},
		"denied as a name":  {append(append(append(hello, 5, 1, 0, 3, byte(len(guardtest.VaultAddr))), guardtest.VaultAddr...), port(vault.Port)...), []byte{5, 0, 5, 2}},
		"nobody listens":    {append(append(hello, 5, 1, 0, 1, 127, 0, 0, 1), port(free)...), []byte{5, 0, 5, 5}},
		"a name of nothing": {append(append(hello, 5, 1, 0, 3, 0), port(free)...), []byte{5, 0, 5, 4}},
	} {
		got := speak(t, l.Addr().String(), c.send...)
		if len(got) > 4 {
			got = got[:4]
		}
		if string(got) != string(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if vault.Reached() != 0 {
		t.Error("the vault was reached")
	}
	_ = l.Close()
	if err := <-ended; err == nil {
		t.Error("a closed listener is no error")
	}
}

// through is a client whose connections go through a proxy.
func through(port int) *http.Client {
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		Proxy: http.ProxyURL(&url.URL{Scheme: "socks5h", Host: "127.0.0.1:" + strconv.Itoa(port)})}}
}

func get(t *testing.T, c *http.Client, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// The proxy is found again by the next process, started again on its port when it was killed or the policy is another one, and never leads
// to itself or to the browser's debugging endpoint.
func TestProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	vault := guardtest.StartVault(t)
	browser := filepath.Join(dir, "chromium.json")
	record, err := json.Marshal(map[string]any{"pid": os.Getpid(), "started": chromium.StartTime(os.Getpid()), "port": vault.Port})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	one, err := Acquire(ctx, dir, browser, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if text, err := os.ReadFile(filepath.Join(dir, "guard.json")); err == nil {
			last := &Process{}
			if json.Unmarshal(text, last) == nil {
				_ = last.End()
			}
		}
	})
	if got, err := get(t, through(one.Port), "http://"+vault.Addr+"/"); err != nil || got != guardtest.Secret {
		t.Fatalf("what nobody denies: %q, %v", got, err)
	}
	if err := os.WriteFile(browser, record, 0o600); err != nil {
		t.Fatal(err)
	}
	was := vault.Reached()
	if _, err := get(t, through(one.Port), "http://"+vault.Addr+"/"); err == nil || vault.Reached() != was {
		t.Errorf("the browser's own endpoint was reached: %v", err)
	}
	if _, err := get(t, through(one.Port), "http://127.0.0.1:"+strconv.Itoa(one.Port)+"/"); err == nil {
		t.Error("the proxy leads to itself")
	}
	two, err := Acquire(ctx, dir, browser, Policy{})
	if err != nil || two.PID != one.PID {
		t.Fatalf("%v: process %d after %d", err, two.PID, one.PID)
	}
	if err := syscall.Kill(one.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-one.exited
	three, err := Acquire(ctx, dir, browser, Policy{})
	if err != nil || three.PID == one.PID || three.Port != one.Port {
		t.Fatalf("%v: %+v after %+v", err, three, one)
	}
	four, err := Acquire(ctx, dir, browser, Policy{Deny: []string{guardtest.VaultAddr}})
	if err != nil || four.PID == three.PID || four.Port != one.Port || three.Running() {
		t.Fatalf("%v: %+v after %+v", err, four, three)
	}
	// A copy of the directory has a proxy of its own, with whatever policy, and leaves the original's alone.
	copied := t.TempDir()
	for _, name := range []string{"chromium.json", "guard.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	other, err := Acquire(ctx, copied, filepath.Join(copied, "chromium.json"), Policy{})
	if err != nil || other.PID == four.PID || other.Port == four.Port || !four.Running() {
		t.Fatalf("%v: the copy has %+v, the original %+v", err, other, four)
	}
	if err := other.End(); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(ctx, dir, browser, Policy{Deny: []string{"a b"}}); err == nil {
		t.Error("a policy that cannot be understood")
	}
	if err := four.End(); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(one.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // of no interest
	five, err := Acquire(ctx, dir, browser, Policy{})
	if err != nil || five.Port == one.Port {
		t.Fatalf("its port is taken: %v %+v", err, five)
	}
}
