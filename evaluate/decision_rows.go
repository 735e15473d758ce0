package evaluate

import (
	"fmt"

	"credence/internal/words"
)

// DecisionRow is a score for a table: its key in JSON and CSV, its name, and its threshold, unknown if it has none.
type DecisionRow struct {
	Key, Name string
	Threshold Number
	IntervalEstimate
}

// Rows returns the scores in the order of a table: first those without a threshold.
func (s *DecisionSummary) Rows() []DecisionRow {
	rows := []DecisionRow{
		{"prevalence", "prevalence", unknown, s.Prevalence},
		{"auc", "AUC", unknown, s.AUC},
		{"calibration_intercept", "calibration intercept", unknown, s.Intercept},
		{"calibration_slope", "calibration slope", unknown, s.Slope},
		{"calibration_joint_intercept", "intercept with the slope", unknown, s.JointIntercept},
		{"observed_expected", "observed / expected", unknown, s.OE},
	}
	for i := range s.Thresholds {
		t := &s.Thresholds[i]
		at := Number(t.Threshold)
		rows = append(rows, DecisionRow{"sensitivity", "sensitivity", at, t.Sensitivity}, DecisionRow{"specificity", "specificity", at, t.Specificity},
			DecisionRow{"ppv", "PPV", at, t.PPV}, DecisionRow{"npv", "NPV", at, t.NPV},
			DecisionRow{"lr_positive", "LR+", at, t.LRPositive}, DecisionRow{"lr_negative", "LR−", at, t.LRNegative},
			DecisionRow{"net_benefit", "net benefit", at, t.NetBenefit})
	}
	return rows
}

// Basis states what decisions are compared with.
func (d *Decisions) Basis() string {
	items := words.Plural(d.Items, "item")
	switch d.Reference {
	case ReferenceGold:
		if d.Column != "" {
			return fmt.Sprintf("the labels of column %s, on %s", d.Column, items)
		}
		return "gold labels, on " + items
	case ReferenceMajority:
		return fmt.Sprintf("the most-voted class, on %s; a tie of two counts one half", items)
	}
	return fmt.Sprintf("the votes on %s, each item by its share of votes: the opinion of a further rater", items)
}

// Properties states what the scores estimate, given the reference.
func (d *Decisions) Properties() string {
	if d.Reference != ReferenceVote {
		return "All items count equally."
	}
	return "All items count equally. Net benefit and prevalence are unbiased from votes, however few there are per item; sensitivity, specificity, " +
		"predictive values, likelihood ratios, AUC and calibration are consistent: their bias vanishes as the number of items grows."
}

// SmallSample states the bias of the distances from the calibration curve.
const SmallSample = "ICI is corrected for sampling noise. E50, E90 and Emax are not: " +
	"with few items they are too large, because noise alone moves the curve away from the prediction."
