package evaluate

import (
	"fmt"
	"slices"
)

// The reference standards that decisions are scored against ([DecisionOptions.Reference]).
const (
	// ReferenceVote takes an item's share of votes: the opinion of a further rater.
	ReferenceVote = "vote"
	// ReferenceMajority takes the most-voted class; of t tied classes each counts 1/t.
	ReferenceMajority = "majority"
	// ReferenceGold takes the labels in [Input.Gold].
	ReferenceGold = "gold"
)

// DecisionOptions requests [Decisions]: scores of decisions on one class, which are computed if Positive is set.
type DecisionOptions struct {
	// Positive is the class to detect.
	Positive string
	// Reference is the reference standard; "" means [ReferenceVote].
	Reference string
	// Column is the name of the column of gold labels, for the record.
	Column string
	// Thresholds are the probabilities of the positive class from which an item counts as positive; nil means 0.5. The
	// threshold at which the expected costs of both decisions are equal is c₊/(c₊ + c₋), c₊ the cost of a false
	// positive and c₋ that of a false negative.
	Thresholds []float64
	// Margin, if positive, is the noninferiority margin of comparisons ([Input.Rivals]).
	Margin float64
}

func (o DecisionOptions) complete(classes []string) (DecisionOptions, error) {
	if !slices.Contains(classes, o.Positive) {
		return o, fmt.Errorf("positive class: expected one of %q, found %q", classes, o.Positive)
	}
	switch o.Reference {
	case "":
		o.Reference = ReferenceVote
	case ReferenceVote, ReferenceMajority, ReferenceGold:
	default:
		return o, fmt.Errorf("reference: expected %s, %s or %s, found %q", ReferenceVote, ReferenceMajority, ReferenceGold, o.Reference)
	}
	if o.Thresholds == nil {
		o.Thresholds = []float64{0.5}
	}
	for _, t := range o.Thresholds {
		if !(t > 0 && t < 1) {
			return o, fmt.Errorf("threshold: expected a probability between 0 and 1, found %v", t)
		}
	}
	if !(o.Margin >= 0 && o.Margin < 1) {
		return o, fmt.Errorf("noninferiority margin: expected a difference between 0 and 1, found %v", o.Margin)
	}
	return o, nil
}

// Decisions are the scores of decisions on one class: discrimination, decisions at thresholds, calibration and net
// benefit.
//
// An item j has the predicted probability s_j of the positive class and the reference y_j in [0, 1], by default its
// share of votes, and all items count equally. Against votes the quantity that is estimated is the agreement with a
// further rater. Net benefit and prevalence are means of y over items, so that they are unbiased from votes, however
// few; sensitivity, predictive values, AUC and calibration are ratios of such means, and consistent as items increase.
//
// Standard errors are those of the influence of items, summed within groups ([Input.Groups]); the bands of
// ROC and PR are by bootstrap. Intervals are at 95%.
type Decisions struct {
	Positive  string `json:"positive"`
	Reference string `json:"reference"`
	Column    string `json:"reference_column,omitempty"` // of gold labels

	DecisionSummary // of all items

	// AveragePrecision is Σ_k (R_k − R_{k−1}) P_k over thresholds, R recall and P precision.
	AveragePrecision IntervalEstimate `json:"average_precision"`
	// ROC is sensitivity by 1 − specificity, PR precision by recall, each with a pointwise band.
	ROC []BandPoint `json:"roc"`
	PR  []BandPoint `json:"precision_recall"`
	// Smooth is the smoothed calibration curve.
	Smooth SmoothCalibration `json:"smooth_calibration"`
	// Benefit is the decision curve.
	Benefit []BenefitPoint `json:"decision_curve"`
	// Confusion, [d × d], has the share of the reference for each class (column) among the items predicted as each
	// class (row), as numbers of items; Classes are the names.
	Classes   []string   `json:"classes"`
	Confusion [][]Number `json:"confusion"`

	By          []DecisionColumn `json:"by,omitempty"`
	Comparisons []Comparison     `json:"comparisons,omitempty"`
	// Pseudonymous reports whether the names of raters have been replaced by pseudonyms.
	Pseudonymous bool `json:"pseudonymous,omitempty"`
}

// DecisionSummary are the scores of a set of items.
type DecisionSummary struct {
	Items int `json:"items"` // with a reference
	Units int `json:"units"` // of them, items or groups that are independent
	// Prevalence is the mean of the reference.
	Prevalence IntervalEstimate `json:"prevalence"`
	// AUC is the probability that the item with a positive vote is ranked above that with a negative one,
	//
	//	Σ_{i≠j} y_i (1−y_j) [s_i > s_j] / Σ_{i≠j} y_i (1−y_j),  ties ½.
	AUC        IntervalEstimate    `json:"auc"`
	Thresholds []DecisionThreshold `json:"thresholds"`

	// Intercept is calibration in the large: a in logit P(y) = a + logit s. Slope is b in a' + b logit s, and
	// JointIntercept a' (the intercept of rms::val.prob).
	Intercept      IntervalEstimate `json:"calibration_intercept"`
	Slope          IntervalEstimate `json:"calibration_slope"`
	JointIntercept IntervalEstimate `json:"calibration_joint_intercept"`
	// OE is observed over expected: Σy / Σs.
	OE IntervalEstimate `json:"observed_expected"`
}

// DecisionThreshold are the scores of deciding for the positive class from a probability on.
type DecisionThreshold struct {
	Threshold float64 `json:"threshold"`
	// TP … TN are numbers of items; an item with two positive votes of three is two thirds of one.
	TP          Number           `json:"tp"`
	FP          Number           `json:"fp"`
	FN          Number           `json:"fn"`
	TN          Number           `json:"tn"`
	Sensitivity IntervalEstimate `json:"sensitivity"`
	Specificity IntervalEstimate `json:"specificity"`
	PPV         IntervalEstimate `json:"ppv"`
	NPV         IntervalEstimate `json:"npv"`
	LRPositive  IntervalEstimate `json:"lr_positive"`
	LRNegative  IntervalEstimate `json:"lr_negative"`
	// NetBenefit is TP/n − FP/n · t/(1−t).
	NetBenefit IntervalEstimate `json:"net_benefit"`
}

// BandPoint is a point of a curve with the ends of its 95% band.
type BandPoint struct {
	X  Number `json:"x"`
	Y  Number `json:"y"`
	Lo Number `json:"lo"`
	Hi Number `json:"hi"`
}

// SmoothCalibration is the calibration curve: the reference as a smooth function of the prediction.
type SmoothCalibration struct {
	Smoother string      `json:"smoother"`
	Curve    []BandPoint `json:"curve"`
	// ICI is the mean distance between curve and prediction over items, after removing sampling noise; ICIPlain,
	// E50, E90 and EMax are the mean, the median, the 90th percentile and the maximum as they are. Those are too
	// large with few items: noise alone moves the curve away from the prediction.
	ICI      Estimate `json:"ici"`
	ICIPlain Number   `json:"ici_plain"`
	E50      Number   `json:"e50"`
	E90      Number   `json:"e90"`
	EMax     Number   `json:"emax"`
}

// BenefitPoint is a point of the decision curve: the net benefit of the prediction, and that of treating all items as
// positive. Treating none has the net benefit 0.
type BenefitPoint struct {
	Threshold float64          `json:"threshold"`
	Model     IntervalEstimate `json:"model"`
	TreatAll  IntervalEstimate `json:"treat_all"`
}

// DecisionColumn are the scores by the levels of a column.
type DecisionColumn struct {
	Column        string          `json:"column"`
	Levels        []DecisionLevel `json:"levels"`
	Heterogeneity []Heterogeneity `json:"heterogeneity"`
}

// DecisionLevel are the scores of the items of one level.
type DecisionLevel struct {
	Name string `json:"name"`
	DecisionSummary
}

// Heterogeneity is a random-effects model (DerSimonian and Laird 1986) of one score over levels: the mean of the levels'
// true scores, their standard deviation, the share of the observed variance that is not chance, and the
// p-value for equal scores. Tau is on the scale on which levels are averaged, see [Heterogeneity.Scale].
type Heterogeneity struct {
	Score     string           `json:"score"` // its key: auc, sensitivity, …
	Threshold Number           `json:"threshold"`
	Scale     string           `json:"scale"` // logit, log or identity
	Levels    int              `json:"levels"`
	Common    IntervalEstimate `json:"common"`
	Tau       Number           `json:"tau"`
	I2        Number           `json:"i2"`
	PValue    Number           `json:"p_value"`
}

// Rival is what a model is compared with on the same items: another model or a rater.
type Rival struct {
	Name string
	// Means, [N], are the class probabilities of another model; an empty row means that it has none.
	Means [][]float64
	// Labels are the votes of a rater, at most one per item; Means is then nil. Against votes and majority
	// an item's reference excludes the rater's own vote, for model and rater alike.
	Labels []RivalLabel
}

// RivalLabel is the class that a rater voted for on an item.
type RivalLabel struct{ Item, Class int32 }

// Comparison are the paired differences between a model and a rival on the items that both decide on.
type Comparison struct {
	Rival       string             `json:"rival"`
	Rater       bool               `json:"rater"` // the rival is a rater
	Items       int                `json:"items"`
	Units       int                `json:"units"`
	Differences []PairedDifference `json:"differences"`
}

// PairedDifference is the difference of a score between model and rival: positive if the model's is higher.
type PairedDifference struct {
	Score     string `json:"score"`     // its key: auc, sensitivity, …
	Threshold Number `json:"threshold"` // unknown if the score has none
	Model     Number `json:"model"`
	Rival     Number `json:"rival"`
	Difference
	// Margin is the noninferiority margin, unknown if there is none; NoninferiorP is the one-sided p-value that the
	// model is worse by the margin or more. The model is not inferior at the level 2.5% if Lo > −Margin.
	Margin       Number `json:"margin"`
	NoninferiorP Number `json:"noninferior_p_value"`
}

// Noninferior reports whether the model is not inferior by the margin, at the one-sided level of 2.5%.
func (d *PairedDifference) Noninferior() bool { return d.Margin.Known() && d.Lo > -d.Margin }
