package evaluate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"credence/internal/words"
)

// Options configures [Evaluate]. The zero value is the default.
type Options struct {
	Bootstrap Bootstrap
	// Bins is the number of equal-mass bins of the calibration error and the
	// reliability diagrams; 0 means 15.
	Bins int
	// PairBins is the number of bins of agreement and dispersion; 0 means 10.
	PairBins int
	// Steps is the number of points of the abstention curve; 0 means 20.
	Steps int
	// AbstainBy is the criterion for withholding predictions: [ByTop], the default, or
	// [ByWidth].
	AbstainBy string
	// Accuracy, if positive, is the target accuracy of the predictions that are not withheld.
	Accuracy float64
	// Level is the level of the intervals whose width is reported; 0 means 0.95.
	Level float64
	// Levels are the levels at which coverage is measured; nil means 0.75, 0.8, 0.85, 0.9, 0.95.
	Levels []float64
	// LeWiDi adds the scores of the LeWiDi tasks.
	LeWiDi bool
	// PerRater compares predictions of each rater's vote with the mean.
	PerRater bool
	// Decisions adds scores of decisions on one class.
	Decisions DecisionOptions
}

func (o Options) withDefaults() (Options, error) {
	for number, value := range map[*int]int{&o.Bins: 15, &o.PairBins: 10, &o.Steps: 20} {
		if *number <= 0 {
			*number = value
		}
	}
	o.AbstainBy, o.Level = cmp.Or(o.AbstainBy, ByTop), cmp.Or(o.Level, 0.95)
	if o.Levels == nil {
		o.Levels = []float64{0.75, 0.8, 0.85, 0.9, 0.95}
	}
	if o.AbstainBy != ByTop && o.AbstainBy != ByWidth {
		return o, fmt.Errorf("abstention criterion: expected %s or %s, found %q", ByTop, ByWidth, o.AbstainBy)
	}
	if !(o.Accuracy >= 0 && o.Accuracy <= 1) {
		return o, fmt.Errorf("target accuracy: expected a number between 0 and 1, found %v", o.Accuracy)
	}
	for _, level := range slices.Concat([]float64{o.Level}, o.Levels) {
		if !(level > 0 && level < 1) {
			return o, fmt.Errorf("level: expected a number between 0 and 1, found %v", level)
		}
	}
	return o, nil
}

// fewItems is the number of voted items below which a warning is added: the
// standard error of an accuracy is then above five percentage points.
const fewItems = 100

// Evaluate computes all metrics. It returns an error if the input is inconsistent;
// metrics that cannot be computed are NaN in the result, with a warning.
func Evaluate(in Input, opt Options) (*Result, error) {
	return EvaluateContext(context.Background(), in, opt)
}

// EvaluateContext is like [Evaluate], but returns early with the context's error when ctx is canceled.
func EvaluateContext(ctx context.Context, in Input, opt Options) (r *Result, err error) {
	defer func() {
		if ctx.Err() != nil { // partial results are not meaningful
			r, err = nil, ctx.Err()
		}
	}()
	if opt, err = opt.withDefaults(); err != nil {
		return nil, err
	}
	opt.Bootstrap.ctx = ctx
	s, err := newSample(ctx, in)
	if err != nil {
		return nil, err
	}
	r = s.newResult(opt)
	if opt.Decisions.Positive != "" {
		if r.Decisions, err = s.decisions(r, opt); err != nil {
			return nil, err
		}
	}
	t := newTally(s.units)
	joint, err := s.likelihoods(t, r)
	if err != nil {
		return nil, err
	}
	tallyScores(t, s, r)
	tallyOrdered(t, s, r)
	if opt.LeWiDi {
		if err := tallyLeWiDi(t, s, r); err != nil {
			return nil, err
		}
	}
	if opt.PerRater {
		if err := tallyPerRater(t, s, r); err != nil {
			return nil, err
		}
	}
	s.calibration(t, r, opt.Bins)
	tallyClasses(t, s, r)
	if s.mixtures == nil {
		t.run(opt.Bootstrap)
		r.judgeClasses()
		r.meansAlone()
		return r, nil
	}
	if len(s.itemsWith(2)) == 0 {
		r.noPairs()
		r.Warnings.add("no item has two votes: agreement and dispersion cannot be computed")
	} else {
		tallyAgreement(t, s, r, opt.PairBins)
		if err := tallyDispersion(t, s, r, opt.PairBins); err != nil {
			return nil, err
		}
	}
	var width []float64
	width, r.AtLeast, r.Vacuous = s.widths(opt.Level)
	tallyWidths(t, s, r, width, opt.Bootstrap)
	if r.VotedItems > 0 {
		tallyAbstention(t, s, r, width, joint, opt)
	}
	if s.Truth != nil {
		tallyCoverage(t, s, r, opt.Levels)
	}
	t.run(opt.Bootstrap)
	s.pit(r, opt.Bootstrap.Seed)
	r.judge()
	return r, nil
}

// newResult returns a result with the counts of items and votes, and warns if there are few.
func (s *sample) newResult(opt Options) *Result {
	r := &Result{
		Items: s.n, VotedItems: len(s.itemsWith(anyVotes)), Votes: Number(sum(s.total)), Units: s.units,
		Replicates: opt.Bootstrap.replicates(s.units), Seed: opt.Bootstrap.Seed, Level: opt.Level,
		Warnings: Messages{},
	}
	switch {
	case r.VotedItems == 0:
		r.Warnings.add("no item has votes: only coverage can be computed")
	case r.VotedItems < fewItems:
		r.Warnings.add("only %s with votes: all numbers are imprecise", words.Plural(r.VotedItems, "item"))
	}
	if s.units < 2 {
		r.Warnings.add("fewer than two independent items or groups: there are no standard errors")
	}
	return r
}

// meansAlone marks the metrics that require distributions as unknown.
func (r *Result) meansAlone() {
	r.noPairs()
	r.PITPValue, r.PIT.PValue, r.PIT.Distance = unknown, unknown, unknown
	r.Warnings.add("predictions are probabilities without a distribution: the joint likelihood of an item's votes, agreement, dispersion, PIT, widths, abstention and coverage cannot be computed")
	r.judgeAgainst(r.LessLogistic, "logistic regression")
}

// noPairs marks the metrics that require pairs of votes as unknown.
func (r *Result) noPairs() {
	r.Agreement = Agreement{Predicted: unknown, Observed: unknown, SE: unknown}
	r.DispersionRatio, r.DispersionP = unknownInterval, unknown
}

// likelihoods adds the losses of the model and of the references, and compares
// them. It returns the joint losses of the model.
func (s *sample) likelihoods(t *tally, r *Result) (joint []float64, err error) {
	if s.mixtures != nil {
		if joint, err = s.jointLosses(); err != nil {
			return nil, err
		}
	}
	marginal := marginalLosses(s.means, s.Votes)
	var refs referenceLosses
	if s.References != nil {
		refs = s.References.losses
		for _, l := range refs {
			if l != nil && len(l) != s.n {
				return nil, fmt.Errorf("expected reference losses of %s, found %d", words.Plural(s.n, "item"), len(l))
			}
		}
	}
	if joint == nil { // there is no joint loss to compare these with
		refs[refConstantDM], refs[refLogisticDM] = nil, nil
	}
	var common []float64
	if joint != nil && r.VotedItems > 0 {
		common = s.commonLosses()
	}
	for _, l := range []struct {
		into   *Estimate
		losses []float64
	}{
		{&r.NLL, joint}, {&r.CommonNLL, common}, {&r.MarginalNLL, marginal}, {&r.FloorNLL, floorLosses(s.Votes)},
		{&r.ConstantNLL, refs[refConstant]}, {&r.ConstantDMNLL, refs[refConstantDM]},
		{&r.LogisticNLL, refs[refLogistic]}, {&r.LogisticDMNLL, refs[refLogisticDM]},
	} {
		tallyLosses(t, s, l.losses, l.into)
	}
	for _, c := range []struct {
		into          **Difference
		first, second []float64
	}{
		{&r.LessConstantDM, joint, refs[refConstantDM]},
		{&r.LessLogisticDM, joint, refs[refLogisticDM]},
		{&r.LessLogistic, marginal, refs[refLogistic]},
		{&r.LessCommon, joint, common},
	} {
		if c.first != nil && c.second != nil {
			*c.into = s.compare(t, c.first, c.second)
		}
	}
	switch {
	case s.References == nil:
		r.Warnings.add("no references were fitted during training: losses cannot be compared with them")
	case refs[refLogistic] == nil:
		r.Warnings.add("no logistic reference: the model or these items have no features that it can use")
	}
	return joint, nil
}

// commonItems is the largest number of items that the common concentration is fitted to.
const commonItems = 20_000

// commonLosses returns the losses of Dirichlet distributions with the means of the model and one concentration for all
// items, which is fitted to the same votes: an advantage of about half a nat over all of them.
func (s *sample) commonLosses() []float64 {
	var means []float64
	votes := Votes{Classes: s.d}
	for j := 0; j < s.n; j += (s.n + commonItems - 1) / commonItems {
		means, votes.Counts = append(means, s.means(j)...), append(votes.Counts, s.Votes.Item(j)...)
	}
	c := fitConcentration(means, votes)
	losses := make([]float64, s.n)
	for j := range losses {
		losses[j] = concentratedLoss(c, s.means(j), s.Votes.Item(j))
	}
	return losses
}

// calibration adds the calibration error of the predicted class and the
// reliability diagrams to r.
func (s *sample) calibration(t *tally, r *Result, bins int) {
	if r.VotedItems == 0 {
		r.ECE, r.ECEPlain = Estimate{unknown, unknown}, unknown
		return
	}
	p, hits := make([]float64, s.n), make([]float64, s.n)
	add := func(name string, class func(j int) int) calibration {
		for j := range s.n {
			c := class(j)
			p[j], hits[j] = s.means(j)[c], s.Votes.Item(j)[c]
		}
		c, of := calibrate(t, s, p, hits, bins)
		r.Reliability = append(r.Reliability, c.diagram(t, name, s, of))
		return c
	}
	top := add("", func(j int) int { return s.top[j] })
	t.estimate(&r.ECE.Value, &r.ECE.SE, func(sums []float64) float64 { e, _ := top.ece(sums); return e })
	t.estimate(&r.ECEPlain, nil, func(sums []float64) float64 { _, e := top.ece(sums); return e })
	for i, name := range s.Classes {
		add(name, func(int) int { return i })
	}
}
