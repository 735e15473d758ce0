package evaluate

import (
	"context"
	"fmt"
	"slices"

	"credence/dataset"
	"credence/internal/logistic"
)

// referenceData are items as references take them.
type referenceData struct {
	x      *logistic.Dense // nil if there are none, or too many
	votes  Votes
	groups []int
}

// newReferenceData reads some items of ds, their features through t; training
// says that t was fitted to ds.
func newReferenceData(ctx context.Context, ds *dataset.Dataset, t *dataset.Transform, items []int, training bool) (*referenceData, error) {
	d := &referenceData{votes: Votes{Classes: len(ds.Classes)}}
	var groups []string
	for _, j := range items {
		d.votes.Counts = append(d.votes.Counts, float64s(ds.CountsOf(j))...)
		if ds.Groups != nil {
			groups = append(groups, ds.Groups[j])
		}
	}
	var err error
	if groups != nil {
		if d.groups, _, err = unitsOf(len(items), groups); err != nil {
			return nil, err
		}
	}
	d.x, err = referenceFeatures(ctx, t, ds, items, training)
	return d, err
}

// selected returns the data of some rows.
func (d *referenceData) selected(rows []int) *referenceData {
	s := &referenceData{votes: Votes{Classes: d.votes.Classes}}
	if d.x != nil {
		s.x = d.x.Select(rows)
	}
	for _, j := range rows {
		s.votes.Counts = append(s.votes.Counts, d.votes.Item(j)...)
		if d.groups != nil {
			s.groups = append(s.groups, d.groups[j])
		}
	}
	return s
}

// referenceItems bounds the items that references are fitted to: what they have to learn is
// known from fewer.
const referenceItems = 1_000_000

// itemsFor returns the items that have votes and are scored, and of the others at most so many,
// evenly over the data. A nil scored means none.
func itemsFor(ds *dataset.Dataset, scored []bool, most int) []int {
	var items, rest []int
	for j := range ds.Len() {
		switch {
		case ds.VotesOf(j) == 0:
		case scored != nil && scored[j]:
			items = append(items, j)
		default:
			rest = append(rest, j)
		}
	}
	every := max(1, (len(rest)+most-1)/most)
	for k := 0; k < len(rest); k += every {
		items = append(items, rest[k])
	}
	slices.Sort(items)
	return items
}

// A logistic regression is fitted up to these numbers of columns, of values of features, to fit it also of weights (columns ×
// classes) and of values × classes.
const (
	referenceColumns = 10000
	referenceValues  = 20_000_000
	referenceWeights = 1_000_000
	referenceWork    = 400_000_000
)

// referenceFeatures returns the features that the logistic regression takes, for
// the given items: the inputs that t gives, with one column per level instead of
// the code of an embedded category. It is nil if they are too many, or t is nil.
func referenceFeatures(ctx context.Context, t *dataset.Transform, ds *dataset.Dataset, items []int, training bool) (*logistic.Dense, error) {
	if t == nil {
		return nil, nil
	}
	columns, inputs := 0, t.Inputs()
	for _, in := range inputs {
		if in.Kind == dataset.Codes {
			columns += in.Levels
		} else {
			columns += in.Width
		}
	}
	weights := columns * len(ds.Classes)
	if columns == 0 || columns > referenceColumns || columns*len(items) > referenceValues ||
		training && (weights > referenceWeights || weights*len(items) > referenceWork) {
		return nil, nil
	}
	over := t.Over
	if training {
		over = t.Training
	}
	rows, err := over(ds)
	if err != nil {
		return nil, err
	}
	x := &logistic.Dense{Columns: columns, Values: make([]float64, 0, columns*len(items))}
	row := make([]float32, t.Width())
	for _, j := range items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := rows.ReadRow(j, row); err != nil {
			return nil, fmt.Errorf("item %q: %w", ds.Items[j], err)
		}
		for _, in := range inputs {
			block := row[in.Offset : in.Offset+in.Width]
			if in.Kind != dataset.Codes {
				for _, v := range block {
					x.Values = append(x.Values, float64(v))
				}
				continue
			}
			for level := range in.Levels {
				hot := 0.0
				if float32(level) == block[0] {
					hot = 1
				}
				x.Values = append(x.Values, hot)
			}
		}
	}
	return x, nil
}
