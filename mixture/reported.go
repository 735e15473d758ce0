package mixture

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Reported is the distribution of an item's class probabilities as it is reported, with a limit
// on how close to 0 or 1 the votes behind it can determine a probability. Means, intervals,
// the most probable class and the effect of further votes all come from this one
// distribution, recalibrated ([Dirichlet.Rescale]) where that is known to be needed.
//
// Probabilities below the resolution ε are not distinguished. An interval that would end
// there ends at 0 instead, and the mass that this adds is removed at the other end, so that
// intervals have their nominal mass and no more; see [ReportedClass.Interval].
type Reported struct {
	Dist *Dirichlet
	// Resolution is ε, between 0 and 0.1; with 0, intervals end at the quantiles of the
	// distribution, however close to 0.
	Resolution float64
	// Average, if not nil, selects the vote probabilities of an average rater, p̄, for all reported numbers: Dist
	// remains the distribution of p, and ends of intervals are mapped.
	Average *AverageRater
	// Precision is the accuracy of intervals, medians and the most probable class. The zero
	// value is [Full].
	Precision Precision

	mean, variance []float64 // see WithMoments
}

// The smallest and the largest resolution that [DefaultResolution] returns, and the
// largest valid one.
const minResolution, defaultResolution, maxResolution = 1e-4, 0.02, 0.1

// DefaultResolution returns the ε of a model that was fitted to the given number of votes,
// 0.6/√votes, between 1e-4 and 0.02.
func DefaultResolution(votes float64) float64 {
	if !(votes > 0) {
		return defaultResolution
	}
	return min(max(0.6/math.Sqrt(votes), minResolution), defaultResolution)
}

// NewReported returns the reported form of a distribution at a resolution.
func NewReported(dist *Dirichlet, resolution float64) (Reported, error) {
	if !(resolution >= 0 && resolution <= maxResolution) {
		return Reported{}, fmt.Errorf("resolution: expected a number from 0 to %v, found %v", maxResolution, resolution)
	}
	return Reported{Dist: dist, Resolution: resolution}, nil
}

// WithMoments returns r with the class means and variances of Dist, so that they need not be computed again.
func (r Reported) WithMoments(mean, variance []float64) Reported {
	r.mean, r.variance = mean, variance
	return r
}

// Mean appends the d class means to dst and returns it.
func (r Reported) Mean(dst []float64) []float64 {
	if r.Average != nil {
		dst, _ = r.Average.Moments(dst, nil, r.Dist)
		return dst
	}
	return r.Dist.Mean(dst)
}

// SD appends the d standard deviations of the class probabilities to dst and
// returns it.
func (r Reported) SD(dst []float64) []float64 {
	from := len(dst)
	if r.Average != nil {
		_, dst = r.Average.Moments(nil, dst, r.Dist)
	} else {
		dst = r.Dist.Variance(dst)
	}
	for i := from; i < len(dst); i++ {
		dst[i] = math.Sqrt(dst[i])
	}
	return dst
}

// TopClass appends to dst, for each class, the probability that it is the most
// probable one, and returns it.
func (r Reported) TopClass(dst []float64) []float64 {
	dst, _ = r.topClass(context.Background(), dst)
	return dst
}

// topClass is TopClass; it stops with the context's error when ctx is done.
func (r Reported) topClass(ctx context.Context, dst []float64) ([]float64, error) {
	switch d := r.Dist.Classes(); {
	case r.Average != nil && d == 2:
		c := r.Class(0)
		return append(dst, c.Survival(0.5), c.CDF(0.5)), nil
	case r.Precision == Full:
		return r.Dist.TopClassContext(ctx, dst)
	}
	work := summaryWork.Get().(*classTables)
	defer summaryWork.Put(work)
	if d := r.Dist.Classes(); d > 2 {
		work.set(r.Dist, r.mean, r.variance, 0, d)
		return r.Dist.topClass(ctx, dst, sixDigitsTop, work.all)
	}
	work.set(r.Dist, r.mean, r.variance, 0, 1)
	c := r.classIn(work, 0)
	first, second := c.topOfTwo()
	return append(dst, first, second), nil
}

// Update returns r conditioned on further votes, votes[i] of them for
// class i.
func (r Reported) Update(votes []float64) (Reported, error) {
	dist, err := r.Dist.Update(votes)
	r.Dist, r.mean, r.variance = dist, nil, nil
	return r, err
}

// Region finds the joint credible region of the given level as
// [Dirichlet.Region] does, with coordinates below the resolution raised to it before the
// density is evaluated.
func (r Reported) Region(level float64, draws int, seed uint64) (*Region, error) {
	return r.Dist.region(level, draws, seed, r.Resolution)
}

// Class returns the reported distribution of class i, 0 ≤ i < d. With two classes and a resolution above 0,
// the intervals of the second class are exactly those of the first, mirrored ([ReportedInterval.Mirror]): their
// ends are then far enough from 0 and 1 that 1 − x loses no relevant digits.
func (r Reported) Class(i int) ReportedClass {
	if i == 1 && r.Dist.Classes() == 2 && r.Resolution > 0 {
		first := r.Class(0)
		return ReportedClass{Dist: r.Dist.Marginal(1), resolution: r.Resolution, mirrors: &first, average: r.Average, class: 1}
	}
	work := new(classTables)
	if r.Precision != Full {
		work.set(r.Dist, r.mean, r.variance, i, i+1)
	}
	c := r.classIn(work, i)
	if c.Dist == nil {
		c.Dist = r.Dist.Marginal(i)
	}
	c.begin()
	return c
}

// HighestDensity returns the shortest set of the given level, as
// [Beta.HighestDensity] does, for the distribution that is constant on [0, ε] and on
// [1−ε, 1]; each of these is in the set as a whole or not at all, so that the mass
// is at least the level. atLeast reports whether the set consists of them alone. For an average rater
// it is the shortest set of p, mapped to p̄.
func (c ReportedClass) HighestDensity(level float64) (set []Interval, atLeast bool) {
	set, atLeast, _ = c.HighestDensityContext(context.Background(), level)
	return set, atLeast
}

// HighestDensityContext is [ReportedClass.HighestDensity]. When ctx is done it stops and returns the
// context's error.
func (c ReportedClass) HighestDensityContext(ctx context.Context, level float64) (set []Interval, atLeast bool, err error) {
	if set, atLeast, err = c.shortest(ctx, level); err != nil {
		return nil, false, err
	}
	if c.average != nil && c.mirrors == nil {
		for k := range set {
			set[k] = c.mapped(set[k])
		}
	}
	return set, atLeast, nil
}

// shortest is HighestDensityContext for p, before the mapping to p̄.
func (c ReportedClass) shortest(ctx context.Context, level float64) (set []Interval, atLeast bool, err error) {
	if c.resolution == 0 {
		set, err = c.Dist.HighestDensityContext(ctx, level)
		return set, false, err
	}
	if !(level > 0 && level < 1) || c.Dist.K() == 0 {
		return nil, false, nil
	}
	if c.mirrors != nil {
		set, atLeast, err = c.mirrors.HighestDensityContext(ctx, level)
		for k := range set {
			set[k].Lo, set[k].Hi = 1-set[k].Hi, 1-set[k].Lo
		}
		slices.Reverse(set)
		return set, atLeast, err
	}
	if c.tables != nil { // their masses are approximate, or those of a slightly wider distribution
		c.tables = nil
		c.exactEnds()
	}
	sh := c.Dist.shape(ctx)
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	if sh.flat {
		i := c.Interval(TwoSided, level)
		return []Interval{i.Interval}, i.AtLeast, nil
	}
	set, atLeast = newCellSet(ctx, c, sh).find(level)
	return set, atLeast, ctx.Err()
}
