package predict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/logistic"
	"credence/model"
)

// JudgeVotes predicts the votes of a model's judges on items that they have not voted on, and what these votes would change.
//
// The probability of a judge's vote is a ridge logistic regression, fitted to the items of training that the judge voted on, on the
// class probabilities that the model predicts without this vote and on the votes of the other judges, which err together.
type JudgeVotes struct {
	Names []string
	// Always are the judges that voted on all items of training: the model has not learned to do without them.
	Always []string

	model  *model.Model
	votes  *Votes
	judges []judgeModel
}

// judgeModel is the regression of one judge's votes.
type judgeModel struct {
	column int // in the raw values of an item, by the model's features
	kind   dataset.Kind
	values []float32 // its different votes, as raw values
	fit    *logistic.Solution
}

// maxJudgeValues bounds the number of different votes of a judge.
const maxJudgeValues = 20

// judgePenalty is the penalty of the regressions.
const judgePenalty = 1

// NewJudgeVotes fits the regressions to the data that the model was trained on. votes, which may be nil, are votes of people on
// the items to predict.
func NewJudgeVotes(ctx context.Context, m *model.Model, trained *dataset.Dataset, votes *Votes) (*JudgeVotes, error) {
	v := &JudgeVotes{model: m, votes: votes}
	rows := make([][]float32, trained.Len())
	for i := range rows {
		rows[i] = make([]float32, trained.Rows.Width())
		if err := trained.Rows.ReadRow(i, rows[i]); err != nil {
			return nil, err
		}
	}
	same := func(a, b dataset.Feature) bool {
		return a.Name == b.Name && a.Kind == b.Kind && slices.Equal(a.Levels, b.Levels)
	}
	if !slices.EqualFunc(trained.Features, m.Transform.Schema(), same) {
		return nil, errors.New("expected the features that the model was trained with, found others: the files have changed")
	}
	at := 0
	for _, p := range trained.Features {
		if p.Judge {
			j := judgeModel{column: at, kind: p.Kind}
			n := 0
			for _, row := range rows {
				if j.voted(row) {
					j.values = append(j.values, row[at])
					n++
				}
			}
			slices.Sort(j.values)
			if j.values = slices.Compact(j.values); len(j.values) > maxJudgeValues {
				return nil, fmt.Errorf("judge %q: expected at most %d different votes, found %d", p.Name, maxJudgeValues, len(j.values))
			}
			v.Names, v.judges = append(v.Names, p.Name), append(v.judges, j)
			if n == len(rows) {
				v.Always = append(v.Always, p.Name)
			}
		}
		at += p.Width()
	}
	for g := range v.judges {
		if err := v.fit(ctx, g, trained, rows); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// voted reports whether an item has a vote of the judge.
func (j *judgeModel) voted(row []float32) bool {
	x := row[j.column]
	return x == x && (j.kind != dataset.Categorical || x != dataset.UnknownLevel)
}

// fit fits the regression of judge g to rows of training.
func (v *JudgeVotes) fit(ctx context.Context, g int, trained *dataset.Dataset, rows [][]float32) error {
	j := &v.judges[g]
	var without [][]float32
	var voted []float32
	for _, row := range rows {
		if j.voted(row) {
			voted = append(voted, row[j.column])
			without = append(without, with(row, j.column, float32(math.NaN())))
		}
	}
	if len(j.values) < 2 {
		return nil // always the same vote, or none
	}
	found, err := v.predict(ctx, trained.Features, nil, without)
	if err != nil {
		return err
	}
	x := &logistic.Dense{}
	p := &logistic.Problem{X: x, Classes: len(j.values), Outputs: len(j.values), Penalty: judgePenalty, BiasPenalty: 1e-6, Tolerance: 1e-8}
	for i, row := range without {
		inputs := v.inputs(found[i].Mean, row)
		x.Columns, x.Values = len(inputs), append(x.Values, inputs...)
		label := make([]float64, len(j.values))
		label[slices.Index(j.values, voted[i])] = 1
		p.Labels, p.Weights = append(p.Labels, label...), append(p.Weights, 1)
	}
	j.fit = p.Start()
	p.Solve(ctx, j.fit)
	return ctx.Err()
}

// inputs returns the inputs of the regressions: logits of the class probabilities, and the judges' votes as 0 and 1.
func (v *JudgeVotes) inputs(mean []float64, row []float32) []float64 {
	var x []float64
	for _, p := range mean {
		x = append(x, math.Log((p+0.01)/(1.01-p)))
	}
	for _, j := range v.judges {
		for _, value := range j.values {
			is := 0.0
			if row[j.column] == value {
				is = 1
			}
			x = append(x, is)
		}
	}
	return x
}

// with returns a copy of a row with another value.
func with(row []float32, column int, value float32) []float32 {
	row = slices.Clone(row)
	row[column] = value
	return row
}

// predict returns the predictions for rows of raw values: of items of their own, or all of the same item, updated by its votes.
func (v *JudgeVotes) predict(ctx context.Context, features []dataset.Feature, item *string, rows [][]float32) ([]Prediction, error) {
	m := &dataset.Memory{N: len(rows), W: len(rows[0])}
	ds := &dataset.Dataset{Features: features, Rows: m, Classes: v.model.Classes}
	for _, row := range rows {
		m.Values = append(m.Values, row...)
	}
	o := Options{Threads: 1}
	if ds.Items = make([]string, len(rows)); item != nil {
		o.Votes = v.votes
		for i := range ds.Items {
			ds.Items[i] = *item
		}
	}
	list, err := New(v.model, o).Dataset(ctx, ds)
	for i := range list {
		if err == nil {
			err = list[i].Err
		}
	}
	return list, err
}

// JudgedItem is an item that judges may vote on.
type JudgedItem struct {
	ID         string
	Features   []dataset.Feature
	Row        []float32 // raw values
	Prediction *head.Decoded
}

// Has reports whether the item has a vote of a judge.
func (v *JudgeVotes) Has(x *JudgedItem, judge int) bool {
	return v.judges[judge].voted(x.Row)
}

// Most returns how many judges may be asked about one item, such that their votes have at most 64 outcomes; at least 1.
func (v *JudgeVotes) Most() int {
	values := 2
	for _, j := range v.judges {
		values = max(values, len(j.values))
	}
	return max(1, int(math.Log(64.5)/math.Log(float64(values))))
}

// Outcomes returns the outcomes of votes of judges on an item.
func (v *JudgeVotes) Outcomes(ctx context.Context, x *JudgedItem, judges []int) ([]evaluate.JudgedOutcome, error) {
	rows, chances, found := [][]float32{x.Row}, []float64{1}, []Prediction{{Item: x.ID, Decoded: *x.Prediction}}
	for _, g := range judges {
		j := &v.judges[g]
		var next [][]float32
		var after []float64
		for k, row := range rows {
			for i, p := range j.chances(v.inputs(found[k].Mean, row)) {
				next, after = append(next, with(row, j.column, j.values[i])), append(after, chances[k]*p)
			}
		}
		if next == nil {
			continue // a judge without votes in training
		}
		var err error
		if found, err = v.predict(ctx, x.Features, &x.ID, next); err != nil {
			return nil, err
		}
		rows, chances = next, after
	}
	list := make([]evaluate.JudgedOutcome, len(rows))
	for k := range list {
		list[k] = evaluate.JudgedOutcome{Chance: chances[k], Dist: found[k].Dist}
	}
	return list, nil
}

// chances returns the probability of each vote of the judge.
func (j *judgeModel) chances(inputs []float64) []float64 {
	p := make([]float64, len(j.values))
	if j.fit == nil {
		for i := range p {
			p[i] = 1
		}
		return p
	}
	d, w := len(p), len(inputs)
	z := slices.Clone(j.fit.Theta[d*w:])
	for i := range z {
		for k, x := range inputs {
			z[i] += j.fit.Theta[i*w+k] * x
		}
	}
	logistic.Softmax(p, z)
	return p
}
