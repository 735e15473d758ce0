package evaluate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Result is the evaluation of predictions against the votes on held-out items.
// Losses are in nats per vote; each comes with its bootstrap standard error, over
// items or groups with the fitted model held fixed. The error of a dispersion
// ratio follows from the model instead; see [Dispersion].
type Result struct {
	Items      int    `json:"items"`
	VotedItems int    `json:"voted_items"` // items with at least one vote
	Votes      Number `json:"votes"`
	// Units is the number of items or groups that the bootstrap draws from.
	Units      int    `json:"bootstrap_units"`
	Replicates int    `json:"bootstrap_replicates"`
	Seed       uint64 `json:"seed"`

	// NLL is the negative log-likelihood of an item's votes together under its
	// mixture, given the order of the votes.
	NLL Estimate `json:"nll_per_vote"`
	// MarginalNLL scores votes one by one, under the mean.
	MarginalNLL Estimate `json:"marginal_nll_per_vote"`
	// The references, see [References]. Constant and logistic treat votes as
	// independent; those with DM (Dirichlet-multinomial) are comparable with NLL.
	ConstantNLL   Estimate `json:"constant_nll_per_vote"`
	ConstantDMNLL Estimate `json:"constant_dm_nll_per_vote"`
	LogisticNLL   Estimate `json:"logistic_nll_per_vote"`
	LogisticDMNLL Estimate `json:"logistic_dm_nll_per_vote"`
	// CommonNLL is the loss of the means of the model with one concentration for all items, fitted to these votes: what
	// the spread of single items adds is NLL minus this.
	CommonNLL Estimate `json:"common_nll_per_vote"`
	// FloorNLL is the loss of each item's own vote shares; with few votes per item
	// no prediction comes near it.
	FloorNLL Estimate `json:"floor_nll_per_vote"`

	// Differences from the references: NLL minus that of the Dirichlet-multinomial
	// references, and MarginalNLL minus that of plain logistic regression.
	LessConstantDM *Difference `json:"nll_less_constant_dm"`
	LessLogisticDM *Difference `json:"nll_less_logistic_dm"`
	LessLogistic   *Difference `json:"marginal_nll_less_logistic"`
	LessCommon     *Difference `json:"nll_less_common"`

	// DispersionRatio is the spread of true probabilities about the predicted
	// mean, estimated from pairs of votes, over the predicted variance; its error,
	// 95% interval and the p-value for a ratio of one are as in [Dispersion].
	DispersionRatio   IntervalEstimate `json:"dispersion_ratio"`
	DispersionP       Number           `json:"dispersion_p_value"`
	DispersionBins    []Dispersion     `json:"dispersion_bins"`              // by predicted variance
	DispersionClasses []Dispersion     `json:"dispersion_classes,omitempty"` // of more than two
	// DispersionBy is the ratio by predicted spread and by the requested columns.
	DispersionBy []DispersionColumn `json:"dispersion_by"`
	// DispersionStrata is the ratio in thirds of the predicted mean and of the predicted spread, and on
	// both sides of the median of numeric features. StrataLeftOut is the number of features left out.
	DispersionStrata []DispersionStratum `json:"dispersion_strata"`
	StrataLeftOut    int                 `json:"dispersion_strata_left_out,omitempty"`
	Agreement        Agreement           `json:"agreement"`
	AgreementBins    []Agreement         `json:"agreement_bins"` // by predicted agreement

	// Accuracy is the share of items whose predicted class is a most-voted one;
	// a tie of t classes counts 1/t.
	Accuracy Estimate `json:"accuracy"`
	// Brier is the mean over votes of ‖p − e‖².
	Brier Estimate `json:"brier"`
	// ECE is the expected calibration error of the predicted class over
	// equal-mass bins, corrected for sampling noise; ECEPlain is the uncorrected
	// error.
	ECE         Estimate      `json:"ece"`
	ECEPlain    Number        `json:"ece_plain"`
	Reliability []Reliability `json:"reliability"` // predicted class, then each class
	// ClassCalibration compares the votes for each class with the prediction.
	ClassCalibration []ClassCalibration `json:"class_calibration"`

	PITPValue Number `json:"pit_p_value"`
	PIT       PIT    `json:"pit"`

	// Level is the level of the intervals in Widths and Abstention.
	Level   float64      `json:"level"`
	AtLeast int          `json:"at_least"` // items whose interval lies within the resolution of 0 or 1
	Vacuous int          `json:"vacuous"`  // items whose interval is [0, 1]
	Widths  []WidthGroup `json:"widths"`
	// AbstentionBy is the criterion of Abstention: p_top or width.
	AbstentionBy     string            `json:"abstention_by,omitempty"`
	Abstention       []AbstentionPoint `json:"abstention"`
	AbstentionTarget *AbstentionTarget `json:"abstention_target,omitempty"`

	Ordered *OrderedScores `json:"ordered,omitempty"` // nil unless the classes are ordered
	LeWiDi  *LeWiDi        `json:"lewidi,omitempty"`  // nil unless requested
	// PerRater is nil unless it is requested and raters are modelled.
	PerRater *PerRater `json:"per_rater,omitempty"`

	// Decisions are scores of decisions on one class, nil unless requested.
	Decisions *Decisions `json:"decisions,omitempty"`

	// Curve is the evaluation with fewer votes and fewer items, if [Curve] was called.
	Curve []CurvePoint `json:"curve,omitempty"`
	// Importance is that of the features, if [NewImportance] was called.
	Importance *Importance `json:"importance,omitempty"`
	// Allocation is the estimated gain of further votes, if [NewAllocation] was called.
	Allocation *Allocation `json:"allocation,omitempty"`

	// Coverage is present if true probabilities are known.
	Coverage       []Coverage `json:"coverage,omitempty"`
	CoverageStrata []Coverage `json:"coverage_strata,omitempty"`

	// Warnings are caveats about the numbers, and the reasons why a number is
	// missing.
	Warnings Messages `json:"warnings"`
}

// judge adds warnings about numbers that indicate a problem, at a significance
// level of 1%.
func (r *Result) judge() {
	if r.PITPValue < 0.01 {
		r.Warnings.add("votes do not follow the predicted distributions (PIT p-value %.2g, largest distance %.3f)", r.PITPValue, r.PIT.Distance)
	}
	if d := r.DispersionRatio; r.DispersionP < 0.01 && !r.NearOne() {
		how, what := "more", "too narrow or means are wrong"
		if d.Value < 1 {
			how, what = "less", "too wide"
		}
		r.Warnings.add("true probabilities are spread %s widely about the predicted means than predicted (ratio %.2f, 95%% interval %.2f to %.2f): intervals are %s",
			how, d.Inside(), d.Lo, d.Hi, what)
	}
	r.judgeColumns()
	r.judgeClasses()
	r.judgeAgainst(r.LessLogisticDM, "logistic regression with a concentration")
	if d := r.LessCommon; d != nil && d.Lo > 0 {
		r.Warnings.add("the predicted spread of single items is worse than one concentration for all, by %.4f nats per vote, 95%% interval %.4f to %.4f", d.Value, d.Lo, d.Hi)
	}
}

// judgeAgainst warns if the model is not clearly better than a reference.
func (r *Result) judgeAgainst(d *Difference, reference string) {
	if d != nil && d.Hi >= 0 {
		r.Warnings.add("no better than %s: %.3f nats per vote, 95%% interval %.3f to %.3f", reference, d.Value, d.Lo, d.Hi)
	}
}

// NearOne reports whether the dispersion ratio, plus or minus two standard errors, is close enough
// to one to consider the width of intervals right: at most a fifth too wide or too
// narrow.
func (r *Result) NearOne() bool {
	d := r.DispersionRatio
	return d.Value-2*d.SE >= LeastNear && d.Value+2*d.SE <= MostNear
}

// LeastNear and MostNear are the bounds of [Result.NearOne]: intervals 16% narrower to 18% wider.
const LeastNear, MostNear = 0.7, 1.4

// judgeColumns warns about columns whose levels differ in dispersion.
func (r *Result) judgeColumns() {
	var differ []string
	for _, c := range r.DispersionBy {
		if !(c.PValue < 0.01) {
			continue
		}
		byRatio := func(a, b DispersionLevel) int { return cmp.Compare(a.Shrunk.Value, b.Shrunk.Value) }
		lo, hi := slices.MinFunc(c.Levels, byRatio), slices.MaxFunc(c.Levels, byRatio)
		differ = append(differ, fmt.Sprintf("%s (ratio %.2f at %s, %.2f at %s)", c.Column, lo.Shrunk.Value, lo.Name, hi.Shrunk.Value, hi.Name))
	}
	if differ != nil {
		r.Warnings.add("intervals are too wide for some items and too narrow for others, by %s: do not rely on them where the ratio is far from one", strings.Join(differ, ", "))
	}
}

// judgeClasses warns about classes that received more or fewer votes than predicted.
func (r *Result) judgeClasses() {
	var off []string
	for _, c := range r.ClassCalibration {
		if c.Off() {
			off = append(off, fmt.Sprintf("%s (predicted %.3g%%, observed %.3g%%)", c.Class, 100*c.Expected, 100*c.Observed))
		}
	}
	if off != nil {
		r.Warnings.add("classes do not receive the predicted share of votes: %s; train on items like these, or use the probabilities only to rank items", strings.Join(off, ", "))
	}
}

// Message is a warning or a reason: its kind, and the values that fill in its sentence. In JSON it is
// the sentence alone, and a message read from JSON has nothing else either.
type Message struct {
	Kind Kind
	Args []any
}

// Kind identifies what a message is about. It is the format string of its sentence.
type Kind string

// Messages is a list of messages.
type Messages []Message

// add appends a message.
func (m *Messages) add(kind Kind, args ...any) { *m = append(*m, Message{kind, args}) }

// String returns the sentence.
func (m Message) String() string { return fmt.Sprintf(string(m.Kind), m.Args...) }

// MarshalText returns the sentence.
func (m Message) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText stores a sentence as a message of the kind "%s": in JSON only the sentence is known.
func (m *Message) UnmarshalText(text []byte) error {
	*m = Message{"%s", []any{string(text)}}
	return nil
}

// Number is a float64 that is null in JSON if it is not finite: a quantity
// that could not be computed.
type Number float64

// MarshalJSON writes the number, or null.
func (x Number) MarshalJSON() ([]byte, error) {
	if !x.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON reads a number; null is NaN.
func (x *Number) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*x = unknown
		return nil
	}
	return json.Unmarshal(b, (*float64)(x))
}

// Known reports whether the number could be computed.
func (x Number) Known() bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

var unknown = Number(math.NaN())

// Estimate is a number with its standard error. In the JSON of a [Result] it is
// not an object but two keys: the key of the field, and the same with _se.
type Estimate struct {
	Value Number `json:"value"`
	SE    Number `json:"se"`
}

// IntervalEstimate is an estimate with the ends of its 95% interval, which the
// JSON of a [Result] has under the keys with _lo and _hi.
type IntervalEstimate struct {
	Estimate
	Lo Number `json:"lo"`
	Hi Number `json:"hi"`
}

// Inside returns the value, moved to the nearer end of the interval if it is outside. An unbiased estimate of a
// quantity that cannot be negative may itself be negative, which is not a result to report.
func (e IntervalEstimate) Inside() Number {
	if !e.Value.Known() || !e.Lo.Known() || !e.Hi.Known() {
		return e.Value
	}
	return max(e.Lo, min(e.Hi, e.Value))
}

// NotNegative returns the estimate of a quantity that cannot be negative with its normal 95% interval,
// which ends at 0.
func NotNegative(e Estimate) IntervalEstimate {
	if !e.SE.Known() {
		return IntervalEstimate{e, unknown, unknown}
	}
	const two = 1.96 // standard errors
	return IntervalEstimate{Estimate{max(0, e.Value), e.SE}, max(0, e.Value-two*e.SE), max(0, e.Value+two*e.SE)}
}

// unknownInterval is an estimate that could not be computed.
var unknownInterval = IntervalEstimate{Estimate{unknown, unknown}, unknown, unknown}

// MarshalJSON writes estimates as flat keys: see [Estimate].
func (r Result) MarshalJSON() ([]byte, error) {
	b := &bytes.Buffer{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false) // left to the encoder of the enclosing value
	err := e.Encode(flat(&r))
	return b.Bytes(), err
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Result) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, flat(r)) }

// flat returns a pointer to *p seen as a struct without estimates, for
// encoding/json. It shares the memory of *p, in which the numbers of an estimate
// are adjacent.
func flat(p any) any {
	v := reflect.ValueOf(p)
	return reflect.NewAt(flatType(v.Type().Elem()), v.UnsafePointer()).Interface()
}

// flatType returns t with every estimate replaced by its Numbers, also in the
// structs that t refers to.
func flatType(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		if t == reflect.TypeFor[Messages]() {
			return t
		}
		return reflect.SliceOf(flatType(t.Elem()))
	case reflect.Pointer:
		return reflect.PointerTo(flatType(t.Elem()))
	case reflect.Struct:
		var fields []reflect.StructField
		for i := range t.NumField() {
			fields = append(fields, flatFields(t.Field(i))...)
		}
		return reflect.StructOf(fields)
	}
	return t
}

// flatFields returns the fields that replace f: the fields of an embedded
// struct; the numbers of an estimate, the value under the name and key of f and
// the others with their own name and key appended; or f itself.
func flatFields(f reflect.StructField) []reflect.StructField {
	estimate := f.Type == reflect.TypeFor[Estimate]() || f.Type == reflect.TypeFor[IntervalEstimate]()
	f.Type = flatType(f.Type)
	if !f.Anonymous && !estimate {
		return []reflect.StructField{f}
	}
	fields := make([]reflect.StructField, f.Type.NumField())
	for i := range fields {
		fields[i] = f.Type.Field(i)
		if f.Anonymous {
			continue
		}
		key := f.Tag.Get("json")
		if i > 0 {
			key += "_" + fields[i].Tag.Get("json")
		}
		fields[i].Name, fields[i].Tag = f.Name+fields[i].Name, reflect.StructTag(`json:"`+key+`"`)
	}
	return fields
}
