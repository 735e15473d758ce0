package mixture

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/internal/par"
	"credence/internal/special"
)

// Dispersion compares the variance that distributions claim for items with the squared error that
// pairs of votes show, by the following ratio. The votes should not be those that the
// distributions were fitted to.
//
//	R = ΣD/ΣV,   D the [Dirichlet.PairError] of an item and V = Σ_i Var p_i.
//
// Above 1, probabilities lie farther from their predicted means than claimed and
// intervals are too narrow; below 1 they are too wide. R depends on errors of the
// means as well as of the spread.
type Dispersion struct {
	Items int     // number of items with at least two votes
	Ratio float64 // R
	SE    float64 // of R, if the distributions rescaled by R are right
	// NullSE is the standard error of R if the distributions are right, for a test of that
	// hypothesis: (R − 1)/NullSE is then approximately normal, even if few votes differ.
	NullSE float64

	at       []float64 // ratios, increasing
	variance []float64 // of R, if the distributions rescaled by at[i] are right
}

// dispersionRatios are the ratios at which the variance of R is computed; it is
// interpolated between them.
var dispersionRatios = []float64{0.05, 0.2, 0.5, 1, 2, 4, 8}

// nullRatio is the index of 1 in dispersionRatios.
const nullRatio = 3

// dispersionPiece is the number of items per piece of work.
const dispersionPiece = 128

// NewDispersion compares distributions with votes; votes(j) returns the votes of item j, one count
// per class. Items without a distribution (nil) or with fewer than two votes are skipped; it is an
// error if none remains.
func NewDispersion(dists []*Dirichlet, votes func(j int) []float64) (*Dispersion, error) {
	type sums struct {
		items         int
		shown, claims float64
		variance      []float64
		err           error
	}
	pieces := make([]sums, (len(dists)+dispersionPiece-1)/dispersionPiece)
	par.For(len(pieces), func(p int) {
		s := sums{variance: make([]float64, len(dispersionRatios))}
		for j := p * dispersionPiece; j < min(len(dists), (p+1)*dispersionPiece) && s.err == nil; j++ {
			if dists[j] == nil {
				continue
			}
			counts := votes(j)
			d, err := dists[j].PairError(counts)
			switch {
			case err != nil:
				s.err = fmt.Errorf("item %d: %w", j, err)
			case !math.IsNaN(d):
				s.items++
				s.shown += d
				s.claims += special.Sum(dists[j].Variance(nil))
				s.err = dists[j].pairVariances(s.variance, special.Sum(counts))
			}
		}
		pieces[p] = s
	})
	total := sums{variance: make([]float64, len(dispersionRatios))}
	for _, s := range pieces {
		if s.err != nil {
			return nil, s.err
		}
		total.items += s.items
		total.shown += s.shown
		total.claims += s.claims
		for i, v := range s.variance {
			total.variance[i] += v
		}
	}
	if !(total.claims > 0) {
		return nil, errors.New("no item has a distribution and at least two votes")
	}
	d := &Dispersion{Items: total.items, Ratio: total.shown / total.claims, at: dispersionRatios, variance: total.variance}
	for i := range d.variance {
		d.variance[i] /= total.claims * total.claims
	}
	d.NullSE = math.Sqrt(d.variance[nullRatio])
	d.SE = d.StdErrAt(d.Ratio)
	return d, nil
}

// pairVariances adds to dst the variance of the pair error over n votes, for the distribution
// rescaled by each of dispersionRatios.
func (m *Dirichlet) pairVariances(dst []float64, n float64) error {
	for i, ratio := range dispersionRatios {
		dist, err := m.Rescale(ratio)
		if err != nil {
			return err
		}
		dst[i] += dist.PairVariance(n)
	}
	return nil
}

// StdErrAt returns the standard error of R if the true ratio is the given one.
func (d *Dispersion) StdErrAt(ratio float64) float64 {
	last := len(d.at) - 1
	i, _ := slices.BinarySearch(d.at[:last], ratio)
	if i == 0 || ratio >= d.at[last] {
		return math.Sqrt(d.variance[i])
	}
	t := (ratio - d.at[i-1]) / (d.at[i] - d.at[i-1])
	return math.Sqrt(d.variance[i-1] + t*(d.variance[i]-d.variance[i-1]))
}

// Interval returns the confidence interval of the true ratio at the given level: all ratios from
// which R differs by no more than sampling error, each with its own standard error.
func (d *Dispersion) Interval(level float64) Interval {
	z := math.Sqrt2 * math.Erfinv(level)
	// The ends are where R − x = ±z se(x), between a ratio that is too far from R and
	// one that is not.
	far := func(x float64) bool { return math.Abs(d.Ratio-x) > z*d.StdErrAt(x) }
	at := max(d.Ratio, 0)
	i := Interval{0, at}
	if at > z*d.StdErrAt(0) {
		_, i.Lo = bisect(0, at, far)
	}
	end := at + 1
	for math.Abs(d.Ratio-end) <= z*d.StdErrAt(end) {
		end *= 2
	}
	_, i.Hi = bisect(end, at, far)
	return i
}

// Inflate returns d with standard errors multiplied by a factor, for items that are not
// independent of each other.
func (d *Dispersion) Inflate(factor float64) *Dispersion {
	w := d.scaled(factor * factor)
	w.SE, w.NullSE = factor*d.SE, factor*d.NullSE
	return w
}

// scaled returns a copy of d with the variances of R multiplied by a factor.
func (d *Dispersion) scaled(factor float64) *Dispersion {
	s := *d
	s.variance = slices.Clone(d.variance)
	for i := range s.variance {
		s.variance[i] *= factor
	}
	return &s
}

// At returns the dispersion that a given number of similar items with the given ratio would have.
func (d *Dispersion) At(items int, ratio float64) *Dispersion {
	share := float64(d.Items) / float64(items)
	e := d.scaled(share)
	e.Items, e.Ratio, e.SE, e.NullSE = items, ratio, e.StdErrAt(ratio), d.NullSE*math.Sqrt(share)
	return e
}

// Ensemble returns the dispersion of the distributions of an ensemble, given that of the distributions
// of its members and the share q of its variance that is within members, the rest
// being between their means:
//
//	R′ = (R + 1) q − 1.
//
// Pairs show the squared error of a member's mean. That of their mean is less by the
// variance B between them, and with V̄ the mean variance of a member the ensemble
// claims V̄ + B, so that R′ = (R V̄ − B)/(V̄ + B).
func (d *Dispersion) Ensemble(q float64) (*Dispersion, error) {
	if !(q > 0 && q <= 1) {
		return nil, fmt.Errorf("share of the variance within members: expected a number above 0 and at most 1, found %v", q)
	}
	e := d.scaled(q).scaled(q)
	e.Ratio, e.SE, e.NullSE, e.at = (d.Ratio+1)*q-1, d.SE*q, d.StdErrAt(2/q-1)*q, slices.Clone(d.at)
	for i, x := range d.at {
		e.at[i] = (x+1)*q - 1
	}
	return e, nil
}

// scaleAllowance is the excess of a ratio over 1 up to which distributions are not widened:
// intervals at a limited resolution, and the shapes of fitted distributions, err on the wide
// side by more than that.
const scaleAllowance = 0.05

// Scale returns the ratio by which to rescale distributions ([Dirichlet.Rescale]) so that their
// intervals have their nominal coverage on average,
//
//	max(R, 0) − min(max(R − 1, 0), 0.05) + min(SE/4, SE²/R),   at least 0.1.
//
// The last term accounts for the uncertainty of R: if distributions are as often too wide as too
// narrow, the coverage of their intervals is below the nominal level.
func (d *Dispersion) Scale() float64 {
	r := max(d.Ratio, 0)
	more := d.SE / 4
	if r > 4*d.SE {
		more = d.SE * d.SE / r
	}
	return max(max(d.Center(), 0)+more, 0.1)
}

// Center returns the ratio by which to rescale distributions if they are averaged over its uncertainty,
//
//	max(R, −SE/2) − min(max(R − 1, 0), 0.05).
//
// The true ratio is not negative, so an estimate below −SE/2 is mostly chance.
func (d *Dispersion) Center() float64 {
	return max(d.Ratio, -d.SE/2) - min(max(d.Ratio-1, 0), scaleAllowance)
}
