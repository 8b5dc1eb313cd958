package temporalserver_test

import (
	"errors"
	"testing"
	"time"

	"toolsvc/temporalclient"
	"toolsvc/temporalserver"
)

// A cluster that knows nothing of toolsvc is ready after Setup, and stays as it is when Setup is repeated.
func TestSetupReadiesACluster(t *testing.T) {
	t.Parallel()
	srv := start(t, temporalserver.Options{StateDir: t.TempDir(), UIPort: temporalserver.NoUI})
	at := temporalclient.Options{Address: srv.Address(), Namespace: "another", Direct: true}
	if c, err := temporalclient.Dial(t.Context(), at); !errors.Is(err, temporalclient.ErrNamespaceNotFound) {
		if err == nil {
			c.Close()
		}
		t.Fatalf("before: %v", err)
	}
	for _, created := range []bool{true, false} {
		p, err := temporalclient.Setup(t.Context(), at, 48*time.Hour)
		if err != nil || p.Created != created || p.Namespace != "another" || p.Address != srv.Address() {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	c, err := temporalclient.Dial(t.Context(), at)
	must(t, err)
	defer c.Close()
	must(t, c.EnsureSearchAttributes(t.Context())) // they are there: nothing is waited for
}
