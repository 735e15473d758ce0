package report

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/rng"
	"credence/model"
	"credence/train"
)

// simulated returns n items with two features, m votes each, and the true
// probabilities [N × 2]: a ring of "yes" whose edge moves from item to item.
func simulated(n, m int, seed uint64) (*dataset.Dataset, []float64) {
	r := rand.New(rng.New(seed, "report.simulated"))
	ds := &dataset.Dataset{
		Classes:  []string{"no", "yes"},
		Features: []dataset.Feature{{Name: "x", Kind: dataset.Numeric}, {Name: "y", Kind: dataset.Numeric}},
	}
	rows := &dataset.Memory{N: n, W: 2}
	var truth []float64
	for j := range n {
		x, y := 2*r.NormFloat64(), 2*r.NormFloat64()
		p := 1 / (1 + math.Exp(-2*(math.Hypot(x, y)-2.2)+0.8*r.NormFloat64()))
		ds.Items = append(ds.Items, fmt.Sprintf("item %d", j))
		rows.Values = append(rows.Values, float32(x), float32(y))
		counts := []float32{0, 0}
		for range m {
			if r.Float64() < p {
				counts[1]++
			} else {
				counts[0]++
			}
		}
		ds.Counts = append(ds.Counts, counts...)
		truth = append(truth, 1-p, p)
	}
	ds.Rows = rows
	return ds, truth
}

// TestTrained goes all the way from votes to a page. REPORT_OUT=file keeps
// the page, of a larger training, to look at.
func TestTrained(t *testing.T) {
	out := os.Getenv("REPORT_OUT")
	n, o := 200, train.Options{Widths: []int{8}, Epochs: 12, Ensemble: 2, Seed: 1, Version: "test"}
	if out != "" {
		n, o = 1500, train.Options{Epochs: 200, Ensemble: 5, Seed: 1, Version: "0.3.0"}
	}
	ds, _ := simulated(n, 3, 1)
	res, err := train.Fit(context.Background(), ds, o)
	if err != nil {
		t.Fatal(err)
	}
	m := res.Model
	m.Provenance.Votes = "counts, one column per class"
	test, truth := simulated(n, 3, 2)
	predicted, err := m.Predict(context.Background(), test, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := evaluate.NewInput(test)
	in.Predictions, in.Truth = predicted, truth
	if in.References, err = m.Provenance.References.Score(test, m.Transform); err != nil {
		t.Fatal(err)
	}
	result, err := evaluate.Evaluate(*in, evaluate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	page := written(t, Input{
		Title: "A simulated ring of votes", Subject: "simulated items in the plane", Classes: m.Classes, Network: "mlp",
		Members: len(m.Members), Method: m.Method, Parameters: m.Size(), Provenance: &m.Provenance,
		Result: result, Evaluated: "items drawn anew", Items: test.Items, Predictions: predicted, Votes: in.Votes,
		Commands: []string{"credence demo --seed 1 --out runs/demo"},
	})
	checkPage(t, page)
	if out != "" {
		if err := os.WriteFile(out, page, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
