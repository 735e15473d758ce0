package mixture

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/internal/rng"
	"credence/internal/special"
)

func mustDirichlet(t testing.TB, w []float64, alpha [][]float64) *Dirichlet {
	t.Helper()
	m, err := NewDirichlet(w, alpha)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Marginals, moments and the top class against 20,000 draws of 30 mixtures.
// Each comparison allows 5.5 standard errors (about 4e-8 two-sided) and eight
// draws, for events too rare to be normal; there are about 600 of them: a false
// alarm in 4e4 changes of the seed. It would notice a mean off by 4% of the
// distribution's standard deviation.
func TestAgreesWithSampling(t *testing.T) {
	const draws = 20000
	for i := range uint64(30) {
		r := rand.New(rng.New(3, "sampling", i))
		m := randomDirichlet(r)
		d := m.Classes()
		mean, cov, top := m.Mean(nil), m.Covariance(nil), m.TopClass(nil)
		marginals, low := make([]*Beta, d), make([]float64, d)
		for c := range marginals {
			marginals[c] = m.Marginal(c)
			low[c] = marginals[c].Quantile(0.3)
		}
		sums, squares, wins := make([]float64, d), make([]float64, d*d), make([]float64, d)
		below := make([]float64, d)
		var p []float64
		for range draws {
			p = m.Sample(p[:0], r)
			best := 0
			for a := range d {
				if p[a] > p[best] {
					best = a
				}
				sums[a] += p[a]
				for b := range d {
					squares[a*d+b] += (p[a] - mean[a]) * (p[b] - mean[b])
				}
				if p[a] <= low[a] {
					below[a]++
				}
			}
			wins[best]++
		}
		check := func(what string, got, want, variance float64) {
			t.Helper()
			if math.Abs(got-want) > 5.5*math.Sqrt(variance/draws)+8./draws {
				t.Errorf("mixture %d: %s is %v, sampled %v", i, what, want, got)
			}
		}
		for a := range d {
			check(fmt.Sprintf("mean %d", a), sums[a]/draws, mean[a], cov[a*d+a])
			check(fmt.Sprintf("mass of class %d below its 30%% quantile", a), below[a]/draws, 0.3, 0.21)
			check(fmt.Sprintf("P(%d is top)", a), wins[a]/draws, top[a], top[a]*(1-top[a]))
			row := 0.0
			for b := range d {
				// |p−μ| ≤ 1, so Var((p_a−μ_a)(p_b−μ_b)) ≤ the smaller variance.
				check(fmt.Sprintf("covariance %d %d", a, b), squares[a*d+b]/draws, cov[a*d+b], min(cov[a*d+a], cov[b*d+b]))
				row += cov[a*d+b]
			}
			if math.Abs(row) > 1e-15 {
				t.Errorf("mixture %d: row %d of the covariance sums to %v, want 0", i, a, row)
			}
			if v := marginals[a].Variance(); !near(v, cov[a*d+a], 1e-13) {
				t.Errorf("mixture %d: variance %v, on the diagonal %v", i, v, cov[a*d+a])
			}
		}
	}
}

func TestEntropy(t *testing.T) {
	// A uniform distribution of two classes: ln 2, ½, and the difference.
	e := mustDirichlet(t, []float64{1}, [][]float64{{1, 1}}).Entropy()
	if !near(e.Predictive, math.Ln2, 1e-15) || !near(e.Expected, 0.5, 1e-14) || !near(e.Information, math.Ln2-0.5, 1e-14) {
		t.Errorf("uniform: %+v", e)
	}
	// Large parameters: the information is (d−1)/(2α₀) to first order, and would
	// drown in rounding as a difference of entropies.
	e = mustDirichlet(t, []float64{1}, [][]float64{{1e7, 2e7, 1e7}}).Entropy()
	if !near(e.Information, 1/4e7, 1e-6) {
		t.Errorf("large parameters: information %v, want about %v", e.Information, 1/4e7)
	}
	// Two sure components that contradict each other: one bit.
	e = mustDirichlet(t, []float64{0.5, 0.5}, [][]float64{{1e-9, 1}, {1, 1e-9}}).Entropy()
	if !near(e.Information, math.Ln2, 1e-6) || !(e.Expected < 1e-6) {
		t.Errorf("contradiction: %+v", e)
	}
	for i := range uint64(2000) {
		e := randomDirichlet(rand.New(rng.New(4, "entropy", i))).Entropy()
		if !(math.Abs(e.Predictive-e.Expected-e.Information) < 1e-13) || !(e.Information >= 0) {
			t.Fatalf("mixture %d: %+v does not add up", i, e)
		}
	}
}

func TestPredictiveSumsToOne(t *testing.T) {
	for i := range uint64(200) {
		m := randomDirichlet(rand.New(rng.New(5, "predictive", i)))
		const n = 4
		total := 0.0
		counts := make([]float64, m.Classes())
		var each func(class int, left float64)
		each = func(class int, left float64) {
			if class == len(counts)-1 {
				counts[class] = left
				l, err := m.LogCounts(counts)
				if err != nil {
					t.Fatal(err)
				}
				total += math.Exp(l)
				return
			}
			for c := range int(left) + 1 {
				counts[class] = float64(c)
				each(class+1, left-float64(c))
			}
		}
		each(0, n)
		if !near(total, 1, 1e-12) {
			t.Fatalf("mixture %d: probabilities of %d votes sum to %v", i, n, total)
		}
		b := m.Marginal(0)
		pmf := b.VoteCounts(nil, 50)
		mean := 0.0
		for s, p := range pmf {
			mean += float64(s) * p
		}
		if !near(special.Sum(pmf), 1, 1e-12) || !near(mean, 50*b.Mean(), 1e-12) {
			t.Fatalf("mixture %d: vote counts sum to %v with mean %v, want 1 and %v", i, special.Sum(pmf), mean, 50*b.Mean())
		}
		l, err := b.Dirichlet().LogCounts([]float64{20, 30})
		if err != nil {
			t.Fatal(err)
		}
		if !near(math.Exp(l), pmf[20], 1e-11) {
			t.Fatalf("mixture %d: P(20 of 50) = %v, by VoteCounts %v", i, math.Exp(l), pmf[20])
		}
	}
}

// The region's mass, on fresh draws; 5 standard errors of both samples.
func TestRegionMass(t *testing.T) {
	m := mustDirichlet(t, []float64{0.3, 0.7}, [][]float64{{4, 1, 2}, {0.5, 6, 6}})
	for _, level := range []float64{0.5, 0.95} {
		region, err := m.Region(level, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rng.New(6, "region"))
		in := 0.0
		const draws = 40000
		for range draws {
			ok, err := region.Contains(m.Sample(nil, r))
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				in++
			}
		}
		if d := math.Abs(in/draws - level); d > 5*math.Sqrt2*region.StandardError {
			t.Errorf("region of level %v holds %v", level, in/draws)
		}
		again, err := m.Region(level, 0, 1)
		if err != nil || again.Threshold != region.Threshold {
			t.Errorf("the same seed gave another region")
		}
	}
}

func TestBoundaryDensity(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		alpha, p []float64
		want     float64
	}{
		{[]float64{1, 1, 1}, []float64{0, 0, 1}, math.Log(2)},
		{[]float64{1, 1, 1}, []float64{0.2, 0.3, 0.5}, math.Log(2)},
		{[]float64{1, 2, 3}, []float64{0, 0.5, 0.5}, math.Log(60 * 0.5 * 0.25)},
		{[]float64{2, 2, 3}, []float64{0, 0.5, 0.5}, -inf},
		{[]float64{0.5, 2, 3}, []float64{0, 0.5, 0.5}, inf},
		{[]float64{0.5, 2, 3}, []float64{0, 0, 1}, -inf},
		{[]float64{0.5, 1, 1}, []float64{0, 0, 1}, inf},
	} {
		got, err := mustDirichlet(t, []float64{1}, [][]float64{c.alpha}).LogPDF(c.p)
		if err != nil || got != c.want && !(math.Abs(got-c.want) < 1e-14) {
			t.Errorf("Dirichlet(%v) at %v: %v, %v, want %v", c.alpha, c.p, got, err, c.want)
		}
	}
	poles, err := NewBeta([]float64{0.3, 0.4, 0.3}, []float64{0.5, 0.3, 2}, []float64{0.5, 0.2, 2})
	if err != nil {
		t.Fatal(err)
	}
	if poles.PDF(0) != inf || poles.PDF(1) != inf {
		t.Errorf("two poles at an end: %v, %v", poles.PDF(0), poles.PDF(1))
	}
	b, err := NewBeta([]float64{1}, []float64{1}, []float64{3})
	if err != nil {
		t.Fatal(err)
	}
	if !near(b.PDF(0), 3, 1e-15) || b.PDF(1) != 0 || b.PDF(-0.1) != 0 || b.PDF(1.1) != 0 || !math.IsNaN(b.PDF(math.NaN())) {
		t.Errorf("Beta(1, 3) at its ends and beyond: %v %v %v %v", b.PDF(0), b.PDF(1), b.PDF(-0.1), b.PDF(1.1))
	}
	if b.CDF(-1) != 0 || b.CDF(2) != 1 || b.Survival(-1) != 1 || b.Survival(2) != 0 || !math.IsNaN(b.CDF(math.NaN())) {
		t.Error("CDF beyond the ends")
	}
	for _, q := range []float64{-0.1, 1.1, math.NaN()} {
		if x := b.Quantile(q); !math.IsNaN(x) {
			t.Errorf("quantile(%v) = %v, want NaN", q, x)
		}
		if z := b.QuantileLogit(q); !math.IsNaN(z) {
			t.Errorf("logit of quantile(%v) = %v, want NaN", q, z)
		}
	}
	if b.Quantile(0) != 0 || b.Quantile(1) != 1 || !math.IsInf(b.QuantileLogit(0), -1) || !math.IsInf(b.QuantileLogit(1), 1) {
		t.Error("quantiles of 0 and 1 are not the ends")
	}
}

func TestInvalid(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	ok := [][]float64{{1, 2}, {3, 4}}
	for _, c := range []struct {
		w     []float64
		alpha [][]float64
		want  string
	}{
		{nil, nil, "expected at least one weight"},
		{[]float64{0.5, 0.4}, ok, "found 0.9"},
		{[]float64{0.5, 0.5 + 2e-9}, ok, "found 1.000000002"},
		{[]float64{1.5, -0.5}, ok, "weight 1: expected a finite number of at least 0, found -0.5"},
		{[]float64{nan, 1}, ok, "weight 0: expected a finite number of at least 0, found NaN"},
		{[]float64{inf, 1}, ok, "weight 0: expected a finite number of at least 0, found +Inf"},
		{[]float64{1}, ok, "expected as many rows of alpha as weights (1), found 2"},
		{[]float64{1}, [][]float64{{1}}, "expected at least 2 classes, found 1"},
		{[]float64{0.5, 0.5}, [][]float64{{1, 2}, {1, 2, 3}}, "alpha of component 1: expected 2 classes, as in component 0, found 3"},
		{[]float64{0.5, 0.5}, [][]float64{{1, 2}, {0, 2}}, "alpha of component 1, class 0: expected a number from 1e-100 to 1e+15, found 0"},
		{[]float64{0.5, 0.5}, [][]float64{{1, -2}, {1, 2}}, "alpha of component 0, class 1: expected a number from 1e-100 to 1e+15, found -2"},
		{[]float64{0.5, 0.5}, [][]float64{{1, 2}, {1, nan}}, "alpha of component 1, class 1: expected a number from 1e-100 to 1e+15, found NaN"},
		{[]float64{0.5, 0.5}, [][]float64{{1, 2}, {inf, 2}}, "alpha of component 1, class 0: expected a number from 1e-100 to 1e+15, found +Inf"},
	} {
		_, err := NewDirichlet(c.w, c.alpha)
		if err == nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewDirichlet(%v, %v): error %q, want one with %q", c.w, c.alpha, err, c.want)
		}
	}
	list, errs := MakeDirichlets(3, 2, 2, func(j int, w, a []float64) {
		copy(w, [][]float64{{0.25, 0.75}, {0.5, 0.4}, {1, 0}}[j])
		copy(a, []float64{1, 2, 3, 4})
	})
	if errs[0] != nil || !errors.Is(errs[1], ErrInvalid) || errs[2] != nil || list[0].K() != 2 || list[2].K() != 1 {
		t.Errorf("errors %v, %d and %d components", errs, list[0].K(), list[2].K())
	}
	for _, c := range []struct {
		w, a, b []float64
		want    string
	}{
		{[]float64{1}, []float64{1, 2}, []float64{1}, "expected as many values of a and b as weights (1), found 2 and 1"},
		{[]float64{1}, []float64{nan}, []float64{1}, "a of component 0: expected a number from 1e-100 to 1e+15, found NaN"},
		{[]float64{1}, []float64{1}, []float64{0}, "b of component 0: expected a number from 1e-100 to 1e+15, found 0"},
	} {
		_, err := NewBeta(c.w, c.a, c.b)
		if err == nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewBeta(%v, %v, %v): error %q, want one with %q", c.w, c.a, c.b, err, c.want)
		}
	}
	// Weights within the tolerance are rescaled, and a weight of zero is dropped.
	m := mustDirichlet(t, []float64{0.5, 0.5 + 5e-10, 0}, [][]float64{{1, 2}, {3, 4}, {5, 6}})
	if m.K() != 2 || !near(special.Sum(m.weights), 1, 1e-15) {
		t.Errorf("K = %d, weights %v", m.K(), m.weights)
	}
	for _, votes := range [][]float64{{1}, {1, -1}, {1, nan}, {inf, 1}} {
		if _, err := m.Update(votes); err == nil {
			t.Errorf("Update(%v) was accepted", votes)
		}
	}
	for _, p := range [][]float64{{1}, {0.5, 0.6}, {-0.5, 1.5}, {nan, 1}} {
		if _, err := m.LogPDF(p); err == nil {
			t.Errorf("LogPDF(%v) was accepted", p)
		}
	}
	if _, err := m.LogCounts([]float64{0.5, 1}); err == nil {
		t.Error("half a vote was counted")
	}
	for _, level := range []float64{0, 1, -1, nan} {
		if _, err := m.Region(level, 0, 1); err == nil {
			t.Errorf("a region of level %v", level)
		}
		if i := m.Marginal(0).Interval(TwoSided, level); !math.IsNaN(i.Lo) || !math.IsNaN(i.Hi) {
			t.Errorf("an interval of level %v: %v", level, i)
		}
		if s := m.Marginal(0).HighestDensity(level); s != nil {
			t.Errorf("a highest-density set of level %v: %v", level, s)
		}
	}
}

// TestVarianceOfMarginals: variances are those of the marginals, to the bit.
func TestVarianceOfMarginals(t *testing.T) {
	m, err := NewDirichlet([]float64{0.5, 0.3, 0.2}, [][]float64{{1e-3, 2, 1e6}, {0.7, 0.1, 3}, {5, 5, 5}})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range m.Variance(nil) {
		if want := m.Marginal(i).Variance(); v != want {
			t.Errorf("class %d: variance %v, that of the marginal %v", i, v, want)
		}
	}
}

// TestMixComponents: a mixture of distributions has the mean of their means, and no components without weight.
func TestMixComponents(t *testing.T) {
	a := mustDirichlet(t, []float64{0.5, 0.5}, [][]float64{{1, 2, 3}, {4, 1, 1}})
	b := mustDirichlet(t, []float64{1}, [][]float64{{0.1, 7, 2}})
	m, err := Mix([]float64{0.25, 0.75}, []*Dirichlet{a, b})
	if err != nil || m.K() != 3 {
		t.Fatalf("%v, %v", m, err)
	}
	for i, got := range m.Mean(nil) {
		if want := 0.25*a.Mean(nil)[i] + 0.75*b.Mean(nil)[i]; math.Abs(got-want) > 1e-15 {
			t.Errorf("mean %d: %v, want %v", i, got, want)
		}
	}
	if m, err := Mix([]float64{0, 1}, []*Dirichlet{a, b}); err != nil || m.K() != 1 {
		t.Errorf("%v components, %v", m.K(), err)
	}
	two := mustDirichlet(t, []float64{1}, [][]float64{{1, 2}})
	if _, err := Mix([]float64{0.5, 0.5}, []*Dirichlet{a, two}); err == nil {
		t.Error("distributions of different numbers of classes were mixed")
	}
	if _, err := Mix([]float64{0.5, 0.6}, []*Dirichlet{a, b}); err == nil {
		t.Error("weights that do not sum to one were accepted")
	}
}
