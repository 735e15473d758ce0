package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/head"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
	"credence/report"
	"credence/run"
)

// inspectOptions is the command line of credence inspect.
type inspectOptions struct {
	out   outputFlags
	card  bool   // as a model card of the Hugging Face Hub
	texts string // file with the texts of the card
}

func newInspect() *cobra.Command {
	var o inspectOptions
	cmd := newVerb("inspect RUN", "Show a model: method, data, scores, provenance", "a run or a model file", o.run)
	f := cmd.Flags()
	o.out.declare(f, "table", "json", "md")
	f.BoolVar(&o.card, "card", false, "write a model card for the Hugging Face Hub: Markdown, or JSON with --json")
	f.StringVar(&o.texts, "card-text", "", "YAML `file` with intended use, limits and more, as of credence report --card; implies --card")
	takesRun := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := takesRun(cmd, args)
		if err != nil && o.card && len(args) == 2 {
			return withHint(err, "the texts of a card are given with --card-text "+words.Quote(args[1]))
		}
		return err
	}
	return cmd
}

func (o *inspectOptions) run(cmd *cobra.Command, args []string) (err error) {
	o.card = o.card || o.texts != ""
	if o.card {
		o.out.forms = []string{"md", "json"}
	}
	if err := o.out.begin(cmd, append(runFiles(args[0]), o.texts)); err != nil {
		return err
	}
	if o.out.form == "md" && !o.card {
		return usagef("Markdown is the form of a model card: expected --card")
	}
	var texts *report.Card
	if o.texts != "" {
		if texts, err = report.ReadCard(o.texts); err != nil {
			return err
		}
	}
	m, err := loadModel(cmd.ErrOrStderr(), args[0])
	if err != nil {
		return err
	}
	if o.card {
		card, err := run.NewModelCard(cmd.Context(), args[0], m, texts)
		if err != nil {
			return fmt.Errorf("reading %s: %w", args[0], err)
		}
		return o.out.write(cmd, card, func(p *printout.Page) { card.WriteMarkdown(p) }, nil)
	}
	card, err := run.NewCard(m)
	if err != nil {
		return fmt.Errorf("reading %s: %w", args[0], err)
	}
	return o.out.write(cmd, card, modelCard{card}.print, nil)
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
	for _, text := range backbones(c.Features) {
		line("backbone", "%s", text)
	}
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
