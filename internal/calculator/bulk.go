package calculator

import (
	"fmt"
	"io"
	"slices"

	"credence/head"
	"credence/internal/array"
	"credence/internal/par"
	"credence/internal/words"
	"credence/mixture"
	"credence/model"
)

// Bulk answers about many mixtures at once: records of an NPY file with the fields weights [K] and
// alpha [K, d] and, if there are votes to take into account, votes [d].
type Bulk struct {
	Levels, Quantiles, CDF []float64
	// Tell names the fields of the answers; nil means those of BulkFields that the records and the
	// lists above give something to say about.
	Tell []string
	// Resolution, Precision: as [mixture.Reported] has them.
	Resolution float64
	Precision  mixture.Precision
	// Model, if not nil, is where the mixtures come from: what is told is that of its average rater,
	// and votes are taken as it takes them.
	Model *model.Model
}

// BulkFields are the fields of answers: of each class its mean, variance, median, quantiles, intervals
// at each level (two-sided, as [lower, upper]; the bound below which and that above which the
// probability lies), distribution function, and probability to be the most probable one; of the item
// the entropies of a label, the gain of a further vote, and the mixture after the votes.
var BulkFields = []string{"mean", "variance", "sd", "median", "quantile", "interval", "upper_bound", "lower_bound", "cdf",
	"p_top", "entropy", "information", "next_gain", "weights", "alpha"}

// law is one mixture, on its way to its answer.
type law struct {
	answer head.Answer
	record []byte
	err    error
}

// Answer reads records and writes answers, a record each.
func (b *Bulk) Answer(in *array.Records, w io.Writer) error {
	shape, err := b.shape(in)
	if err != nil {
		return err
	}
	laws := make([]law, in.N)
	par.For(bulkPieces(in.N), func(p int) {
		for i := p * bulkItems; i < min(in.N, (p+1)*bulkItems); i++ {
			laws[i].answer, laws[i].err = b.law(in, shape, i)
		}
	})
	for i := range laws {
		if err := laws[i].err; err != nil {
			return fmt.Errorf("record %d (from 0): %w", i, err)
		}
		shape.K = max(shape.K, laws[i].answer.Law.K())
	}
	fields := b.Fields(shape)
	head, err := array.HeaderRecords(fields, in.N)
	if err != nil {
		return err
	}
	par.For(bulkPieces(in.N), func(p int) {
		for i := p * bulkItems; i < min(in.N, (p+1)*bulkItems); i++ {
			laws[i].record = b.AppendRecord(nil, shape, &laws[i].answer)
		}
	})
	if _, err := w.Write(head); err != nil {
		return err
	}
	for i := range laws {
		if _, err := w.Write(laws[i].record); err != nil {
			return err
		}
	}
	return nil
}

// bulkItems is how many mixtures one goroutine answers at a time.
const bulkItems = 64

func bulkPieces(n int) int { return (n + bulkItems - 1) / bulkItems }

// BulkShape is what all records have in common: K components, or fewer, of d classes.
type BulkShape struct {
	K, D int

	weights, alpha, votes int // where the fields are
}

// shape checks the fields of the records, and what is asked.
func (b *Bulk) shape(in *array.Records) (BulkShape, error) {
	s := BulkShape{weights: in.Field("weights"), alpha: in.Field("alpha"), votes: in.Field("votes")}
	if s.weights < 0 || s.alpha < 0 {
		var names []string
		for i := range in.Fields {
			names = append(names, in.Fields[i].Name)
		}
		return s, fmt.Errorf("the records have the fields %q: expected weights, of shape (K,), and alpha, (K, d)", names)
	}
	w, a := in.Fields[s.weights].Shape, in.Fields[s.alpha].Shape
	if len(w) != 1 || len(a) != 2 || w[0] != a[0] {
		return s, fmt.Errorf("weights of shape %s and alpha of shape %s: expected (K,) and (K, d)", words.Shape(w), words.Shape(a))
	}
	s.D = a[1]
	if s.votes >= 0 && !slices.Equal(in.Fields[s.votes].Shape, []int{s.D}) {
		return s, fmt.Errorf("votes of shape %s: expected one number for each of %d classes", words.Shape(in.Fields[s.votes].Shape), s.D)
	}
	if b.Tell == nil {
		b.Tell = slices.DeleteFunc(slices.Clone(BulkFields), func(name string) bool {
			switch name {
			case "quantile":
				return len(b.Quantiles) == 0
			case "cdf":
				return len(b.CDF) == 0
			case "interval", "upper_bound", "lower_bound":
				return len(b.Levels) == 0
			case "weights", "alpha":
				return s.votes < 0
			}
			return false
		})
	}
	return s, b.Check()
}

// Check refuses questions without sense.
func (b *Bulk) Check() error {
	for _, name := range b.Tell {
		if !slices.Contains(BulkFields, name) {
			return fmt.Errorf("field %q is not one of %q", name, BulkFields)
		}
	}
	for _, l := range b.Levels {
		if err := CheckLevel(l); err != nil {
			return fmt.Errorf("level %v: %w", l, err)
		}
	}
	for _, q := range b.Quantiles {
		if err := CheckQuantile(q); err != nil {
			return fmt.Errorf("quantile %v: %w", q, err)
		}
	}
	_, err := mixture.NewReported(nil, b.Resolution)
	return err
}

// law returns the mixture of a record, after its votes.
func (b *Bulk) law(in *array.Records, s BulkShape, i int) (head.Answer, error) {
	weights, flat := in.Append(nil, i, s.weights), in.Append(nil, i, s.alpha)
	rows := make([][]float64, len(weights))
	for k := range rows {
		rows[k] = flat[k*s.D : (k+1)*s.D]
	}
	m, err := mixture.NewDirichlet(weights, rows)
	if err != nil {
		return head.Answer{}, err
	}
	a := head.Of(m)
	a.Resolution = b.Resolution
	after := a.After
	if b.Model != nil {
		a.Through(b.Model.Crowd.Average())
		after = func(votes []float64) (head.Answer, error) { return b.Model.After(&a, votes) }
	}
	if s.votes < 0 {
		return a, nil
	}
	votes := in.Append(nil, i, s.votes)
	if !slices.ContainsFunc(votes, func(x float64) bool { return x != 0 }) {
		return a, nil
	}
	if a, err = after(votes); err != nil {
		err = fmt.Errorf("votes: %w", err)
	}
	return a, err
}

// Fields returns those of the answers.
func (b *Bulk) Fields(s BulkShape) []array.Field {
	var list []array.Field
	for _, name := range b.Tell {
		f := array.Field{Name: name, Shape: []int{s.D}}
		switch name {
		case "quantile":
			f.Shape = []int{s.D, len(b.Quantiles)}
		case "cdf":
			f.Shape = []int{s.D, len(b.CDF)}
		case "interval":
			f.Shape = []int{s.D, len(b.Levels), 2}
		case "upper_bound", "lower_bound":
			f.Shape = []int{s.D, len(b.Levels)}
		case "entropy", "information", "next_gain":
			f.Shape = nil
		case "weights":
			f.Shape = []int{s.K}
		case "alpha":
			f.Shape = []int{s.K, s.D}
		}
		list = append(list, f)
	}
	return list
}

// AppendRecord appends the answer about one item to dst and returns it.
func (b *Bulk) AppendRecord(dst []byte, s BulkShape, a *head.Answer) []byte {
	if a.Law == nil { // a method without distributions, of which only means are asked
		return array.AppendNumbers(dst, a.Mean)
	}
	told := a.Reported().To(b.Precision)
	asked := func(names ...string) bool {
		return slices.ContainsFunc(b.Tell, func(name string) bool { return slices.Contains(names, name) })
	}
	var classes []mixture.ClassSummary
	switch top := asked("p_top"); {
	case top, asked("median", "upper_bound", "lower_bound"), b.Precision != mixture.Full && asked("interval"):
		classes = told.Summarize(b.Levels, top)
	case asked("interval"):
		classes = b.intervals(told)
	}
	var values []float64
	for _, name := range b.Tell {
		values = b.appendField(values[:0], name, s, a, told, classes)
		dst = array.AppendNumbers(dst, values)
	}
	return dst
}

// intervals returns two-sided intervals alone, a third of the work of a summary. The second of two
// classes mirrors the first.
func (b *Bulk) intervals(told mixture.Reported) []mixture.ClassSummary {
	list := make([]mixture.ClassSummary, told.Law.Classes())
	for i := range list {
		list[i].Intervals = make([]mixture.ClassIntervals, len(b.Levels))
		if i == 1 && len(list) == 2 && told.Resolution > 0 {
			for k := range b.Levels {
				list[1].Intervals[k].TwoSided = list[0].Intervals[k].TwoSided.Mirror()
			}
			break
		}
		c := told.Class(i)
		for k, level := range b.Levels {
			list[i].Intervals[k].TwoSided = c.Interval(mixture.TwoSided, level)
		}
	}
	return list
}

// appendField appends the values of a field.
func (b *Bulk) appendField(dst []float64, name string, s BulkShape, a *head.Answer, told mixture.Reported, classes []mixture.ClassSummary) []float64 {
	switch name {
	case "mean":
		return append(dst, a.Mean...)
	case "variance":
		return append(dst, a.Variance...)
	case "sd":
		return told.SD(dst)
	case "quantile", "cdf":
		for i := range s.D {
			c := told.Class(i)
			for _, q := range b.Quantiles {
				if name == "quantile" {
					x, _ := c.QuantileBoth(q)
					dst = append(dst, x)
				}
			}
			for _, x := range b.CDF {
				if name == "cdf" {
					dst = append(dst, c.CDF(x))
				}
			}
		}
	case "entropy":
		return append(dst, a.Law.Entropy().Expected)
	case "information":
		return append(dst, a.Law.Entropy().Information)
	case "next_gain":
		gain, _ := a.Law.Gain(1) // one vote has a closed form, which cannot fail
		return append(dst, gain)
	case "weights":
		for k := range s.K {
			w := 0.0
			if k < a.Law.K() {
				w, _ = a.Law.Component(k)
			}
			dst = append(dst, w)
		}
	case "alpha":
		for k := range s.K {
			row := slices.Repeat([]float64{1}, s.D)
			if k < a.Law.K() {
				_, row = a.Law.Component(k)
			}
			dst = append(dst, row...)
		}
	default:
		for i := range classes {
			dst = appendSummary(dst, name, &classes[i])
		}
	}
	return dst
}

// appendSummary appends what is told of one class.
func appendSummary(dst []float64, name string, c *mixture.ClassSummary) []float64 {
	switch name {
	case "median":
		return append(dst, c.Median)
	case "p_top":
		return append(dst, c.Top)
	}
	for k := range c.Intervals {
		in := &c.Intervals[k]
		switch name {
		case "interval":
			dst = append(dst, in.TwoSided.Lo, in.TwoSided.Hi)
		case "upper_bound":
			dst = append(dst, in.Upper.Hi)
		case "lower_bound":
			dst = append(dst, in.Lower.Lo)
		}
	}
	return dst
}
