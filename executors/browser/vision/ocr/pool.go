package ocr

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"sync"
)

// pool lends engines: never more than its size at a time, each to one goroutine. Engines
// keep their language data, so an idle one with the right languages is preferred, and an
// idle one with others makes room for a new one.
type pool struct {
	opener opener
	slots  chan struct{} // one token for each engine that may exist

	mu     sync.Mutex
	idle   []lent // most recently used last
	closed bool
}

type lent struct {
	engine    engine
	languages string
}

var errClosed = errors.New("the OCR grounder is closed")

func newPool(o opener, size int) *pool {
	return &pool{opener: o, slots: make(chan struct{}, size)}
}

// read reads lines with one engine. If the context ends first it returns at once; the engine stays
// taken until it has really stopped, and is lent again only then.
func (p *pool) read(ctx context.Context, languages string, lines []*image.Gray) ([][]word, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for an OCR engine: %w", ctx.Err())
	}
	type answer struct {
		words [][]word
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-p.slots }()
		var a answer
		a.words, a.err = p.readWith(ctx, languages, lines)
		done <- a
	}()
	select {
	case a := <-done:
		return a.words, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("read %d lines: %w", len(lines), ctx.Err())
	}
}

// readWith runs while a slot is held.
func (p *pool) readWith(ctx context.Context, languages string, lines []*image.Gray) ([][]word, error) {
	e, err := p.take(languages)
	if err != nil {
		return nil, err
	}
	words, err := e.read(ctx, lines)
	if err != nil && ctx.Err() == nil {
		e.close() // in an unknown state
		return nil, err
	}
	p.giveBack(lent{e, languages})
	return words, err
}

func (p *pool) take(languages string) (engine, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	var spare engine
	if i := slices.IndexFunc(p.idle, func(l lent) bool { return l.languages == languages }); i >= 0 {
		e := p.idle[i].engine
		p.idle = slices.Delete(p.idle, i, i+1)
		p.mu.Unlock()
		return e, nil
	}
	// Engines in use and idle ones together may fill the pool: this one takes the place of the
	// idle one that was used longest ago.
	if len(p.idle) > 0 && len(p.slots)+len(p.idle) > cap(p.slots) {
		spare = p.idle[0].engine
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.mu.Unlock()
	if spare != nil {
		spare.close()
	}
	return p.opener.open(languages)
}

func (p *pool) giveBack(l lent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.engine.close()
		return
	}
	p.idle = append(p.idle, l)
}

// close frees the idle engines now and those in use when they are given back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, l := range p.idle {
		l.engine.close()
	}
	p.idle = nil
}
