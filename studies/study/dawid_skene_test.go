package study

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/python"
	"credence/internal/rng"
)

// confused draws votes after Dawid and Skene: d classes, raters of different reliability, and m of
// them on each item.
func confused(n, d, raters, m int, seed uint64) (ds *dataset.Dataset, truth []int, right []float64) {
	r := rand.New(rng.New(seed, "study.confused"))
	ds = &dataset.Dataset{Items: make([]string, n), Classes: make([]string, d), Counts: make([]float32, n*d), Raters: make([]string, raters)}
	for k := range raters {
		right = append(right, 0.95-0.6*float64(k)/float64(raters))
	}
	for j := range n {
		c := r.IntN(d)
		truth = append(truth, c)
		for _, k := range r.Perm(raters)[:m] {
			says := c
			if r.Float64() > right[k] {
				says = (c + 1 + r.IntN(d-1)) % d
			}
			ds.Counts[j*d+says]++
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(k), Class: int32(says)})
		}
	}
	return ds, truth, right
}

// With 3,000 items the chance of saying the true class is found to 0.05 for every rater, which is
// five standard errors, and the true classes better than by majority.
func TestDawidSkene(t *testing.T) {
	const d = 3
	ds, truth, right := confused(3000, d, 8, 5, 1)
	m := fitDawidSkene(ds, 100)
	for r, want := range right {
		for c := range d {
			if got := m.Confusion[r][c*d+c]; math.Abs(got-want) > 0.05 {
				t.Errorf("rater %d says class %d of its items with probability %.3f, want %.3f", r, c, got, want)
			}
		}
	}
	best := func(p func(c int) float64) int {
		at := 0
		for c := range d {
			if p(c) > p(at) {
				at = c
			}
		}
		return at
	}
	ours, majority := 0, 0
	for j, c := range truth {
		if best(func(c int) float64 { return m.Posterior[j*d+c] }) == c {
			ours++
		}
		if best(func(c int) float64 { return float64(ds.Counts[j*d+c]) }) == c {
			majority++
		}
	}
	if ours <= majority {
		t.Errorf("%d true classes found, by majority %d", ours, majority)
	}
}

// With two classes, a biased rater and one who guesses are recognized.
func TestDawidSkeneRaters(t *testing.T) {
	m := &dawidSkene{Confusion: [][]float64{{0.9, 0.1, 0.1, 0.9}, {0.6, 0.4, 0.05, 0.95}, {0.5, 0.5, 0.5, 0.5}}}
	if math.Abs(m.bias(0)) > 1e-12 || m.bias(1) < 1 || math.Abs(m.bias(2)) > 1e-12 {
		t.Errorf("leans %v, %v, %v", m.bias(0), m.bias(1), m.bias(2))
	}
	if math.Abs(m.guessing(0)-0.2) > 1e-12 || m.guessing(2) != 1 {
		t.Errorf("guessing %v, %v", m.guessing(0), m.guessing(2))
	}
}

// After the same number of steps from the same start, crowd-kit gives the same result.
func TestDawidSkeneCrowdKit(t *testing.T) {
	interpreter := python.Interpreter(t, "crowdkit")
	for _, d := range []int{2, 4} {
		ds, _, _ := confused(200, d, 6, 3, 2)
		var rows strings.Builder
		rows.WriteString("task,worker,label\n")
		for _, r := range ds.Ratings {
			fmt.Fprintf(&rows, "%d,%d,%d\n", r.Item, r.Rater, r.Class)
		}
		cmd := exec.Command(interpreter, "-c", `
import io, json, sys
import pandas
from crowdkit.aggregation import DawidSkene
votes = pandas.read_csv(sys.stdin)
fit = DawidSkene(n_iter=25, tol=-1e9).fit(votes)
p = fit.probas_.sort_index()[sorted(fit.probas_.columns)]
print(json.dumps(p.to_numpy().flatten().tolist()))
`)
		cmd.Stdin = strings.NewReader(rows.String())
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("crowd-kit: %v", err)
		}
		var want []float64
		if err := json.Unmarshal(out, &want); err != nil {
			t.Fatal(err)
		}
		got := fitDawidSkene(ds, 25).Posterior
		if len(got) != len(want) {
			t.Fatalf("%d posteriors, crowd-kit has %d", len(got), len(want))
		}
		for k := range got {
			if !(math.Abs(got[k]-want[k]) < 1e-6) {
				t.Fatalf("%d classes: item %d, class %d: %v, crowd-kit says %v", d, k/d, k%d, got[k], want[k])
			}
		}
	}
}
