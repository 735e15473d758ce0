// Package oracle computes Beta and Gamma distribution functions, and Beta and
// Dirichlet mixtures, in arbitrary precision, as a reference for tests.
//
// It exists so that float64 code can be checked against numbers that owe
// nothing to it: everything here is built on math/big alone, from textbook
// formulas with all terms positive wherever possible, and imports no other
// package of the module. It is meant to be imported by tests only.
//
// # Accuracy
//
// All functions are methods of [Precision], a number of mantissa bits, or of a
// type holding one. Results are rounded to that many bits and are accurate to
// a few units in the last of them, in RELATIVE terms: working precision is
// raised by guard bits for the magnitude of the intermediate results, and
// wherever a subtraction cancels more than those, the computation is repeated
// with as many bits more. In particular both tails of a distribution keep all
// their digits, also when one of them is 1e-3000. The exponent range is that of
// big.Float, about 10^±646456993; tails below that are returned as 0.
//
// Float64 arithmetic is used only to start iterations and to choose the
// cheapest of several methods, never in a result.
//
// Arguments outside a function's domain panic, as they are mistakes in a test.
//
// To print numbers with exponents beyond those of float64 use the verb %x or
// Text('p', 0): math/big takes minutes to write 2^−10⁸ in decimal.
package oracle

import (
	"fmt"
	"math"
	"math/big"
)

// Precision is a number of mantissa bits. Its methods return results rounded
// to that many bits; they do not modify their arguments, and are safe for
// concurrent use.
type Precision uint

const (
	// Quick is enough to judge float64 results with some 140 bits to spare.
	Quick Precision = 200
	// Default is the precision to use if there is no reason for another.
	Default Precision = 256
)

// guard is the number of bits added to the precision of the result for the
// accumulated rounding errors of a computation of moderate length.
const guard = 32

// New returns x as a number of precision p, for use in arithmetic with big.Float.
func (p Precision) New(x float64) *big.Float {
	return p.zero().SetFloat64(x)
}

func (p Precision) zero() *big.Float              { return new(big.Float).SetPrec(uint(p)) }
func (p Precision) int(n int64) *big.Float        { return p.zero().SetInt64(n) }
func (p Precision) round(x *big.Float) *big.Float { return p.zero().Set(x) }
func (p Precision) mul(x, y *big.Float) *big.Float {
	return p.zero().Mul(x, y)
}
func (p Precision) quo(x, y *big.Float) *big.Float {
	return p.zero().Quo(x, y)
}
func (p Precision) add(x, y *big.Float) *big.Float {
	return sum(p.zero(), x, y)
}
func (p Precision) sub(x, y *big.Float) *big.Float {
	return sum(p.zero(), x, new(big.Float).Neg(y))
}

// sum sets z to x + y, rounded to the precision of z, and returns it. Unlike
// big.Float.Add it does not shift a mantissa by the difference of the exponents,
// which can be hundreds of millions, where the result is just the larger number.
func sum(z, x, y *big.Float) *big.Float {
	ex, ey, p := exponent(x), exponent(y), int(z.Prec())
	switch {
	case ey < ex-p-2:
		return z.Set(x)
	case ex < ey-p-2:
		return z.Set(y)
	}
	return z.Add(x, y)
}

// one is only read.
var one = big.NewFloat(1)

// exponent returns e such that 2^(e-1) ≤ |x| < 2^e, and for 0 something below
// every exponent that occurs.
func exponent(x *big.Float) int {
	if x.Sign() == 0 {
		return 2 * big.MinExp
	}
	return x.MantExp(nil)
}

// float returns x rounded to float64; ±Inf or 0 beyond its range.
func float(x *big.Float) float64 {
	f, _ := x.Float64()
	return f
}

// bitsOf returns the number of bits before the binary point of |x|, at least 0:
// those that an absolute error of 2^-w in x/|x| costs in x.
func bitsOf(x float64) Precision {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		panic(fmt.Sprintf("oracle: magnitude %v", x))
	}
	_, e := math.Frexp(x)
	return Precision(max(0, e))
}

// complement returns 1 − x for 0 ≤ x ≤ 1: exactly if x ≥ ½, else rounded to at
// least p bits.
func (p Precision) complement(x *big.Float) *big.Float {
	return max(p, Precision(x.MinPrec())).sub(one, x)
}
