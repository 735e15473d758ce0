package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"credence/evaluate"
)

// Intervals get a check mark only if the ratio is near one with certainty; too wide is no
// better than too narrow, and an undetermined ratio is reported as such.
func TestVerdictOnIntervals(t *testing.T) {
	for _, c := range []struct {
		ratio, se float64
		differ    bool
		mark, say string
	}{
		{1, 0.1, false, "good", "Yes: the variance in pairs of votes is 1.00 times the predicted variance (95% interval 0.80 to 1.20)."},
		{1.16, 0.06, false, "careful", "Nearly: they are slightly too narrow; the variance in pairs of votes is 1.16 times the predicted variance (95% interval 1.04 to 1.28)."},
		{0.85, 0.06, false, "careful", "Nearly: they are slightly too wide"},
		{1, 0.1, true, "careful", "not everywhere"},
		{1.18, 0.1, false, "good", "Yes"},
		{1.2, 0.11, false, "unknown", "Unclear"},
		{1, 0.3, false, "unknown", "(95% interval 0.40 to 1.60)"},
		{1.3, 0.1, false, "careful", "Somewhat too narrow"},
		{2, 0.3, false, "bad", "too narrow"},
		{0.75, 0.1, false, "careful", "Somewhat too wide"},
		{0.4, 0.1, false, "bad", "too wide"},
		{-0.17, 0.69, false, "unknown", "Unclear: the variance in pairs of votes is 0.00 times the predicted variance (95% interval 0.00 to 1.21)."},
		{math.NaN(), math.NaN(), false, "unknown", "items with two votes"},
	} {
		r := &evaluate.Result{DispersionRatio: evaluate.IntervalEstimate{
			Estimate: evaluate.Estimate{Value: evaluate.Number(c.ratio), SE: evaluate.Number(c.se)}, Lo: evaluate.Number(max(0, c.ratio-2*c.se)), Hi: evaluate.Number(c.ratio + 2*c.se)}}
		if c.differ {
			r.DispersionBy = []evaluate.DispersionColumn{{PValue: 0.001}}
		}
		v := intervals(r)
		if v.Mark != c.mark || !strings.Contains(v.Answer, c.say) || strings.Contains(v.Answer, "safe") {
			t.Errorf("ratio %v ± %v: %s, %q; want %s, %q", c.ratio, c.se, v.Mark, v.Answer, c.mark, c.say)
		}
	}
}

// The worst stratum is named: the one whose interval is farthest from one, not that with the smallest p-value. Strata
// with too few votes are not judged.
func TestVerdictOnStrata(t *testing.T) {
	stratum := func(column string, ratio, se, adjusted evaluate.Number) evaluate.DispersionStratum {
		return evaluate.DispersionStratum{Column: column, From: 1, To: 2, Adjusted: adjusted, Dispersion: evaluate.Dispersion{Name: "below its median", PValue: adjusted / 4,
			Ratio: evaluate.IntervalEstimate{Estimate: evaluate.Estimate{Value: ratio, SE: se}, Lo: ratio - 2*se, Hi: ratio + 2*se}}}
	}
	unknown := evaluate.Number(math.NaN())
	right, few := stratum("a", 1.05, 0.1, 0.6), stratum("b", 3, 0.9, unknown)
	for _, c := range []struct {
		strata    []evaluate.DispersionStratum
		mark, say string
	}{
		{nil, "unknown", "no stratum has enough votes"},
		{[]evaluate.DispersionStratum{few}, "unknown", "no stratum has enough votes"},
		{[]evaluate.DispersionStratum{right, few}, "good", "Yes: intervals have the right width in every stratum examined. The worst is a, below its median (1 to 2)."},
		{[]evaluate.DispersionStratum{right, stratum("x", 1.3, 0.3, 0.7)}, "unknown", "Unclear"},
		{[]evaluate.DispersionStratum{right, stratum("x", 1.16, 0.06, 0.1)}, "unknown",
			"The worst is doubtful. In the stratum x, below its median (1 to 2), the observed spread is 1.16 (95% CI 1.04 to 1.28) of the predicted spread."},
		{[]evaluate.DispersionStratum{stratum("x", 0.85, 0.06, 0.1), right}, "unknown", "The worst is doubtful. In the stratum x,"},
		{[]evaluate.DispersionStratum{right, stratum("x", 1.16, 0.09, 0.2)}, "good", "Yes"},
		{[]evaluate.DispersionStratum{right, stratum("x", 1.45, 0.1, 0.001)}, "bad",
			"No. In the stratum x, below its median (1 to 2), the observed spread is 1.45 (95% CI 1.25 to 1.65) of the predicted spread."},
		{[]evaluate.DispersionStratum{right, stratum("x", 0.75, 0.05, 0.001)}, "careful", "Not quite. In the stratum x,"},
		{[]evaluate.DispersionStratum{right, stratum("x", 1.1, 0.02, 1e-6), stratum("y", 0.4, 0.1, 1e-3)}, "bad", "No. In the stratum y,"},
		{[]evaluate.DispersionStratum{stratum("x", 1.1, 0.02, 1e-6)}, "careful", "Not quite"},
	} {
		r := &evaluate.Result{DispersionStrata: c.strata}
		if v := strata(r); v.Mark != c.mark || !strings.Contains(v.Answer, c.say) {
			t.Errorf("%v: %s, %q; want %s, %q", c.strata, v.Mark, v.Answer, c.mark, c.say)
		}
		rows, _ := strataTable(r)
		if n := len(c.strata); len(rows) != n || slices.ContainsFunc(c.strata, func(x evaluate.DispersionStratum) bool { return x.TooFew() }) && rows[n-1].PValue != "too few votes" {
			t.Errorf("%v: rows %v", c.strata, rows)
		}
	}
}

// A small average error does not hide a rare class that is predicted twice too often.
func TestVerdictOnProbabilities(t *testing.T) {
	class := func(name string, expected, observed, se, p evaluate.Number) evaluate.ClassCalibration {
		return evaluate.ClassCalibration{Class: name, Expected: expected, Observed: observed, Ratio: evaluate.Estimate{Value: observed / expected, SE: se}, PValue: p}
	}
	common := class("well", 0.96, 0.98, 0.005, 0.001)
	for _, c := range []struct {
		ece, se   evaluate.Number
		classes   []evaluate.ClassCalibration
		mark, say string
	}{
		{0.01, 0.005, []evaluate.ClassCalibration{class("ill", 0.5, 0.51, 0.05, 0.8)}, "good", "Yes"},
		{0.015, 0.005, []evaluate.ClassCalibration{common, class("ill", 0.04, 0.02, 0.1, 0.0001)}, "bad", "No: not for “ill” (predicted 4.0% of the votes, observed 2.0%)."},
		{0.015, 0.005, []evaluate.ClassCalibration{common, class("ill", 0.04, 0.02, 0.4, 0.2)}, "careful", "Unclear for “ill”"},
		{0.08, 0.005, []evaluate.ClassCalibration{common, class("ill", 0.04, 0.03, 0.4, 0.2)}, "bad", "error is 8.0"},
		{0.01, 0.1, nil, "careful", "show little"},
	} {
		v := probabilities(&evaluate.Result{ECE: evaluate.Estimate{Value: c.ece, SE: c.se}, ClassCalibration: c.classes})
		if v.Mark != c.mark || !strings.Contains(v.Answer, c.say) {
			t.Errorf("error %v ± %v, classes %v: %s, %q; want %s, %q", c.ece, c.se, c.classes, v.Mark, v.Answer, c.mark, c.say)
		}
	}
}

// The verdicts of a page can be parsed from it.
func TestVerdictsOfPage(t *testing.T) {
	in := made(t, 120, []string{"no", `<yes> & "so"`}, true)
	got := Verdicts(written(t, in))
	want := verdicts(in.Result)
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%d verdicts, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("verdict %d is %q, want %q", i, got[i], want[i])
		}
	}
	if Verdicts([]byte("<li>another page</li>")) != nil {
		t.Error("verdicts of a page that has none")
	}
}
