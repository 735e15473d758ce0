package run

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"testing"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/rng"
	"credence/train"
)

// spreadAndMean draws items whose feature x1 moves the mean of the class probability, x2 only its spread, and x3
// neither, with m votes each:
//
//	p ~ Beta(cμ, c(1−μ)),  μ = σ(1.2 x1),  c = exp(1 + 1.2 x2).
func spreadAndMean(n, m int, seed uint64) *dataset.Dataset {
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Counts: make([]float32, 2*n)}
	rows := &dataset.Memory{N: n, W: 3, Values: make([]float32, 3*n)}
	for k := range 3 {
		ds.Features = append(ds.Features, dataset.Feature{Name: fmt.Sprintf("x%d", k+1)})
	}
	r := rand.New(rng.New(seed, "run.spreadAndMean"))
	gamma := func(a float64) float64 { // Marsaglia and Tsang's method, boosted below 1
		boost := 1.0
		if a < 1 {
			boost = math.Pow(r.Float64(), 1/a)
			a++
		}
		d := a - 1.0/3
		for {
			x := r.NormFloat64()
			v := 1 + x/math.Sqrt(9*d)
			if v = v * v * v; v > 0 && math.Log(r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
				return boost * d * v
			}
		}
	}
	for j := range n {
		ds.Items = append(ds.Items, strconv.Itoa(j))
		x := rows.Values[3*j : 3*j+3]
		for k := range x {
			x[k] = float32(r.NormFloat64())
		}
		mu, c := 1/(1+math.Exp(-1.2*float64(x[0]))), math.Exp(1+1.2*float64(x[1]))
		a, b := gamma(c*mu), gamma(c*(1-mu))
		for range m {
			class := 0
			if r.Float64()*(a+b) < a {
				class = 1
			}
			ds.Counts[2*j+class]++
		}
	}
	ds.Rows = rows
	return ds
}

// importanceOf trains a model with the default settings and returns the importance on other items, by feature.
func importanceOf(t *testing.T, seed uint64, o evaluate.ImportanceOptions) map[string]evaluate.ColumnImportance {
	t.Helper()
	fit, err := train.Fit(t.Context(), spreadAndMean(2000, 5, seed), train.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	ds := spreadAndMean(2000, 5, seed+1000)
	in, err := Input(fit.Model, ds)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Importance(context.Background(), fit.Model, ds, in, o)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]evaluate.ColumnImportance{}
	for _, c := range got.Columns {
		list[c.Name()] = c
	}
	cores := runtime.GOMAXPROCS(1)
	again, err := Importance(context.Background(), fit.Model, ds, in, o)
	runtime.GOMAXPROCS(cores)
	if err != nil || !reflect.DeepEqual(got, again) {
		t.Errorf("on one core: %+v, %v; expected %+v", again, err, got)
	}
	return list
}

// x1 is found for the mean and x2 for the spread, and neither for the other; x3 for neither. Set CREDENCE_SEEDS for
// more seeds than one. Four intervals should contain 0, each with probability 99%.
func TestImportanceFindsMeanAndSpread(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a model")
	}
	seeds, _ := strconv.Atoi(os.Getenv("CREDENCE_SEEDS"))
	seeds = max(seeds, 1)
	found := 0
	for seed := range seeds {
		list := importanceOf(t, uint64(seed)+1, evaluate.ImportanceOptions{Seed: 1})
		x1, x2, x3 := list["x1"], list["x2"], list["x3"]
		t.Logf("seed %d: mean %.4f %.4f %.4f, spread %.4f %.4f %.4f (±%.4f %.4f)", seed+1, x1.Mean.Value, x2.Mean.Value, x3.Mean.Value,
			x1.Spread.Value, x2.Spread.Value, x3.Spread.Value, x1.Spread.SE, x2.Spread.SE)
		if evaluate.Matters(x1.Mean) && !evaluate.Matters(x2.Mean) && !evaluate.Matters(x3.Mean) &&
			evaluate.Matters(x2.Spread) && !evaluate.Matters(x1.Spread) && !evaluate.Matters(x3.Spread) {
			found++
		}
		// ln c increases with x2, by 1.2 per unit in truth, and the mean with x1.
		c2, c1 := x2.Curve, x1.Curve
		if last := len(c2.Spread) - 1; !(c2.Spread[last] > c2.Spread[0]+1) {
			t.Errorf("seed %d: spread by x2: %v", seed+1, c2.Spread)
		}
		if last := len(c1.Mean) - 1; !(c1.Mean[last][1] > c1.Mean[0][1]+0.5) {
			t.Errorf("seed %d: mean by x1: %v", seed+1, c1.Mean)
		}
	}
	t.Logf("found in %d of %d seeds", found, seeds)
	if float64(found) < 0.9*float64(seeds) {
		t.Errorf("found in %d of %d seeds", found, seeds)
	}
}

// With many votes on few items, further votes belong on new items. Halves of items and of votes add up, and ratings follow
// the counts.
func TestAllocation(t *testing.T) {
	if testing.Short() {
		t.Skip("trains eleven models")
	}
	ds := spreadAndMean(200, 20, 5)
	o := train.Options{Seed: 2, Trees: "off", Transform: dataset.TransformOptions{Scores: "off"}}
	fit, err := train.Fit(t.Context(), ds, o)
	if err != nil {
		t.Fatal(err)
	}
	test := spreadAndMean(3000, 5, 6)
	in, err := Input(fit.Model, test)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Allocation(t.Context(), fit.Model, &Partition{Learn: ds, Items: ds}, o, test, in)
	if err != nil || !(a.Difference.Lo > 0) {
		t.Errorf("expected new items, found %v, %v", a, err)
	}
	if _, err := Allocation(t.Context(), fit.Model, &Partition{Learn: test, Items: test}, o, test, in); err == nil {
		t.Error("other data: expected an error")
	}
	named := *ds
	named.Raters = []string{"a", "b"}
	for i := range ds.Len() {
		for c, n := range ds.CountsOf(i) {
			for k := range int(n) {
				named.Ratings = append(named.Ratings, dataset.Rating{Item: int32(i), Rater: int32(k % 2), Class: int32(c)})
			}
		}
	}
	thin := halfVotes(&named, 1, 0)
	count := make([]float32, len(thin.Counts))
	for _, r := range thin.Ratings {
		count[2*r.Item+r.Class]++
	}
	if !reflect.DeepEqual(count, thin.Counts) || len(thin.Ratings) != votesOf(thin) {
		t.Error("ratings do not match the counts")
	}
	for i := range thin.Len() {
		if n := thin.VotesOf(i); n < 10 || n > 11 {
			t.Errorf("item %d: expected 10 or 11 votes, found %v", i, n)
		}
	}
}
