package study

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"

	"credence/head"
	"credence/train"
)

// coveragePage are the numbers of the page pages/coverage.md.
type coveragePage struct {
	Quick       bool
	Train, Test int // images
	Command     string
	Student     train.Options
	Components  int     // of its mixture
	Decay       float64 // of the students' weights
	// How teachers are trained.
	TeacherRate  float64
	TeacherBatch int
	ItemSE       float64 // of a coverage of 95%

	Single, Ensemble, Chosen string // what is compared, and which carries the bars
	Headline                 string // the setting that carries them
	Seeds                    int    // of it
	Bars                     []bar
	Levels                   []string     // of the paper
	Networks                 []networkRow // the headline setting in full
	Beside                   []coverageBeside
	Settings                 []settingPage

	Epochs  []int // levels, in percent, whose coverage is drawn by epoch
	ByEpoch []epochRow
	// What a change of the headline setting does; empty if it was not tried.
	TeacherOfThree, ThreeVotes []changeRow

	// The headline setting without the rule and with it; the share of intervals
	// at 95% that the rule touches.
	Off75, On75, Off95, On95, Touched estimate
	Single95, Ensemble95              estimate
	SingleAccuracy, EnsembleAccuracy  estimate
	Strata                            []coverageStratum
	Tried                             [][]string // before the study; the first row names columns
}

// networkRow is the coverage of one network or of the ensemble.
type networkRow struct {
	Label  string
	Bold   bool // carries the bars
	Levels []estimate
	Seeds  []seedRow
}

// seedRow is the coverage of one seed at each level.
type seedRow struct {
	Seed   uint64
	Levels []float64
}

// coverageBeside is the coverage at 95%: the paper's, and here by network and
// rule.
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
	SingleAccuracy, EnsembleAccuracy estimate
	HeldOut, Width                   estimate
	Kept                             string // epochs, seed by seed
}

// curveRow is the coverage of a class's intervals.
type curveRow struct {
	Label       string
	Levels      []estimate
	First, Last estimate // at 75% and 95%
}

// panel is the figure of a class.
type panel struct{ File, Class string }

// epochRow is the coverage of one network at 95% after the first and the last
// epoch.
type epochRow struct {
	Rule        string
	First, Last estimate
	Epochs      int
}

// changeRow is the coverage in another setting beside that of the headline one.
type changeRow struct {
	Rule                     string
	Was75, Is75, Was95, Is95 estimate
}

// coverageStratum is the coverage among some images at 75% and 95%, rule off and
// on, and the mean width at 95%.
type coverageStratum struct {
	Name     string
	Images   int // per seed
	Coverage []string
	Width    []float64
}

// page puts the numbers of the page together.
func (r *coverageResults) page() *coveragePage {
	p := &coveragePage{
		Quick: r.Quick, Train: r.Train, Test: r.Test, Command: r.command(),
		Student: r.Student, Components: r.Student.Head.(head.Mixture).Components, Decay: max(0, r.Student.WeightDecay),
		TeacherRate: teacherRate, TeacherBatch: teacherBatch, ItemSE: itemSE(0.95, r.Test),
		Single: single, Ensemble: ensemble, Chosen: chosen,
		Headline: headline.String(), Seeds: len(r.of(headline)),
		Bars: r.numbers().Bars, Networks: r.networkRows(), Beside: r.beside(),
		Epochs: []int{95, 75}, ByEpoch: r.epochRows(),
		TeacherOfThree: r.changeRows(setting{2, 2, 3}), ThreeVotes: r.changeRows(setting{2, 3, 1}),
		Single95:       r.at95(headline, single, true),
		Ensemble95:     r.at95(headline, ensemble, true),
		SingleAccuracy: r.accuracy(headline, single), EnsembleAccuracy: r.accuracy(headline, ensemble),
		Touched: r.number(headline, func(c cellResult) float64 {
			return c.network(chosen).Classes[0].On.Touched[len(paperLevels)-1]
		}, true),
		Tried: tried(),
	}
	off, on := r.curve(headline, chosen, 0, false), r.curve(headline, chosen, 0, true)
	p.Off75, p.On75 = off[levelIndex(0.75)], on[levelIndex(0.75)]
	p.Off95, p.On95 = off[levelIndex(0.95)], on[levelIndex(0.95)]
	for _, l := range paperLevels {
		p.Levels = append(p.Levels, fmt.Sprintf("%.0f%%", 100*l))
	}
	for _, s := range r.settings() {
		p.Settings = append(p.Settings, r.settingPage(s))
	}
	for _, name := range r.strataNames() {
		p.Strata = append(p.Strata, r.stratumRow(name))
	}
	return p
}

// command is what makes this page.
func (r *coverageResults) command() string {
	s := "credence reproduce coverage"
	if r.Quick {
		s += " --quick"
	}
	if r.Seed != 1 {
		s += fmt.Sprintf(" --seed %d", r.Seed)
	}
	return s
}

// at95 is the coverage of the first class's intervals at 95%.
func (r *coverageResults) at95(s setting, network string, on bool) estimate {
	return r.curve(s, network, 0, on)[levelIndex(0.95)]
}

// networkRows are the headline setting in full.
func (r *coverageResults) networkRows() (rows []networkRow) {
	for _, name := range networks {
		for _, on := range rules {
			row := networkRow{Label: fmt.Sprintf("%s, rule %s", name, onOff(on)), Bold: name == chosen && on,
				Levels: atPaperLevels(r.curve(headline, name, 0, on))}
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

// beside sets the paper's coverage beside what came out.
func (r *coverageResults) beside() (rows []coverageBeside) {
	for _, teacher := range []int{1, 3} {
		for _, votes := range []int{2, 3} {
			s := setting{2, votes, teacher}
			if len(r.of(s)) == 0 {
				continue
			}
			row := coverageBeside{Votes: votes, Teacher: teacher, Paper: 100 * paperCoverage[votes]}
			for _, n := range networks {
				for _, on := range rules {
					row.Here = append(row.Here, r.at95(s, n, on))
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
		SingleAccuracy: r.accuracy(s, single), EnsembleAccuracy: r.accuracy(s, ensemble),
		HeldOut: r.number(s, func(c cellResult) float64 { return c.HeldOut }, false),
		Width:   r.width(s, chosen, 0, true)[len(paperLevels)-1],
	}
	var kept []string
	for _, c := range cells {
		kept = append(kept, joined(c.Best))
	}
	p.Kept = strings.Join(kept, "; ")
	for i, class := range g.Panels {
		p.Panels = append(p.Panels, panel{panelFile(s, class), g.Names[class]})
		for _, n := range networks {
			for _, on := range rules {
				at := atPaperLevels(r.curve(s, n, i, on))
				label := fmt.Sprintf("%s, %s, %s", g.Names[class], n, onOff(on))
				p.Rows = append(p.Rows, curveRow{label, at, at[0], at[len(at)-1]})
			}
		}
	}
	return p
}

// epochRows are the coverage of one network after the first and the last epoch.
func (r *coverageResults) epochRows() (rows []epochRow) {
	for _, on := range rules {
		row := epochRow{Rule: onOff(on)}
		var first, last []float64
		for _, c := range r.of(headline) {
			for _, x := range c.Epochs {
				if x.Network != single {
					continue
				}
				coverage := x.rule(on)[len(paperLevels)-1]
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
	for _, on := range rules {
		was, is := r.curve(headline, chosen, 0, on), r.curve(s, chosen, 0, on)
		at75, at95 := levelIndex(0.75), levelIndex(0.95)
		rows = append(rows, changeRow{onOff(on), was[at75], is[at75], was[at95], is[at95]})
	}
	return rows
}

func (r *coverageResults) stratumRow(name string) coverageStratum {
	row := coverageStratum{Name: name}
	images := 0
	var widths [2]float64
	cells := r.of(headline)
	for _, c := range cells {
		for i, on := range rules {
			for _, t := range c.network(chosen).Classes[0].rule(on).Strata {
				if t.Name == name {
					if on {
						images += t.Images
					}
					widths[i] += width95(t.Width) * float64(t.Images)
				}
			}
		}
	}
	row.Images = images / len(cells)
	for _, l := range []int{0, len(paperLevels) - 1} {
		for _, on := range rules {
			text := "–" // the rule left it empty
			if e := r.stratum(headline, chosen, 0, on, name); e != nil {
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

// strataNames are the strata that some seed has images in, rule on and off.
func (r *coverageResults) strataNames() (names []string) {
	seen := map[string]int{}
	for _, c := range r.of(headline) {
		for _, on := range rules {
			for _, t := range c.network(chosen).Classes[0].rule(on).Strata {
				if seen[t.Name]++; seen[t.Name] == 1 {
					names = append(names, t.Name)
				}
			}
		}
	}
	return names
}

//go:embed tried.csv
var triedFile []byte

// tried is what was tried before the configuration was fixed.
func tried() [][]string {
	rows, err := csv.NewReader(bytes.NewReader(triedFile)).ReadAll()
	if err != nil {
		panic(err) // it is part of the program
	}
	return rows
}
