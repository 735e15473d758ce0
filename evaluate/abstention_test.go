package evaluate

import (
	"math"
	"strings"
	"testing"

	"credence/mixture"
)

// sureAndUnsure returns ten items of two classes, from certain to uncertain of the
// first. All votes are for it except on the 6th, 8th and 10th item.
func sureAndUnsure(t *testing.T) Input {
	t.Helper()
	var dists []*mixture.Dirichlet
	in := Input{Votes: Votes{Classes: 2}}
	for j := range 10 {
		dists = append(dists, dirichlet(t, 20-1.9*float64(j), 2))
		if j%2 == 1 && j >= 5 {
			in.Votes.Counts = append(in.Votes.Counts, 0, 2)
		} else {
			in.Votes.Counts = append(in.Votes.Counts, 2, 0)
		}
	}
	in.Predictions = predictionsOf(dists)
	return in
}

func TestAbstention(t *testing.T) {
	in := sureAndUnsure(t)
	for _, by := range []string{ByTop, ByWidth} {
		r, err := Evaluate(in, Options{Steps: 10, AbstainBy: by, Accuracy: 0.8})
		if err != nil {
			t.Fatal(err)
		}
		if r.AbstentionBy != by || len(r.Abstention) != 10 {
			t.Fatalf("by %s, %d points", r.AbstentionBy, len(r.Abstention))
		}
		half, all := r.Abstention[4], r.Abstention[9]
		near(t, "answered", float64(half.Answered), 0.5, 1e-15)
		near(t, "accuracy", float64(half.Accuracy.Value), 1, 0)
		near(t, "accuracy of what is handed on", float64(half.HandedAccuracy.Value), 0.4, 1e-15)
		near(t, "accuracy of all", float64(all.Accuracy.Value), 0.7, 1e-15)
		near(t, "loss of all", float64(all.NLL.Value), float64(r.NLL.Value), 1e-14)
		near(t, "loss of both", float64(half.NLL.Value+half.HandedNLL.Value), 2*float64(r.NLL.Value), 1e-14)
		if all.HandedAccuracy.Value.Known() || all.HandedNLL.Value.Known() {
			t.Errorf("nothing is handed on, with accuracy %v and loss %v", all.HandedAccuracy, all.HandedNLL)
		}
		// Of the first seven 6 are right, of the first eight 6, of nine 7.
		target := r.AbstentionTarget
		near(t, "share that reaches 0.8", float64(target.Answered), 0.7, 1e-15)
		near(t, "accuracy reached", float64(target.Accuracy), 6./7, 1e-15)
		near(t, "threshold", float64(target.Threshold), float64(r.Abstention[6].Threshold), 0)
		if !(target.Lo <= target.Threshold) || target.Hi < target.Threshold {
			t.Errorf("threshold %v from %v to %v", target.Threshold, target.Lo, target.Hi)
		}
		// The distributions of the first half are more certain.
		if a, b := r.Abstention[0].Threshold, r.Abstention[9].Threshold; (by == ByTop) != (a > b) {
			t.Errorf("by %s: thresholds from %v to %v", by, a, b)
		}
	}
	r, err := Evaluate(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first := in.Predictions[0].Dist.TopClass(nil)[0]
	near(t, "probability of being on top", float64(r.Abstention[0].Threshold), first, 1e-12)
}

// An accuracy that cannot be reached has no threshold.
func TestAbstentionOutOfReach(t *testing.T) {
	in := sureAndUnsure(t)
	for j := range 10 {
		in.Votes.Item(j)[0], in.Votes.Item(j)[1] = 1, 1
	}
	r, err := Evaluate(in, Options{Accuracy: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	if x := r.AbstentionTarget; x.Threshold.Known() || x.Lo.Known() || x.Reached != 0 {
		t.Errorf("target %+v", x)
	}
	for _, o := range []Options{{Accuracy: 1.5}, {Accuracy: math.NaN()}, {AbstainBy: "mood"}} {
		if _, err := Evaluate(in, o); err == nil || !strings.Contains(err.Error(), "accuracy: expected") && !strings.Contains(err.Error(), `expected p_top or width, found "mood"`) {
			t.Errorf("error %v", err)
		}
	}
}
