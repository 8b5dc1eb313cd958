package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Claim says which call an idempotency key belongs to.
type Claim struct {
	Key, CallID, RunID string
	// ArgsDigest identifies the tool and its arguments.
	ArgsDigest string
	// At is when it was claimed, in UTC.
	At time.Time
}

// ClaimKey claims an idempotency key for a call. The first claim wins and is on the disk before ClaimKey returns; it returns that claim and
// true. A later one returns the first claim and false, so that the caller gives the first call's result. A claim with another digest than
// the first is [ErrKeyReused], with the first claim. The key lives as long as its run.
func (s *Store) ClaimKey(ctx context.Context, key, callID, runID, argsDigest string) (claim Claim, won bool, err error) {
	for _, c := range [][2]string{{"idempotency key", key}, {"call", callID}, {"run", runID}, {"digest of the arguments", argsDigest}} {
		if err := checkID(c[0], c[1]); err != nil {
			return Claim{}, false, fmt.Errorf("claim idempotency key: %w", err)
		}
	}
	at := s.now().UTC()
	err = s.write(ctx, s.durable, func(tx *sql.Tx) error {
		won, err = changed(tx.ExecContext(ctx, `
			INSERT INTO idempotency_keys (claim_key, call_id, run_id, args_digest, at_time) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (claim_key) DO NOTHING`, key, callID, runID, argsDigest, stamp(at)))
		if err != nil {
			return err
		}
		if won {
			claim = Claim{Key: key, CallID: callID, RunID: runID, ArgsDigest: argsDigest, At: at}
			_, err = touch(ctx, tx, runID, at)
			return err
		}
		claim = Claim{Key: key}
		var when string
		err := tx.QueryRowContext(ctx, `SELECT call_id, run_id, args_digest, at_time FROM idempotency_keys WHERE claim_key = $1`, key).
			Scan(&claim.CallID, &claim.RunID, &claim.ArgsDigest, &when)
		if err != nil {
			return err
		}
		claim.At, err = parseStamp(when)
		return err
	})
	if err != nil {
		return Claim{}, false, s.explain(err, "claim idempotency key %q", key)
	}
	if claim.ArgsDigest != argsDigest {
		return claim, false, fmt.Errorf("claim idempotency key %q: %w (call %s in run %s): send the same arguments, or another key", key, ErrKeyReused, claim.CallID, claim.RunID)
	}
	return claim, won, nil
}
