package temporalserver_test

import (
	"runtime"
	"testing"

	"toolsvc/temporalserver"
)

// The server does not end all of its goroutines (its own SDK workers and gRPC clients leave about a hundred of them parked); it runs in
// thousands. Stop must not leave more than that. Not parallel, because goroutines are counted.
func TestStopLeavesLittleBehind(t *testing.T) {
	const tolerated = 250
	before := runtime.NumGoroutine()
	s, err := temporalserver.Start(t.Context(), temporalserver.Options{StateDir: t.TempDir(), Logger: testLogger()})
	must(t, err)
	during := runtime.NumGoroutine()
	must(t, s.Stop())
	eventually(t, "the goroutines of the server to end", func() (bool, error) { return runtime.NumGoroutine()-before < tolerated, nil })
	t.Logf("%d goroutines before Start, %d while it ran, %d after Stop", before, during, runtime.NumGoroutine())
}
