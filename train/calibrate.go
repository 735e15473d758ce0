package train

import (
	"errors"
	"fmt"

	"credence/head"
	"credence/internal/par"
	"credence/mixture"
	"credence/model"
	"credence/nn"
)

// How wide reported laws should be is found from pairs of votes on items that a network held out:
// for two votes on such an item, E[(v₁−μ)(v₂−μ)] is E[(p−μ)²], the squared error of the mean, spread
// and ignorance together. [mixture.Dispersion] is its ratio R to the predicted variance, with which
// laws are scaled ([mixture.Dispersion.Scale]). Held-out laws are those of single networks, at epochs
// that the items did not choose ([crossStop]); what several networks claim together follows by
// algebra ([mixture.Dispersion.Ensemble]).

// leastRatio is the least ratio that the likelihood is asked about: that of [mixture.Dispersion.Scale].
const leastRatio = 0.1

// likelyItems bounds the items whose votes' likelihood is computed.
const likelyItems = 5_000

// calibrationItems bounds the items that standard errors and the spread between networks are
// computed from.
const calibrationItems = 20_000

// calibrate finds how laws are reported, and makes the held-out answers those that would have been
// reported, each by what the other folds say.
func (f *fitting) calibrate(res *Result, runs, final []*run) error {
	if !f.traits.Joint {
		return nil
	}
	c := &head.Calibration{Scale: 1, Resolution: f.resolution()}
	res.Model.Calibration = c
	defer func() {
		for _, a := range res.OutOfFold {
			if a != nil {
				a.Resolution = c.Resolution
			}
		}
	}()
	if f.o.Calibrate == "off" {
		return nil
	}
	if f.o.ClassWeights != nil {
		return nil // the means are not those of the votes
	}
	h, err := f.heldOut(res, runs)
	if err != nil {
		return err
	}
	within := 1.0
	if len(final) > 1 {
		if within, err = f.within(final); err != nil {
			return err
		}
	}
	found, err := h.Calibration(within)
	if err != nil {
		return err
	}
	if found.Items == 0 {
		f.warnings = append(f.warnings, "too few held-out items have two votes: whether intervals are wide enough is not known")
		return nil
	}
	found.Resolution = c.Resolution
	*c = found
	if c.RatioSE > 0.5 {
		f.warnings = append(f.warnings, fmt.Sprintf("how wide intervals should be can hardly be told from these votes "+
			"(the squared error is %.2f ± %.2f times the predicted variance): more items or more votes per item would tell",
			c.Ratio, c.RatioSE))
	}
	if f.folds > 0 {
		within = 1 // held-out answers are those of single networks
	}
	return f.crossFit(h, res, within)
}

// resolution is ε: what was asked for, or what the number of votes allows.
func (f *fitting) resolution() float64 {
	switch {
	case f.o.Resolution > 0:
		return f.o.Resolution
	case f.o.Resolution < 0:
		return 0
	}
	votes := 0.0
	for _, j := range f.voted {
		votes += f.ds.VotesOf(j)
	}
	return mixture.DefaultResolution(votes)
}

// parts returns into how many parts held-out items fall that are calibrated by each other: the folds
// or, if there is one, its halves.
func (f *fitting) parts() int { return max(f.folds, 2) }

// part is that of the voted item at a place.
func (f *fitting) part(at int) int {
	if f.folds < 2 {
		return at % 2
	}
	return f.fold[at]
}

// heldOut collects what one network said of each item that it held out.
func (f *fitting) heldOut(res *Result, runs []*run) (*HeldOut, error) {
	place := map[int]int{}
	for at, j := range f.voted {
		place[j] = at
	}
	reader, err := f.method.New(f.task)
	if err != nil {
		return nil, err
	}
	h := NewHeldOut(len(f.ds.Classes), f.parts())
	seen := map[int]bool{} // folds
	for _, r := range runs {
		if seen[r.fold] || len(r.held) == 0 {
			continue
		}
		seen[r.fold] = true
		answers := make([]head.Answer, len(r.held))
		for k, j := range r.held {
			if a := res.OutOfFold[j]; a != nil {
				answers[k] = *a
			}
		}
		if r.cross != nil && r.cross.best != nil {
			var own [][]float32
			for _, p := range r.network.Own {
				own = append(own, p.Value)
			}
			if answers, err = head.Decode(reader, []head.Output{{Raw: r.cross.kept, Own: own}}, len(r.held)); err != nil {
				return nil, err
			}
		}
		for k, j := range r.held {
			h.Add(answers[k].Law, f.ds.CountsOf(j), f.part(place[j]))
		}
	}
	return h, nil
}

// crossFit scales the held-out answers of each part by what the other parts say.
func (f *fitting) crossFit(h *HeldOut, res *Result, within float64) error {
	cs := make([]*head.Calibration, f.parts())
	for k := range cs {
		scale, err := h.scaleWithout(k, within)
		if err != nil {
			return err
		}
		cs[k] = &head.Calibration{Scale: scale}
	}
	par.For(len(f.voted), func(at int) {
		if a := res.OutOfFold[f.voted[at]]; a != nil {
			cs[f.part(at)].Apply(a)
		}
	})
	for _, a := range res.OutOfFold {
		if a != nil && a.Err != nil {
			return a.Err
		}
	}
	return nil
}

// HeldOut are the laws that networks gave to items they held out, with the votes on them.
type HeldOut struct {
	laws  []*mixture.Dirichlet // of items with two votes or more
	votes [][]float64
	part  []int
	sums  []pairSums // of each part

	dispersion *mixture.Dispersion // of all, found once
	trust      float64             // how far the likelihood lets the ratio lie from 1, as a share
}

// pairSums are sums over items with two votes or more.
type pairSums struct {
	items              int
	classes, variances []float64 // ΣD and ΣV, class by class, [d]
}

// NewHeldOut returns none, of d classes and in so many parts.
func NewHeldOut(d, parts int) *HeldOut {
	h := &HeldOut{sums: make([]pairSums, parts)}
	for k := range h.sums {
		h.sums[k] = pairSums{classes: make([]float64, d), variances: make([]float64, d)}
	}
	return h
}

// Add adds an item with votes [d] that belongs to a part; one with fewer than two says nothing.
func (h *HeldOut) Add(law *mixture.Dirichlet, votes []float32, part int) {
	m := 0.0
	counts := make([]float64, len(votes))
	for i, v := range votes {
		counts[i] = float64(v)
		m += counts[i]
	}
	if law == nil || m < 2 {
		return
	}
	s := &h.sums[part]
	s.items++
	mean, variance := law.Mean(nil), law.Variance(nil)
	for i, v := range counts {
		mu := mean[i]
		s.classes[i] += v*(v-1)/(m*(m-1)) - 2*mu*v/m + mu*mu
		s.variances[i] += variance[i]
	}
	h.laws, h.votes, h.part = append(h.laws, law), append(h.votes, counts), append(h.part, part)
	h.dispersion = nil
}

// sum returns the sums of all parts but one.
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

// all returns the dispersion of all items: the ratio exactly, its error from at most
// calibrationItems of them.
func (h *HeldOut) all() (*mixture.Dispersion, error) {
	if h.dispersion != nil {
		return h.dispersion, nil
	}
	every := (len(h.laws) + calibrationItems - 1) / calibrationItems
	var laws []*mixture.Dirichlet
	for k := 0; k < len(h.laws); k += every {
		laws = append(laws, h.laws[k])
	}
	d, err := mixture.NewDispersion(laws, func(j int) []float64 { return h.votes[j*every] })
	if err != nil {
		return nil, err
	}
	if every > 1 {
		_, shown, claimed := h.sum(-1)
		d = d.Of(len(h.laws), total(shown)/total(claimed))
	}
	h.dispersion = d
	h.trust, err = h.likely(d.Ratio)
	return d, err
}

// likely returns the share t ≤ 1 of the way from 1 to a ratio that laws can be rescaled without the
// votes becoming less likely. Where the family of laws does not fit, pairs of votes and likelihood
// disagree: on five ordered classes with few votes, pairs showed hardly any spread, and laws as
// narrow as that predicted votes worse than those of the networks.
func (h *HeldOut) likely(ratio float64) (float64, error) {
	every := (len(h.laws) + likelyItems - 1) / likelyItems
	n := (len(h.laws) + every - 1) / every
	losses, errs := make([]float64, n), make([]error, n)
	loss := func(t float64) (float64, error) {
		r := max(1+t*(ratio-1), leastRatio)
		par.For(n, func(k int) {
			var law *mixture.Dirichlet
			if law, errs[k] = h.laws[k*every].Rescale(r); errs[k] == nil {
				losses[k], errs[k] = law.LogVotes(h.votes[k*every])
			}
		})
		return -total(losses), errors.Join(errs...)
	}
	raw, err := loss(0)
	if err != nil {
		return 0, err
	}
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

// Calibration returns how laws are to be reported: those of networks such as held the items out or,
// if within is less than 1, those of several together, of whose variance that share is within
// networks. Its Items are 0 if the votes do not tell.
func (h *HeldOut) Calibration(within float64) (head.Calibration, error) {
	c := head.Calibration{Scale: 1}
	items, shown, claimed := h.sum(-1)
	if items < 2 || !(total(claimed) > 0) {
		return c, nil
	}
	d, err := h.all()
	if err != nil {
		return c, err
	}
	told, err := d.Ensemble(within)
	if err != nil {
		return c, err
	}
	trusted, err := d.Of(d.Items, h.trusted(d.Ratio)).Ensemble(within)
	if err != nil {
		return c, err
	}
	c.Items, c.Ratio, c.RatioSE, c.Scale = items, told.Ratio, told.SE, trusted.Scale()
	for i := range shown {
		ratio := 0.0
		if claimed[i] > 0 {
			ratio = (shown[i]/claimed[i]+1)*within - 1
		}
		c.Classes = append(c.Classes, ratio)
	}
	return c, nil
}

// scaleWithout is the scale that all parts but one say, as Calibration finds it.
func (h *HeldOut) scaleWithout(part int, within float64) (float64, error) {
	d, err := h.all()
	if err != nil {
		return 0, err
	}
	items, shown, claimed := h.sum(part)
	if items < 2 || !(total(claimed) > 0) {
		return 1, nil
	}
	if d, err = d.Of(items, h.trusted(total(shown)/total(claimed))).Ensemble(within); err != nil {
		return 0, err
	}
	return d.Scale(), nil
}

// trusted is a ratio as far from 1 as the likelihood allows.
func (h *HeldOut) trusted(ratio float64) float64 {
	if h.trust == 1 {
		return ratio
	}
	return 1 + h.trust*(max(ratio, leastRatio)-1)
}

func total(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum
}

// Within is the share of the variance of several networks together that is within networks, not
// between their means, over the items that are added.
type Within struct{ one, between float64 }

// Add adds what each network says of one item.
func (w *Within) Add(answers []head.Answer) {
	n := float64(len(answers))
	for i := range answers[0].Mean {
		mean := 0.0
		for k := range answers {
			w.one += answers[k].Variance[i] / n
			mean += answers[k].Mean[i] / n
		}
		for k := range answers {
			e := answers[k].Mean[i] - mean
			w.between += e * e / n
		}
	}
}

// Share returns the share, 1 if nothing was added.
func (w *Within) Share() float64 {
	if !(w.one > 0) {
		return 1
	}
	return w.one / (w.one + w.between)
}

// within compares the networks of an ensemble on the items that they were trained on.
func (f *fitting) within(final []*run) (float64, error) {
	every := (len(f.voted) + calibrationItems - 1) / calibrationItems
	var items []int
	for k := 0; k < len(f.voted); k += every {
		items = append(items, f.voted[k])
	}
	h, err := f.method.New(f.task)
	if err != nil {
		return 0, err
	}
	nets := make([]*model.Ensemble, len(final))
	for k, r := range final {
		if nets[k], err = model.NewEnsemble(f.o.Engine, []*nn.Network{r.network}); err != nil {
			return 0, err
		}
	}
	w := &Within{}
	buffers := f.in.buffers(f.o.Batch, false)
	err = f.in.each(buffers, f.o.Batch, items, func(x []float32, _ head.Batch, some []int) error {
		by := make([][]head.Answer, len(final))
		for k, net := range nets {
			if by[k], err = net.Answers(h, x, 0); err != nil {
				return err
			}
		}
		one := make([]head.Answer, len(final))
		for j := range some {
			for k := range by {
				one[k] = by[k][j]
			}
			w.Add(one)
		}
		return nil
	})
	return w.Share(), err
}
