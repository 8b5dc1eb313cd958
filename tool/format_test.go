package tool

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formatCases holds strings of each format, and strings that are not. Most of the latter are taken by loose checkers, Goa's among them.
var formatCases = map[Format]struct{ valid, invalid []string }{
	FormatDate: {[]string{"2026-11-21", "2024-02-29", "0001-01-01"},
		[]string{"", "2026-02-29", "2026-13-01", "2026-11-31", "2026-1-2", "21.11.2026", "2026-11-21 ", "2026-11-21T00:00:00Z", "20261121", "२०२६-११-२१"}},
	FormatDateTime: {[]string{"2026-11-21T09:30:00Z", "2026-11-21t09:30:00z", "2026-11-21T09:30:00.123456789+09:00", "2026-11-21T23:59:59-23:59", "2016-12-31T23:59:60Z", "2017-01-01T00:59:60+01:00"},
		[]string{"", "2026-11-21", "2026-11-21 09:30:00Z", "2026-11-21T09:30:00", "2026-11-21T9:30:00Z", "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z", "2026-11-21T09:30:61Z",
			"2026-11-21T09:30:60Z", "2026-11-21T09:30:00.Z", "2026-11-21T09:30:00+24:00", "2026-11-21T09:30:00+0900", "2026-02-30T09:30:00Z", "2026-11-21T09:30:00,5Z"}},
	FormatUUID: {[]string{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "00000000-0000-0000-0000-000000000000"},
		[]string{"", "6ba7b8109dad11d180b400c04fd430c8", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", "urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430c", "6ba7b810-9dad-11d1-80b4-00c04fd430cg"}},
	FormatEmail: {[]string{"ada@example.com", "a.b+c@x.org", "o'neil@example.co.uk", "a@b"},
		[]string{"", "ada", "@example.com", "ada@", "a@b@c", "a b@example.com", "Ada <ada@example.com>", ".a@b.c", "a..b@c.d", "a@-b.c", "a@b..c", "a@b.c.", "ada@exa mple.com", strings.Repeat("a", 65) + "@b.c", "a@" + strings.Repeat("b.", 130) + "c"}},
	FormatHostname: {[]string{"www.example.com", "localhost", "a", "1.2.3.4.example", "xn--nxasmq6b.com", "example.com.", strings.Repeat("a", 63) + ".b"},
		[]string{"", ".", "bad host!!x", "-a.b", "a-.b", "a..b", "a_b.c", "exämple.com", strings.Repeat("a", 64) + ".b", strings.Repeat("a.", 127) + "ab", "a.b/"}},
	FormatIPv4: {[]string{"192.0.2.1", "0.0.0.0", "255.255.255.255"}, []string{"", "192.0.2", "192.0.2.256", "192.0.2.01", "192.0.2.1.1", "::1", "192.0.2.1/24", " 192.0.2.1", "1.2.3.-4"}},
	FormatIPv6: {[]string{"::", "::1", "2001:db8::1", "2001:0db8:0000:0000:0000:0000:0000:0001", "::ffff:192.0.2.1"}, []string{"", "192.0.2.1", "1::2::3", "2001:db8::1%eth0", "[::1]", "12345::", "::1/64", ":::"}},
	FormatIP:   {[]string{"192.0.2.1", "::1"}, []string{"", "localhost", "192.0.2.300", "::g"}},
	FormatURI: {[]string{"https://example.com", "https://example.com/a/b?c=d&e[]=f#g", "http://127.0.0.1:8080/shop", "http://[2001:db8::1]:80/", "urn:isbn:0451450523", "mailto:ada@example.com", "file:///etc/hosts",
		"https://user:pass@example.com/", "about:blank", "https://example.com/%E2%82%AC", "data:text/plain,hi", "http://localhost?x"},
		[]string{"", "/just/a/path", "example.com", "//example.com/a", "http://", "http:", "http:///path", "https://exa mple.com", "http://example.com/a b", "http://example.com/é", "http://example.com/%zz", "http://example.com/<a>", `http://example.com/"`,
			"http://[::1", "http://::1/", "http://[::g]/", "http://a@b@c/", "http://example.com/[a]", "1http://example.com", "http://example.com:port/", "http://example.com#a#b", `http://example.com\a`}},
	FormatMAC:   {[]string{"00:00:5e:00:53:01", "00-00-5E-00-53-01", "02:00:5e:10:00:00:00:01"}, []string{"", "0000.5e00.5301", "00:00:5e:00:53", "00:00:5e:00:53:0g", "00:00-5e:00:53:01", "00:00:5e:00:53:01:02"}},
	FormatCIDR:  {[]string{"192.0.2.0/24", "10.0.0.1/8", "2001:db8::/32", "0.0.0.0/0"}, []string{"", "192.0.2.0", "192.0.2.0/33", "2001:db8::/129", "192.0.2.0/024", "/24", "192.0.2.0/-1"}},
	FormatRegex: {[]string{"", "^a+$", "[a-z]", `\d`}, []string{"(", "[", "a**", `\`, "(?<=a)b"}},
	FormatJSON:  {[]string{"{}", "[1, 2]", "null", `"a"`, "1e3"}, []string{"", "{", "{a:1}", "[1,]", "01", "'a'", "undefined"}},
	FormatRFC1123: {[]string{"Sat, 21 Nov 2026 09:30:00 GMT", "Sat, 21 Nov 2026 09:30:00 +0900"},
		[]string{"", "Sat, 21 Nov 2026 09:30:00", "Sat, 21 Nov 26 09:30:00 GMT", "21 Nov 2026 09:30:00 GMT", "Sat, 32 Nov 2026 09:30:00 GMT", "Sat, 1 Nov 2026 09:30:00 GMT", "Sat, 21 Nov 2026 09:30:00 XYZ"}},
}

func TestFormats(t *testing.T) {
	t.Parallel()
	if len(formatCases) != len(formats) {
		t.Errorf("%d formats have cases, of %d", len(formatCases), len(formats))
	}
	for f, c := range formatCases {
		for _, s := range c.valid {
			if !f.Valid(s) {
				t.Errorf("%s: %q is not taken", f, s)
			}
		}
		for _, s := range c.invalid {
			if f.Valid(s) {
				t.Errorf("%s: %q is taken", f, s)
			}
		}
		if f.words() == "" {
			t.Errorf("%s has no words", f)
		}
	}
	if Format("nothing").Valid("") {
		t.Error("an unknown format takes something")
	}
}

// TestFormatsAreAsStrictAsJSONSchema holds that we take nothing that the JSON Schema engine rejects.
func TestFormatsAreAsStrictAsJSONSchema(t *testing.T) {
	t.Parallel()
	for _, f := range []Format{FormatDate, FormatDateTime, FormatUUID, FormatEmail, FormatHostname, FormatIPv4, FormatIPv6, FormatURI} {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		if err := c.AddResource("mem:f", map[string]any{"format": string(f)}); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("mem:f")
		if err != nil {
			t.Fatal(err)
		}
		for other, cases := range formatCases {
			for _, text := range append(cases.valid, cases.invalid...) {
				if f == FormatHostname && strings.HasSuffix(text, ".") {
					continue // the engine takes no trailing dot, RFC 1034 does
				}
				if f.Valid(text) && s.Validate(text) != nil {
					t.Errorf("%s: %q (from %s) is taken, but the engine says %v", f, text, other, s.Validate(text))
				}
			}
		}
	}
}
