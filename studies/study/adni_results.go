package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/evaluate"
	"credence/internal/plot"
	"credence/studies/figures"
)

// adniResults has all numbers of the page.
type adniResults struct {
	ADNI   ADNI
	Counts *levelCounts
	Fits   []*adniResult // seeds × sets of labels
	Paper  *slowFit      // nil if it was not requested
}

// coverageKinds are the intervals whose coverage is reported.
var coverageKinds = []struct {
	name   string
	number func(levelCoverage) float64
}{{"as reported", asReported}, {"raw", raw}, {"oracle", func(c levelCoverage) float64 { return c.Oracle }}}

func asReported(c levelCoverage) float64 { return c.Reported }
func raw(c levelCoverage) float64        { return c.Raw }

// of returns the fits on one set of labels.
func (r *adniResults) of(set labels) []*adniResult {
	var list []*adniResult
	for _, f := range r.Fits {
		if f.Labels == set {
			list = append(list, f)
		}
	}
	return list
}

// across is the mean of a number over fits.
func across(fits []*adniResult, number func(*adniResult) float64) summary {
	var list []float64
	for _, f := range fits {
		list = append(list, number(f))
	}
	return summarize(list)
}

// bars are those of the study, over seeds, on fresh scans.
func (r *adniResults) bars() []Bar {
	if !r.ADNI.synthetic() {
		return nil
	}
	var list []Bar
	for _, set := range r.ADNI.sets() {
		fits := r.of(set)
		gain := across(fits, func(f *adniResult) float64 {
			return (f.Fresh.Accuracy - f.Fresh.Majority) / (f.Fresh.Oracle - f.Fresh.Majority)
		})
		list = append(list, Bar{fmt.Sprintf("share of the oracle's gain in accuracy, %s", set),
			gain.Mean, gain.SE, "at least 0.5", gain.Mean >= 0.5, 3})
		off := across(fits, func(f *adniResult) float64 { return f.Fresh.Beyond - f.Fresh.OracleBeyond })
		list = append(list, Bar{fmt.Sprintf("width of MIX beyond that of unanimous scans of the same mean, less the oracle's, %s", set),
			off.Mean, off.SE, "-0.02 to 0.02", math.Abs(float64(off.Mean)) <= 0.02, 3})
		if set == instruments {
			continue
		}
		gap, most := r.gap(set, asReported), 0.04
		if set == modelled {
			most = 0.035
			ratio := across(fits, func(f *adniResult) float64 { return f.Fresh.Spread / f.Fresh.Actual })
			list = append(list, Bar{fmt.Sprintf("predicted variance over squared error, %s", set),
				ratio.Mean, ratio.SE, "0.75 to 1.25", math.Abs(float64(ratio.Mean)-1) <= 0.25, 3})
		}
		list = append(list, Bar{fmt.Sprintf("mean gap of coverage over 75…95%%, as reported, %s", set),
			evaluate.Number(gap), evaluate.Number(math.NaN()), fmt.Sprintf("at most %g", most), gap <= most, 3})
	}
	return list
}

// gap is the mean over levels of |coverage − level|, the coverage averaged over
// seeds first.
func (r *adniResults) gap(set labels, number func(levelCoverage) float64) float64 {
	sum := 0.0
	for i, level := range adniLevels {
		mean := across(r.of(set), func(f *adniResult) float64 { return number(f.Fresh.Coverage[i]) }).Mean
		sum += math.Abs(float64(mean)-level) / float64(len(adniLevels))
	}
	return sum
}

// Numbers implements [Results].
func (r *adniResults) Numbers() any {
	return struct {
		Study     string   `json:"study"`
		Synthetic bool     `json:"synthetic"`
		Settings  ADNI     `json:"settings"`
		Bars      []Bar    `json:"bars,omitempty"`
		Paper     *slowFit `json:"paperRate,omitempty"`
	}{"adni", r.ADNI.synthetic(), r.ADNI, r.bars(), r.Paper}
}

// WriteTables implements [Results].
func (r *adniResults) WriteTables(f *Folder) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	scansRows := [][]string{{"seed", "labels", "part", "scan", "group", "mean", "lower", "upper", "truth", "synthetic"}}
	coverage := [][]string{{"seed", "labels", "level", "coverage_as_reported", "coverage_raw", "oracle",
		"mean_width", "item_se"}}
	fits := [][]string{{"seed", "labels", "epochs_kept", "held_out_loss", "constant_loss",
		"accuracy", "majority", "oracle_accuracy",
		"mean_abs_error", "width_unanimous_nc_mci", "width_unanimous_ad", "width_mix",
		"between_instruments", "predicted_variance", "squared_error",
		"scale", "resolution", "width_ratio", "width_ratio_by_mean_alone", "width_beyond_mean"}}
	for _, fit := range r.Fits {
		seed := fmt.Sprint(fit.Seed)
		add := func(part string, list []adniScan) {
			for _, s := range list {
				truth := ""
				if s.Truth >= 0 {
					truth = number(s.Truth)
				}
				scansRows = append(scansRows, []string{seed, string(fit.Labels), part, s.Name,
					s.Group, number(s.Mean), number(s.Lower), number(s.Upper),
					truth, strconv.FormatBool(r.ADNI.synthetic())})
			}
		}
		add("test", fit.Test)
		row := []string{seed, string(fit.Labels), strings.Trim(fmt.Sprint(fit.Kept), "[]"),
			number(fit.HeldOut), number(fit.Constant)}
		if fresh := fit.Fresh; fresh != nil {
			for _, c := range fresh.Coverage {
				coverage = append(coverage, []string{seed, string(fit.Labels), number(c.Level),
					number(c.Reported), number(c.Raw), number(c.Oracle), number(c.Width), number(c.SE)})
			}
			row = append(row, number(fresh.Accuracy), number(fresh.Majority), number(fresh.Oracle), number(fresh.Error),
				number(fresh.Groups[0].Median), number(fresh.Groups[1].Median), number(fresh.Groups[2].Median),
				number(fresh.Between), number(fresh.Spread), number(fresh.Actual),
				number(fit.Scale), number(fit.Resolution), number(fresh.Ratio), number(fresh.PlainRatio), number(fresh.Beyond))
		}
		fits = append(fits, slices.Concat(row, make([]string, len(fits[0])-len(row))))
	}
	if err := f.writeCSV("scans.csv", scansRows); err != nil {
		return err
	}
	if len(coverage) > 1 {
		if err := f.writeCSV("coverage.csv", coverage); err != nil {
			return err
		}
	}
	return f.writeCSV("fits.csv", fits)
}

// synthetic returns the suffix of the titles of figures of a synthetic cohort.
func (r *adniResults) synthetic() string {
	if r.ADNI.synthetic() {
		return " (synthetic cohort)"
	}
	return ""
}

// WriteFigures implements [Results].
func (r *adniResults) WriteFigures(f *Folder) error {
	first := r.of(instruments)[0]
	figures := map[string]plot.Figure{
		"network":  r.networkFigure(first),
		"scatter":  scatterFigure("Probability of AD and width of its interval"+r.synthetic(), first.Test),
		"subjects": subjectsFigure("Five scans of each group"+r.synthetic(), first.Test),
		"training": trainingFigure(first),
	}
	if r.ADNI.synthetic() {
		figures["scatter-fresh"] = scatterFigure("Fresh scans"+r.synthetic(), first.Fresh.Points)
		figures["coverage"] = r.coverageFigure()
	}
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		if err := f.writeFigure(name, figures[name]); err != nil {
			return err
		}
	}
	return nil
}

func (r *adniResults) networkFigure(fit *adniResult) plot.Figure {
	d := figures.Layers{Title: "The network, from a scan to the mixture"}
	for i, s := range fit.Stages {
		name := "features"
		switch i {
		case 0:
			name = "scan"
		case len(fit.Stages) - 1:
			name = fmt.Sprintf("%d weights, %d × 2 log α", r.ADNI.Components, r.ADNI.Components)
		}
		d.Stages = append(d.Stages, figures.Stage{Done: s.Done, Shape: s.Shape, Name: name})
	}
	return d
}

// scatterFigure is the paper's: probability against width, by agreement.
func scatterFigure(title string, scans []adniScan) plot.Figure {
	d := plot.Scatter{Title: title, XLabel: "probability of AD",
		YLabel: "width of the 95% interval", Threshold: 0.15, ThresholdLabel: "width 0.15"}
	for _, g := range groups {
		group := plot.ScatterGroup{Label: g}
		for _, s := range scans {
			if s.Group == g {
				group.Points = append(group.Points, [2]float64{s.Mean, s.width()})
			}
		}
		d.Groups = append(d.Groups, group)
	}
	return d
}

// subjectsFigure shows five scans of each group: those at the sixths of its
// order by probability, so that none is picked by hand.
func subjectsFigure(title string, scans []adniScan) plot.Figure {
	d := plot.Intervals{Title: title, XLabel: "probability of AD, 95% interval", Level: 0.95}
	for _, g := range groups {
		var list []adniScan
		for _, s := range scans {
			if s.Group == g {
				list = append(list, s)
			}
		}
		slices.SortStableFunc(list, func(a, b adniScan) int { return int(math.Copysign(1, a.Mean-b.Mean)) })
		group := plot.IntervalGroup{Label: g}
		for k := range min(5, len(list)) {
			s := list[(2*k+1)*len(list)/(2*min(5, len(list)))]
			group.Items = append(group.Items, plot.IntervalItem{Name: s.Name, Lower: s.Lower,
				Center: s.Mean, Upper: s.Upper, Truth: s.Truth})
		}
		d.Groups = append(d.Groups, group)
	}
	return d
}

func trainingFigure(fit *adniResult) plot.Figure {
	d := plot.Training{Title: fmt.Sprintf("Loss by epoch, seed %d, %s", fit.Seed, fit.Labels),
		YLabel: "loss per vote, nats"}
	for _, run := range fit.History {
		t := plot.TrainingRun{Name: run.Name, Chosen: run.Epoch}
		for _, e := range run.History {
			held := math.NaN()
			if e.HeldOut != nil {
				held = *e.HeldOut
			}
			t.Loss, t.HeldOut = append(t.Loss, e.Loss), append(t.HeldOut, held)
		}
		d.Runs = append(d.Runs, t)
	}
	return d
}

// coverageFigure shows the reported intervals; the table has the rest.
func (r *adniResults) coverageFigure() plot.Figure {
	d := plot.Coverage{Title: "Coverage of the probability of AD on fresh scans" + r.synthetic(),
		Percent: true, XLabel: "nominal coverage (%)", YLabel: "empirical coverage (%)"}
	for _, set := range r.ADNI.sets() {
		s := plot.LineSeries{Label: string(set)}
		for i, level := range adniLevels {
			y := across(r.of(set), func(f *adniResult) float64 { return asReported(f.Fresh.Coverage[i]) })
			s.X, s.Y, s.SE = append(s.X, level), append(s.Y, float64(y.Mean)), append(s.SE, float64(y.SE))
		}
		d.Series = append(d.Series, s)
	}
	return d
}
