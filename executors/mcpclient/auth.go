package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// OAuth is how tokens for a server are had: by the client-credentials grant (RFC 6749, section 4.4), which needs no person.
type OAuth struct {
	// ClientID of toolsvc at the authorization server, and ClientSecretEnv the environment variable that holds its secret.
	ClientID        string `yaml:"client_id"`
	ClientSecretEnv string `yaml:"client_secret_env"`
	// TokenURL is the token endpoint. When empty, it is found by the server's own metadata (RFC 9728, RFC 8414).
	TokenURL string `yaml:"token_url,omitempty"`
	// Scopes to ask for; with metadata, those that the server names.
	Scopes []string `yaml:"scopes,omitempty"`
}

// tokenLimit bounds a request for a token.
const tokenLimit = 20 * time.Second

// checkAuth says what is wrong with how a backend is authenticated to.
func (b Backend) checkAuth() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	ways := 0
	for _, there := range []bool{b.BearerEnv != "", b.OAuth != nil, hasAuthorization(b.Headers)} {
		if there {
			ways++
		}
	}
	if ways > 1 {
		bad("bearer_env, oauth and the header Authorization exclude each other")
	}
	if ways > 0 && b.URL == "" {
		bad("bearer_env, oauth and headers are for a server with a url; a command gets its secrets by env")
	}
	if u, err := url.Parse(b.URL); ways > 0 && err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		bad("a secret would be sent to %s in the clear; give an https address", u.Host)
	}
	o := b.OAuth
	if o == nil {
		return errors.Join(errs...)
	}
	if o.ClientID == "" || o.ClientSecretEnv == "" {
		bad("oauth needs client_id and client_secret_env")
	}
	if u, err := url.Parse(o.TokenURL); o.TokenURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname()))) {
		bad("oauth: token_url %q is not an https address", o.TokenURL)
	}
	return errors.Join(errs...)
}

func hasAuthorization(headers map[string]string) bool {
	for name := range headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// secret is an environment variable that has to be there.
func secret(name string) (string, error) {
	v := os.Getenv(name)
	if v == "" {
		return "", fmt.Errorf("the environment lacks %s", name)
	}
	return v, nil
}

// oauth makes what gets tokens for one connection; nil where none are wanted.
func (b Backend) oauth() (sdkauth.OAuthHandler, error) {
	if b.OAuth == nil {
		return nil, nil
	}
	password, err := secret(b.OAuth.ClientSecretEnv)
	if err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	client := &http.Client{Timeout: tokenLimit, CheckRedirect: sameHost}
	if b.OAuth.TokenURL == "" {
		return extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{HTTPClient: client,
			Credentials: &oauthex.ClientCredentials{ClientID: b.OAuth.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: password}}})
	}
	g := &granted{client: client, config: clientcredentials.Config{ClientID: b.OAuth.ClientID, ClientSecret: password, TokenURL: b.OAuth.TokenURL, Scopes: b.OAuth.Scopes}}
	g.renew()
	return g, nil
}

// granted gets tokens from a known endpoint. A token is used until it expires, or the server refuses it.
type granted struct {
	client *http.Client
	config clientcredentials.Config

	mu     sync.Mutex
	source oauth2.TokenSource
}

func (g *granted) renew() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.source = g.config.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, g.client))
}

// TokenSource implements auth.OAuthHandler.
func (g *granted) TokenSource(context.Context) (oauth2.TokenSource, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.source, nil
}

// Authorize implements auth.OAuthHandler: the server has refused the token, so the next one is a new one.
func (g *granted) Authorize(_ context.Context, _ *http.Request, r *http.Response) error {
	err := r.Body.Close()
	g.renew()
	return err
}

// sameHost follows redirects within a host only: another one would get the secrets, too.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if r.URL.Host != first.Host || first.Scheme == "https" && r.URL.Scheme != "https" {
		return fmt.Errorf("%s sends to another address, %s, which is not followed", first.Host, r.URL.Host)
	}
	if len(via) >= 5 {
		return errors.New("too many redirects")
	}
	return nil
}
