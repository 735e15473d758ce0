package oracle

import (
	"math"
	"math/big"
	"testing"
)

// parse returns the number of a decimal string to p bits.
func parse(t *testing.T, p Precision, s string) *big.Float {
	t.Helper()
	x, _, err := big.ParseFloat(s, 10, uint(p), big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// agreement returns the number of leading bits that x and y have in common: −log₂
// of their relative difference, or a very large number if they are equal.
func agreement(x, y *big.Float) int {
	if x.Cmp(y) == 0 {
		return math.MaxInt
	}
	w := Precision(max(x.Prec(), y.Prec()) + guard)
	return max(exponent(x), exponent(y)) - exponent(w.sub(x, y))
}

// same reports an error unless got has p bits, and those but for the last few agree
// with want.
func same(t *testing.T, p Precision, got, want *big.Float, format string, args ...any) {
	t.Helper()
	const lastFew = 3
	if got.Prec() != uint(p) {
		t.Errorf(format+": %d bits, want %d", append(args, got.Prec(), p)...)
	}
	if n := agreement(got, want); n < int(p)-lastFew {
		// In binary, as conversion to decimal is very slow for huge exponents.
		t.Errorf(format+": only %d bits of %d are right: %.20x, want %.20x", append(args, n, p, got, want)...)
	}
}

func TestComplementIsExactNextToOne(t *testing.T) {
	tiny := Default.zero().SetMantExp(one, -3000)
	x := Precision(4000).sub(one, tiny)
	if y := Quick.complement(x); y.Cmp(tiny) != 0 {
		t.Errorf("1 − (1 − 2^−3000) = %.20x", y)
	}
	if y := Quick.complement(tiny); y.Cmp(one) != 0 {
		t.Errorf("1 − 2^−3000 = %.20x, want 1 in %d bits", y, Quick)
	}
}

func TestSumOfDistantNumbers(t *testing.T) {
	tiny := Default.zero().SetMantExp(Default.New(-3), -1<<30)
	for _, z := range []*big.Float{Default.add(one, tiny), Default.add(tiny, one), Default.sub(one, tiny)} {
		if z.Cmp(one) != 0 {
			t.Errorf("1 ± 2^−2^30 = %.20x", z)
		}
	}
	if z := Default.sub(new(big.Float), tiny); z.Cmp(tiny.Neg(tiny)) != 0 {
		t.Errorf("0 − tiny = %.20x", z)
	}
}
