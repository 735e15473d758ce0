package main

import (
	"strconv"

	"credence/internal/printout"
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
		t.Add(strconv.Itoa(p.Votes), words.Thousands(p.Items), plusMinus(p.Ratio, 2), plusMinus(p.Loss, 4))
	}
	w.Table(t)
}
