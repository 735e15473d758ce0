package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/config"
	"credence/internal/words"
	"credence/model"
	"credence/run"
)

// decisionFlags are the flags for scores of decisions on one class.
type decisionFlags struct {
	positive   string
	reference  string
	thresholds []string
	margin     float64
	raters     bool
	options    evaluate.DecisionOptions // from the flags
	rivals     []string                 // further runs
}

func (o *decisionFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&o.positive, "positive", "", "add scores for decisions on this `class`: AUC, sensitivity, specificity, calibration, net benefit")
	f.StringVar(&o.reference, "reference", evaluate.ReferenceVote, "compare decisions with each `vote`, the majority, or a column of DATA with labels")
	f.StringSliceVar(&o.thresholds, "threshold", nil,
		"decide for the positive class from these `probabilities`, or by cost: 1:9 if a false negative costs nine times a false positive (default 0.5)")
	f.Float64Var(&o.margin, "margin", 0, "noninferiority `margin` of comparisons, as a difference of AUC, sensitivity, …")
	f.BoolVar(&o.raters, "compare-raters", false, "compare decisions with those of each rater, on the same items")
	notZero(f, "margin")
}

// check validates the flags.
func (o *decisionFlags) check(f *pflag.FlagSet) error {
	if o.positive == "" {
		for _, name := range []string{"reference", "threshold", "margin", "compare-raters"} {
			if f.Changed(name) {
				return usagef("--%s: expected --positive CLASS with it", name)
			}
		}
		return cmp.Or(expect(!f.Changed("positive"), "--positive: expected a class, found none"),
			expect(len(o.rivals) == 0, "comparing runs: expected --positive CLASS with them"))
	}
	o.options = evaluate.DecisionOptions{Positive: o.positive, Reference: o.reference, Margin: o.margin}
	if o.reference != evaluate.ReferenceVote && o.reference != evaluate.ReferenceMajority {
		o.options.Reference, o.options.Column = evaluate.ReferenceGold, o.reference
	}
	for _, text := range o.thresholds {
		t, err := parseThreshold(text)
		if err != nil {
			return err
		}
		if !slices.Contains(o.options.Thresholds, t) {
			o.options.Thresholds = append(o.options.Thresholds, t)
		}
	}
	return cmp.Or(expect(!f.Changed("threshold") || len(o.thresholds) > 0, "--threshold: expected a probability, found none"),
		expect(o.reference != "", "--reference: expected vote, majority or the name of a column"),
		expect(o.margin >= 0 && o.margin < 1, "--margin %v: expected a difference between 0 and 1", o.margin),
		expect(o.margin == 0 || o.raters || len(o.rivals) > 0, "--margin: expected several runs or --compare-raters, which it is for"))
}

// parseThreshold reads a probability, or the costs of a false positive and a false negative: the threshold at which the
// expected costs of both decisions are equal is c₊/(c₊ + c₋).
func parseThreshold(text string) (float64, error) {
	bad := usagef("--threshold %s: expected a probability between 0 and 1, or costs such as 1:9", text)
	first, second, costs := strings.Cut(text, ":")
	t, err := config.ParseNumber(first)
	if err == nil && costs {
		var missed float64
		if missed, err = config.ParseNumber(second); err == nil && t > 0 && missed > 0 {
			t /= t + missed
		} else {
			t = 0
		}
	}
	if err != nil || !(t > 0 && t < 1) {
		return 0, bad
	}
	return t, nil
}

// splitRuns divides arguments into runs, which come first, and files. The first argument is a run whatever it is; a further one is a
// run if it is a folder with a model, or a model file.
func splitRuns(args []string) (runs, files []string, err error) {
	n := 1
	for n < len(args) && isRun(args[n]) {
		n++
	}
	for i, a := range args[:n] {
		for _, b := range args[:i] {
			if sameModel(a, b) {
				return nil, nil, usagef("%s and %s: expected different runs, found the same model", b, a)
			}
		}
	}
	return args[:n], args[n:], expect(n == 1 || n < len(args), "expected a file of items after the runs, found none")
}

func isRun(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return run.Folder(path).Has(run.ModelFile)
	}
	return filepath.Ext(path) == filepath.Ext(run.ModelFile)
}

// sameModel reports whether two paths of runs lead to the same model file.
func sameModel(a, b string) bool {
	file := func(path string) os.FileInfo {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return info
		}
		info, _ := os.Stat(run.Folder(path).Path(run.ModelFile))
		return info
	}
	x, y := file(a), file(b)
	return x != nil && y != nil && os.SameFile(x, y)
}

// readValues returns the values of columns of DATA for the items of ds, which are a subset of all.
func readValues(ctx context.Context, path string, m *model.Model, load dataset.LoadOptions,
	all, ds *dataset.Dataset, names []string) ([][]string, error) {
	values, err := run.FolderOf(path).ReadColumns(ctx, m, all, load, names)
	if err != nil {
		return nil, err
	}
	place := placesOf(all.Items)
	out := make([][]string, len(names))
	for k := range names {
		for _, id := range ds.Items {
			out[k] = append(out[k], values[k][place[id]])
		}
	}
	return out, nil
}

func placesOf(items []string) map[string]int {
	place := make(map[string]int, len(items))
	for j, id := range items {
		place[id] = j
	}
	return place
}

// decisionData is what decisions are compared with.
type decisionData struct {
	gold   []int
	rivals []evaluate.Rival
}

// read reads the gold labels and the predictions of further runs for the items of ds, a subset of all.
func (o *decisionFlags) read(cmd *cobra.Command, settings *config.Settings, path string, m *model.Model,
	load dataset.LoadOptions, all, ds *dataset.Dataset) (d decisionData, err error) {
	if o.positive == "" {
		return d, nil
	}
	if !slices.Contains(m.Classes, o.positive) {
		return d, usagef("--positive %s: expected one of the classes %s", o.positive, words.Few(m.Classes))
	}
	if o.options.Reference == evaluate.ReferenceGold {
		if d.gold, err = o.readGold(cmd.Context(), path, m, load, all, ds); err != nil {
			return d, err
		}
	}
	for _, rival := range o.rivals {
		x, err := readRival(cmd, settings, rival, m, load, ds)
		if err != nil {
			return d, fmt.Errorf("comparing with %s: %w", rival, err)
		}
		d.rivals = append(d.rivals, x)
	}
	if o.raters {
		if ds.Ratings == nil {
			return d, withHint(usagef("--compare-raters: expected votes with raters, found none"),
				"a file of votes has a column that names the rater; of votes in columns, each column is a rater")
		}
		d.rivals = append(d.rivals, evaluate.RaterRivals(ds)...)
	}
	return d, nil
}

// readGold returns the classes that the reference column gives, −1 for empty cells.
func (o *decisionFlags) readGold(ctx context.Context, path string, m *model.Model,
	load dataset.LoadOptions, all, ds *dataset.Dataset) ([]int, error) {
	name := o.options.Column
	if slices.ContainsFunc(m.Transform.Schema(), func(f dataset.Feature) bool { return f.Name == name }) {
		return nil, fmt.Errorf("--reference %s: expected a column that the model does not use, found one of its features", name)
	}
	values, err := readValues(ctx, path, m, load, all, ds, []string{name})
	if err != nil {
		return nil, err
	}
	gold := make([]int, ds.Len())
	for j, v := range values[0] {
		if gold[j] = slices.Index(m.Classes, v); v != "" && gold[j] < 0 {
			return nil, fmt.Errorf("item %s: column %s: expected one of the classes %s, or nothing, found %q", ds.Items[j], name, words.Few(m.Classes), v)
		}
	}
	return gold, nil
}

// readRival returns the predictions of another run for the items of ds, with its probabilities in the order of the classes of m.
func readRival(cmd *cobra.Command, settings *config.Settings, path string, m *model.Model,
	load dataset.LoadOptions, ds *dataset.Dataset) (r evaluate.Rival, err error) {
	other, err := loadModel(cmd.ErrOrStderr(), path)
	if err != nil {
		return r, err
	}
	to := make([]int, len(m.Classes))
	for c, name := range m.Classes {
		to[c] = slices.Index(other.Classes, name)
	}
	if len(other.Classes) != len(m.Classes) || slices.Contains(to, -1) {
		return r, fmt.Errorf("expected a model of the classes %s, found %s", words.Few(m.Classes), words.Few(other.Classes))
	}
	reportAs(other, settings)
	all, err := run.FolderOf(path).ReadData(cmd.Context(), other, load)
	if err != nil {
		return r, withFeatureHint(err)
	}
	defer all.Close()
	if all.Rows == nil {
		return r, errNoItems(other)
	}
	predictions, err := other.Predict(cmd.Context(), all, model.PredictOptions{})
	if err != nil {
		return r, err
	}
	place := placesOf(all.Items)
	r = evaluate.Rival{Name: path, Means: make([][]float64, ds.Len())}
	for j, id := range ds.Items {
		i, ok := place[id]
		if !ok {
			return r, fmt.Errorf("item %s: expected a prediction of both runs, found none of this", id)
		}
		for _, c := range to {
			r.Means[j] = append(r.Means[j], predictions[i].Mean[c])
		}
	}
	n, equal, err := run.FolderOf(path).Seen(other, ds)
	if n > 0 || equal {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s was trained on some of these items, or all: its scores are optimistic\n", path)
	}
	return r, err
}
