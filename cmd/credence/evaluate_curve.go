package main

import (
	"io"
	"strconv"

	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/predict"
)

// curve shows what fewer votes on fewer items say.
func (r *evaluateReport) curve(w *printout.Page) {
	if len(r.result.Curve) == 0 {
		return
	}
	w.Heading("With fewer votes per item, and fewer items")
	t := printout.NewTable()
	t.Add("  votes", "items", "dispersion ratio", "loss per vote")
	for _, p := range r.result.Curve {
		t.Add(strconv.Itoa(p.Votes), words.Thousands(p.Items), plusMinus(p.Ratio, 2), plusMinus(p.Loss, 4))
	}
	w.Table(t)
}

// writeCurve writes it as CSV.
func writeCurve(w io.Writer, d digits, curve []evaluate.CurvePoint) error {
	number, whole := predict.Number, predict.Whole
	columns := []predict.Column{
		{Name: "votes_per_item", Kind: whole}, {Name: "share", Kind: number}, {Name: "items", Kind: whole},
		{Name: "dispersion_ratio", Kind: number}, {Name: "dispersion_ratio_se", Kind: number},
		{Name: "nll_per_vote", Kind: number}, {Name: "nll_per_vote_se", Kind: number},
	}
	var rows [][]any
	for _, p := range curve {
		rows = append(rows, []any{int64(p.Votes), known(p.Share), int64(p.Items),
			known(p.Ratio.Value), known(p.Ratio.SE), known(p.Loss.Value), known(p.Loss.SE)})
	}
	return predict.WriteRows(w, predict.Form{Name: "csv", Digits: d.Digits}, columns, rows)
}
