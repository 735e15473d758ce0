package plot

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// reportFigures are those of a report, with numbers as they come.
func reportFigures() map[string]Figure {
	r := rand.New(rand.NewPCG(3, 4))
	curves := Training{Title: "Loss by epoch", YLabel: "loss per vote"}
	for i, name := range []string{"fold 0", "fold 1", "fold 2", "fold 3", "fold 4", "refit"} {
		run := TrainingRun{Name: name, Chosen: 30 + 4*i}
		for e := range 45 + 2*i {
			x := float64(e)
			run.Loss = append(run.Loss, 0.42+0.4*math.Exp(-x/8)+0.005*r.NormFloat64())
			if name != "refit" {
				run.HeldOut = append(run.HeldOut, 0.46+0.01*float64(i)+0.35*math.Exp(-x/8)+0.0015*max(0, x-30)+0.004*r.NormFloat64())
			}
		}
		curves.Runs = append(curves.Runs, run)
	}
	reliability := Comparison{Title: "Are probabilities what they say?", XLabel: "predicted probability of yes",
		YLabel: "share of votes for yes", Unit: true, Series: []PointSeries{{}}}
	for i := range 15 {
		p := (float64(i) + 0.5) / 15
		y := min(max(p+0.04*r.NormFloat64(), 0), 1)
		reliability.Series[0].Points = append(reliability.Series[0].Points, IntervalPoint{p, y, max(0, y-0.08), min(1, y+0.08)})
	}
	coverage := Comparison{Title: "How often intervals hold the true probability", XLabel: "level of the interval", YLabel: "share of items",
		Equal: "as promised", Same: true}
	for i, name := range []string{"benign", "unclear", "malignant"} {
		s := PointSeries{Label: name}
		for _, l := range []float64{0.75, 0.8, 0.85, 0.9, 0.95} {
			y := l - 0.02*float64(i-1)
			s.Points = append(s.Points, IntervalPoint{l, y, y - 0.02, y + 0.02})
		}
		coverage.Series = append(coverage.Series, s)
	}
	dispersion := Comparison{Title: "Is the spread what it says?", XLabel: "predicted variance", YLabel: "seen in pairs of votes", Series: []PointSeries{{}}}
	for i := range 10 {
		v := 0.01 * float64(i+1)
		d := v * (1 + 0.3*r.NormFloat64())
		dispersion.Series[0].Points = append(dispersion.Series[0].Points, IntervalPoint{v, d, d - 0.02, d + 0.02})
	}
	pit := ValueSeries{}
	for range 400 {
		pit.Values = append(pit.Values, r.Float64())
	}
	var three []ValueSeries
	for _, name := range []string{"benign", "unclear", "probably malignant"} {
		s := ValueSeries{Label: name}
		for range 300 {
			s.Values = append(s.Values, math.Pow(r.Float64(), 1.2))
		}
		three = append(three, s)
	}
	scatter := Scatter{Title: "Probability and width of its interval", XLabel: "predicted probability of yes", YLabel: "width of the 95% interval",
		Groups: []ScatterGroup{{Label: "all votes for yes"}, {Label: "all votes against"}, {Label: "votes differ"}}}
	for range 600 {
		p := r.Float64()
		g := &scatter.Groups[2]
		switch u := r.Float64(); {
		case u < p*p*p:
			g = &scatter.Groups[0]
		case u > 1-(1-p)*(1-p)*(1-p):
			g = &scatter.Groups[1]
		}
		g.Points = append(g.Points, [2]float64{p, 2 * p * (1 - p) * (0.8 + 0.2*r.Float64())})
	}
	return map[string]Figure{
		"coverage-curves": coverageCurves(),
		"intervals":       subjects(),
		"bars":            sites(),
		"forest-few":      raters(5),
		"forest-many":     raters(300),
		"lines-by-epoch":  linesByEpoch(),
		"bands":           bands(),
		"bands-cut":       bandsCut(),
		"forest-levels":   levelsForest(),
		"training":        curves, "reliability": reliability, "coverage": coverage, "dispersion": dispersion,
		"histogram":  Histogram{Title: "Do votes follow the predicted distributions?", XLabel: "rank of the votes in their predicted distribution", Series: []ValueSeries{pit}},
		"histograms": Histogram{XLabel: "rank", Series: three}, "scatter": scatter,
	}
}

// coverageCurves are those of two methods with the same levels.
func coverageCurves() Coverage {
	d := Coverage{Title: "How often intervals hold the true probability", Percent: true,
		XLabel: "nominal coverage (%)", YLabel: "empirical coverage (%)"}
	for i, name := range []string{"one network", "ensemble of five"} {
		s := LineSeries{Label: name}
		for _, l := range []float64{0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99} {
			s.X, s.Y = append(s.X, l), append(s.Y, l+(1-l)*(0.3*float64(i)-0.1))
			s.SE = append(s.SE, 0.02*(1-l)+0.002)
		}
		d.Series = append(d.Series, s)
	}
	return d
}

func linesByEpoch() Lines {
	d := Lines{Title: "Coverage of 95% intervals by epochs", XLabel: "epochs", YLabel: "empirical coverage (%)",
		Target: 0.95, TargetLabel: "as promised", Percent: true}
	for i, name := range []string{"one network", "ensemble of five"} {
		s := LineSeries{Label: name}
		for e := 1; e <= 14; e++ {
			s.X, s.Y = append(s.X, float64(e)), append(s.Y, 0.97-0.01*float64(e)+0.005*float64(e*i))
			s.SE = append(s.SE, 0.001*float64(e))
		}
		d.Series = append(d.Series, s)
	}
	return d
}

// bands is a ROC curve with marks.
func bands() Bands {
	s := BandSeries{Label: "model"}
	for i := range 101 {
		x := float64(i) / 100
		y := math.Pow(x, 0.3)
		s.X, s.Y, s.Lo, s.Hi = append(s.X, x), append(s.Y, y), append(s.Lo, max(0, y-0.08)), append(s.Hi, min(1, y+0.06))
	}
	return Bands{Title: "ROC curve", XLabel: "1 − specificity", YLabel: "sensitivity", Unit: true, Equal: "no discrimination", BandLabel: "95% band", Series: []BandSeries{s},
		Marks: []BandMarks{{"thresholds", [][2]float64{{0.2, 0.617}}}, {"raters", [][2]float64{{0.3, 0.6}, {0.15, 0.5}}}}}
}

// bandsCut is a decision curve.
func bandsCut() Bands {
	model, all := BandSeries{Label: "model"}, BandSeries{Label: "treat all"}
	for i := 1; i < 100; i++ {
		t := float64(i) / 100
		y, z := 0.3*(1-t)*(1-t), 0.3-0.7*t/(1-t)
		model.X, model.Y, model.Lo, model.Hi = append(model.X, t), append(model.Y, y), append(model.Lo, y-0.03), append(model.Hi, y+0.03)
		all.X, all.Y, all.Lo, all.Hi = append(all.X, t), append(all.Y, z), append(all.Lo, z-0.03), append(all.Hi, z+0.03)
	}
	none := BandSeries{Label: "treat none", X: []float64{0.01, 0.99}, Y: []float64{0, 0}}
	return Bands{Title: "Decision curve", XLabel: "threshold", YLabel: "net benefit", BandLabel: "95% band", Cut: true, Least: -0.05, Series: []BandSeries{model, all, none}}
}

// levelsForest are scores by the levels of two columns.
func levelsForest() Forest {
	nan := math.NaN()
	return Forest{Title: "By level", Noun: "levels", Notes: "items", InOrder: true, Groups: []string{"Site: equal AUC? p 0.12", "Sex: equal AUC? p 0.8"},
		Panels: []ForestPanel{{Label: "AUC", Reference: 0.8, Share: true}, {Label: "observed / expected", Reference: 1}},
		Rows: []ForestRow{{"north", "120", 0, []ForestEstimate{{0.82, 0.7, 0.9}, {1.1, 0.8, 1.5}}}, {"south", "60", 0, []ForestEstimate{{0.7, 0.5, 0.85}, {nan, nan, nan}}},
			{"f", "90", 1, []ForestEstimate{{0.81, 0.7, 0.9}, {0.9, 0.7, 1.2}}}, {"m", "90", 1, []ForestEstimate{{0.78, 0.66, 0.87}, {1.05, 0.8, 1.3}}}}}
}

// subjects are the intervals of a study.
func subjects() Intervals {
	return Intervals{Title: "Subjects of each group", XLabel: "probability of AD", Level: 0.95, Groups: []IntervalGroup{
		{"NC+MCI by all", []IntervalItem{{"S1-bl", 0, 0.02, 0.08, 0.01}, {"S2-m06", 0, 0.05, 0.12, 0.2}}},
		{"AD by all", []IntervalItem{{"S3-bl", 0.7, 0.9, 0.99, 0.95}}},
		{"MIX", []IntervalItem{{"S4-bl", 0.2, 0.4, 0.8, -1}}},
	}}
}

// sites are ratios by the levels of two columns.
func sites() Bars {
	nan := math.NaN()
	return Bars{Title: "Are they as wide as they should be everywhere?", XLabel: "ratio", Reference: 1, Mark: "drawn together", Groups: []BarGroup{
		{"Site: all alike? p 0.004", []BarRow{{"north (812)", 0.9, 0.7, 1.15, 0.95}, {"south (77)", 2.4, 1.6, 3.5, 1.9}, {"(missing) (4)", -0.4, 0, 40, 1.1}}},
		{"class", []BarRow{{"ill", 1.1, nan, nan, nan}}},
	}}
}

// raters are estimates of biases and guess rates of n raters, the outliers first.
func raters(n int) Forest {
	r := rand.New(rand.NewPCG(7, 8))
	d := Forest{Title: "Raters", Noun: "raters", Notes: "votes", Groups: []string{"as everybody", "leans", "guesses"},
		Panels: []ForestPanel{{Label: "lean (logit of yes)"}, {Label: "share of guesses", Share: true}}}
	for i := range n {
		votes := 3 + r.IntN(200)
		half := 4 / math.Sqrt(float64(votes))
		b, g, group := 0.2*r.NormFloat64(), 0.02, 0
		switch {
		case i%3 == 0 && i < 30:
			b, group = b+1.5-0.1*float64(i), 1
		case i%5 == 1 && i < 30:
			g, group = 0.6, 2
		}
		d.Rows = append(d.Rows, ForestRow{Name: fmt.Sprintf("rater %d", i+1), Note: fmt.Sprint(votes), Group: group,
			Estimates: []ForestEstimate{{b, b - half, b + half}, {g, g / 3, g + (1-g)*min(1, half)/2}}})
	}
	return d
}

// awkwardFigures are those with next to nothing in them, or too much.
func awkwardFigures() map[string]Figure {
	nan, inf := math.NaN(), math.Inf(1)
	long := strings.Repeat("a long name & <more> ", 20)
	manyRuns := Training{Title: long, YLabel: long}
	for range 30 {
		manyRuns.Runs = append(manyRuns.Runs, TrainingRun{Name: long, Loss: []float64{1e9, 3, 2, 1}, HeldOut: []float64{nan, 3, 2, 2.5}, Chosen: 3})
	}
	return map[string]Figure{
		"one epoch":           Training{Runs: []TrainingRun{{Name: "one", Loss: []float64{1}, Chosen: 1}}},
		"one epoch held":      Training{Runs: []TrainingRun{{Name: "one", Loss: []float64{1}, HeldOut: []float64{2}, Chosen: 1}}},
		"diverging":           Training{Runs: []TrainingRun{{Name: "one", Loss: []float64{1, 0.9, inf, nan, 1e300, 0.7}, Chosen: 9}}},
		"constant loss":       Training{Runs: []TrainingRun{{Name: "one", Loss: []float64{0, 0, 0}}}},
		"thousand epochs":     Training{Runs: []TrainingRun{{Name: "one", Loss: make([]float64, 1000)}}},
		"many runs":           manyRuns,
		"one point":           Comparison{Series: []PointSeries{{Points: []IntervalPoint{{0.5, 0.5, nan, nan}, {nan, 1, 0, 0}}}}},
		"edges":               Comparison{Unit: true, XLabel: long, YLabel: long, Series: []PointSeries{{long, []IntervalPoint{{0, 0, 0, 0.1}, {1, 1, 0.9, 1}}}}},
		"far from diagonal":   Comparison{Series: []PointSeries{{Points: []IntervalPoint{{0.1, 5, 4, 6}, {0.2, -7, -9, -6}}}}},
		"one value":           Histogram{Series: []ValueSeries{{Values: []float64{1}}, {Label: "none"}}},
		"one dot":             Scatter{Groups: []ScatterGroup{{Points: [][2]float64{{0, 0}}}}, Threshold: 0.2, ThresholdLabel: "limit"},
		"one level":           Coverage{Series: []LineSeries{{X: []float64{0.9}, Y: []float64{0.9}, SE: []float64{0}}, {Label: "empty"}}},
		"unknown errors":      Coverage{Title: long, XLabel: long, Series: []LineSeries{{long, []float64{0, 1}, []float64{1, 0}, []float64{nan, 1e-3}}}},
		"one interval":        Intervals{XLabel: long, Groups: []IntervalGroup{{long, []IntervalItem{{long, 0, 0, 1, 1}}}, {}}},
		"one bar":             Bars{XLabel: long, Groups: []BarGroup{{long, []BarRow{{long, 0, nan, nan, nan}}}, {}}},
		"one rater":           Forest{Title: long, Groups: []string{long}, Panels: []ForestPanel{{Label: long}, {Label: long, Share: true}}, Rows: []ForestRow{{long, "3", 0, []ForestEstimate{{0, math.Inf(-1), inf}, {0, 0, 1}}}}},
		"one point of a band": Bands{Title: long, XLabel: long, Series: []BandSeries{{long, []float64{1}, []float64{1}, []float64{nan}, []float64{inf}}, {}}, Marks: []BandMarks{{long, nil}}},
		"below the edge":      Bands{Cut: true, Least: 0, Series: []BandSeries{{X: []float64{0, 1, 2, 3}, Y: []float64{-2, 1, -1, -3}, Lo: []float64{-3, 0, -2, -9}, Hi: []float64{-1, 2, nan, -2}}}},
		"unknown rows":        Forest{Panels: []ForestPanel{{Label: "a"}}, InOrder: true, Rows: []ForestRow{{Name: "b", Estimates: []ForestEstimate{{nan, nan, nan}}}}},
		"one epoch of a line": Lines{Target: 0.95, TargetLabel: long, Series: []LineSeries{{long, []float64{1}, []float64{0.95}, nil}, {}}},
	}
}

// TestGoldenFigures: a figure of every kind is what was looked at.
func TestGoldenFigures(t *testing.T) {
	for name, f := range reportFigures() {
		t.Run(name, func(t *testing.T) { compareGolden(t, name, f) })
	}
}

func TestFiguresAreSound(t *testing.T) {
	for _, figures := range []map[string]Figure{reportFigures(), awkwardFigures()} {
		for name, f := range figures {
			t.Run(name, func(t *testing.T) { checkFile(t, svg(t, f)) })
		}
	}
}

func TestFigureErrors(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		f    Figure
		want string
	}{
		{Training{}, "training figure: no losses"},
		{Training{Runs: []TrainingRun{{Loss: []float64{nan}}}}, "training figure: no losses"},
		{Comparison{Series: []PointSeries{{Points: []IntervalPoint{{nan, 1, 0, 1}}}}}, "comparison figure: no points"},
		{Comparison{Unit: true, Series: []PointSeries{{Points: []IntervalPoint{{2, 1, 0, 1}}}}}, "comparison figure: points outside of 0 to 1"},
		{Histogram{}, "histogram figure: no values"},
		{Histogram{Series: []ValueSeries{{Values: []float64{2}}}}, "histogram figure: value 2 does not lie between 0 and 1"},
		{Scatter{}, "scatter figure: no points"},
		{Scatter{Groups: []ScatterGroup{{Points: [][2]float64{{0.5, nan}}}}}, "scatter figure: point (0.5, NaN) is no probability and width"},
		{Intervals{}, "intervals figure: no items"},
		{Intervals{Groups: []IntervalGroup{{"a", []IntervalItem{{"b", 0.5, 0.4, 0.3, -1}}}}}, `intervals figure: item "b" has the interval [0.5, 0.3] around 0.4 and the truth -1`},
		{Bars{}, "bars figure: no rows"},
		{Bars{Groups: []BarGroup{{"a", []BarRow{{Name: "b", Value: nan}}}}}, `bars figure: row "b" has the value NaN`},
		{Forest{}, "forest figure: no panels"},
		{Forest{Panels: make([]ForestPanel, 1)}, "forest figure: no rows"},
		{Forest{Panels: make([]ForestPanel, 1), Rows: []ForestRow{{Name: "a"}}}, `forest figure: row "a" has 0 estimates for 1 panels`},
		{Forest{Panels: make([]ForestPanel, 1), Rows: []ForestRow{{Name: "a", Estimates: []ForestEstimate{{1, 2, 3}}}}}, `forest figure: row "a" has the interval [2, 3] around 1`},
		{Bands{}, "bands figure: no points"},
		{Bands{Series: []BandSeries{{Label: "a", X: []float64{1}}}}, `bands figure: series "a" has 1 x, 0 y and bands of 0 and 0`},
		{Bands{Series: []BandSeries{{Label: "a", X: []float64{1}, Y: []float64{nan}}}}, `bands figure: series "a" has a point (1, NaN)`},
		{Lines{}, "lines figure: no points"},
		{Lines{Series: []LineSeries{{"a", []float64{1}, nil, nil}}}, `lines figure: series "a" has 1 x, 0 y and 0 errors`},
		{Coverage{Series: []LineSeries{{}}}, "coverage figure: no points"},
		{Coverage{Series: []LineSeries{{"a", []float64{1}, []float64{nan}, nil}}}, `coverage figure: series "a" has a point (1, NaN)`},
		{Coverage{Series: []LineSeries{{"a", []float64{1}, nil, nil}}}, `coverage figure: series "a" has 1 x, 0 y and 0 errors`},
	} {
		var b bytes.Buffer
		if err := WriteSVG(&b, c.f); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		} else if b.Len() > 0 {
			t.Errorf("wrote %d bytes beside the error %v", b.Len(), err)
		}
	}
}

// TestHistogramBand: the band of uniform numbers is left 1 time in 20, within 4
// standard errors of 2,000 draws (false-alarm rate 6e-5).
func TestHistogramBand(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const draws, n, bins = 2000, 500, 10
	left := 0
	for range draws {
		counts := make([]float64, bins)
		for range n {
			counts[r.IntN(bins)]++
		}
		half := bandOf(bins, n)
		for _, k := range counts {
			if math.Abs(k*bins/n-1) > half {
				left++
				break
			}
		}
	}
	if share := float64(left) / draws; math.Abs(share-0.05) > 4*math.Sqrt(0.05*0.95/draws) {
		t.Errorf("the band was left in %.3f of the draws", share)
	}
}
