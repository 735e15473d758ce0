package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/model"
	"credence/nn"
	"credence/predict"
	"credence/report"
	"credence/train"
	"credence/tree"
)

// Input collects the predictions of m for the items of ds and what they are evaluated
// with: the votes on the items, and the reference models.
func Input(m *model.Model, ds *dataset.Dataset) (*evaluate.Input, error) {
	if !slices.Equal(ds.Classes, m.Classes) {
		return nil, fmt.Errorf("expected votes for the model's classes %q, found %q", m.Classes, ds.Classes)
	}
	decoded, err := m.Predict(context.Background(), ds, model.PredictOptions{})
	if err != nil {
		return nil, err
	}
	in, err := newInput(m, ds, decoded)
	if err != nil {
		return nil, err
	}
	if r := m.Provenance.References; r != nil {
		if in.References, err = r.Score(ds, m.Transform); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// newInput combines predictions for the items of ds with the votes on them and the raters who cast these.
func newInput(m *model.Model, ds *dataset.Dataset, decoded []head.Decoded) (in *evaluate.Input, err error) {
	in = evaluate.NewInput(ds)
	in.Predictions, in.RaterModel, in.RaterNames, in.Ordered = decoded, m.RaterModel, m.Raters, m.Ordered
	if scale, ok := predict.Scale(m); ok {
		in.Scale = scale
	}
	in.Ratings, err = predict.Ratings(m, ds)
	return in, err
}

// ReportInput returns the input of a report about a model and its evaluation. The caller sets the
// fields that describe the evaluated items, the raters and the commands.
func ReportInput(m *model.Model, in *evaluate.Input, r *evaluate.Result) report.Input {
	var scale []float64
	if m.Ordered {
		scale, _ = predict.Scale(m)
	}
	return report.Input{
		Classes:     m.Classes,
		Scale:       scale,
		Network:     networkName(m),
		Members:     len(m.Members),
		Method:      m.Method,
		Parameters:  m.Size(),
		Provenance:  &m.Provenance,
		Result:      r,
		Predictions: in.Predictions,
		Votes:       in.Votes,
	}
}

// networkName returns the name of the network in the configuration, "" if it has none,
// as a network given by a list of layers.
func networkName(m *model.Model) string {
	var config struct{ Network string }
	if json.Unmarshal(m.Provenance.Config, &config) != nil || len(config.Network) > 20 {
		return ""
	}
	return config.Network
}

// WriteReport writes report.html.
func (f Folder) WriteReport(page report.Input) error {
	return f.write(ReportFile, func(w io.Writer) error { return report.Write(w, page) })
}

// The report of a training run uses at most reportItems items and, if there are many classes, fewer: at most
// reportMeans class probabilities.
const (
	reportItems = 20_000
	reportMeans = 1_000_000
)

// writeReport evaluates the predictions that training made for held-out items, and
// writes the report of the run. Methods without distributions have no report. When
// ctx is canceled, no report is written and the error is train.ErrStopped.
func (t *Trained) writeReport(ctx context.Context, folder Folder, d *Partition, command string) error {
	var scored []int
	for j, p := range t.OutOfFold {
		if p != nil {
			scored = append(scored, j)
		}
	}
	if len(scored) == 0 || !t.Model.Traits().Joint {
		return nil
	}
	most := min(reportItems, reportMeans/len(t.Model.Classes)+1)
	every := (len(scored) + most - 1) / most
	var some []int
	var decoded []head.Decoded
	for i := 0; i < len(scored); i += every {
		some, decoded = append(some, scored[i]), append(decoded, *t.OutOfFold[scored[i]])
	}
	held := d.Learn.Select(some)
	in, err := newInput(t.Model, held, decoded)
	if err != nil {
		return err
	}
	in.References = t.References.Select(some)
	r, err := evaluate.EvaluateContext(ctx, *in, evaluate.Options{})
	if ctx.Err() != nil {
		os.Remove(folder.Path(ReportFile)) // of an earlier state of the run
		return fmt.Errorf("%w: the model is written, its report is not", train.ErrStopped)
	}
	if err != nil {
		return err
	}
	page := ReportInput(t.Model, in, r)
	page.Evaluated, page.Items = "items, by networks that were not trained on them", held.Items
	ShowRaters(&page, t.raters, true)
	ShowSuspects(&page, t.suspects, true)
	if command != "" {
		page.Commands = []string{command}
	}
	return folder.WriteReport(page)
}

// DefaultPseudonyms is the seed of the pseudonyms in reports; see [evaluate.Pseudonyms].
const DefaultPseudonyms = 0

// mostRaters is the largest number of raters in raters.json.
const mostRaters = 100_000

// ErrNoRaters is the error when nothing is known about the raters of a run.
var ErrNoRaters = errors.New("nothing is known about its raters")

// writeRaters writes raters.json if votes name raters.
func (t *Trained) writeRaters(folder Folder, d *Partition) error {
	if len(d.Learn.Ratings) == 0 || len(d.Learn.Raters) > mostRaters {
		return nil
	}
	t.raters = evaluate.DescribeRaters(d.Learn, t.Model.RaterModel, t.Model.Raters)
	if p := t.Model.Provenance.Raters; p != nil {
		t.raters.Reason = p.Reason.String()
	}
	return folder.writeJSON(RatersFile, " ", t.raters)
}

// HideComparators replaces the names of raters that a page compares the model with by pseudonyms.
func HideComparators(page *report.Input) {
	if r := page.Result; r != nil && r.Decisions != nil {
		shown := *r
		shown.Decisions = r.Decisions.WithPseudonyms(DefaultPseudonyms)
		page.Result = &shown
	}
}

// ShowRaters adds the raters to a page if they are modelled, under pseudonyms or under their
// names. The warnings of a model never name raters.
func ShowRaters(page *report.Input, r *evaluate.RaterReport, pseudonyms bool) {
	if r == nil {
		return
	}
	shown := *r
	shown.Raters = slices.Clone(r.Raters)
	if pseudonyms {
		shown.UsePseudonyms(DefaultPseudonyms)
	}
	if shown.Modelled {
		page.Raters = &shown
	}
}

// Raters returns what is known about the raters that m, the model of the run or the model file at path, was trained
// on: for a run also how they vote compared with others, for a model file only the rater model.
// If nothing is known, the error is ErrNoRaters.
func Raters(m *model.Model, path string) (*evaluate.RaterReport, error) {
	if folder := Folder(path); folder.Has(RatersFile) {
		r := &evaluate.RaterReport{}
		text, err := os.ReadFile(folder.Path(RatersFile))
		if err == nil {
			err = json.Unmarshal(text, r)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", folder.Path(RatersFile), cause(err))
		}
		r.MarkAlike()
		return r, nil
	}
	if m.RaterModel == nil {
		return nil, fmt.Errorf("%s: %w", path, ErrNoRaters)
	}
	r := evaluate.DescribeRaters(nil, m.RaterModel, m.Raters)
	if m.RaterModel.HasBias() {
		r.Class = m.Classes[len(m.Classes)-1]
	}
	if p := m.Provenance.Raters; p != nil {
		r.Reason = p.Reason.String()
		if p.Left != nil {
			for _, x := range p.Left.First {
				r.AddAverage(x.Name, x.Votes)
			}
		}
	}
	r.MarkAlike()
	return r, nil
}

// Card describes a model and its provenance, with its JSON names.
type Card struct {
	Classes    []string           `json:"classes"`
	Ordered    bool               `json:"ordered,omitempty"`
	Features   []dataset.Feature  `json:"features"`
	Texts      []dataset.TextInfo `json:"texts,omitempty"`
	Inputs     int                `json:"inputs"`
	Networks   int                `json:"networks"`
	Parameters int                `json:"parameters"`
	Layers     json.RawMessage    `json:"layers"`
	Branches   []Branch           `json:"branches,omitempty"` // if several kinds of features have separate layers
	Head       json.RawMessage    `json:"head"`
	Meaning    string             `json:"meaning,omitempty"` // of the uncertainty, for methods without distributions
	// TreeGains is the share of each column in the gain of the splits of trees, largest first; nil without trees.
	TreeGains   []TreeGain             `json:"tree_gains,omitempty"`
	Calibration *calibrate.Calibration `json:"calibration"`
	// Recalibration is nil unless the model was adjusted to later votes.
	Recalibration *calibrate.Recalibration `json:"recalibration,omitempty"`
	// References describes the reference models fitted to the same data, without weights.
	References *referenceSummary `json:"references,omitempty"`
	model.Provenance

	Method  head.Method   `json:"-"`
	Options train.Options `json:"-"` // of the fit, complete
}

type referenceSummary struct {
	Probabilities []float64 `json:"constant"`
	Alpha         []float64 `json:"constant_dm_alpha"`
	Columns       int       `json:"logistic_columns,omitempty"`
	Penalty       float64   `json:"logistic_penalty,omitempty"`
	Concentration float64   `json:"logistic_concentration,omitempty"`
}

// NewCard returns the card of a model.
func NewCard(m *model.Model) (*Card, error) {
	c := &Card{
		Classes: m.Classes, Ordered: m.Ordered, Features: m.Transform.Schema(), Texts: m.Transform.TextColumns(), Inputs: m.Transform.Width(),
		Networks: len(m.Members), Parameters: m.Size(),
		Calibration: m.Calibration, Recalibration: m.Recalibration, Provenance: m.Provenance,
		Method: m.Method, Meaning: m.Traits().Meaning,
	}
	var err error
	if c.Head, err = head.Encode(m.Method); err != nil {
		return nil, err
	}
	if c.Layers, err = nn.Describe(m.Members[0].Layers()); err != nil {
		return nil, err
	}
	c.Branches = branchesOf(m)
	c.TreeGains = treeGains(m.Trees)
	if len(m.Provenance.Config) > 0 {
		if err := json.Unmarshal(m.Provenance.Config, &c.Options); err != nil {
			return nil, fmt.Errorf("the configuration of the fit: %w", err)
		}
	}
	if r := m.Provenance.References; r != nil {
		c.References = &referenceSummary{Probabilities: r.Constant.Probabilities, Alpha: r.ConstantDirichlet.Alpha}
		if l := r.Logistic; l != nil {
			c.References.Columns, c.References.Penalty, c.References.Concentration = l.Columns, l.Penalty, l.Concentration
		}
	}
	return c, nil
}

// TreeGain is the share of a column in the gain of the splits of all trees.
type TreeGain struct {
	Column string  `json:"column"`
	Share  float64 `json:"share"`
}

// treeGains returns the columns that trees split by, the most important first.
func treeGains(b *tree.Blend) []TreeGain {
	if b == nil {
		return nil
	}
	var list []TreeGain
	columns, shares := b.Importance()
	for c, share := range shares {
		if share > 0 {
			list = append(list, TreeGain{columns[c].Name, share})
		}
	}
	slices.SortStableFunc(list, func(a, b TreeGain) int { return cmp.Compare(b.Share, a.Share) })
	return list
}

// Branch is a branch of a network, which takes some of the features.
type Branch struct {
	Features []string `json:"features"` // names of feature blocks, vectors, images and volumes
	Shape    []int    `json:"shape"`    // of its input
	Layers   []string `json:"layers"`   // in order: "dense 64", "relu"
}

// branchesOf describes the branches at the input of a model's networks; nil if
// all features go through the same layers.
func branchesOf(m *model.Model) []Branch {
	root, ok := m.Members[0].Layers().(*nn.Sequential)
	if !ok || len(root.Layers) == 0 {
		return nil
	}
	c, ok := root.Layers[0].(*nn.Concat)
	if !ok || len(c.Inputs) < 2 {
		return nil
	}
	blocks := m.Transform.Blocks()
	var list []Branch
	at := 0
	for i, shape := range c.Inputs {
		b := Branch{Shape: shape, Layers: layerNames(c.Branches[i])}
		for _, in := range blocks {
			if in.Offset < at+shape.Size() && at < in.Offset+in.Width {
				b.Features = append(b.Features, in.Name)
			}
		}
		at += shape.Size()
		list = append(list, b)
	}
	return list
}

// layerNames lists the layers of a branch, with their widths if they have any.
func layerNames(l nn.Layer) []string {
	names := []string{}
	if s, ok := l.(*nn.Sequential); ok {
		for _, one := range s.Layers {
			names = append(names, layerNames(one)...)
		}
		return names
	}
	var list []struct {
		Type             string
		Out, Width, Rate json.Number
	}
	if text, err := nn.Describe(l); err == nil && json.Unmarshal(text, &list) == nil && len(list) == 1 {
		names = append(names, strings.TrimSpace(list[0].Type+" "+cmp.Or(list[0].Out, list[0].Width, list[0].Rate).String()))
	}
	return names
}
