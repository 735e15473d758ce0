package mixture

import (
	"context"
	"math"

	"credence/internal/special"
)

// Precision is the accuracy of reported numbers. Results depend only on the mixture and the precision, to the last
// bit, not on batching or the number of cores.
type Precision int

const (
	// Full has relative errors below 1e-10, as [Beta.Quantile] and [Dirichlet.TopClass] have them.
	Full Precision = iota
	// SixDigits is for numbers that are shown with at most six digits, and several times as fast. The
	// error of the end Q̂ of an interval, or of the median, is at most 1e-7 or, where the distribution is too
	// flat for that, |F(Q̂) − F(Q)| ≤ 1e-7 min(F(Q), 1−F(Q)) with F the distribution function. The
	// error of the probabilities of being the most probable class is at most 1e-7.
	SixDigits
)

// PrecisionOf returns the precision for numbers shown with the given number of significant digits.
func PrecisionOf(digits int) Precision {
	if digits <= 6 {
		return SixDigits
	}
	return Full
}

// WithPrecision returns r with the given precision.
func (r Reported) WithPrecision(p Precision) Reported {
	r.Precision = p
	return r
}

// ClassSummary summarizes the reported distribution of one class.
type ClassSummary struct {
	Mean, SD, Median float64
	// Top is the probability that the class is the most probable one, 0 if it was not requested.
	Top float64
	// Intervals has one entry for each level.
	Intervals []ClassIntervals
}

// ClassIntervals are the intervals of a class at one level.
type ClassIntervals struct{ TwoSided, Upper, Lower ReportedInterval }

// Mirror returns the intervals of 1 − p.
func (i ClassIntervals) Mirror() ClassIntervals {
	return ClassIntervals{i.TwoSided.Mirror(), i.Lower.Mirror(), i.Upper.Mirror()}
}

// Summarize returns the summaries of all classes; top requests the probabilities of being the most probable
// class. The numbers are those of [Reported.Class] and [Reported.TopClass], which take more time separately.
// With many classes or levels it can take long: when ctx is done, it stops and returns the context's error.
func (r Reported) Summarize(ctx context.Context, levels []float64, top bool) ([]ClassSummary, error) {
	d := r.Dist.Classes()
	list := make([]ClassSummary, d)
	room := make([]ClassIntervals, d*len(levels))
	work := summaryWork.Get().(*classTables)
	defer summaryWork.Put(work)
	mirrored := d == 2 && r.Resolution > 0
	if r.Precision != Full {
		last := d
		if mirrored {
			last = 1
		}
		work.set(r.Dist, r.mean, r.variance, 0, last)
	}
	complement := 0.0
	for i := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := &list[i]
		s.Intervals, room = room[:len(levels):len(levels)], room[len(levels):]
		if i == 1 && mirrored {
			var variance float64
			s.Mean, variance = r.classMoments(work, 1)
			s.SD = math.Sqrt(variance)
			s.Median = complement
			for k := range levels {
				s.Intervals[k] = list[0].Intervals[k].Mirror()
			}
			continue
		}
		c := r.classIn(work, i)
		var variance float64
		s.Mean, variance = c.Moments()
		s.SD = math.Sqrt(variance)
		c.begin()
		c.prepare(levels)
		if s.Median = complement; i == 0 || d > 2 {
			s.Median, complement = c.QuantileBoth(0.5)
		}
		for k, level := range levels {
			if k%64 == 63 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			s.Intervals[k] = ClassIntervals{c.interval(TwoSided, level), c.interval(Upper, level), c.interval(Lower, level)}
		}
		if top && i == 0 && d == 2 && r.Average == nil {
			list[0].Top, list[1].Top = c.topOfTwo()
		}
	}
	if top && (d > 2 || r.Average != nil) {
		var p []float64
		var err error
		if r.Precision != Full && d > 2 {
			p, err = r.Dist.topClass(ctx, nil, sixDigitsTop, work.all)
		} else {
			p, err = r.topClass(ctx, nil)
		}
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].Top = p[i]
		}
	}
	return list, nil
}

// classMoments returns the mean and the variance of class i.
func (r *Reported) classMoments(work *classTables, i int) (mean, variance float64) {
	switch {
	case r.Average != nil:
		return r.Average.class(i, r.Dist.Marginal(i))
	case r.Precision == Full:
		return r.Dist.Marginal(i).Moments()
	}
	return work.all.mean[i], work.all.variance[i]
}

// classIn returns the reported class i, one of those that work was set to. The caller has to call begin.
func (r Reported) classIn(work *classTables, i int) ReportedClass {
	c := ReportedClass{resolution: r.Resolution, average: r.Average, class: i}
	if r.Precision != Full {
		work.use(i, r.Resolution)
		c.tables = work
	}
	if r.Precision == Full || r.Average != nil {
		c.Dist = r.Dist.Marginal(i)
	}
	return c
}

// topOfTwo returns the probabilities that the first and the second of two classes are the more probable one.
func (c *ReportedClass) topOfTwo() (first, second float64) {
	var lower, upper [1]float64
	if !c.tables.tails(0.5, lower[:], upper[:], []float64{0}) {
		half := special.At(0.5)
		lower[0], upper[0] = c.dist().tailsAt(&half)
	}
	whole := upper[0] + lower[0]
	return upper[0] / whole, lower[0] / whole
}

// sixDigitsTop bounds the error of TopClass with SixDigits.
const sixDigitsTop = 1e-7
