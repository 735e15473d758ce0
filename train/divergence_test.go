package train

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"credence/dataset"
)

// TestDivergence: a learning rate that is too large is halved until training
// recovers, with a note; one that is far too large ends with an error and advice.
func TestDivergence(t *testing.T) {
	ds := simulated(100, 3, 1)
	o := quick()
	o.Rate, o.Optimizer, o.Clip, o.Epochs, o.Patience = 3e4, "sgd", -1, 20, 20
	var notes []string
	o.Progress = func(e Event) {
		if e.Note != "" {
			notes = append(notes, e.Note)
		}
	}
	_, err := Fit(context.Background(), ds, o)
	if !errors.Is(err, ErrDiverged) || !strings.Contains(err.Error(), "lower the learning rate") {
		t.Errorf("rate %g: %v", o.Rate, err)
	}
	if len(notes) < maxHalvings || !strings.Contains(notes[0], "learning rate halved to 1.5e+04") {
		t.Errorf("notes %q", notes)
	}
	// A rate at which few steps suffice to break, and a tenth of it works.
	o.Rate = 20
	res, err := Fit(context.Background(), ds, o)
	if err != nil {
		t.Fatal(err)
	}
	p := res.Model.Provenance
	if !strings.Contains(fmt.Sprint(p.Warnings), "training diverged") {
		t.Errorf("warnings %q; history %+v", p.Warnings, p.Runs[0].History)
	}
	if p.Scores.NLLPerVote > p.Scores.ConstantPerVote+0.05 {
		t.Errorf("after the recovery: scores %+v", p.Scores)
	}
}

// TestExtremeFeature: one absurd value among the features does not break a fit.
func TestExtremeFeature(t *testing.T) {
	ds := simulated(100, 3, 1)
	ds.Rows.(*dataset.Memory).Values[30] = 1e30
	res := fitted(t, ds, quick())
	if s := res.Model.Provenance.Scores; !(s.NLLPerVote < s.ConstantPerVote+0.2) {
		t.Errorf("scores %+v", s)
	}
}
