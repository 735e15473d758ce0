package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"credence/internal/atomicfile"
	"credence/internal/calculator"
	"credence/internal/plot"
	"credence/internal/words"
	"credence/mixture"
	"credence/predict"
)

// mixtureOptions is the command line of credence mixture.
type mixtureOptions struct {
	weights, levels, quantiles, votes numbers
	alpha                             numberRows
	classes                           []string
	width                             int
	plot                              string
	json                              bool
	overwrite                         bool

	data, out, run string // for --data
	fields         []string
	cdf            numbers
	resolution     float64
	digits         digits
}

func newMixture() *cobra.Command {
	o := mixtureOptions{levels: numbers{values: []float64{0.95}}}
	cmd := newVerb("mixture", "Describe a Beta or Dirichlet mixture: moments, intervals, density", "", o.describe)
	f := cmd.Flags()
	f.Var(&o.weights, "weights", "weights of the components, which sum to 1")
	f.Var(&o.alpha, "alpha", "parameters of a component; repeat for each component")
	f.Var(&o.levels, "level", "levels of the intervals")
	f.Var(&o.quantiles, "quantile", "probabilities of the quantiles to show")
	f.Var(&o.votes, "votes", "further votes for each class")
	f.StringSliceVar(&o.classes, "classes", nil, "`names` of the classes")
	f.IntVar(&o.width, "width", 0, "`columns` of the text output (default $COLUMNS, else 72)")
	f.StringVar(&o.plot, "plot", "", "also write the densities to this `file`, .svg")
	f.BoolVar(&o.json, "json", false, "print JSON; without --alpha, one result for each JSON line of standard input")
	f.StringVar(&o.data, "data", "", "`file` of mixtures to evaluate, .npy")
	f.StringVarP(&o.out, "output", "o", "", "`file` for the results of --data, .npy")
	declareOverwrite(f, &o.overwrite)
	f.StringSliceVar(&o.fields, "fields", nil, "with --data, `fields` of the results (default: all that apply)")
	f.Var(&o.cdf, "cdf", "with --data, points at which to evaluate the distribution function")
	f.Float64Var(&o.resolution, "resolution", 0, "with --data, `distance` from 0 and 1 within which interval ends are moved there")
	f.StringVar(&o.run, "run", "", "with --data, `run` that predicted the mixtures; sets the resolution and how votes count")
	f.Var(&o.digits, "digits", "with --data, significant `digits` of medians and interval ends, or full")
	notZero(f, "width")
	return cmd
}

func (o *mixtureOptions) describe(cmd *cobra.Command, _ []string) error {
	if err := o.onlyBulk(cmd); err != nil || o.data != "" {
		return err
	}
	if o.json {
		if err := o.onlyJSON(cmd); err != nil {
			return err
		}
		if len(o.alpha) == 0 {
			return evaluateLines(cmd.InOrStdin(), cmd.OutOrStdout())
		}
	}
	before, after, err := o.mixtures()
	if err != nil {
		return err
	}
	if err := checkOutputs(cmd.InOrStdin(), o.overwrite, []string{o.plot}, nil); err != nil {
		return err
	}
	if o.json {
		return o.printJSON(cmd, before, after)
	}
	r := &calculator.Report{
		Weights: o.weights.values, Alpha: o.alpha, Votes: o.votes.values, Levels: o.levels.values,
		Quantiles: o.quantiles.values, Classes: o.classes, Width: o.width,
	}
	if r.Classes == nil {
		for i := range before.Classes() {
			r.Classes = append(r.Classes, strconv.Itoa(i))
		}
	}
	if r.Width == 0 {
		r.Width = terminalWidth()
	}
	if o.plot != "" {
		if err := o.writePlot(r.Classes, before, after); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	r.Print(&out, before, after)
	_, err = cmd.OutOrStdout().Write(out.Bytes())
	return err
}

// onlyJSON returns an error if a flag is given that --json would silently ignore.
func (o *mixtureOptions) onlyJSON(cmd *cobra.Command) error {
	if name := firstChanged(cmd.Flags(), "classes", "width", "plot"); name != "" {
		return usagef("--%s is for the table: it cannot be combined with --json", name)
	}
	if name := firstChanged(cmd.Flags(), "weights", "level", "quantile", "votes"); name != "" && len(o.alpha) == 0 {
		return usagef("--%s without --alpha: --json then reads everything from standard input", name)
	}
	return nil
}

// mixtures returns the mixture of the flags and its posterior after --votes, which
// is nil without votes.
func (o *mixtureOptions) mixtures() (before, after *mixture.Dirichlet, err error) {
	if len(o.alpha) == 0 {
		return nil, nil, withHint(usagef("no --alpha: expected the parameters of a component, one for each class"),
			"for example, credence mixture --alpha 2,5")
	}
	if !o.weights.changed && len(o.alpha) == 1 {
		o.weights.values = []float64{1}
	}
	weights := o.weights.values
	if len(weights) != len(o.alpha) {
		return nil, nil, usagef("--weights gives %s but --alpha %s: expected one weight for each --alpha",
			words.Plural(len(weights), "weight"), words.Plural(len(o.alpha), "component"))
	}
	// A mixture of two uniform classes shows whether the weights themselves are invalid.
	flat := make([][]float64, len(weights))
	for k := range flat {
		flat[k] = []float64{1, 1}
	}
	if _, err := mixture.NewDirichlet(weights, flat); err != nil {
		return nil, nil, usagef("--weights: %s", withoutPrefix(err))
	}
	before, err = mixture.NewDirichlet(weights, o.alpha)
	if err != nil {
		return nil, nil, usagef("--alpha: %s", withoutPrefix(err))
	}
	if o.votes.changed {
		if after, err = before.Update(o.votes.values); err != nil {
			return nil, nil, usagef("--votes: %w", err)
		}
	}
	n := len(o.classes)
	return before, after, cmp.Or(
		checkLevels(o.levels.values),
		checkQuantiles(o.quantiles.values),
		expect(n == 0 || n == before.Classes(), "--classes gives %s but --alpha %d: expected a name for each class",
			words.Plural(n, "name"), before.Classes()),
		expect(o.width == 0 || o.width >= minWidth && o.width <= maxWidth,
			"--width %d: expected between %d and %d columns", o.width, minWidth, maxWidth))
}

// checkQuantiles checks each probability of --quantile.
func checkQuantiles(list []float64) error {
	for _, x := range list {
		if err := calculator.CheckQuantile(x); err != nil {
			return usagef("--quantile %v: %w", x, err)
		}
	}
	return nil
}

// evaluateLines evaluates every line of r, and returns an error if some are invalid.
func evaluateLines(r io.Reader, w io.Writer) error {
	lines, bad, err := calculator.Evaluate(r, w)
	if err != nil || bad == 0 {
		return err
	}
	return withHint(fmt.Errorf("%d of %s could not be evaluated", bad, words.Plural(lines, "line")),
		`the output has the reason in place of each result: {"line":N,"error":"…"}`)
}

// printJSON prints the result for the flags as if they had been a line of input.
func (o *mixtureOptions) printJSON(cmd *cobra.Command, before, after *mixture.Dirichlet) error {
	q := calculator.Query{Levels: o.levels.values, Quantiles: o.quantiles.values}
	line, err := q.Describe(cmd.Context(), cmp.Or(after, before))
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(append(line, '\n'))
	return err
}

// withoutPrefix returns the text of an error of package mixture without its prefix, for messages that
// already name the invalid flag.
func withoutPrefix(err error) string {
	return strings.TrimPrefix(err.Error(), mixture.ErrInvalid.Error()+": ")
}

// The range of widths of a sketch, and the default.
const (
	defaultWidth = 72
	minWidth     = 40
	maxWidth     = 500
)

// terminalWidth returns the number of columns by $COLUMNS.
func terminalWidth() int {
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil {
		return defaultWidth
	}
	return min(max(n, minWidth), maxWidth)
}

// onlyBulk handles --data, and returns an error if flags of other modes of the verb are given.
func (o *mixtureOptions) onlyBulk(cmd *cobra.Command) error {
	if o.data == "" {
		bulk := firstChanged(cmd.Flags(), "output", "fields", "cdf", "resolution", "run", "digits")
		return expect(bulk == "", "--%s requires --data", bulk)
	}
	if single := firstChanged(cmd.Flags(), "weights", "alpha", "votes", "classes", "width", "plot", "json"); single != "" {
		return usagef("--%s and --data exclude each other: weights, alpha and votes are fields of the records", single)
	}
	if !strings.HasSuffix(o.out, ".npy") {
		return usagef("-o %q: expected a file name that ends in .npy for the results of --data", o.out)
	}
	inputs := []string{o.data}
	if o.run != "" {
		inputs = append(inputs, runFiles(o.run)...)
	}
	if err := checkOutputs(cmd.InOrStdin(), o.overwrite, []string{o.out}, inputs); err != nil {
		return err
	}
	return o.evaluateRecords(cmd)
}

// evaluateRecords evaluates the mixtures in a file.
func (o *mixtureOptions) evaluateRecords(cmd *cobra.Command) error {
	b := predict.Bulk{Levels: o.levels.values, Quantiles: o.quantiles.values, CDF: o.cdf.values, Fields: o.fields,
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

// writePlot draws the densities to a file: for two classes that of the first, before
// and after the votes; for more, that of each class after the votes.
func (o *mixtureOptions) writePlot(classes []string, before, after *mixture.Dirichlet) error {
	if ext := strings.ToLower(filepath.Ext(o.plot)); ext != ".svg" {
		return usagef("--plot %s: expected a file name that ends in .svg", o.plot)
	}
	figure := plot.Density{Levels: o.levels.values}
	figure.XLabel = "probability of class " + classes[0]
	switch {
	case before.Classes() > 2:
		m := cmp.Or(after, before)
		for i, name := range classes {
			figure.Curves = append(figure.Curves, plot.Curve{Label: name, Mixture: m.Marginal(i)})
		}
		figure.XLabel = "probability of the class"
	case after == nil:
		figure.Curves = []plot.Curve{{Mixture: before.Marginal(0)}}
	default:
		figure.Curves = []plot.Curve{
			{Label: "before", Mixture: before.Marginal(0)},
			{Label: "after " + o.votesLabel(classes), Mixture: after.Marginal(0)},
		}
	}
	return atomicfile.Write(o.plot, func(w io.Writer) error { return plot.WriteSVG(w, figure) })
}

// votesLabel describes the votes.
func (o *mixtureOptions) votesLabel(classes []string) string {
	var parts []string
	for i, v := range o.votes.values {
		if v > 0 {
			parts = append(parts, exact(v)+" "+words.Noun(v, "vote")+" for "+classes[i])
		}
	}
	if len(parts) == 0 {
		return "no votes"
	}
	return strings.Join(parts, ", ")
}
