package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The bounds of memories. Those that were not put for the longest time go first.
const (
	// MaxMemories bounds all memories.
	MaxMemories = 20_000
	// MaxMemoriesPerScope bounds those of one scope.
	MaxMemoriesPerScope = 1_000
	// MemoryLife is how long a memory is kept after it was put last.
	MemoryLife = 180 * 24 * time.Hour
	// MaxMemory bounds the data of one memory, in bytes.
	MaxMemory = 64 << 10
	// maxMemoryKey bounds a key, in bytes.
	maxMemoryKey = 4 << 10
)

// PutMemory keeps a memory, which is JSON, under a key in a scope; one that is there is replaced. Memories that
// were not put for [MemoryLife] are deleted with it, and when there are too many ([MaxMemories], [MaxMemoriesPerScope]) those that were not
// put for the longest time.
func (s *Store) PutMemory(ctx context.Context, scope, key string, data []byte) error {
	switch {
	case len(data) > MaxMemory:
		return fmt.Errorf("keep a memory of %s: %w", scope, tooLarge("the memory", len(data), MaxMemory))
	case !json.Valid(data):
		return fmt.Errorf("keep a memory of %s: %w", scope, invalid("the memory is not JSON"))
	}
	if err := checkMemory(scope, key); err != nil {
		return fmt.Errorf("keep a memory: %w", err)
	}
	err := s.write(ctx, s.events, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `
			INSERT INTO memories (scope, memory_key, data, put_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (scope, memory_key) DO UPDATE SET data = excluded.data, put_at = excluded.put_at`,
			scope, key, string(data), stamp(s.now())); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM memories WHERE put_at < $1`, stamp(s.now().Add(-MemoryLife))); err != nil {
			return err
		}
		if err := trimMemories(ctx, tx, scope, MaxMemoriesPerScope); err != nil {
			return err
		}
		return trimMemories(ctx, tx, "", MaxMemories)
	})
	return s.explain(err, "keep a memory of %s", scope)
}

// trimMemories deletes what is more than most in a scope, in all when it is "".
func trimMemories(ctx context.Context, tx *sql.Tx, scope string, most int) error {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM memories WHERE scope = $1 OR $1 = ''`, scope).Scan(&n); err != nil || n <= most {
		return err
	}
	_, err := tx.ExecContext(ctx, `
		DELETE FROM memories WHERE (scope, memory_key) IN (
			SELECT scope, memory_key FROM memories WHERE scope = $1 OR $1 = '' ORDER BY put_at, scope, memory_key LIMIT $2)`, scope, n-most)
	return err
}

// Memory returns the memory under a key; found is false when there is none.
func (s *Store) Memory(ctx context.Context, scope, key string) (data []byte, found bool, err error) {
	var text string
	err = s.read.QueryRowContext(ctx, `SELECT data FROM memories WHERE scope = $1 AND memory_key = $2`, scope, key).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, s.explain(err, "read a memory of %s", scope)
	}
	return []byte(text), true, nil
}

// Memories returns the memories of a scope, of all scopes when it is "", the latest put first.
func (s *Store) Memories(ctx context.Context, scope string) ([][]byte, error) {
	list, err := texts(s.read.QueryContext(ctx, `SELECT data FROM memories WHERE scope = $1 OR $1 = '' ORDER BY put_at DESC, scope, memory_key LIMIT $2`, scope, MaxMemories))
	if err != nil {
		return nil, s.explain(err, "list memories")
	}
	out := make([][]byte, len(list))
	for i, t := range list {
		out[i] = []byte(t)
	}
	return out, nil
}

// EraseMemory deletes the memory under a key; with the key "" all of the scope; with the scope "" as well, all. It is on the disk before
// EraseMemory returns how many there were.
func (s *Store) EraseMemory(ctx context.Context, scope, key string) (n int64, err error) {
	if scope == "" && key != "" {
		return 0, fmt.Errorf("erase a memory: %w", invalid("a key without a scope"))
	}
	err = s.write(ctx, s.durable, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `DELETE FROM memories WHERE (scope = $1 OR $1 = '') AND (memory_key = $2 OR $2 = '')`, scope, key)
		if err != nil {
			return err
		}
		n, err = r.RowsAffected()
		return err
	})
	if err != nil {
		return 0, s.explain(err, "erase memories")
	}
	return n, nil
}

func checkMemory(scope, key string) error {
	switch {
	case scope == "" || key == "":
		return invalid("a memory needs a scope and a key")
	case len(scope) > maxID:
		return tooLarge("the scope", len(scope), maxID)
	case len(key) > maxMemoryKey:
		return tooLarge("the key", len(key), maxMemoryKey)
	}
	return nil
}
