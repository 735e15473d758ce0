package oracle

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Q(½, z²) = erfc z.
func TestIncGammaErrorFunction(t *testing.T) {
	for z, s := range map[float64][2]string{
		1: {"0.8427007929497148693412206350826092592960669979663029084599378978347172540960108413",
			"0.1572992070502851306587793649173907407039330020336970915400621021652827459039891587"},
		5: {"0.9999999999984625402055719651498116565146166211098819496852766200693120859440796086",
			"1.537459794428034850188343485383378890118050314723379930687914055920391364558691465e-12"},
		30: {"1", "2.564656203756111600033397277501447146548889722778617054122599586184238694779197351e-393"},
	} {
		lower, upper := Default.IncGamma(0.5, exactly(z*z))
		same(t, Default, lower, parse(t, 300, s[0]), "erf %v", z)
		same(t, Default, upper, parse(t, 300, s[1]), "erfc %v", z)
	}
}

// For whole numbers a: Q(a, x) = e^−x Σ_{j<a} x^j/j!.
func TestIncGammaPoisson(t *testing.T) {
	p := Default
	for _, a := range []float64{1, 2, 10, 77, 1000} {
		for _, x := range []float64{1e-300, 1e-10, 0.25, 1, 3, 10.5, 80, 950, 1e5} {
			w := p + 2*guard + Precision(min(a*math.Max(0, -math.Log2(x/a)), 20000))
			term := w.Exp(exactly(-x))
			upper := w.zero()
			for j := 0.0; j < a; j++ {
				upper.Add(upper, term)
				term.Mul(term, exactly(x))
				term.Quo(term, exactly(j+1))
			}
			gotLower, gotUpper := p.IncGamma(a, exactly(x))
			same(t, p, gotUpper, upper, "Q(%v, %v)", a, x)
			if w < 20000 && exponent(gotLower) > -int(w-p)+guard { // there is something left of it
				same(t, p, gotLower, w.sub(one, upper), "P(%v, %v)", a, x)
			}
		}
	}
}

func TestIncGammaPrecisionsAndRecurrence(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	p := Quick
	w := Precision(330)
	for i := range 40 {
		a := logUniform(r, -3, 6)
		if i%2 == 0 {
			a = math.Ceil(a) // for the recurrence
		}
		x := w.Exp(w.New(logVariate(a, min(4*r.NormFloat64(), 8))))
		lower, upper := p.IncGamma(a, x)
		wantLower, wantUpper := w.IncGamma(a, x)
		same(t, p, lower, wantLower, "P(%v, %.20x)", a, x)
		same(t, p, upper, wantUpper, "Q(%v, %.20x)", a, x)
		same(t, p, p.add(lower, upper), one, "P + Q for a = %v, x = %.20x", a, x)
		if i%2 == 0 {
			// P(a, x) − P(a+1, x) = x^a e^−x / Γ(a+1), DLMF 8.8.5.
			log := w.sub(w.sub(w.mul(exactly(a), w.Log(x)), x), w.LogGamma(exactly(a+1)))
			lower1, upper1 := w.IncGamma(a+1, x)
			same(t, p, lower, w.add(lower1, w.Exp(log)), "P(%v, %.20x) from that of a+1", a, x)
			same(t, p, p.round(upper1), w.add(wantUpper, w.Exp(log)), "Q(%v, %.20x) from that of a−1", a+1, x)
		}
	}
}

func TestIncGammaExtremes(t *testing.T) {
	p := Default
	if lower, upper := p.IncGamma(3, new(big.Float)); lower.Sign() != 0 || upper.Cmp(one) != 0 {
		t.Errorf("at 0: %v, %v", lower, upper)
	}
	for _, x := range []float64{1e10, 1e300, math.Inf(1)} {
		if lower, upper := p.IncGamma(3, big.NewFloat(x)); lower.Cmp(one) != 0 || upper.Sign() != 0 {
			t.Errorf("at %v: %v, %v", x, lower, upper)
		}
	}
	// P(a, x) ≈ x^a/Γ(a+1) for x → 0.
	x := parse(t, p, "1e-3000000")
	for _, a := range []float64{1e-6, 1e-3, 2.5} {
		lower, _ := p.IncGamma(a, x)
		w := p + 2*guard
		log := w.sub(w.mul(exactly(a), w.Log(x)), w.LogGamma(exactSum(exactly(a), one)))
		same(t, p, lower, w.Exp(log), "P(%v, 1e-3000000)", a)
	}
}

func BenchmarkIncGamma(b *testing.B) {
	r := rand.New(rand.NewPCG(2, 2))
	for b.Loop() {
		a := logUniform(r, -3, 7)
		Default.IncGamma(a, Default.Exp(exactly(logVariate(a, 2*r.NormFloat64()))))
	}
}
