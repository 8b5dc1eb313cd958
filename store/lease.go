package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Lease takes, or renews, the lease of that name for the owner until now and ttl, and reports whether the owner has it. Of several processes
// one has it at a time, by their own clocks; who dies with it is succeeded when it has run out.
func (s *Store) Lease(ctx context.Context, name, owner string, ttl time.Duration) (won bool, err error) {
	for _, c := range [][2]string{{"lease", name}, {"owner", owner}} {
		if err := checkID(c[0], c[1]); err != nil {
			return false, fmt.Errorf("take a lease: %w", err)
		}
	}
	now := s.now()
	err = s.write(ctx, s.events, func(tx *sql.Tx) error {
		won, err = changed(tx.ExecContext(ctx, `
			INSERT INTO leases (lease_name, owner, until) VALUES ($1, $2, $3)
			ON CONFLICT (lease_name) DO UPDATE SET owner = excluded.owner, until = excluded.until
			WHERE leases.owner = excluded.owner OR leases.until <= $4`, name, owner, stamp(now.Add(ttl)), stamp(now)))
		return err
	})
	if err != nil {
		return false, s.explain(err, "take the lease %s", name)
	}
	return won, nil
}
