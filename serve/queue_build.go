package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/par"
	"credence/internal/words"
	"credence/predict"
)

// facet is a column that items are filtered by: codes are indices into levels, −1 where an item has
// no value.
type facet struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
	Codes  []int    `json:"codes,omitempty"`
}

// mostLevels is how many values a category may have to be offered as a filter unasked.
const mostLevels = 200

// newPool reads and predicts the items.
func (q *queue) newPool(ctx context.Context, m *served) (*pool, error) {
	p := &pool{queue: q, of: m, level: q.server.options.Level, at: map[string]int{}, bad: map[int]string{}, rows: rowStore{most: keptInMemory}}
	earlier, err := readGiven(ctx, m, q.options.Earlier)
	if err != nil {
		return p, err
	}
	o := dataset.StreamOptions{KeepBad: true, Repeats: true, Beside: q.options.Items[1:], FeatureOptions: m.read.FeatureOptions}
	o.Ignore, o.AnyPath = nil, true // whoever starts the server names the files
	if earlier != nil {
		o.Known = earlier.Items
	}
	in, err := dataset.OpenStream(ctx, q.options.Items[0], m.parts, o)
	if err != nil {
		return p, err
	}
	defer in.Close()
	run := predict.New(m.model, predict.Options{BatchValues: batchValues})
	for batch, err := range run.Run(ctx, in) {
		if err == nil {
			err = p.add(batch)
		}
		if err != nil {
			return p, err
		}
		q.done.Store(int64(len(p.ids)))
		q.total.Store(int64(in.Total()))
	}
	if len(p.ids) == 0 {
		return p, fmt.Errorf("%s has no items", q.options.Items[0])
	}
	p.notes = words.Each(run.Diagnostics().Warnings, error.Error)
	if p.twice > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s of items that are there before: the first of an item counts", words.Plural(p.twice, "row")))
	}
	p.ballots = newBallots(m.model.Classes, p.at, earlier)
	p.notes = append(p.notes, p.ballots.notes...)
	if err := p.facet(ctx, m, &q.options); err != nil {
		return p, err
	}
	p.update(slices.Sorted(maps.Keys(p.ballots.given)))
	return p, ctx.Err()
}

// add takes in the predictions for a batch of items. A row whose id was there before is left out, and counted.
func (p *pool) add(b *predict.Batch) error {
	list := make([]*numbers, len(b.Predictions))
	par.For(len(list), func(j int) {
		if x := &b.Predictions[j]; x.Err == nil {
			list[j] = numbersOf(x, p.level)
		}
	})
	for j, id := range b.Items {
		if _, twice := p.at[id]; twice {
			p.twice++
			continue
		}
		i := len(p.ids)
		if (i+1)*len(p.of.model.Classes) > mostNumbers {
			return fmt.Errorf("there are more than %s items of %s", words.Thousands(i), words.Plural(len(p.of.model.Classes), "class"))
		}
		if list[j] == nil {
			p.bad[i] = b.Predictions[j].Err.Error()
		}
		p.at[id] = i
		p.ids = append(p.ids, id)
		p.prior, p.now = append(p.prior, list[j]), append(p.now, list[j])
		if err := p.rows.add(b.Batch, j); err != nil {
			return err
		}
	}
	return nil
}

// facet finds what items can be filtered by: categories of the model, and the columns asked for.
func (p *pool) facet(ctx context.Context, m *served, o *Queue) error {
	at := 0
	for _, part := range p.rows.parts {
		if part.Kind == dataset.Categorical && len(part.Levels) <= mostLevels && !slices.Contains(o.By, part.Name) {
			f := facet{Name: part.Name, Levels: part.Levels, Codes: make([]int, len(p.ids))}
			for i := range p.ids {
				x, err := p.rows.value(i, at)
				if err != nil {
					return err
				}
				if f.Codes[i] = -1; x >= 0 && int(x) < len(part.Levels) {
					f.Codes[i] = int(x)
				}
			}
			p.facets = append(p.facets, f)
		}
		at += part.Width()
	}
	if len(o.By) == 0 {
		return nil
	}
	load := dataset.LoadOptions{Data: slices.Clone(o.Items), NoVotes: true, FeatureOptions: m.read.FeatureOptions}
	load.FeatureOptions.Ignore = nil
	values, err := (&dataset.Dataset{Items: p.ids}).ReadColumns(ctx, load, o.By)
	if err != nil {
		if errors.Is(err, dataset.ErrNoColumn) {
			return fmt.Errorf("filtering by %s: %w", strings.Join(o.By, ", "), err)
		}
		return err
	}
	for k, name := range o.By {
		p.facets = append(p.facets, newFacet(name, values[k]))
	}
	return nil
}

// newFacet codes the values of a column, "" being none.
func newFacet(name string, values []string) facet {
	f := facet{Name: name, Codes: make([]int, len(values))}
	code := map[string]int{}
	for _, v := range values {
		code[v] = -1
	}
	delete(code, "")
	f.Levels = slices.SortedFunc(maps.Keys(code), byNumber)
	code[""] = -1
	for c, v := range f.Levels {
		code[v] = c
	}
	for i, v := range values {
		f.Codes[i] = code[v]
	}
	return f
}
