package evaluate

import (
	"math"
	"slices"

	"credence/mixture"
)

// Dispersion compares the spread of the true probabilities about the predicted
// mean, as pairs of votes show it, with the predicted variance, over some items
// with two votes or more.
//
// Its error is that of the model: how far chance moves the ratio if votes follow
// the predicted laws, exactly, where a bootstrap sees only the few items whose
// votes happened to differ. Where items come in groups, which need not be
// independent, it is the bootstrap error over groups if that is larger.
type Dispersion struct {
	// Name is that of a class, or of a level of a column; "" where there is none.
	Name     string `json:"name"`
	Items    int    `json:"items"`
	Variance Number `json:"variance"` // predicted, ΣV_i, mean over items
	Observed Number `json:"observed"` // D, mean over items
	// Ratio is ΣD/ΣV: below one if intervals are too wide, above if they are
	// too narrow or the means are wrong. Its standard error is that if the ratio is
	// one; its interval has the ratios that a test under laws as much wider or
	// narrower does not reject.
	Ratio IntervalEstimate `json:"ratio"`
	// PValue is that of the ratio being one.
	PValue Number `json:"p_value"`
}

// widestBin is the standard error of the ratio above which a bin is joined to the
// next: it could not tell one from zero, and where few votes differ so few are
// expected that their number is far from normal.
const widestBin = 0.7

// pairDists are laws that pairs of votes are judged against, and the votes: of all
// classes, or of one and the rest.
type pairDists struct {
	s        *sample
	dist     func(j int) *mixture.Dirichlet
	votes    func(j int) []float64
	variance func(j int) float64 // predicted
	trace    float64             // what numbers of the law are multiplied by

	shown, noise []float64 // [n]: D of the law, and its variance under it
}

// allClasses returns the laws of the answers.
func (s *sample) allClasses() (*pairDists, error) {
	p := &pairDists{s: s, dist: func(j int) *mixture.Dirichlet { return s.mixtures[j] }, votes: s.votes.Item,
		variance: func(j int) float64 { return sum(s.variances(j)) }, trace: 1}
	return p, p.look()
}

// oneClass returns those of class i and the rest, which count its variance twice.
func (s *sample) oneClass(i int) (*pairDists, error) {
	law := func(j int) *mixture.Dirichlet {
		f := s.mixtures[j].Marginal(i)
		weights, alpha := make([]float64, f.K()), make([][]float64, f.K())
		for k := range weights {
			w, a, b := f.Component(k)
			weights[k], alpha[k] = w, []float64{a, b}
		}
		law, err := mixture.NewDirichlet(weights, alpha)
		if err != nil { // the marginals of a law are laws
			panic(err)
		}
		return law
	}
	votes := func(j int) []float64 { return []float64{s.votes.Item(j)[i], s.total[j] - s.votes.Item(j)[i]} }
	p := &pairDists{s: s, dist: law, votes: votes, variance: func(j int) float64 { return s.variances(j)[i] }, trace: 0.5}
	return p, p.look()
}

// look computes what every item with two votes or more shows.
func (p *pairDists) look() error {
	n := p.s.n
	p.shown, p.noise = make([]float64, n), make([]float64, n)
	return tryItems(p.s.ctx, n, func(j int) (err error) {
		if m := p.s.total[j]; m >= 2 {
			law := p.dist(j)
			p.shown[j], err = law.PairError(p.votes(j))
			p.noise[j] = law.PairVariance(m)
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

// rescaledItems is how many items are rescaled to find how the error of a ratio
// depends on the ratio. Of more, every second, third and so on is taken; ratio and
// error under the laws as they are come from all.
const rescaledItems = 500

// measure compares the laws of some items with their votes.
func (p *pairDists) measure(items []int) (*mixture.Dispersion, error) {
	step := (len(items) + rescaledItems - 1) / rescaledItems
	var laws []*mixture.Dirichlet
	for i := 0; i < len(items); i += step {
		laws = append(laws, p.dist(items[i]))
	}
	d, err := mixture.NewDispersion(laws, func(i int) []float64 { return p.votes(items[i*step]) })
	if err != nil || step == 1 {
		return d, err
	}
	shown, variance, noise := p.sums(items)
	d = d.Inflate(math.Sqrt(noise) / variance / d.NullSE)
	d.Items, d.Ratio = len(items), shown/variance
	d.SE = d.StdErrAt(d.Ratio)
	return d, nil
}

// add has into filled with the ratio over some items with two votes or more when t is run. It
// returns what the ratio is compared by, which is then final, too.
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
		spread, variance := t.column(1), t.column(1)
		for _, j := range items {
			t.add(p.s.unit[j], spread, p.trace*p.shown[j])
			t.add(p.s.unit[j], variance, p.variance(j))
		}
		var ratio Number
		t.ratio(&ratio, &boot, spread, variance)
	}
	t.then(func() { into.infer(model, float64(boot)) })
	return model, nil
}

// infer sets the ratio and its p-value, given the standard error over groups, by which model is
// widened if that is larger.
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
// for every class and by the levels of columns.
func tallyDispersion(t *tally, s *sample, r *Result, bins int, columns []Column) error {
	pairs, err := s.allClasses()
	if err != nil {
		return err
	}
	all, paired := &Dispersion{}, s.pairedItems()
	if _, err := pairs.add(t, all, paired); err != nil {
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
	if err := pairs.addColumns(t, r, all, columns); err != nil {
		return err
	}
	if s.d == 2 { // both classes have the ratio of the whole
		return nil
	}
	r.DispersionClasses = make([]Dispersion, s.d)
	for i, name := range s.names {
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

// pairedItems returns the items with two votes or more.
func (s *sample) pairedItems() []int {
	var items []int
	for j, m := range s.total {
		if m >= 2 {
			items = append(items, j)
		}
	}
	return items
}

// bins sorts items into at most n bins of about equally many by a value, in its
// order, and joins those that are too small to tell anything; see widestBin.
func (p *pairDists) bins(value []float64, items []int, n int) [][]int {
	values := make([]float64, len(items))
	for i, j := range items {
		values[i] = value[j]
	}
	of, n := equalMass(values, slices.Repeat([]float64{1}, len(items)), n)
	fine := make([][]int, n)
	for i, b := range of {
		fine[b] = append(fine[b], items[i])
	}
	var bins [][]int
	for _, more := range fine {
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

// vague reports whether items tell too little of the ratio.
func (p *pairDists) vague(items []int) bool {
	_, variance, noise := p.sums(items)
	return !(noise <= widestBin*widestBin*variance*variance)
}
