package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"credence/calibrate"
	"credence/internal/words"
	"credence/monitor"
)

// recalibrateOptions is the command line of credence recalibrate.
type recalibrateOptions struct {
	laterFlags
	out       string
	overwrite bool
}

func newRecalibrate() *cobra.Command {
	var o recalibrateOptions
	cmd := newVerb("recalibrate RUN", "Adjust a model to votes that arrived after training", "a run", o.run)
	f := cmd.Flags()
	o.laterFlags.declare(f)
	f.Lookup("by").Usage = "categorical `feature` of the model with levels that are shifted on their own"
	f.StringVarP(&o.out, "output", "o", "recalibrated.credence", "model `file` to write, .credence")
	declareOverwrite(f, &o.overwrite)
	return cmd
}

func (o *recalibrateOptions) run(cmd *cobra.Command, args []string) error {
	path := args[0]
	err := cmp.Or(expect(strings.HasSuffix(o.out, ".credence"), "-o %s: expected a name that ends in .credence", o.out),
		checkOutputs(cmd.InOrStdin(), o.overwrite, []string{o.out}, o.files(path)))
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	m, err := loadDistributions(cmd.ErrOrStderr(), path, "recalibration")
	if err != nil {
		return err
	}
	by := o.by
	o.by = "" // levels are read with the features
	in, err := o.read(ctx, cmd, m, path)
	if err != nil {
		return orStopped(ctx, err)
	}
	defer in.Data.Close()
	out, err := monitor.Recalibrate(ctx, m, in, by)
	if errors.Is(err, monitor.ErrNoGain) {
		return withHint(err, "nothing was written; credence train --from "+words.Quote(path)+" learns more than a shift")
	}
	if err != nil {
		return orStopped(ctx, err)
	}
	if err := out.Save(o.out); err != nil {
		return err
	}
	r := out.Recalibration
	fmt.Fprintf(cmd.OutOrStdout(), "%s on %s, predicted one after the other: %.4f ± %.4f nats per item better\n%s\nwritten to %s\n",
		words.Plural(r.Votes, "vote"), words.Plural(r.Items, "item"), r.Gain, r.GainSE, strings.Join(recalibrationLines(m.Classes, r), "\n"), o.out)
	return nil
}

// recalibrationLines describes the adjustment of a model.
func recalibrationLines(classes []string, r *calibrate.Recalibration) []string {
	list := []string{"log odds shifted: " + shiftText(classes, r.Shift)}
	for l, shift := range r.Shifts {
		list = append(list, fmt.Sprintf("  %s %s, in addition: %s", r.Feature, r.Levels[l], shiftText(classes, shift)))
	}
	return append(list, fmt.Sprintf("concentration times %.2f", r.Concentration))
}

func shiftText(classes []string, shift []float64) string {
	var parts []string
	for i, x := range shift {
		if math.Abs(x) >= 0.005 {
			parts = append(parts, fmt.Sprintf("%s %+.2f", classes[i], x))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}
