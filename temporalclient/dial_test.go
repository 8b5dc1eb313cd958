package temporalclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// environment is an environment of a test's own.
type environment map[string]string

func (e environment) Environ() []string {
	var list []string
	for name, value := range e {
		list = append(list, name+"="+value)
	}
	return list
}

func (e environment) LookupEnv(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

func TestOptionsComeFromTheEnvironmentAndExplicitOnesWin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.toml")
	err := os.WriteFile(file, []byte(`
[profile.default]
address = "file:1"
namespace = "from-file"
[profile.cloud]
address = "cloud:7233"
namespace = "cloud-ns"
api_key = "secret"
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	none := environment{"TEMPORAL_CONFIG_FILE": filepath.Join(t.TempDir(), "missing.toml")}
	with := func(more environment) environment {
		e := environment{"TEMPORAL_CONFIG_FILE": file}
		for name, value := range more {
			e[name] = value
		}
		return e
	}
	for name, c := range map[string]struct {
		options            Options
		address, namespace string
		tls, key           bool
	}{
		"nothing":                     {Options{EnvLookup: none}, "localhost:7233", "default", false, false},
		"file":                        {Options{EnvLookup: with(nil)}, "file:1", "from-file", false, false},
		"explicit file":               {Options{EnvLookup: none, ConfigFile: file}, "file:1", "from-file", false, false},
		"environment over file":       {Options{EnvLookup: with(environment{"TEMPORAL_ADDRESS": "env:2"})}, "env:2", "from-file", false, false},
		"options over environment":    {Options{EnvLookup: with(environment{"TEMPORAL_ADDRESS": "env:2"}), Address: "opt:3", Namespace: "opt"}, "opt:3", "opt", false, false},
		"profile of the environment":  {Options{EnvLookup: with(environment{"TEMPORAL_PROFILE": "cloud"})}, "cloud:7233", "cloud-ns", true, true},
		"profile of the options":      {Options{EnvLookup: with(nil), Profile: "cloud", Namespace: "other"}, "cloud:7233", "other", true, true},
		"API key implies TLS":         {Options{EnvLookup: none, Address: "a:1", APIKey: "k"}, "a:1", "default", true, true},
		"TLS":                         {Options{EnvLookup: none, TLS: &tls.Config{ServerName: "x"}}, "localhost:7233", "default", true, false},
		"TLS of the environment":      {Options{EnvLookup: with(environment{"TEMPORAL_TLS": "true"})}, "file:1", "from-file", true, false},
		"TLS switched off with a key": {Options{EnvLookup: with(environment{"TEMPORAL_TLS": "false", "TEMPORAL_API_KEY": "k"})}, "file:1", "from-file", false, true},
		"direct ignores all of it":    {Options{EnvLookup: with(environment{"TEMPORAL_PROFILE": "cloud", "TEMPORAL_API_KEY": "k"}), Direct: true, Address: "127.0.0.1:9"}, "127.0.0.1:9", "default", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.options.resolve()
			if err != nil {
				t.Fatal(err)
			}
			if got.HostPort != c.address || got.Namespace != c.namespace {
				t.Errorf("leads to %s, namespace %s; want %s, %s", got.HostPort, got.Namespace, c.address, c.namespace)
			}
			if usesTLS := got.ConnectionOptions.TLS != nil && !got.ConnectionOptions.TLSDisabled; usesTLS != c.tls {
				t.Errorf("TLS %v, want %v", usesTLS, c.tls)
			}
			if usesKey := got.Credentials != nil; usesKey != c.key {
				t.Errorf("API key %v, want %v", usesKey, c.key)
			}
		})
	}
	if _, err := (Options{EnvLookup: with(nil), Profile: "nowhere"}).resolve(); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a profile that does not exist: %v; want an error that names it", err)
	}
}

// fakeCluster is a cluster that answers what a test tells it to: for what no server of ours can be brought to do (refuse credentials).
type fakeCluster struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer
	describe error
	list     error
	add      error
	have     map[string]enums.IndexedValueType
}

func (f *fakeCluster) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (f *fakeCluster) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{}, f.describe
}

func (f *fakeCluster) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest) (*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: f.have}, f.list
}

func (f *fakeCluster) AddSearchAttributes(context.Context, *operatorservice.AddSearchAttributesRequest) (*operatorservice.AddSearchAttributesResponse, error) {
	return &operatorservice.AddSearchAttributesResponse{}, f.add
}

func (f *fakeCluster) start(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, f)
	operatorservice.RegisterOperatorServiceServer(server, f)
	go server.Serve(listener) // ends with Stop
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func TestDialSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer error
		is     error
		says   string
	}{
		"no namespace":    {serviceerror.NewNamespaceNotFound("there").(*serviceerror.NamespaceNotFound).Status().Err(), ErrNamespaceNotFound, "temporal operator namespace create there"},
		"denied":          {status.Error(codes.PermissionDenied, "no"), ErrDenied, "API key"},
		"unauthenticated": {status.Error(codes.Unauthenticated, "who"), ErrDenied, "API key"},
		"unavailable":     {status.Error(codes.Unavailable, "later"), ErrUnreachable, "is it running"},
		"fine":            {nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := (&fakeCluster{describe: c.answer}).start(t)
			conn, err := Dial(t.Context(), Options{Direct: true, Address: address, Namespace: "there", Timeout: 3 * time.Second})
			if c.is == nil {
				if err != nil {
					t.Fatal(err)
				}
				conn.Close()
				return
			}
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), address) {
				t.Errorf("got %v; want %v that names %s and says %q", err, c.is, address, c.says)
			}
			if IsUnreachable(err) != (c.is == ErrUnreachable) {
				t.Errorf("IsUnreachable is %v", IsUnreachable(err))
			}
		})
	}
}

func TestDialWithoutServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	o := Options{Direct: true, Address: address, Timeout: time.Second}
	if _, err := Dial(t.Context(), o); !errors.Is(err, ErrUnreachable) || !IsUnreachable(err) || !strings.Contains(err.Error(), address) {
		t.Errorf("got %v; want ErrUnreachable that names %s", err, address)
	}
	o.Lazy = true
	conn, err := Dial(t.Context(), o) // a service may start before Temporal does
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := conn.WaitReady(ctx); !errors.Is(err, ErrUnreachable) {
		t.Errorf("WaitReady: %v; want ErrUnreachable", err)
	}
}

func TestEnsureSearchAttributes(t *testing.T) {
	t.Parallel()
	wrong := SearchAttributes()
	wrong[SearchAttributeHealed.GetName()] = enums.INDEXED_VALUE_TYPE_TEXT
	for name, c := range map[string]struct {
		cluster fakeCluster
		is      error
		says    string
	}{
		"all there, nothing is added": {fakeCluster{have: SearchAttributes(), add: status.Error(codes.Internal, "not to be called")}, nil, ""},
		"may not add":                 {fakeCluster{add: status.Error(codes.PermissionDenied, "no")}, ErrDenied, "temporal operator search-attribute create --namespace n --name ToolsvcFailure --type Keyword --name ToolsvcHealed --type Bool"},
		"may not list":                {fakeCluster{list: status.Error(codes.PermissionDenied, "no")}, ErrDenied, "--name ToolsvcTool --type KeywordList"},
		"no such service":             {fakeCluster{add: status.Error(codes.Unimplemented, "no")}, ErrDenied, "Temporal Cloud"},
		"another type":                {fakeCluster{have: wrong}, nil, "ToolsvcHealed of namespace \"n\" is a Text and toolsvc needs a Bool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := Dial(t.Context(), Options{Direct: true, Address: c.cluster.start(t), Namespace: "n"})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			err = conn.EnsureSearchAttributes(t.Context())
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v; want %v that says %q", err, c.is, c.says)
			}
		})
	}
}
