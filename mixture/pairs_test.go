package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
)

// eachSplit calls do with every split of n votes between the classes of m and its
// probability.
func eachSplit(t testing.TB, m *Dirichlet, n int, do func(votes []float64, p float64)) {
	t.Helper()
	votes := make([]float64, m.Classes())
	var walk func(i, left int)
	walk = func(i, left int) {
		if i == len(votes)-1 {
			votes[i] = float64(left)
			l, err := m.LogCounts(votes)
			if err != nil {
				t.Fatal(err)
			}
			do(votes, math.Exp(l))
			return
		}
		for s := range left + 1 {
			votes[i] = float64(s)
			walk(i+1, left-s)
		}
	}
	walk(0, n)
}

func TestPairVarianceAgainstEnumeration(t *testing.T) {
	for i := range uint64(mixtures() / 50) {
		r := rand.New(rng.New(22, "pairs", i))
		m := randomDirichlet(r)
		if i%4 == 0 { // a rare class
			m = mustDirichlet(t, []float64{0.3, 0.7}, [][]float64{{0.02, 3}, {0.1, 200}})
		}
		n := 2 + r.IntN(6)
		if m.Classes() == 2 && i%8 == 0 {
			n = 50
		}
		var p, first, second float64
		eachSplit(t, m, n, func(votes []float64, q float64) {
			d, err := m.PairError(votes)
			if err != nil {
				t.Fatal(err)
			}
			p += q
			first += q * d
			second += q * d * d
		})
		if !near(first, trace(m), 1e-9) {
			t.Fatalf("mixture %d, %d votes: the mean is %v, the trace %v", i, n, first, trace(m))
		}
		if got, want := m.PairVariance(float64(n)), second/p-first*first; !near(got, want, 1e-8) {
			t.Fatalf("mixture %d (%v, %v), %d votes: variance %v, by enumeration %v", i, m.weights, m.alpha, n, got, want)
		}
	}
}

// With many votes the statistic is |p − μ|² itself. For Beta(a, a) that is
// 2(p − ½)², and its variance 4 (E(p−½)⁴ − Var²), E(p−½)⁴ = 3/(16(2a+1)(2a+3)).
func TestPairVarianceManyVotes(t *testing.T) {
	for _, a := range []float64{0.1, 1, 7, 1e4} {
		m := mustDirichlet(t, []float64{1}, [][]float64{{a, a}})
		v := 1 / (4 * (2*a + 1))
		want := 4 * (3/(16*(2*a+1)*(2*a+3)) - v*v)
		if got := m.PairVariance(1e300); !near(got, want, 1e-9) {
			t.Errorf("Beta(%v, %v): variance %v, want %v", a, a, got, want)
		}
	}
}

// Of 20,000 classes neither all pairs nor all triples can be gone through. With many votes the statistic is |p − μ|²,
// for α = (a, …, a) it is Σp² − 1/d, and the moments of Σp² are products of rising factorials.
func TestPairVarianceOfManyClasses(t *testing.T) {
	const d, a = 20_000, 0.3
	alpha := make([]float64, d)
	for i := range alpha {
		alpha[i] = a
	}
	const total = d * a
	first := (a + 1) / (total + 1)
	second := (a*(a+1)*(a+2)*(a+3)*d + a*(a+1)*a*(a+1)*d*(d-1)) / (total * (total + 1) * (total + 2) * (total + 3))
	if got, want := mustDirichlet(t, []float64{1}, [][]float64{alpha}).PairVariance(1e300), second-first*first; !near(got, want, 1e-7) {
		t.Errorf("variance %v, want %v", got, want)
	}
}

func TestPairsNeedTwoVotes(t *testing.T) {
	m := mustDirichlet(t, []float64{1}, [][]float64{{2, 3}})
	if d, err := m.PairError([]float64{0, 1}); err != nil || !math.IsNaN(d) {
		t.Errorf("one vote: %v, %v, want NaN", d, err)
	}
	if _, err := m.PairError([]float64{1, 1, 1}); err == nil {
		t.Error("votes for three classes of two: no error")
	}
	for _, n := range []float64{-1, 0, 1, math.NaN(), math.Inf(1)} {
		if v := m.PairVariance(n); !math.IsNaN(v) {
			t.Errorf("variance over %v votes is %v, want NaN", n, v)
		}
	}
}

func BenchmarkPairVariance(b *testing.B) {
	for _, d := range []int{2, 10, 16, 17, 600} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			m := manyClasses(b, rand.New(rng.New(26, "bench", uint64(d))), d)
			for b.Loop() {
				m.PairVariance(3)
			}
		})
	}
}

// manyClasses returns a mixture of d classes, some of which may be nearly certain or all but impossible.
func manyClasses(t testing.TB, r *rand.Rand, d int) *Dirichlet {
	k := 1 + r.IntN(4)
	w, alpha := make([]float64, k), make([][]float64, k)
	for i := range w {
		w[i] = 1 / float64(k)
		alpha[i] = make([]float64, d)
		scale, spread := math.Exp(3*r.NormFloat64()), 3*r.Float64()
		for j := range alpha[i] {
			alpha[i][j] = scale * math.Exp(spread*r.NormFloat64())
		}
		for range r.IntN(3) { // probable classes
			j := r.IntN(d)
			alpha[i][j] = min(1e14, alpha[i][j]*math.Exp(25*r.Float64()))
		}
	}
	return mustDirichlet(t, w, alpha)
}

// Sums over classes have to agree with sums over pairs of them.
func TestPairMomentsOfManyClasses(t *testing.T) {
	for i := range uint64(300) {
		r := rand.New(rng.New(26, "many classes", i))
		m := manyClasses(t, r, 2+r.IntN(60))
		mean := m.Mean(nil)
		pairs, sums := newPairKernel(mean, true), newPairKernel(mean, false)
		for k := range m.weights {
			a := m.row(k)
			want, got := newPairMoments(a, pairs), newPairMoments(a, sums)
			if !near(got.theta, want.theta, 1e-12) || !near(got.theta2, want.theta2, 1e-12) ||
				!near(got.zeta1, want.zeta1, 1e-11) || !near(got.zeta2, want.zeta2, 1e-11) {
				t.Errorf("mixture %d, component %d (%v of mean %v):\n%v by sums over classes,\n%v by sums over pairs", i, k, a, mean, got, want)
			}
		}
	}
}
