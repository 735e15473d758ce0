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
	in       *Input
	study    *Study
	methods  *methods
	sections map[string]int // numbers of the sections so far, by id

	Front *front
	Flow  *figure
	Items *itemTable

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
	p := &page{in: in, study: in.Study, sections: map[string]int{}, Title: cmp.Or(in.Title, "Report of a Credence model"), Lead: lead(in), Commands: in.Commands,
		Config: in.Config, Evaluated: in.Evaluated}
	p.Byline = strings.Join(slices.DeleteFunc([]string{in.Author, in.Date}, func(s string) bool { return s == "" }), " · ")
	level := 0.95
	if in.Result != nil && in.Result.Level > 0 {
		level = in.Result.Level
	}
	items := itemsOf(in, level)
	g := &gallery{}
	p.Warnings = warnings(in)
	if in.Study != nil {
		var err error
		if p.methods, err = newMethods(in); err != nil {
			return nil, err
		}
		p.Flow, p.Items, p.Front = g.flow(in), newItemTable(in, items, level), p.newFront()
	}
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
	p.Calibration, p.Use, p.Examples = drawn(p.Calibration), drawn(p.Use), drawn(p.Examples)
	p.Style = template.CSS(pageCSS + g.style)
	p.Data, p.Classes, p.HasVotes = data(in), classTable(in, items), in.Votes.Classes > 0
	p.Runs, p.Provenance = runs(in), provenance(in)
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

// Section returns the heading of the next section, numbered; id is its anchor.
func (p *page) Section(id, title string) template.HTML {
	p.sections[id] = len(p.sections) + 1
	return template.HTML(fmt.Sprintf(`<h2 id="%s">%d. %s</h2>`, id, p.sections[id], template.HTMLEscapeString(title)))
}

// Methods returns the methods of a study, or nil.
func (p *page) Methods() *methods { return p.methods }

// drawn returns the figures that could be drawn.
func drawn(list []*figure) []*figure {
	return slices.DeleteFunc(list, func(f *figure) bool { return f == nil })
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
