package evaluate

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"credence/internal/rng"
	"credence/mixture"
)

// bestAllocation finds the best allocation by trying all of them.
func bestAllocation(gains [][]float64, budget int) float64 {
	if len(gains) == 0 {
		return 0
	}
	best := math.Inf(-1)
	for n := 0; n <= budget && n < len(gains[0]); n++ {
		best = max(best, gains[0][n]+bestAllocation(gains[1:], budget-n))
	}
	return best
}

// For random gains, half of them concave and half partly convex, no plan is better
// than the optimum, none is worse by more than the piece that did not fit, and if all
// gains are concave the plan is optimal.
func TestAllocateAgainstBruteForce(t *testing.T) {
	r := rand.New(rng.New(5, "evaluate.Allocate"))
	equal, total := 0, 0
	for i := range 400 {
		concave := i%2 == 0
		gains := make([][]float64, 1+r.IntN(5))
		largest := 0.0
		for j := range gains {
			gains[j] = make([]float64, 1+r.IntN(5))
			step := r.Float64()
			for n := 1; n < len(gains[j]); n++ {
				if concave {
					step *= r.Float64()
				} else {
					step = r.Float64() * r.Float64()
				}
				gains[j][n] = gains[j][n-1] + step
			}
			for _, s := range envelope(j, gains[j]) {
				largest = max(largest, s.slope*float64(s.to-s.from))
			}
		}
		budget := r.IntN(12)
		p, err := Allocate(gains, budget)
		if err != nil {
			t.Fatal(err)
		}
		spent, got := 0, 0.0
		for j, n := range p.Votes {
			spent += n
			got += gains[j][n]
			if p.Gain[j] != gains[j][n] {
				t.Fatalf("case %d: item %d gains %v with %d votes, said %v", i, j, gains[j][n], n, p.Gain[j])
			}
		}
		best := bestAllocation(gains, budget)
		slack := 1e-12
		if spent+p.Left != budget || math.Abs(got-p.Total) > slack {
			t.Fatalf("case %d: %d votes and %d left of %d, %v of %v", i, spent, p.Left, budget, got, p.Total)
		}
		if got > best+slack || best > p.Bound+slack || p.Bound-got > largest || concave && best-got > slack {
			t.Fatalf("case %d: %d votes on %v gain %v, the best is %v, the bound %v", i, budget, gains, got, best, p.Bound)
		}
		if p.Even > best+slack {
			t.Fatalf("case %d: an even spread gains %v, the best %v", i, p.Even, best)
		}
		total++
		if best-got <= slack {
			equal++
		}
	}
	if equal < total*95/100 {
		t.Errorf("%d of %d plans are the best", equal, total)
	}
}

// One vote on an item with two modes gains almost nothing, two votes distinguish them. A
// greedy allocation of single votes would never buy the pair.
func TestAllocateRisingGains(t *testing.T) {
	gains := [][]float64{{0, 0.1, 0.15, 0.18}, {0, 0.01, 0.5, 0.6}}
	for budget, want := range [][]int{{0, 0}, {1, 0}, {0, 2}, {1, 2}, {1, 3}, {2, 3}, {3, 3}, {3, 3}} {
		p, err := Allocate(gains, budget)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p.Votes, want) || p.Left != max(0, budget-6) {
			t.Errorf("budget %d: %v and %d left, want %v", budget, p.Votes, p.Left, want)
		}
		if !reflect.DeepEqual(p.Order, []int{1, 0}) {
			t.Errorf("order %v, want the groups first", p.Order)
		}
	}
}

func TestAllocateRefuses(t *testing.T) {
	for _, gains := range [][][]float64{{{}}, {{1, 2}}, {{0, math.NaN()}}, {{0, math.Inf(1)}}} {
		if _, err := Allocate(gains, 3); err == nil {
			t.Errorf("%v: no error", gains)
		}
	}
	if _, err := Allocate(nil, -1); err == nil {
		t.Error("a budget of -1: no error")
	}
	if p, err := Allocate(nil, 5); err != nil || p.Left != 5 || p.Total != 0 {
		t.Errorf("no items: %+v, %v", p, err)
	}
	if _, err := Gains([]*mixture.Dirichlet{nil}, 1, 1); err == nil {
		t.Error("no distribution: no error")
	}
	if _, err := Gains(nil, 1, 0); err == nil {
		t.Error("no votes: no error")
	}
	w := simulate(t, 1, 10, 1, 1)
	if _, err := Gains(w.mixtures, 5, 50); err == nil {
		t.Error("too many splits to enumerate: no error")
	}
}

func TestMostVotes(t *testing.T) {
	for d, want := range map[int]int{2: 10, 3: 10, 5: 9, 10: 4, 100: 1, 2000: 1} {
		if got := MostVotes(d); got != want {
			t.Errorf("%d classes: %d votes, want %d", d, got, want)
		}
	}
}

// The gains that are left out do not matter: with all gains the plan is the same,
// and only a small part of them is computed.
func TestGainsThatMatter(t *testing.T) {
	for _, d := range []int{2, 3} {
		w := simulate(t, 400, d, 1, uint64(60+d))
		const most = 8
		all := make([][]float64, len(w.mixtures))
		for j, m := range w.mixtures {
			for n := range most + 1 {
				g, err := m.Gain(n)
				if err != nil {
					t.Fatal(err)
				}
				all[j] = append(all[j], g)
				if bound := gainBound(m)(n); n > 0 && g > bound*(1+1e-12) {
					t.Fatalf("item %d: %d votes gain %v, more than the bound %v", j, n, g, bound)
				}
			}
		}
		for _, budget := range []int{1, 30, 400, 900, 3000, 5000} {
			gains, err := Gains(w.mixtures, budget, most)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Allocate(gains, budget)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Allocate(all, budget)
			if err != nil {
				t.Fatal(err)
			}
			known := 0
			for _, g := range gains {
				known += len(g) - 1
			}
			if !reflect.DeepEqual(got.Votes, want.Votes) || got.Total != want.Total || math.Abs(got.Bound-want.Bound) > 1e-12 || math.Abs(got.Even-want.Even) > 1e-12 {
				t.Errorf("%d classes, budget %d: %v, with all gains %v", d, budget, got, want)
			}
			if budget <= 30 && known > 2*len(gains) {
				t.Errorf("%d classes, budget %d: %d gains of %d items", d, budget, known, len(gains))
			}
		}
	}
}

// The gain of a plan is the reduction in variance by the votes: p is drawn from each
// distribution, the votes from p, and |p − E[p|votes]|² is compared with |p − μ|². The
// mean over 20,000 items is within 4.5 standard errors (false-alarm rate 1e-5 each) of the
// plan's total, and the plan gains clearly more than an even allocation.
func TestPlanIsRealized(t *testing.T) {
	for _, d := range []int{2, 3} {
		const n = 20_000
		w := simulate(t, n, d, 1, uint64(40+d))
		gains, err := Gains(w.mixtures, n/2, 4)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Allocate(gains, n/2)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rng.New(uint64(d), "evaluate.TestPlanIsRealized"))
		realized, squares := 0.0, 0.0
		for j, m := range w.mixtures {
			truth := w.truth[j*d : (j+1)*d]
			votes := make([]float64, d)
			vote(votes, truth, p.Votes[j], r)
			after, err := m.Update(votes)
			if err != nil {
				t.Fatal(err)
			}
			was, is := m.Mean(nil), after.Mean(nil)
			g := 0.0
			for i, x := range truth {
				g += (x-was[i])*(x-was[i]) - (x-is[i])*(x-is[i])
			}
			realized += g
			squares += g * g
		}
		se := math.Sqrt(squares - realized*realized/n)
		t.Logf("%d classes: predicted %.1f, realized %.1f ± %.1f, ratio %.3f, even %.1f", d, p.Total, realized, se, p.Total/realized, p.Even)
		if !(math.Abs(realized-p.Total) < 4.5*se) || p.Total < 1.2*p.Even || p.Left > 0 {
			t.Errorf("%d classes: predicted %v, realized %v ± %v, even %v", d, p.Total, realized, se, p.Even)
		}
	}
}
