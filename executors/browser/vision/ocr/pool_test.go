package ocr

import (
	"context"
	"errors"
	"image"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowEngine takes a while for a line, stops when it is told to, and notices misuse.
type slowEngine struct {
	of    *slowOpener
	busy  atomic.Bool
	gone  atomic.Bool
	stops time.Duration // how long it takes to stop
}

type slowOpener struct {
	open_, most, misused atomic.Int32
	takes                atomic.Int64 // a duration
	stops                time.Duration
	fails                atomic.Bool
}

func (o *slowOpener) kind() string { return "slow" }

func (o *slowOpener) open(string) (engine, error) {
	if n := o.open_.Add(1); n > o.most.Load() {
		o.most.Store(n)
	}
	return &slowEngine{of: o, stops: o.stops}, nil
}

func (e *slowEngine) close() {
	if e.gone.Swap(true) || e.busy.Load() {
		e.of.misused.Add(1)
	}
	e.of.open_.Add(-1)
}

var errBroken = errors.New("broken")

func (e *slowEngine) read(ctx context.Context, lines []*image.Gray) ([][]word, error) {
	if e.busy.Swap(true) || e.gone.Load() {
		e.of.misused.Add(1)
	}
	defer e.busy.Store(false)
	if e.of.fails.Load() {
		return nil, errBroken
	}
	select {
	case <-time.After(time.Duration(e.of.takes.Load())):
		return make([][]word, len(lines)), nil
	case <-ctx.Done():
		time.Sleep(e.stops) // virtual time, see synctest
		return nil, ctx.Err()
	}
}

func TestPoolLendsEachEngineOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &slowOpener{}
		o.takes.Store(int64(10 * time.Millisecond))
		p := newPool(o, 3)
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(5+i*10)*time.Millisecond)
				defer cancel()
				_, err := p.read(ctx, []string{"eng", "eng+kor"}[i%2], []*image.Gray{nil})
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("read: %v", err)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if o.misused.Load() != 0 || o.most.Load() > 3 {
			t.Errorf("%d misuses, %d engines at a time", o.misused.Load(), o.most.Load())
		}
		p.close()
		if n := o.open_.Load(); n != 0 {
			t.Errorf("%d engines are left after close", n)
		}
		if _, err := p.read(t.Context(), "eng", nil); !errors.Is(err, errClosed) {
			t.Errorf("read after close: %v", err)
		}
	})
}

func TestPoolDoesNotWaitForAnEngineThatStopsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &slowOpener{stops: time.Minute}
		o.takes.Store(int64(time.Hour))
		p := newPool(o, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := p.read(ctx, "eng", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %v", took)
		}
		// Until it has stopped, nobody else gets it.
		o.takes.Store(int64(time.Millisecond))
		if _, err := p.read(t.Context(), "eng", nil); err != nil {
			t.Errorf("read after: %v", err)
		}
		if took := time.Since(begun); took < time.Minute {
			t.Errorf("the engine was lent while it was in use, after %v", took)
		}
		if o.misused.Load() != 0 {
			t.Error("the engine was misused")
		}
		p.close()
	})
}

func TestPoolDropsBrokenEngines(t *testing.T) {
	t.Parallel()
	o := &slowOpener{}
	p := newPool(o, 2)
	o.fails.Store(true)
	if _, err := p.read(t.Context(), "eng", nil); !errors.Is(err, errBroken) {
		t.Errorf("read: %v", err)
	}
	if n := o.open_.Load(); n != 0 {
		t.Errorf("%d broken engines were kept", n)
	}
	o.fails.Store(false)
	if _, err := p.read(t.Context(), "eng", nil); err != nil {
		t.Errorf("read after: %v", err)
	}
}

func TestRecent(t *testing.T) {
	t.Parallel()
	r := newRecent[int, string](2)
	r.put(1, "a")
	r.put(2, "b")
	r.get(1)
	r.put(3, "c")
	if _, ok := r.get(2); ok {
		t.Error("the one used longest ago was kept")
	}
	for k, want := range map[int]string{1: "a", 3: "c"} {
		if v, ok := r.get(k); !ok || v != want {
			t.Errorf("get(%d) = %q, %v", k, v, ok)
		}
	}
	r.put(3, "d")
	if v, _ := r.get(3); v != "d" {
		t.Errorf("get(3) = %q after it was replaced", v)
	}
}
