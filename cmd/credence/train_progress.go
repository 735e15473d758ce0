package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/run"
	"credence/train"
)

// linesEvery is the interval between progress lines if the output is not a terminal.
const linesEvery = 5 * time.Second

// trainDisplay shows the progress of training: on a terminal in a status line,
// elsewhere in a line from time to time, or as JSON events.
type trainDisplay struct {
	statusLine // on standard error
	options    *trainOptions
	out        io.Writer
}

func newTrainDisplay(o *trainOptions, cmd *cobra.Command) *trainDisplay {
	return &trainDisplay{statusLine: newStatusLine(cmd.ErrOrStderr()), options: o, out: cmd.OutOrStdout()}
}

// note prints a line to standard error.
func (d *trainDisplay) note(format string, args ...any) {
	if !d.options.quiet {
		fmt.Fprintf(d.w, format+"\n", args...)
	}
}

// data prints how the data were read.
func (d *trainDisplay) data(ds *dataset.Dataset) {
	d.note("votes     %s", ds.Votes)
	for _, text := range backbones(ds.Features) {
		d.note("backbone  %s", text)
	}
	d.note("classes   %s", printout.Ellipsis(strings.Join(ds.Classes, ", "), 200))
	if len(ds.Columns) > 0 {
		d.note("features  %s", strings.ReplaceAll(dataset.DescribeColumns(ds.Columns), "\n", "\n          "))
	} else {
		for _, p := range ds.Features {
			d.note("features  %s: %v %v", p.Name, p.Kind, p.Shape)
		}
	}
	joint := d.options.Joint
	warnings := []string{}
	for _, w := range ds.Warnings {
		if joint || !errors.Is(w, dataset.ErrOneVote) { // other methods need only one vote
			warnings = append(warnings, warningText(w))
			d.warn(warningText(w))
		}
	}
	if !joint {
		d.note("method    %s, each vote is a separate example", d.options.Method)
	}
	d.note("seed      %d", d.options.Fit.Seed)
	if d.options.json {
		d.event(struct {
			Event    string   `json:"event"`
			Items    int      `json:"items"`
			Classes  []string `json:"classes"`
			Votes    string   `json:"votes"`
			Warnings []string `json:"warnings"`
			Seed     uint64   `json:"seed"`
		}{"data", ds.Len(), ds.Classes, ds.Votes.String(), warnings, d.options.Fit.Seed})
	}
}

// volumes shows the progress of reading volumes. Calls are not concurrent.
func (d *trainDisplay) volumes(done, total int) {
	if !d.options.quiet && d.due(time.Now(), 100*time.Millisecond, linesEvery) {
		d.show("", fmt.Sprintf("preparing items: %s of %s", words.Thousands(done), words.Thousands(total)))
	}
}

func (d *trainDisplay) warn(text string) {
	fmt.Fprintf(d.w, "credence: warning: %s\n", printout.Plain(text))
}

func (d *trainDisplay) event(v any) {
	// The output keeps write errors, which are reported at the end.
	_ = json.NewEncoder(d.out).Encode(v)
}

// trainEvent is the JSON form of a train.Event.
type trainEvent struct {
	Event   string   `json:"event"` // "epoch" or "progress"
	Run     string   `json:"run"`
	Index   int      `json:"index"`
	Runs    int      `json:"runs"`
	Epoch   int      `json:"epoch"`
	Epochs  int      `json:"epochs"`
	Done    float64  `json:"done"`
	Loss    *float64 `json:"loss"`
	HeldOut *float64 `json:"held_out"`
	Best    int      `json:"best_epoch"`
	Rate    float64  `json:"rate"`
	Speed   float64  `json:"items_per_second"`
	Left    float64  `json:"seconds_left"`
	Note    string   `json:"note,omitempty"`
	End     bool     `json:"end"`
}

// finite returns x for JSON, or nil if it is not finite.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// progress shows an event of the fit. Calls are not concurrent.
func (d *trainDisplay) progress(e train.Event) {
	if e.Epochs == 0 { // not about a network
		d.erase()
		d.note("%s", e.Note)
		return
	}
	if d.options.json {
		kind := "progress"
		if e.Done == 0 {
			kind = "epoch"
		}
		d.event(trainEvent{kind, e.Run, e.Index, e.Runs, e.Epoch, e.Epochs, e.Done, finite(e.Loss), finite(e.HeldOut),
			e.Best, e.Rate, math.Round(e.Speed), math.Round(e.Left.Seconds()), e.Note, e.End})
	}
	if d.options.quiet {
		return
	}
	now := time.Now()
	switch {
	case e.Note != "" || e.End:
		d.erase()
		d.note("%s", describeEvent(e, false))
		d.last = now
	case !d.due(now, 100*time.Millisecond, linesEvery):
	case d.live:
		d.draw(printout.Ellipsis(describeEvent(e, true), terminalWidth()-1))
	default:
		d.note("%s", describeEvent(e, false))
	}
}

// describeEvent returns a line such as
//
//	member 1 (2 of 5)  epoch 17/500  loss 0.5123  held out 0.5301 (best at 12)  8,120 items/s  at most 1m20s left
//
// or, short, for a narrow terminal,
//
//	2/5 epoch 17.4/500 loss 0.5123 held out 0.5301 8,120 items/s 1m20s left
func describeEvent(e train.Event, short bool) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	separator, best, how := "  ", fmt.Sprintf(" (best at %d)", e.Best), "about "
	if e.AtMost {
		how = "at most "
	}
	if short {
		separator, best, how = " ", "", ""
	}
	switch {
	case short && e.Runs > 1:
		add("%d/%d", e.Index+1, e.Runs)
	case e.Runs > 1:
		add("%s (%d of %d)", e.Run, e.Index+1, e.Runs)
	case !short:
		add("%s", e.Run)
	}
	if e.Done > 0 || short {
		add("epoch %.1f/%d", float64(e.Epoch)+e.Done, e.Epochs)
	} else {
		add("epoch %d/%d", e.Epoch, e.Epochs)
	}
	if finite(e.Loss) != nil {
		add("loss %.4f", e.Loss)
	}
	if finite(e.HeldOut) != nil {
		add("held out %.4f%s", e.HeldOut, best)
	}
	if e.End {
		add("ended")
	}
	if e.Speed > 0 && !e.End {
		add("%s items/s", words.Thousands(int(e.Speed)))
	}
	if e.Left > 0 && !e.End {
		add("%s%s left", how, e.Left.Round(time.Second))
	}
	if e.Note != "" {
		add("%s", e.Note)
	}
	return strings.Join(parts, separator)
}

// result prints the outcome of training, if there is one: the scores to standard output, the next
// steps to standard error. It returns the error of printing, or else that of training.
func (d *trainDisplay) result(trained *run.Trained, err error) error {
	d.erase()
	if trained == nil {
		return err
	}
	return cmp.Or(d.print(trained), err)
}

func (d *trainDisplay) print(trained *run.Trained) error {
	m := trained.Metrics
	raters := trained.Model.Provenance.Raters
	for _, w := range m.Warnings {
		text := w.String()
		if w.Kind == train.RatersLeft {
			text += ": " + raters.Left.Names()
		}
		d.warn(text)
	}
	if raters != nil {
		d.note("raters    %s", ratersText(raters, "\n          "))
	}
	if c := trained.Model.Calibration; c != nil && c.Raters != nil {
		d.note("intervals %s", populationText(c.Raters))
	}
	if d.options.json {
		d.event(struct {
			Event string `json:"event"`
			*run.Metrics
		}{"result", m})
		return nil
	}
	if d.options.quiet {
		return nil
	}
	var b strings.Builder
	printMetrics(&b, m)
	if c := trained.Model.Provenance.From; c != nil {
		fmt.Fprintf(&b, "\nSince %s: %s\n", d.options.From, changes(c))
	}
	if _, err := io.WriteString(d.out, b.String()); err != nil {
		return err
	}
	out := words.Quote(string(d.options.out))
	if !trained.Model.Traits().Joint {
		d.note("")
		if err := writeMeaning(d.w, trained.Model, 80); err != nil {
			return err
		}
		d.note("\nwritten to %s; next:\n  credence inspect %s%s\n  credence predict %s new-items.csv -o predictions.csv", out, out, d.testStep(out), out)
		return nil
	}
	page := ""
	if d.options.out.Has(run.ReportFile) {
		page = "; open " + words.Quote(d.options.out.Path(run.ReportFile)) + " in a browser"
	}
	d.note("\nwritten to %s%s; next:\n  credence inspect %s%s\n  credence predict %s new-items.csv --level 0.95 -o predictions.csv", out, page, out, d.testStep(out), out)
	return nil
}

// testStep returns the step that evaluates the items set aside for the end, on a line of its own, or "".
func (d *trainDisplay) testStep(out string) string {
	if d.options.Test == 0 {
		return ""
	}
	files := strings.Join(words.Each(d.options.Load.Data, words.Quote), " ")
	for _, path := range d.options.Load.Votes {
		files += " --votes " + words.Quote(path)
	}
	return fmt.Sprintf("\n  credence evaluate %s %s --part test", out, files)
}

// printMetrics prints the scores of a run, compared with those of simpler models.
func printMetrics(b *strings.Builder, m *run.Metrics) {
	fmt.Fprintf(b, "model       %s, %s parameters, on %s items with %s votes\n",
		words.Plural(m.Networks, "network"), words.Thousands(m.Parameters), words.Thousands(m.Items), words.Count(m.Votes))
	h := m.HeldOut
	if h.Items == 0 {
		return
	}
	fmt.Fprintf(b, "held out    accuracy %.3f against the majority, %s items\n", h.Accuracy, words.Thousands(h.Items))
	loss, how, joint := h.MarginalNLL, ", votes one by one", h.NLL != nil
	if joint {
		loss, how = *h.NLL, ""
	}
	fmt.Fprintf(b, "\nNegative log-likelihood per vote on held-out items%s, in nats; lower is better\n", how)
	t := printout.NewTable(0)
	t.Add("this model", fmt.Sprintf("%.4f", loss))
	for _, r := range []struct {
		name  string
		nll   *float64
		joint bool
	}{
		{"logistic regression with a concentration", h.LogisticDMNLL, true},
		{"logistic regression", h.LogisticNLL, false},
		{"one Dirichlet for all items", h.ConstantDMNLL, true},
		{"one probability for all items", h.ConstantNLL, false},
	} {
		if r.nll != nil && (joint || !r.joint) {
			t.Add(r.name, fmt.Sprintf("%.4f", *r.nll))
		}
	}
	t.Print(b)
	if h.LogisticNLL == nil && h.ConstantNLL != nil {
		b.WriteString("logistic regression is not scored: it has too many features for cross-validation here\n")
	}
}
