package study

import (
	"fmt"
	"math"
	"strings"

	"credence/head"
	"credence/train"
)

// coveragePage are the numbers of the page pages/coverage.md.
type coveragePage struct {
	Quick       bool
	Train, Test int           // images
	Student     train.Options // complete
	Components  int           // of its mixture
	Scale       estimate      // by which reported variances are multiplied, of the headline setting
	Resolution  float64       // of reported intervals
	// How teachers are trained.
	TeacherRate  float64
	TeacherBatch int
	ItemSE       float64 // of a coverage of 95%

	Single, Defaults string // what is compared; the latter carries the bars
	Headline         string // the setting that carries them
	Seeds            int    // of it
	Bars             []bar
	Levels           []string     // of the paper
	Networks         []networkRow // the headline setting in full
	Beside           []coverageBeside
	Settings         []settingPage

	Epochs  []int // levels, in percent, whose coverage is drawn by epoch
	ByEpoch []epochRow
	// The effects of changes to the headline setting; empty if it was not tried.
	TeacherOfThree, ThreeVotes []changeRow

	// The headline setting raw and as reported, with the mean distances from
	// nominal; the share of reported intervals at 95% that lie within the resolution.
	Raw75, Reported75, Raw95, Reported95, AtLeast estimate
	RawGap, ReportedGap                           float64
	// One network compared with five, as reported.
	Single95, Defaults95             estimate
	SingleWidth, DefaultsWidth       estimate // at 95%
	SingleAccuracy, DefaultsAccuracy estimate
	Strata                           []coverageStratum
}

// networkRow is the coverage of one network or of the defaults.
type networkRow struct {
	Label  string
	Bold   bool // carries the bars
	Levels []estimate
	Gap    float64 // mean |coverage − nominal|
	Seeds  []seedRow
}

// seedRow is the coverage of one seed at each level.
type seedRow struct {
	Seed   uint64
	Levels []float64
}

// coverageBeside has the coverage at 95% in the paper, and in this study by network and
// kind of interval.
type coverageBeside struct {
	Votes, Teacher int
	Paper          float64
	Here           []estimate
}

// settingPage are the numbers of a setting.
type settingPage struct {
	Name, Grouping                   string
	Classes, Seeds                   int
	Rows                             []curveRow
	Panels                           []panel
	Teacher, Uncertain               estimate
	SingleAccuracy, DefaultsAccuracy estimate
	HeldOut, Width                   estimate
	Kept                             string // epochs, seed by seed
}

// curveRow is the coverage of a class's intervals.
type curveRow struct {
	Label       string
	Levels      []estimate
	First, Last estimate // at 75% and 95%
	Gap         float64  // mean |coverage − nominal|
}

// panel is the figure of a class.
type panel struct{ File, Class string }

// epochRow is the coverage of one network at 95% after the first and the last
// epoch.
type epochRow struct {
	Kind        string
	First, Last estimate
	Epochs      int
}

// Falls reports whether coverage is lower after the last epoch than after the first.
func (r epochRow) Falls() bool { return r.Last.Mean < r.First.Mean }

// changeRow compares the coverage in another setting with that of the headline one.
type changeRow struct {
	Kind                     string
	Was75, Is75, Was95, Is95 estimate
	WasGap, IsGap            float64 // mean |coverage − nominal|
}

// coverageStratum is the coverage among some images at 75% and 95%, as reported and
// reported, and the mean width at 95%.
type coverageStratum struct {
	Name     string
	Images   int // per seed
	Coverage []string
	Width    []float64
}

// Page implements [Results].
func (r *coverageResults) Page(*Folder) (any, error) {
	first := r.of(headline)[0]
	p := &coveragePage{
		Quick: r.Quick, Train: r.Train, Test: r.Test,
		Student: first.Options, Components: first.Options.Head.(head.Mixture).Components,
		Scale:       r.number(headline, func(c cellResult) float64 { return c.network(chosen).Classes[0].Scale }, false),
		Resolution:  first.network(chosen).Classes[0].Resolution,
		TeacherRate: teacherRate, TeacherBatch: teacherBatch, ItemSE: itemSE(0.95, r.Test),
		Single: single, Defaults: defaults,
		Headline: headline.String(), Seeds: len(r.of(headline)),
		Bars: r.numbers().Bars, Networks: r.networkRows(), Beside: r.beside(),
		Epochs: []int{95, 75}, ByEpoch: r.epochRows(),
		TeacherOfThree: r.changeRows(setting{2, 2, 3}), ThreeVotes: r.changeRows(setting{2, 3, 1}),
		Single95:       r.at95(headline, single, true),
		Defaults95:     r.at95(headline, defaults, true),
		SingleWidth:    r.width95(headline, single),
		DefaultsWidth:  r.width95(headline, defaults),
		SingleAccuracy: r.accuracy(headline, single), DefaultsAccuracy: r.accuracy(headline, defaults),
		AtLeast: r.number(headline, func(c cellResult) float64 {
			return c.network(chosen).Classes[0].Reported.AtLeast[len(paperLevels)-1]
		}, true),
	}
	raw, reported := r.curve(headline, chosen, 0, false), r.curve(headline, chosen, 0, true)
	p.Raw75, p.Reported75 = raw[levelIndex(0.75)], reported[levelIndex(0.75)]
	p.Raw95, p.Reported95 = raw[levelIndex(0.95)], reported[levelIndex(0.95)]
	p.RawGap, p.ReportedGap = nominalGap(atPaperLevels(raw)), nominalGap(atPaperLevels(reported))
	for _, l := range paperLevels {
		p.Levels = append(p.Levels, fmt.Sprintf("%.0f%%", 100*l))
	}
	for _, s := range r.settings() {
		p.Settings = append(p.Settings, r.settingPage(s))
	}
	for _, name := range r.strataNames() {
		p.Strata = append(p.Strata, r.stratumRow(name))
	}
	return p, nil
}

// at95 is the coverage of the first class's intervals at 95%.
func (r *coverageResults) at95(s setting, network string, reported bool) estimate {
	return r.curve(s, network, 0, reported)[levelIndex(0.95)]
}

// width95 is the mean width of the first class's reported intervals at 95%.
func (r *coverageResults) width95(s setting, network string) estimate {
	return r.width(s, network, 0, true)[len(paperLevels)-1]
}

// nominalGap is the mean |coverage − nominal| over paperLevels.
func nominalGap(at []estimate) float64 {
	sum := 0.0
	for l, e := range at {
		sum += math.Abs(e.Mean - paperLevels[l])
	}
	return sum / float64(len(at))
}

// networkRows are the headline setting in full.
func (r *coverageResults) networkRows() (rows []networkRow) {
	for _, name := range networks {
		for _, reported := range kinds {
			row := networkRow{Label: fmt.Sprintf("%s, %s", name, asText(reported)), Bold: name == chosen && reported,
				Levels: atPaperLevels(r.curve(headline, name, 0, reported))}
			row.Gap = nominalGap(row.Levels)
			for i, c := range r.of(headline) {
				seed := seedRow{Seed: c.Cell.Seed}
				for _, e := range row.Levels {
					seed.Levels = append(seed.Levels, e.PerSeed[i])
				}
				row.Seeds = append(row.Seeds, seed)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// beside compares the paper's coverage with the results here.
func (r *coverageResults) beside() (rows []coverageBeside) {
	for _, teacher := range []int{1, 3} {
		for _, votes := range []int{2, 3} {
			s := setting{2, votes, teacher}
			if len(r.of(s)) == 0 {
				continue
			}
			row := coverageBeside{Votes: votes, Teacher: teacher, Paper: 100 * paperCoverage[votes]}
			for _, n := range networks {
				for _, reported := range kinds {
					row.Here = append(row.Here, r.at95(s, n, reported))
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func (r *coverageResults) settingPage(s setting) settingPage {
	cells, g := r.of(s), s.grouping()
	p := settingPage{
		Name: s.String(), Grouping: g.Name, Classes: s.classes, Seeds: len(cells),
		Teacher:        r.number(s, func(c cellResult) float64 { return c.TeacherAccuracy }, true),
		Uncertain:      r.number(s, func(c cellResult) float64 { return c.Uncertain }, true),
		SingleAccuracy: r.accuracy(s, single), DefaultsAccuracy: r.accuracy(s, defaults),
		HeldOut: r.number(s, func(c cellResult) float64 { return c.HeldOut }, false),
		Width:   r.width95(s, chosen),
	}
	var kept []string
	for _, c := range cells {
		kept = append(kept, joined(c.Best))
	}
	p.Kept = strings.Join(kept, "; ")
	for i, class := range g.Panels {
		p.Panels = append(p.Panels, panel{panelFile(s, class), g.Names[class]})
		for _, n := range networks {
			for _, reported := range kinds {
				at := atPaperLevels(r.curve(s, n, i, reported))
				label := fmt.Sprintf("%s, %s, %s", g.Names[class], n, asText(reported))
				p.Rows = append(p.Rows, curveRow{label, at, at[0], at[len(at)-1], nominalGap(at)})
			}
		}
	}
	return p
}

// epochRows are the coverage of one network after the first and the last epoch.
func (r *coverageResults) epochRows() (rows []epochRow) {
	for _, reported := range kinds {
		row := epochRow{Kind: asText(reported)}
		var first, last []float64
		for _, c := range r.of(headline) {
			for _, x := range c.Epochs {
				if x.Network != single {
					continue
				}
				coverage := x.as(reported)[len(paperLevels)-1]
				if x.Epoch == 1 {
					first, last = append(first, coverage), append(last, 0)
				}
				last[len(last)-1] = coverage
				row.Epochs = max(row.Epochs, x.Epoch)
			}
		}
		row.First, row.Last = newEstimate(first, 0), newEstimate(last, 0)
		rows = append(rows, row)
	}
	return rows
}

// changeRows compare a setting with the headline one.
func (r *coverageResults) changeRows(s setting) (rows []changeRow) {
	if len(r.of(s)) == 0 {
		return nil
	}
	for _, reported := range kinds {
		was, is := r.curve(headline, chosen, 0, reported), r.curve(s, chosen, 0, reported)
		at75, at95 := levelIndex(0.75), levelIndex(0.95)
		rows = append(rows, changeRow{asText(reported), was[at75], is[at75], was[at95], is[at95],
			nominalGap(atPaperLevels(was)), nominalGap(atPaperLevels(is))})
	}
	return rows
}

func (r *coverageResults) stratumRow(name string) coverageStratum {
	row := coverageStratum{Name: name}
	images := 0
	var widths [2]float64
	cells := r.of(headline)
	for _, c := range cells {
		for i, reported := range kinds {
			for _, t := range c.network(chosen).Classes[0].as(reported).Strata {
				if t.Name == name {
					if reported {
						images += t.Images
					}
					widths[i] += width95(t.Width) * float64(t.Images)
				}
			}
		}
	}
	row.Images = images / len(cells)
	for _, l := range []int{0, len(paperLevels) - 1} {
		for _, reported := range kinds {
			text := "–" // no image is in it
			if e := r.stratum(headline, chosen, 0, reported, name); e != nil {
				text = withError(e[l])
			}
			row.Coverage = append(row.Coverage, text)
		}
	}
	for _, w := range widths {
		row.Width = append(row.Width, w/float64(max(images, 1)))
	}
	return row
}

// strataNames are the strata that some seed has images in, as reported or raw.
func (r *coverageResults) strataNames() (names []string) {
	seen := map[string]int{}
	for _, c := range r.of(headline) {
		for _, reported := range kinds {
			for _, t := range c.network(chosen).Classes[0].as(reported).Strata {
				if seen[t.Name]++; seen[t.Name] == 1 {
					names = append(names, t.Name)
				}
			}
		}
	}
	return names
}
