package head

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/internal/kernel"
	"credence/internal/par"
	"credence/internal/special"
	"credence/mixture"
)

// ErrNoDistribution is returned when a distribution of the class probabilities
// is requested from a method that has none.
var ErrNoDistribution = errors.New("the method gives no distribution of the class probabilities")

// Decoded is the prediction of a method for one item.
type Decoded struct {
	// Mean [d] is the probability of each class; it sums to one.
	Mean []float64
	// Variance [d] depends on the method: the variance of the probability between similar items for
	// the mixture; of a label for softmax with one network, mve and qd; of the probability between
	// networks or passes for softmax with several networks and dropout; of Opinion for evidential. It
	// is nil for confidence.
	Variance []float64
	// Dist is the distribution of the class probabilities, learned from the votes of many items; nil if
	// the method has none. Predictions of a model have the calibrated distribution, see package calibrate.
	Dist *mixture.Dirichlet
	// Average is the average rater of a model with raters: Mean, Variance, Uncertainty and the reported
	// intervals are then those of p̄, the probabilities that such a rater votes for each class, while
	// Dist is the distribution of p. It is nil for a model without raters, where p̄ = p.
	Average *mixture.AverageRater
	// Resolution limits how close to 0 or 1 intervals may end; see [mixture.Reported].
	Resolution float64
	// Uncertainty summarizes the item in one number; larger means less certain. It is the variance of
	// the class with the largest mean for the mixture, softmax, dropout and mve, the width of its
	// interval for qd, 1 − c for confidence, and d/α₀ for evidential.
	Uncertainty float64
	// Lower and Upper [d] are the ends of an interval for the label (1 if the item's label is the
	// class, 0 if not). Only qd sets them.
	Lower, Upper []float64
	// Opinion is the distribution of evidential, nil for all other methods. It is the optimum of a
	// regularized squared error, not of the likelihood of votes, so its spread is not that of the
	// class probabilities between similar items.
	Opinion *mixture.Dirichlet
	// reported is the distribution of p̄ for an average rater who is not a function of single classes.
	reported *mixture.Dirichlet
	// Err is the reason why there is no prediction, such as outputs that are not finite.
	Err error
}

// NewDecoded returns the prediction with the distribution m.
func NewDecoded(m *mixture.Dirichlet) Decoded {
	a := Decoded{Dist: m}
	d := m.Classes()
	room := make([]float64, 2*d)
	a.Mean, a.Variance = m.Moments(room[:0:d], room[d:d])
	a.Uncertainty = a.Variance[a.Top()]
	return a
}

// Top returns the class with the largest mean, the first of them if there are several.
func (a *Decoded) Top() int {
	top := 0
	for i, p := range a.Mean {
		if p > a.Mean[top] {
			top = i
		}
	}
	return top
}

// After returns the prediction updated by further votes [d] on the item.
func (a *Decoded) After(votes []float64) (Decoded, error) {
	return a.updated(func(dist *mixture.Dirichlet) (*mixture.Dirichlet, error) { return dist.Update(votes) })
}

// AfterRatings returns the prediction updated by votes of raters of the rater model.
func (a *Decoded) AfterRatings(c *RaterModel, votes []Rating) (Decoded, error) {
	return a.updated(func(dist *mixture.Dirichlet) (*mixture.Dirichlet, error) { return c.Update(dist, votes) })
}

// updated returns the prediction with the distribution that update returns.
func (a *Decoded) updated(update func(dist *mixture.Dirichlet) (*mixture.Dirichlet, error)) (Decoded, error) {
	if a.Dist == nil {
		return Decoded{}, ErrNoDistribution
	}
	dist, err := update(a.Dist)
	if err != nil {
		return Decoded{}, err
	}
	return a.WithDist(dist), nil
}

// WithDist returns the prediction with another distribution.
func (a *Decoded) WithDist(dist *mixture.Dirichlet) Decoded {
	b := NewDecoded(dist)
	b.Resolution = a.Resolution
	b.ForAverageRater(a.Average)
	return b
}

// ForAverageRater changes the prediction to the vote probabilities of an average rater; nil leaves it unchanged.
// The prediction must have a distribution.
func (a *Decoded) ForAverageRater(average *mixture.AverageRater) {
	if average == nil {
		return
	}
	a.Average = average
	if average.Ordered() {
		a.reported = average.Dist(a.Dist)
		a.Mean, a.Variance = a.reported.Mean(a.Mean[:0]), a.reported.Variance(a.Variance[:0])
		a.Uncertainty = a.Variance[a.Top()]
		return
	}
	a.Mean, a.Variance = average.Moments(a.Mean[:0], a.Variance[:0], a.Dist)
	a.Uncertainty = a.Variance[a.Top()]
}

// ReportedDist returns the distribution of the reported probabilities: that of p or, approximately, of an
// average rater's vote probabilities ([mixture.AverageRater.Dist]). It is nil if there is no distribution.
func (a *Decoded) ReportedDist() *mixture.Dirichlet {
	switch {
	case a.Dist == nil || a.Average == nil:
		return a.Dist
	case a.reported != nil:
		return a.reported
	}
	return a.Average.Dist(a.Dist)
}

// Decode returns the predictions for N items from the outputs of each member or pass. It uses all cores.
// Items that cannot be decoded have an Err; the returned error is that of the first of them.
func Decode(h Head, outputs []Output, n int) ([]Decoded, error) {
	return DecodeOptions{}.Decode(h, outputs, n)
}

// DecodeOptions controls how outputs are decoded.
type DecodeOptions struct {
	// MeansOnly is faster: only Mean and Err of the result are certain to be set. DistsOnly is, too, if the method has distributions: only
	// Dist and Err are.
	MeansOnly, DistsOnly bool
	// Threads is the largest number of goroutines; 0 means all cores. Results do not depend on it.
	Threads int
}

// Decode is [Decode] with options.
func (o DecodeOptions) Decode(h Head, outputs []Output, n int) ([]Decoded, error) {
	f, width := h.Decode, h.Outputs()
	if m, ok := h.(distributions); ok && o.MeansOnly {
		f = m.means
	} else if ok && o.DistsOnly {
		f = m.dists
	}
	decoded := make([]Decoded, n)
	par.Limit(o.Threads).Chunks(n, 64, func(lo, hi int) {
		chunk := make([]Output, len(outputs))
		for i, out := range outputs {
			chunk[i] = out.items(lo, hi, n, width)
		}
		f(decoded[lo:hi], chunk)
	})
	for j := range decoded {
		if err := decoded[j].Err; err != nil {
			return decoded, fmt.Errorf("item %d of the batch: %w", j, err)
		}
	}
	return decoded, nil
}

// distributions are heads that decode parts of predictions in less time.
type distributions interface {
	means(dst []Decoded, outputs []Output)
	dists(dst []Decoded, outputs []Output)
}

// finite returns an error that shows the first value that is not finite.
func finite(out []float32) error {
	if i := slices.IndexFunc(out, func(v float32) bool { return v-v != 0 }); i >= 0 {
		return fmt.Errorf("expected finite outputs of the network, found %v", out[i])
	}
	return nil
}

// sdOf returns the standard deviation of class i, for a [Column].
func sdOf(a *Decoded, i int) float64 { return math.Sqrt(a.Variance[i]) }

// Dists returns the distributions of predictions, nil for those without one.
func Dists(decoded []Decoded) []*mixture.Dirichlet {
	list := make([]*mixture.Dirichlet, len(decoded))
	for j := range decoded {
		list[j] = decoded[j].Dist
	}
	return list
}

// Reported returns the reported summary of the item: that of p̄ for a model with raters, see Average. The
// prediction must have a distribution.
func (a *Decoded) Reported() mixture.Reported {
	if a.reported != nil {
		return mixture.Reported{Dist: a.reported, Resolution: a.Resolution}
	}
	r := mixture.Reported{Dist: a.Dist, Resolution: a.Resolution, Average: a.Average}
	if a.Average == nil {
		r = r.WithMoments(a.Mean, a.Variance)
	}
	return r
}

// means fills in Mean and Err of dst [N] as Decode would, for less work: no distribution is made, and the
// exponentials of many items are taken at once.
func (h *mixtureHead) means(dst []Decoded, outputs []Output) {
	k, d, width := h.components, h.classes, h.Outputs()
	n := len(dst)
	room := make([]float64, n*d+n*width)
	means, e := room[:n*d], room[n*d:]
	for _, out := range outputs {
		out.addMeans(means, d, len(outputs))
		if out.Share == 1 {
			continue
		}
		if !h.logits(e, out.Raw[:n*width]) {
			h.Decode(dst, outputs) // which reports the error of each item
			return
		}
		kernel.Exp64(e)
		for j := range dst {
			w, alpha := e[j*width:][:k], e[j*width+k:(j+1)*width]
			share := (1 - out.Share) / (special.Sum(w) * float64(len(outputs)))
			mean := means[j*d : (j+1)*d]
			for c, weight := range w {
				a := alpha[c*d : (c+1)*d]
				s := weight * share / special.Sum(a)
				for i, v := range a {
					mean[i] += s * v
				}
			}
		}
	}
	for j := range dst {
		dst[j].Mean = means[j*d : (j+1)*d : (j+1)*d]
	}
}

// logits sets x to the exponents of raw outputs, shifted so that the largest weight has exponent 0, and reports
// whether all are finite.
func (h *mixtureHead) logits(x []float64, raw []float32) bool {
	k, width := h.components, h.Outputs()
	limit := h.bound
	for ; len(raw) > 0; raw, x = raw[width:], x[width:] {
		top := slices.Max(raw[:k])
		for i, v := range raw[:k] {
			if v-v != 0 {
				return false
			}
			x[i] = float64(v) - float64(top)
		}
		for i, v := range raw[k:width] {
			if v-v != 0 {
				return false
			}
			x[k+i] = min(max(float64(v), -limit), limit)
		}
	}
	return true
}
