package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/mixture"
	"credence/model"
)

// drawn returns n items with m votes whose probability is that of p, a function of four columns and a site.
func drawn(n, m int, seed uint64, p func(x []float32, r *rand.Rand) float64) *dataset.Dataset {
	r := rand.New(rng.New(seed, "trees.test"))
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Counts: make([]float32, 2*n)}
	for _, name := range []string{"a", "b", "c", "d"} {
		ds.Features = append(ds.Features, dataset.Feature{Name: name, Kind: dataset.Numeric})
	}
	ds.Features = append(ds.Features, dataset.Feature{Name: "site", Kind: dataset.Categorical, Levels: strings.Split("pqrstuv", "")})
	rows := &dataset.Memory{N: n, W: 5}
	for j := range n {
		ds.Items = append(ds.Items, fmt.Sprint("item ", j))
		x := []float32{0, 0, 0, 0, float32(r.IntN(7))}
		for k := range 4 {
			x[k] = float32(r.NormFloat64())
		}
		q := p(x, r)
		for range m {
			c := 0
			if r.Float64() < q {
				c = 1
			}
			ds.Counts[2*j+c]++
		}
		if r.IntN(10) == 0 {
			x[3] = float32(math.NaN())
		}
		rows.Values = append(rows.Values, x...)
	}
	ds.Rows = rows
	return ds
}

// checkered has probabilities that jump along one column, which small networks do not find, and follow another, which
// they find sooner than trees.
func checkered(n, m int, seed uint64) *dataset.Dataset {
	return drawn(n, m, seed, func(x []float32, _ *rand.Rand) float64 {
		jump := []float64{-1.5, 1.5}[int(math.Floor(float64(2*x[0])))&1]
		return 1 / (1 + math.Exp(-jump-2*float64(x[1])))
	})
}

// TestTrees: where trees help they are part of the model, which predicts the same after it was written and read, is the
// same on any number of threads, and ends with the same bytes if it was stopped and resumed or trained member by member.
func TestTrees(t *testing.T) {
	ds := checkered(400, 3, 1)
	o := quick()
	o.NoReferences = true
	res := fitted(t, ds, o)
	record := res.Model.Provenance.Trees
	if record == nil || record.Share == 0 || res.Model.Trees == nil || len(record.Trees) != 2 || !(record.Gain > 2*record.GainSE) {
		t.Fatalf("trees %+v", record)
	}
	off := o
	off.Trees = "off"
	without := fitted(t, ds, off)
	if a, b := res.Model.Provenance.Scores.NLLPerVote, without.Model.Provenance.Scores.NLLPerVote; !(a < b-0.02) || without.Model.Trees != nil {
		t.Errorf("held-out loss %.4f, without trees %.4f", a, b)
	}
	want := encoded(t, res.Model)
	o.Threads = 3
	if !bytes.Equal(want, encoded(t, fitted(t, ds, o).Model)) {
		t.Error("another model with 3 threads")
	}
	o.Threads = 0
	loaded, err := model.Decode(bytes.NewReader(want), int64(len(want)))
	if err != nil {
		t.Fatal(err)
	}
	a, b := predicted(t, res.Model, ds), predicted(t, loaded, ds)
	for j := range a {
		if a[j].Mean[0] != b[j].Mean[0] || a[j].Variance[0] != b[j].Variance[0] || a[j].Dist.K()%8 != 0 {
			t.Fatalf("item %d: %v, read back %v, %d components", j, a[j].Mean, b[j].Mean, a[j].Dist.K())
		}
	}
	joined := o
	joined.Members = members(t, ds, o)
	if !bytes.Equal(want, encoded(t, fitted(t, ds, joined).Model)) {
		t.Error("another model from members")
	}
	o.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	ctx, cancel := context.WithCancel(context.Background())
	o.Progress = func(e Event) {
		if e.Epoch >= 5 {
			cancel()
		}
	}
	stopped, err := Fit(ctx, ds, o)
	if !errors.Is(err, ErrStopped) || stopped == nil || stopped.Model.Trees != nil || stopped.Model.Provenance.Trees.Reason.Kind != TreesUntried {
		t.Fatalf("stopped: %v", err)
	}
	o.Resume, o.Progress = true, nil
	if !bytes.Equal(want, encoded(t, fitted(t, ds, o).Model)) {
		t.Error("another model after it was resumed")
	}
}

func predicted(t *testing.T, m *model.Model, ds *dataset.Dataset) []head.Decoded {
	t.Helper()
	list, err := m.Predict(context.Background(), ds, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	means, err := m.Predict(context.Background(), ds, model.PredictOptions{MeansOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for j := range list {
		if math.Abs(list[j].Mean[0]-means[j].Mean[0]) > 1e-9 {
			t.Fatalf("item %d: mean %v, alone %v", j, list[j].Mean, means[j].Mean)
		}
	}
	return list
}

// TestTreesNoHelp: where votes follow one logit of the columns, networks are right and trees are not needed.
func TestTreesNoHelp(t *testing.T) {
	for seed := range uint64(3) {
		ds := drawn(500, 3, seed, func(x []float32, r *rand.Rand) float64 {
			return 1 / (1 + math.Exp(-float64(1.5*x[0]-x[1]+x[2])-0.5*r.NormFloat64()))
		})
		res := fitted(t, ds, Options{Widths: []int{16}, Epochs: 60, Ensemble: 5, Seed: seed, NoReferences: true})
		if s := res.Model.Provenance.Trees.Share; s > 0.1 {
			t.Errorf("seed %d: trees have a share of %v: %+v", seed, s, res.Model.Provenance.Trees)
		}
	}
}

// TestTreesOnly: trees alone predict, in an ensemble and as a single member, also from a model of trees alone.
func TestTreesOnly(t *testing.T) {
	ds := checkered(400, 3, 2)
	ds.Weights = make([]float64, ds.Len())
	for j := range ds.Weights {
		ds.Weights[j] = float64(1 + j%3)
		ds.Groups = append(ds.Groups, fmt.Sprint(j/2))
	}
	for _, ensemble := range []int{1, 3} {
		o := Options{Trees: "only", Ensemble: ensemble, Seed: 4, NoReferences: true}
		res := fitted(t, ds, o)
		m := res.Model
		if s := m.Provenance.Scores; m.Trees.Share != 1 || len(m.Trees.Forests) != ensemble || !(s.NLLPerVote < s.ConstantPerVote-0.05) {
			t.Errorf("%d members: share %v, loss %.4f, of a constant %.4f", ensemble, m.Trees.Share, s.NLLPerVote, s.ConstantPerVote)
		}
		if k := predicted(t, m, ds)[0].Dist.K(); k%ensemble != 0 || k > 3*ensemble { // a scale that is uncertain has three nodes
			t.Errorf("%d components of %d forests", k, ensemble)
		}
		o.Members = members(t, ds, o)
		if !bytes.Equal(encoded(t, m), encoded(t, fitted(t, ds, o).Model)) {
			t.Errorf("%d members: another model when joined", ensemble)
		}
		again := fitted(t, ds, Options{From: &WarmStart{Model: m, Data: ds}, Seed: 4, NoReferences: true})
		if again.Options.Trees != "only" || again.Model.Trees.Share != 1 {
			t.Errorf("from trees alone: %+v", again.Model.Provenance.Trees)
		}
		if _, err := Fit(context.Background(), ds, Options{From: &WarmStart{Model: m, Data: ds}, Trees: "auto"}); err == nil {
			t.Error("networks continue from a model without")
		}
	}
}

// TestTreesDeclined: what trees cannot do is an error if they are asked for, and recorded where they are left out.
func TestTreesDeclined(t *testing.T) {
	ds := checkered(60, 3, 3)
	for name, o := range map[string]Options{
		"method softmax": {Trees: "only", Head: head.Softmax{}},
		"network":        {Trees: "only", Network: "mlp"},
		"held out":       {Trees: "only", Ensemble: 1, Patience: -1, Epochs: 1},
		"one of":         {Trees: "some"},
	} {
		if _, err := Complete(ds, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	named := rated(120, []float64{-2, 0, 2}, 4)
	if _, err := Complete(named, Options{Trees: "only", Raters: "on"}); err == nil || !strings.Contains(err.Error(), "raters") {
		t.Errorf("trees alone with raters: error %v", err)
	}
	o := quick()
	o.Raters, o.NoReferences = "on", true
	if m := fitted(t, named, o).Model; m.Trees != nil || m.Provenance.Trees == nil || m.Provenance.Trees.Reason.Kind != TreesRaters {
		t.Errorf("with raters: %+v", m.Provenance.Trees)
	}
}

// TestTreesCoverage: intervals of a blend contain the true probabilities about as often as they claim, where means jump
// and spread does too. The standard error of the coverage over the seeds is about 2 points; 6 points off would be three.
func TestTreesCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("several fits")
	}
	inside, shares, items := 0.0, 0, 0.0
	for seed := range uint64(3) {
		var truth []float64
		ds := drawn(2400, 3, seed, func(x []float32, r *rand.Rand) float64 {
			mean, s := 0.3, 20.0
			if x[0] > 0.3 {
				mean = 0.7
			}
			if x[1] > 0 {
				s = 3
			}
			p := beta(r, mean*s, (1-mean)*s)
			truth = append(truth, p)
			return p
		})
		res := fitted(t, first(ds, 1200), Options{Seed: seed, NoReferences: true})
		if res.Model.Trees != nil {
			shares++
		}
		for j, a := range predicted(t, res.Model, ds)[1200:] {
			i := a.Reported().Class(1).Interval(mixture.TwoSided, 0.75)
			if items++; i.Lo <= truth[1200+j] && truth[1200+j] <= i.Hi {
				inside++
			}
		}
	}
	if c := inside / items; math.Abs(c-0.75) > 0.06 || shares < 2 {
		t.Errorf("75%% intervals contain %.1f%%, with trees in %d of 3 fits", 100*c, shares)
	}
}

// beta draws from a beta distribution, as the ratio of gamma variables (Marsaglia and Tsang 2000).
func beta(r *rand.Rand, a, b float64) float64 {
	gamma := func(a float64) float64 {
		boost := 1.0
		if a < 1 {
			boost = math.Pow(r.Float64(), 1/a)
			a++
		}
		d := a - 1./3
		for {
			x := r.NormFloat64()
			v := math.Pow(1+x/math.Sqrt(9*d), 3)
			if v > 0 && math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
				return boost * d * v
			}
		}
	}
	x := gamma(a)
	return x / (x + gamma(b))
}
