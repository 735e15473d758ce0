package oracle

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"credence/internal/testsize"
)

// mostEvaluations is what a quantile is allowed to take.
const mostEvaluations = 40

func TestQuantileOfPower(t *testing.T) {
	p := Default
	w := p + 2*guard
	for _, a := range []float64{1e-6, 1e-3, 0.5, 1, 3.5, 1e7} {
		left := NewMixture(p, []float64{1}, []float64{a}, []float64{1})
		right := NewMixture(p, []float64{1}, []float64{1}, []float64{a})
		for _, s := range []string{"1e-300", "1e-20", "0.001", "0.25", "0.5", "0.75", "0.999"} {
			q := parse(t, p, s)
			// F(x) = x^a: x = q^(1/a), as little as 10^−300000000.
			logX := w.quo((w + 40).Log(q), exactly(a))
			x, y := left.Quantile(q)
			same(t, p, x, w.Exp(logX), "quantile of %s for x^%v", s, a)
			same(t, p, y, w.zero().Neg(w.Expm1(logX)), "1 − quantile of %s for x^%v", s, a)
			// 1 − F(x) = (1 − x)^a is the mirror image.
			x, y = right.UpperQuantile(q)
			same(t, p, y, w.Exp(logX), "1 − upper quantile of %s for (1−x)^%v", s, a)
			same(t, p, x, w.zero().Neg(w.Expm1(logX)), "upper quantile of %s for (1−x)^%v", s, a)
		}
	}
}

func TestQuantileEnds(t *testing.T) {
	m := NewMixture(Quick, []float64{1}, []float64{2}, []float64{1e-6})
	for _, c := range []struct {
		q    *big.Float
		x, y float64
	}{
		{new(big.Float), 0, 1},
		{one, 1, 0},
		// 1 − x is about q^1e6, here far below the exponent range.
		{Precision(2000).sub(one, big.NewFloat(0x1p-1000)), 1, 0},
	} {
		x, y := m.Quantile(c.q)
		if float(x) != c.x || float(y) != c.y {
			t.Errorf("quantile of %.20x is %.20x, 1 − it %.20x", c.q, x, y)
		}
	}
}

// Between two modes so far apart that F is 0.4 but for 1e-16000, its quantile 0.4
// is where there is as much of either component on the other side.
func TestQuantileOnPlateau(t *testing.T) {
	p := Default
	a, b := []float64{1e4, 9e4}, []float64{9e4, 1e4}
	m := NewMixture(p, []float64{0.4, 0.6}, a, b)
	edge := exactly(0.4)
	for name, q := range map[string]*big.Float{
		"on":         edge,
		"just below": p.sub(edge, p.zero().SetMantExp(one, -240)),
		"just above": p.add(edge, p.zero().SetMantExp(one, -240)),
	} {
		x, y, n := m.quantile(q, p.complement(q))
		if n > mostEvaluations {
			t.Errorf("%s the plateau: %d evaluations", name, n)
		}
		same(t, p, p.add(x, y), one, "%s the plateau: x + y", name)
		d := p.zero().SetMantExp(x, -250)
		if excess(m, p.sub(x, d), q) >= 0 || excess(m, p.add(x, d), q) <= 0 {
			t.Errorf("%s the plateau: F − q does not change sign at %.20x", name, x)
		}
	}
	// With equal weights the middle is known.
	m = NewMixture(p, []float64{1, 1}, a, b)
	x, y := m.Quantile(big.NewFloat(0.5))
	same(t, p, x, big.NewFloat(0.5), "middle")
	same(t, p, y, big.NewFloat(0.5), "1 − middle")
}

// excess returns the sign of F(x) − q, computed as it is written but with so many
// bits that a plateau is none.
func excess(m *Mixture, x, q *big.Float) int {
	const w Precision = 150000
	cdf := w.zero()
	for _, c := range m.components {
		lower, upper, _ := m.p.tails(betaAt{c.beta, x, m.p.complement(x)})
		if upper.Cmp(lower) < 0 {
			lower = w.sub(one, upper)
		}
		cdf.Add(cdf, w.mul(c.weight, lower))
	}
	return cdf.Cmp(w.mul(q, m.total))
}

// Random mixtures, some with spikes far apart, some with poles at the ends, some
// with nearly no weight, at quantiles of all sizes and at plateaus.
func TestQuantileInvertsCDF(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	p := Quick
	count := testsize.Choose(15, 30, 60)
	for i := range count {
		lo, hi := -3.0, 5.0
		switch i % 3 {
		case 1:
			lo, hi = -6, 7 // hardly any overlap
		case 2:
			lo, hi = 2, 5 // spikes
		}
		var weights, a, b []float64
		for range 1 + r.IntN(5) {
			weights = append(weights, logUniform(r, -12, 0))
			a = append(a, logUniform(r, lo, hi))
			b = append(b, logUniform(r, lo, hi))
		}
		m := NewMixture(p, weights, a, b)
		q := p.New(r.Float64())
		switch r.IntN(4) {
		case 0:
			q = p.Exp(p.New(-200 * r.Float64()))
		case 1:
			q = p.complement(p.Exp(p.New(-40 * r.Float64())))
		case 2:
			if len(weights) > 1 {
				q = p.quo(exactly(weights[0]), m.total)
			}
		}
		s := p.complement(q)
		x, y, n := m.quantile(q, s)
		if n > mostEvaluations {
			t.Errorf("%d evaluations for quantile %.20x of %v, %v, %v", n, q, weights, a, b)
		}
		if x.Sign() == 0 || y.Sign() == 0 {
			continue // beyond range
		}
		// The Newton step from there, at more than twice the precision, is how far
		// it is from the exact quantile.
		w := 2*p + 2*guard
		logX, logY := w.logs(x, y)
		e := m.evaluate(w, w.sub(logX, logY), q, s)
		if bits := -exponent(e.step); bits < int(p)-4 {
			t.Errorf("%d bits of quantile %.20x of %v, %v, %v", bits, q, weights, a, b)
		}
		// And once more by what it means.
		cdf, survival := m.CDFXY(x, y)
		got, want := cdf, q
		if s.Cmp(q) < 0 {
			got, want = survival, s
		}
		steep := max(0, int(math.Log2(e.slope)))
		if bits := agreement(got, want); bits < int(p)-4-steep {
			t.Errorf("CDF at quantile %.20x of %v, %v, %v has %d bits", q, weights, a, b, bits)
		}
	}
}

func BenchmarkQuantile(b *testing.B) {
	m := NewMixture(Quick, []float64{0.3, 0.3, 0.4}, []float64{0.5, 300, 1e6}, []float64{3, 20, 1e5})
	for i := 0; b.Loop(); i++ {
		m.Quantile(big.NewFloat(float64(i%100+1) / 101))
	}
}
