package study

import (
	"fmt"

	"credence/evaluate"
	"credence/internal/cohort"
)

// adniPage are the numbers of the page pages/adni.md.
type adniPage struct {
	ADNI
	Synthetic   bool
	PaperRate   float64
	PaperScans  int
	Levels      []string      // that instruments distinguish
	Counts      []levelsCount // in this cohort
	PaperCounts []levelsCount

	Fits []*adniResult
	Slow *slowFit // nil if it was not requested

	// The paper's statements on the test split, in percent: unanimous NC+MCI that
	// are certain, and MIX that are wide.
	Certain, Wide float64

	// The rest is about fresh scans, of a synthetic cohort alone.
	Coverage   []adniCoverageRow
	Widths     []adniWidthRow
	Accuracies []adniAccuracyRow
	Between    float64 // mean V/m, V the variance of the instruments' probabilities
	Spread     float64 // mean predicted variance
	Actual     float64 // mean squared error of the mean
	// The same two where raters are modelled, and the estimated parameters of the instruments in the
	// first seed.
	ModelledSpread, ModelledActual float64
	Learned                        []adniRaterRow
	Bars                           []Bar
	Beyonds                        []adniBeyondRow
	Neighbors                      int // from which the expected width at a mean is estimated
	// Gaps of the defaults: as reported and raw, and whether the former is the smaller.
	ShippedGap, ShippedRawGap float64
	ShippedSize               cohort.Size
	ShippedNetworks           int
}

// adniRaterRow has the estimated parameters of an instrument.
type adniRaterRow struct{ Name, Lean, Guess string }

// adniBeyondRow compares the widths of MIX with those of unanimous scans.
type adniBeyondRow struct {
	Labels                       labels
	Ratio, Plain, Beyond, Oracle summary
}

// levelsCount is how often an instrument gives each level.
type levelsCount struct {
	Instrument string
	Scans      []string
}

// adniCoverageRow is the coverage at each of adniLevels.
type adniCoverageRow struct {
	Labels labels
	Kind   string
	Levels []summary
	Gap    float64 // mean |coverage − level|
}

// adniWidthRow describes the 95% intervals of the scans in a group.
type adniWidthRow struct {
	Labels                    labels
	Group                     string
	Median, Oracle, Low, Wide summary
}

// adniAccuracyRow is the share of scans whose majority class is predicted.
type adniAccuracyRow struct {
	Labels                           labels
	Majority, Network, Oracle, Error summary
}

// Page implements [Results].
func (r *adniResults) Page(*Folder) (any, error) {
	p := &adniPage{
		ADNI: r.ADNI, Synthetic: r.ADNI.synthetic(), PaperRate: paperRate, PaperScans: cohort.PaperScans,
		Levels: r.Counts.Levels, Fits: r.Fits, Slow: r.Paper,
	}
	for i, name := range r.Counts.Instruments {
		p.Counts = append(p.Counts, newLevelsCount(name, r.Counts.Counts[i]))
	}
	for _, in := range cohort.Instruments {
		p.PaperCounts = append(p.PaperCounts, newLevelsCount(in.Name, in.Counts[:]))
	}
	fits := r.of(instruments)
	for _, f := range fits {
		p.Certain += groupOfScans(groups[0], f.Test, nil).Low / float64(len(fits))
		p.Wide += groupOfScans(groups[2], f.Test, nil).Wide / float64(len(fits))
	}
	p.Certain, p.Wide = 100*p.Certain, 100*p.Wide
	if p.Synthetic {
		r.freshNumbers(p)
	}
	return p, nil
}

func newLevelsCount(instrument string, scans []int) levelsCount {
	c := levelsCount{Instrument: instrument}
	for _, n := range scans {
		c.Scans = append(c.Scans, fmt.Sprint(n))
	}
	return c
}

// freshNumbers are those of the scans whose truth is known.
func (r *adniResults) freshNumbers(p *adniPage) {
	for _, set := range r.ADNI.sets() {
		fits := r.of(set)
		fresh := func(number func(*freshResult) float64) summary {
			return across(fits, func(f *adniResult) float64 { return number(f.Fresh) })
		}
		for _, kind := range coverageKinds {
			row := adniCoverageRow{Labels: set, Kind: kind.name, Gap: r.gap(set, kind.number)}
			for i := range adniLevels {
				row.Levels = append(row.Levels,
					fresh(func(f *freshResult) float64 { return kind.number(f.Coverage[i]) }))
			}
			p.Coverage = append(p.Coverage, row)
		}
		for g, name := range groups {
			p.Widths = append(p.Widths, adniWidthRow{
				Labels: set, Group: name,
				Median: fresh(func(f *freshResult) float64 { return f.Groups[g].Median }),
				Oracle: fresh(func(f *freshResult) float64 { return f.Groups[g].Oracle }),
				Low:    fresh(func(f *freshResult) float64 { return f.Groups[g].Low }),
				Wide:   fresh(func(f *freshResult) float64 { return f.Groups[g].Wide }),
			})
		}
		p.Accuracies = append(p.Accuracies, adniAccuracyRow{
			Labels:   set,
			Majority: fresh(func(f *freshResult) float64 { return f.Majority }),
			Network:  fresh(func(f *freshResult) float64 { return f.Accuracy }),
			Oracle:   fresh(func(f *freshResult) float64 { return f.Oracle }),
			Error:    fresh(func(f *freshResult) float64 { return f.Error }),
		})
		p.Beyonds = append(p.Beyonds, adniBeyondRow{
			Labels: set,
			Ratio:  fresh(func(f *freshResult) float64 { return f.Ratio }),
			Plain:  fresh(func(f *freshResult) float64 { return f.PlainRatio }),
			Beyond: fresh(func(f *freshResult) float64 { return f.Beyond }),
			Oracle: fresh(func(f *freshResult) float64 { return f.OracleBeyond }),
		})
		if set == instruments {
			p.Between = float64(fresh(func(f *freshResult) float64 { return f.Between }).Mean)
			p.Spread = float64(fresh(func(f *freshResult) float64 { return f.Spread }).Mean)
			p.Actual = float64(fresh(func(f *freshResult) float64 { return f.Actual }).Mean)
		}
	}
	of := r.of(modelled)
	p.ModelledSpread = float64(across(of, func(f *adniResult) float64 { return f.Fresh.Spread }).Mean)
	p.ModelledActual = float64(across(of, func(f *adniResult) float64 { return f.Fresh.Actual }).Mean)
	if of[0].Raters != nil {
		for _, x := range of[0].Raters.Raters {
			text := func(e evaluate.IntervalEstimate) string {
				return digits(e.Value, 2) + " (" + digits(e.Lo, 2) + " to " + digits(e.Hi, 2) + ")"
			}
			p.Learned = append(p.Learned, adniRaterRow{x.Name, text(x.Bias), text(x.Guess)})
		}
	}
	p.Bars, p.Neighbors = r.bars(), 2*neighbors
	p.ShippedGap, p.ShippedRawGap = r.gap(shipped, asReported), r.gap(shipped, raw)
	p.ShippedSize, p.ShippedNetworks = r.ADNI.size(shipped), len(r.of(shipped)[0].Kept)
}
