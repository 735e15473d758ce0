package predict

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"credence/head"
	"credence/internal/array"
	"credence/internal/calculator"
	"credence/internal/par"
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
)

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
	all := recordFields(ofMixtures)
	out, err := newRecords(w, Summary{Levels: b.Levels, Precision: b.Precision},
		RecordShape{D: at.classes, Quantiles: b.Quantiles, CDF: b.CDF, items: true}, b.names(at, all), all)
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

// ofMixtures reports whether a field is one of mixtures, which are given without a score, a scale and predictions.
func ofMixtures(f *Field) bool {
	return f.Name != "point" && f.needs != needScale && !strings.HasPrefix(f.Name, "item_")
}

// bulkFields has the indexes of the input fields and the number of classes; votes is −1 if there is no such field.
type bulkFields struct{ weights, alpha, votes, classes int }

// find finds the fields of the records, and checks them and the options.
func (b *Bulk) find(in *array.Records) (at bulkFields, err error) {
	at = bulkFields{weights: in.Field("weights"), alpha: in.Field("alpha"), votes: in.Field("votes")}
	if w, a := in.Field("item_weights"), in.Field("item_alpha"); w >= 0 && a >= 0 && b.Model != nil && b.Model.RaterModel != nil {
		at.weights, at.alpha = w, a // of p, to which the rater model applies
	}
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
