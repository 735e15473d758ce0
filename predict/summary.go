package predict

import (
	"context"

	"credence/mixture"
)

// Summary says which numbers of a prediction to compute. The zero value computes none but the means.
type Summary struct {
	Levels    []float64         // of the intervals
	Precision mixture.Precision // of intervals, medians and p_top
	// MaxWidth and MinTop are the rule of [Row.Abstain]: abstain where the predicted class's interval is wider,
	// or its p_top smaller; 0 is no rule.
	MaxWidth, MinTop float64

	needs need
}

// need is a set of the numbers that output fields are made of.
type need uint

const (
	needTwoSided need = 1 << iota // two-sided intervals
	needClasses                   // everything about a class but p_top
	needTop                       // p_top
	needHPD                       // highest-density sets
	needEntropy
	needGain
)

// All returns s with every number computed.
func (s Summary) All() Summary {
	s.needs = needClasses | needTop | needEntropy | needGain
	return s
}

// abstains reports whether there is a rule.
func (s *Summary) abstains() bool { return s.MaxWidth > 0 || s.MinTop > 0 }

// Row is the summary of a prediction, typed: what all output fields are made of.
type Row struct {
	*Prediction
	Predicted int // class of largest mean
	// Classes has the intervals and moments of each class; nil for methods without a distribution of the class
	// probabilities, or if they were not asked for.
	Classes []mixture.ClassSummary
	Entropy mixture.Entropy
	// NextGain is the value of one further vote: the expected reduction of the variance.
	NextGain float64

	hpd      [][][]mixture.Interval // highest-density sets, by class and level
	reported mixture.Reported
	summary  *Summary
	table    *Table // nil outside of tables
}

// Summarize computes the numbers that s asks for. The prediction has no Err. When ctx is done, Summarize returns its error.
func (p *Prediction) Summarize(ctx context.Context, s *Summary) (r Row, err error) {
	r = Row{Prediction: p, Predicted: p.Top(), summary: s}
	if p.Law == nil {
		return r, ctx.Err()
	}
	r.reported = p.Reported().To(s.Precision)
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
		r.Entropy = p.Law.Entropy()
	}
	if s.needs&needGain != 0 {
		r.NextGain, _ = p.Law.Gain(1) // one vote has a closed form, which cannot fail
	}
	return r, ctx.Err()
}

// highestDensity computes the highest-density sets.
func (r *Row) highestDensity(ctx context.Context) error {
	r.hpd = make([][][]mixture.Interval, r.reported.Law.Classes())
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

// twoSided computes two-sided intervals alone, a third of the work of all. The second of two classes mirrors the first.
func (r *Row) twoSided() []mixture.ClassSummary {
	list := make([]mixture.ClassSummary, r.reported.Law.Classes())
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

// Abstain reports whether to abstain on the item, by its intervals of level k.
func (r *Row) Abstain(k int) bool {
	return r.summary.MaxWidth > 0 && r.Width(k) > r.summary.MaxWidth || r.summary.MinTop > 0 && r.Classes[r.Predicted].Top < r.summary.MinTop
}

// HasTop reports whether p_top of the classes was computed.
func (r *Row) HasTop() bool {
	return r.Classes != nil && (r.summary.needs&needTop != 0 || r.summary.MinTop > 0)
}
