// Package report writes a report on a trained model and its predictions as one
// HTML page, for people who have to decide whether to rely on the model: doctors
// first, then statisticians.
//
// Fill in an [Input] and call [Write]. The page is a single self-contained file:
// it loads no fonts, scripts or images; figures are inline SVG from
// internal/plot. It follows the reader's preference for light or dark mode and can
// be printed. Sections without input are left out; numbers that could not be
// computed are shown as a dash.
//
// Equal input gives equal bytes. The page contains no time stamp.
package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"credence/evaluate"
	"credence/head"
	"credence/internal/kernel"
	"credence/internal/words"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string

	// pageTemplate is parsed on first use, so that it does not delay the start of a program.
	pageTemplate = sync.OnceValue(func() *template.Template {
		return template.Must(template.Must(template.New("page").Parse(pageHTML)).Parse(decisionsHTML))
	})
)

// page is the data of the template.
type page struct {
	Title, Lead string
	Byline      string // author and date
	Style       template.CSS
	Verdicts    []Verdict
	Warnings    []string

	Data     []pair
	Classes  []classRow
	HasVotes bool

	Evaluated   string
	Losses      []row
	Further     []row
	Footing     string // explains the standard errors
	Guessing    string // the loss of guessing at random
	Widths      []widthRow
	Resolution  string
	Calibration []*figure
	Strata      []stratumRow
	StrataNote  string
	Decisions   *decisionsPage
	Importance  []*figure
	Use         []*figure
	Examples    []*figure
	Reading     string // how to read the examples
	ScaleRows   []scaleRow
	ScaleHeads  []string
	Level       string // of the intervals

	Raters      *figure
	RaterRows   []raterRow
	RatersMore  string // number of raters that are not in the table
	RatersNamed string // a note if names are pseudonyms

	Suspects     []suspectRow
	SuspectVotes string // number of all votes examined
	SuspectNames string // a note if names are pseudonyms

	Training *figure
	Runs     []runRow

	Commands   []string
	Config     string
	Provenance []pair
	Version    string
}

// pair is a name and a value; Code selects a fixed-width font.
type pair struct {
	Name, Value string
	Code        bool
}

type classRow struct{ Name, Votes, Share, Predicted string }

type widthRow struct{ Group, Items, Mean, Median string }

type stratumRow struct{ Name, Items, Ratio, Interval, PValue string }

type runRow struct {
	Name, Reason              string
	Items, Held, Epochs, Kept string
}

// pseudonymsNote is below lists of raters without their names.
const pseudonymsNote = "Names are pseudonyms."

// Write writes the report to w. If the report cannot be made, nothing is written.
func Write(w io.Writer, in Input) error {
	p, err := newPage(&in)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

func newPage(in *Input) (*page, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	p := &page{Title: cmp.Or(in.Title, "Report of a Credence model"), Lead: lead(in), Commands: in.Commands,
		Config: in.Config, Evaluated: in.Evaluated}
	p.Byline = strings.Join(slices.DeleteFunc([]string{in.Author, in.Date}, func(s string) bool { return s == "" }), " · ")
	level := 0.95
	if in.Result != nil && in.Result.Level > 0 {
		level = in.Result.Level
	}
	items := itemsOf(in, level)
	g := &gallery{}
	if r := in.Result; r != nil {
		p.Verdicts = verdicts(r)
		p.Losses, p.Further = losses(r), further(r)
		p.Footing = fmt.Sprintf("[ ] is a 95%% interval, ± one standard error, from %s of %s items or groups, with the fitted model held fixed; "+
			"for the dispersion ratio and class shares it is the sampling error if predictions are right.",
			words.Plural(r.Replicates, "bootstrap sample"), words.Thousands(r.Units))
		p.Guessing = strconv.FormatFloat(math.Log(float64(len(in.Classes))), 'f', 3, 64)
		p.Calibration = g.reliability(in)
		p.Calibration = append(p.Calibration, g.pit(in), g.dispersion(in), g.levels(in), g.agreement(in), g.coverage(in))
		p.Strata, p.StrataNote = strataTable(r)
		p.Decisions = g.decisions(r)
		p.Importance = g.importance(in)
		p.Widths, p.Resolution = widths(r), resolved(r, level)
	}
	p.Use = append([]*figure{g.scatter(in, items, level)}, g.abstention(in)...)
	if in.Result != nil {
		p.Use = append(p.Use, g.allocation(in))
	}
	p.Examples = g.densities(in, items, level)
	p.Level = percent(level)
	p.ScaleRows, p.ScaleHeads = scaleTable(in, items, level)
	p.Reading = "The higher the curve, the more likely the true probability. The bar below it is the " + percent(level) + " interval, the dot the mean."
	if p.Raters, p.RaterRows = g.raters(in); p.Raters != nil {
		if more := len(in.Raters.Raters) - len(p.RaterRows); more > 0 {
			p.RatersMore = fmt.Sprintf("The table lists raters who differ most; %s more are not shown.", words.Thousands(more))
		}
		if in.Raters.Pseudonymous {
			p.RatersNamed = pseudonymsNote
		}
	}
	if in.Suspects != nil {
		p.Suspects, p.SuspectVotes = suspectRows(in.Suspects), count(in.Suspects.Votes)
		if in.Suspects.Pseudonymous {
			p.SuspectNames = pseudonymsNote
		}
	}
	p.Training = g.training(in)
	if g.err != nil {
		return nil, g.err
	}
	drawn := func(f []*figure) []*figure { return slices.DeleteFunc(f, func(f *figure) bool { return f == nil }) }
	p.Calibration, p.Use, p.Examples = drawn(p.Calibration), drawn(p.Use), drawn(p.Examples)
	p.Style = template.CSS(pageCSS + g.style)
	p.Data, p.Classes, p.HasVotes = data(in), classTable(in, items), in.Votes.Classes > 0
	p.Warnings, p.Runs, p.Provenance = warnings(in), runs(in), provenance(in)
	if in.Provenance != nil {
		p.Version = in.Provenance.Version
		if p.Config == "" && len(in.Provenance.Config) > 0 {
			var b bytes.Buffer
			if err := json.Indent(&b, in.Provenance.Config, "", "  "); err != nil {
				return nil, fmt.Errorf("training configuration: %w", err)
			}
			p.Config = b.String()
		}
	}
	return p, nil
}

// lead returns the opening paragraph: what was trained on what, and how it was evaluated.
func lead(in *Input) string {
	var s strings.Builder
	what := "A network"
	if in.Members > 1 {
		what = fmt.Sprintf("An ensemble of %d networks", in.Members)
	}
	if p := in.Provenance; p != nil && p.Trees != nil && p.Trees.Share == 1 {
		what = "An ensemble of boosted trees"
	} else if p != nil && p.Trees != nil && p.Trees.Share > 0 {
		what += ", blended with boosted trees,"
	}
	on := "items with votes"
	if p := in.Provenance; p != nil && p.Split.Items > 0 {
		on = words.Plural(p.Split.Items-p.Split.Unvoted, "item") + " with " + words.Plural(p.Split.Votes, "vote")
	}
	if in.Subject != "" {
		on = in.Subject + ": " + on
	}
	fmt.Fprintf(&s, "%s was trained on %s. ", what, on)
	fmt.Fprintf(&s, "For a new item it predicts the probability of each of %s, and how certain that probability is: "+
		"not one number per class but a distribution, with intervals for the true probability.",
		some(words.Each(in.Classes, func(c string) string { return "“" + c + "”" }), 8))
	if r := in.Result; r != nil {
		fmt.Fprintf(&s, " It was evaluated with %s on %s %s.", words.Plural(float64(r.Votes), "vote"),
			count(float64(r.Items)), cmp.Or(in.Evaluated, "items it was not trained on"))
	}
	return s.String()
}

// warnings returns all warnings as sentences, without duplicates.
func warnings(in *Input) []string {
	var all []string
	if in.Provenance != nil {
		all = words.Each(in.Provenance.Warnings, evaluate.Message.String)
	}
	if in.Result != nil {
		all = append(all, words.Each(in.Result.Warnings, evaluate.Message.String)...)
	}
	var once []string
	for _, w := range append(all, in.Warnings...) {
		if w = sentence(w); w != "" && !slices.Contains(once, w) {
			once = append(once, w)
		}
	}
	return once
}

// data returns the table that describes the items and votes.
func data(in *Input) []pair {
	var rows []pair
	add := func(name, value string) { rows = append(rows, pair{Name: name, Value: value}) }
	if p := in.Provenance; p != nil {
		if s := p.Split; s.Items > 0 {
			text := words.Plural(s.Items, "item") + ", " + words.Plural(s.Votes, "vote")
			if s.Unvoted > 0 {
				text += "; " + words.Plural(s.Unvoted, "item") + " without votes left out"
			}
			add("Trained on", text)
			turns := 0 // number of networks that held out some of the items
			for _, r := range p.Runs {
				turns += min(1, r.Held)
			}
			switch {
			case turns > 0 && turns < s.Folds:
				add("Held out", fmt.Sprintf("%d of %d folds, one per network: items of the other folds were never held out", turns, s.Folds))
			case s.Folds > 0:
				add("Held out", fmt.Sprintf("%d folds in turn, so that every item was held out once", s.Folds))
			case s.HeldOut > 0:
				add("Held out", words.Plural(s.HeldOut, "item")+", for early stopping")
			}
		}
		if p.Votes != "" {
			add("Vote format", p.Votes)
		}
	}
	if r := in.Result; r != nil {
		of := cmp.Or(in.Evaluated, "items")
		text := count(float64(r.Items)) + " " + of + ", " + words.Plural(float64(r.Votes), "vote")
		if n := r.Items - r.VotedItems; n > 0 {
			text += "; " + words.Plural(n, "item") + " without votes"
		}
		add("Evaluated on", text)
	}
	if n := in.Votes.Len(); n > 0 {
		totals := make([]float64, n)
		for j := range totals {
			totals[j] = in.Votes.Total(j)
		}
		slices.Sort(totals)
		text := count(totals[0])
		if totals[n-1] != totals[0] {
			text = fmt.Sprintf("%s to %s, median %s", count(totals[0]), count(totals[n-1]), count(totals[n/2]))
		}
		add("Votes per item", text)
	}
	add("Classes", strconv.Itoa(len(in.Classes)))
	return rows
}

// classTable returns the votes for each class and the mean prediction.
func classTable(in *Input, items []item) []classRow {
	if len(items) == 0 {
		return nil
	}
	voted, all := in.Votes.Classes > 0, 0.0
	total, mean := make([]float64, len(in.Classes)), make([]float64, len(in.Classes))
	for _, x := range items {
		weight := 1.0
		if voted { // weighted by votes, to be comparable with the share of votes
			weight = x.total
			kernel.Axpy64(1, x.votes, total)
		}
		kernel.Axpy64(weight, x.mean, mean)
		all += weight
	}
	var rows []classRow
	for i, name := range in.Classes {
		r := classRow{name, dash, dash, dash}
		if voted {
			r.Votes = count(total[i])
		}
		if all > 0 {
			r.Predicted = number(evaluate.Number(100*mean[i]/all), 1) + "%"
		}
		if voted && all > 0 {
			r.Share = number(evaluate.Number(100*total[i]/all), 1) + "%"
		}
		rows = append(rows, r)
	}
	return rows
}

// widths returns the table of interval widths by agreement.
func widths(r *evaluate.Result) []widthRow {
	var rows []widthRow
	for _, g := range r.Widths {
		name := map[string]string{"unanimous": "All votes agree", "mixed": "Votes differ"}[g.Group]
		if g.Class != "" {
			name = "All votes for " + g.Class
		}
		if g.Items > 0 {
			rows = append(rows, widthRow{name, count(float64(g.Items)), withError(g.Mean, 3), withError(g.Median, 3)})
		}
	}
	return rows
}

// resolved returns sentences on the intervals that carry little information.
func resolved(r *evaluate.Result, level float64) string {
	var sentences []string
	if r.AtLeast > 0 {
		sentences = append(sentences, fmt.Sprintf("For %s of %s, the %s interval ends so close to 0 or 1 that the training votes cannot resolve a narrower one: "+
			"its actual level is at least that high.", count(float64(r.AtLeast)), words.Plural(r.Items, "item"), percent(level)))
	}
	if r.Vacuous > 0 {
		sentences = append(sentences, fmt.Sprintf("For %s it is [0, 1]: nothing is known about them.", words.Plural(r.Vacuous, "item")))
	}
	return strings.Join(sentences, " ")
}

// runs returns the table of training runs.
func runs(in *Input) []runRow {
	if in.Provenance == nil {
		return nil
	}
	var rows []runRow
	for _, r := range in.Provenance.Runs {
		rows = append(rows, runRow{r.Name, r.Reason, count(float64(r.Items)), count(float64(r.Held)),
			strconv.Itoa(len(r.History)), strconv.Itoa(r.Epoch)})
	}
	return rows
}

// provenance returns the table that identifies the run.
func provenance(in *Input) []pair {
	var rows []pair
	add := func(name, value string, code bool) {
		if value != "" {
			rows = append(rows, pair{name, value, code})
		}
	}
	if p := in.Provenance; p != nil {
		add("Credence", p.Version, false)
		add("Data (SHA-256)", p.Data, true)
		add("Seed", strconv.FormatUint(p.Seed, 10), false)
		add("Instruction set", p.Kernel, false)
	}
	add("Network", in.Network, true)
	if in.Members > 0 {
		add("Networks", strconv.Itoa(in.Members), false)
	}
	if p := in.Provenance; p != nil && p.Trees != nil && p.Trees.Share > 0 {
		add("Share of trees", fmt.Sprintf("%.0f%%", 100*p.Trees.Share), false)
	}
	if m, ok := in.Method.(head.Mixture); ok {
		add("Components of each mixture", strconv.Itoa(m.Components), false)
	}
	if in.Parameters > 0 {
		add("Parameters", count(float64(in.Parameters)), false)
	}
	if r := in.Result; r != nil {
		add("Bootstrap", fmt.Sprintf("%s samples, seed %d", count(float64(r.Replicates)), r.Seed), false)
	}
	for _, f := range in.Files {
		add(f.Name+" (SHA-256)", f.SHA256, true)
	}
	return rows
}
