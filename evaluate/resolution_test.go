package evaluate

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/internal/rng"
	"credence/mixture"
)

func TestResolutionByHand(t *testing.T) {
	// Class 1 is expected 10 × .1, 10 × .15, 10 × .2, 10 × .5 times: the third
	// item takes the sum from 2.5 to 4.5, beyond three.
	v := votesOf(t, [][]float64{{9, 1}, {3, 7}, {10, 0}, {5, 5}, {0, 0}})
	means := []float64{.9, .1, .85, .15, .8, .2, .5, .5, .3, .7}
	r, err := NewResolution(means, v)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "ρ of class 1", r.Low[1], .2, 0)
	near(t, "votes below it", r.LowVotes[1], 8, 0)
	near(t, "ρ̄ of class 0", r.High[0], .2, 0)
	near(t, "votes beyond it", r.HighVotes[0], 8, 0)
	// Class 0 is expected 10 × .5 times at the least: nothing lies below .5.
	near(t, "ρ of class 0", r.Low[0], .5, 0)
	// The item without votes (mean .3) lies below it and adds nothing.
	near(t, "votes below it", r.LowVotes[0], 0, 0)
	w := r.Warnings([]string{"no", "yes"})
	if len(w) != 2 || !strings.Contains(w[0], "above 1 − 0.2 received 8 votes") || !strings.Contains(w[1], "class yes") {
		t.Errorf("warnings %q", w)
	}
}

// A class of which the votes could show nothing is never resolved.
func TestResolutionOfRareClass(t *testing.T) {
	v := votesOf(t, [][]float64{{2, 0}, {2, 0}})
	r, err := NewResolution([]float64{.9, .1, .5, .5}, v)
	if err != nil {
		t.Fatal(err)
	}
	got, touched := r.Apply(1, mixture.TwoSided, mixture.Interval{Lo: .1, Hi: .6})
	if !touched || got != (mixture.Interval{Lo: 0, Hi: 1}) {
		t.Errorf("interval %v", got)
	}
}

func TestResolutionApply(t *testing.T) {
	r := &Resolution{Low: []float64{.1}, High: []float64{.25}}
	for _, c := range []struct {
		side    mixture.Side
		in, out mixture.Interval
		touched bool
	}{
		{mixture.TwoSided, mixture.Interval{Lo: .2, Hi: .7}, mixture.Interval{Lo: .2, Hi: .7}, false},
		{mixture.TwoSided, mixture.Interval{Lo: .05, Hi: .7}, mixture.Interval{Lo: 0, Hi: .7}, true},
		{mixture.TwoSided, mixture.Interval{Lo: .01, Hi: .05}, mixture.Interval{Lo: 0, Hi: .1}, true},
		{mixture.TwoSided, mixture.Interval{Lo: .2, Hi: .8}, mixture.Interval{Lo: .2, Hi: 1}, true},
		{mixture.TwoSided, mixture.Interval{Lo: .8, Hi: .9}, mixture.Interval{Lo: .75, Hi: 1}, true},
		{mixture.TwoSided, mixture.Interval{Lo: .05, Hi: .9}, mixture.Interval{Lo: 0, Hi: 1}, true},
		{mixture.Upper, mixture.Interval{Lo: 0, Hi: .7}, mixture.Interval{Lo: 0, Hi: .7}, false},
		{mixture.Upper, mixture.Interval{Lo: 0, Hi: .05}, mixture.Interval{Lo: 0, Hi: .1}, true},
		{mixture.Lower, mixture.Interval{Lo: .2, Hi: 1}, mixture.Interval{Lo: .2, Hi: 1}, false},
		{mixture.Lower, mixture.Interval{Lo: .9, Hi: 1}, mixture.Interval{Lo: .75, Hi: 1}, true},
	} {
		out, touched := r.Apply(0, c.side, c.in)
		if out != c.out || touched != c.touched {
			t.Errorf("%v %v → %v %v, want %v %v", c.side, c.in, out, touched, c.out, c.touched)
		}
	}
}

// Coverage by masses and by the ends of intervals is the same, with the rule
// and without, wherever ends can be written down.
func TestCoverageByMassesAndEnds(t *testing.T) {
	r := rand.New(rng.New(1, t.Name()))
	rule := &Resolution{}
	for n := range 20_000 {
		w := r.Float64()
		m, err := mixture.NewBeta([]float64{w, 1 - w},
			[]float64{math.Exp(2 * r.NormFloat64()), math.Exp(2 * r.NormFloat64())},
			[]float64{math.Exp(2 * r.NormFloat64()), math.Exp(2 * r.NormFloat64())})
		if err != nil {
			t.Fatal(err)
		}
		x, level := r.Float64(), .05+.9*r.Float64()
		rule.Low, rule.High = []float64{r.Float64() * r.Float64()}, []float64{r.Float64() * r.Float64()}
		i := m.Interval(mixture.TwoSided, level)
		inside, _ := NewCovered(m, x, 1-x, 0, nil).At(level)
		if inside != i.Contains(x) {
			t.Fatalf("case %d: inside %v, but %v in %v", n, inside, x, i)
		}
		want, wantTouched := rule.Apply(0, mixture.TwoSided, i)
		inside, touched := NewCovered(m, x, 1-x, 0, rule).At(level)
		if inside != want.Contains(x) || touched != wantTouched {
			t.Fatalf("case %d, rule %v: inside %v, touched %v, but %v in %v", n, rule, inside, touched, x, want)
		}
	}
}

// A truth closer to one than a float64 can be is still placed.
func TestCoverageNextToOne(t *testing.T) {
	m := dirichlet(t, 1, 1e-2) // the other class has a median of 2^−100
	for _, c := range []struct {
		y      float64
		inside bool
	}{{1e-30, true}, {1e-200, false}} {
		got, _ := NewCovered(m.Marginal(0), 1-c.y, c.y, 0, nil).At(.9)
		if got != c.inside {
			t.Errorf("1 − p = %g: inside %v", c.y, got)
		}
	}
}
