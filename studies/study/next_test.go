package study

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/rng"
	"credence/internal/simulation"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// nextItems is the number of items that are trained on, with two votes each, of candidates without votes, and of the
// votes to be planned for the candidates.
const nextItems = 600

// nextErrors are mean squared errors of the probability: of candidates and of fresh items.
type nextErrors struct {
	before, fresh             float64 // by the model
	updated                   float64 // by the same model, given the new votes
	retrained, retrainedFresh float64 // by a model trained on them too
}

// TestNextRetrained measures what votes planned as credence next plans them gain: the error on the candidates given their votes,
// which is what it counts, the error after training on them as well, and that on other items. With CREDENCE_NEXT_SEEDS=16 it prints
// the table of docs/importance.md. Given the votes, the error is lower than with an even allocation by 3.1 standard deviations
// over seeds, so that a seed other than this fixed one would fail with a probability of 1e-3.
func TestNextRetrained(t *testing.T) {
	if testing.Short() {
		t.Skip("trains three models")
	}
	seeds := 1
	if s, err := strconv.Atoi(os.Getenv("CREDENCE_NEXT_SEEDS")); err == nil {
		seeds = s
	}
	columns := make([][]float64, 9)
	for seed := range uint64(seeds) {
		planned, even := nextRetrained(t, 1+seed)
		for k, x := range []float64{planned.before, planned.updated, even.updated, planned.retrained, even.retrained, planned.retrainedFresh, even.retrainedFresh,
			planned.updated - even.updated, planned.retrainedFresh - even.retrainedFresh} {
			if k == 5 || k == 6 {
				x -= planned.fresh
			}
			columns[k] = append(columns[k], x)
		}
		if seeds == 1 && !(planned.updated < even.updated && planned.retrained < planned.before && even.retrained < even.before) {
			t.Errorf("planned %+v, even %+v", planned, even)
		}
	}
	for k, name := range []string{"before", "planned, given the votes", "even", "planned, retrained", "even", "fresh items: planned, change", "even, change",
		"given the votes: planned − even", "fresh items: planned − even"} {
		mean, square := 0.0, 0.0
		for _, x := range columns[k] {
			mean += x / float64(seeds)
		}
		for _, x := range columns[k] {
			square += (x - mean) * (x - mean)
		}
		t.Logf("%-32s %8.5f ± %.5f", name, mean, math.Sqrt(square/float64(max(seeds-1, 1))/float64(seeds)))
	}
}

func nextRetrained(t *testing.T, seed uint64) (planned, even nextErrors) {
	draw := func(items, votes int, at uint64) (*simulation.Simulation, *dataset.Dataset) {
		s, err := simulation.Simulate(simulation.Spread, items, votes, 10*seed+at)
		if err != nil {
			t.Fatal(err)
		}
		ds := s.Dataset()
		for j := range ds.Items {
			ds.Items[j] = strconv.FormatUint(at, 10) + "-" + ds.Items[j]
		}
		return s, ds
	}
	_, learn := draw(nextItems, 2, 0)
	truth, candidates := draw(nextItems, 0, 1)
	truthFresh, fresh := draw(4*nextItems, 0, 2)
	fit := func(ds *dataset.Dataset) *model.Model {
		res, err := train.Fit(t.Context(), ds, train.Options{Seed: seed, NoReferences: true})
		if err != nil {
			t.Fatal(err)
		}
		return res.Model
	}
	first := fit(learn)
	dists := reportedDists(t, first, candidates)
	votes := min(10, evaluate.MostVotes(2))
	if first.Calibration.ScaleSE > 0 {
		votes = 3 // as credence next does where the width is uncertain
	}
	gains, err := evaluate.Gains(dists, nextItems, votes)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := evaluate.Allocate(gains, nextItems)
	if err != nil {
		t.Fatal(err)
	}
	base := nextErrors{before: squaredError(dists, truth.P), fresh: squaredError(reportedDists(t, first, fresh), truthFresh.P)}
	judge := func(votes []int) nextErrors {
		e := base
		ds := *candidates
		ds.Counts = make([]float32, 2*nextItems)
		for j, n := range votes {
			r := rand.New(rng.New(seed, "next.test", uint64(j)))
			for range n {
				if r.Float64() < truth.P[j] {
					ds.Counts[2*j]++
				} else {
					ds.Counts[2*j+1]++
				}
			}
		}
		e.updated = squaredError(given(t, dists, &ds), truth.P)
		second := fit(appended(learn, &ds))
		e.retrained = squaredError(given(t, reportedDists(t, second, candidates), &ds), truth.P)
		e.retrainedFresh = squaredError(reportedDists(t, second, fresh), truthFresh.P)
		return e
	}
	one := make([]int, nextItems)
	for j := range one {
		one[j] = 1
	}
	return judge(plan.Votes), judge(one)
}

// reportedDists returns the reported distributions of items.
func reportedDists(t *testing.T, m *model.Model, ds *dataset.Dataset) []*mixture.Dirichlet {
	t.Helper()
	decoded, err := m.Predict(t.Context(), ds, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dists := make([]*mixture.Dirichlet, len(decoded))
	for j := range decoded {
		dists[j] = decoded[j].ReportedDist()
	}
	return dists
}

// given returns the distributions given votes.
func given(t *testing.T, dists []*mixture.Dirichlet, ds *dataset.Dataset) []*mixture.Dirichlet {
	t.Helper()
	list := make([]*mixture.Dirichlet, len(dists))
	for j, dist := range dists {
		counts := []float64{float64(ds.Counts[2*j]), float64(ds.Counts[2*j+1])}
		var err error
		if list[j], err = dist.Update(counts); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func squaredError(dists []*mixture.Dirichlet, p []float64) float64 {
	sum := 0.0
	for j, dist := range dists {
		e := dist.Mean(nil)[0] - p[j]
		sum += e * e / float64(len(p))
	}
	return sum
}

// appended returns the items of both.
func appended(a, b *dataset.Dataset) *dataset.Dataset {
	c := *a
	x, y := a.Rows.(*dataset.Memory), b.Rows.(*dataset.Memory)
	c.Items = append(append([]string{}, a.Items...), b.Items...)
	c.Counts = append(append([]float32{}, a.Counts...), b.Counts...)
	c.Rows = &dataset.Memory{N: x.N + y.N, W: x.W, Values: append(append([]float32{}, x.Values...), y.Values...)}
	return &c
}
