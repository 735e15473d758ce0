package prediction

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"credence/head"
	"credence/internal/array"
	"credence/internal/calculator"
	"credence/internal/par"
	"credence/model"
)

// recordRows writes an NPY file with a record per item, in their order: fields of
// [calculator.BulkFields]. How many there are stands at the beginning of such a file, so that records
// wait in memory for the end. An item without a prediction has a record of NaN.
type recordRows struct {
	w       io.Writer
	bulk    calculator.Bulk
	shape   calculator.BulkShape
	laws    bool // whether records hold mixtures, whose length the longest decides
	pending []head.Answer
	missing []bool // of pending
	items   int
	chunks  [][]byte
}

// RecordFields returns the fields of records of a model, if nothing else is asked for, and those that
// may be asked for.
func RecordFields(m *model.Model, o *Options) (list, all []string) {
	if !m.Traits().Joint {
		return []string{"mean"}, []string{"mean"}
	}
	all = slices.DeleteFunc(slices.Clone(calculator.BulkFields), func(name string) bool {
		return name == "quantile" || name == "cdf" // of which predictions know nothing
	})
	list = slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		switch name {
		case "p_top":
			return !o.Top
		case "next_gain":
			return !o.Next
		case "weights", "alpha":
			return !o.Full
		}
		return false
	})
	return list, all
}

// newRecords returns the writer of a maker's answers as records.
func newRecords(w io.Writer, m *model.Model, o *Options) (*recordRows, error) {
	list, all := RecordFields(m, o)
	if o.Fields != nil {
		list = o.Fields
	}
	for _, name := range list {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("field %q is not one of %q", name, all)
		}
	}
	t := &recordRows{w: w, bulk: calculator.Bulk{Levels: o.Levels, Precision: o.Precision, Tell: list},
		shape: calculator.BulkShape{D: len(m.Classes)}}
	t.laws = slices.Contains(list, "weights") || slices.Contains(list, "alpha")
	return t, nil
}

func (t *recordRows) Write(ctx context.Context, a *Answers) (bool, error) {
	t.items += len(a.Items)
	t.pending = append(t.pending, a.List...)
	t.missing = append(t.missing, a.Dropped...)
	for j := range a.List {
		if law := a.List[j].Law; law != nil && !a.Dropped[j] {
			t.shape.K = max(t.shape.K, law.K())
		}
	}
	if !t.laws {
		t.flush()
	}
	return true, ctx.Err()
}

// flush makes the records of the answers that wait.
func (t *recordRows) flush() {
	const items = 64 // that one goroutine takes at a time
	n := len(t.pending)
	chunks := make([][]byte, (n+items-1)/items)
	size := 0
	for _, f := range t.bulk.Fields(t.shape) {
		size += f.Len()
	}
	empty := array.AppendNumbers(nil, slices.Repeat([]float64{math.NaN()}, size))
	par.For(len(chunks), func(p int) {
		for j := p * items; j < min(n, (p+1)*items); j++ {
			if t.missing[j] {
				chunks[p] = append(chunks[p], empty...)
			} else {
				chunks[p] = t.bulk.AppendRecord(chunks[p], t.shape, &t.pending[j])
			}
		}
	})
	t.chunks = append(t.chunks, chunks...)
	t.pending, t.missing = t.pending[:0], t.missing[:0]
}

func (t *recordRows) Close() error {
	t.flush()
	head, err := array.HeaderRecords(t.bulk.Fields(t.shape), t.items)
	if err != nil {
		return err
	}
	for _, b := range append([][]byte{head}, t.chunks...) {
		if _, err := t.w.Write(b); err != nil {
			return err
		}
	}
	return nil
}
