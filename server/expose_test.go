package server

import (
	"strings"
	"testing"
)

func TestExposure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		Exposure
		says string // "" when it is allowed
	}{
		{Exposure{Address: "127.0.0.1:7070"}, ""},
		{Exposure{Address: "localhost:0"}, ""},
		{Exposure{Address: "[::1]:7070", Tokens: true}, ""},
		{Exposure{Address: "127.0.0.1:7070", BehindProxy: true}, "--tokens"},
		{Exposure{Address: "127.0.0.1:7070", BehindProxy: true, Tokens: true}, ""},
		{Exposure{Address: "0.0.0.0:7070"}, "--tokens"},
		{Exposure{Address: ":7070"}, "--tokens"},
		{Exposure{Address: "10.0.0.1:7070", TLS: true}, "--tokens"},
		{Exposure{Address: "10.0.0.1:7070", BehindProxy: true}, "--tokens"},
		{Exposure{Address: "10.0.0.1:7070", Tokens: true}, "--tls-cert"},
		{Exposure{Address: "example.org:7070", Tokens: true, TLS: true}, ""},
		{Exposure{Address: "10.0.0.1:7070", Tokens: true, BehindProxy: true}, ""},
		{Exposure{Address: "7070"}, "host:port"},
	} {
		err := c.Check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.Exposure, err, c.says)
		}
	}
}
