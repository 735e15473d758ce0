package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"credence/evaluate"
)

// withDecisions evaluates decisions on the last class, by two columns, against a rater and another model.
func withDecisions(t *testing.T, in *Input) {
	t.Helper()
	n, d := len(in.Predictions), len(in.Classes)
	e := evaluate.Input{Predictions: in.Predictions, Votes: in.Votes, Classes: in.Classes,
		Rivals:  []evaluate.Rival{{Name: "runs/other", Means: make([][]float64, n)}, {Name: "Ann"}},
		Columns: []evaluate.Column{{Name: "Site", Values: make([]string, n)}, {Name: "Sex", Values: make([]string, n)}}}
	for j := range n {
		e.Columns[0].Values[j], e.Columns[1].Values[j] = fmt.Sprintf("<%d>", j%3), []string{"f", "m"}[j/3%2]
		e.Rivals[0].Means[j] = in.Predictions[(j+1)%n].Mean
		e.Rivals[1].Labels = append(e.Rivals[1].Labels, evaluate.RivalLabel{Item: int32(j), Class: int32(j % d)})
	}
	r, err := evaluate.Evaluate(e, evaluate.Options{Bootstrap: evaluate.Bootstrap{Replicates: 50},
		Decisions: evaluate.DecisionOptions{Positive: in.Classes[d-1], Thresholds: []float64{0.3, 0.5}, Margin: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	in.Result = r
}

// The section on decisions has its tables and figures, and escapes names.
func TestDecisionsSection(t *testing.T) {
	in := made(t, 250, []string{"benign", "un&sure", "malignant"}, false)
	withDecisions(t, &in)
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"Decisions on malignant</h2>", "the opinion of a further rater", "unbiased from votes", "ROC curve for malignant: AUC 0.", "Precision and recall",
		"Calibration curve for malignant", "lowess, span 2/3", "Decision curve for malignant", "Ranking and calibration by level", "Decisions by level at the threshold 0.3",
		"<th scope=\"row\">runs/other: AUC</th>", "rater Ann: sensitivity at 0.5", "The model is not inferior if the interval lies above −0.1.", "un&amp;sure", "&lt;2&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(page, "NaN") || strings.Contains(page, "<2>") {
		t.Error("NaN or an unescaped name in the page")
	}
	in.Result.Decisions = nil
	b.Reset()
	if err := Write(&b, in); err != nil || strings.Contains(b.String(), "Decisions on") {
		t.Errorf("a section without decisions, or %v", err)
	}
}

// Scores that could not be computed are dashes.
func TestDecisionsUnknown(t *testing.T) {
	in := made(t, 12, []string{"benign", "malignant"}, false)
	withDecisions(t, &in)
	nan := evaluate.Number(math.NaN())
	none := evaluate.IntervalEstimate{Estimate: evaluate.Estimate{Value: nan, SE: nan}, Lo: nan, Hi: nan}
	d := in.Result.Decisions
	d.AUC, d.Slope, d.OE, d.ROC, d.PR, d.Smooth.Curve = none, none, none, nil, nil, nil
	d.Thresholds[0].Sensitivity, d.Thresholds[0].LRPositive, d.Thresholds[0].NetBenefit = none, none, none
	for i := range d.By[0].Levels {
		d.By[0].Levels[i].AUC, d.By[0].Levels[i].Thresholds[0].Sensitivity = none, none
	}
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "NaN") || !strings.Contains(b.String(), "<td class=\"value\">—</td>") {
		t.Error("NaN, or no dash, in the page")
	}
}
