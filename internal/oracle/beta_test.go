package oracle

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"credence/internal/testsize"
)

// logUniform returns a number between 10^lo and 10^hi.
func logUniform(r *rand.Rand, lo, hi float64) float64 {
	return math.Pow(10, lo+(hi-lo)*r.Float64())
}

// logVariate returns the logarithm of what a Gamma(a) variable may well be, z
// standard deviations, so to speak, from its mean.
func logVariate(a, z float64) float64 {
	switch {
	case a >= 1:
		return math.Log(a) + z/math.Sqrt(a)
	case z >= 0:
		return math.Log(a) + z
	default:
		return math.Log(a) + z/a // as the density is about a x^(a−1)
	}
}

// near returns x = 1 − y where a Beta(a, b) variable may well be, or for |u|, |v| ≫ 1
// be in a tail: the ratio G_a/(G_a + G_b) of Gamma variables.
func near(p Precision, a, b, u, v float64) (x, y *big.Float) {
	return p.logistic(p.New(logVariate(a, u) - logVariate(b, v)))
}

// The series and the continued fraction for a tail, and 1 minus the series for
// the other tail, have little in common but the prefactor.
func TestIncBetaMethodsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p := Quick
	compared := 0
	for range 60 {
		a, b := logUniform(r, -3, 5), logUniform(r, -3, 5)
		x, y := near(p, a, b, 4*r.NormFloat64(), 4*r.NormFloat64())
		wantLower, wantUpper := p.IncBetaXY(a, b, x, y)
		d := betaAt{newBeta(exactly(a), exactly(b)), x, y}
		lost := max(0, -exponent(wantLower), -exponent(wantUpper))
		if lost > 400 {
			continue
		}
		bits := p + guard + Precision(lost)
		w := bits + 3*guard
		for i, c := range d.candidates(w) {
			if _, cost := c.cost(float64(bits), 2000); cost > 2000 {
				continue
			}
			tail := w.quo(w.mul(d.prefactor(w), c.value(w, bits)), c.divisor)
			lower, upper := p.round(tail), p.sub(one, tail)
			if c.upper {
				lower, upper = upper, lower
			}
			same(t, p, lower, wantLower, "method %d: I_x(%v, %v) for x = %.20x", i, a, b, x)
			same(t, p, upper, wantUpper, "method %d: 1 − I_x(%v, %v) for x = %.20x", i, a, b, x)
			compared++
		}
	}
	if compared < 60 {
		t.Errorf("only %d comparisons", compared)
	}
}

// Higher precision takes more terms, another shift of the Gamma function, and
// possibly another method.
func TestIncBetaPrecisionsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		a, b := logUniform(r, -6, 8), logUniform(r, -6, 8)
		x, y := near(Default, a, b, 4*r.NormFloat64(), 4*r.NormFloat64())
		wantLower, wantUpper := Precision(400).IncBetaXY(a, b, x, y)
		for _, p := range []Precision{64, Quick, Default} {
			lower, upper := p.IncBetaXY(a, b, x, y)
			same(t, p, lower, wantLower, "I_x(%v, %v) for x = %.20x", a, b, x)
			same(t, p, upper, wantUpper, "1 − I_x(%v, %v) for x = %.20x", a, b, x)
		}
	}
}

func TestIncBetaComplementAndSymmetry(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	p := Default
	for range 200 {
		a, b := logUniform(r, -3, 7), logUniform(r, -3, 7)
		x, y := near(p, a, b, 3*r.NormFloat64(), 3*r.NormFloat64())
		lower, upper := p.IncBetaXY(a, b, x, y)
		same(t, p, p.add(lower, upper), one, "P + Q for a, b = %v, %v, x = %.20x", a, b, x)
		upper2, lower2 := p.IncBetaXY(b, a, y, x)
		same(t, p, lower, lower2, "I_x(%v, %v) and its mirror image for x = %.20x", a, b, x)
		same(t, p, upper, upper2, "1 − I_x(%v, %v) and its mirror image for x = %.20x", a, b, x)
	}
}

// I_x(a, b) − I_x(a+1, b) = x^a y^b / (a B(a, b)), DLMF 8.17.20, with all of the
// three from different parameters.
func TestIncBetaRecurrence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	p := Default
	w := p + 2*guard
	for range 100 {
		// Whole numbers, so that a + 1 is exact.
		a, b := math.Ceil(logUniform(r, 0, 7)), logUniform(r, -3, 7)
		x, y := near(w, a, b, 2*r.NormFloat64(), 2*r.NormFloat64())
		logX, logY := w.logs(x, y)
		log := w.sub(w.add(w.mul(exactly(a), logX), w.mul(exactly(b), logY)), w.LogBeta(a, b))
		step := w.quo(w.Exp(log), exactly(a))
		lower, upper := p.IncBetaXY(a, b, x, y)
		lower1, upper1 := w.IncBetaXY(a+1, b, x, y)
		same(t, p, lower, w.add(lower1, step), "I_x(%v, %v) from that of a+1 for x = %.20x", a, b, x)
		same(t, p, p.round(upper1), p.add(upper, step), "1 − I_x(%v, %v) from that of a+1 for x = %.20x", a, b, x)
	}
}

// I_x(a, 1) = x^a and 1 − I_x(1, b) = y^b.
func TestIncBetaPowers(t *testing.T) {
	p := Default
	w := p + 2*guard
	for _, a := range []float64{1e-6, 1e-3, 0.5, 1, 3.7, 1e3, 1e7, 1e8} {
		for _, s := range []string{"1e-100000", "1e-3000", "1e-300", "1e-20", "1e-8", "1e-3", "0.3", "0.5", "0.9", "0.999"} {
			x := parse(t, w, s)
			logX, _ := w.logs(x, w.complement(x))
			logPower := (w + 40).mul(exactly(a), (w + 40).Log(x))
			if exponent(logX)+exponent(exactly(a)) > 30 {
				continue // underflow
			}
			lower, upper := p.IncBeta(a, 1, x)
			same(t, p, lower, w.Exp(logPower), "I_%s(%v, 1)", s, a)
			minus := w.Expm1(logPower)
			same(t, p, upper, minus.Neg(minus), "1 − I_%s(%v, 1)", s, a)
		}
	}
}

// For whole numbers a, b: I_x(a, b) = Σ_{j≥a} C(a+b−1, j) x^j y^(a+b−1−j), here in
// rational numbers.
func TestIncBetaBinomial(t *testing.T) {
	p := Default
	for _, c := range [][2]int64{{1, 1}, {2, 1}, {1, 5}, {3, 4}, {10, 1}, {17, 30}, {60, 7}, {5, 200}, {100, 100}} {
		for _, x := range []*big.Rat{big.NewRat(1, 1<<50), big.NewRat(1, 64), big.NewRat(5, 16), big.NewRat(1, 2), big.NewRat(15, 16), big.NewRat(1<<40-1, 1<<40)} {
			a, n := c[0], c[0]+c[1]-1
			y := new(big.Rat).Sub(big.NewRat(1, 1), x)
			lower, upper := new(big.Rat), new(big.Rat)
			for j := int64(0); j <= n; j++ {
				term := new(big.Rat).SetInt(new(big.Int).Binomial(n, j))
				term.Mul(term, ratPow(x, j))
				term.Mul(term, ratPow(y, n-j))
				if j >= a {
					lower.Add(lower, term)
				} else {
					upper.Add(upper, term)
				}
			}
			bigX := p.zero().SetRat(x)
			gotLower, gotUpper := p.IncBeta(float64(a), float64(c[1]), bigX)
			w := p + guard
			same(t, p, gotLower, w.zero().SetRat(lower), "I_%v(%d, %d)", x, a, c[1])
			same(t, p, gotUpper, w.zero().SetRat(upper), "1 − I_%v(%d, %d)", x, a, c[1])
		}
	}
}

func ratPow(x *big.Rat, n int64) *big.Rat {
	e := big.NewInt(n)
	return new(big.Rat).SetFrac(new(big.Int).Exp(x.Num(), e, nil), new(big.Int).Exp(x.Denom(), e, nil))
}

// I_x(½, ½) = (2/π) arcsin √x.
func TestIncBetaArcsine(t *testing.T) {
	for k, s := range map[float64]string{
		1:  "0.07978617534953645914487772917942842796035441891714359177650005021789202533228283011",
		5:  "0.1803430275957909209472181927970865707141541203448288932888868702873254344346357713",
		30: "0.4800926572307112615852183352750846897350894493800952085195802099494461123859740942",
	} {
		lower, _ := Default.IncBeta(0.5, 0.5, exactly(k/64))
		same(t, Default, lower, parse(t, 300, s), "I_%v(½, ½)", k/64)
	}
}

func TestIncBetaExtremes(t *testing.T) {
	p := Default
	for _, c := range []struct{ x, lower, upper float64 }{{0, 0, 1}, {1, 1, 0}} {
		lower, upper := p.IncBeta(2, 3, exactly(c.x))
		if float(lower) != c.lower || float(upper) != c.upper {
			t.Errorf("at %v: %v, %v", c.x, lower, upper)
		}
	}
	tiny := p.zero().SetMantExp(one, -1<<30)
	// The lower tail is tiny^1e7·…, and the upper one nothing like it.
	lower, upper := p.IncBeta(1e7, 1e-3, tiny)
	if lower.Sign() != 0 || upper.Cmp(one) != 0 {
		t.Errorf("underflow: %.20x, %.20x", lower, upper)
	}
	// Next to 1, for b → 0, what is above x = 1 − y is y^b to first order in b:
	// compare with a = 1, where that is exact, at an x of thousands of bits.
	y := p.zero().SetMantExp(one, -5000)
	_, upper = p.IncBeta(1, 1e-3, (p+5000).sub(one, y))
	same(t, p, upper, p.Pow(y, exactly(1e-3)), "upper tail next to 1")
	// As they are so different the exponents must not cost time, either.
	lower, _ = p.IncBetaXY(1e-6, 1, tiny, one)
	same(t, p, lower, p.Pow(tiny, exactly(1e-6)), "lower tail next to 0")
}

// The whole range that the package is meant for, at every power of ten, or at fewer.
func TestIncBetaRange(t *testing.T) {
	step := float64(testsize.Choose(7, 4, 2)) / 2
	p := Quick
	for la := -6.0; la <= 8; la += step {
		for lb := -6.0; lb <= 8; lb += step {
			a, b := math.Pow(10, la), math.Pow(10, lb)
			for _, z := range []float64{-30, -3, 0, 0.5, 10} {
				x, y := near(p, a, b, z, 0)
				lower, upper := p.IncBetaXY(a, b, x, y)
				if lower.Sign() <= 0 || upper.Sign() <= 0 {
					t.Errorf("a, b = %v, %v, x = %.20x: %.20x, %.20x", a, b, x, lower, upper)
				}
				same(t, p, p.add(lower, upper), one, "P + Q for a, b = %v, %v, x = %.20x", a, b, x)
			}
		}
	}
}

func BenchmarkIncBeta(b *testing.B) {
	for _, p := range []Precision{Quick, Default} {
		b.Run(fmt.Sprint(uint(p)), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 5))
			for b.Loop() {
				α, β := logUniform(r, -3, 7), logUniform(r, -3, 7)
				x, y := near(p, α, β, 2*r.NormFloat64(), 2*r.NormFloat64())
				p.IncBetaXY(α, β, x, y)
			}
		})
	}
}
