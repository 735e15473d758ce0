package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/rng"
	"credence/nn"
)

// items returns n items with two features and a few votes.
func items(n int) *dataset.Dataset {
	r := rand.New(rng.New(1, "model.test"))
	ds := &dataset.Dataset{
		Classes: []string{"no", "maybe", "yes"}, Counts: make([]float32, 3*n),
		Features: []dataset.Feature{{Name: "age", Kind: dataset.Numeric}, {Name: "site", Kind: dataset.Categorical, Levels: []string{"a", "b"}}},
	}
	rows := &dataset.Memory{N: n, W: 2}
	for j := range n {
		ds.Items = append(ds.Items, fmt.Sprint("item ", j))
		rows.Values = append(rows.Values, float32(50+10*r.NormFloat64()), float32(r.IntN(2)))
		ds.Counts[3*j+r.IntN(3)] = float32(j % 3)
	}
	ds.Rows = rows
	return ds
}

// small returns a model of two random networks with running statistics.
func small(t testing.TB) *Model {
	t.Helper()
	ds := items(20)
	tr, err := dataset.Fit(ds, []int{0, 1, 2, 3, 4, 5, 6, 7}, dataset.TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{
		Classes: ds.Classes, Method: head.Mixture{Components: 2, Limit: 20}, Transform: tr,
		Calibration: &calibrate.Calibration{Scale: 1.5, Resolution: 0.01, Ratio: 1.4, RatioSE: 0.2, Classes: []float64{1, 2, 1}, Items: 12},
		Provenance:  Provenance{Data: "abc", Seed: 7, Kernel: nn.CPU{}.Name(), Warnings: []evaluate.Message{{Kind: "%s", Args: []any{`a "quoted" <warning>`}}}},
	}
	for i := range uint64(2) {
		member, err := nn.New(nn.Seq(&nn.Dense{Out: 5}, &nn.BatchNorm{}, &nn.ReLU{}, &nn.Dense{Out: 8}),
			InputShape(tr), nn.Options{Seed: 1, Member: i})
		if err != nil {
			t.Fatal(err)
		}
		m.Members = append(m.Members, member)
		r := rand.New(rng.New(2, "model.test", i))
		for _, s := range member.States {
			for k := range s.Value {
				s.Value[k] = 0.5 + r.Float32()
			}
		}
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m
}

func predict(t testing.TB, m *Model, ds *dataset.Dataset, o PredictOptions) []head.Decoded {
	t.Helper()
	got, err := m.Predict(context.Background(), ds, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestPredict: the mixture is that of the members' outputs, decoded by the head,
// with weights that sum to 1/M per member.
func TestPredict(t *testing.T) {
	m, ds := small(t), items(40)
	m.Calibration = nil
	in, err := m.Transform.Over(ds)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, in.Width())
	for j, a := range predict(t, m, ds, PredictOptions{}) {
		p := a.Dist
		if err := in.ReadRow(j, x); err != nil {
			t.Fatal(err)
		}
		if p.K() != 4 {
			t.Fatalf("%d components, want 4", p.K())
		}
		for i, member := range m.Members {
			session, err := member.NewSession(1)
			if err != nil {
				t.Fatal(err)
			}
			out, err := session.Forward(x, nn.Pass{})
			if err != nil {
				t.Fatal(err)
			}
			share := 1 / (1 + math.Exp(float64(out[1]-out[0])))
			w, alpha := p.Component(2 * i)
			if math.Abs(w-share/2) > 1e-6 || math.Abs(alpha[2]-math.Exp(float64(out[4]))) > 1e-6*alpha[2] {
				t.Errorf("item %d, member %d: weight %v, want %v; α %v, want %v", j, i, w, share/2, alpha[2], math.Exp(float64(out[4])))
			}
		}
	}
}

// TestPredictReported: predictions are calibrated.
func TestPredictReported(t *testing.T) {
	m, ds := small(t), items(30)
	c := m.Calibration
	got := predict(t, m, ds, PredictOptions{})
	m.Calibration = nil
	for j, a := range predict(t, m, ds, PredictOptions{}) {
		dist, err := a.Dist.Rescale(c.Scale)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got[j].Dist, dist) || got[j].Resolution != c.Resolution {
			t.Errorf("item %d: %+v", j, got[j])
		}
	}
}

// TestPredictSame: the bits of a prediction depend neither on the batch nor on
// the number of threads.
func TestPredictSame(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	m, ds := small(t), items(100)
	want := predict(t, m, ds, PredictOptions{})
	for _, batch := range []int{1, 7, 64} {
		runtime.GOMAXPROCS(batch%3 + 1)
		if got := predict(t, m, ds, PredictOptions{BatchValues: batch * m.itemSize(), Threads: batch % 4}); !reflect.DeepEqual(got, want) {
			t.Errorf("in batches of %d: other bits", batch)
		}
	}
}

func TestPredictRefuses(t *testing.T) {
	m, ds := small(t), items(5)
	ds.Features = []dataset.Feature{{Name: "weight", Kind: dataset.Numeric}, ds.Features[1]}
	if _, err := m.Predict(context.Background(), ds, PredictOptions{}); err == nil || !strings.Contains(err.Error(), `feature "age" is missing`) {
		t.Errorf("another feature: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Predict(ctx, items(50), PredictOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestKeepBad: an item that cannot be predicted has the reason, and the others have the
// predictions that they have without it.
func TestKeepBad(t *testing.T) {
	m := small(t)
	for i := range m.Members[0].Values {
		m.Members[0].Values[i] *= 50 // so that a sum of products overflows
	}
	ds := items(20)
	want, err := m.Predict(context.Background(), ds, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ds.Rows.(*dataset.Memory).Values[2*7] = 3e38
	for _, batch := range []int{0, 1, 3} {
		if _, err := m.Predict(context.Background(), ds, PredictOptions{BatchValues: batch * m.itemSize()}); err == nil || !strings.HasPrefix(err.Error(), `item "item 7": `) {
			t.Errorf("batch %d: %v", batch, err)
		}
		got, err := m.Predict(context.Background(), ds, PredictOptions{BatchValues: batch * m.itemSize(), KeepBad: true})
		if err != nil {
			t.Fatal(err)
		}
		for j := range got {
			if (got[j].Err != nil) != (j == 7) || j != 7 && !reflect.DeepEqual(got[j].Mean, want[j].Mean) {
				t.Errorf("batch %d, item %d: %v, error %v; want %v", batch, j, got[j].Mean, got[j].Err, want[j].Mean)
			}
		}
	}

	// A row that cannot be read is no other.
	ds.Rows = broken{ds.Rows}
	if _, err := m.Predict(context.Background(), ds, PredictOptions{}); err == nil || !strings.Contains(err.Error(), `item "item 3": torn`) {
		t.Errorf("a torn row: %v", err)
	}
	got, err := m.Predict(context.Background(), ds, PredictOptions{KeepBad: true})
	if err != nil || got[3].Err == nil || got[3].Err.Error() != "torn" || got[4].Err != nil {
		t.Errorf("a torn row: %v, %v", got[3].Err, err)
	}
}

// broken has a row that cannot be read.
type broken struct{ dataset.Rows }

func (b broken) ReadRow(i int, dst []float32) error {
	if i == 3 {
		return errors.New("torn")
	}
	return b.Rows.ReadRow(i, dst)
}
