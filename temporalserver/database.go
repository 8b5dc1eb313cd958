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

	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/schema/sqlite"
	_ "modernc.org/sqlite" // the driver that the server uses too
)

// databaseName is the file of the database inside the state directory. SQLite keeps temporal.db-wal and temporal.db-shm beside it.
const databaseName = "temporal.db"

// busyTimeout is how long a connection waits for another program that looks into the file, in milliseconds.
const busyTimeout = "10000"

// database is the SQLite file of a state directory. All work on it outside the server happens while the directory's lock is held and
// the server is not running.
type database struct {
	path    string
	relaxed bool // see [Options.RelaxedSync]
}

// SchemaError says that a database cannot be used by this build. Nothing was changed in it.
type SchemaError struct {
	Path  string
	Found string // the stamp in the file; empty if it has none
	Need  string // the stamp of this build
}

// Error says what to do about it: Temporal has no migration between SQLite schemas.
func (e *SchemaError) Error() string {
	if e.Found == "" {
		return fmt.Sprintf("%s is not a database that toolsvc made (it has tables but no schema stamp): move it away, or use another state directory", e.Path)
	}
	return fmt.Sprintf("%s was made with %s, and this toolsvc has %s; there is no migration between them: finish its runs with the toolsvc that made it, or move the file away to start with an empty one",
		e.Path, e.Found, e.Need)
}

// stamp identifies the schema of this build.
func stamp() string {
	return fmt.Sprintf("Temporal SQLite schema %s (visibility %s)", sqlite.Version, sqlite.VisibilityVersion)
}

// The stamp lies in a table of its own, one row.
const (
	stampCreate = `CREATE TABLE toolsvc_schema (stamp TEXT NOT NULL, server TEXT NOT NULL, created TEXT NOT NULL)`
	stampInsert = `INSERT INTO toolsvc_schema (stamp, server, created) VALUES (?, ?, ?)`
	stampSelect = `SELECT stamp FROM toolsvc_schema`
	countTables = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`
	hasStamp    = `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'toolsvc_schema'`
)

// prepare makes the schema in a new file, or checks the stamp of an existing one, and then turns write-ahead logging on. The schema and
// its stamp are one transaction: after a crash in between the file is empty, and the next start makes it. A file that is refused stays
// as it was, byte for byte.
func (d database) prepare(ctx context.Context) error {
	if err := d.create(); err != nil {
		return err
	}
	return d.use(ctx, func(conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		if err := d.makeOrCheck(ctx, conn); err != nil {
			_, rollback := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return errors.Join(err, rollback)
		}
		if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, "PRAGMA journal_mode=wal")
		return err
	})
}

// create makes an empty file that only its owner may read; SQLite gives its other files the same mode. A file that exists is left alone,
// not even opened: closing it would drop the locks that a connection of this process may have on it.
func (d database) create() error {
	file, err := os.OpenFile(d.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	return nil
}

func (d database) makeOrCheck(ctx context.Context, conn *sql.Conn) error {
	var tables int
	if err := conn.QueryRowContext(ctx, countTables).Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		if err := sqlite.SetupSchemaOnDB(schemaWriter{ctx: ctx, conn: conn}); err != nil {
			return fmt.Errorf("make the schema: %w", err)
		}
		if _, err := conn.ExecContext(ctx, stampCreate); err != nil {
			return err
		}
		_, err := conn.ExecContext(ctx, stampInsert, stamp(), headers.ServerVersion, time.Now().UTC().Format(time.RFC3339))
		return err
	}
	return d.checkStamp(ctx, conn)
}

// checkStamp refuses a database of another schema.
func (d database) checkStamp(ctx context.Context, conn *sql.Conn) error {
	var stamped int
	if err := conn.QueryRowContext(ctx, hasStamp).Scan(&stamped); err != nil {
		return err
	}
	found := ""
	if stamped > 0 {
		if err := conn.QueryRowContext(ctx, stampSelect).Scan(&found); err != nil {
			return fmt.Errorf("read the schema stamp: %w", err)
		}
	}
	if found != stamp() {
		return &SchemaError{Path: d.path, Found: found, Need: stamp()}
	}
	return nil
}

// checkpoint moves the write-ahead log into the database file, so that after a clean stop the one file holds everything.
func (d database) checkpoint(ctx context.Context) error {
	return d.use(ctx, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	})
}

// use runs work on a connection of its own and closes it.
func (d database) use(ctx context.Context, work func(*sql.Conn) error) error {
	query := url.Values{"mode": {"rwc"}, "_pragma": {"busy_timeout=" + busyTimeout, "synchronous=full"}}
	db, err := sql.Open("sqlite", "file:"+d.uriPath()+"?"+query.Encode())
	if err != nil {
		return fmt.Errorf("open the database %s: %w", d.path, err)
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err == nil {
		err = work(conn)
		err = errors.Join(err, conn.Close())
	}
	err = errors.Join(err, db.Close())
	var schema *SchemaError
	if err == nil || errors.As(err, &schema) {
		return err
	}
	return d.explain(err)
}

// errDamaged: what SQLite found on looking.
var errDamaged = errors.New("the file is damaged")

// explain says what to do about an error of SQLite.
func (d database) explain(err error) error {
	var code interface{ Code() int }
	if errors.Is(err, errDamaged) || errors.As(err, &code) && (code.Code()&0xff == sqliteCorrupt || code.Code()&0xff == sqliteNotADatabase) {
		return fmt.Errorf("%s is damaged, or no SQLite database: put a backup of the whole state directory in its place, or move the file away to start without its runs (%w)", d.path, err)
	}
	return fmt.Errorf("prepare the database %s: %w", d.path, err)
}

// SQLite's primary result codes for a damaged file (sqlite.org/rescode.html).
const (
	sqliteCorrupt      = 11
	sqliteNotADatabase = 26
)

// pragmas of the server's connection. With write-ahead logging and synchronous=full a commit is on the disk when it is acknowledged: kill -9
// loses nothing in any mode, and this mode keeps the last commits through a power cut too.
func (d database) pragmas() map[string]string {
	synchronous := "full"
	if d.relaxed {
		synchronous = "normal"
	}
	return map[string]string{
		"journal_mode":       "wal",
		"synchronous":        synchronous,
		"busy_timeout":       busyTimeout,
		"journal_size_limit": "67108864", // the log shrinks back to 64 MB after a burst
	}
}

// attributes are what the server's plugin puts into the address of its connection.
func (d database) attributes() map[string]string {
	attributes := d.pragmas()
	attributes["mode"] = "rw" // made and checked before; a file that vanished must not come back empty
	// The plugin keeps its connection for the life of the process, keyed by the address. A second server of this process finds it again,
	// and must not when the file at the path has been replaced; hence the file's identity. The plugin knows no other value of setup than
	// "true", and SQLite ignores parameters that it does not know.
	if info, err := os.Stat(d.path); err == nil {
		attributes["setup"] = "file-" + fileIdentity(info)
	}
	return attributes
}

// uriPath is the path as it stands in a file: URI, where ?, # and % mean something.
func (d database) uriPath() string {
	return (&url.URL{Path: filepath.ToSlash(d.path)}).EscapedPath()
}

// schemaWriter lets the server's schema run inside our transaction. SetupSchemaOnDB only executes statements.
type schemaWriter struct {
	sqlplugin.AdminDB
	ctx  context.Context
	conn *sql.Conn
}

func (w schemaWriter) Exec(statement string, args ...any) error {
	_, err := w.conn.ExecContext(w.ctx, statement, args...)
	return err
}
