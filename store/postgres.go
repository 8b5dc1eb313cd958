package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// DefaultSchema is the schema of a PostgreSQL database that the tables are in, unless the URL's search_path names another one.
const DefaultSchema = "toolsvc"

// The bounds of a PostgreSQL store; the URL can give others, as libpq and pgx spell them.
const (
	// postgresConns bounds the connections of one process (pool_max_conns); a watching process has one more.
	postgresConns = 12
	// statementLimit bounds one statement (statement_timeout), and idleLimit a transaction that nobody goes on with.
	statementLimit = 15 * time.Second
	idleLimit      = 60 * time.Second
	// migrationLimit bounds the wait for another process that migrates, and each script.
	migrationLimit = 2 * time.Minute
	// connectLimit bounds the making of a connection (connect_timeout).
	connectLimit = 10 * time.Second
)

// settleEvery is how often everything is read again although nothing was notified, and relistenEvery how often while nothing can be.
const (
	settleEvery   = 5 * time.Second
	relistenEvery = 500 * time.Millisecond
)

// postgres is the driver for several machines: one database that all of them use.
type postgres struct {
	config  *pgx.ConnConfig
	schema  string
	channel string // of notifications
	conns   int
}

// isPostgres reports whether a store's URL names a PostgreSQL database.
func isPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

var isSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// newPostgres reads the URL. Its errors hold nothing of the URL but host, user and database, because it may hold a password.
func newPostgres(url string, busy time.Duration) (*postgres, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		// The parser's own words may quote the URL.
		return nil, fmt.Errorf("%w: the store's URL cannot be read; write postgres://user:password@host:5432/database, with what is special in the password percent-encoded", ErrInvalid)
	}
	d := &postgres{config: cfg, conns: postgresConns, schema: cmp.Or(cfg.RuntimeParams["search_path"], DefaultSchema)}
	if !isSchema.MatchString(d.schema) {
		return nil, fmt.Errorf("%w: search_path %q of the store's URL is not one schema in small letters, digits and underscores", ErrInvalid, d.schema)
	}
	if text, ok := cfg.RuntimeParams["pool_max_conns"]; ok {
		delete(cfg.RuntimeParams, "pool_max_conns")
		if d.conns, err = strconv.Atoi(text); err != nil || d.conns < 2 || d.conns > 200 {
			return nil, fmt.Errorf("%w: pool_max_conns=%s of the store's URL is not between 2 and 200", ErrInvalid, text)
		}
	}
	d.channel = "toolsvc_" + d.schema
	for name, value := range map[string]string{
		"search_path":                         d.schema,
		"application_name":                    "toolsvc",
		"statement_timeout":                   millis(statementLimit),
		"lock_timeout":                        millis(busy),
		"idle_in_transaction_session_timeout": millis(idleLimit),
		"synchronous_commit":                  "on", // what is confirmed survives a crash of the server
		"timezone":                            "UTC",
	} {
		if _, given := cfg.RuntimeParams[name]; !given {
			cfg.RuntimeParams[name] = value
		}
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectLimit
	}
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	cfg.DialFunc = dialer.DialContext
	return d, nil
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// name says which database it is, without the password.
func (d *postgres) name() string {
	host := net.JoinHostPort(d.config.Host, strconv.Itoa(int(d.config.Port)))
	if strings.HasPrefix(d.config.Host, "/") { // a folder of Unix sockets
		host = d.config.Host
	}
	return fmt.Sprintf("postgres://%s@%s/%s (schema %s)", d.config.User, host, d.config.Database, d.schema)
}

// open makes the pools and brings the schema up to date.
func (d *postgres) open(ctx context.Context, s *Store) error {
	pool := func(conns int) *sql.DB {
		db := stdlib.OpenDB(*d.config)
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		db.SetConnMaxIdleTime(5 * time.Minute)
		db.SetConnMaxLifetime(time.Hour) // so that connections spread again after a failover
		return db
	}
	s.read = pool(max(1, d.conns/3))
	s.events = pool(d.writers())
	s.durable = s.events // every commit is on the disk
	return s.write(ctx, s.durable, func(tx *sql.Tx) error { return d.migrate(ctx, tx, migrations) })
}

// writers is how many transactions go on at once.
func (d *postgres) writers() int { return d.conns - max(1, d.conns/3) }

// migrate makes the schema and brings it up to date, while every other process that wants the same waits.
func (d *postgres) migrate(ctx context.Context, tx *sql.Tx, scripts []string) error {
	for _, set := range []string{"lock_timeout", "statement_timeout"} {
		if _, err := tx.ExecContext(ctx, "SET LOCAL "+set+" = "+millis(migrationLimit)); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext('toolsvc migration'), hashtext($1))`, d.schema); err != nil {
		return err
	}
	var there bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, d.schema).Scan(&there); err != nil {
		return err
	}
	if !there {
		if _, err := tx.ExecContext(ctx, "CREATE SCHEMA "+d.schema); err != nil {
			return err
		}
	}
	var tables, ours int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*), COUNT(*) FILTER (WHERE tablename = 'schema_version') FROM pg_tables WHERE schemaname = $1`, d.schema).Scan(&tables, &ours)
	if err != nil {
		return err
	}
	if tables > 0 && ours == 0 {
		return fmt.Errorf("%w: the schema %s belongs to another program; use another one (search_path=… in the store's URL)", ErrSchema, d.schema)
	}
	return migrate(ctx, tx, d.name(), inPostgres(scripts))
}

// inPostgres translates scripts: they are written once, and two types have other names. Texts are compared by their bytes, as in SQLite.
func inPostgres(scripts []string) []string {
	out := make([]string, len(scripts))
	words := strings.NewReplacer(" BLOB", " BYTEA", " TEXT", ` TEXT COLLATE "C"`)
	for i, s := range scripts {
		out[i] = words.Replace(s)
	}
	return out
}

// locking is what makes a SELECT keep the rows that it found, as they are, until the transaction ends; those that another one keeps are left.
func (d *postgres) locking() string { return " FOR UPDATE SKIP LOCKED" }

// appended tells every process that watches, when the transaction commits.
func (d *postgres) appended(ctx context.Context, tx *sql.Tx, runID string) error {
	_, err := tx.ExecContext(ctx, `SELECT pg_notify($1, $2)`, d.channel, runID)
	return err
}

// follow wakes watchers of the runs that are notified. While notifications cannot be had, and in any case every few seconds, all are woken and
// look for themselves.
func (d *postgres) follow(ctx context.Context, h *hub) {
	for ctx.Err() == nil {
		err := d.listen(ctx, h)
		// The watchers will meet the same error when they read, and report it; or they read what was not notified meanwhile.
		_ = err
		h.wakeAll()
		select {
		case <-time.After(relistenEvery):
		case <-ctx.Done():
		}
	}
}

// listen has a connection of its own, because a pool's would be given to others.
func (d *postgres) listen(ctx context.Context, h *hub) error {
	cfg := d.config.Copy()
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // nothing was written
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{d.channel}.Sanitize()); err != nil {
		return err
	}
	h.wakeAll() // what was appended before the listening began
	for {
		wait, cancel := context.WithTimeout(ctx, settleEvery)
		n, err := conn.WaitForNotification(wait)
		quiet := wait.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			h.wake(n.Payload)
		case quiet && !conn.IsClosed():
			if err := conn.Ping(ctx); err != nil {
				return err
			}
			h.wakeAll()
		default:
			return err
		}
	}
}

// postgresKind finds the sentinel for an error of PostgreSQL or of the way to it; nil for none.
// The codes are those of PostgreSQL's documentation, appendix A.
func postgresKind(err error) error {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var connect *pgconn.ConnectError
		var network *net.OpError
		if errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed) {
			return ErrUnavailable
		}
		return nil
	}
	switch e.Code {
	case "53100":
		return ErrDiskFull
	case "55P03", "57014", "40001", "40P01": // a lock, a time limit, a conflict, a deadlock
		return ErrLocked
	case "XX001", "XX002":
		return ErrCorrupt
	case "22021", "22P05": // a text that is no UTF-8, or has a zero byte
		return ErrInvalid
	case "42501", "25006": // rights; a standby
		return ErrUnavailable
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "28", "3D", "53", "57", "58":
		return ErrUnavailable
	}
	return nil
}

// again reports whether a transaction that ended so was rolled back only because of others, and may be made again.
func again(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}
