package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
)

// shownRaters is the number of raters that are listed; JSON has all.
const shownRaters = 20

// perRater prints how well the votes of each rater are predicted.
func (r *evaluateReport) perRater(w *printout.Page) {
	p := r.result.PerRater
	if p == nil {
		return
	}
	title := fmt.Sprintf("Votes of %s predicted for their rater, and by the mean", words.Plural(len(p.Raters), "rater"))
	if p.Unknown > 0 {
		title += fmt.Sprintf(" (%s by unknown raters left out)", words.Plural(p.Unknown, "vote"))
	}
	t := w.NewTable(title, 0, 1, 2, 3)
	t.Add("", "per rater", "mean", "gain", "95% interval")
	add := func(name string, own, mean evaluate.Estimate, gain evaluate.Difference) {
		t.Add("  "+name, plusMinus(own, 4), plusMinus(mean, 4), plusMinus(gain.Estimate, 4), decimal(gain.Lo, 4)+" to "+decimal(gain.Hi, 4))
	}
	add("error rate", p.ErrorRate, p.MeanErrorRate, p.Gain)
	add("loss per vote", p.Loss, p.MeanLoss, p.LossGain)
	w.Table(t)
	raters := slices.Clone(p.Raters)
	slices.SortStableFunc(raters, func(a, b evaluate.RaterError) int { return cmp.Compare(b.Votes, a.Votes) })
	list := w.NewTable("Error rate by rater", 0)
	list.Add("  rater", "votes", "per rater", "mean")
	for _, x := range raters[:min(len(raters), shownRaters)] {
		list.Add("  "+printout.Ellipsis(x.Rater, 24), strconv.Itoa(x.Votes), fmt.Sprintf("%.3f", x.ErrorRate), fmt.Sprintf("%.3f", x.MeanErrorRate))
	}
	w.Table(list)
	if n := len(raters) - shownRaters; n > 0 {
		w.Paragraph("", fmt.Sprintf("These have the most votes; %s more are in --format json.", words.Thousands(n)))
	}
}

// perRaterScores returns the scores per rater, under their names in CSV.
func perRaterScores(p *evaluate.PerRater) []evaluate.ScoreRow {
	if p == nil {
		return nil
	}
	return []evaluate.ScoreRow{
		{Key: "rater_error_rate", Estimate: p.ErrorRate}, {Key: "rater_mean_error_rate", Estimate: p.MeanErrorRate}, {Key: "rater_gain", Estimate: p.Gain.Estimate},
		{Key: "rater_nll_per_vote", Estimate: p.Loss}, {Key: "rater_mean_nll_per_vote", Estimate: p.MeanLoss}, {Key: "rater_nll_gain", Estimate: p.LossGain.Estimate},
	}
}

// warnSelected warns where people voted on some of the judged items only: often those on which judges disagree.
func warnSelected(m *model.Model, r *evaluate.Result) {
	if r.VotedItems < r.Items && len(dataset.JudgesOf(m.Transform.Schema())) > 0 {
		r.Warnings = append(r.Warnings, evaluate.Message{Kind: "%s", Args: []any{fmt.Sprintf(
			"for selected items: people voted on %s of %s items; where these were not drawn at random, dispersion, agreement and scores describe them alone",
			words.Thousands(r.VotedItems), words.Thousands(r.Items))}})
	}
}
