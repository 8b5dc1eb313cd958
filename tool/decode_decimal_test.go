package tool

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// decimalTexts are JSON numbers, many of them written in several ways.
var decimalTexts = []string{
	"0", "-0", "0.0", "0e5", "1", "-1", "1.0", "10e-1", "0.1e1", "100", "1e2", "1E+2", "0.01e4", "1.5", "15e-1", "-1.5", "0.1", "0.10", "1e-1", "0.1000000000000000055",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "922337203685477580.7e1", "18446744073709551615", "18446744073709551616",
	"1.8446744073709551615e19", "99999999999999999999", "123456789012345678901234567890", "1e20", "1e300", "1e-300", "12e-1", "120", "12", "1200e-2", "0.000001", "1e-6",
}

func rat(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatal(s)
	}
	return r
}

func TestDecimalIsExact(t *testing.T) {
	t.Parallel()
	texts := decimalTexts
	g := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		s := strconv.Itoa(g.IntN(2000)-1000) + "." + strconv.Itoa(g.IntN(100)) + "e" + strconv.Itoa(g.IntN(30)-15)
		texts = append(texts, s)
	}
	for _, a := range texts {
		x, r := parseDecimal([]byte(a)), rat(t, a)
		if x.integer() != r.IsInt() {
			t.Errorf("%s: integer %v", a, x.integer())
		}
		n, fits := x.int64()
		if want := r.IsInt() && r.Num().IsInt64(); fits != want || fits && n != r.Num().Int64() {
			t.Errorf("%s: int64 %d %v", a, n, fits)
		}
		u, fits := x.uint64()
		if want := r.IsInt() && r.Num().IsUint64(); fits != want || fits && u != r.Num().Uint64() {
			t.Errorf("%s: uint64 %d %v", a, u, fits)
		}
		for _, b := range texts {
			if got, want := x.compare(parseDecimal([]byte(b))), r.Cmp(rat(t, b)); got != want {
				t.Errorf("%s compared with %s: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestDecimalOfAnySizeIsCheap(t *testing.T) {
	t.Parallel()
	start := time.Now()
	huge := parseDecimal([]byte("1e999999999999999999999999"))
	tiny := parseDecimal([]byte("-1e-999999999999999999999999"))
	long := parseDecimal([]byte("1" + strings.Repeat("0", 1<<20) + "e-1000000000"))
	if huge.compare(tiny) != 1 || tiny.compare(long) != -1 || !huge.integer() || tiny.integer() || long.integer() {
		t.Error("sizes are confused")
	}
	if _, ok := huge.int64(); ok {
		t.Error("a huge number fits")
	}
	if took := time.Since(start); took > 2*time.Second { // big.Rat would take minutes
		t.Errorf("it took %s", took)
	}
}
