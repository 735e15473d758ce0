package main

import (
	"credence/evaluate"
	"credence/internal/printout"
)

// furtherScores returns the scores that only some results have, under their names in CSV.
func furtherScores(r *evaluate.Result) []evaluate.ScoreRow {
	var rows []evaluate.ScoreRow
	if r.Ordered != nil {
		rows = append(rows, evaluate.ScoreRow{Key: "rps", Estimate: r.Ordered.RPS}, evaluate.ScoreRow{Key: "quadratic_kappa", Estimate: r.Ordered.Kappa})
	}
	if r.LeWiDi != nil {
		for _, x := range r.LeWiDi.Rows() {
			x.Key = "lewidi_" + x.Key
			rows = append(rows, x)
		}
	}
	return append(rows, perRaterScores(r.PerRater)...)
}

// lewidi prints the scores of the LeWiDi tasks.
func (r *evaluateReport) lewidi(w *printout.Page) {
	if r.result.LeWiDi == nil {
		return
	}
	t := w.NewTable("LeWiDi scores, averaged over items: lower is better", 0, 2)
	for _, x := range r.result.LeWiDi.Rows() {
		t.Add("  "+x.Key, plusMinus(x.Estimate, 4), x.Name)
	}
	w.Table(t)
}

// addRanked adds the scores of ordered classes to a table.
func addRanked(t *printout.Table, r *evaluate.Result) {
	if r.Ordered != nil {
		t.Add("  RPS", plusMinus(r.Ordered.RPS, 3), "ranked probability score per vote, 0 to 1")
		t.Add("  quadratic kappa", plusMinus(r.Ordered.Kappa, 3), "agreement of the predicted class with a vote")
	}
}
