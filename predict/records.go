package predict

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
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
)

// RecordShape determines the shapes of the fields of records: distributions of at most K components over D classes,
// and the lists that determine the length of some fields.
type RecordShape struct {
	K, D                   int
	Levels, Quantiles, CDF []float64
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

// appendWeights appends the weights [K] of the components; those that a distribution does not have are 0.
func appendWeights(dst []float64, r *Row, s *RecordShape) []float64 {
	for k := range s.K {
		w := 0.0
		if k < r.Dist.K() {
			w, _ = r.Dist.Component(k)
		}
		dst = append(dst, w)
	}
	return dst
}

// appendAlpha appends the parameters [K, D] of the components; those that a distribution does not have are 1.
func appendAlpha(dst []float64, r *Row, s *RecordShape) []float64 {
	for k := range s.K {
		row := slices.Repeat([]float64{1}, s.D)
		if k < r.Dist.K() {
			_, row = r.Dist.Component(k)
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
	if !slices.ContainsFunc(t.fields, func(f *Field) bool { return f.Name == "weights" || f.Name == "alpha" }) {
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

// Bulk computes summaries of many mixtures at once: records of an NPY file with the fields weights [K] and alpha [K, d] and, if
// there are votes to take into account, votes [d].
type Bulk struct {
	Levels, Quantiles, CDF []float64
	// Fields names the fields of the results; nil means the defaults for the records and the lists above.
	Fields []string
	// Resolution and Precision are those of [mixture.Reported].
	Resolution float64
	Precision  mixture.Precision
	// Model, if not nil, is the model that predicted the mixtures: results are for its average rater, and votes are
	// weighed by its rater model.
	Model *model.Model
}

// bulkItems is the number of mixtures that a goroutine processes at a time.
const bulkItems = 64

// Mixtures are the records of an NPY file.
type Mixtures struct {
	path    string
	records *array.Records
}

// ReadMixtures reads the records of an NPY file.
func ReadMixtures(path string) (*Mixtures, error) {
	in, err := array.ReadRecords(path)
	return &Mixtures{path, in}, err
}

// Run writes the results for all mixtures, one record per mixture.
func (b *Bulk) Run(in *Mixtures, w io.Writer) error {
	if err := b.run(in.records, w); err != nil {
		return fmt.Errorf("%s: %w", in.path, err)
	}
	return nil
}

func (b *Bulk) run(in *array.Records, w io.Writer) error {
	at, err := b.find(in)
	if err != nil {
		return err
	}
	// Mixtures are given without a score and without a scale.
	all := recordFields(func(f *Field) bool { return f.Name != "point" && f.needs != needScale })
	out, err := newRecords(w, Summary{Levels: b.Levels, Precision: b.Precision},
		RecordShape{D: at.classes, Quantiles: b.Quantiles, CDF: b.CDF}, b.names(at, all), all)
	if err != nil {
		return err
	}
	list := make([]Prediction, in.N)
	par.Chunks(in.N, bulkItems, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			list[i].Decoded, list[i].Err = b.mixture(in, at, i)
		}
	})
	for i := range list {
		if err := list[i].Err; err != nil {
			return fmt.Errorf("record %d (from 0): %w", i, err)
		}
	}
	if _, err := out.Write(context.Background(), list); err != nil {
		return err
	}
	return out.Close()
}

// bulkFields has the indexes of the input fields and the number of classes; votes is −1 if there is no such field.
type bulkFields struct{ weights, alpha, votes, classes int }

// find finds the fields of the records, and checks them and the options.
func (b *Bulk) find(in *array.Records) (at bulkFields, err error) {
	at = bulkFields{weights: in.Field("weights"), alpha: in.Field("alpha"), votes: in.Field("votes")}
	if at.weights < 0 || at.alpha < 0 {
		names := words.Each(in.Fields, func(f array.Field) string { return f.Name })
		return at, fmt.Errorf("the records have the fields %q: expected weights, of shape (K,), and alpha, (K, d)", names)
	}
	w, a := in.Fields[at.weights].Shape, in.Fields[at.alpha].Shape
	if len(w) != 1 || len(a) != 2 || w[0] != a[0] {
		return at, fmt.Errorf("weights of shape %s and alpha of shape %s: expected (K,) and (K, d)", words.Shape(w), words.Shape(a))
	}
	at.classes = a[1]
	if at.votes >= 0 && !slices.Equal(in.Fields[at.votes].Shape, []int{at.classes}) {
		return at, fmt.Errorf("votes of shape %s: expected one number for each of %d classes", words.Shape(in.Fields[at.votes].Shape), at.classes)
	}
	return at, b.check()
}

// names returns the names of the fields of the results: those requested, or else the defaults among all.
func (b *Bulk) names(at bulkFields, all []string) []string {
	if b.Fields != nil {
		return b.Fields
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		switch name {
		case "quantile":
			return len(b.Quantiles) == 0
		case "cdf":
			return len(b.CDF) == 0
		case "interval", "upper_bound", "lower_bound":
			return len(b.Levels) == 0
		case "weights", "alpha":
			return at.votes < 0
		}
		return false
	})
}

// check returns an error if a level, a quantile or the resolution is out of range.
func (b *Bulk) check() error {
	for _, l := range b.Levels {
		if err := calculator.CheckLevel(l); err != nil {
			return fmt.Errorf("level %v: %w", l, err)
		}
	}
	for _, q := range b.Quantiles {
		if err := calculator.CheckQuantile(q); err != nil {
			return fmt.Errorf("quantile %v: %w", q, err)
		}
	}
	_, err := mixture.NewReported(nil, b.Resolution)
	return err
}

// mixture returns the mixture of record i, updated by its votes.
func (b *Bulk) mixture(in *array.Records, at bulkFields, i int) (head.Decoded, error) {
	weights, flat := in.Append(nil, i, at.weights), in.Append(nil, i, at.alpha)
	rows := make([][]float64, len(weights))
	for k := range rows {
		rows[k] = flat[k*at.classes : (k+1)*at.classes]
	}
	m, err := mixture.NewDirichlet(weights, rows)
	if err != nil {
		return head.Decoded{}, err
	}
	a := head.NewDecoded(m)
	a.Resolution = b.Resolution
	if b.Model != nil {
		a.ForAverageRater(b.Model.RaterModel.Average())
	}
	if at.votes < 0 {
		return a, nil
	}
	votes := in.Append(nil, i, at.votes)
	if !slices.ContainsFunc(votes, func(x float64) bool { return x != 0 }) {
		return a, nil
	}
	if a, err = After(b.Model, &a, votes); err != nil {
		err = fmt.Errorf("votes: %w", err)
	}
	return a, err
}
