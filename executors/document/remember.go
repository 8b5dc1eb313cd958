package document

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"toolsvc/tool"
)

// memory keeps the contents of files that were read or written, the most recent ones, within maxRemembered bytes.
type memory struct {
	mu     sync.Mutex
	size   int
	byKey  map[string]*list.Element // of content
	recent list.List
}

type content struct {
	digest string
	data   []byte
}

func (m *memory) put(digest string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byKey == nil {
		m.byKey = map[string]*list.Element{}
	}
	if e := m.byKey[digest]; e != nil {
		m.recent.MoveToFront(e)
		return
	}
	if len(data) > maxRemembered {
		return
	}
	m.byKey[digest] = m.recent.PushFront(content{digest, data})
	for m.size += len(data); m.size > maxRemembered; {
		old := m.recent.Remove(m.recent.Back()).(content)
		delete(m.byKey, old.digest)
		m.size -= len(old.data)
	}
}

func (m *memory) get(digest string) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.byKey[digest]
	if e == nil {
		return nil, false
	}
	m.recent.MoveToFront(e)
	return e.Value.(content).data, true
}

// keep keeps a content where the next process finds it too.
func (x *Executor) keep(ctx context.Context, digest string, data []byte) error {
	x.seen.put(digest, data)
	if x.opts.Versions == nil {
		return nil
	}
	if _, err := x.opts.Versions.PutArtifact(ctx, "application/octet-stream", data); err != nil {
		return tool.Failf(tool.ToolUnavailable, "what is in the file could not be kept for a rollback, so nothing was written: %w", err)
	}
	return nil
}

// recall finds a content by its digest.
func (x *Executor) recall(ctx context.Context, digest string) ([]byte, error) {
	if data, ok := x.seen.get(digest); ok {
		return data, nil
	}
	if x.opts.Versions == nil {
		return nil, fmt.Errorf("no earlier content %.19s… is remembered", digest)
	}
	_, data, err := x.opts.Versions.Artifact(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("no earlier content %.19s… is kept: %w", digest, err)
	}
	if got := tool.Digest(data); got != digest {
		return nil, fmt.Errorf("what is kept as %.19s… has the digest %.19s…", digest, got)
	}
	return data, nil
}
