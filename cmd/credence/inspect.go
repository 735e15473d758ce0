package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/atomicfile"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
	"credence/predict"
	"credence/report"
	"credence/run"
)

func newInspect() *cobra.Command {
	var out outputFlags
	inspect := func(cmd *cobra.Command, args []string) error {
		if err := out.begin(cmd, runFiles(args[0])); err != nil {
			return err
		}
		m, err := loadModel(cmd.ErrOrStderr(), args[0])
		if err != nil {
			return err
		}
		card, err := run.NewCard(m)
		if err != nil {
			return fmt.Errorf("reading %s: %w", args[0], err)
		}
		return out.write(cmd, card, modelCard{card}.print, nil)
	}
	cmd := newVerb("inspect RUN", "Show a model: method, data, scores, provenance", "a run or a model file", inspect)
	out.declare(cmd.Flags(), "table", "json")
	return cmd
}

// modelCard is the report of credence inspect.
type modelCard struct{ *run.Card }

func (c modelCard) print(w *printout.Page) {
	line := func(name, format string, args ...any) {
		text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n"+strings.Repeat(" ", 13))
		fmt.Fprintf(w, "%-11s  %s\n", name, text)
	}
	separator := ", "
	if c.Ordered {
		separator = " < "
	}
	line("classes", "%s", printout.Ellipsis(strings.Join(c.Classes, separator), 400))
	line("votes", "%s", c.Votes)
	line("data", "sha256 %s", c.Data)
	line("features", "%s", c.features())
	if c.From != nil {
		line("from", "sha256 %s\n%s", c.From.Model, changes(c.From))
	}
	for _, t := range c.Texts {
		line("text", "%s: %s, %s; held-out loss %.4f, %.4f without its words", t.Column,
			words.Plural(t.Documents, "document"), words.Plural(t.Terms, "term"), t.Loss, t.Base)
	}
	o := c.Options
	network := o.Network
	if strings.Contains(network, "\n") || len(network) > 60 {
		network = "custom layers"
	}
	if len(o.Widths) > 0 {
		network += " " + strings.Join(words.Each(o.Widths, strconv.Itoa), "-")
	}
	if c.Meaning != "" {
		var b strings.Builder
		printout.Wrap(&b, "", c.Meaning+" "+noInterval, 67)
		line("method", "%s%s\n%s", c.Method.Name(), c.settings(), strings.TrimRight(b.String(), "\n"))
		line("network", "%s; %s, %s parameters in all", network, words.Plural(c.Networks, "network"), words.Thousands(c.Parameters))
	} else {
		line("network", "%s; %s of %s Dirichlet components, %s parameters in all", network,
			words.Plural(c.Networks, "network"), head.SettingValue(c.Method, "components"), words.Thousands(c.Parameters))
	}
	if len(c.Branches) > 0 {
		line("branches", "%s", c.branches())
	}
	line("training", "%s, rate %g, batches of %d, dropout %g, weight decay %g; at most %s",
		o.Optimizer, o.Rate, o.Batch, max(0, o.Dropout), max(0, o.WeightDecay), words.Plural(o.Epochs, "epoch"))
	t := printout.NewTable(0, 5)
	t.Add("run", "items", "held out", "epochs", "kept", "why")
	for _, r := range c.Runs {
		t.Add(r.Name, words.Thousands(r.Items), words.Thousands(r.Held), fmt.Sprint(len(r.History)), fmt.Sprint(r.Epoch), r.Reason)
	}
	line("", "%s", tableText(t))
	if s := c.Scores; s.Items > 0 && c.Meaning != "" {
		line("held out", "%s items, %s votes: %.4f nats per vote, votes one by one\n(one probability for all: %.4f), accuracy %.3f",
			words.Thousands(s.Items), words.Count(s.Votes), s.MarginalPerVote, s.ConstantPerVote, s.Accuracy)
	} else if s.Items > 0 {
		line("held out", "%s items, %s votes: %.4f nats per vote (one Dirichlet for all: %.4f),\nvotes one by one %.4f, accuracy %.3f",
			words.Thousands(s.Items), words.Count(s.Votes), s.NLLPerVote, s.ConstantPerVote, s.MarginalPerVote, s.Accuracy)
	}
	if t := c.Trees; t != nil {
		line("trees", "%s", c.treesText())
	}
	if r := c.Raters; r != nil {
		line("raters", "%s", ratersText(r, "\n"))
	}
	if k := c.Calibration; k != nil {
		line("intervals", "%s", calibrationText(k, c.Classes))
	}
	if r := c.Recalibration; r != nil {
		line("adjusted", "to %s on %s that arrived later: %s", words.Plural(r.Votes, "vote"), words.Plural(r.Items, "item"), strings.Join(recalibrationLines(c.Classes, r), "; "))
	}

	for _, warning := range c.Warnings {
		line("warning", "%s", warning)
	}
	line("made by", "credence %s, kernel %s, seed %d", c.Version, c.Kernel, c.Seed)
}

// ratersText describes whether raters are modelled, why, and which are not.
func ratersText(r *model.Raters, separator string) string {
	text := "all votes have equal weight:"
	if r.Known {
		text = "modelled by bias and guess rate; probabilities are an average rater's:"
	}
	text += separator + r.Reason.String()
	if r.Left != nil {
		text += separator + "not modelled: " + r.Left.Names()
	}
	return text
}

// branches returns a table with the branches of the network, one per line.
func (c modelCard) branches() string {
	t := printout.NewTable(0, 2)
	for _, b := range c.Branches {
		layers := "unchanged"
		if len(b.Layers) > 0 {
			layers = printout.Ellipsis(strings.Join(b.Layers, ", "), 80)
		}
		t.Add(printout.Ellipsis(strings.Join(b.Features, ", "), 24), words.Shape(b.Shape), layers)
	}
	return tableText(t)
}

// tableText returns the lines of a table.
func tableText(t *printout.Table) string {
	var b strings.Builder
	t.Print(&b)
	return strings.TrimRight(b.String(), "\n")
}

// settings formats the settings of the method: (lambda=15, soften=160).
func (c modelCard) settings() string {
	list := words.Each(settingsOf(c.Method), func(s head.Setting) string { return s.Name + "=" + head.SettingValue(c.Method, s.Name) })
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// features counts the features by kind.
func (c modelCard) features() string {
	var kinds [4]int
	var shapes []string
	for _, p := range c.Features {
		kinds[p.Kind]++
		if p.Kind == dataset.Tensor {
			shapes = append(shapes, fmt.Sprintf("%s %v", p.Name, p.Shape))
		}
	}
	var counts []string
	for kind, n := range kinds {
		if n > 0 {
			counts = append(counts, fmt.Sprintf("%d %v", n, dataset.Kind(kind)))
		}
	}
	text := strings.Join(counts, ", ")
	if len(shapes) > 0 {
		text += " (" + strings.Join(shapes, ", ") + ")"
	}
	return fmt.Sprintf("%s; %s network inputs", text, words.Thousands(c.Inputs))
}

// calibrationText describes how intervals are calibrated.
func calibrationText(c *calibrate.Calibration, classes []string) string {
	text := "variances as the networks predict them"
	if c.Items > 0 {
		ratio := evaluate.NotNegative(evaluate.Estimate{Value: evaluate.Number(c.Ratio), SE: evaluate.Number(c.RatioSE)})
		text = fmt.Sprintf("variances times %.2f: the squared error is %s times the predicted\nvariance, by pairs of votes on %s",
			c.Scale, inside(ratio, 2), words.Plural(c.Items, "held-out item"))
		if len(classes) > 2 && len(c.Classes) == len(classes) { // two classes share one ratio
			var list []string
			for i, name := range classes {
				list = append(list, fmt.Sprintf("%s %.2f", printout.Ellipsis(name, 20), c.Classes[i]))
			}
			text += "\nby class: " + strings.Join(list, ", ")
		}
		for _, step := range []struct {
			taken bool
			text  string
		}{
			{c.Within > 0 && c.Within < 1, fmt.Sprintf("single networks: %s; %.0f%% of the variance of the ensemble is within networks",
				inside(evaluate.NotNegative(evaluate.Estimate{Value: evaluate.Number(c.Network), SE: evaluate.Number(c.NetworkSE)}), 2), 100*c.Within)},
			{c.Trust > 0 && c.Trust < 1, fmt.Sprintf("the likelihood of the votes supports %.0f%% of the change", 100*c.Trust)},
			{c.ScaleSE > 0, fmt.Sprintf("distributions are averaged over the scale, whose standard error is %.2f", c.ScaleSE)},
			{c.Place != nil, "the scale depends on the features and the predicted spread of an item"},
			{c.Leak, "not narrowed: the features seem to contain the votes"},
			{c.Uncertain(), "uncertain: these votes hardly determine the width of intervals"},
		} {
			if step.taken {
				text += "\n" + step.text
			}
		}
	}
	if c.Resolution == 0 {
		return text + "\ninterval ends are not moved to 0 or 1"
	}
	return fmt.Sprintf("%s\nends within %.2g of 0 or 1 are moved there, and their tail to the other end", text, c.Resolution)
}

// ratersOptions is the command line of credence raters.
type ratersOptions struct {
	out        outputFlags
	plot       string
	pseudonyms bool
	seed       uint64
}

func newRaters() *cobra.Command {
	var o ratersOptions
	cmd := newVerb("raters RUN", "Show the raters: votes, bias, guess rate, agreement", "a run or a model file", o.run)
	f := cmd.Flags()
	o.out.declare(f, "table", "md", "csv", "json")
	f.StringVar(&o.plot, "plot", "", "also write bias and guess rate with their intervals to this `file`, .svg")
	f.BoolVar(&o.pseudonyms, "pseudonyms", false, "replace rater names with pseudonyms")
	f.Uint64Var(&o.seed, "seed", run.DefaultPseudonyms, "`seed` of the pseudonyms")
	return cmd
}

func (o *ratersOptions) run(cmd *cobra.Command, args []string) error {
	path := args[0]
	if err := o.out.begin(cmd, runFiles(path), o.plot); err != nil {
		return err
	}
	m, err := loadModel(cmd.ErrOrStderr(), path)
	if err != nil {
		return err
	}
	r, err := run.Raters(m, path)
	if errors.Is(err, run.ErrNoRaters) {
		return withHint(fmt.Errorf("%w: its votes did not name them", err),
			"train on votes with a column of raters (long form), or with one column per rater (wide form)")
	}
	if err != nil {
		return err
	}
	if o.plot != "" && !r.Modelled {
		return withHint(fmt.Errorf("--plot %s: raters are not modelled in %s, so there are no biases and guess rates to draw", o.plot, path),
			"train with --raters on")
	}
	if o.pseudonyms {
		r.UsePseudonyms(o.seed)
	}
	warnAlike(cmd.ErrOrStderr(), r)
	if err := o.out.write(cmd, r, ratersReport{r}.print, ratersReport{r}.writeRows); err != nil {
		return err
	}
	if o.plot == "" {
		return nil
	}
	return atomicfile.Write(o.plot, func(w io.Writer) error { return report.WriteRaters(w, r) })
}

// warnAlike warns about names that may be different spellings of one rater.
func warnAlike(w io.Writer, r *evaluate.RaterReport) {
	var pairs []string
	for _, x := range r.Raters {
		if x.Like != "" {
			pairs = append(pairs, fmt.Sprintf("%+q and %+q", x.Like, x.Name))
		}
	}
	if len(pairs) > 0 {
		fmt.Fprintf(w, "credence: warning: %v: %s\n", dataset.ErrRaterNames, words.Few(pairs))
	}
}

// ratersReport is the report of credence raters.
type ratersReport struct{ *evaluate.RaterReport }

func (r ratersReport) print(w *printout.Page) { w.Sections(r.heading, r.table, r.notes) }

func (r ratersReport) heading(w *printout.Page) {
	text := words.Plural(len(r.Raters), "rater") + ", not modelled: shown is how they vote compared with the others"
	if r.Modelled {
		text = words.Plural(len(r.Raters), "rater") + ", modelled"
		average := func(x evaluate.RaterEstimate) bool { return x.Average }
		if modelled := slices.DeleteFunc(slices.Clone(r.Raters), average); len(modelled) < len(r.Raters) {
			text = fmt.Sprintf("%s, %s of them modelled", words.Plural(len(r.Raters), "rater"), words.Thousands(len(modelled)))
		}
		if r.BiasSD.Known() {
			text += fmt.Sprintf("; biases have a standard deviation of %s", decimal(r.BiasSD, 2))
		}
	}
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	w.Paragraph("", text+".")
}

// ratersShown is the largest number of raters in the table.
const ratersShown = 60

func (r ratersReport) table(w *printout.Page) {
	list := r.Raters
	if len(list) > ratersShown { // those with flags first
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b evaluate.RaterEstimate) int { return cmp.Compare(len(b.Flags), len(a.Flags)) })
		list = list[:ratersShown]
	}
	leans := r.BiasSD.Known()
	t := printout.NewTable(0)
	header := []string{"rater", "votes"}
	if leans {
		header = append(header, "bias", "95% interval")
	}
	scaled := slices.ContainsFunc(list, func(x evaluate.RaterEstimate) bool { return x.Scale.Value > 0 })
	if scaled {
		header = append(header, "scale", "95% interval")
	}
	if r.Modelled {
		header = append(header, "guesses", "95% interval")
	}
	t.Add(append(header, "others agree", "expected", "")...)
	t.Left(len(header) + 2)
	for _, x := range list {
		row := []string{printout.Ellipsis(x.Name, 24), words.Count(float64(x.Votes))}
		if leans {
			row = append(row, decimal(x.Bias.Value, 2), between(x.Bias, 2))
		}
		switch {
		case scaled && x.Scale.Value > 0:
			row = append(row, decimal(x.Scale.Value, 2), between(x.Scale, 2))
		case scaled:
			row = append(row, "", "")
		}
		if r.Modelled {
			row = append(row, decimal(x.Guess.Value, 2), between(x.Guess, 2))
		}
		t.Add(append(row, percent(x.Agreement, 1), percent(x.Expected, 1), strings.Join(x.Marks(), ", "))...)
	}
	w.Table(t)
	if more := len(r.Raters) - len(list); more > 0 {
		w.Note("and %s more: --json or -o raters.csv lists all", words.Thousands(more))
	}
}

func (r ratersReport) notes(w *printout.Page) {
	switch {
	case !r.Modelled:
		w.Paragraph("", "\"differs\" is a rater who agrees with others, or uses a class, unlike an exchangeable one would (5% for all together).")
	case r.BiasSD.Known():
		w.Paragraph("", fmt.Sprintf("A bias towards %s shifts the logit; the mean over votes is 0. Guesses are votes that have nothing to do with the item. "+
			"\"leans\": not 0 at 5%% for all raters together; \"guesses\": more than 5%% of the votes. What all raters have in common "+
			"cannot be seen: these are differences from an average rater.", cmp.Or(r.Class, "the second class")))
	default:
		w.Paragraph("", "Guesses are votes that have nothing to do with the item; \"guesses\": more than 5% of the votes. What all raters have "+
			"in common cannot be seen: these are differences from an average rater.")
	}
	if slices.ContainsFunc(r.Raters, func(x evaluate.RaterEstimate) bool { return x.Average }) {
		w.Paragraph("", "\"average\": not modelled, because no shared items connect the rater with enough others; the votes count as cast by an "+
			"average rater, and the interval of the bias is that of the prior.")
	}
	if r.Pseudonymous {
		w.Paragraph("", "Names are pseudonyms.")
	}
}

// writeRows writes a row per rater.
func (r ratersReport) writeRows(w io.Writer, form predict.Form) error {
	text, number := predict.Text, predict.Number
	columns := []predict.Column{{Name: "rater", Kind: text}, {Name: "votes", Kind: number}}
	for _, name := range []string{"lean", "lean_se", "lean_lower", "lean_upper", "guess", "guess_se", "guess_lower", "guess_upper", "agreement", "expected"} {
		columns = append(columns, predict.Column{Name: name, Kind: number})
	}
	columns = append(columns, predict.Column{Name: "flags", Kind: text})
	var rows [][]any
	for _, x := range r.Raters {
		rows = append(rows, []any{x.Name, known(x.Votes), known(x.Bias.Value), known(x.Bias.SE), known(x.Bias.Lo), known(x.Bias.Hi),
			known(x.Guess.Value), known(x.Guess.SE), known(x.Guess.Lo), known(x.Guess.Hi), known(x.Agreement), known(x.Expected),
			strings.Join(x.Marks(), " ")})
	}
	return predict.WriteRows(w, form, columns, rows)
}
