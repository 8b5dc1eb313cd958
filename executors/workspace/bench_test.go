//go:build linux

package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkSnapshot measures what a later backup of 10,000 files costs; bench/workspace measures it beside others.
func BenchmarkSnapshot(b *testing.B) {
	w, root := opened(b, `true`)
	var names []string
	for i := range 10_000 {
		name := filepath.Join(root, fmt.Sprintf("d%02d/e%02d/f%05d", i/400, i/20%20, i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
			b.Fatal(err)
		}
		names = append(names, name)
	}
	ctx := context.Background()
	first := snap(b, w)
	for changed := range 2 {
		b.Run(fmt.Sprintf("changed=%d", 100*changed), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				for k := range 100 * changed {
					if err := os.WriteFile(names[k*97], fmt.Appendln(nil, i, k), 0o644); err != nil {
						b.Fatal(err)
					}
				}
				s := snap(b, w)
				if err := w.Discard(ctx, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	if err := w.Discard(ctx, first); err != nil {
		b.Fatal(err)
	}
}
