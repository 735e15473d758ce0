package oracle

import (
	"math/big"
	"testing"
)

// The derivative of the CDF is the density.
func TestLogPDFIsDerivativeOfCDF(t *testing.T) {
	p := Precision(600)
	m := NewMixture(p, []float64{0.3, 0.6999, 1e-4}, []float64{0.01, 300.5, 7}, []float64{2, 40.25, 1e-3})
	for _, s := range []float64{1e-300, 1e-3, 0.3, 0.87, 0.999} {
		// A central difference has a relative error of the order of h².
		const h = 150
		x := exactly(s)
		dx := p.zero().SetMantExp(x, -h)
		if s > 0.5 {
			dx.SetMantExp(one, -h-10)
		}
		low, _ := m.CDF(p.sub(x, dx))
		high, _ := m.CDF(p.add(x, dx))
		slope := p.quo(p.sub(high, low), dx.SetMantExp(dx, 1))
		if n := agreement(m.LogPDF(x), p.Log(slope)); n < 2*h-40 {
			t.Errorf("at %v: %d bits agree", s, n)
		}
	}
}

func TestMixtureIsWeightedSum(t *testing.T) {
	p := Default
	w := p + guard
	weights, a, b := []float64{0.5, 0, 3, 1e-9}, []float64{0.2, 1, 1e6, 3}, []float64{5, 1, 1e5, 1e-6}
	m := NewMixture(p, weights, a, b)
	total := w.add(exactly(3.5), exactly(1e-9))
	for _, s := range []float64{1e-200, 0.01, 0.9, 0.909, 0.95} {
		x := exactly(s)
		cdf, survival := w.zero(), w.zero()
		for k := range weights {
			lower, upper := w.IncBeta(a[k], b[k], x)
			cdf.Add(cdf, lower.Mul(lower, exactly(weights[k])))
			survival.Add(survival, upper.Mul(upper, exactly(weights[k])))
		}
		gotCDF, gotSurvival := m.CDF(x)
		same(t, p, gotCDF, w.quo(cdf, total), "CDF(%v)", s)
		same(t, p, gotSurvival, w.quo(survival, total), "survival at %v", s)
	}
	if cdf, survival := m.CDF(new(big.Float)); cdf.Sign() != 0 || survival.Cmp(one) != 0 {
		t.Errorf("at 0: %v, %v", cdf, survival)
	}
	if cdf, survival := m.CDF(one); cdf.Cmp(one) != 0 || survival.Sign() != 0 {
		t.Errorf("at 1: %v, %v", cdf, survival)
	}
}

// The density of Beta(a, 1) is a x^(a−1): next to where it is 1 its logarithm must
// not lose digits, nor at a point whose density underflows.
func TestLogPDFOfPower(t *testing.T) {
	p := Default
	w := p + 2*guard
	for _, a := range []float64{1e-3, 0.5, 2, 1e7} {
		m := NewMixture(p, []float64{0.25}, []float64{a}, []float64{1})
		unit := w.Pow(exactly(a), w.quo(one, w.sub(one, exactly(a)))) // where the density is 1
		for _, x := range []*big.Float{parse(t, p, "1e-100000"), exactly(0.75), Quick.round(unit)} {
			if x.Cmp(one) >= 0 {
				continue
			}
			v := 2 * w // as ln a and (a−1) ln x cancel
			want := v.add(v.Log(exactly(a)), v.mul(v.sub(exactly(a), one), v.Log(x)))
			same(t, p, m.LogPDF(x), want, "ln f(%.20x) for a = %v", x, a)
		}
	}
	uniform := NewMixture(p, []float64{1}, []float64{1}, []float64{1})
	if v := uniform.LogPDF(exactly(0.3)); v.Sign() != 0 {
		t.Errorf("uniform: ln f = %v", v)
	}
}

func TestDirichletOfTwoIsBeta(t *testing.T) {
	p := Default
	weights := []float64{0.2, 0.8}
	alpha := [][]float64{{0.3, 1e5}, {20, 3.5}}
	d := NewDirichletMixture(p, weights, alpha)
	m := NewMixture(p, weights, []float64{0.3, 20}, []float64{1e5, 3.5})
	mirror := NewMixture(p, weights, []float64{1e5, 3.5}, []float64{0.3, 20})
	for _, s := range []float64{1e-9, 0.25, 0.9375} {
		x := exactly(s)
		y := p.complement(x)
		same(t, p, d.LogPDF([]*big.Float{x, y}), m.LogPDF(x), "ln f(%v)", s)
		cdf, _ := d.Marginal(0).CDF(x)
		want, _ := m.CDF(x)
		same(t, p, cdf, want, "CDF(%v) of the first", s)
		cdf, _ = d.Marginal(1).CDF(x)
		want, _ = mirror.CDF(x)
		same(t, p, cdf, want, "CDF(%v) of the second", s)
	}
}

// The sum of the other parameters is not rounded to float64.
func TestMarginalParameterIsExact(t *testing.T) {
	d := NewDirichletMixture(Default, []float64{1}, [][]float64{{2, 1e7, 0x1p-60}})
	b := d.Marginal(0).components[0].b
	if diff := Default.sub(b, exactly(1e7)); diff.Cmp(exactly(0x1p-60)) != 0 {
		t.Errorf("b − 1e7 = %v", diff)
	}
}

func TestDomainErrorsPanic(t *testing.T) {
	m := NewMixture(Quick, []float64{1}, []float64{2}, []float64{3})
	minus := big.NewFloat(-0.5)
	for name, f := range map[string]func(){
		"Log(-0.5)":           func() { Quick.Log(minus) },
		"LogGamma(0)":         func() { Quick.LogGamma(new(big.Float)) },
		"LogBeta(0, 1)":       func() { Quick.LogBeta(0, 1) },
		"IncBeta(0, 1, 0.5)":  func() { Quick.IncBeta(0, 1, big.NewFloat(0.5)) },
		"IncBeta(1, 1, -0.5)": func() { Quick.IncBeta(1, 1, minus) },
		"IncBeta(1, 1, 1.5)":  func() { Quick.IncBeta(1, 1, big.NewFloat(1.5)) },
		"IncGamma(1, -0.5)":   func() { Quick.IncGamma(1, minus) },
		"no components":       func() { NewMixture(Quick, nil, nil, nil) },
		"negative weight":     func() { NewMixture(Quick, []float64{-1}, []float64{2}, []float64{3}) },
		"negative parameter":  func() { NewMixture(Quick, []float64{1}, []float64{2}, []float64{-3}) },
		"lengths":             func() { NewMixture(Quick, []float64{1}, []float64{2, 3}, []float64{3}) },
		"CDF(-0.5)":           func() { m.CDF(minus) },
		"LogPDF(0)":           func() { m.LogPDF(new(big.Float)) },
		"Quantile(1.5)":       func() { m.Quantile(big.NewFloat(1.5)) },
		"ragged Dirichlet":    func() { NewDirichletMixture(Quick, []float64{1, 1}, [][]float64{{1, 2}, {1, 2, 3}}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
