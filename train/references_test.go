package train

import (
	"bytes"
	"testing"
)

// TestReferences: a model contains the reference models that an evaluation compares it
// with, and the result their scores on the items that the model was scored on.
func TestReferences(t *testing.T) {
	for _, ensemble := range []int{1, 3} {
		o := quick()
		o.Ensemble = ensemble
		ds := simulated(90, 3, 1)
		res := fitted(t, ds, o)
		r, s := res.Model.Provenance.References, res.References
		if r == nil || r.Logistic == nil || len(r.Constant.Probabilities) != len(ds.Classes) {
			t.Fatalf("references %+v", r)
		}
		if s == nil || s.ConstantNLL == nil || s.LogisticDMNLL == nil {
			t.Fatalf("scores %+v", s)
		}
		// Both constants see the same votes, one of them all of them.
		if c := res.Model.Provenance.Scores.ConstantPerVote; *s.ConstantDMNLL < c || *s.ConstantDMNLL > c+0.1 {
			t.Errorf("one Dirichlet by folds %v, fitted to the same votes %v", *s.ConstantDMNLL, c)
		}
		o.NoReferences = true
		if res := fitted(t, ds, o); res.References != nil || res.Model.Provenance.References != nil {
			t.Error("references were fitted though they are left out")
		}
	}
}

// TestDataWeights: items have the weights of the data unless options give others.
func TestDataWeights(t *testing.T) {
	ds := simulated(80, 3, 1)
	o := quick()
	plain := encoded(t, fitted(t, ds, o).Model)
	weights := make([]float64, ds.Len())
	for j := range weights {
		weights[j] = float64(1 + j%3)
	}
	o.ItemWeights = weights
	want := encoded(t, fitted(t, ds, o).Model)
	ds.Weights, o.ItemWeights = weights, nil
	if got := encoded(t, fitted(t, ds, o).Model); !bytes.Equal(got, want) || bytes.Equal(got, plain) {
		t.Error("the weights of the data do not count as those of the options")
	}
}
