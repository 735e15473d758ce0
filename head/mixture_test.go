package head

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"credence/internal/rng"
)

func newMixture(t testing.TB, k, d int) *mixtureHead {
	t.Helper()
	h, err := Mixture{Components: k}.New(Task{Classes: d})
	if err != nil {
		t.Fatal(err)
	}
	return h.(*mixtureHead)
}

// lossOf returns the mean loss of unweighted votes.
func lossOf(h Objective, grad, out []float32, votes Counts) float64 {
	return h.Loss(grad, out, Batch{Counts: votes}, Step{}).Mean
}

// randomVotes returns n items with m votes each.
func randomVotes(r *rand.Rand, n, d, m int) Counts {
	c := Counts{Classes: d, Values: make([]float32, n*d)}
	for j := range n {
		for range m {
			c.Values[j*d+r.IntN(d)]++
		}
	}
	return c
}

// TestFewAgainstMany compares the products of rising factorials with the
// float64 reference over the whole range of log α.
func TestFewAgainstMany(t *testing.T) {
	r := rand.New(rng.New(1, "test"))
	for _, c := range []struct{ k, d, m int }{{1, 2, 1}, {1, 2, 2}, {10, 2, 2}, {3, 2, 3}, {2, 5, 7}, {3, 3, 16}, {3, 3, 17}, {2, 40, 8}} {
		for _, spread := range []float64{1, 20} {
			h := newMixture(t, c.k, c.d)
			const n = 50
			votes := randomVotes(r, n, c.d, c.m)
			out := make([]float32, n*h.Outputs())
			for i := range out {
				out[i] = float32((2*r.Float64() - 1) * spread)
			}
			grad := make([]float32, len(out))
			loss := lossOf(h, grad, out, votes)
			mean := 0.0
			for j := range n {
				o, s := make([]float64, h.Outputs()), make([]float64, c.d)
				for i := range o {
					o[i] = float64(out[j*len(o)+i])
				}
				for i := range s {
					s[i] = float64(votes.Item(j)[i])
				}
				want := make([]float64, len(o))
				mean += NLL(want, o, s) / n
				got := make([]float64, len(o))
				for i := range got {
					got[i] = float64(grad[j*len(o)+i]) * n
				}
				// α in float32 leaves 1e-7 of relative error, m of them in p.
				if e := off(got, want); !(e <= 2e-6*float64(c.m)) {
					t.Errorf("%+v spread %v item %d: gradient off by %.1e", c, spread, j, e)
				}
			}
			if !(math.Abs(loss-mean) <= 1e-6*math.Max(1, mean)) {
				t.Errorf("%+v spread %v: loss %v, want %v", c, spread, loss, mean)
			}
		}
	}
}

// TestNLLGradient compares the gradient with central differences, for whole,
// fractional and very many votes.
func TestNLLGradient(t *testing.T) {
	r := rand.New(rng.New(2, "test"))
	for _, s := range [][]float64{{1, 1}, {0.5, 1.25}, {0, 3.75}, {20, 0}, {700, 1e3}, {30.5, 2, 0}, {1e6, 5}} {
		d := len(s)
		out := make([]float64, 3*(d+1))
		for i := range out {
			out[i] = 2 * r.NormFloat64()
		}
		grad, want := make([]float64, len(out)), make([]float64, len(out))
		nll := NLL(grad, out, s)
		if math.IsNaN(nll) || math.IsInf(nll, 0) {
			t.Errorf("votes %v: NLL %v", s, nll)
		}
		const h = 1e-5
		for i := range out {
			x := out[i]
			out[i] = x + h
			up := NLL(nil, out, s)
			out[i] = x - h
			want[i] = (up - NLL(nil, out, s)) / (2 * h)
			out[i] = x
		}
		// Rounding of terms of size m·log m leaves that times 1e-16/h.
		m := s[0] + s[1]
		if e := off(grad, want); !(e <= 1e-7+m*math.Log1p(m)*1e-11) {
			t.Errorf("votes %v: gradient off by %.1e\n got %v\nwant %v", s, e, grad, want)
		}
	}
}

// TestWholeRange: finite, and the sum rule Σ_i ∂NLL/∂logit_i = 0, at the ends.
func TestWholeRange(t *testing.T) {
	for _, m := range []float64{1, 2, 16, 17, 1000, 1e6} {
		for _, la := range []float64{-25, -20, 0, 20, 25} {
			for _, lb := range []float64{-25, -20, 0, 20, 25} {
				out := []float64{0.3, -0.2, la, lb, lb, la}
				for _, s := range [][]float64{{m, 0}, {m / 2, m / 2}, {m - 0.5, 0.5}} {
					grad := make([]float64, len(out))
					nll := NLL(grad, out, s)
					if !(nll >= 0 && nll < 1e9) || !(math.Abs(grad[0]+grad[1]) < 1e-12) {
						t.Fatalf("out %v votes %v: NLL %v gradient %v", out, s, nll, grad)
					}
					for _, g := range grad {
						if !(math.Abs(g) <= 2*m) {
							t.Fatalf("out %v votes %v: gradient %v", out, s, grad)
						}
					}
				}
			}
		}
	}
}

// TestDominantClass: with α = (e²⁰, e⁻²⁰) and all votes for the first class the
// derivative for the second is −e⁻⁴⁰·m up to 1e-8, not rounding noise.
func TestDominantClass(t *testing.T) {
	grad := make([]float64, 3)
	NLL(grad, []float64{0, 20, -20}, []float64{3, 0})
	want := 3 * math.Exp(-40)
	for i, w := range []float64{-want, want} {
		if !(math.Abs(grad[1+i]-w) <= 1e-8*want) {
			t.Errorf("gradient %d is %v, want %v", i, grad[1+i], w)
		}
	}
}

// TestFaintComponent: a component whose weight is out of the range of float32 explains the
// votes, and gets the gradient.
func TestFaintComponent(t *testing.T) {
	h := newMixture(t, 2, 2)
	out := []float32{0, -100, -19, 19, 19, -19}
	s := []float32{5, 0}
	grad := make([]float32, len(out))
	loss := lossOf(h, grad, out, Counts{2, s})
	o, want := make([]float64, len(out)), make([]float64, len(out))
	for i, x := range out {
		o[i] = float64(x)
	}
	nll := NLL(want, o, []float64{5, 0})
	got := make([]float64, len(out))
	for i, g := range grad {
		got[i] = float64(g)
	}
	if !(math.Abs(loss-nll) <= 1e-6*nll) || !(off(got, want) <= 1e-5) {
		t.Errorf("loss %v, want %v\ngradient %v, want %v", loss, nll, got, want)
	}
}

func TestClamp(t *testing.T) {
	h := newMixture(t, 1, 2)
	at := func(a, b float32, s ...float32) []float32 {
		grad := make([]float32, 3)
		lossOf(h, grad, []float32{0, a, b}, Counts{2, s})
		return grad[1:]
	}
	// All votes for class 0: descent raises log α₀ and lowers log α₁.
	if g := at(21, 0, 2, 0); g[0] != 0 || g[1] <= 0 {
		t.Errorf("above, pointing out: %v", g)
	}
	if g := at(1, -30, 2, 0); g[0] >= 0 || g[1] != 0 {
		t.Errorf("below, pointing out: %v", g)
	}
	// All votes for class 1: descent lowers log α₀, which leads back.
	if g := at(21, 0, 0, 2); !(g[0] > 0) || !(g[1] < 0) {
		t.Errorf("above, pointing back: %v", g)
	}
	if n, seen := h.Clamped(); n != 3 || seen != 6 {
		t.Errorf("clamped %d of %d, want 3 of 6", n, seen)
	}
	h.ResetClamped()
	if n, seen := h.Clamped(); n != 0 || seen != 0 {
		t.Errorf("after reset: clamped %d of %d", n, seen)
	}
}

func TestItemsWithoutVotes(t *testing.T) {
	h := newMixture(t, 2, 2)
	out := []float32{1, 2, 3, 4, 5, 6, 0, 1, 0, 1, 0, 1}
	both, one := make([]float32, 12), make([]float32, 6)
	a := lossOf(h, both, out, Counts{2, []float32{0, 0, 1, 2}})
	b := lossOf(h, one, out[6:], Counts{2, []float32{1, 2}})
	if a != b {
		t.Errorf("loss %v with an unlabeled item, %v without", a, b)
	}
	for i := range one {
		if both[i] != 0 || both[6+i] != one[i] {
			t.Fatalf("gradient %v, want zeros then %v", both, one)
		}
	}
	if l := lossOf(h, one, out[6:], Counts{2, []float32{0, 0}}); l != 0 || one[0] != 0 {
		t.Errorf("no votes at all: loss %v, gradient %v", l, one)
	}
}

func TestMixtureSettings(t *testing.T) {
	for _, c := range []struct {
		m Mixture
		t Task
	}{
		{Mixture{Components: -1}, Task{Classes: 2}}, {Mixture{}, Task{Classes: 1}}, {Mixture{Limit: 21}, Task{Classes: 2}},
		{Mixture{Limit: -1}, Task{Classes: 2}}, {Mixture{Limit: math.NaN()}, Task{Classes: 2}},
		{Mixture{Components: 1 << 40}, Task{Classes: 2}},
	} {
		if _, err := c.m.New(c.t); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// TestWeights: weights scale the gradients of items and weigh the criterion, not the mean loss.
func TestWeights(t *testing.T) {
	h := newMixture(t, 2, 2)
	r := rand.New(rng.New(6, "test"))
	out := make([]float32, 3*h.Outputs())
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	votes := randomVotes(r, 3, 2, 4)
	weights := []float64{0.5, 0, 2}
	plain, weighted := make([]float32, len(out)), make([]float32, len(out))
	a := h.Loss(plain, out, Batch{Counts: votes}, Step{})
	b := h.Loss(weighted, out, Batch{Counts: votes, Weights: weights}, Step{})
	if a != b || a.Over != 3 || a.Votes != 12 {
		t.Errorf("loss %+v, weighted %+v", a, b)
	}
	sum := 0.0
	for j, w := range weights {
		for i := range h.Outputs() {
			k := j*h.Outputs() + i
			if weighted[k] != plain[k]*float32(w) {
				t.Errorf("gradient %d is %v, want %v times %v", k, weighted[k], w, plain[k])
			}
		}
		sum += 4 * w
	}
	c := h.Criterion()
	c.Add(out, Batch{Counts: votes, Weights: weights})
	want := 0.0
	for j, w := range weights {
		want += w * NLL(nil, append64(nil, out[j*h.Outputs():(j+1)*h.Outputs()]), append64(nil, votes.Item(j))) / sum
	}
	if !(math.Abs(c.Value()-want) <= 1e-12) {
		t.Errorf("criterion %v, want %v", c.Value(), want)
	}
}

func TestLossDoesNotAllocate(t *testing.T) {
	h := newMixture(t, 10, 2)
	votes := randomVotes(rand.New(rng.New(3, "test")), 64, 2, 20)
	out, grad := make([]float32, 64*30), make([]float32, 64*30)
	if n := testing.AllocsPerRun(10, func() { lossOf(h, grad, out, votes) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

func BenchmarkMixture(b *testing.B) {
	for _, c := range []struct{ n, k, d, m int }{{64, 10, 2, 2}, {64, 3, 2, 2}, {64, 3, 10, 8}, {64, 3, 2, 100}, {1024, 10, 2, 2}, {1024, 3, 2, 2}} {
		b.Run(fmt.Sprintf("n=%d/k=%d/d=%d/m=%d", c.n, c.k, c.d, c.m), func(b *testing.B) {
			h := newMixture(b, c.k, c.d)
			r := rand.New(rng.New(4, "test"))
			votes := randomVotes(r, c.n, c.d, c.m)
			out := make([]float32, c.n*h.Outputs())
			for i := range out {
				out[i] = float32(r.NormFloat64())
			}
			grad := make([]float32, len(out))
			for b.Loop() {
				lossOf(h, grad, out, votes)
			}
		})
	}
}

// TestLossThreads: items with few votes, many and none give the same bits on any
// number of threads.
func TestLossThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const n = 500
	r := rand.New(rng.New(5, "test"))
	votes := Counts{Classes: 4, Values: make([]float32, n*4)}
	for j := range n {
		copy(votes.Item(j), randomVotes(r, 1, 4, []int{2, 30, 0, 7}[j%4]).Values)
	}
	for _, spread := range []float32{1, 30} { // inside the limits, and beyond
		out, first := make([]float32, n*15), make([]float32, n*15)
		for i := range out {
			out[i] = (float32(i%13)/4 - 1) * spread
		}
		want, outside := 0.0, int64(0)
		for _, threads := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(threads)
			h, grad := newMixture(t, 3, 4), make([]float32, len(out))
			loss := lossOf(h, grad, out, votes)
			clamped, _ := h.Clamped()
			if threads == 1 {
				want, outside = loss, clamped
				copy(first, grad)
				continue
			}
			if loss != want || !slices.Equal(grad, first) || clamped != outside {
				t.Errorf("%d threads: loss %v, want %v, %d clamped, want %d, or another gradient", threads, loss, want, clamped, outside)
			}
		}
		if (outside > 0) != (spread > 20) {
			t.Errorf("spread %v: %d values clamped", spread, outside)
		}
	}
}
