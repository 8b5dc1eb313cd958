package retention

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MinAge is the least age that runs can be deleted at: somebody must have had time to look at them.
const MinAge = time.Hour

// Age is a time that a person writes in days, hours or minutes: 30d, 36h, 0 for ever. It is at least [MinAge], or 0.
type Age time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Age) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	var d time.Duration
	var err error
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		if err == nil && !(n >= 0 && n <= 36500) {
			err = fmt.Errorf("%s days is not between 0 and 36500", days)
		}
		d = time.Duration(n * 24 * float64(time.Hour))
	} else if s != "0" {
		d, err = time.ParseDuration(s)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%q is no age: write 30d, 36h, or 0 for ever", s)
	case d != 0 && d < MinAge:
		return fmt.Errorf("%q is too short: at least %s, or 0 for ever", s, MinAge)
	}
	*a = Age(d)
	return nil
}

// Bytes is a size that a person writes with a unit: 20GiB, 500MB, 0 for no bound.
type Bytes int64

var units = []struct {
	name string
	size float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1}}

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n >= 0) || n*u.size >= math.MaxInt64 {
			break
		}
		*b = Bytes(n * u.size)
		return nil
	}
	return fmt.Errorf("%q is no size: write 20GiB, 500MB, or 0 for no bound", s)
}
