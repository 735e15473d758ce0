package evaluate

import (
	"errors"
	"fmt"

	"credence/mixture"
)

// Input is a set of predictions and what is known about the items: N items of d
// classes. Mixtures, or else Means, and Votes are needed, the rest may be left
// nil.
type Input struct {
	Mixtures []*mixture.Dirichlet // [N]
	// Means [N × d] are the class probabilities where the predictions are no
	// distributions. What judges a distribution is then unknown.
	Means   []float64
	Votes   Votes    // [N × d]
	Classes []string // names, [d]; "0", "1", … if nil
	// Groups are drawn as wholes by the bootstrap, [N]; nil makes every item its
	// own group.
	Groups []int
	// References are those fitted at training, and Features, [N × f], what the
	// logistic one needs.
	References *References
	// ReferenceLosses are taken instead, where references were fitted without
	// the items they are scored on, fold by fold.
	ReferenceLosses *ReferenceLosses
	Features        *Features
	// Resolution is the rule to apply to intervals. Tails that it found
	// overconfident in training are among the warnings of the result.
	Resolution *Resolution
	// Truth are the true probabilities, known in simulations, [N × d]. A
	// probability close to one is taken to be one less the sum of the others.
	Truth []float64
}

// Options says how to evaluate. The zero value is the default.
type Options struct {
	Bootstrap Bootstrap
	// Bins is the number of equal-mass bins of the calibration error and the
	// reliability diagrams; 0 means 15.
	Bins int
	// PairBins is that of agreement and dispersion; 0 means 10.
	PairBins int
	// Steps is the number of points of the abstention curve; 0 means 20.
	Steps int
	// Level is that of the intervals whose width is reported; 0 means 0.95.
	Level float64
	// Levels are those of the coverage; nil means 0.75, 0.8, 0.85, 0.9, 0.95.
	Levels []float64
}

func (o Options) withDefaults() (Options, error) {
	for _, d := range []struct {
		v     *int
		value int
	}{{&o.Bins, 15}, {&o.PairBins, 10}, {&o.Steps, 20}} {
		if *d.v <= 0 {
			*d.v = d.value
		}
	}
	if o.Level == 0 {
		o.Level = 0.95
	}
	if !(o.Level > 0 && o.Level < 1) {
		return o, fmt.Errorf("level is %v: it lies between 0 and 1", o.Level)
	}
	if o.Levels == nil {
		o.Levels = []float64{0.75, 0.8, 0.85, 0.9, 0.95}
	}
	return o, nil
}

// fewItems is below how many voted items a warning is given: the standard error
// of an accuracy is then above five points.
const fewItems = 100

// Evaluate computes everything. It fails on input that does not fit together;
// what merely cannot be computed is NaN in the result, with a warning.
func Evaluate(in Input, opt Options) (*Result, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := newSample(&in)
	if err != nil {
		return nil, err
	}
	if s.n == 0 {
		return nil, errors.New("no items to evaluate")
	}
	if in.Resolution != nil {
		if err := in.Resolution.Check(s.d); err != nil {
			return nil, err
		}
	}
	r := &Result{
		Items: s.n, Votes: Number(sum(s.total)), Units: s.units,
		Replicates: opt.Bootstrap.replicates(s.units), Seed: opt.Bootstrap.Seed, Level: opt.Level,
		Warnings: []string{},
	}
	for _, m := range s.total {
		if m > 0 {
			r.VotedItems++
		}
	}
	switch {
	case r.VotedItems == 0:
		r.warn("no item has votes: nothing but coverage can be computed")
	case r.VotedItems == 1:
		r.warn("only one item has votes: every number is rough")
	case r.VotedItems < fewItems:
		r.warn("only %d items have votes: every number is rough", r.VotedItems)
	}
	if s.units < 2 {
		r.warn("fewer than two independent items or groups: there are no standard errors")
	}

	t := newTally(s.units)
	joint, err := s.likelihoods(t, r, &in, opt.Bootstrap)
	if err != nil {
		return nil, err
	}
	tallyScores(t, s, r)
	if s.mixtures == nil {
		return s.meansAlone(t, r, opt)
	}
	tallyPairs(t, s, r, opt.PairBins)
	width, touched := s.widths(opt.Level, in.Resolution)
	for _, b := range touched {
		if b {
			r.BelowResolution++
		}
	}
	tallyWidths(t, s, r, width, opt.Bootstrap)
	if in.Resolution != nil {
		tallyResolution(t, s, r, joint, touched)
	}
	if r.VotedItems > 0 {
		s.calibration(t, r, opt.Bins)
		tallyAbstention(t, s, r, width, opt.Steps)
	} else {
		r.ECE, r.ECESE, r.ECEPlain = unknown, unknown, unknown
	}
	var c *coverages
	if in.Truth != nil {
		if c, err = tallyCoverage(t, s, in.Truth, opt.Levels, in.Resolution); err != nil {
			return nil, err
		}
	}
	t.run(opt.Bootstrap)
	r.reliabilityIntervals()
	if c != nil {
		for _, x := range c.all {
			r.Coverage = append(r.Coverage, *x)
		}
		for _, x := range c.strata {
			r.CoverageStrata = append(r.CoverageStrata, *x)
		}
	}
	s.pit(r, opt.Bootstrap.Seed)
	r.judge()
	if in.Resolution != nil {
		r.Warnings = append(r.Warnings, in.Resolution.Warnings(s.names)...)
	}
	return r, nil
}

// meansAlone ends the evaluation of predictions that are no distributions.
func (s *sample) meansAlone(t *tally, r *Result, opt Options) (*Result, error) {
	if r.VotedItems > 0 {
		s.calibration(t, r, opt.Bins)
	} else {
		r.ECE, r.ECESE, r.ECEPlain = unknown, unknown, unknown
	}
	t.run(opt.Bootstrap)
	r.reliabilityIntervals()
	r.Agreement = Agreement{Predicted: unknown, Observed: unknown, SE: unknown}
	r.DispersionRatio, r.DispersionRatioSE = unknown, unknown
	r.PITPValue, r.PIT.PValue, r.PIT.Distance = unknown, unknown, unknown
	r.warn("the predictions are probabilities without a distribution: the likelihood of an item's votes together, agreement, dispersion, PIT, widths, abstention and coverage cannot be computed")
	if d := r.LessLogistic; d != nil && d.Value.Known() && !(d.Hi < 0) {
		r.warn("no better than logistic regression: %.3f nats a vote, 95%% interval %.3f to %.3f", d.Value, d.Lo, d.Hi)
	}
	return r, nil
}

// reliabilityIntervals gives the bins of the reliability diagrams their
// intervals.
func (r *Result) reliabilityIntervals() {
	for _, d := range r.Reliability {
		for b := range d.Bins {
			d.Bins[b].interval()
		}
	}
}

// likelihoods adds the losses of the model and of the references, and compares
// them. It returns the joint losses of the model.
func (s *sample) likelihoods(t *tally, r *Result, in *Input, b Bootstrap) (joint []float64, err error) {
	if s.mixtures != nil {
		if joint, err = JointLosses(s.mixtures, s.votes); err != nil {
			return nil, err
		}
	}
	marginal := MarginalLosses(s.mean, s.votes)
	var refs ReferenceLosses
	switch {
	case in.ReferenceLosses != nil:
		refs = *in.ReferenceLosses
		for _, l := range [][]float64{refs.Constant, refs.ConstantDirichlet, refs.Logistic, refs.LogisticDirichlet} {
			if l != nil && len(l) != s.n {
				return nil, fmt.Errorf("reference losses of %d items, but there are %d", len(l), s.n)
			}
		}
	case in.References != nil:
		if refs, err = in.References.Losses(in.Features, s.votes); err != nil {
			return nil, fmt.Errorf("references: %w", err)
		}
	}
	if joint == nil { // these would have nothing beside them
		refs.ConstantDirichlet, refs.LogisticDirichlet = nil, nil
	}
	tallyLosses(t, s, joint, &r.NLL, &r.NLLSE)
	tallyLosses(t, s, marginal, &r.MarginalNLL, &r.MarginalNLLSE)
	tallyLosses(t, s, refs.Constant, &r.ConstantNLL, &r.ConstantNLLSE)
	tallyLosses(t, s, refs.ConstantDirichlet, &r.ConstantDMNLL, &r.ConstantDMNLLSE)
	tallyLosses(t, s, refs.Logistic, &r.LogisticNLL, &r.LogisticNLLSE)
	tallyLosses(t, s, refs.LogisticDirichlet, &r.LogisticDMNLL, &r.LogisticDMNLLSE)
	tallyLosses(t, s, FloorLosses(s.votes), &r.FloorNLL, &r.FloorNLLSE)
	for _, c := range []struct {
		into          **Difference
		first, second []float64
	}{
		{&r.LessConstantDM, joint, refs.ConstantDirichlet},
		{&r.LessLogisticDM, joint, refs.LogisticDirichlet},
		{&r.LessLogistic, marginal, refs.Logistic},
	} {
		if c.first == nil || c.second == nil {
			continue
		}
		d, err := ComparePaired(c.first, c.second, s.total, in.Groups, b)
		if err != nil {
			return nil, err
		}
		*c.into = &d
	}
	switch {
	case in.References == nil && in.ReferenceLosses == nil:
		r.warn("no references were fitted at training: there is nothing to compare the losses with")
	case refs.Logistic == nil:
		r.warn("no logistic reference: the model or these items have no features it could use")
	}
	return joint, nil
}

// calibration adds the calibration error of the predicted class and the
// reliability diagrams.
func (s *sample) calibration(t *tally, r *Result, bins int) {
	p, hits := make([]float64, s.n), make([]float64, s.n)
	add := func(name string, class func(j int) int) calibration {
		for j := range s.n {
			c := class(j)
			p[j], hits[j] = s.means(j)[c], s.votes.Item(j)[c]
		}
		c, of := calibrate(t, s, p, hits, bins)
		r.Reliability = append(r.Reliability, c.diagram(t, name, s, of))
		return c
	}
	top := add("", func(j int) int { return s.top[j] })
	t.estimate(&r.ECE, &r.ECESE, func(sums []float64) float64 { e, _ := top.ece(sums); return e })
	t.estimate(&r.ECEPlain, nil, func(sums []float64) float64 { _, e := top.ece(sums); return e })
	for i, name := range s.names {
		add(name, func(int) int { return i })
	}
}
