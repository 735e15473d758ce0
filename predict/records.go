package predict

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"credence/internal/array"
	"credence/internal/par"
	"credence/model"
)

// RecordShape is what the records of a file have in common: distributions of K components, or fewer, over D classes,
// and the lists that give some fields their length.
type RecordShape struct {
	K, D                   int
	Levels, Quantiles, CDF []float64
}

// records writes predictions as records of an NPY file, one per item.
type records struct {
	summary Summary
	fields  []*Field
	shape   RecordShape
}

// recordNames returns the names of fields that records can have.
func recordNames() []string {
	var list []string
	for i := range fields {
		if fields[i].record != nil {
			list = append(list, fields[i].Name)
		}
	}
	return list
}

// newRecords returns the records with the named fields.
func newRecords(s Summary, shape RecordShape, names []string) (*records, error) {
	shape.Levels = s.Levels
	r := &records{summary: s, shape: shape}
	for _, name := range names {
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name && f.record != nil })
		if i < 0 {
			return nil, fmt.Errorf("field %q is not one of %q", name, recordNames())
		}
		f := &fields[i]
		r.fields = append(r.fields, f)
		if f.numbers != nil {
			r.summary.needs |= f.numbersNeeds
		} else {
			r.summary.needs |= f.needs
		}
	}
	return r, nil
}

// layout returns the fields as a file has them.
func (r *records) layout() []array.Field {
	list := make([]array.Field, len(r.fields))
	for i, f := range r.fields {
		list[i] = array.Field{Name: f.Name, Shape: f.recordShape(&r.shape)}
	}
	return list
}

// recordShape returns the shape of a field; nil is that of a single number.
func (f *Field) recordShape(s *RecordShape) []int {
	switch {
	case f.shape != nil:
		return f.shape(s)
	case f.Per == PerClass:
		return []int{s.D}
	case f.Per == PerInterval:
		return []int{s.D, len(s.Levels)}
	}
	return nil
}

// append appends the record of a prediction.
func (r *records) append(dst []byte, p *Prediction) []byte {
	row, _ := p.Summarize(context.Background(), &r.summary) // which cannot fail
	var values []float64
	for _, f := range r.fields {
		values = f.appendNumbers(values[:0], &row, &r.shape)
		dst = array.AppendNumbers(dst, values)
	}
	return dst
}

// appendNumbers appends the values of a field of a record.
func (f *Field) appendNumbers(dst []float64, r *Row, s *RecordShape) []float64 {
	if f.numbers != nil {
		return f.numbers(dst, r, s)
	}
	classes, levels := 1, 1
	if f.Per == PerClass || f.Per == PerInterval {
		classes = s.D
	}
	if f.Per == PerInterval {
		levels = len(s.Levels)
	}
	for i := range classes {
		for k := range levels {
			dst = append(dst, f.number(r, i, k))
		}
	}
	return dst
}

func appendIntervals(dst []float64, r *Row, s *RecordShape) []float64 {
	for i := range r.Classes {
		for k := range s.Levels {
			in := &r.Classes[i].Intervals[k].TwoSided
			dst = append(dst, in.Lo, in.Hi)
		}
	}
	return dst
}

func appendQuantiles(dst []float64, r *Row, s *RecordShape) []float64 {
	for i := range s.D {
		c := r.reported.Class(i)
		for _, q := range s.Quantiles {
			x, _ := c.QuantileBoth(q)
			dst = append(dst, x)
		}
	}
	return dst
}

func appendCDF(dst []float64, r *Row, s *RecordShape) []float64 {
	for i := range s.D {
		c := r.reported.Class(i)
		for _, x := range s.CDF {
			dst = append(dst, c.CDF(x))
		}
	}
	return dst
}

// appendWeights appends the weights [K] of the components; those that a distribution does not have are 0.
func appendWeights(dst []float64, r *Row, s *RecordShape) []float64 {
	for k := range s.K {
		w := 0.0
		if k < r.Law.K() {
			w, _ = r.Law.Component(k)
		}
		dst = append(dst, w)
	}
	return dst
}

// appendAlpha appends the parameters [K, D] of the components; those that a distribution does not have are 1.
func appendAlpha(dst []float64, r *Row, s *RecordShape) []float64 {
	for k := range s.K {
		row := slices.Repeat([]float64{1}, s.D)
		if k < r.Law.K() {
			_, row = r.Law.Component(k)
		}
		dst = append(dst, row...)
	}
	return dst
}

// Numbers returns the values of a field of distributions with at most K components, [N, shape…], and that shape.
func (f *Field) Numbers(rows []Row, s RecordShape) (values []float64, shape []int) {
	for i := range rows {
		values = f.appendNumbers(values, &rows[i], &s)
	}
	return values, f.recordShape(&s)
}

// RecordFields returns the fields of records of a model's predictions if none are named, and those that may be named.
func RecordFields(m *model.Model, f *Format) (list, all []string) {
	if !m.Traits().Joint {
		return []string{"mean"}, []string{"mean"}
	}
	for i := range fields {
		x := &fields[i]
		if x.record == nil || x.Name == "quantile" || x.Name == "cdf" { // which only distributions given as records have
			continue
		}
		all = append(all, x.Name)
		if x.record(f) {
			list = append(list, x.Name)
		}
	}
	return list, all
}

// recordRows is the [Writer] of an NPY file with a record per item. The file begins with the number of records, so
// that records are held in memory until the end. An item without a prediction has a record of NaN.
type recordRows struct {
	*records
	w       io.Writer
	pending []Prediction // if records hold distributions, whose length the longest decides
	items   int
	chunks  [][]byte
}

func newRecordRows(w io.Writer, t *Table) (*recordRows, error) {
	list, all := RecordFields(t.model, &t.format)
	if t.format.Fields != nil {
		list = t.format.Fields
	}
	for _, name := range list {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("field %q is not one of %q", name, all)
		}
	}
	r, err := newRecords(t.format.Summary, RecordShape{D: len(t.model.Classes)}, list)
	if err != nil {
		return nil, err
	}
	r.summary.MaxWidth, r.summary.MinTop = 0, 0
	return &recordRows{records: r, w: w}, nil
}

func (t *recordRows) Write(ctx context.Context, list []Prediction) (bool, error) {
	t.items += len(list)
	t.pending = append(t.pending, list...)
	for j := range list {
		if p := &list[j]; p.Err == nil && p.Law != nil {
			t.shape.K = max(t.shape.K, p.Law.K())
		}
	}
	if !slices.ContainsFunc(t.fields, func(f *Field) bool { return f.Name == "weights" || f.Name == "alpha" }) {
		t.flush()
	}
	return true, ctx.Err()
}

// flush makes the records of the predictions that wait.
func (t *recordRows) flush() {
	const items = 64 // that one goroutine takes at a time
	n := len(t.pending)
	chunks := make([][]byte, (n+items-1)/items)
	size := 0
	for _, f := range t.layout() {
		size += f.Len()
	}
	empty := array.AppendNumbers(nil, slices.Repeat([]float64{math.NaN()}, size))
	par.For(len(chunks), func(c int) {
		for j := c * items; j < min(n, (c+1)*items); j++ {
			if p := &t.pending[j]; p.Err != nil {
				chunks[c] = append(chunks[c], empty...)
			} else {
				chunks[c] = t.append(chunks[c], p)
			}
		}
	})
	t.chunks = append(t.chunks, chunks...)
	t.pending = t.pending[:0]
}

func (t *recordRows) Close() error {
	t.flush()
	head, err := array.HeaderRecords(t.layout(), t.items)
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
