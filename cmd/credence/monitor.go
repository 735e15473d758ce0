package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
	"credence/monitor"
	"credence/predict"
	"credence/run"
)

// laterFlags are the flags for items with votes that arrived after training.
type laterFlags struct {
	data  config.Settings
	items []string
	by    string
}

func (l *laterFlags) declare(f *pflag.FlagSet) {
	f.StringArrayVar(&l.items, "items", nil, "`file` of the items; repeat to join features (default: the files of the run)")
	f.StringVar(&l.by, "by", "", "`column` of the items with groups that may change on their own, such as site")
	declare(f, &l.data, config.Predict)
	f.Lookup("votes").Usage = "`file` of votes that arrived after training, in their order; repeat to add votes"
}

// files returns the input files, for checks of outputs.
func (l *laterFlags) files(path string) []string {
	return slices.Concat(l.items, l.data.Load.Votes, runFiles(path))
}

// read reads the items and votes, with a warning if training items cannot be recognized.
func (l *laterFlags) read(ctx context.Context, cmd *cobra.Command, m *model.Model, path string) (monitor.Later, error) {
	var in monitor.Later
	folder := run.FolderOf(path)
	if len(l.data.Load.Votes) == 0 {
		return in, withHint(usagef("no --votes: expected a file of votes that arrived after training"), "--votes later.csv")
	}
	files := l.items
	if files == nil {
		switch files = folder.TrainedFiles(); {
		case files != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "credence: items are those of %s, as in training\n", words.List(files, "and"))
		case len(dataset.JudgesOf(m.Transform.Schema())) == 0: // else items are those that judges voted on
			return in, withHint(usagef("no --items: expected a file with the features of the items"), "--items items.csv")
		}
	}
	load, err := evaluationData(&l.data, files, "", cmd.InOrStdin())
	if err != nil {
		return in, err
	}
	if in.Data, err = folder.ReadData(ctx, m, load); err != nil {
		return in, withFeatureHint(err)
	}
	dataWarnings(cmd.ErrOrStderr(), in.Data)
	if l.by != "" {
		columns, err := folder.ReadColumns(ctx, m, in.Data, load, []string{l.by})
		if err != nil {
			return in, err
		}
		in.Groups = columns[0]
	}
	hash, err := in.Data.Hash()
	if err != nil {
		return in, err
	}
	if hash == m.Provenance.Data {
		return in, errors.New("these are the items and votes that the model was trained on: expected votes that arrived later")
	}
	if in.Trained, err = folder.TrainedItems(ctx); err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "credence: warning: cannot check which items the model was trained on: their votes must not be among these")
	}
	return in, nil
}

// monitorOptions is the command line of credence monitor.
type monitorOptions struct {
	laterFlags
	monitor.Options
	delays bool
	fail   bool
	out    outputFlags
}

func newMonitor() *cobra.Command {
	var o monitorOptions
	cmd := newVerb("monitor RUN", "Check whether later votes still follow a model", "a run", o.run)
	f := cmd.Flags()
	o.laterFlags.declare(f)
	declareMonitor(f, &o.Options)
	f.BoolVar(&o.delays, "delays", false, "simulate how many votes an alarm would take after typical changes")
	f.BoolVar(&o.fail, "fail", false, "exit with code 1 if there is an alarm, for scripts")
	o.out.declare(f, "table", "md", "csv", "json")
	return cmd
}

// declareMonitor adds the flags that monitor and serve share.
func declareMonitor(f *pflag.FlagSet, o *monitor.Options) {
	f.Float64Var(&o.Tolerate, "tolerate", monitor.DefaultTolerance, "`bias` on the logit up to which a model counts as correct")
	f.Float64Var(&o.Note, "note", 5, "`evidence` from which a note is shown, as odds")
	f.Float64Var(&o.Alarm, "alarm", 20, "`evidence` from which an alarm is raised: 20 has false alarms in at most 1 of 20 models")
	notZero(f, "note", "alarm")
}

// checkMonitor validates the flags of declareMonitor.
func checkMonitor(o *monitor.Options) error {
	return cmp.Or(
		expect(o.Tolerate >= 0 && o.Tolerate <= 5, "--tolerate %v: expected a bias from 0 to 5", o.Tolerate),
		expect(o.Note > 1 && o.Note <= o.Alarm, "--note %v: expected odds above 1 and at most --alarm %v", o.Note, o.Alarm),
		expect(o.Alarm <= 1e9, "--alarm %v: expected at most 1e9", o.Alarm))
}

// errAlarm is the error with which --fail ends.
var errAlarm = errors.New("the votes raised an alarm")

func (o *monitorOptions) run(cmd *cobra.Command, args []string) error {
	path := args[0]
	if err := cmp.Or(checkMonitor(&o.Options), o.out.begin(cmd, o.files(path))); err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	m, err := loadDistributions(cmd.ErrOrStderr(), path, "monitoring")
	if err != nil {
		return err
	}
	in, err := o.read(ctx, cmd, m, path)
	if err != nil {
		return orStopped(ctx, err)
	}
	defer in.Data.Close()
	o.By, o.Groups = o.by, in.Groups
	o.Inputs = inputRates(ctx, run.FolderOf(path))
	page, err := o.evidence(ctx, m, in)
	if err != nil {
		return orStopped(ctx, err)
	}
	if text := page.LeftOut.String(); text != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: left out: %s\n", text)
	}
	if page.Votes == 0 {
		return errors.New("no votes to monitor: expected votes on items that the model was not trained on")
	}
	rows := make([]historyRow, len(page.History))
	for i, p := range page.History {
		rows[i] = historyRow{p.Votes, p.Strict, p.Tolerant}
	}
	if err := o.out.write(cmd, page, page.print, records(rows)); err != nil {
		return err
	}
	if o.fail && len(page.Alarms) > 0 {
		return errAlarm
	}
	return nil
}

// inputRates returns the expected rates of unlike items, nil if they cannot be found from the data of the run.
func inputRates(ctx context.Context, folder run.Folder) *monitor.InputRates {
	n, unlike, err := folder.HeldOutUnlike(ctx)
	if err != nil || n == 0 {
		return nil
	}
	rates := monitor.NewInputRates(n, unlike.Far, unlike.Unknown)
	return &rates
}

// historyRow is a row of the CSV output: the evidence after a number of votes.
type historyRow struct {
	Votes    int     `json:"votes"`
	Strict   float64 `json:"strict"`
	Tolerant float64 `json:"tolerant"`
}

// monitorPage is the result of credence monitor.
type monitorPage struct {
	Model string `json:"model"` // SHA-256
	*monitor.Report
	LeftOut monitor.LeftOut `json:"left_out"`
	Delays  []monitor.Delay `json:"delays,omitempty"`
}

// evidence runs the monitor over all votes.
func (o *monitorOptions) evidence(ctx context.Context, m *model.Model, in monitor.Later) (*monitorPage, error) {
	votes, err := monitor.Votes(m, in.Data)
	if err != nil {
		return nil, err
	}
	w, err := monitor.New(m, o.Options)
	if err != nil {
		return nil, err
	}
	page := &monitorPage{}
	if page.LeftOut, err = w.AddItems(ctx, m, in); err != nil {
		return nil, err
	}
	if err := w.AddVotes(ctx, votes); err != nil {
		return nil, err
	}
	page.Report = w.Report(1000)
	if page.Model, err = m.Hash(); err != nil || !o.delays {
		return page, err
	}
	page.Delays, err = monitor.Delays(ctx, m.Classes, w.Dists(200), o.Options, monitor.DelayOptions{})
	return page, err
}

func (p *monitorPage) print(w *printout.Page) {
	w.Sections(p.summary, p.bets, p.groups, p.raters, p.inputs, p.delays, func(w *printout.Page) {
		if len(p.Warnings) > 0 {
			w.Bullets(p.Warnings)
		}
	})
}

func (p *monitorPage) summary(w *printout.Page) {
	lead := map[string]string{monitor.Raised: "ALARM", monitor.Noted: "NOTE", monitor.Little: "OK", monitor.Quiet: "OK"}[p.Level]
	w.Paragraph(lead+"  ", p.Text)
	w.Paragraph("", fmt.Sprintf("%s on %s. Evidence now %.3g : 1 beyond a bias of %g, %.3g : 1 against an exact model; a note is shown at %g, an alarm raised at %g.",
		words.Plural(p.Votes, "vote"), words.Plural(p.Items, "item"), p.Evidence.Tolerant, p.Tolerate, p.Evidence.Strict, p.Note, p.Alarm))
	for _, a := range p.Alarms {
		w.Paragraph("alarm  ", fmt.Sprintf("%s, after %s: %s", a.Kind, words.Plural(a.Votes, "vote"), a.Text))
	}
}

// streams prints a table of evidence.
func streams(w *printout.Page, heading, name string, list []monitor.Stream, votes bool) {
	if len(list) == 0 {
		return
	}
	t := w.NewTable(heading, 0, 1)
	header := []string{name, "finding", "beyond tolerance", "exact"}
	if votes {
		header = append(header, "votes")
	}
	t.Add(header...)
	for _, s := range list[:min(len(list), predict.TableItems)] {
		row := []string{printout.Ellipsis(s.Name, 24), s.Text, fmt.Sprintf("%.2g", s.Tolerant), fmt.Sprintf("%.2g", s.Strict)}
		if votes {
			row = append(row, strconv.Itoa(s.Votes))
		}
		t.Add(row...)
	}
	w.Table(t)
}

func (p *monitorPage) bets(w *printout.Page) { streams(w, "Evidence by bet", "bet", p.Bets, false) }

func (p *monitorPage) groups(w *printout.Page) {
	streams(w, "Evidence by group", "group", p.Groups, true)
}

func (p *monitorPage) raters(w *printout.Page) {
	streams(w, fmt.Sprintf("Raters: evidence together %.3g : 1", p.RaterEvidence.Tolerant), "rater", p.Raters, true)
}

func (p *monitorPage) inputs(w *printout.Page) {
	if p.Inputs != nil {
		w.Paragraph("Inputs  ", fmt.Sprintf("%s; evidence %.3g : 1", p.Inputs.Text, p.Inputs.Evidence))
	}
}

func (p *monitorPage) delays(w *printout.Page) {
	if p.Delays == nil {
		return
	}
	t := w.NewTable("Votes to an alarm after a change, median of simulations", 0)
	t.Add("change", "votes")
	for _, d := range p.Delays {
		text := words.Thousands(d.Votes)
		if d.Votes == 0 {
			text = "more than " + words.Thousands(d.Most)
		}
		t.Add(d.Text, text)
	}
	w.Table(t)
}
