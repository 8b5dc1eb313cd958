package temporalserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// inspectLimit bounds how long [Inspect] reads a file for damage; a file that takes longer counts as undamaged so far.
const inspectLimit = 5 * time.Second

// Inspect looks at the database of a state directory, and changes nothing, while a server may be using it. It reports whether there is one,
// and what would keep [Start] from using it: a [*SchemaError], or damage.
func Inspect(ctx context.Context, stateDir string) (exists bool, err error) {
	d := database{path: filepath.Join(stateDir, databaseName)}
	st, err := os.Stat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return true, fmt.Errorf("look at the database: %w", err)
	case st.Size() == 0: // a start that was broken off; the next one makes the schema
		return true, nil
	}
	query := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout=2000"}}
	if _, err := os.Stat(d.path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		query.Set("immutable", "1") // nobody uses it, and a reader must not leave files behind
	}
	db, err := sql.Open("sqlite", "file:"+d.uriPath()+"?"+query.Encode())
	if err != nil {
		return true, fmt.Errorf("open the database %s: %w", d.path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err == nil {
		defer func() { err = errors.Join(err, conn.Close()) }()
		var tables int
		if err = conn.QueryRowContext(ctx, countTables).Scan(&tables); err == nil && tables > 0 {
			err = errors.Join(d.checkStamp(ctx, conn), quickCheck(ctx, conn))
		}
	}
	if schema := new(SchemaError); err == nil || errors.As(err, &schema) {
		return true, err
	}
	return true, d.explain(err)
}

// quickCheck looks for damage.
func quickCheck(ctx context.Context, conn *sql.Conn) error {
	bounded, cancel := context.WithTimeout(ctx, inspectLimit)
	defer cancel()
	var verdict string
	switch err := conn.QueryRowContext(bounded, `PRAGMA quick_check(1)`).Scan(&verdict); {
	case err != nil && bounded.Err() != nil && ctx.Err() == nil:
		return nil
	case err != nil:
		return err
	case verdict != "ok":
		return fmt.Errorf("%w: %s", errDamaged, verdict)
	}
	return nil
}
