package monitor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"credence/internal/rng"
	"credence/mixture"
)

func testDist(t *testing.T, weights []float64, alpha ...[]float64) *mixture.Dirichlet {
	t.Helper()
	dist, err := mixture.NewDirichlet(weights, alpha)
	if err != nil {
		t.Fatal(err)
	}
	return dist
}

// expectation returns Σ P(votes)·E(votes) over all sequences of votes on the given items, vote by vote. truth returns the
// chances of the next vote from those of the model.
func expectation(t *testing.T, classes int, dists []*mixture.Dirichlet, order []int, o Options, truth func(step int, p []float64) []float64) (strict, tolerant float64) {
	t.Helper()
	names := []string{"a", "b", "c"}[:classes]
	var walk func(votes []Vote, chance float64)
	walk = func(votes []Vote, chance float64) {
		w, err := newMonitor(names, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, dist := range dists {
			if err := w.AddItem(fmt.Sprint(i), Item{Dist: dist, Group: fmt.Sprint("g", i%2)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range votes {
			if err := w.Add(v); err != nil {
				t.Fatal(err)
			}
		}
		if len(votes) == len(order) {
			strict += chance * w.Evidence().Strict
			tolerant += chance * w.Evidence().Tolerant
			return
		}
		id := fmt.Sprint(order[len(votes)])
		u, err := w.updatersOf(w.items[id])
		if err != nil {
			t.Fatal(err)
		}
		p, err := u[0].chances(nil, -1)
		if err != nil {
			t.Fatal(err)
		}
		p = truth(len(votes), p)
		for c := range classes {
			walk(append(votes[:len(votes):len(votes)], Vote{Item: id, Class: c}), chance*p[c])
		}
	}
	walk(nil, 1)
	return strict, tolerant
}

// TestMartingale computes the expectation of the evidence over all sequences of votes: it is exactly 1 under the model,
// whatever the order of the items, and at most 1 under any bias that is tolerated, changing ones included.
func TestMartingale(t *testing.T) {
	two := []*mixture.Dirichlet{testDist(t, []float64{.4, .6}, []float64{.7, 2}, []float64{5, 1}), testDist(t, []float64{1}, []float64{1.5, .4})}
	three := []*mixture.Dirichlet{testDist(t, []float64{.3, .7}, []float64{.7, 2, 1}, []float64{5, 1, .2}), testDist(t, []float64{1}, []float64{1, .4, 2})}
	exact := func(_ int, p []float64) []float64 { return p }
	for _, by := range []string{"", "site"} {
		for _, order := range [][]int{{0, 0, 0, 1, 1}, {0, 1, 0, 1, 0}, {1, 0, 0, 1, 0, 0}} {
			strict, _ := expectation(t, 2, two, order, Options{By: by, Groups: []string{"g0"}}, exact)
			if !(math.Abs(strict-1) < 1e-12) {
				t.Errorf("by %q, order %v: expected an expectation of 1, found %v", by, order, strict)
			}
		}
	}
	strict, _ := expectation(t, 3, three, []int{0, 1, 0, 0, 1}, Options{}, exact)
	if !(math.Abs(strict-1) < 1e-12) {
		t.Errorf("three classes: expected an expectation of 1, found %v", strict)
	}
	for name, bias := range map[string]func(step int) float64{"up": func(int) float64 { return .3 }, "down": func(int) float64 { return -.3 },
		"changing": func(s int) float64 { return .3 - .6*float64(s%2) }, "none": func(int) float64 { return 0 }} {
		shifted := func(step int, p []float64) []float64 { return tilt(append([]float64(nil), p...), len(p)-1, bias(step)) }
		for classes, dists := range map[int][]*mixture.Dirichlet{2: two, 3: three} {
			if _, tolerant := expectation(t, classes, dists, []int{0, 0, 1, 0, 1}, Options{Tolerate: .3}, shifted); !(tolerant <= 1+1e-12) {
				t.Errorf("%s, %d classes: expected an expectation of at most 1, found %v", name, classes, tolerant)
			}
		}
	}
	_, tolerant := expectation(t, 2, two, []int{0, 0, 1, 0, 1}, Options{Tolerate: .3}, func(_ int, p []float64) []float64 {
		return tilt(append([]float64(nil), p...), 1, 2)
	})
	if !(tolerant > 1.005) {
		t.Errorf("a bias of 2 beyond a tolerance of 0.3: expected evidence to grow, found %v", tolerant)
	}
}

// TestFamily: weights sum to at most one, and the reserve is what newcomers share.
func TestFamily(t *testing.T) {
	for _, known := range [][]string{nil, {"a", "b"}} {
		f := newFamily(1, known)
		sum := 0.0
		for k := range 1000 {
			f.member(fmt.Sprint(k))
		}
		for i := range f.members {
			sum += f.weight(i)
		}
		if !(sum <= 1 && sum > .99) {
			t.Errorf("known %v: expected weights that sum to almost 1, found %v", known, sum)
		}
	}
}

// TestWithdraw: after a vote is withdrawn or replaced, the evidence is that of the remaining votes; an alarm stays.
func TestWithdraw(t *testing.T) {
	dist := testDist(t, []float64{1}, []float64{3, 1})
	r := rand.New(rng.New(1, "withdraw"))
	fill := func(skip int) *Monitor {
		w, err := newMonitor([]string{"no", "yes"}, Options{Tolerate: .1, By: "site", Alarm: 6})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			if err := w.AddItem(fmt.Sprint(i), Item{Dist: dist, Group: fmt.Sprint(i % 3)}); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 90 {
			if n != skip {
				if err := w.Add(Vote{fmt.Sprint(n % 30), fmt.Sprint("r", n/30), (n * 7 / 3) % 2}); err != nil {
					t.Fatal(err)
				}
			}
		}
		return w
	}
	all := fill(-1)
	if len(all.Alarms()) == 0 {
		t.Fatal("expected an alarm")
	}
	for range 5 {
		n := r.IntN(90)
		w := fill(-1)
		if err := w.Withdraw(fmt.Sprint(n%30), fmt.Sprint("r", n/30)); err != nil {
			t.Fatal(err)
		}
		if want := fill(n); w.Evidence() != want.Evidence() || w.raters.evidence() != want.raters.evidence() || w.Votes() != 89 {
			t.Errorf("without vote %d: expected %v, found %v", n, want.Evidence(), w.Evidence())
		}
		if len(w.Alarms()) != len(all.Alarms()) {
			t.Errorf("expected the alarm to stay, found %v", w.Alarms())
		}
	}
	again := fill(-1)
	if err := again.Add(Vote{"3", "r0", (3 * 7 / 3) % 2}); err != nil || again.Evidence() != all.Evidence() {
		t.Errorf("the same vote again: expected %v, found %v, %v", all.Evidence(), again.Evidence(), err)
	}
}

// TestRefused: what cannot be monitored is an error.
func TestRefused(t *testing.T) {
	dist := testDist(t, []float64{1}, []float64{3, 1})
	w, err := newMonitor([]string{"no", "yes"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddItem("a", Item{Dist: dist}); err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"added already":   w.AddItem("a", Item{Dist: dist}),
		"over 2 classes":  w.AddItem("b", Item{Dist: testDist(t, []float64{1}, []float64{1, 1, 1})}),
		"predicts dist":   w.AddItem("c", Item{}),
		`unknown item "x`: w.Add(Vote{Item: "x"}),
		"class from 0":    w.Add(Vote{Item: "a", Class: 2}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expected an error with %q, found %v", want, err)
		}
	}
	for _, o := range []Options{{Tolerate: -1}, {Tolerate: math.NaN()}, {Alarm: 2}, {Note: 1, Alarm: 20}, {Alarm: math.Inf(1)}} {
		if _, err := newMonitor([]string{"no", "yes"}, o); err == nil {
			t.Errorf("%+v: expected an error", o)
		}
	}
}

// TestRaterAndGroupNamed: one of five groups with a bias of 1 is named, and so is a rater who guesses.
func TestRaterAndGroupNamed(t *testing.T) {
	dist := testDist(t, []float64{.5, .5}, []float64{8, 2}, []float64{2, 8})
	named, alarms, rater := 0, 0, 0
	const streams = 40
	for s := range streams {
		r := rand.New(rng.New(3, "named", uint64(s)))
		w, err := newMonitor([]string{"benign", "malignant"}, Options{By: "site", Groups: []string{"A", "B", "C", "D", "E"}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := newMonitor([]string{"benign", "malignant"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 600 {
			id, group, c := fmt.Sprint(i), string(rune('A'+i%5)), Change{}
			if group == "B" {
				c.Bias = 1
			}
			p, err := c.draw(dist, r)
			if err != nil {
				t.Fatal(err)
			}
			q := dist.Sample(nil, r)
			if err := w.AddItem(id, Item{Dist: dist, Group: group}); err != nil {
				t.Fatal(err)
			}
			if err := v.AddItem(id, Item{Dist: dist}); err != nil {
				t.Fatal(err)
			}
			for k := range 3 {
				class := pick(q, r)
				if k == 1 { // rater r1 guesses
					class = r.IntN(2)
				}
				if err := w.Add(Vote{Item: id, Class: pick(p, r)}); err != nil {
					t.Fatal(err)
				}
				if err := v.Add(Vote{id, fmt.Sprint("r", k), class}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, a := range w.Alarms() {
			alarms++
			if strings.HasPrefix(a.Text, "votes from site B run towards malignant; evidence ") {
				named++
			}
		}
		for _, a := range v.Alarms() {
			if a.Kind == kindRater && strings.Contains(a.Text, "rater r1 ") {
				rater++
			}
		}
	}
	t.Logf("%d alarms, %d name group B; rater r1 named in %d of %d", alarms, named, rater, streams)
	if alarms < streams*3/4 || float64(named) < .95*float64(alarms) || rater < streams*9/10 {
		t.Errorf("expected alarms that name group B and rater r1, found %d, %d and %d of %d", alarms, named, rater, streams)
	}
}

// TestInputs: the bound is that of Clopper and Pearson (1 of 100: 0.0466, R's binom.test with alternative "less"),
// and evidence grows only where the rate exceeds it.
func TestInputs(t *testing.T) {
	if x := upperRate(1, 100); !(math.Abs(x-0.04656) < 1e-4) {
		t.Errorf("expected 0.0466, found %v", x)
	}
	for rate, alarm := range map[float64]bool{.04: false, .3: true} {
		w, err := newMonitor([]string{"no", "yes"}, Options{Inputs: &InputRates{Far: .0466, Unknown: .03}})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rng.New(2, "inputs"))
		for i := range 500 {
			if err := w.AddItem(fmt.Sprint(i), Item{Dist: testDist(t, []float64{1}, []float64{1, 1}), Unlike: Unlike{Far: r.Float64() < rate}}); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(w.Alarms()) > 0; got != alarm {
			t.Errorf("rate %v: expected alarm %v, found %v", rate, alarm, w.Alarms())
		}
	}
}
