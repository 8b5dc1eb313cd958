package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"toolsvc/server"
	"toolsvc/server/auth"
)

// tokensVariable holds tokens themselves, for those who keep secrets in the environment.
const tokensVariable = "TOOLSVC_TOKENS"

// exposure are the flags that say who may reach a toolsvc, and how.
type exposure struct {
	Tokens      string `help:"File of tokens: a line is a name, scopes (call, approve, admin, separated by commas) and a token. It is read anew at SIGHUP. Without it, everyone on this machine may do everything." type:"path" env:"TOOLSVC_TOKENS_FILE"`
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
		if tokens, err = readTokens(e.Tokens); err != nil {
			return nil, nil, err
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

// follow reads the file of tokens anew at each SIGHUP, until ctx ends. What cannot be read leaves the tokens as they are, and is logged.
func (e *exposure) follow(ctx context.Context, tokens *auth.Tokens, log *slog.Logger) {
	if e.Tokens == "" {
		return // SIGHUP ends the program, as usual
	}
	if st, err := os.Stat(e.Tokens); err == nil && st.Mode().Perm()&0o004 != 0 { // mounted secrets of containers often are so, where nobody else is
		log.Warn("every user of this machine may read the tokens", "file", e.Tokens, "mode", st.Mode().Perm().String(), "fix", "chmod 600 "+e.Tokens)
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	go func() {
		defer signal.Stop(again)
		for {
			select {
			case <-ctx.Done():
				return
			case <-again:
			}
			next, err := readTokens(e.Tokens)
			if err != nil {
				log.Error("the tokens stay as they were", "error", err)
				continue
			}
			tokens.Replace(next)
			log.Info("the tokens were read anew")
		}
	}()
}

// readTokens reads a file of tokens.
func readTokens(path string) (*auth.Tokens, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("the file of tokens: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	tokens, err := auth.Parse(f)
	if err != nil {
		return nil, usage("%s: %w", path, err)
	}
	return tokens, nil
}
