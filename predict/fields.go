package predict

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"credence/head"
	"credence/internal/table"
	"credence/mixture"
)

// Kind is the type of a field.
type Kind uint8

// The values are those stored in the manifests of shards.
const (
	Text   = Kind(table.ParquetText)
	Number = Kind(table.ParquetNumber)
	Whole  = Kind(table.ParquetWhole)
	Bool   = Kind(table.ParquetBool)
)

// Scope specifies what one value of a field describes.
type Scope uint8

const (
	PerItem     Scope = iota
	PerLevel          // a level of intervals
	PerClass          // a class
	PerInterval       // a class at a level
)

// Field is a value of a prediction that can be written. All formats and protocols derive from the list of fields: to
// add a field, add a line there.
type Field struct {
	Name string
	Kind Kind
	Per  Scope
	// OnRequest marks a field that a server returns only if the client requests it.
	OnRequest bool

	tidymodels string             // name by the conventions of R's tidymodels
	column     func(*Format) bool // whether a table of distributions contains it; nil for never
	means      bool               // whether a table of a method without distributions contains it
	record     func(*Format) bool // whether records contain it by default; nil if they never can
	output     int                // position among the outputs of a server, from 1; 0 for none
	needs      need               // what the functions below need

	// One of these returns the value of a column, for a class and a level.
	number func(r *Row, class, level int) float64
	truth  func(r *Row, class, level int) bool
	text   func(r *Row, class, level int) string
	list   func(r *Row, class, level int) []float64

	// numbers appends the values of a record, of the given shape. If it is nil, these are the values of number for
	// each class and, within a class, for each level.
	numbers      func(dst []float64, r *Row, s *RecordShape) []float64
	shape        func(s *RecordShape) []int
	numbersNeeds need
}

func always(*Format) bool { return true }
func never(*Format) bool  { return false }
func long(f *Format) bool { return !f.Wide }
func full(f *Format) bool { return f.Full }
func next(f *Format) bool { return f.Next }
func top(f *Format) bool  { return f.Top }
func hpd(f *Format) bool  { return f.HPD }

func point(f *Format) bool   { return f.Point.Score != 0 }
func ordered(f *Format) bool { return f.ordered }

func fullRated(f *Format) bool { return f.Full && f.rated }

// fields lists all output fields, in the order of the columns of a table and of the fields of a record.
var fields = []Field{
	{Name: "item", Kind: Text, column: always, means: true,
		text: func(r *Row, _, _ int) string { return r.Item }},
	{Name: "class", Kind: Text, Per: PerClass, column: long, means: true,
		text: func(r *Row, i, _ int) string { return r.table.model.Classes[i] }},
	{Name: "mean", tidymodels: ".pred", Kind: Number, Per: PerClass, column: always, means: true, record: always, output: 1, needs: needClasses,
		number:  func(r *Row, i, _ int) float64 { return r.mean(i) },
		numbers: func(dst []float64, r *Row, _ *RecordShape) []float64 { return append(dst, r.Mean...) }},
	{Name: "variance", Kind: Number, Per: PerClass, record: always,
		numbers: func(dst []float64, r *Row, _ *RecordShape) []float64 { return append(dst, r.Variance...) }},
	{Name: "sd", tidymodels: ".std_error", Kind: Number, Per: PerClass, column: always, record: always, output: 2, needs: needClasses,
		number:  func(r *Row, i, _ int) float64 { return r.Classes[i].SD },
		numbers: func(dst []float64, r *Row, _ *RecordShape) []float64 { return r.reported.SD(dst) }},
	{Name: "median", tidymodels: ".pred_median", Kind: Number, Per: PerClass, column: always, record: always, output: 3, needs: needClasses,
		number: func(r *Row, i, _ int) float64 { return r.Classes[i].Median }},
	{Name: "quantile", Kind: Number, Per: PerClass, record: never, numbers: appendQuantiles,
		shape: func(s *RecordShape) []int { return []int{s.D, len(s.Quantiles)} }},
	{Name: "level", tidymodels: ".level", Kind: Number, Per: PerLevel, column: always,
		number: func(r *Row, _, k int) float64 { return r.summary.Levels[k] }},
	{Name: "lower", tidymodels: ".pred_lower", Kind: Number, Per: PerInterval, column: always, output: 4, needs: needClasses,
		number: func(r *Row, i, k int) float64 { return r.Classes[i].Intervals[k].TwoSided.Lo }},
	{Name: "upper", tidymodels: ".pred_upper", Kind: Number, Per: PerInterval, column: always, output: 5, needs: needClasses,
		number: func(r *Row, i, k int) float64 { return r.Classes[i].Intervals[k].TwoSided.Hi }},
	{Name: "interval", Kind: Number, Per: PerInterval, record: always, numbers: appendIntervals, numbersNeeds: needTwoSided,
		shape: func(s *RecordShape) []int { return []int{s.D, len(s.Levels), 2} }},
	{Name: "upper_bound", tidymodels: ".pred_upper_bound", Kind: Number, Per: PerInterval, column: always, record: always, output: 7, needs: needClasses,
		number: func(r *Row, i, k int) float64 { return r.Classes[i].Intervals[k].Upper.Hi }},
	{Name: "lower_bound", tidymodels: ".pred_lower_bound", Kind: Number, Per: PerInterval, column: always, record: always, output: 6, needs: needClasses,
		number: func(r *Row, i, k int) float64 { return r.Classes[i].Intervals[k].Lower.Lo }},
	{Name: "cdf", Kind: Number, Per: PerClass, record: never, numbers: appendCDF,
		shape: func(s *RecordShape) []int { return []int{s.D, len(s.CDF)} }},
	{Name: "hpd", tidymodels: ".pred_hpd", Kind: Text, Per: PerInterval, column: hpd, needs: needHPD,
		text: func(r *Row, i, k int) string { return setText(r.hpd[i][k], r.table.format.Digits) }},
	{Name: "p_top", tidymodels: ".pred_top", Kind: Number, Per: PerClass, column: top, record: top, output: 8, needs: needTop,
		number: func(r *Row, i, _ int) float64 { return r.Classes[i].Top }},
	{Name: "point", tidymodels: ".point", Kind: Number, Per: PerClass, column: point, record: point, output: 16, OnRequest: true, needs: needPoint,
		number: func(r *Row, i, _ int) float64 { return r.Point[i] }},
	// Of ordered classes: the probability of the class or a higher one, and the expected score.
	{Name: "tail", tidymodels: ".pred_tail", Kind: Number, Per: PerClass, column: ordered, record: ordered, needs: needScale,
		number: func(r *Row, i, _ int) float64 { return r.tails[i].mean }},
	{Name: "tail_lower", tidymodels: ".pred_tail_lower", Kind: Number, Per: PerInterval, column: ordered, record: ordered, needs: needScale,
		number: func(r *Row, i, k int) float64 { return r.tails[i].intervals[k].Lo }},
	{Name: "tail_upper", tidymodels: ".pred_tail_upper", Kind: Number, Per: PerInterval, column: ordered, record: ordered, needs: needScale,
		number: func(r *Row, i, k int) float64 { return r.tails[i].intervals[k].Hi }},
	{Name: "score", tidymodels: ".pred_score", Kind: Number, column: ordered, record: ordered, needs: needScale,
		number: func(r *Row, _, _ int) float64 { return r.score.mean }},
	{Name: "score_lower", tidymodels: ".pred_score_lower", Kind: Number, Per: PerLevel, column: ordered, record: ordered, needs: needScale,
		number: func(r *Row, _, k int) float64 { return r.score.intervals[k].Lo }},
	{Name: "score_upper", tidymodels: ".pred_score_upper", Kind: Number, Per: PerLevel, column: ordered, record: ordered, needs: needScale,
		number: func(r *Row, _, k int) float64 { return r.score.intervals[k].Hi }},
	// The predicted class is marked in long rows, and named in wide ones and by tidymodels.
	{Name: "predicted", Kind: Bool, Per: PerClass, column: func(f *Format) bool { return !f.namesPredicted() }, means: true,
		truth: func(r *Row, i, _ int) bool { return i == r.Predicted }},
	{Name: "predicted", tidymodels: ".pred_class", Kind: Text, column: (*Format).namesPredicted, means: true, output: 12,
		text: func(r *Row, _, _ int) string { return r.table.model.Classes[r.Predicted] }},
	{Name: "entropy", tidymodels: ".entropy", Kind: Number, column: always, record: always, output: 10, needs: needEntropy,
		number: func(r *Row, _, _ int) float64 { return r.Entropy.Expected }},
	{Name: "information", tidymodels: ".information", Kind: Number, column: always, record: always, output: 11, needs: needEntropy,
		number: func(r *Row, _, _ int) float64 { return r.Entropy.Information }},
	{Name: "next_gain", tidymodels: ".next_gain", Kind: Number, column: next, record: next, output: 13, OnRequest: true, needs: needGain,
		number: func(r *Row, _, _ int) float64 { return r.NextGain }},
	{Name: "at_least", tidymodels: ".at_least", Kind: Bool, Per: PerInterval, column: always, output: 9, needs: needClasses,
		truth: func(r *Row, i, k int) bool { return r.Classes[i].Intervals[k].TwoSided.AtLeast }},
	{Name: "abstain", tidymodels: ".abstain", Kind: Bool, Per: PerLevel, column: (*Format).abstains, needs: needClasses,
		truth: func(r *Row, _, k int) bool { return r.Abstain(k) }},
	{Name: "weights", tidymodels: ".weights", Kind: Text, Per: PerClass, column: full, record: full, output: 14, OnRequest: true,
		list:    func(r *Row, i, _ int) []float64 { return components(r, i, func(w, _, _ float64) float64 { return w }) },
		numbers: appendWeights, shape: func(s *RecordShape) []int { return []int{s.K} }},
	{Name: "a", tidymodels: ".a", Kind: Text, Per: PerClass, column: full,
		list: func(r *Row, i, _ int) []float64 { return components(r, i, func(_, a, _ float64) float64 { return a }) }},
	{Name: "b", tidymodels: ".b", Kind: Text, Per: PerClass, column: full,
		list: func(r *Row, i, _ int) []float64 { return components(r, i, func(_, _, b float64) float64 { return b }) }},
	{Name: "alpha", Kind: Number, record: full, output: 15, OnRequest: true,
		numbers: appendAlpha, shape: func(s *RecordShape) []int { return []int{s.K, s.D} }},
	// The distribution of the item's own probabilities p, which differs from the reported one of p̄ where raters are modelled.
	{Name: "item_weights", Kind: Number, record: fullRated,
		numbers: func(dst []float64, r *Row, s *RecordShape) []float64 { return weightsOf(dst, r.Dist, s) },
		shape:   func(s *RecordShape) []int { return []int{s.K} }},
	{Name: "item_alpha", Kind: Number, record: fullRated,
		numbers: func(dst []float64, r *Row, s *RecordShape) []float64 { return alphaOf(dst, r.Dist, s) },
		shape:   func(s *RecordShape) []int { return []int{s.K, s.D} }},
	{Name: "distribution", tidymodels: ".distribution", Kind: Text, means: true,
		text: func(r *Row, _, _ int) string {
			if r.Opinion != nil {
				return r.table.model.Method.Name() // of another kind
			}
			return "none"
		}},
}

// methodField returns the field of a number that a method without distributions gives in addition to the means.
func methodField(c head.Column) *Field {
	return &Field{Name: c.Name, tidymodels: "." + c.Name, Kind: Number, Per: PerClass, means: true,
		number: func(r *Row, i, _ int) float64 { return c.Of(&r.Decoded, i) }}
}

// Outputs returns the fields that clients of a server may request, of methods with or without distributions.
func Outputs(dists bool) []*Field {
	var list []*Field
	for i := range fields {
		if f := &fields[i]; f.output > 0 && (dists || f.means) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *Field) int { return cmp.Compare(a.output, b.output) })
	return list
}

// Values returns the values of a field for all rows, at the first level: []float64, []bool or []string, [N] or, if
// perClass, [N, d]. It returns nil if the field has no such values.
func (f *Field) Values(rows []Row, d int) (values any, perClass bool) {
	if perClass = f.Per == PerClass || f.Per == PerInterval; !perClass {
		d = 1
	}
	switch {
	case f.number != nil:
		return gather(rows, d, f.number), perClass
	case f.truth != nil:
		return gather(rows, d, f.truth), perClass
	case f.text != nil:
		return gather(rows, d, f.text), perClass
	}
	return nil, perClass
}

func gather[T any](rows []Row, d int, value func(r *Row, class, level int) T) []T {
	list := make([]T, 0, len(rows)*d)
	for j := range rows {
		for i := range d {
			list = append(list, value(&rows[j], i, 0))
		}
	}
	return list
}

// components returns a parameter of each component of the distribution of class i.
func components(r *Row, i int, value func(weight, a, b float64) float64) []float64 {
	f := r.parameters().Marginal(i)
	list := make([]float64, f.K())
	for c := range list {
		list[c] = value(f.Component(c))
	}
	return list
}

// setText writes intervals as [0.1,0.2] [0.7,0.9].
func setText(set []mixture.Interval, d Digits) string {
	var list []string
	for _, s := range set {
		list = append(list, "["+d.Text(s.Lo)+","+d.Text(s.Hi)+"]")
	}
	return strings.Join(list, " ")
}

// Summary selects the numbers of a prediction to compute. The zero value computes only the means.
type Summary struct {
	Levels    []float64         // of the intervals
	Precision mixture.Precision // of intervals, medians and p_top
	// MaxWidth and MinTop are the rule of [Row.Abstain]: abstain where the predicted class's interval is wider,
	// or its p_top smaller; 0 is no rule.
	MaxWidth, MinTop float64
	Point            Point

	scale []float64 // values of ordered classes
	needs need
}

// need is a set of quantities that output fields are computed from.
type need uint

const (
	needTwoSided need = 1 << iota // two-sided intervals
	needClasses                   // everything about a class but p_top
	needTop                       // p_top
	needHPD                       // highest-density sets
	needEntropy
	needGain
	needPoint
	needScale
)

// All returns s with every number computed.
func (s Summary) All() Summary {
	s.needs = needClasses | needTop | needEntropy | needGain
	return s
}

// abstains reports whether there is a rule for abstaining.
func (s *Summary) abstains() bool { return s.MaxWidth > 0 || s.MinTop > 0 }

// Row is the summary of a prediction, from which all output fields are computed.
type Row struct {
	*Prediction
	Predicted int // class of largest mean
	// Classes has the intervals and moments of each class; nil for methods without a distribution of the class
	// probabilities, or if they were not requested.
	Classes []mixture.ClassSummary
	Entropy mixture.Entropy
	// NextGain is the value of one further vote: the expected reduction in variance.
	NextGain float64
	Point    []float64 // optimum of the score of [Summary].Point, [d]; nil if there is none

	score    meanInterval           // of ordered classes
	tails    []meanInterval         // probability of each ordered class or a higher one
	hpd      [][][]mixture.Interval // highest-density sets, by class and level
	reported mixture.Reported
	full     *mixture.Dirichlet // of parameters, once they are requested
	summary  *Summary
	table    *Table // nil outside of tables
}

// Summarize computes the numbers that s selects. The prediction must not have an Err. When ctx is done, Summarize returns its error.
func (p *Prediction) Summarize(ctx context.Context, s *Summary) (r Row, err error) {
	r = Row{Prediction: p, Predicted: p.Top(), summary: s}
	if p.Dist == nil {
		return r, ctx.Err()
	}
	r.reported = p.Reported().WithPrecision(s.Precision)
	top := s.needs&needTop != 0 || s.MinTop > 0
	switch {
	case top, s.needs&needClasses != 0, s.needs&needTwoSided != 0 && s.Precision != mixture.Full:
		r.Classes, err = r.reported.Summarize(ctx, s.Levels, top)
	case s.needs&needTwoSided != 0:
		r.Classes = r.twoSided()
	}
	if err == nil && s.needs&needHPD != 0 {
		err = r.highestDensity(ctx)
	}
	if err != nil {
		return r, err
	}
	if s.needs&needEntropy != 0 {
		r.Entropy = p.Dist.EntropyAt(p.distMean())
	}
	if s.needs&needGain != 0 {
		r.NextGain, _ = p.Dist.Gain(1) // one vote has a closed form, which cannot fail
	}
	if s.needs&needScale != 0 {
		r.scale()
	}
	if s.needs&needPoint != 0 {
		r.Point = s.Point.of(p)
	}
	return r, ctx.Err()
}

// distMean returns the class means of Dist if they are known.
func (p *Prediction) distMean() []float64 {
	if p.Average != nil {
		return nil
	}
	return p.Mean
}

// highestDensity computes the highest-density sets.
func (r *Row) highestDensity(ctx context.Context) error {
	r.hpd = make([][][]mixture.Interval, r.reported.Dist.Classes())
	for i := range r.hpd {
		c := r.reported.Class(i)
		for _, level := range r.summary.Levels {
			set, _, err := c.HighestDensityContext(ctx, level)
			if err != nil {
				return err
			}
			r.hpd[i] = append(r.hpd[i], set)
		}
	}
	return nil
}

// twoSided computes only two-sided intervals, a third of the work of all intervals. The second of two classes mirrors the first.
func (r *Row) twoSided() []mixture.ClassSummary {
	list := make([]mixture.ClassSummary, r.reported.Dist.Classes())
	for i := range list {
		list[i].Intervals = make([]mixture.ClassIntervals, len(r.summary.Levels))
		if i == 1 && len(list) == 2 && r.reported.Resolution > 0 {
			for k := range r.summary.Levels {
				list[1].Intervals[k].TwoSided = list[0].Intervals[k].TwoSided.Mirror()
			}
			break
		}
		c := r.reported.Class(i)
		for k, level := range r.summary.Levels {
			list[i].Intervals[k].TwoSided = c.Interval(mixture.TwoSided, level)
		}
	}
	return list
}

// parameters returns the distribution whose parameters are written: that of the reported probabilities.
func (r *Row) parameters() *mixture.Dirichlet {
	if r.full == nil {
		r.full = r.ReportedDist()
	}
	return r.full
}

// mean returns the mean of class i.
func (r *Row) mean(i int) float64 {
	if r.Classes != nil {
		return r.Classes[i].Mean
	}
	return r.Mean[i]
}

// Width returns the width of the predicted class's interval at level k.
func (r *Row) Width(k int) float64 {
	return r.Classes[r.Predicted].Intervals[k].TwoSided.Length()
}

// Abstain reports whether to abstain on the item, given its intervals at level k.
func (r *Row) Abstain(k int) bool {
	return r.summary.MaxWidth > 0 && r.Width(k) > r.summary.MaxWidth || r.summary.MinTop > 0 && r.Classes[r.Predicted].Top < r.summary.MinTop
}

// HasTop reports whether p_top of the classes was computed.
func (r *Row) HasTop() bool {
	return r.Classes != nil && (r.summary.needs&needTop != 0 || r.summary.MinTop > 0)
}
