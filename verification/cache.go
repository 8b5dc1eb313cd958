package verification

import (
	"container/list"
	"sync"
)

// cache keeps the most recently used values, at most size of them. It is safe for concurrent use. Two callers that miss at the same
// time both make the value; one of the two is kept.
type cache[K comparable, V any] struct {
	size    int
	mu      sync.Mutex
	entries map[K]*list.Element
	recent  *list.List // of entry[K, V], the most recently used in front
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newCache[K comparable, V any](size int) *cache[K, V] {
	return &cache[K, V]{size: size, entries: map[K]*list.Element{}, recent: list.New()}
}

// get returns the value of a key, made by make when it is not kept.
func (c *cache[K, V]) get(key K, make func() V) V {
	c.mu.Lock()
	if e, ok := c.entries[key]; ok {
		c.recent.MoveToFront(e)
		v := e.Value.(entry[K, V]).value
		c.mu.Unlock()
		return v
	}
	c.mu.Unlock()
	v := make()
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		return e.Value.(entry[K, V]).value
	}
	c.entries[key] = c.recent.PushFront(entry[K, V]{key, v})
	if c.recent.Len() > c.size {
		oldest := c.recent.Back()
		delete(c.entries, c.recent.Remove(oldest).(entry[K, V]).key)
	}
	return v
}

// len returns how many values are kept.
func (c *cache[K, V]) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}
