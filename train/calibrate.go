package train

import (
	"fmt"
	"math"

	"credence/head"
	"credence/internal/par"
	"credence/mixture"
	"credence/model"
	"credence/nn"
)

// How wide reported laws should be is found from pairs of votes on items that a network held out:
// for two votes on such an item, E[(v₁−μ)(v₂−μ)] is E[(p−μ)²], the squared error of the mean, spread
// and ignorance together. With D its unbiased estimate per item ([mixture.Dirichlet.PairError]) and V
// the predicted variance, both summed over classes, the ratio
//
//	R = ΣD/ΣV
//
// is by how much variances should be multiplied. Held-out laws are those of single networks. For M
// networks together the error of the mean is smaller by the variance B between their means, and the
// variance of the law larger by it, which is algebra: with V̄ the mean variance of one of them,
//
//	R' = (R·V̄ − B)/(V̄ + B).
//
// Laws are scaled by max(R' + ½ SE, leastScale): rather half an error too wide than too narrow.

// leastScale is the least factor of a variance: means are never known perfectly.
const leastScale = 0.1

// calibrationItems bounds the items that standard errors and the spread between networks are
// computed from.
const calibrationItems = 20_000

// calibrate finds how laws are reported, and makes the held-out answers those that would have been
// reported, each by what the other folds say.
func (f *fitting) calibrate(res *Result, final []*run) error {
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
	h := NewHeldOut(len(f.ds.Classes), max(f.folds, 2))
	for at, j := range f.voted {
		if a := res.OutOfFold[j]; a != nil {
			part := f.fold[at]
			if f.folds < 2 {
				part = at % 2
			}
			h.Add(a, f.ds.CountsOf(j), part)
		}
	}
	var between *Spread
	if len(final) > 1 && f.folds > 0 {
		var err error
		if between, err = f.spread(final); err != nil {
			return err
		}
	}
	found, err := h.Calibration(between)
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
	return h.crossFit()
}

// scaleOf is the factor of variances for a ratio and its standard error.
func scaleOf(ratio, se float64) float64 { return max(ratio+se/2, leastScale) }

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

// HeldOut are items that networks held out, with what they say of them, in parts that are calibrated
// by each other.
type HeldOut struct {
	answers []*head.Answer // of items with two votes or more
	votes   []float64      // how many, of each
	part    []int
	sums    []pairSums // of each part
}

// pairSums are sums over items with two votes or more.
type pairSums struct {
	items              int
	error, variance    float64   // ΣD, ΣV
	classes, variances []float64 // the same class by class, [d]
}

func newPairSums(d int) pairSums {
	return pairSums{classes: make([]float64, d), variances: make([]float64, d)}
}

func (s *pairSums) add(t *pairSums) {
	s.items, s.error, s.variance = s.items+t.items, s.error+t.error, s.variance+t.variance
	for i := range s.classes {
		s.classes[i], s.variances[i] = s.classes[i]+t.classes[i], s.variances[i]+t.variances[i]
	}
}

// NewHeldOut returns none, of d classes and in so many parts.
func NewHeldOut(d, parts int) *HeldOut {
	h := &HeldOut{sums: make([]pairSums, parts)}
	for k := range h.sums {
		h.sums[k] = newPairSums(d)
	}
	return h
}

// Add adds an item with votes [d]; one with fewer than two says nothing.
func (h *HeldOut) Add(a *head.Answer, votes []float32, part int) {
	m := 0.0
	for _, v := range votes {
		m += float64(v)
	}
	if m < 2 {
		return
	}
	one := newPairSums(len(votes))
	one.items = 1
	for i, v := range a.Variance {
		s, mu := float64(votes[i]), a.Mean[i]
		e := s*(s-1)/(m*(m-1)) - 2*mu*s/m + mu*mu
		one.error, one.variance = one.error+e, one.variance+v
		one.classes[i], one.variances[i] = e, v
	}
	h.sums[part].add(&one)
	h.answers, h.votes, h.part = append(h.answers, a), append(h.votes, m), append(h.part, part)
}

// sum returns the sums of all parts but one.
func (h *HeldOut) sum(without int) pairSums {
	all := newPairSums(len(h.sums[0].classes))
	for k := range h.sums {
		if k != without {
			all.add(&h.sums[k])
		}
	}
	return all
}

// Calibration returns how laws are to be reported: those of single networks such as held the items
// out or, if between is not nil, those of several together. Its Items are 0 if the votes do not tell.
func (h *HeldOut) Calibration(between *Spread) (head.Calibration, error) {
	c := head.Calibration{Scale: 1}
	all := h.sum(-1)
	if all.items < 2 || !(all.variance > 0) {
		return c, nil
	}
	var err error
	c.Items, c.Ratio = all.items, all.error/all.variance
	if c.RatioSE, err = h.standardError(all, c.Ratio); err != nil {
		return c, err
	}
	for i := range all.classes {
		c.Classes = append(c.Classes, all.classes[i]/max(all.variances[i], math.SmallestNonzeroFloat64))
	}
	if between != nil {
		between.apply(&c)
	}
	c.Scale = scaleOf(c.Ratio, c.RatioSE)
	return c, nil
}

// standardError is that of ΣD/ΣV if laws are as wide as it says.
func (h *HeldOut) standardError(all pairSums, ratio float64) (float64, error) {
	every := (len(h.answers) + calibrationItems - 1) / calibrationItems
	n := (len(h.answers) + every - 1) / every
	variances, errs := make([]float64, n), make([]error, n)
	par.For(n, func(k int) {
		law, err := h.answers[k*every].Law.Rescale(max(ratio, leastScale))
		if errs[k] = err; err == nil {
			variances[k] = law.PairVariance(h.votes[k*every])
		}
	})
	sum := 0.0
	for k, v := range variances {
		if errs[k] != nil {
			return 0, errs[k]
		}
		sum += v
	}
	return math.Sqrt(sum/float64(n)*float64(len(h.answers))) / all.variance, nil
}

// crossFit scales the answers of each part by what the other parts say.
func (h *HeldOut) crossFit() error {
	all := h.sum(-1)
	se, err := h.standardError(all, all.error/all.variance)
	if err != nil {
		return err
	}
	cs := make([]*head.Calibration, len(h.sums))
	for k := range cs {
		rest := h.sum(k)
		cs[k] = &head.Calibration{Scale: 1}
		if rest.items > 0 && rest.variance > 0 {
			cs[k].Scale = scaleOf(rest.error/rest.variance, se*math.Sqrt(float64(all.items)/float64(rest.items)))
		}
	}
	par.For(len(h.answers), func(k int) { cs[h.part[k]].Apply(h.answers[k]) })
	for _, a := range h.answers {
		if a.Err != nil {
			return a.Err
		}
	}
	return nil
}

// Spread compares networks on the same items: the variance of one of them, and that between their
// means, class by class.
type Spread struct {
	one, between []float64 // [d], summed over items
}

// Add adds what each network says of one item.
func (s *Spread) Add(answers []head.Answer) {
	d := len(answers[0].Mean)
	if s.one == nil {
		s.one, s.between = make([]float64, d), make([]float64, d)
	}
	n := float64(len(answers))
	for i := range d {
		mean, square := 0.0, 0.0
		for k := range answers {
			s.one[i] += answers[k].Variance[i] / n
			mean += answers[k].Mean[i] / n
		}
		for k := range answers {
			e := answers[k].Mean[i] - mean
			square += e * e / n
		}
		s.between[i] += square
	}
}

// apply turns the ratio of single networks into that of all of them together.
func (s *Spread) apply(c *head.Calibration) {
	v, b := 0.0, 0.0
	for i := range s.one {
		v, b = v+s.one[i], b+s.between[i]
		c.Classes[i] = (c.Classes[i]*s.one[i] - s.between[i]) / (s.one[i] + s.between[i])
	}
	c.Ratio = (c.Ratio*v - b) / (v + b)
	c.RatioSE *= v / (v + b)
}

// spread compares the networks of an ensemble on the items that they were trained on.
func (f *fitting) spread(final []*run) (*Spread, error) {
	every := (len(f.voted) + calibrationItems - 1) / calibrationItems
	var items []int
	for k := 0; k < len(f.voted); k += every {
		items = append(items, f.voted[k])
	}
	h, err := f.method.New(f.task)
	if err != nil {
		return nil, err
	}
	nets := make([]*model.Ensemble, len(final))
	for k, r := range final {
		if nets[k], err = model.NewEnsemble(f.o.Engine, []*nn.Network{r.network}); err != nil {
			return nil, err
		}
	}
	s := &Spread{}
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
			s.Add(one)
		}
		return nil
	})
	return s, err
}
