//go:build linux

package main

import (
	"math"
	"slices"
	"time"
)

// percentile is the value that p percent are at most (nearest rank); 0 of none.
func percentile(of []time.Duration, p float64) time.Duration {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// slope is by how much y grows for each x, by least squares; 0 where x does not vary.
func slope(xs, ys []float64) float64 {
	var mx, my float64
	for i := range xs {
		mx, my = mx+xs[i]/float64(len(xs)), my+ys[i]/float64(len(ys))
	}
	var xy, xx float64
	for i := range xs {
		xy, xx = xy+(xs[i]-mx)*(ys[i]-my), xx+(xs[i]-mx)*(xs[i]-mx)
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}
