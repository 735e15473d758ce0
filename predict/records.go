package predict

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"credence/internal/array"
	"credence/internal/par"
	"credence/mixture"
)

// RecordShape determines the shapes of the fields of records: distributions of at most K components over D classes,
// and the lists that determine the length of some fields.
type RecordShape struct {
	K, D                   int
	Levels, Quantiles, CDF []float64

	items bool // weights and alpha are those of p, as in the records that [Bulk] reads
}

// recordRows is the [Writer] of an NPY file with a record per item. The file begins with the number of records, so
// records are kept in memory until the end. An item without a prediction has a record of NaN.
type recordRows struct {
	w       io.Writer
	summary Summary
	fields  []*Field
	shape   RecordShape
	pending []Prediction // not yet encoded: the largest number of components determines the shape of distributions
	items   int
	chunks  [][]byte
}

// parameterFields are the fields whose shapes depend on the number of components.
var parameterFields = []string{"weights", "alpha", "item_weights", "item_alpha"}

// recordFields returns the names of the fields that records may have and that satisfy a condition.
func recordFields(which func(f *Field) bool) []string {
	var list []string
	for i := range fields {
		if f := &fields[i]; f.record != nil && which(f) {
			list = append(list, f.Name)
		}
	}
	return list
}

// newRecords returns a writer of records with the named fields. It returns an error for a name that is not in all.
func newRecords(w io.Writer, s Summary, shape RecordShape, names, all []string) (*recordRows, error) {
	shape.Levels = s.Levels
	r := &recordRows{w: w, summary: s, shape: shape}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("expected fields of %q, found %q", all, name)
		}
		f := &fields[slices.IndexFunc(fields, func(f Field) bool { return f.Name == name && f.record != nil })]
		r.fields = append(r.fields, f)
		if f.numbers != nil {
			r.summary.needs |= f.numbersNeeds
		} else {
			r.summary.needs |= f.needs
		}
	}
	return r, nil
}

// layout returns the names and shapes of the fields, for the header of the file.
func (r *recordRows) layout() []array.Field {
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
	case f.Per == PerLevel:
		return []int{len(s.Levels)}
	}
	return nil
}

// append appends the record of a prediction.
func (r *recordRows) append(dst []byte, p *Prediction) []byte {
	row, _ := p.Summarize(context.Background(), &r.summary) // cannot fail: the context is never done
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
	shape := append(f.recordShape(s), 1, 1) // classes and levels
	if f.Per == PerLevel {
		shape[0], shape[1] = 1, shape[0]
	}
	for i := range shape[0] {
		for k := range shape[1] {
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

func appendWeights(dst []float64, r *Row, s *RecordShape) []float64 {
	return weightsOf(dst, r.written(s), s)
}

func appendAlpha(dst []float64, r *Row, s *RecordShape) []float64 {
	return alphaOf(dst, r.written(s), s)
}

// written returns the distribution that a record has the parameters of.
func (r *Row) written(s *RecordShape) *mixture.Dirichlet {
	if s.items {
		return r.Dist
	}
	return r.parameters()
}

// weightsOf appends the weights [K] of the components; those that a distribution does not have are 0.
func weightsOf(dst []float64, dist *mixture.Dirichlet, s *RecordShape) []float64 {
	for k := range s.K {
		w := 0.0
		if k < dist.K() {
			w, _ = dist.Component(k)
		}
		dst = append(dst, w)
	}
	return dst
}

// alphaOf appends the parameters [K, D] of the components; those that a distribution does not have are 1.
func alphaOf(dst []float64, dist *mixture.Dirichlet, s *RecordShape) []float64 {
	for k := range s.K {
		row := slices.Repeat([]float64{1}, s.D)
		if k < dist.K() {
			_, row = dist.Component(k)
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

// newRecordRows returns the records of a model's predictions.
func newRecordRows(w io.Writer, t *Table) (*recordRows, error) {
	all := []string{"mean"}
	list := all
	if t.model.Traits().Joint {
		known := func(f *Field) bool { // quantile and cdf are those of distributions given as records
			return f.Name != "quantile" && f.Name != "cdf" && (t.format.ordered || f.needs != needScale)
		}
		all = recordFields(known)
		list = recordFields(func(f *Field) bool { return known(f) && f.record(&t.format) })
	}
	if t.format.Fields != nil {
		list = t.format.Fields
	}
	s := t.format.Summary
	s.MaxWidth, s.MinTop = 0, 0
	return newRecords(w, s, RecordShape{D: len(t.model.Classes)}, list, all)
}

func (t *recordRows) Write(ctx context.Context, list []Prediction) (bool, error) {
	t.items += len(list)
	t.pending = append(t.pending, list...)
	for j := range list {
		if p := &list[j]; p.Err == nil && p.Dist != nil {
			t.shape.K = max(t.shape.K, p.Dist.K())
		}
	}
	if !slices.ContainsFunc(t.fields, func(f *Field) bool { return slices.Contains(parameterFields, f.Name) }) {
		t.flush()
	}
	return true, ctx.Err()
}

// flush encodes the pending predictions as records.
func (t *recordRows) flush() {
	const items = 64 // per goroutine at a time
	chunks := make([][]byte, (len(t.pending)+items-1)/items)
	size := 0
	for _, f := range t.layout() {
		size += f.Len()
	}
	empty := array.AppendNumbers(nil, slices.Repeat([]float64{math.NaN()}, size))
	par.Chunks(len(t.pending), items, func(lo, hi int) {
		c := &chunks[lo/items]
		for j := lo; j < hi; j++ {
			if p := &t.pending[j]; p.Err != nil {
				*c = append(*c, empty...)
			} else {
				*c = t.append(*c, p)
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
