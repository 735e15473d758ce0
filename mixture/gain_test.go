package mixture

import (
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
)

func mustGain(t testing.TB, m *Dirichlet, n int) float64 {
	t.Helper()
	g, err := m.Gain(n)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The expected loss of variance, as the mean over all outcomes of what updating
// with them leaves.
func TestGainIsVarianceLost(t *testing.T) {
	for i := range uint64(mixtures() / 100) {
		r := rand.New(rng.New(23, "gain", i))
		m := randomDirichlet(r)
		n := 1 + r.IntN(5)
		left, p := 0.0, 0.0
		eachSplit(t, m, n, func(votes []float64, q float64) {
			u, err := m.Update(votes)
			if err != nil {
				t.Fatal(err)
			}
			left += q * trace(u)
			p += q
		})
		got, whole := mustGain(t, m, n), trace(m)
		if want := whole - left/p; got < 0 || !(got-want < 1e-11*whole && want-got < 1e-11*whole) {
			t.Fatalf("mixture %d: %d votes gain %v, by updating %v", i, n, got, want)
		}
		if more := mustGain(t, m, n+1); more < got*(1-1e-11) || more > whole*(1+1e-11) {
			t.Fatalf("mixture %d: %d votes gain %v, %d gain %v of %v", i, n, got, n+1, more, whole)
		}
		// One vote has a closed form, which enumeration does not use.
		if one, all := mustGain(t, m, 1), newGain(m, 1).walk(0, 1); !near(one, all, 1e-9) {
			t.Fatalf("mixture %d: one vote gains %v, by enumeration %v", i, one, all)
		}
	}
}

// Of one Dirichlet, n votes take the share n/(α₀+n) of the variance.
func TestGainOfOneDirichlet(t *testing.T) {
	m := mustDirichlet(t, []float64{1}, [][]float64{{6, 2, 1}})
	for _, n := range []int{0, 1, 2, 7, 100} {
		if got, want := mustGain(t, m, n), trace(m)*float64(n)/float64(9+n); !near(got, want, 1e-10) {
			t.Errorf("%d votes gain %v, want %v", n, got, want)
		}
	}
}

// Two sharp modes: one vote hardly distinguishes them, many do, and the gain
// of the second exceeds half that of both together.
func TestGainCanRise(t *testing.T) {
	m := mustDirichlet(t, []float64{0.02, 0.98}, [][]float64{{900, 100}, {400, 600}})
	one, two := mustGain(t, m, 1), mustGain(t, m, 2)
	if !(two > 2*one) {
		t.Errorf("one vote gains %v, two %v: want more than twice as much", one, two)
	}
	if got := mustGain(t, m, 2000); got < 0.9*trace(m) {
		t.Errorf("2,000 votes gain %v of %v", got, trace(m))
	}
}

func TestGainRefuses(t *testing.T) {
	m := mustDirichlet(t, []float64{1}, [][]float64{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}})
	for _, n := range []int{-1, 20, 1 << 40} {
		if _, err := m.Gain(n); err == nil {
			t.Errorf("%d votes: no error", n)
		}
	}
	if g := mustGain(t, m, 5); g <= 0 {
		t.Errorf("5 votes gain %v", g)
	}
}

func BenchmarkGain(b *testing.B) {
	m := ensembles(b, 1, 3)[0]
	for _, c := range []struct {
		name  string
		votes int
	}{{"votes=1", 1}, {"votes=5", 5}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				mustGain(b, m, c.votes)
			}
		})
	}
}
