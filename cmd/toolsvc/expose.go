package main

import (
	"crypto/tls"
	"os"

	"toolsvc/server"
	"toolsvc/server/auth"
)

// tokensVariable holds tokens themselves, for those who keep secrets in the environment.
const tokensVariable = "TOOLSVC_TOKENS"

// exposure are the flags that say who may reach a toolsvc, and how.
type exposure struct {
	Tokens      string `help:"File of tokens: a line is a name, scopes (call, approve, admin, separated by commas) and a token. Without it, everyone on this machine may do everything." type:"path" env:"TOOLSVC_TOKENS_FILE"`
	TLSCert     string `name:"tls-cert" help:"File of the certificate chain, for TLS on both surfaces." type:"path" env:"TOOLSVC_TLS_CERT"`
	TLSKey      string `name:"tls-key" help:"File of its key." type:"path" env:"TOOLSVC_TLS_KEY"`
	BehindProxy bool   `help:"State that a proxy in front encrypts, and that nobody reaches the addresses past it." env:"TOOLSVC_BEHIND_PROXY"`
}

// open reads the tokens and the certificate, and refuses addresses that they do not protect. Tokens and config are nil without.
func (e *exposure) open(addresses ...string) (tokens *auth.Tokens, config *tls.Config, err error) {
	text := os.Getenv(tokensVariable)
	switch {
	case e.Tokens != "" && text != "":
		return nil, nil, usage("there are tokens in the file %s and in %s; take one of them", e.Tokens, tokensVariable)
	case text != "":
		if tokens, err = auth.ParseBytes([]byte(text)); err != nil {
			return nil, nil, usage("%s: %w", tokensVariable, err)
		}
	case e.Tokens != "":
		f, err := os.Open(e.Tokens)
		if err != nil {
			return nil, nil, usage("the file of tokens: %w", err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		if tokens, err = auth.Parse(f); err != nil {
			return nil, nil, usage("%s: %w", e.Tokens, err)
		}
	}
	if (e.TLSCert == "") != (e.TLSKey == "") {
		return nil, nil, usage("TLS needs both --tls-cert and --tls-key")
	}
	if e.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(e.TLSCert, e.TLSKey)
		if err != nil {
			return nil, nil, usage("the certificate: %w", err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	for _, a := range addresses {
		if err := (server.Exposure{Address: a, Tokens: tokens != nil, TLS: config != nil, BehindProxy: e.BehindProxy}).Check(); err != nil {
			return nil, nil, usage("%w", err)
		}
	}
	return tokens, config, nil
}

// caller is who makes requests over MCP that name nobody: everyone on this machine without tokens, nobody with them.
func caller(tokens *auth.Tokens) auth.Principal {
	if tokens == nil {
		return auth.Local
	}
	return auth.Principal{}
}

// scheme is that of URLs.
func scheme(config *tls.Config) string {
	if config == nil {
		return "http"
	}
	return "https"
}
