package study

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/evaluate"
	"credence/mixture"
)

func TestCorrelation(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{2, 4, 6}, 1},
		{[]float64{1, 2, 3}, []float64{3, 2, 1}, -1},
		{[]float64{1, 2, 3, 4}, []float64{1, -1, -1, 1}, 0},
		// By hand: Sxy = 3, Sxx = 2, Syy = 14/3 · … = 6: 3/√12.
		{[]float64{0, 1, 2}, []float64{0, 0, 3}, 3 / math.Sqrt(12)},
	} {
		if got := correlation(c.a, c.b); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("correlation of %v and %v = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if got := correlation([]float64{1, 1}, []float64{1, 2}); !math.IsNaN(got) {
		t.Errorf("correlation with a constant = %v", got)
	}
}

func TestErrorsOfSD(t *testing.T) {
	if got := sdError([]float64{1, 4, 9}, []float64{4, 4, 1}); got != 1 {
		t.Errorf("sdError = %v, want (1 + 0 + 2)/3", got)
	}
	if got := constantError([]float64{0, 1, 16}); got != 4.0/3 {
		t.Errorf("constantError = %v, want (1 + 0 + 3)/3", got)
	}
}

func TestSummarize(t *testing.T) {
	s := summarize([]float64{1, 2, 3, 4})
	if s.Mean != 2.5 || math.Abs(float64(s.SE)-math.Sqrt(5.0/3/4)) > 1e-15 {
		t.Errorf("%+v, want 2.5 and √(5/12)", s)
	}
	if s := summarize([]float64{7}); s.Mean != 7 || s.SE.Known() {
		t.Errorf("%+v: one seed has no standard error", s)
	}
}

// TestBayesRate: the rate that the design is known to have, to four digits.
func TestBayesRate(t *testing.T) {
	if got := bayesRate(); math.Abs(got-0.9833) > 5e-5 {
		t.Errorf("Bayes rate %v, want 0.9833", got)
	}
}

// TestCovered compares with intervals found and widened one by one.
func TestCovered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rule := &evaluate.Resolution{Low: []float64{0.05, 0}, High: []float64{0.1, 0}}
	touched := 0
	for range 3000 {
		m, err := mixture.NewBeta([]float64{0.3, 0.7}, []float64{math.Exp(3 * r.NormFloat64()), math.Exp(3 * r.NormFloat64())},
			[]float64{math.Exp(3 * r.NormFloat64()), math.Exp(3 * r.NormFloat64())})
		if err != nil {
			t.Fatal(err)
		}
		p := m.Sample(r)
		if r.IntN(2) == 0 {
			p = r.Float64()
		}
		at := placeOf(m, p, 1-p, rule)
		for _, level := range []float64{0.5, 0.9} {
			in := m.Interval(mixture.TwoSided, level)
			out, change := rule.Apply(0, mixture.TwoSided, in)
			if change {
				touched++
			}
			plain, ruled := at.covered(level)
			near := math.Min(math.Abs(p-in.Lo), math.Abs(p-in.Hi)) < 1e-9 // rounding decides
			if !near && (plain != in.Contains(p) || ruled != out.Contains(p)) {
				t.Fatalf("p = %v in %v (%v): got %v, %v", p, in, out, plain, ruled)
			}
		}
	}
	if touched < 500 {
		t.Errorf("the rule touched %d intervals: too few to test it", touched)
	}
	if plain, ruled := placeOf(must(mixture.NewBeta([]float64{1}, []float64{2}, []float64{2})), 0.5, 0.5, nil).covered(0.5); !plain || !ruled {
		t.Error("the middle is not covered")
	}
}

// TestCoveredNextToOne: what lies next to 1 is judged as what lies next to 0. The
// law has its 2.5% quantile at about 1e-43, from either end.
func TestCoveredNextToOne(t *testing.T) {
	m := must(mixture.NewBeta([]float64{1}, []float64{0.03}, []float64{0.03}))
	for _, c := range []struct {
		tiny  float64
		level float64
		want  bool
	}{{1e-40, 0.95, true}, {1e-40, 0.1, false}, {1e-60, 0.95, false}} {
		low, _ := placeOf(m, c.tiny, 1, nil).covered(c.level)
		high, _ := placeOf(m, 1, c.tiny, nil).covered(c.level)
		if low != c.want || high != c.want {
			t.Errorf("%v from the ends at level %v: covered %v and %v, want %v", c.tiny, c.level, low, high, c.want)
		}
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
