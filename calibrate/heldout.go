package calibrate

import (
	"errors"
	"math"

	"credence/head"
	"credence/internal/par"
	"credence/internal/special"
	"credence/mixture"
)

// likelyItems is the largest number of items for which the likelihood of the votes is computed.
const likelyItems = 5_000

// MaxItems is the largest number of items that standard errors and the spread between
// networks are computed from.
const MaxItems = 20_000

// fewer reduces a limit on the number of items if there are more than 16 classes, since an item takes longer
// then.
func fewer(items, classes int) int { return max(min(items, items*16/classes), min(items, 500)) }

// HeldOut collects the distributions that networks predicted for held-out items, with the votes on them.
type HeldOut struct {
	dists []*mixture.Dirichlet // of items with two votes or more
	votes [][]float64
	sums  []pairSums // of each fold
	folds []int      // of each item
	// Network inputs of each item, if the scale may depend on them.
	inputs [][]float32

	// If raters are modelled: their model, and who cast the votes on each item.
	raterModel *head.RaterModel
	rated      [][]head.Rating

	errors  []pairError // of each item
	feature string      // whose levels are the groups of items, or ""
	levels  []string
	level   []int // of each item

	// If votes have names without a rater model: the votes, item by item, and the end of each item.
	named  []namedVote
	ends   []int
	raters *Raters // whose mean intervals are for, nil if nothing is known
	share  float64 // Σπ_r² of few raters, or 0
	own    float64 // Σπ_r² C_rr relative to the mean predicted variance

	dispersion *mixture.Dispersion // of all items, computed once
	trust      float64             // share of the distance of the ratio from 1 that the likelihood supports

	placesFitted bool
	placed       *Place   // dependence of the scale on the place, nil if there is none
	without      []*Place // the same found without each fold
}

// pairSums has sums over items with two votes or more.
type pairSums struct {
	items              int
	classes, variances []float64 // ΣD and ΣV per class, [d]
}

// NewHeldOut returns an empty collection for d classes and the given number of folds.
func NewHeldOut(d, folds int) *HeldOut {
	h := &HeldOut{sums: make([]pairSums, folds)}
	for k := range h.sums {
		h.sums[k] = pairSums{classes: make([]float64, d), variances: make([]float64, d)}
	}
	return h
}

// Item is what the scale of an item may depend on.
type Item struct {
	Inputs []float32 // of the networks, or nil; see [Place]
	Level  int       // index of its group, −1 if that is unknown; see [Groups]
}

// Add adds an item of a fold with votes [d]; items with fewer than two votes are ignored. The scale may depend on the
// network inputs of items, unless they are nil.
func (h *HeldOut) Add(dist *mixture.Dirichlet, votes []float32, item Item, fold int) {
	m := 0.0
	counts := make([]float64, len(votes))
	for i, v := range votes {
		counts[i] = float64(v)
		m += counts[i]
	}
	if dist == nil || m < 2 {
		return
	}
	shown, mean := make([]float64, len(votes)), dist.Mean(nil)
	for i, v := range counts {
		mu := mean[i]
		shown[i] = v*(v-1)/(m*(m-1)) - 2*mu*v/m + mu*mu
	}
	h.add(dist, counts, item.Level, fold, shown, dist.Variance(nil))
	if item.Inputs != nil {
		h.inputs = append(h.inputs, item.Inputs)
	}
}

// add adds an item, with the squared error estimated from its pairs of votes and the predicted variance, per class.
func (h *HeldOut) add(dist *mixture.Dirichlet, counts []float64, level, fold int, shown, claimed []float64) {
	s := &h.sums[fold]
	s.items++
	for i := range shown {
		s.classes[i] += shown[i]
		s.variances[i] += claimed[i]
	}
	h.dists, h.votes, h.folds = append(h.dists, dist), append(h.votes, counts), append(h.folds, fold)
	h.errors, h.level = append(h.errors, pairError{special.Sum(shown), special.Sum(claimed)}), append(h.level, level)
	h.dispersion = nil
}

// pairError has the squared error estimated from pairs of votes on an item, and the predicted variance.
type pairError struct{ shown, claimed float64 }

// AddRated adds an item with votes by raters of a rater model, which is the same for all items.
func (h *HeldOut) AddRated(c *head.RaterModel, dist *mixture.Dirichlet, votes []head.Rating, item Item, fold int) error {
	if dist == nil || len(votes) < 2 {
		return nil
	}
	shown, claimed, err := c.Pairs(dist, votes)
	if err != nil {
		return err
	}
	counts := make([]float64, len(shown))
	for _, v := range votes {
		counts[v.Class]++
	}
	h.add(dist, counts, item.Level, fold, shown, claimed)
	h.raterModel, h.rated = c, append(h.rated, votes)
	return nil
}

// usualRatio is the standard deviation around 1 of the ratios of fits with a rater model: a ratio with a larger
// standard error is shrunk towards 1. With 80 scans held out, three instruments' ratios were 1.1 to 2.8 with
// standard errors of 0.5 to 1, and the variances of distributions scaled by them were 1.1 to 3.2 times their
// squared error.
const usualRatio = 0.5

// byRaters corrects a dispersion for votes by raters: it sets their ratio, and the standard error found from
// the variation between items, since the information in a vote depends on who casts it.
func (h *HeldOut) byRaters(d *mixture.Dispersion) *mixture.Dispersion {
	_, shown, claimed := h.sum(-1)
	ratio, square := special.Sum(shown)/special.Sum(claimed), 0.0
	for _, e := range h.errors {
		x := e.shown - ratio*e.claimed
		square += x * x
	}
	d = d.At(len(h.dists), ratio)
	if se := math.Sqrt(square) / special.Sum(claimed); d.SE > 0 {
		d = d.Inflate(se / d.SE)
	}
	return d
}

// logVotes returns the log-likelihood of the votes on item j under a distribution.
func (h *HeldOut) logVotes(dist *mixture.Dirichlet, j int) (float64, error) {
	if h.raterModel != nil {
		return h.raterModel.LogVotes(dist, h.rated[j])
	}
	return dist.LogVotes(h.votes[j])
}

// sum returns the sums over all folds but one; −1 means all folds.
func (h *HeldOut) sum(without int) (items int, shown, claimed []float64) {
	d := len(h.sums[0].classes)
	shown, claimed = make([]float64, d), make([]float64, d)
	for k, s := range h.sums {
		if k == without {
			continue
		}
		items += s.items
		for i := range d {
			shown[i] += s.classes[i]
			claimed[i] += s.variances[i]
		}
	}
	return items, shown, claimed
}

// all returns the dispersion of all items: the ratio exactly, its standard error from at most
// MaxItems of them.
func (h *HeldOut) all() (*mixture.Dispersion, error) {
	if h.dispersion != nil {
		return h.dispersion, nil
	}
	most := fewer(MaxItems, len(h.sums[0].classes))
	every := (len(h.dists) + most - 1) / most
	var dists []*mixture.Dirichlet
	for k := 0; k < len(h.dists); k += every {
		dists = append(dists, h.dists[k])
	}
	d, err := mixture.NewDispersion(dists, func(j int) []float64 { return h.votes[j*every] })
	if err != nil {
		return nil, err
	}
	if h.raterModel != nil {
		d = h.byRaters(d)
	} else if every > 1 {
		_, shown, claimed := h.sum(-1)
		d = d.At(len(h.dists), special.Sum(shown)/special.Sum(claimed))
	}
	_, _, claimed := h.sum(-1)
	h.share, h.own = h.diagonal()
	h.own *= float64(len(h.dists)) / special.Sum(claimed)
	if h.share > 0 || h.own > 0 {
		d = d.At(len(h.dists), h.withDiagonal(d.Ratio))
	}
	h.dispersion = d
	h.trust = 1
	if d.Ratio < 1 {
		h.trust, err = h.likely(d.Ratio)
	}
	if h.raterModel != nil {
		h.trust *= usualRatio * usualRatio / (usualRatio*usualRatio + d.SE*d.SE)
	}
	return d, err
}

// guardNats is the loss of log-likelihood, over all votes, below which a narrower distribution counts as no less likely:
// it is within chance, as for one parameter at two standard errors.
const guardNats = 2

// likely returns the share t ≤ 1 of the way from 1 to a ratio by which distributions can be rescaled without
// making the votes less likely, by more than guardNats. Where the family of distributions does not fit, pairs of votes and likelihood
// disagree: on five ordered classes with few votes, pairs showed hardly any spread, and distributions as
// narrow as that predicted votes worse than those of the networks.
func (h *HeldOut) likely(ratio float64) (float64, error) {
	most := fewer(likelyItems, len(h.sums[0].classes))
	every := (len(h.dists) + most - 1) / most
	n := (len(h.dists) + every - 1) / every
	losses, errs := make([]float64, n), make([]error, n)
	loss := func(t float64) (float64, error) {
		r := max(1+t*(ratio-1), leastScale)
		par.For(n, func(k int) {
			var dist *mixture.Dirichlet
			if dist, errs[k] = narrowed(h.dists[k*every], r, h.dispersion.SE); errs[k] == nil {
				losses[k], errs[k] = h.logVotes(dist, k*every)
			}
		})
		return -special.Sum(losses), errors.Join(errs...)
	}
	raw, err := loss(0)
	if err != nil {
		return 0, err
	}
	raw += guardNats
	if l, err := loss(1); err != nil || l <= raw {
		return 1, err
	}
	lo, hi := 0.0, 1.0
	for range 6 {
		mid := (lo + hi) / 2
		l, err := loss(mid)
		if err != nil {
			return 0, err
		}
		if l <= raw {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// Calibration returns the calibration of the distributions of single networks, such as held the items out or,
// if w is not nil, of several networks together. Its Items are 0 if it cannot be determined from these votes.
func (h *HeldOut) Calibration(w *Within) (Calibration, error) { return h.Without(-1, w) }

// Without is Calibration, found from the items of all folds but one.
func (h *HeldOut) Without(fold int, w *Within) (Calibration, error) {
	c := Calibration{Scale: 1, Within: w.Share()}
	items, shown, claimed := h.sum(fold)
	if items < 2 || !(special.Sum(claimed) > 0) {
		return c, nil
	}
	d, err := h.all()
	if err != nil {
		return c, err
	}
	if fold >= 0 {
		d = d.At(items, h.withDiagonal(special.Sum(shown)/special.Sum(claimed)))
	}
	reported, err := d.Ensemble(c.Within)
	if err != nil {
		return c, err
	}
	c.Items, c.Ratio, c.RatioSE, c.Network, c.NetworkSE, c.Trust = items, reported.Ratio, reported.SE, d.Ratio, d.SE, h.trust
	for i := range shown {
		ratio := 0.0
		if claimed[i] > 0 {
			ratio = (shown[i]/claimed[i]+1)*c.Within - 1
		}
		c.Classes = append(c.Classes, ratio)
	}
	c.Shape = Concentrate
	h.scale(&c, reported)
	if !c.Leak {
		c.Groups = h.groups(fold, &c)
	}
	if c.ScaleSE == 0 && !c.Leak {
		c.Place, err = h.placeWithout(fold, w.Members())
	}
	return c, err
}

// leakZ is the number of standard errors below 0 from which a ratio of single networks is taken for a leak.
const leakZ = 2.33

// scale sets the scale of c by the dispersion of the distributions that it will be applied to.
func (h *HeldOut) scale(c *Calibration, d *mixture.Dispersion) {
	if c.Leak = h.raterModel == nil && c.Network+leakZ*c.NetworkSE < 0; c.Leak {
		return
	}
	d = d.At(d.Items, h.trusted(d.Ratio))
	c.Scale = d.Scale()
	if d.SE > averaged*c.Scale {
		// The average accounts for the uncertainty of the ratio: Scale's allowance for it would count it twice, and its
		// lower limit would move all scales up where pairs of votes show no spread at all.
		c.ScaleSE, c.ScaleCenter = d.SE, d.Center()
		c.Scale = max(c.ScaleCenter, leastScale)
	}
}

// withDiagonal returns the ratio of pairs of distinct raters with the part of single raters added.
func (h *HeldOut) withDiagonal(ratio float64) float64 { return (1-h.share)*ratio + h.own }

// trusted returns a ratio shrunk towards 1 as far as the likelihood requires.
func (h *HeldOut) trusted(ratio float64) float64 {
	if h.trust == 1 {
		return ratio
	}
	return 1 + h.trust*(max(ratio, leastScale)-1)
}
