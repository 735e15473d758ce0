package oracle

import (
	"math/big"
	"testing"
)

// Decimals in the tests of this package come from mpmath.

func TestConstants(t *testing.T) {
	same(t, 280, Precision(280).Pi(),
		parse(t, 290, "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803483"), "π")
	same(t, 280, Precision(280).Exp(one),
		parse(t, 290, "2.71828182845904523536028747135266249775724709369995957496696762772407663035354759457138218"), "e")
	same(t, 280, Precision(280).Log(big.NewFloat(10)),
		parse(t, 290, "2.30258509299404568401799145468436420760110148862877297603332790096757260967735248023599721"), "ln 10")
}

// arguments are numbers of all sizes, with full mantissas.
func arguments(t *testing.T, p Precision) []*big.Float {
	var list []*big.Float
	for _, s := range []string{
		"1e-100000000", "1e-3000", "1e-30", "1e-9", "0.00001", "0.0001", "0.01", "0.3", "0.7071", "0.75", "0.76", "0.99",
		"1.1", "1.4142", "1.5", "1.51", "2", "3", "10", "12345.678", "1e9",
	} {
		x := parse(t, p, s)
		list = append(list, p.quo(x, p.quo(parse(t, p, "7.00001"), p.int(7))))
	}
	return list
}

func TestLogInvertsExp(t *testing.T) {
	for _, p := range []Precision{64, Quick, Default, 1000, 5000} {
		w := p + 2*guard // to make up for the condition of the inverse function
		for _, x := range arguments(t, p) {
			for _, x := range []*big.Float{x, p.zero().Neg(x)} {
				if float(x) > -20 { // or else exp(x) gets lost beside 1
					same(t, p, p.Log1p(w.Expm1(x)), x, "%d bits: ln(1 + (exp(%.20x) − 1))", p, x)
				}
				if exponent(x) > -30 {
					same(t, p, p.Log(w.Exp(x)), x, "%d bits: ln exp(%.20x)", p, x)
				}
			}
			same(t, p, p.Exp(w.Log(x)), x, "%d bits: exp ln %.20x", p, x)
		}
	}
}

// Log and Exp being each other's inverse might both be wrong by a factor.
func TestFunctionalEquations(t *testing.T) {
	p := Default
	w := p + guard
	list := arguments(t, p)
	for _, x := range list {
		for _, y := range list {
			same(t, p, p.Log(w.mul(x, y)), w.add(w.Log(x), w.Log(y)), "ln(%.20x·%.20x)", x, y)
			if exponent(x) < 20 && exponent(y) < 20 {
				same(t, p, p.Exp(w.add(x, y)), w.mul(w.Exp(x), w.Exp(y)), "exp(%.20x + %.20x)", x, y)
			}
		}
	}
}

func TestPow(t *testing.T) {
	p := Default
	for _, x := range arguments(t, p) {
		same(t, p, p.Pow(x, big.NewFloat(0.5)), p.zero().Sqrt(x), "√%.20x", x)
		cube := p.quo(one, p.mul(x, p.mul(x, x)))
		same(t, p, p.Pow(x, big.NewFloat(-3)), cube, "%.20x^−3", x)
	}
	same(t, p, p.Pow(big.NewFloat(10), big.NewFloat(100000)), parse(t, p, "1e100000"), "10^100000")
}

func TestExpBeyondRange(t *testing.T) {
	for _, x := range []float64{2e9, 1e10, 1e300} {
		if y := Default.Exp(big.NewFloat(x)); !y.IsInf() {
			t.Errorf("exp(%v) = %.20x", x, y)
		}
		if y := Default.Exp(big.NewFloat(-x)); y.Sign() != 0 {
			t.Errorf("exp(−%v) = %.20x", x, y)
		}
	}
	if x := big.NewFloat(-1.4e9); Default.Exp(x).Sign() <= 0 {
		t.Errorf("exp(%v) underflows", x)
	}
}
