package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
	"credence/run"
)

// allFeatures is the value of --importance without one: every feature by itself.
const allFeatures = "all"

// importanceOptions reads the value of --importance: groups of columns separated by commas, the columns of a group by +.
func (o *evaluateOptions) importanceOptions() evaluate.ImportanceOptions {
	opt := evaluate.ImportanceOptions{Seed: o.scoring.Bootstrap.Seed}
	if o.importance == allFeatures {
		return opt
	}
	for group := range strings.SplitSeq(o.importance, ",") {
		opt.Columns = append(opt.Columns, words.Each(strings.Split(group, "+"), strings.TrimSpace))
	}
	return opt
}

// shownImportance is the maximum number of features in the table.
const shownImportance = 15

// importance prints what the features contribute to mean, spread and loss.
func (r *evaluateReport) importance(w *printout.Page) {
	x := r.result.Importance
	if x == nil {
		return
	}
	t := w.NewTable("Importance: increase of the loss per vote, in 0.001 nats, with a feature permuted", 0)
	t.Add("  feature", "for the mean", "for the spread", "for both")
	cell := func(e evaluate.IntervalEstimate) string {
		mark := ""
		if evaluate.Matters(e) {
			mark = "*"
		}
		return plusMinus(evaluate.Estimate{Value: 1000 * e.Value, SE: 1000 * e.SE}, 1) + mark
	}
	for _, c := range x.Columns[:min(len(x.Columns), shownImportance)] {
		t.Add("  "+printout.Ellipsis(c.Name(), 30), cell(c.Mean), cell(c.Spread), cell(c.Loss))
	}
	w.Table(t)
	text := fmt.Sprintf("* above 0 at 99%%. %s, %s each. The spread is the concentration of the distribution at an unchanged mean. "+
		"Features that carry the same information share its importance: permute them together with --importance=a+b.",
		words.Plural(x.Items, "item"), words.Plural(x.Repeats, "permutation"))
	if more := len(x.Columns) - shownImportance; more > 0 {
		text += fmt.Sprintf(" %s more are not shown; --format csv has all.", words.Thousands(more))
	}
	w.Paragraph("", text)
}

// allocation trains the run again on parts of its votes, to estimate the gain of further ones on new items and as second
// opinions.
func allocation(cmd *cobra.Command, path string, m *model.Model, ds *dataset.Dataset, in *evaluate.Input) (*evaluate.Allocation, error) {
	folder := run.FolderOf(path)
	if !folder.Has(run.ConfigFile) {
		return nil, withHint(fmt.Errorf("--more-votes: %s has no %s to train again by", folder, run.ConfigFile), "give the folder that credence train wrote with --out")
	}
	t := newTrainOptions()
	t.config, t.repeat, t.quiet = folder.Path(run.ConfigFile), true, true
	if err := t.resolve(); err != nil {
		return nil, err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var a *evaluate.Allocation
	err := t.train(ctx, cmd, func(d *run.Partition, show *trainDisplay) (err error) {
		a, err = run.Allocation(ctx, m, d, t.options(show).Fit, ds, in)
		show.erase()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("--more-votes: %w", err)
	}
	return a, nil
}

// allocation prints where further votes should go.
func (r *evaluateReport) allocation(w *printout.Page) {
	if a := r.result.Allocation; a != nil {
		w.Heading("Where should more votes go?")
		w.Paragraph("", a.String())
	}
}

// importanceRow is a line of the CSV of --importance.
type importanceRow struct {
	Columns      string          `json:"columns"`
	Part         string          `json:"part"`
	Value        evaluate.Number `json:"importance"`
	SE           evaluate.Number `json:"se"`
	Lo           evaluate.Number `json:"lower_99"`
	Hi           evaluate.Number `json:"upper_99"`
	Change       evaluate.Number `json:"rms_change"`
	Permutations int             `json:"permutations"`
}

// importanceRows writes the importance as a table with a line for each feature and part.
func importanceRows(x *evaluate.Importance) rowWriter {
	var list []importanceRow
	for _, c := range x.Columns {
		for _, part := range []struct {
			name   string
			e      evaluate.IntervalEstimate
			change evaluate.Number
		}{{"mean", c.Mean, c.MeanChange}, {"spread", c.Spread, c.SpreadChange}, {"loss", c.Loss, evaluate.Number(math.NaN())}} {
			list = append(list, importanceRow{c.Name(), part.name, part.e.Value, part.e.SE, part.e.Lo, part.e.Hi, part.change, x.Repeats})
		}
	}
	return records(list)
}
