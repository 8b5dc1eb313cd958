package temporalclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
)

// DefaultNamespace is the namespace when neither the options nor the environment name one. It is also the namespace of the embedded
// server, so that the Temporal CLI and UI show toolsvc's runs without further arguments.
const DefaultNamespace = client.DefaultNamespace

// DefaultDialTimeout bounds [Dial] when [Options.Timeout] is zero.
const DefaultDialTimeout = 10 * time.Second

// Options say which Temporal to dial. The zero value takes everything from the environment, and 127.0.0.1:7233 without TLS if that is
// silent too. A field that is set wins over the environment.
type Options struct {
	Address   string // host:port of the frontend
	Namespace string
	APIKey    string      // implies TLS unless the environment switches TLS off
	TLS       *tls.Config // replaces the TLS settings of the environment
	Identity  string      // shown in the UI beside what this client did; the SDK's default is pid@host

	Profile    string // profile of the configuration file; default: TEMPORAL_PROFILE, or "default"
	ConfigFile string // TOML file; default: TEMPORAL_CONFIG_FILE, or temporalio/temporal.toml in the user's configuration directory

	// Direct takes Address and Namespace as they are and ignores the environment: for the embedded server, which must stay reachable
	// on a machine whose environment points to Temporal Cloud.
	Direct bool
	// Lazy returns without contacting the server, so that a service can start (and report itself not ready) while Temporal is down.
	Lazy bool
	// Timeout bounds Dial; 0 is [DefaultDialTimeout].
	Timeout time.Duration

	Logger         *slog.Logger // see [NewLogger]; nil is quiet
	Interceptors   []interceptor.ClientInterceptor
	MetricsHandler client.MetricsHandler
	EnvLookup      envconfig.EnvLookup // nil reads the environment of the process
}

// Conn is a Temporal client that knows where it leads. It is safe for concurrent use; Close it once.
//
// Client is a field and not embedded, because a worker takes nothing but the SDK's own client: worker.New(conn.Client, …).
type Conn struct {
	Client    client.Client
	Address   string // host:port
	Namespace string
}

// Close closes the connection.
func (c *Conn) Close() { c.Client.Close() }

// Dial connects to a Temporal frontend and checks that it answers and that the namespace exists (unless [Options.Lazy]). Its errors
// match [ErrUnreachable], [ErrNamespaceNotFound], [ErrDenied] with errors.Is, or say what is wrong with the configuration.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	sdk, err := o.resolve()
	if err != nil {
		return nil, err
	}
	c := &Conn{Address: sdk.HostPort, Namespace: sdk.Namespace}
	if o.Lazy {
		if c.Client, err = client.NewLazyClient(sdk); err != nil {
			return nil, fmt.Errorf("prepare a client for Temporal at %s: %w", c.Address, err)
		}
		return c, nil
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = DefaultDialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if c.Client, err = client.DialContext(ctx, sdk); err != nil {
		return nil, explain(err, "connect to", c.Address, c.Namespace)
	}
	if err := c.Ping(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// resolve merges the options with the environment into what the SDK understands. The address and the namespace are always set.
func (o Options) resolve() (client.Options, error) {
	var profile envconfig.ClientConfigProfile
	if !o.Direct {
		var err error
		profile, err = envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{
			ConfigFilePath:    o.ConfigFile,
			ConfigFileProfile: o.Profile,
			EnvLookup:         o.EnvLookup,
		})
		if err != nil {
			return client.Options{}, fmt.Errorf("load Temporal's environment configuration (profile %q, file %q): %w", o.Profile, o.ConfigFile, err)
		}
	}
	if o.Address != "" {
		profile.Address = o.Address
	}
	if o.Namespace != "" {
		profile.Namespace = o.Namespace
	}
	if o.APIKey != "" {
		profile.APIKey = o.APIKey
	}
	// A remote codec in the profile is for tools that show payloads, not for workers, which would call it on every replay.
	sdk, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{IncludeRemoteCodec: false})
	if err != nil {
		return client.Options{}, fmt.Errorf("apply Temporal's environment configuration: %w", err)
	}
	if o.TLS != nil {
		sdk.ConnectionOptions.TLS, sdk.ConnectionOptions.TLSDisabled = o.TLS, false
	}
	if sdk.HostPort == "" {
		sdk.HostPort = client.DefaultHostPort
	}
	if sdk.Namespace == "" {
		sdk.Namespace = DefaultNamespace
	}
	sdk.Identity = o.Identity
	sdk.Logger = NewLogger(o.Logger)
	sdk.Interceptors = o.Interceptors
	sdk.MetricsHandler = o.MetricsHandler
	sdk.DataConverter = converter.GetDefaultDataConverter()
	return sdk, nil
}
