package evaluate

import (
	"math"
	"slices"

	"credence/mixture"
)

// Dispersion compares the spread of the true probabilities about the predicted
// mean, estimated from pairs of votes, with the predicted variance, over a set of
// items with two votes or more.
//
// Its standard error is exact if votes follow the predicted distributions, while a
// bootstrap would depend on the few items whose votes happened to differ. If items
// come in groups, which need not be independent, it is the bootstrap error over
// groups if that is larger.
type Dispersion struct {
	// Name is the name of a class or of a level of a column, or "".
	Name     string `json:"name"`
	Items    int    `json:"items"`
	Variance Number `json:"variance"` // predicted, ΣV_i, mean over items
	Observed Number `json:"observed"` // D, mean over items
	// Ratio is ΣD/ΣV: below one if intervals are too wide, above if they are
	// too narrow or the means are wrong. Its standard error is that for a ratio of
	// one; its interval contains the ratios that are not rejected by a test under
	// distributions rescaled to that ratio.
	Ratio IntervalEstimate `json:"ratio"`
	// PValue is the p-value for a ratio of one.
	PValue Number `json:"p_value"`
}

// widestBin is the standard error of the ratio above which a bin is joined to the
// next: it could not distinguish one from zero, and if few votes differ their number
// is far from normally distributed.
const widestBin = 0.7

// pairDists are the distributions that pairs of votes are compared with, and the
// votes: of all classes, or of one class against the rest.
type pairDists struct {
	s        *sample
	dist     func(j int) *mixture.Dirichlet
	votes    func(j int) []float64
	variance func(j int) float64 // predicted
	trace    float64             // factor of D and V of the distribution

	shown, noise []float64 // [n] D of each item, and its variance under the distribution
}

// allClasses returns the distributions of the predictions.
func (s *sample) allClasses() (*pairDists, error) {
	p := &pairDists{s: s, dist: func(j int) *mixture.Dirichlet { return s.mixtures[j] }, votes: s.Votes.Item,
		variance: func(j int) float64 { return sum(s.variances(j)) }, trace: 1}
	return p, p.compute()
}

// oneClass returns those of class i against the rest, which count its variance twice.
func (s *sample) oneClass(i int) (*pairDists, error) {
	dist := func(j int) *mixture.Dirichlet {
		f := s.mixtures[j].Marginal(i)
		weights, alpha := make([]float64, f.K()), make([][]float64, f.K())
		for k := range weights {
			w, a, b := f.Component(k)
			weights[k], alpha[k] = w, []float64{a, b}
		}
		dist, err := mixture.NewDirichlet(weights, alpha)
		if err != nil { // a marginal is always a valid distribution
			panic(err)
		}
		return dist
	}
	votes := func(j int) []float64 { return []float64{s.Votes.Item(j)[i], s.total[j] - s.Votes.Item(j)[i]} }
	p := &pairDists{s: s, dist: dist, votes: votes, variance: func(j int) float64 { return s.variances(j)[i] }, trace: 0.5}
	return p, p.compute()
}

// compute sets D and its variance for every item with two votes or more.
func (p *pairDists) compute() error {
	n := p.s.n
	p.shown, p.noise = make([]float64, n), make([]float64, n)
	return tryItems(p.s.ctx, n, func(j int) (err error) {
		if m := p.s.total[j]; m >= 2 {
			dist := p.dist(j)
			p.shown[j], err = dist.PairError(p.votes(j))
			p.noise[j] = dist.PairVariance(m)
		}
		return err
	})
}

// sums returns ΣD and ΣV over some items, and the variance of the former.
func (p *pairDists) sums(items []int) (shown, variance, noise float64) {
	for _, j := range items {
		shown += p.trace * p.shown[j]
		variance += p.variance(j)
		noise += p.trace * p.trace * p.noise[j]
	}
	return shown, variance, noise
}

// rescaledItems is the number of items that are rescaled to find how the error of a
// ratio depends on the ratio. If there are more, every second, third and so on is used;
// the ratio and its error under the unscaled distributions use all items.
const rescaledItems = 500

// measure compares the distributions of some items with their votes.
func (p *pairDists) measure(items []int) (*mixture.Dispersion, error) {
	step := (len(items) + rescaledItems - 1) / rescaledItems
	var dists []*mixture.Dirichlet
	for i := 0; i < len(items); i += step {
		dists = append(dists, p.dist(items[i]))
	}
	d, err := mixture.NewDispersion(dists, func(i int) []float64 { return p.votes(items[i*step]) })
	if err != nil || step == 1 {
		return d, err
	}
	return p.like(d, items), nil
}

// like returns the ratio over items. Its error depends on the ratio as that of d, up to a factor, and is exact
// under the unscaled distributions.
func (p *pairDists) like(d *mixture.Dispersion, items []int) *mixture.Dispersion {
	shown, variance, noise := p.sums(items)
	d = d.Inflate(math.Sqrt(noise) / variance / d.NullSE)
	d.Items, d.Ratio = len(items), shown/variance
	d.SE = d.StdErrAt(d.Ratio)
	return d
}

// add arranges for into to be filled with the ratio over items, which have two votes or more, when t
// is run. It returns the model of the ratio, which is final only then, too.
func (p *pairDists) add(t *tally, into *Dispersion, items []int) (*mixture.Dispersion, error) {
	model, err := p.measure(items)
	if err != nil {
		return nil, err
	}
	boot := unknown // the standard error over groups
	into.Items = len(items)
	for _, j := range items {
		into.Variance += Number(p.variance(j) / float64(len(items)))
	}
	into.Observed = into.Variance * Number(model.Ratio)
	if p.s.units < p.s.n && len(items) > 1 {
		t.estimate(new(Number), &boot, p.s.ratio(t, items, func(j int) (spread, variance float64) {
			return p.trace * p.shown[j], p.variance(j)
		}))
	}
	t.then(func() { into.infer(model, float64(boot)) })
	return model, nil
}

// infer sets the ratio and its p-value. boot is the standard error over groups; model is inflated to
// it if it is larger.
func (x *Dispersion) infer(model *mixture.Dispersion, boot float64) {
	if boot > model.SE {
		*model = *model.Inflate(boot / model.SE)
	}
	se := model.NullSE
	if boot > se {
		se = boot
	}
	ci := model.Interval(0.95)
	x.Ratio = IntervalEstimate{Estimate{Number(model.Ratio), Number(se)}, Number(ci.Lo), Number(ci.Hi)}
	x.PValue = Number(twoSidedNormal((model.Ratio - 1) / se))
}

// tallyDispersion adds the ratio over all items, in bins of predicted variance,
// by the levels of columns, by stratum and for every class.
func tallyDispersion(t *tally, s *sample, r *Result, bins int) error {
	pairs, err := s.allClasses()
	if err != nil {
		return err
	}
	all, paired := &Dispersion{}, s.itemsWith(2)
	model, err := pairs.add(t, all, paired)
	if err != nil {
		return err
	}
	if err := pairs.strata(r, model, paired); err != nil {
		return err
	}
	t.then(func() { r.DispersionRatio, r.DispersionP = all.Ratio, all.PValue })
	groups := pairs.bins(s.spreads(), paired, bins)
	r.DispersionBins = make([]Dispersion, len(groups))
	for b, items := range groups {
		if _, err := pairs.add(t, &r.DispersionBins[b], items); err != nil {
			return err
		}
	}
	if err := pairs.addColumns(t, r, all); err != nil {
		return err
	}
	if s.d == 2 { // both classes have the ratio of the whole
		return nil
	}
	r.DispersionClasses = make([]Dispersion, s.d)
	for i, name := range s.Classes {
		r.DispersionClasses[i].Name = name
		one, err := s.oneClass(i)
		if err != nil {
			return err
		}
		if _, err := one.add(t, &r.DispersionClasses[i], paired); err != nil {
			return err
		}
	}
	return nil
}

// spreads returns the predicted spread of every item, Σ_i Var p_i.
func (s *sample) spreads() []float64 {
	list := make([]float64, s.n)
	for j := range list {
		list[j] = sum(s.variances(j))
	}
	return list
}

// bins divides items by value into at most n bins of about equal size, in order
// of value, and joins bins that are too small to be informative; see widestBin.
func (p *pairDists) bins(value []float64, items []int, n int) [][]int {
	var bins [][]int
	for _, more := range equalBins(value, items, n) {
		if k := len(bins) - 1; k >= 0 && p.vague(bins[k]) {
			bins[k] = append(bins[k], more...)
		} else {
			bins = append(bins, more)
		}
	}
	if k := len(bins) - 1; k > 0 && p.vague(bins[k]) {
		bins = append(bins[:k-1], append(bins[k-1], bins[k]...))
	}
	return bins
}

// vague reports whether the ratio over items is too uncertain; see widestBin.
func (p *pairDists) vague(items []int) bool {
	_, variance, noise := p.sums(items)
	return !(noise <= widestBin*widestBin*variance*variance)
}

// equalBins divides items into at most n bins of about equal size by the values of all items.
func equalBins(value []float64, items []int, n int) [][]int {
	values := make([]float64, len(items))
	for i, j := range items {
		values[i] = value[j]
	}
	of, n := equalMass(values, slices.Repeat([]float64{1}, len(items)), n)
	fine := make([][]int, n)
	for i, b := range of {
		fine[b] = append(fine[b], items[i])
	}
	return fine
}
