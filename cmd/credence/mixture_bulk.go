package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"credence/internal/atomicfile"
	"credence/predict"
)

// onlyBulk answers --data, and refuses flags that belong to other forms of the verb.
func (o *mixtureOptions) onlyBulk(cmd *cobra.Command) error {
	if o.data == "" {
		bulk := firstChanged(cmd.Flags(), "output", "tell", "cdf", "resolution", "run", "digits")
		return expect(bulk == "", "--%s without --data: it is for many mixtures at once", bulk)
	}
	if single := firstChanged(cmd.Flags(), "weights", "alpha", "votes", "classes", "width", "plot", "json"); single != "" {
		return usagef("--%s beside --data: weights, alpha and votes are fields of its records", single)
	}
	if !strings.HasSuffix(o.out, ".npy") {
		return usagef("-o %q: expected a file name that ends in .npy for the answers to --data", o.out)
	}
	inputs := []string{o.data}
	if o.run != "" {
		inputs = append(inputs, runFiles(o.run)...)
	}
	if err := checkOutputs(cmd.InOrStdin(), o.overwrite, []string{o.out}, inputs); err != nil {
		return err
	}
	return o.answerRecords(cmd)
}

// answerRecords answers about the mixtures in a file.
func (o *mixtureOptions) answerRecords(cmd *cobra.Command) error {
	b := predict.Bulk{Levels: o.levels.values, Quantiles: o.quantiles.values, CDF: o.cdf.values, Fields: o.tell,
		Resolution: o.resolution, Precision: o.digits.Precision()}
	if o.run != "" {
		m, err := loadModel(cmd.ErrOrStderr(), o.run)
		if err != nil {
			return err
		}
		if b.Model = m; m.Calibration != nil && !cmd.Flags().Changed("resolution") {
			b.Resolution = m.Calibration.Resolution
		}
	}
	in, err := predict.ReadMixtures(o.data)
	if err != nil {
		return err
	}
	return atomicfile.Write(o.out, func(w io.Writer) error { return b.Run(in, w) })
}
