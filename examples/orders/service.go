package orders

import (
	"context"
	"fmt"

	gen "toolsvc/examples/orders/gen/orders"
)

// maxOrder bounds what an order may cost, in cents.
const maxOrder = 10_000_000

// maxRefunds bounds how many refunds are under way at once; one more is told to wait.
const maxRefunds = 4

// Service keeps the orders of the shop. It is safe for concurrent use.
type Service struct {
	books   *books
	refunds chan struct{} // holds one value for each refund under way
}

var _ gen.Service = (*Service)(nil)

// Open opens the shop's books: a PostgreSQL database (postgres://…), or a file of SQLite.
func Open(ctx context.Context, where string) (*Service, error) {
	b, err := openBooks(ctx, where)
	if err != nil {
		return nil, err
	}
	return &Service{books: b, refunds: make(chan struct{}, maxRefunds)}, nil
}

// Close closes the books.
func (s *Service) Close() error { return s.books.db.Close() }

// Upsert writes an order.
func (s *Service) Upsert(ctx context.Context, p *gen.UpsertPayload) (*gen.Order, error) {
	o := &gen.Order{ID: p.ID, Customer: p.Customer, Lines: p.Lines, Note: p.Note, Status: "open"}
	for i, l := range p.Lines {
		o.TotalCents += l.Cents * int64(l.Quantity)
		if o.TotalCents > maxOrder {
			return nil, rejected(fmt.Sprintf("lines[%d].quantity", i), "an order costs at most %d cents; up to this line it is %d", maxOrder, o.TotalCents)
		}
	}
	err := s.books.within(ctx, func(e *entry) error {
		old, err := e.order(ctx, p.ID)
		if err != nil {
			return err
		}
		if old != nil && (old.Status != "open" || old.RefundedCents > 0) {
			return closed("order %s is %s, with %d cents paid back, and cannot be changed", p.ID, old.Status, old.RefundedCents)
		}
		return e.write(ctx, o)
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Find finds an order.
func (s *Service) Find(ctx context.Context, p *gen.FindPayload) (o *gen.Order, err error) {
	return s.change(ctx, p.ID, func(*gen.Order) (bool, error) { return false, nil })
}

// Cancel cancels an open order.
func (s *Service) Cancel(ctx context.Context, p *gen.CancelPayload) (*gen.Order, error) {
	return s.change(ctx, p.ID, func(o *gen.Order) (bool, error) {
		if o.Status != "open" {
			return false, closed("order %s is %s", o.ID, o.Status)
		}
		o.Status = "cancelled"
		return true, nil
	})
}

// Reopen opens a cancelled order again.
func (s *Service) Reopen(ctx context.Context, p *gen.ReopenPayload) (*gen.Order, error) {
	return s.change(ctx, p.ID, func(o *gen.Order) (bool, error) {
		o.Status = "open"
		return true, nil
	})
}

// change reads an order and writes it again when f says so.
func (s *Service) change(ctx context.Context, id string, f func(*gen.Order) (bool, error)) (o *gen.Order, err error) {
	err = s.books.within(ctx, func(e *entry) error {
		if o, err = e.order(ctx, id); err != nil {
			return err
		}
		if o == nil {
			return gen.MakeNotFound(fmt.Errorf("there is no order %s", id))
		}
		changed, err := f(o)
		if err != nil || !changed {
			return err
		}
		return e.write(ctx, o)
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Refund pays back some of an order, once for each key.
func (s *Service) Refund(ctx context.Context, p *gen.RefundPayload) (r *gen.Receipt, err error) {
	select {
	case s.refunds <- struct{}{}:
		defer func() { <-s.refunds }()
	default:
		return nil, &gen.Busy{Name: "busy", Message: fmt.Sprintf("%d refunds are under way already", maxRefunds), Seconds: 1}
	}
	err = s.books.within(ctx, func(e *entry) error {
		if r, err = e.refund(ctx, p.Key); err != nil || r != nil {
			return err
		}
		o, err := e.order(ctx, p.ID)
		switch {
		case err != nil:
			return err
		case o == nil:
			return gen.MakeNotFound(fmt.Errorf("there is no order %s", p.ID))
		case o.Status != "open":
			return closed("order %s is %s", o.ID, o.Status)
		case p.Cents > o.TotalCents-o.RefundedCents:
			return rejected("cents", "only %d cents of order %s can still be paid back, not %d", o.TotalCents-o.RefundedCents, o.ID, p.Cents)
		}
		o.RefundedCents += p.Cents
		if err := e.write(ctx, o); err != nil {
			return err
		}
		r = &gen.Receipt{Order: p.ID, Cents: p.Cents, Reason: p.Reason}
		return e.addRefund(ctx, p.Key, r)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// FindRefund finds a refund by the key that it was asked for with.
func (s *Service) FindRefund(ctx context.Context, p *gen.FindRefundPayload) (r *gen.Receipt, err error) {
	err = s.books.within(ctx, func(e *entry) error {
		if r, err = e.refund(ctx, p.Key); err == nil && r == nil {
			return gen.MakeNotFound(fmt.Errorf("nothing was paid back with the key %s", p.Key))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func closed(format string, args ...any) error { return gen.MakeClosed(fmt.Errorf(format, args...)) }

func rejected(field, format string, args ...any) error {
	return &gen.Rejected{Name: "rejected", Field: field, Message: fmt.Sprintf(format, args...)}
}
