package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/config"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
	"credence/predict"
	"credence/run"
)

// judgesOptions is the command line of credence judges.
type judgesOptions struct {
	out    outputFlags
	data   config.Settings
	report evaluate.JudgeOptions
}

func newJudges() *cobra.Command {
	o := judgesOptions{data: *config.New()}
	cmd := newVerb("judges RUN [DATA...]", "Show how far machine judges can be trusted: agreement, effective votes", "a run", o.run)
	cmd.Args = cobra.MinimumNArgs(1)
	f := cmd.Flags()
	o.out.declare(f, "table", "md", "csv", "json")
	alt := &o.report.AltTest
	f.Float64Var(&alt.Epsilon, "epsilon", 0.2, "`cost` of people that judges save, in the alternative annotator test")
	f.StringVar(&alt.Score, "score", "", "`score` of that test: accuracy or rmse (default: rmse if labels are more than two numbers)")
	f.IntVar(&alt.Items, "min-items", 30, "`items` that a person needs to take part in that test")
	f.IntVar(&o.report.Bootstrap.Replicates, "bootstrap", 0, "bootstrap `draws` for intervals (default 1000; 200 for many items)")
	f.Uint64Var(&o.report.Bootstrap.Seed, "seed", 0, "`seed` of the bootstrap")
	declare(f, &o.data, config.Evaluate)
	f.Lookup("votes").Usage = "`file` of votes of people and judges (default: those of the run); repeat to add votes"
	notZero(f, "bootstrap", "min-items")
	return cmd
}

func (o *judgesOptions) run(cmd *cobra.Command, args []string) error {
	path, files := args[0], args[1:]
	alt := &o.report.AltTest
	err := cmp.Or(
		expect(alt.Epsilon >= 0 && alt.Epsilon <= 1, "--epsilon %v: expected a difference of probabilities from 0 to 1", alt.Epsilon),
		expect(alt.Score == "" || alt.Score == evaluate.ScoreAccuracy || alt.Score == evaluate.ScoreRMSE, "--score %q: expected accuracy or rmse", alt.Score),
		expect(alt.Items >= 2, "--min-items %d: expected at least 2", alt.Items),
		expect(o.report.Bootstrap.Replicates == 0 || o.report.Bootstrap.Replicates >= 2, "--bootstrap %d: expected at least 2", o.report.Bootstrap.Replicates),
		o.out.begin(cmd, append(runFiles(path), files...)))
	if err != nil {
		return err
	}
	if alt.Epsilon == 0 {
		alt.Epsilon = -1 // none
	}
	m, err := loadModel(cmd.ErrOrStderr(), path)
	if err != nil {
		return err
	}
	if len(dataset.JudgesOf(m.Transform.Schema())) == 0 {
		return withHint(fmt.Errorf("%s was trained without judges", path), "name the raters that are machines with credence train --judges")
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	ds, err := o.read(ctx, m, path, files)
	if err != nil {
		return orStopped(ctx, err)
	}
	defer ds.Close()
	if err := o.predict(ctx, m, path, ds); err != nil {
		return orStopped(ctx, err)
	}
	r, err := evaluate.Judges(ctx, ds, o.report)
	if errors.Is(err, dataset.ErrNoHumanVotes) {
		return withHint(fmt.Errorf("%w: how far judges can be trusted shows only in votes by people", err), "add their votes with --votes")
	}
	if err != nil {
		return orStopped(ctx, err)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s\n", w)
	}
	return o.out.write(cmd, r, judgesReport{r}.print, judgesReport{r}.writeRows)
}

// read reads the votes: those of the run, or those of the command line.
func (o *judgesOptions) read(ctx context.Context, m *model.Model, path string, files []string) (*dataset.Dataset, error) {
	if len(files) == 0 && len(o.data.Load.Votes) == 0 {
		t := newTrainOptions()
		t.config, t.repeat = run.FolderOf(path).Path(run.ConfigFile), true
		err := t.resolve()
		var ds *dataset.Dataset
		if err == nil {
			ds, err = t.load(ctx)
		}
		if err != nil {
			err = withHint(fmt.Errorf("reading the data that %s was trained on: %w", path, err), "give votes of people and judges with --votes")
		}
		return ds, err
	}
	load := o.data.LoadOptions()
	load.Data = files
	ds, err := run.FolderOf(path).ReadData(ctx, m, load)
	if err == nil && ds.Rows == nil {
		err = errNoItems(m)
	}
	return ds, withFeatureHint(err)
}

// predict sets the disagreement that the model predicts and, for items that it was not trained on, its means.
func (o *judgesOptions) predict(ctx context.Context, m *model.Model, path string, ds *dataset.Dataset) error {
	list, err := m.Predict(ctx, ds, model.PredictOptions{})
	if err != nil {
		return err
	}
	seen, _, err := run.FolderOf(path).Seen(m, ds)
	if err != nil {
		return err
	}
	given := len(o.data.Load.Votes) > 0 // else they are those of the run
	for j := range list {
		o.report.Disagreement = append(o.report.Disagreement, disagreement(&list[j]))
		if given && seen == 0 {
			o.report.Means = append(o.report.Means, list[j].Mean...)
		}
	}
	return nil
}

// disagreement returns the predicted probability 1 − Σ E p² that two votes differ.
func disagreement(a *head.Decoded) float64 {
	x, dist := 1.0, a.ReportedDist()
	for i, m := range a.Mean {
		x -= m * m
		if dist != nil {
			x -= dist.Marginal(i).Variance()
		}
	}
	return x
}

// judgesReport is the report of credence judges.
type judgesReport struct{ *evaluate.JudgeReport }

func (r judgesReport) print(w *printout.Page) {
	w.Sections(r.heading, r.table, r.classes, r.altTest, r.shared, r.strata, r.notes)
}

func (r judgesReport) heading(w *printout.Page) {
	text := fmt.Sprintf("%s on %s with votes of people", words.Plural(len(r.Judges), "judge"), words.Plural(r.Items, "item"))
	if r.Weighted {
		text += ", weighted by --item-weights"
	} else if r.Unvoted > 0 {
		text += ", for selected items: " + words.Thousands(r.Unvoted) + " more have votes of judges only"
	}
	if r.People.Value.Known() {
		text += fmt.Sprintf("; two people agree on %s (%s)", percent(r.People.Value, 1), percentBetween(r.People))
	}
	w.Paragraph("", text+".")
}

func (r judgesReport) table(w *printout.Page) {
	t := w.NewTable("What judges are worth", 0)
	t.Add("judge", "items", "agreement", "95% interval", "effective votes", "95% interval", "ω", "ρ")
	for i := range r.Judges {
		s := &r.Judges[i]
		t.Add(printout.Ellipsis(s.Name, 24), words.Thousands(s.Items), percent(s.Agreement.Value, 1), percentBetween(s.Agreement),
			decimal(s.EffectiveVotes.Value, 2), between(s.EffectiveVotes, 2), decimal(s.AltTest.WinningRate, 2), decimal(s.AltTest.Advantage, 2))
	}
	if len(r.Judges) > 1 {
		t.Add("all judges ("+r.Panel.Method+")", "", "", "", decimal(r.Panel.EffectiveVotes.Value, 2), between(r.Panel.EffectiveVotes, 2), "", "")
	}
	w.Table(t)
}

func (r judgesReport) classes(w *printout.Page) {
	t := w.NewTable("Agreement by the class of people's votes", 0)
	t.Add(append([]string{"judge"}, words.Each(r.Classes, func(c string) string { return printout.Ellipsis(c, 16) })...)...)
	for i := range r.Judges {
		row := []string{printout.Ellipsis(r.Judges[i].Name, 24)}
		for _, e := range r.Judges[i].Classes {
			row = append(row, percent(e.Value, 1))
		}
		t.Add(row...)
	}
	w.Table(t)
}

func (r judgesReport) altTest(w *printout.Page) {
	var passed, failed, unknown []string
	reason := ""
	for i := range r.Judges {
		switch s := &r.Judges[i]; {
		case s.AltTest.Unknown != "":
			unknown, reason = append(unknown, s.Name), s.AltTest.Unknown
		case s.AltTest.Passed():
			passed = append(passed, s.Name)
		default:
			failed = append(failed, s.Name)
		}
	}
	text := fmt.Sprintf("Alternative annotator test (score %s, ε = %v, Benjamini–Yekutieli at %v): ", r.AltTest.Score, r.AltTest.Epsilon, r.AltTest.Level)
	var parts []string
	if len(passed) > 0 {
		parts = append(parts, "passed, so that people may be replaced, by "+strings.Join(passed, ", "))
	}
	if len(failed) > 0 {
		parts = append(parts, "not passed by "+strings.Join(failed, ", "))
	}
	if len(unknown) > 0 {
		parts = append(parts, "cannot be determined for "+strings.Join(unknown, ", ")+" ("+reason+")")
	}
	w.Paragraph("", text+strings.Join(parts, "; ")+".")
}

func (r judgesReport) shared(w *printout.Page) {
	if s := r.Panel.SharedErrors; s != nil {
		w.Paragraph("", "Shared errors of the judges: "+sharedText(s)+".")
	}
}

// sharedText describes the test of a group of judges.
func sharedText(s *evaluate.SharedErrors) string {
	switch {
	case s.Unknown != "":
		return "cannot be determined (" + s.Unknown + ")"
	case s.Found():
		return fmt.Sprintf("found (tetrad p = %.2g): they err together on the same items, so that their votes must not count as those of raters", float64(s.PValue))
	}
	return fmt.Sprintf("not found (tetrad p = %.2g)", float64(s.PValue))
}

// strataShown is the number of strata that are printed per judge, those with the largest excess.
const strataShown = 3

func (r judgesReport) strata(w *printout.Page) {
	t := w.NewTable("Where judges err more than people do, worst first", 0, 1)
	t.Add("judge", "items with", "items", "judge errs", "people differ", "excess", "95% interval")
	n := 0
	for i := range r.Judges {
		for _, s := range r.Judges[i].Worst(strataShown) {
			n++
			t.Add(printout.Ellipsis(r.Judges[i].Name, 20), printout.Ellipsis(s.Column+", "+s.Name, 40), words.Thousands(s.Items),
				percent(s.Judge, 1), percent(s.People, 1), percent(s.Excess.Value, 1), percentBetween(s.Excess))
		}
	}
	if n > 0 {
		w.Table(t)
	}
}

func (r judgesReport) notes(w *printout.Page) {
	w.Paragraph("", "Agreement: the share of people's votes that equal the judge's. Effective votes: how many votes by people are as informative as the "+
		"judge's vote on an item; below 0, it misleads. ω: the share of people whom the judge can replace, 0.5 or more passes; ρ: how often it "+
		"is at least as good as a person.")
	if r.Unvoted > 0 && !r.Weighted {
		w.Paragraph("", "All numbers are for selected items, those with votes of people.")
	}
}

// percentBetween writes the interval of a share.
func percentBetween(e evaluate.IntervalEstimate) string {
	if !e.Lo.Known() || !e.Hi.Known() {
		return "unknown"
	}
	return percent(e.Lo, 1) + " to " + percent(e.Hi, 1)
}

// writeRows writes a row per judge, and one for all.
func (r judgesReport) writeRows(w io.Writer, form predict.Form) error {
	columns := []predict.Column{{Name: "judge", Kind: predict.Text}}
	for _, name := range []string{"items", "agreement", "agreement_lower", "agreement_upper", "effective_votes", "effective_votes_lower",
		"effective_votes_upper", "winning_rate", "advantage"} {
		columns = append(columns, predict.Column{Name: name, Kind: predict.Number})
	}
	for _, c := range r.Classes {
		columns = append(columns, predict.Column{Name: "agreement[" + c + "]", Kind: predict.Number})
	}
	var rows [][]any
	for i := range r.Judges {
		s := &r.Judges[i]
		row := []any{s.Name, known(evaluate.Number(s.Items)), known(s.Agreement.Value), known(s.Agreement.Lo), known(s.Agreement.Hi),
			known(s.EffectiveVotes.Value), known(s.EffectiveVotes.Lo), known(s.EffectiveVotes.Hi), known(s.AltTest.WinningRate), known(s.AltTest.Advantage)}
		for _, e := range s.Classes {
			row = append(row, known(e.Value))
		}
		rows = append(rows, row)
	}
	e := r.Panel.EffectiveVotes
	row := []any{"all judges", known(evaluate.Number(r.Items)), nil, nil, nil, known(e.Value), known(e.Lo), known(e.Hi), nil, nil}
	for range r.Classes {
		row = append(row, nil)
	}
	return predict.WriteRows(w, form, columns, append(rows, row))
}

// sharedErrors returns a warning about raters that err together, or "".
func sharedErrors(ds *dataset.Dataset) string {
	s, err := evaluate.FindSharedErrors(ds, evaluate.Bootstrap{Replicates: 500})
	if err != nil || s == nil || !s.Found() {
		return ""
	}
	return s.Warning()
}

// checkJudges warns of raters that err together, and returns what judges are worth, nil if there are none.
func checkJudges(cmd *cobra.Command, ds *dataset.Dataset, b evaluate.Bootstrap) (*evaluate.JudgeReport, error) {
	if text := sharedErrors(ds); text != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s\n", text)
	}
	if len(dataset.JudgesOf(ds.Features)) == 0 {
		return nil, nil
	}
	return evaluate.Judges(cmd.Context(), ds, evaluate.JudgeOptions{Bootstrap: b})
}

// plannedWidths are the widths of 95% intervals for which credence check --judges plans votes.
var plannedWidths = []float64{0.6, 0.4, 0.3, 0.2}

// judges prints what judges save: the votes by people that an interval of a width needs, with and without them.
func (r *checkReport) judges(w *printout.Page) {
	if r.Judges == nil {
		return
	}
	e := r.Judges.Panel.EffectiveVotes
	if !e.Value.Known() || !r.Judges.Concentration.Known() {
		w.Paragraph("", "Judges: what they are worth cannot be determined from these votes.")
		return
	}
	t := w.NewTable("Votes by people per item for a 95% interval of a width, without and with judges")
	t.Add("width", "without", "with judges", "95% interval")
	for _, width := range plannedWidths {
		need := r.Judges.VotesFor(width)
		votes := func(n evaluate.Number) string { return decimal(max(0, evaluate.Number(need)-n), 1) }
		t.Add(fmt.Sprint(width), votes(0), votes(e.Value), votes(e.Hi)+" to "+votes(e.Lo))
	}
	w.Table(t)
	w.Paragraph("", fmt.Sprintf("All judges together are worth %s votes by people per item (95%% interval %s). Shared errors of the judges: %s.",
		decimal(e.Value, 2), between(e, 2), sharedOf(r.Judges)))
}

// sharedOf describes the test of all judges.
func sharedOf(r *evaluate.JudgeReport) string {
	if r.Panel.SharedErrors == nil {
		return "there is only one"
	}
	return sharedText(r.Panel.SharedErrors)
}
