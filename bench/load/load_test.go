//go:build linux

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	of := []time.Duration{4, 1, 3, 2}
	for p, want := range map[float64]time.Duration{0: 1, 25: 1, 50: 2, 51: 3, 95: 4, 100: 4} {
		if got := percentile(of, p); got != want {
			t.Errorf("percentile %v: %d, not %d", p, got, want)
		}
	}
	if percentile(nil, 50) != 0 {
		t.Error("a percentile of nothing")
	}
}

func TestSlope(t *testing.T) {
	t.Parallel()
	if got := slope([]float64{1, 2, 3}, []float64{5, 7, 9}); math.Abs(got-2) > 1e-9 {
		t.Errorf("slope %v", got)
	}
	if got := slope([]float64{1, 1}, []float64{5, 7}); got != 0 {
		t.Errorf("slope %v of what does not vary", got)
	}
}

func TestFlat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ys   []float64
		want bool
	}{{nil, true}, {[]float64{100, 104}, true}, {[]float64{100, 108}, true}, {[]float64{100, 130}, false}, {[]float64{1000, 1090}, true}, {[]float64{100, 150, 90}, true}} {
		if got := isFlat(c.ys, 0.1, 12); got != c.want {
			t.Errorf("%v: flat %t", c.ys, got)
		}
	}
}

// The drawing is well-formed and has a line for each series, also when one was not measured.
func TestDraw(t *testing.T) {
	t.Parallel()
	text := draw([]level{{Series: "step", Concurrency: 1, Answered: []time.Duration{time.Millisecond}, Took: time.Second},
		{Series: "step", Concurrency: 2, Answered: []time.Duration{time.Second}, Took: time.Second}})
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Count(text, "<polyline") != 2*len(series) {
		t.Error(text)
	}
}
