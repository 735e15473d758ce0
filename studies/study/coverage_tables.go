package study

import (
	"fmt"
	"strconv"
)

// paperCoverage is what the paper reports at the nominal level of 95%, for two
// classes, by votes per image.
var paperCoverage = map[int]float64{2: 0.9819, 3: 0.9817}

// networks and kinds of intervals, reported or raw, are compared throughout.
var (
	networks = []string{defaults, single}
	kinds    = []bool{true, false}
)

// asText names the kind of intervals, reported or raw.
func asText(reported bool) string {
	if reported {
		return "as reported"
	}
	return "raw"
}

// WriteTables implements [Results].
func (r *coverageResults) WriteTables(f *Folder) error {
	for _, w := range []func(*Folder) error{
		r.writeSeeds, r.writeSummary, r.writeStrata, r.writeEpochs, r.writeRuns, r.writeNetworks,
	} {
		if err := w(f); err != nil {
			return err
		}
	}
	return nil
}

// columns are the columns that identify the setting of a row.
var settingColumns = []string{"classes", "votes", "teacher_epochs"}

func (s setting) columns() []string {
	return []string{strconv.Itoa(s.classes), strconv.Itoa(s.votes), strconv.Itoa(s.teacher)}
}

// eachClass calls f for every setting, network, kind and class.
func (r *coverageResults) eachClass(f func(s setting, network string, reported bool, class int, columns []string)) {
	for _, s := range r.settings() {
		g := s.grouping()
		for _, n := range networks {
			for _, reported := range kinds {
				for i, class := range g.Panels {
					f(s, n, reported, i, append(s.columns(), n, asText(reported), g.Names[class]))
				}
			}
		}
	}
}

var classColumns = append(settingColumns[:3:3], "network", "intervals", "class")

// writeSeeds writes the coverage of every seed.
func (r *coverageResults) writeSeeds(f *Folder) error {
	rows := [][]string{append(classColumns[:6:6], "seed", "level", "coverage", "item_se")}
	r.eachClass(func(s setting, network string, reported bool, class int, columns []string) {
		for _, c := range r.of(s) {
			for l, v := range c.network(network).Classes[class].as(reported).Coverage {
				rows = append(rows, append(columns[:6:6], fmt.Sprint(c.Cell.Seed),
					exact(curveLevels[l]), exact(v), exact(itemSE(v, c.Images))))
			}
		}
	})
	return f.writeCSV("coverage-by-seed.csv", rows)
}

// writeSummary writes coverage and width as means over seeds.
func (r *coverageResults) writeSummary(f *Folder) error {
	rows := [][]string{append(classColumns[:6:6], "seeds", "level", "coverage", "seed_se",
		"item_se", "width", "width_seed_se")}
	r.eachClass(func(s setting, network string, reported bool, class int, columns []string) {
		width := r.width(s, network, class, reported)
		for l, e := range r.curve(s, network, class, reported) {
			row := append(columns[:6:6], fmt.Sprint(len(e.PerSeed)), exact(curveLevels[l]),
				exact(e.Mean), exact(e.se()), exact(e.ItemSE), "", "")
			for i, level := range paperLevels {
				if levelIndex(level) == l {
					row[11], row[12] = exact(width[i].Mean), exact(width[i].se())
				}
			}
			rows = append(rows, row)
		}
	})
	return f.writeCSV("coverage.csv", rows)
}

// writeStrata writes the coverage within strata, seed by seed.
func (r *coverageResults) writeStrata(f *Folder) error {
	rows := [][]string{append(classColumns[:6:6], "seed", "stratum", "images", "level", "coverage", "item_se", "width")}
	r.eachClass(func(s setting, network string, reported bool, class int, columns []string) {
		for _, c := range r.of(s) {
			for _, t := range c.network(network).Classes[class].as(reported).Strata {
				for l, v := range t.Coverage {
					rows = append(rows, append(columns[:6:6], fmt.Sprint(c.Cell.Seed), t.Name, fmt.Sprint(t.Images),
						exact(paperLevels[l]), exact(v), exact(itemSE(v, t.Images)), exact(t.Width[l])))
				}
			}
		}
	})
	return f.writeCSV("strata.csv", rows)
}

// writeEpochs writes the coverage after each number of epochs.
func (r *coverageResults) writeEpochs(f *Folder) error {
	rows := [][]string{append(settingColumns[:3:3], "seed", "network", "epoch",
		"held_out_nll_per_vote", "intervals", "level", "coverage")}
	for _, c := range r.cells {
		for _, e := range c.Epochs {
			for _, reported := range kinds {
				for l, v := range e.as(reported) {
					rows = append(rows, append(c.Cell.setting().columns(), fmt.Sprint(c.Cell.Seed),
						e.Network, fmt.Sprint(e.Epoch),
						exact(e.HeldOut), asText(reported), exact(paperLevels[l]), exact(v)))
				}
			}
		}
	}
	return f.writeCSV("epochs.csv", rows)
}

// as returns the coverage of reported intervals, or of raw ones.
func (e epochResult) as(reported bool) []float64 {
	if reported {
		return e.Reported
	}
	return e.Raw
}

// writeRuns writes one row per repetition and network.
func (r *coverageResults) writeRuns(f *Folder) error {
	rows := [][]string{append(settingColumns[:3:3], "seed", "teacher_accuracy", "uncertain_images",
		"network", "accuracy", "epochs_kept",
		"held_out_nll_per_vote", "constant_nll_per_vote", "class", "scale", "resolution", "at_least_95")}
	for _, c := range r.cells {
		g := c.Cell.setting().grouping()
		for _, n := range c.Networks {
			for _, k := range n.Classes {
				rows = append(rows, append(c.Cell.setting().columns(), fmt.Sprint(c.Cell.Seed),
					exact(c.TeacherAccuracy), exact(c.Uncertain),
					n.Name, exact(n.Accuracy), joined(c.Best), exact(c.HeldOut), exact(c.Constant), g.Names[k.Class],
					exact(k.Scale), exact(k.Resolution), exact(k.Reported.AtLeast[len(paperLevels)-1])))
			}
		}
	}
	return f.writeCSV("runs.csv", rows)
}

// writeNetworks writes the coverage of every single network.
func (r *coverageResults) writeNetworks(f *Folder) error {
	rows := [][]string{append(settingColumns[:3:3], "seed", "member", "epoch_kept", "accuracy",
		"class", "intervals", "level", "coverage", "width")}
	for _, c := range r.cells {
		for m, n := range c.Members {
			for _, k := range n.Classes {
				for _, reported := range kinds {
					for i, level := range paperLevels {
						x := k.as(reported)
						rows = append(rows, append(c.Cell.setting().columns(),
							fmt.Sprint(c.Cell.Seed), fmt.Sprint(m), fmt.Sprint(c.Best[m]), exact(n.Accuracy),
							c.Cell.setting().grouping().Names[k.Class], asText(reported), exact(level),
							exact(x.Coverage[levelIndex(level)]), exact(x.Width[i])))
					}
				}
			}
		}
	}
	return f.writeCSV("networks.csv", rows)
}

// CoverageNumbers are the headline numbers of the study, the content of
// numbers.json.
type CoverageNumbers struct {
	Study   string          `json:"study"`
	Quick   bool            `json:"quick"`
	Seed    uint64          `json:"seed"`
	Network string          `json:"network"` // that carries the bars
	Bars    []bar           `json:"bars"`
	Passed  bool            `json:"passed"` // all bars
	Numbers []coverageEntry `json:"coverage"`
	Paper   []paperEntry    `json:"paper"`
}

// coverageEntry is the coverage of a class's intervals in a setting.
type coverageEntry struct {
	Classes   int        `json:"classes"`
	Votes     int        `json:"votes"`
	Teacher   int        `json:"teacher_epochs"`
	Network   string     `json:"network"`
	Intervals string     `json:"intervals"`
	Class     string     `json:"class"`
	Levels    []float64  `json:"levels"`
	Coverage  []estimate `json:"coverage"`
	Width     []estimate `json:"width"`
}

type paperEntry struct {
	Classes  int     `json:"classes"`
	Votes    int     `json:"votes"`
	Level    float64 `json:"level"`
	Coverage float64 `json:"coverage"`
}

func (r *coverageResults) numbers() CoverageNumbers {
	n := CoverageNumbers{Study: "coverage", Quick: r.Quick, Seed: r.Seed, Network: chosen, Passed: true}
	n.Bars = bars(r.curve(headline, chosen, 0, true))
	for _, b := range n.Bars {
		n.Passed = n.Passed && b.Passed
	}
	r.eachClass(func(s setting, network string, reported bool, class int, columns []string) {
		n.Numbers = append(n.Numbers, coverageEntry{
			Classes: s.classes, Votes: s.votes, Teacher: s.teacher, Network: network,
			Intervals: asText(reported), Class: columns[5],
			Levels: paperLevels, Coverage: atPaperLevels(r.curve(s, network, class, reported)),
			Width: r.width(s, network, class, reported),
		})
	})
	for _, votes := range []int{2, 3} {
		n.Paper = append(n.Paper, paperEntry{2, votes, 0.95, paperCoverage[votes]})
	}
	return n
}

// Numbers implements [Results].
func (r *coverageResults) Numbers() any { return r.numbers() }
