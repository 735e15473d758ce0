package study

import (
	"strconv"

	"credence/evaluate"
	"credence/internal/simulation"
)

// WriteTables writes the numbers as CSV files: means over seeds, every seed,
// coverage, and the settings that were compared.
func (r *comparisonResult) WriteTables(f *Folder) error {
	methods := [][]string{{"design", "method", "networks", "settings", "accuracy", "accuracy_se", "bayes_accuracy",
		"correlation", "correlation_se", "sd_error", "sd_error_se", "grid_correlation",
		"grid_correlation_se", "grid_sd_error", "grid_sd_error_se"}}
	seeds := [][]string{{"design", "method", "networks", "seed", "accuracy", "bayes_accuracy",
		"correlation", "sd_error", "constant_sd_error",
		"grid_correlation", "grid_sd_error", "grid_constant_sd_error", "criterion", "gap_as_reported", "gap_raw"}}
	coverage := [][]string{{"design", "method", "networks", "true_mean", "level", "items",
		"coverage_as_reported", "coverage_as_reported_se", "coverage_raw", "coverage_raw_se"}}
	for _, d := range r.Designs {
		bayes := d.bayes()
		for _, c := range d.Contenders {
			row := []string{string(d.Design), c.Method, strconv.Itoa(c.Networks), c.Settings}
			add := func(s summary, n int) { row = append(row, digits(s.Mean, n), digits(s.SE, n+1)) }
			add(c.Accuracy(), 5)
			row = append(row, digits(bayes.Mean, 5))
			add(c.Correlation(), 4)
			add(c.SDError(), 5)
			add(c.GridCorrelation(), 4)
			add(c.GridSDError(), 5)
			methods = append(methods, row)
			for i, o := range c.Seeds {
				t := d.Truth[i]
				reported, raw := "", ""
				if o.Coverage != nil {
					reported = digits(evaluate.Number(signedGap(o, true)), 5)
					raw = digits(evaluate.Number(signedGap(o, false)), 5)
				}
				seeds = append(seeds, []string{string(d.Design), c.Method, strconv.Itoa(c.Networks),
					strconv.FormatUint(r.Study.Seeds[i], 10),
					digits(evaluate.Number(o.Accuracy), 5), digits(evaluate.Number(t.Bayes), 5),
					digits(o.Items.Correlation, 4), digits(o.Items.SDError, 5),
					digits(evaluate.Number(t.ConstantItems), 5),
					digits(o.Grid.Correlation, 4), digits(o.Grid.SDError, 5),
					digits(evaluate.Number(t.ConstantGrid), 5),
					digits(o.Criterion, 5), reported, raw})
			}
			for _, stratum := range append([]string{""}, strataNames()...) {
				for _, level := range levels {
					raw, reported, items := c.covers(level, stratum)
					if items == 0 {
						continue
					}
					name := stratum
					if name == "" {
						name = "all"
					}
					coverage = append(coverage, []string{string(d.Design), c.Method,
						strconv.Itoa(c.Networks), name, strconv.FormatFloat(level, 'f', 2, 64), strconv.Itoa(items),
						digits(reported.Mean, 4), digits(reported.SE, 5), digits(raw.Mean, 4), digits(raw.SE, 5)})
				}
			}
		}
	}
	tables := map[string][][]string{"methods.csv": methods, "seeds.csv": seeds, "coverage.csv": coverage}
	if len(r.Trials) > 0 {
		tables["tuning.csv"] = r.tuningTable()
	}
	if len(r.Remedies) > 0 {
		tables["remedies.csv"] = r.remedyTable()
	}
	if len(r.Sizes) > 0 {
		tables["sizes.csv"] = r.sizeTable()
	}
	for name, rows := range tables {
		if err := f.writeCSV(name, rows); err != nil {
			return err
		}
	}
	return nil
}

// tuningTable is tuning.csv.
func (r *comparisonResult) tuningTable() [][]string {
	rows := [][]string{{"design", "method", "settings", "held_out_criterion", "chosen"}}
	for _, t := range r.Trials {
		rows = append(rows, []string{string(t.Design), t.Method, t.Settings,
			digits(t.Criterion, 5), strconv.FormatBool(t.Chosen)})
	}
	return rows
}

// remedyTable is remedies.csv.
func (r *comparisonResult) remedyTable() [][]string {
	rows := [][]string{{"design", "configuration", "held_out_loss", "held_out_loss_se",
		"correlation", "correlation_se", "sd_error", "sd_error_se",
		"coverage_minus_nominal", "coverage_minus_nominal_se", "gap_raw", "gap_as_reported"}}
	for _, m := range r.Remedies {
		rows = append(rows, []string{string(m.Design), m.Name, digits(m.Criterion.Mean, 5),
			digits(m.Criterion.SE, 5), digits(m.Correlation.Mean, 4), digits(m.Correlation.SE, 5),
			digits(m.SDError.Mean, 5), digits(m.SDError.SE, 6), digits(m.Signed.Mean, 4),
			digits(m.Signed.SE, 5), digits(m.Gap, 4), digits(m.ReportedGap, 4)})
	}
	return rows
}

// Numbers returns the targets, and the table of methods.
func (r *comparisonResult) Numbers() any {
	type row struct {
		contenderResult
		Accuracy        summary          `json:"accuracy"`
		Correlation     summary          `json:"correlation"`
		SDError         summary          `json:"sd_error"`
		GridCorrelation summary          `json:"grid_correlation"`
		GridSDError     summary          `json:"grid_sd_error"`
		ReportedGap     *evaluate.Number `json:"gap_as_reported,omitempty"`
		RawGap          *evaluate.Number `json:"gap_raw,omitempty"`
	}
	type design struct {
		Design       simulation.Design `json:"design"`
		Bayes        summary           `json:"bayes_accuracy"`
		Constant     summary           `json:"constant_sd_error"`
		ConstantGrid summary           `json:"grid_constant_sd_error"`
		Methods      []row             `json:"methods"`
	}
	file := struct {
		Study    Comparison     `json:"study"`
		Pass     bool           `json:"pass"`
		Bars     []Bar          `json:"bars"`
		Designs  []design       `json:"designs"`
		Tuning   []trial        `json:"tuning,omitempty"`
		Sizes    []sizeResult   `json:"sizes,omitempty"`
		Remedies []remedyResult `json:"remedies,omitempty"`
	}{Study: r.Study, Pass: r.Pass(), Bars: r.Bars, Tuning: r.Trials, Sizes: r.Sizes, Remedies: r.Remedies}
	for _, d := range r.Designs {
		out := design{Design: d.Design,
			Bayes:        d.bayes(),
			Constant:     d.constant(),
			ConstantGrid: d.constantGrid()}
		for _, c := range d.Contenders {
			line := row{c, c.Accuracy(), c.Correlation(), c.SDError(), c.GridCorrelation(), c.GridSDError(), nil, nil}
			if c.Seeds[0].Coverage != nil {
				raw, reported := gaps(c.Seeds)
				p, q := evaluate.Number(reported), evaluate.Number(raw)
				line.ReportedGap, line.RawGap = &p, &q
			}
			out.Methods = append(out.Methods, line)
		}
		file.Designs = append(file.Designs, out)
	}
	return file
}
