package temporalserver

import "sync"

// failures keeps the first failure of a running server, for whoever waits.
type failures struct {
	mu       sync.Mutex
	reported bool
	first    chan error // holds one
}

func newFailures() *failures { return &failures{first: make(chan error, 1)} }

// report keeps the first failure and never blocks.
func (f *failures) report(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.reported {
		f.reported = true
		f.first <- err
	}
}

// forget drops a failure that was dealt with.
func (f *failures) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reported = false
	select {
	case <-f.first: //nolint:errcheck // it is dropped on purpose
	default:
	}
}
