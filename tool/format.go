package tool

import (
	"encoding/json"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Format is a format of strings, by its JSON Schema name where JSON Schema has one. Strings are checked strictly, as the documents
// named below demand it.
type Format string

// The formats.
const (
	FormatDate     Format = "date"      // RFC 3339 full-date
	FormatDateTime Format = "date-time" // RFC 3339 date-time
	FormatUUID     Format = "uuid"      // RFC 9562, any version
	FormatEmail    Format = "email"     // RFC 5321 Mailbox, without quoted local parts and address literals
	FormatHostname Format = "hostname"  // RFC 1123, section 2.1
	FormatIPv4     Format = "ipv4"      // RFC 2673, section 3.2
	FormatIPv6     Format = "ipv6"      // RFC 4291, section 2.2, without a zone
	FormatIP       Format = "ip"        // ipv4 or ipv6
	FormatURI      Format = "uri"       // RFC 3986, absolute
	FormatMAC      Format = "mac"       // EUI-48 or EUI-64, with colons or hyphens
	FormatCIDR     Format = "cidr"      // RFC 4632 or RFC 4291, section 2.3
	FormatRegex    Format = "regex"     // RE2
	FormatJSON     Format = "json"      // RFC 8259
	FormatRFC1123  Format = "rfc1123"   // RFC 1123 date with a numeric zone or GMT
)

var formats = map[Format]struct {
	valid func(string) bool
	words string
}{
	FormatDate:     {validDate, "a date such as 2026-11-21"},
	FormatDateTime: {validDateTime, "a date and time such as 2026-11-21T09:30:00Z"},
	FormatUUID:     {validUUID, "a UUID such as 6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
	FormatEmail:    {validEmail, "an e-mail address such as ada@example.com"},
	FormatHostname: {validHostname, "a host name such as www.example.com"},
	FormatIPv4:     {validIPv4, "an IPv4 address such as 192.0.2.1"},
	FormatIPv6:     {validIPv6, "an IPv6 address such as 2001:db8::1"},
	FormatIP:       {func(s string) bool { return validIPv4(s) || validIPv6(s) }, "an IP address such as 192.0.2.1 or 2001:db8::1"},
	FormatURI:      {validURI, "an absolute URI such as https://example.com/path"},
	FormatMAC:      {validMAC, "a MAC address such as 00:00:5e:00:53:01"},
	FormatCIDR:     {validCIDR, "an address block such as 192.0.2.0/24"},
	FormatRegex:    {validRegex, "a regular expression"},
	FormatJSON:     {func(s string) bool { return json.Valid([]byte(s)) }, "JSON text"},
	FormatRFC1123:  {validRFC1123, "a date and time such as Sat, 21 Nov 2026 09:30:00 GMT"},
}

// Valid reports whether s has the format; an unknown format allows nothing.
func (f Format) Valid(s string) bool {
	v := formats[f].valid
	return v != nil && v(s)
}

func (f Format) words() string { return formats[f].words }

func validDate(s string) bool {
	_, err := time.Parse("2006-01-02", s)
	return err == nil && len(s) == len("2006-01-02")
}

var (
	dateTime = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
	uuid     = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	mac      = regexp.MustCompile(`^[0-9a-fA-F]{2}((:[0-9a-fA-F]{2}){5}|(:[0-9a-fA-F]{2}){7}|(-[0-9a-fA-F]{2}){5}|(-[0-9a-fA-F]{2}){7})$`)
	label    = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?$`)
	local    = regexp.MustCompile("^[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]+(\\.[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]+)*$")
	// uriText is the characters of RFC 3986, with percent encoding well formed.
	uriText = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)
)

func validDateTime(s string) bool {
	if !dateTime.MatchString(s) || !validDate(s[:10]) {
		return false
	}
	if s[17:19] != "60" {
		return true
	}
	// A leap second comes at the end of a UTC day.
	t, err := time.Parse(time.RFC3339, strings.ToUpper(s[:17]+"59"+s[19:]))
	return err == nil && t.UTC().Hour() == 23 && t.UTC().Minute() == 59
}

func validUUID(s string) bool { return uuid.MatchString(s) }

func validHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if len(s) == 0 || len(s) > 253 {
		return false
	}
	for l := range strings.SplitSeq(s, ".") {
		if !label.MatchString(l) {
			return false
		}
	}
	return true
}

func validEmail(s string) bool {
	i := strings.LastIndexByte(s, '@')
	if i < 1 || i > 64 || len(s) > 254 || strings.HasSuffix(s, ".") {
		return false
	}
	_, err := mail.ParseAddress(s)
	return err == nil && local.MatchString(s[:i]) && validHostname(s[i+1:])
}

func validIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func validIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && !a.Is4() && a.Zone() == ""
}

func validURI(s string) bool {
	if !uriText.MatchString(s) {
		return false
	}
	u, err := url.Parse(s)
	if err != nil || strings.Count(s, "#") > 1 {
		return false
	}
	authority := u.Opaque == "" && strings.HasPrefix(s[len(u.Scheme)+1:], "//")
	if (u.Scheme == "http" || u.Scheme == "https") && (!authority || u.Hostname() == "") {
		return false // RFC 9110, section 4.2
	}
	rest, _, _ := strings.Cut(s[len(u.Scheme)+1:], "#")
	if authority {
		host := strings.TrimPrefix(rest, "//")
		i := strings.IndexAny(host, "/?")
		if i < 0 {
			i = len(host)
		}
		host, rest = host[:i], host[i:]
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			if strings.ContainsAny(host[:i], "[]@") {
				return false
			}
			host = host[i+1:]
		}
		if h := u.Hostname(); strings.HasPrefix(host, "[") {
			if !validIPv6(h) {
				return false
			}
		} else if strings.ContainsAny(host, "[]") || strings.Count(host, ":") > 1 {
			return false
		}
	}
	path, _, _ := strings.Cut(rest, "?")
	return !strings.ContainsAny(path, "[]") // RFC 3986 forbids them in a query too, but everyone sends ?a[]=1
}

func validMAC(s string) bool { return mac.MatchString(s) }

func validCIDR(s string) bool {
	p, err := netip.ParsePrefix(s)
	return err == nil && p.IsValid()
}

func validRegex(s string) bool {
	_, err := regexp.Compile(s)
	return err == nil
}

func validRFC1123(s string) bool {
	for _, layout := range []string{time.RFC1123Z, "Mon, 02 Jan 2006 15:04:05 GMT"} {
		if _, err := time.Parse(layout, s); err == nil && len(s) == len(layout) {
			return true
		}
	}
	return false
}
