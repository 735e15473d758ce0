package predict

import (
	"context"
	"fmt"
	"io"
	"slices"

	"credence/head"
	"credence/internal/array"
	"credence/internal/calculator"
	"credence/internal/par"
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
)

// Bulk describes many mixtures at once: records of an NPY file with the fields weights [K] and alpha [K, d] and, if
// there are votes to take into account, votes [d].
type Bulk struct {
	Levels, Quantiles, CDF []float64
	// Fields names the fields of the results; nil means those that the records and the lists above determine.
	Fields []string
	// Resolution, Precision: as [mixture.Reported] has them.
	Resolution float64
	Precision  mixture.Precision
	// Model, if not nil, is where the mixtures come from: results are those of its average rater, and votes are taken
	// as it takes them.
	Model *model.Model
}

// bulkItems is how many mixtures one goroutine takes at a time.
const bulkItems = 64

// Mixtures are the records of an NPY file.
type Mixtures struct {
	path    string
	records *array.Records
}

// ReadMixtures reads a file.
func ReadMixtures(path string) (*Mixtures, error) {
	in, err := array.ReadRecords(path)
	return &Mixtures{path, in}, err
}

// Run writes the results for all mixtures, a record each.
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
	all := recordFields(func(*Field) bool { return true })
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

// bulkFields is where the fields of the input are; votes is −1 if there are none.
type bulkFields struct{ weights, alpha, votes, classes int }

// find checks the fields of the records, and what is asked.
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

// names returns the fields of the results, of all that there are.
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

// check refuses levels, quantiles and a resolution out of range.
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

// mixture returns the mixture of record i, after its votes.
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
