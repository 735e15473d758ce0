package evaluate_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"credence/evaluate"
)

// full returns a result in which every list has an element, so that every key is present.
func full() *evaluate.Result {
	between := func(value, se, lo, hi evaluate.Number) evaluate.IntervalEstimate {
		return evaluate.IntervalEstimate{Estimate: evaluate.Estimate{Value: value, SE: se}, Lo: lo, Hi: hi}
	}
	difference := &evaluate.Difference{IntervalEstimate: between(-0.25, 0.125, -0.5, 0), PValue: 0.0625}
	agreement := evaluate.Agreement{Items: 3, Predicted: 0.5, Observed: 0.625, SE: 0.125}
	dispersion := evaluate.Dispersion{Name: "ill", Items: 3, Variance: 0.25, Observed: 0.375, Ratio: between(1.5, 0.5, 0.5, 3), PValue: 0.25}
	coverage := evaluate.Coverage{Class: "ill", Level: 0.95, Items: 4, Empirical: 1, SE: 0, Width: 0.25}
	stratum := coverage
	stratum.Stratum = "narrowest third"
	return &evaluate.Result{
		Items: 4, VotedItems: 3, Votes: 10, Units: 2, Replicates: 1000, Seed: 7,
		NLL: evaluate.Estimate{Value: 0.5, SE: 0.25}, FloorNLL: evaluate.Estimate{Value: evaluate.Number(math.NaN()), SE: evaluate.Number(math.Inf(1))},
		LessConstantDM: difference, LessLogisticDM: difference, LessLogistic: difference, LessCommon: difference,
		DispersionRatio: between(1.5, 0.5, 0.5, 3), DispersionP: 0.25,
		DispersionBins: []evaluate.Dispersion{dispersion}, DispersionClasses: []evaluate.Dispersion{dispersion},
		DispersionBy: []evaluate.DispersionColumn{{Column: "Site", Levels: []evaluate.DispersionLevel{{Dispersion: dispersion, Shrunk: evaluate.Estimate{Value: 1.25, SE: 0.25}}},
			Common: evaluate.Estimate{Value: 1, SE: 0.125}, Tau: 0.25, PValue: 0.5}},
		DispersionStrata: []evaluate.DispersionStratum{{Column: "age", Dispersion: dispersion, From: 18, To: 52, Adjusted: 0.5}}, StrataLeftOut: 2,
		ClassCalibration: []evaluate.ClassCalibration{{Class: "ill", Observed: 0.25, Expected: 0.5, Ratio: evaluate.Estimate{Value: 0.5, SE: 0.25}, PValue: 0.125}},
		Agreement:        agreement, AgreementBins: []evaluate.Agreement{agreement},
		Reliability: []evaluate.Reliability{{Class: "ill", Bins: []evaluate.ReliabilityBin{
			{Items: 3, Votes: 9, Predicted: 0.5, Observed: 0.625, SE: 0.125, Lo: 0.375, Hi: 0.75}}}},
		PITPValue: 0.5,
		PIT: evaluate.PIT{PValue: 0.5, Distance: 0.25, Coordinates: []evaluate.PITCoordinate{
			{Class: "ill", Items: 1, Distance: 0.25, PValue: 0.5, Adjusted: 0.5, Values: []float64{0.75}}}},
		Level: 0.95, AtLeast: 1, Vacuous: 2,
		Widths: []evaluate.WidthGroup{{Group: "mixed", Class: "", Items: 3, Mean: evaluate.Estimate{Value: 0.5}, Median: evaluate.Estimate{Value: 0.5}}},
		Abstention: []evaluate.AbstentionPoint{{Answered: 0.5, Threshold: 0.25, Accuracy: evaluate.Estimate{Value: 1}, NLL: evaluate.Estimate{Value: 0.5, SE: 0.25},
			HandedAccuracy: evaluate.Estimate{Value: 0.5}, HandedNLL: evaluate.Estimate{Value: 1}}},
		AbstentionBy: "p_top", AbstentionTarget: &evaluate.AbstentionTarget{Wanted: 0.9, Threshold: 0.75, Lo: 0.5, Hi: 1, Answered: 0.5, Accuracy: 0.9, Reached: 1},
		Ordered: &evaluate.OrderedScores{RPS: evaluate.Estimate{Value: 0.25, SE: 0.125}, Kappa: evaluate.Estimate{Value: 0.5, SE: 0.25}}, Decisions: fullDecisions(between(0.5, 0.125, 0.25, 0.75)),
		Coverage: []evaluate.Coverage{coverage}, CoverageStrata: []evaluate.Coverage{stratum},
		Curve:    []evaluate.CurvePoint{{Votes: 2, Share: 0.5, Items: 3, Ratio: evaluate.Estimate{Value: 1.25, SE: 0.5}, Loss: evaluate.Estimate{Value: 0.5, SE: 0.125}}},
		Warnings: evaluate.Messages{{Kind: "%s", Args: []any{"only 3 items have votes: every number is rough"}}},
	}
}

// fullDecisions returns scores of decisions in which every list has an element.
func fullDecisions(e evaluate.IntervalEstimate) *evaluate.Decisions {
	summary := evaluate.DecisionSummary{Items: 3, Units: 2, Prevalence: e, AUC: e, Intercept: e, Slope: e, JointIntercept: e, OE: e,
		Thresholds: []evaluate.DecisionThreshold{{Threshold: 0.5, TP: 1, FP: 0.5, FN: 0.5, TN: 1, Sensitivity: e, Specificity: e, PPV: e, NPV: e, LRPositive: e, LRNegative: e, NetBenefit: e}}}
	band := []evaluate.BandPoint{{X: 0.5, Y: 0.75, Lo: 0.5, Hi: 1}}
	return &evaluate.Decisions{Positive: "ill", Reference: "gold", Column: "biopsy", DecisionSummary: summary, AveragePrecision: e, ROC: band, PR: band,
		Smooth:  evaluate.SmoothCalibration{Smoother: "lowess", Curve: band, ICI: e.Estimate, ICIPlain: 0.25, E50: 0.25, E90: 0.5, EMax: 0.75},
		Benefit: []evaluate.BenefitPoint{{Threshold: 0.25, Model: e, TreatAll: e}}, Classes: []string{"ill", "well"}, Confusion: [][]evaluate.Number{{1, 0.5}, {0.5, 1}},
		By: []evaluate.DecisionColumn{{Column: "Site", Levels: []evaluate.DecisionLevel{{Name: "A", DecisionSummary: summary}},
			Heterogeneity: []evaluate.Heterogeneity{{Score: "auc", Threshold: evaluate.Number(math.NaN()), Scale: "logit", Levels: 2, Common: e, Tau: 0.25, I2: 0.5, PValue: 0.125}}}},
		Comparisons: []evaluate.Comparison{{Rival: "Ann", Rater: true, Items: 3, Units: 2, Differences: []evaluate.PairedDifference{{Score: "sensitivity", Threshold: 0.5,
			Model: 0.75, Rival: 0.5, Difference: evaluate.Difference{IntervalEstimate: e, PValue: 0.25}, Margin: 0.0625, NoninferiorP: 0.125}}}},
	}
}

func fullCheck() *evaluate.CheckResult {
	estimate := evaluate.IntervalEstimate{Estimate: evaluate.Estimate{Value: 0.25, SE: 0.125}, Lo: 0, Hi: 0.5}
	return &evaluate.CheckResult{
		Items: 4, VotedItems: 3, Votes: 10,
		VotesPerItem:  []evaluate.VotesPerItem{{Votes: 2, Items: 1}},
		Classes:       []evaluate.ClassUse{{Class: "ill", Votes: 4, Share: 0.5, Agreement: estimate}},
		PairAgreement: estimate, AlphaNominal: estimate, AlphaOrdinal: estimate, AlphaInterval: estimate, FleissKappa: estimate,
		Confusions: []evaluate.Confusion{{First: "ill", Second: "well", Share: 1, Chance: 0.5}},
		Raters: []evaluate.Rater{{Rater: 1, Name: "Ann", Votes: 3, Agreement: 0.5, Expected: 0.75, AgreementP: 0.25, UsageP: 0.5,
			Excess: []float64{0.25, -0.25}}},
		RaterGraph: &evaluate.RaterGraph{Raters: 2, Votes: 6, Unnamed: 1, MeanVotes: 3, MedianVotes: 3, LeastVotes: 2, MostVotes: 4, Components: 1,
			Groups: []evaluate.RaterGroup{{Raters: 2, Names: []string{"Ann", "Bob"}, Items: 3, Votes: 6, Modelled: true}}, BiasSE: 0.5, BiasSEMost: 0.75,
			Modelled: 2, Left: &evaluate.LeftRaters{Raters: 1, Votes: 1, First: []evaluate.RaterVotes{{Name: "Cy", Votes: 1}}},
			Constant: []evaluate.ConstantRater{{Rater: 1, Name: "Bob", Votes: 2, Class: "ill", Chance: 0.25}}, Separable: true, Reasons: []evaluate.Message{{Kind: "few"}}},
		Support:   evaluate.Support{Intervals: "weak", PairedItems: 3, MixedItems: 2, Order: 2, RatioSE: 0.375, RatioSEHigh: 0.5, Reasons: evaluate.Messages{{Kind: "few"}}},
		Designs:   []evaluate.Design{{Items: 6, Votes: 2, RatioSE: 0.25, Needed: 6, Loss: 0.5, LossSE: 0.0625, Intervals: "yes"}},
		Warnings:  evaluate.Messages{{Kind: "few"}},
		Contested: []evaluate.ContestedItem{{Item: "a", Agreement: 0.25, Votes: []float64{2, 2}}},
	}
}

// TestJSONKeys: the JSON that users' scripts read is unchanged, key by key and in
// order, and can be read back. Values that could not be computed are null.
func TestJSONKeys(t *testing.T) {
	for name, v := range map[string]any{"result.json": full(), "check.json": fullCheck()} {
		got, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		path := "testdata/" + name
		if os.Getenv("UPDATE_JSON") != "" {
			if err := os.WriteFile(path, append(got, '\n'), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(want)) != string(got) {
			t.Errorf("%s was\n%s\nand is now\n%s", name, want, got)
		}
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := json.Unmarshal(got, back); err != nil {
			t.Fatal(err)
		}
		if again, err := json.MarshalIndent(back, "", " "); err != nil || string(again) != string(got) {
			t.Errorf("%s reads back as\n%s", name, again)
		}
	}
}
