package oracle

import (
	"math/big"
	"testing"
)

func TestBernoulliNumbers(t *testing.T) {
	b := bernoulliNumbers(30)
	for k, want := range map[int]string{
		1: "1/6", 2: "-1/30", 3: "1/42", 4: "-1/30", 5: "5/66", 6: "-691/2730", 10: "-174611/330",
		30: "-1215233140483755572040304994079820246041491/56786730",
	} {
		if got := b[k-1].String(); got != want {
			t.Errorf("B_%d = %s, want %s", 2*k, got, want)
		}
	}
}

func TestLogGammaValues(t *testing.T) {
	for x, s := range map[float64]string{
		1e-6:        "13.815509980749431714459741165144427475800237957861326293122095943632039591169399",
		0.3:         "1.0957979948180755605629985003091630902332670109979164903048044109790748377076797",
		1234.5:      "7550.5509010778948957298355677376501345591165147096595455616391823819813873474979",
		1e9:         "19723265827.503716770976723589191979392066447658870953114664605335724535822430615",
		1 + 0x1p-52: "-1.2816762426960008402646464577283209764171322645017373136754458051334754050932881e-16",
		2 - 0x1p-52: "-9.387698065543116760865391332868876956843247215181450894404648385839806024408749e-17",
	} {
		same(t, Default, Default.LogGamma(exactly(x)), parse(t, 300, s), "ln Γ(%v)", x)
	}
	for _, x := range []float64{1, 2} {
		if v := Default.LogGamma(exactly(x)); v.Sign() != 0 {
			t.Errorf("ln Γ(%v) = %v", x, v)
		}
	}
}

func TestLogGammaAtIntegersAndHalfIntegers(t *testing.T) {
	for _, p := range []Precision{64, Quick, Default, 2000} {
		w := p + guard
		factorial := w.int(1)
		half := w.zero().Sqrt(w.Pi()) // Γ(½)
		for n := int64(0); n < 120; n++ {
			if n > 1 {
				factorial.Mul(factorial, w.int(n)) // n!
				same(t, p, p.LogGamma(w.int(n+1)), w.Log(factorial), "%d bits: ln Γ(%d)", p, n+1)
			}
			x := exactly(float64(n) + 0.5)
			same(t, p, p.LogGamma(x), w.Log(half), "%d bits: ln Γ(%v)", p, x)
			half.Mul(half, x)
		}
	}
}

// Γ(x) Γ(x + ½) = 2^(1 − 2x) √π Γ(2x), and Γ(x + 1) = x Γ(x).
func TestLogGammaFunctionalEquations(t *testing.T) {
	p := Default
	w := p + 4*guard
	half := big.NewFloat(0.5)
	for _, f := range []float64{1e-6, 1e-3, 0.1, 0.37, 0.9, 1.7, 3.3, 20.2, 63.9, 64.1, 100.1, 1e4 / 3., 1e7 / 3., 1e9 / 3.} {
		x := exactly(f)
		twice := exactSum(x, x)
		left := w.add(w.LogGamma(x), w.LogGamma(exactSum(x, half)))
		right := w.add(w.mul(w.sub(one, twice), w.Log(big.NewFloat(2))), w.mul(half, w.Log(w.Pi())))
		right = w.add(right, w.LogGamma(twice))
		same(t, p, p.round(left), right, "duplication at %v", f)
		same(t, p, p.LogGamma(exactSum(x, one)), w.add(w.LogGamma(x), w.Log(x)), "recurrence at %v", f)
	}
}

func TestLogBeta(t *testing.T) {
	p := Default
	w := p + 4*guard
	for _, b := range []float64{1e-6, 0.3, 1, 1 + 0x1p-52, 2, 1e3, 1e8} {
		// B(1, b) = 1/b and B(2, b) = 1/(b(b+1)): near B = 1 ln B must not lose digits,
		// and for small b and large a neither.
		logB := w.Log(exactly(b))
		if b != 1 {
			same(t, p, p.LogBeta(1, b), w.zero().Neg(logB), "ln B(1, %v)", b)
		}
		logB.Add(logB, w.Log(exactSum(exactly(b), one)))
		same(t, p, p.LogBeta(2, b), logB.Neg(logB), "ln B(2, %v)", b)
		// B(a, b) = B(a+1, b) (a + b)/a
		a := 1e8 / 3.
		ratio := w.quo(exactSum(exactly(a), exactly(b)), exactly(a))
		same(t, p, p.LogBeta(a, b), w.add(w.LogBeta(a+1, b), w.Log(ratio)), "ln B(%v, %v)", a, b)
	}
	if v := p.LogBeta(1, 1); v.Sign() != 0 {
		t.Errorf("ln B(1, 1) = %v", v)
	}
}

func BenchmarkLogGamma(b *testing.B) {
	for x := big.NewFloat(0.3); b.Loop(); {
		Default.LogGamma(x)
	}
}
