package tool

import (
	"bytes"
	"cmp"
	"math"
	"strconv"
)

// decimal is the exact value of a JSON number: digits × 10^exponent. Comparing two needs no arithmetic on large numbers, so a number
// such as 1e999999999 costs nothing.
type decimal struct {
	negative bool
	digits   []byte // without zeros at either end; empty for 0
	exponent int64
}

// maxExponent bounds exponents; beyond it only the sign of the difference matters.
const maxExponent = 1 << 40

// parseDecimal reads a valid JSON number.
func parseDecimal(text []byte) decimal {
	var x decimal
	mantissa := text
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		e, err := strconv.ParseInt(string(bytes.TrimPrefix(text[i+1:], []byte("+"))), 10, 64)
		if err != nil {
			e = maxExponent
			if text[i+1] == '-' {
				e = -maxExponent
			}
		}
		x.exponent = min(max(e, -maxExponent), maxExponent)
	}
	if len(mantissa) > 0 && mantissa[0] == '-' {
		x.negative, mantissa = true, mantissa[1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	x.exponent -= int64(len(fraction))
	x.digits = append(append(make([]byte, 0, len(whole)+len(fraction)), whole...), fraction...)
	x.digits = bytes.TrimLeft(x.digits, "0")
	n := len(x.digits)
	x.digits = bytes.TrimRight(x.digits, "0")
	x.exponent += int64(n - len(x.digits))
	if len(x.digits) == 0 {
		return decimal{}
	}
	return x
}

// floatDecimal is the shortest decimal that means f, which is finite.
func floatDecimal(f float64) decimal { return parseDecimal(strconv.AppendFloat(nil, f, 'e', -1, 64)) }

// integer reports whether x is a whole number.
func (x decimal) integer() bool { return len(x.digits) == 0 || x.exponent >= 0 }

// magnitude returns |x|, and false when x is not whole or does not fit.
func (x decimal) magnitude() (uint64, bool) {
	if !x.integer() || int64(len(x.digits))+x.exponent > 20 {
		return 0, false
	}
	text := append(bytes.Clone(x.digits), bytes.Repeat([]byte("0"), int(x.exponent))...)
	if len(text) == 0 {
		return 0, true
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	return n, err == nil
}

// int64 returns x, and false when it is not whole or does not fit.
func (x decimal) int64() (int64, bool) {
	n, ok := x.magnitude()
	switch {
	case !ok:
		return 0, false
	case x.negative && n <= 1<<63:
		return -int64(n), true // -1<<63 negates to itself
	case x.negative || n > math.MaxInt64:
		return 0, false
	}
	return int64(n), true
}

// uint64 returns x, and false when it is not whole, negative, or does not fit.
func (x decimal) uint64() (uint64, bool) {
	n, ok := x.magnitude()
	return n, ok && !x.negative
}

// compare returns -1, 0 or 1.
func (x decimal) compare(y decimal) int {
	sign := func(d decimal) int {
		switch {
		case len(d.digits) == 0:
			return 0
		case d.negative:
			return -1
		}
		return 1
	}
	if c := cmp.Compare(sign(x), sign(y)); c != 0 || sign(x) == 0 {
		return c
	}
	c := cmp.Compare(int64(len(x.digits))+x.exponent, int64(len(y.digits))+y.exponent)
	if c == 0 {
		c = bytes.Compare(x.digits, y.digits) // aligned at the first digit; the shorter one continues with zeros, and ends in none
	}
	if x.negative {
		return -c
	}
	return c
}
