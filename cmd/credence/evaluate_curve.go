package main

import (
	"io"
	"strconv"

	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/table"
	"credence/internal/words"
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
		t.Add(strconv.Itoa(p.Votes), words.Thousands(p.Items), plusMinus(p.Ratio, p.RatioSE, 2), plusMinus(p.Loss, p.LossSE, 4))
	}
	w.Table(t)
}

// writeCurve writes it as CSV.
func writeCurve(w io.Writer, d digits, curve []evaluate.CurvePoint) error {
	number, whole := table.ParquetNumber, table.ParquetWhole
	columns := []predictColumn{
		{name: "votes_per_item", kind: whole}, {name: "share", kind: number}, {name: "items", kind: whole},
		{name: "dispersion_ratio", kind: number}, {name: "dispersion_ratio_se", kind: number},
		{name: "nll_per_vote", kind: number}, {name: "nll_per_vote_se", kind: number},
	}
	var rows [][]any
	for _, p := range curve {
		rows = append(rows, []any{int64(p.Votes), known(p.Share), int64(p.Items),
			known(p.Ratio), known(p.RatioSE), known(p.Loss), known(p.LossSE)})
	}
	return writeRows(w, "csv", d, columns, rows)
}
