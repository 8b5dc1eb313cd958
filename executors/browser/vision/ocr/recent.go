package ocr

import (
	"container/list"
	"sync"
)

// recent keeps the most recently used values, up to a number.
type recent[K comparable, V any] struct {
	most  int
	mu    sync.Mutex
	order *list.List // of pair[K, V], most recent first
	at    map[K]*list.Element
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func newRecent[K comparable, V any](most int) *recent[K, V] {
	return &recent[K, V]{most: most, order: list.New(), at: map[K]*list.Element{}}
}

func (r *recent[K, V]) get(key K) (value V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.at[key]
	if !ok {
		return value, false
	}
	r.order.MoveToFront(e)
	return e.Value.(pair[K, V]).value, true
}

func (r *recent[K, V]) put(key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.at[key]; ok {
		e.Value = pair[K, V]{key, value}
		r.order.MoveToFront(e)
		return
	}
	r.at[key] = r.order.PushFront(pair[K, V]{key, value})
	if r.order.Len() > r.most {
		last := r.order.Back()
		r.order.Remove(last)
		delete(r.at, last.Value.(pair[K, V]).key)
	}
}
