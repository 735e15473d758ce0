package predict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/head"
	"credence/internal/table"
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
)

// RaterData is a table of raters: a row for each, with their features.
type RaterData struct {
	// LeftOut are columns with too many different texts to be features.
	LeftOut []string

	sheet *table.Sheet
	rater int            // column of names
	at    map[string]int // row of each rater
	// inputs has the features as numbers, [rows, K]: columns of numbers scaled to unit variance, others as 0 and 1 for each
	// level. A missing number is the mean, a missing text none of the levels. Rows without any value are nil.
	inputs [][]float64
}

// maxRaterLevels is the largest number of different texts of a column that features are made of: names of raters'
// towns would only repeat who they are.
const maxRaterLevels = 20

// ReadRaterData reads a table with a column rater and further columns with features of raters.
func ReadRaterData(ctx context.Context, path string) (*RaterData, error) {
	t, err := table.ReadSheet(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	d := &RaterData{sheet: t, rater: t.Column("rater", "annotator", "worker", "name"), at: map[string]int{}}
	switch {
	case d.rater < 0:
		return nil, t.Errorf(-1, -1, "expected a column rater, found [%s]", words.Few(t.Header))
	case len(t.Header) < 2:
		return nil, t.Errorf(-1, -1, "expected columns with features of raters next to %q, found none", t.Header[d.rater])
	case len(t.Rows) == 0:
		return nil, t.Errorf(-1, -1, "expected rows below the header, found none")
	}
	for i, row := range t.Rows {
		name := row[d.rater]
		if name == "" {
			return nil, t.Errorf(i, d.rater, "expected a rater, found an empty cell")
		}
		if first, twice := d.at[name]; twice {
			return nil, t.Errorf(i, d.rater, "duplicate rater %q, first in line %d", name, t.Line(first))
		}
		d.at[name] = i
	}
	d.encode()
	return d, nil
}

// encode fills inputs.
func (d *RaterData) encode() {
	d.inputs = make([][]float64, len(d.sheet.Rows))
	for c := range d.sheet.Header {
		if c == d.rater {
			continue
		}
		columns := d.column(c)
		for i := range d.inputs {
			for _, values := range columns {
				d.inputs[i] = append(d.inputs[i], values[i])
			}
		}
	}
	for i, row := range d.sheet.Rows {
		rest := slices.Concat(row[:d.rater], row[d.rater+1:])
		if !slices.ContainsFunc(rest, func(text string) bool { return text != "" }) {
			d.inputs[i] = nil
		}
	}
}

// column returns a column as numbers, in one or more lists with a value for each row.
func (d *RaterData) column(c int) [][]float64 {
	numbers, numeric, n, sum, square := make([]float64, len(d.sheet.Rows)), true, 0.0, 0.0, 0.0
	var levels []string
	for i, row := range d.sheet.Rows {
		if row[c] == "" {
			numbers[i] = math.NaN()
			continue
		}
		x, ok := d.sheet.Number(row[c])
		numbers[i], numeric = x, numeric && ok && !math.IsInf(x, 0)
		n, sum, square = n+1, sum+x, square+x*x
		levels = append(levels, row[c])
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	if numeric && len(levels) > 2 {
		mean := sum / n
		sd := math.Sqrt(square/n - mean*mean)
		for i, x := range numbers {
			if numbers[i] = (x - mean) / sd; math.IsNaN(x) {
				numbers[i] = 0
			}
		}
		return [][]float64{numbers}
	}
	if len(levels) > maxRaterLevels {
		d.LeftOut = append(d.LeftOut, d.sheet.Header[c])
		return nil
	}
	lists := make([][]float64, len(levels))
	for k, level := range levels {
		lists[k] = make([]float64, len(d.sheet.Rows))
		for i, row := range d.sheet.Rows {
			if row[c] == level {
				lists[k][i] = 1
			}
		}
	}
	return lists
}

// As is a rater, or a group of them, whose votes are to be predicted.
type As struct {
	// Average maps the probabilities of an item to those of a vote by the rater, or by one of the group.
	Average *mixture.AverageRater
	// About says whose votes are predicted, and what that is based on.
	About string
}

// NewAs returns the rater of a model with the given name or, with data on raters, the group "column=value" of the raters of
// training that have this value in the table. Features of raters explain their biases by regression, so that a rater
// with features, but few votes or none, is predicted like those with the same features.
func NewAs(m *model.Model, who string, data *RaterData) (*As, error) {
	if m.RaterModel == nil {
		return nil, ErrNoRaterModel
	}
	know := raterKnowledge{m: m, data: data}
	if data != nil && m.RaterModel.HasBias() {
		if err := data.checkCase(m.Raters); err != nil {
			return nil, err
		}
		rows := make([][]float64, len(m.Raters))
		for r, name := range m.Raters {
			if i, ok := data.at[name]; ok {
				rows[r] = data.inputs[i]
			}
		}
		var err error
		if know.regression, err = m.RaterModel.Regress(rows); err != nil {
			return nil, data.sheet.Errorf(-1, -1, "%v", err)
		}
	}
	raters, about, err := know.find(who)
	if err != nil {
		return nil, err
	}
	if raters == nil {
		return &As{m.RaterModel.Average(), about}, nil
	}
	average, err := m.RaterModel.As(raters...)
	return &As{average, about}, err
}

// checkCase returns an error for a rater of the table whose name differs from one of the model only in case.
func (d *RaterData) checkCase(names []string) error {
	folded := map[string]string{}
	for _, name := range names {
		folded[strings.ToLower(name)] = name
	}
	for i, row := range d.sheet.Rows {
		name := row[d.rater]
		if near, ok := folded[strings.ToLower(name)]; ok && !slices.Contains(names, name) {
			return d.sheet.Errorf(i, d.rater, "expected the rater %q of the model, found %q, which differs in case", near, name)
		}
	}
	return nil
}

// ErrNoRaterModel means that a model was trained without a rater model.
var ErrNoRaterModel = errors.New("the model has no rater model: predictions do not differ between raters")

// raterKnowledge is all that is known about raters.
type raterKnowledge struct {
	m          *model.Model
	data       *RaterData // nil for none
	regression *head.RaterRegression
}

// find returns the raters that a name or "column=value" stands for, nil for an average rater, and what is known about them.
func (k *raterKnowledge) find(who string) (raters []head.RaterPosterior, about string, err error) {
	if r := slices.Index(k.m.Raters, who); r >= 0 {
		p := k.posterior(r)
		return []head.RaterPosterior{p}, k.describe(who, p), nil
	}
	names := k.m.Raters
	if k.data != nil {
		if i, ok := k.data.at[who]; ok {
			return k.withoutVotes(who, i)
		}
		if column, value, ok := strings.Cut(who, "="); ok {
			return k.group(column, value)
		}
		for _, row := range k.data.sheet.Rows {
			names = append(slices.Clip(names), row[k.data.rater])
		}
	}
	expected := fmt.Sprintf("expected one of the model's %s", words.Plural(len(k.m.Raters), "rater"))
	if k.data != nil {
		expected += ", a rater of the table, or column=value"
	} else if strings.Contains(who, "=") {
		return nil, "", fmt.Errorf("%q: a group of raters requires a table with their features", who)
	}
	if near := words.Nearest(who, names); near != "" {
		return nil, "", fmt.Errorf("%w %q: %s: did you mean %q?", head.ErrNoRater, who, expected, near)
	}
	return nil, "", fmt.Errorf("%w %q: %s", head.ErrNoRater, who, expected)
}

// posterior returns what is known about a rater of the model.
func (k *raterKnowledge) posterior(r int) head.RaterPosterior {
	if k.regression != nil {
		return k.regression.Posterior(r, nil)
	}
	return k.m.RaterModel.Posterior(r)
}

// describe returns what is known about a rater of the model.
func (k *raterKnowledge) describe(name string, p head.RaterPosterior) string {
	text := fmt.Sprintf("votes of rater %s, with %s in training", name, words.Plural(int(k.m.RaterModel.Votes[p.Rater]), "vote"))
	if k.m.RaterModel.HasBias() {
		text += fmt.Sprintf(": bias %+.2f ± %.2f", p.Bias, p.BiasSD)
	}
	return fmt.Sprintf("%s, guess rate %.2f", text, k.m.RaterModel.Guess[p.Rater])
}

// withoutVotes returns a rater of the table, by its row, who has no votes in training.
func (k *raterKnowledge) withoutVotes(name string, row int) ([]head.RaterPosterior, string, error) {
	x := k.data.inputs[row]
	if x == nil || k.regression == nil {
		why := "and no features"
		if x != nil {
			why = "and features say nothing about classes without order"
		}
		return nil, fmt.Sprintf("rater %s has no votes in training, %s: predictions are those of an average rater", name, why), nil
	}
	p := k.regression.Posterior(-1, x)
	return []head.RaterPosterior{p}, fmt.Sprintf("votes of rater %s, without votes in training: bias %+.2f ± %.2f by the features of raters",
		name, p.Bias, p.BiasSD), nil
}

// group returns the raters of training with a value in a column of the table.
func (k *raterKnowledge) group(column, value string) (raters []head.RaterPosterior, about string, err error) {
	t := k.data.sheet
	c := t.Column(column)
	if c < 0 || c == k.data.rater {
		return nil, "", t.Errorf(-1, -1, "expected a column %q with features of raters, found [%s]", column, words.Few(t.Header))
	}
	var levels []string
	want, number := t.Number(value)
	votes := 0.0
	for r, name := range k.m.Raters {
		i, ok := k.data.at[name]
		if !ok || t.Rows[i][c] == "" {
			continue
		}
		x, isNumber := t.Number(t.Rows[i][c])
		levels = append(levels, t.Rows[i][c])
		if t.Rows[i][c] == value || number && isNumber && x == want {
			raters = append(raters, k.posterior(r))
			votes += k.m.RaterModel.Votes[r]
		}
	}
	if raters == nil {
		slices.Sort(levels)
		return nil, "", t.Errorf(-1, -1, "expected a value of the column %q that a rater of training has, [%s], found %q",
			t.Header[c], words.Few(slices.Compact(levels)), value)
	}
	return raters, fmt.Sprintf("votes of %s of training with %s=%s, who cast %s votes",
		words.Plural(len(raters), "rater"), t.Header[c], value, words.Thousands(int(votes))), nil
}
