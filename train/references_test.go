package train

import "testing"

// TestReferences: a model carries the references that an evaluation sets it
// beside, and the result their scores on the items that the model was scored on.
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
