package mixture

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
	"credence/internal/special"
)

// trace returns Σ_i Var p_i.
func trace(m *Dirichlet) float64 { return special.Sum(m.Variance(nil)) }

func TestRescaleIsExact(t *testing.T) {
	for i := range uint64(mixtures() / 5) {
		r := rand.New(rng.New(21, "rescale", i))
		m := randomDirichlet(r)
		if i%2 == 0 {
			w, a, b := randomBeta(r)
			beta, err := NewBeta(w, a, b)
			if err != nil {
				t.Fatal(err)
			}
			m = beta.Dirichlet()
		}
		ratio := math.Exp(-4 + 8*r.Float64())
		s, err := m.Rescale(ratio)
		if err != nil {
			t.Fatal(err)
		}
		mean, was := s.Mean(nil), m.Mean(nil)
		for c := range mean {
			if math.Abs(mean[c]-was[c]) > 1e-14 {
				t.Fatalf("mixture %d times %v: mean %v became %v", i, ratio, was, mean)
			}
		}
		want := ratio * trace(m)
		if ratio > 1 {
			want = min(want, max(trace(m), widest*simplexVariance(was, 1)))
		}
		// Where a mean next to a corner moves off it, the parameters may meet their
		// limit; what that adds to the trace is below 1e-15.
		if got := trace(s); math.Abs(got-want) > 1e-11*want+1e-15 {
			t.Fatalf("mixture %d times %v: trace %v became %v, want %v", i, ratio, trace(m), got, want)
		}
		for k := range s.K() {
			w, a := s.Component(k)
			if _, b := m.Component(k); w != m.weights[k] || ratio < 1 && anyBelow(a, b) {
				t.Fatalf("mixture %d times %v: component %v became %v", i, ratio, b, a)
			}
			for c, x := range a {
				if err := checkParameter(x, "class %d", c); err != nil {
					t.Fatalf("mixture %d times %v: %v", i, ratio, err)
				}
			}
		}
	}
}

// anyBelow reports whether some a[i] < b[i].
func anyBelow(a, b []float64) bool {
	for i := range a {
		if a[i] < b[i] {
			return true
		}
	}
	return false
}

// One component keeps its mean, so the trace is g/(α₀+1) and
// α₀′ = (α₀+1)/ratio − 1, narrower or wider.
func TestRescaleOneComponent(t *testing.T) {
	m := mustDirichlet(t, []float64{1}, [][]float64{{6, 2, 1}})
	for _, ratio := range []float64{0.1, 0.5, 1, 2, 4} {
		s, err := m.Rescale(ratio)
		if err != nil {
			t.Fatal(err)
		}
		_, a := s.Component(0)
		for i, want := range []float64{6. / 9, 2. / 9, 1. / 9} {
			if want *= 10/ratio - 1; !near(a[i], want, 1e-12) {
				t.Errorf("times %v: parameter %d is %v, want %v", ratio, i, a[i], want)
			}
		}
	}
}

func TestRescaleAtTheLimits(t *testing.T) {
	m := mustDirichlet(t, []float64{0.5, 0.5}, [][]float64{{1e-9, 1e7}, {1e7, 1e-9}})
	for _, ratio := range []float64{1e-300, 1e-6, 1e300} {
		s, err := m.Rescale(ratio)
		if err != nil {
			t.Fatal(err)
		}
		if v := trace(s); !(v >= 0 && v <= 0.5) {
			t.Errorf("times %g: trace %v", ratio, v)
		}
		if _, err := NewDirichlet(s.weights, [][]float64{s.row(0), s.row(1)}); err != nil {
			t.Errorf("times %g: %v", ratio, err)
		}
	}
	for _, ratio := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := m.Rescale(ratio); err == nil {
			t.Errorf("ratio %v: no error", ratio)
		}
	}
}

func BenchmarkRescale(b *testing.B) {
	for _, c := range []struct {
		name  string
		ratio float64
	}{{"narrow", 0.7}, {"widen", 1.4}} {
		b.Run(c.name, func(b *testing.B) {
			m := ensembles(b, 1, 3)[0]
			for b.Loop() {
				if _, err := m.Rescale(c.ratio); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestSolveWithin: Newton's method changes no bit of what bisection alone finds.
func TestSolveWithin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	plain := func(variance, total []float64, want, largest float64) float64 {
		within := func(log float64) float64 {
			t, v := math.Exp(log), 0.0
			for k := range total {
				v += variance[k] / (t*total[k] + 1)
			}
			return v
		}
		lo, hi := math.Log((1/widest-1)/largest)-1, 1.0
		for within(hi) > want && hi < 700 {
			hi *= 2
		}
		for range 100 {
			mid := lo + (hi-lo)/2
			if mid <= lo || mid >= hi {
				break
			}
			if within(mid) > want {
				lo = mid
			} else {
				hi = mid
			}
		}
		return math.Exp(lo + (hi-lo)/2)
	}
	for range 20000 {
		k := 1 + r.IntN(15)
		variance, total := make([]float64, k), make([]float64, k)
		whole, largest := 0.0, 0.0
		for i := range k {
			variance[i] = r.Float64() * math.Pow(10, -20*r.Float64()*float64(r.IntN(2)))
			total[i] = math.Pow(10, -3+9*r.Float64())
			whole, largest = whole+variance[i], max(largest, total[i])
		}
		want := whole * widest * math.Pow(10, -8*r.Float64()*float64(r.IntN(2))) * (1 - 1e-3*r.Float64())
		if got, want := solveWithin(variance, total, want, largest), plain(variance, total, want, largest); got != want {
			t.Fatalf("%v %v: %v, bisection alone gives %v", variance, total, got, want)
		}
	}
	// What cannot be reached ends as it did.
	for _, want := range []float64{0, -1, 1e-320} {
		one := []float64{1}
		if got, want := solveWithin(one, one, want, 1), plain(one, one, want, 1); got != want {
			t.Errorf("%v, bisection alone gives %v", got, want)
		}
	}
}
