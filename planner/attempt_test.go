package planner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"toolsvc/store"
	"toolsvc/tool"
)

// away is a store that fails for a while.
type away struct {
	Artifacts
	err   error
	until time.Time
	asked int
}

func (a *away) PutArtifact(_ context.Context, _ string, data []byte) (string, error) {
	a.asked++
	if time.Now().Before(a.until) {
		return "", fmt.Errorf("put artifact: %w", a.err)
	}
	return tool.Digest(data), nil
}

// The verdict about what was done is not lost because the store is away for a moment.
func TestEvidenceIsKeptWhenTheStoreComesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		err   error
		away  time.Duration
		kept  bool
		tries int // at the least
	}{
		{"there", nil, 0, true, 1},
		{"locked for a moment", store.ErrLocked, 3 * time.Second, true, 4},
		{"full for a moment", store.ErrDiskFull, 3 * time.Second, true, 4},
		{"restarted", store.ErrUnavailable, 8 * time.Second, true, 4},
		{"gone", store.ErrUnavailable, time.Hour, false, 4},
		{"refused", store.ErrTooLarge, time.Second, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				to, began := &away{err: c.err, until: time.Now().Add(c.away)}, time.Now()
				text, digest, err := (&attempter{artifacts: to}).keep(t.Context(), &tool.Evidence{})
				if c.kept != (err == nil) || c.kept && digest != tool.Digest(text) || !c.kept && !errors.Is(err, c.err) {
					t.Errorf("digest %q, %v", digest, err)
				}
				if took := time.Since(began); to.asked < c.tries || c.tries == 1 && to.asked > 1 || took > keepLimit+time.Second {
					t.Errorf("asked %d times in %s", to.asked, took)
				}
			})
		})
	}
}
