package orders

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	gen "toolsvc/examples/orders/gen/orders"
)

// books are the shop's tables.
type books struct {
	db       *sql.DB
	postgres bool
}

// schema makes the tables; %s is the type of a number that the database gives.
const schema = `
CREATE TABLE IF NOT EXISTS orders (
	id TEXT PRIMARY KEY, customer TEXT NOT NULL, lines TEXT NOT NULL, total_cents BIGINT NOT NULL, refunded_cents BIGINT NOT NULL,
	status TEXT NOT NULL, note TEXT);
CREATE TABLE IF NOT EXISTS refunds (
	number %s, idempotency_key TEXT NOT NULL UNIQUE, order_id TEXT NOT NULL, cents BIGINT NOT NULL, reason TEXT NOT NULL);`

// openBooks opens a PostgreSQL database (postgres://…), or a file of SQLite, which is made when it is not there.
func openBooks(ctx context.Context, where string) (*books, error) {
	b := &books{postgres: strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")}
	driver, source, number := "pgx", where, "BIGSERIAL PRIMARY KEY"
	if !b.postgres {
		path, err := filepath.Abs(where)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", where, err)
		}
		driver, source, number = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_txlock=immediate", "INTEGER PRIMARY KEY AUTOINCREMENT"
	}
	var err error
	if b.db, err = sql.Open(driver, source); err != nil {
		return nil, fmt.Errorf("open the shop's books: %w", err)
	}
	if !b.postgres {
		b.db.SetMaxOpenConns(1) // SQLite has one writer
	}
	if _, err := b.db.ExecContext(ctx, fmt.Sprintf(schema, number)); err != nil {
		return nil, errors.Join(fmt.Errorf("make the tables of the shop's books: %w", err), b.db.Close())
	}
	return b, nil
}

// within runs f in a transaction.
func (b *books) within(ctx context.Context, f func(*entry) error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("open a transaction: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	if err := f(&entry{tx: tx, postgres: b.postgres}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write to the shop's books: %w", err)
	}
	return nil
}

// entry is one transaction.
type entry struct {
	tx       *sql.Tx
	postgres bool
}

var placeholder = regexp.MustCompile(`\?`)

// sql numbers the placeholders for PostgreSQL, and locks the rows that are read where the database does not lock as a whole.
func (e *entry) sql(text string) string {
	if !e.postgres {
		return strings.TrimSuffix(text, " FOR UPDATE")
	}
	n := 0
	return placeholder.ReplaceAllStringFunc(text, func(string) string { n++; return "$" + strconv.Itoa(n) })
}

// order reads an order; nil when there is none.
func (e *entry) order(ctx context.Context, id string) (*gen.Order, error) {
	o := &gen.Order{}
	var lines string
	row := e.tx.QueryRowContext(ctx, e.sql(`SELECT id, customer, lines, total_cents, refunded_cents, status, note FROM orders WHERE id = ? FOR UPDATE`), id)
	err := row.Scan(&o.ID, &o.Customer, &lines, &o.TotalCents, &o.RefundedCents, &o.Status, &o.Note)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(lines), &o.Lines)
	}
	if err != nil {
		return nil, fmt.Errorf("read order %s: %w", id, err)
	}
	return o, nil
}

// write makes an order, or replaces it.
func (e *entry) write(ctx context.Context, o *gen.Order) error {
	lines, err := json.Marshal(o.Lines)
	if err != nil {
		return fmt.Errorf("encode order %s: %w", o.ID, err)
	}
	_, err = e.tx.ExecContext(ctx, e.sql(`INSERT INTO orders (id, customer, lines, total_cents, refunded_cents, status, note) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET customer = excluded.customer, lines = excluded.lines, total_cents = excluded.total_cents,
		refunded_cents = excluded.refunded_cents, status = excluded.status, note = excluded.note`),
		o.ID, o.Customer, string(lines), o.TotalCents, o.RefundedCents, o.Status, o.Note)
	if err != nil {
		return fmt.Errorf("write order %s: %w", o.ID, err)
	}
	return nil
}

// refund reads a refund by its key; nil when there is none.
func (e *entry) refund(ctx context.Context, key string) (*gen.Receipt, error) {
	r := &gen.Receipt{}
	var number int64
	row := e.tx.QueryRowContext(ctx, e.sql(`SELECT number, order_id, cents, reason FROM refunds WHERE idempotency_key = ?`), key)
	err := row.Scan(&number, &r.Order, &r.Cents, &r.Reason)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a refund: %w", err)
	}
	r.Number = "R-" + strconv.FormatInt(number, 10)
	return r, nil
}

// addRefund writes a refund under the next number.
func (e *entry) addRefund(ctx context.Context, key string, r *gen.Receipt) error {
	var number int64
	row := e.tx.QueryRowContext(ctx, e.sql(`INSERT INTO refunds (idempotency_key, order_id, cents, reason) VALUES (?, ?, ?, ?) RETURNING number`), key, r.Order, r.Cents, r.Reason)
	if err := row.Scan(&number); err != nil {
		return fmt.Errorf("write a refund: %w", err)
	}
	r.Number = "R-" + strconv.FormatInt(number, 10)
	return nil
}
