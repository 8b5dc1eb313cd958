package store_test

import (
	"fmt"
	"testing"
	"time"

	"toolsvc/store"
)

func BenchmarkAppendEvents(b *testing.B) {
	for _, size := range []int{1, 5, 100} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := open(b, b.TempDir())
			n := 0
			for b.Loop() {
				batch := make([]store.Event, size)
				for i := range batch {
					n++
					batch[i] = store.Event{Kind: store.KindNarration, Key: fmt.Sprint("k", n), Data: []byte(`{"step":1,"text":"Click “Play” in “Now playing”"}`), At: noon}
				}
				if _, err := s.AppendEvents(b.Context(), "r", batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(n), "ns/event")
		})
	}
}

func BenchmarkMarkDispatch(b *testing.B) {
	s := open(b, b.TempDir())
	n := 0
	for b.Loop() {
		n++
		m := mark("r", fmt.Sprint("c", n), 1)
		if err := s.MarkDispatch(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	s := open(b, b.TempDir())
	for n := range 100 {
		appendNotes(b, s, "r", fmt.Sprint("k", n))
	}
	for b.Loop() {
		if events, err := s.Events(b.Context(), "r", 0, 100); err != nil || len(events) != 100 {
			b.Fatal(len(events), err)
		}
	}
}

// BenchmarkWatch is the time from an append to its arrival at a watcher, in this process.
func BenchmarkWatch(b *testing.B) {
	s := open(b, b.TempDir())
	heard := make(chan int64)
	go func() {
		for e, err := range s.Watch(b.Context(), "r", 0) {
			if err != nil {
				return
			}
			heard <- e.ID
		}
	}()
	n := 0
	var waited time.Duration
	for b.Loop() {
		n++
		appendNotes(b, s, "r", fmt.Sprint("k", n))
		appended := time.Now()
		<-heard
		waited += time.Since(appended)
	}
	b.ReportMetric(float64(waited)/float64(n), "ns/arrival")
}

func BenchmarkPutArtifact(b *testing.B) {
	s := open(b, b.TempDir())
	data := make([]byte, 200<<10)
	n := 0
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		n++
		copy(data, fmt.Sprint(n))
		if _, err := s.PutArtifact(b.Context(), "image/png", data); err != nil {
			b.Fatal(err)
		}
	}
}
