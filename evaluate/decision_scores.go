package evaluate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/internal/special"
)

// decisions computes the scores of decisions.
func (s *sample) decisions(r *Result, opt Options) (*Decisions, error) {
	o, err := opt.Decisions.complete(s.Classes)
	if err != nil {
		return nil, err
	}
	if o.Reference == ReferenceGold && len(s.Gold) != s.n {
		return nil, fmt.Errorf("expected gold labels of %d items, found %d", s.n, len(s.Gold))
	}
	positive := slices.Index(s.Classes, o.Positive)
	ref := s.references(o.Reference)
	items := slices.DeleteFunc(s.itemsWith(0), func(j int) bool { return ref(j) == nil })
	if len(items) == 0 {
		return nil, errors.New("decisions: no item has a reference")
	}
	d := &Decisions{Positive: o.Positive, Reference: o.Reference, Column: o.Column, Classes: s.Classes}
	all := s.decided(items)
	for i, j := range items {
		all.score[i], all.ref[i] = s.means(j)[positive], ref(j)[positive]
	}
	d.DecisionSummary = all.summary(o.Thresholds)
	all.curves(opt.Bootstrap, d)
	d.Smooth = all.smooth()
	d.Benefit = all.benefits()
	d.Confusion = s.confusion(items, ref)
	if d.By, err = s.decisionsBy(items, all, o); err != nil {
		return nil, err
	}
	if d.Comparisons, err = s.comparisons(r, o, ref); err != nil {
		return nil, err
	}
	s.warnDecisions(r, d, all)
	return d, s.ctx.Err()
}

// references returns the function that gives the reference of an item, a share per class, nil if it has none.
func (s *sample) references(kind string) func(j int) []float64 {
	all := make([][]float64, s.n)
	for j := range all {
		switch {
		case kind == ReferenceGold && s.Gold[j] >= 0 && s.Gold[j] < s.d:
			all[j] = make([]float64, s.d)
			all[j][s.Gold[j]] = 1
		case kind != ReferenceGold && s.total[j] > 0:
			all[j] = referenceOf(kind, s.Votes.Item(j))
		}
	}
	return func(j int) []float64 { return all[j] }
}

// referenceOf returns the reference that votes give, a share per class: by vote or by majority.
func referenceOf(kind string, votes []float64) []float64 {
	y, total := make([]float64, len(votes)), sum(votes)
	for c, v := range votes {
		if kind == ReferenceMajority {
			y[c] = MajorityCredit(c, votes)
		} else {
			y[c] = v / total
		}
	}
	return y
}

// decided returns the given items, with units numbered among them. The caller sets scores and references.
func (s *sample) decided(items []int) *decided {
	d := &decided{score: make([]float64, len(items)), ref: make([]float64, len(items))}
	groups := make([]int, len(items))
	for i, j := range items {
		groups[i] = s.unit[j]
	}
	d.unit, d.units, _ = unitsOf(len(items), groups)
	return d
}

// summary returns the scores of the items.
func (d *decided) summary(thresholds []float64) DecisionSummary {
	r := DecisionSummary{Items: len(d.ref), Units: d.units, AUC: d.share(d.auc()),
		Prevalence: d.share(d.ratio(func(j int) (float64, float64) { return d.ref[j], 1 })),
		OE:         d.positive(d.observedExpected())}
	for _, t := range thresholds {
		r.Thresholds = append(r.Thresholds, d.threshold(t))
	}
	large, _ := d.recalibrate(false)
	joint, slope := d.recalibrate(true)
	r.Intercept, r.JointIntercept, r.Slope = d.plain(large), d.plain(joint), d.plain(slope)
	return r
}

// confusion returns the numbers of items by predicted class and reference.
func (s *sample) confusion(items []int, ref func(j int) []float64) [][]Number {
	c := make([][]Number, s.d)
	for i := range c {
		c[i] = make([]Number, s.d)
	}
	for _, j := range items {
		for k, y := range ref(j) {
			c[s.top[j]][k] += Number(y)
		}
	}
	return c
}

// fewPositives is the number of items of a class below which intervals are not reliable.
const fewPositives = 10

func (s *sample) warnDecisions(r *Result, d *Decisions, all *decided) {
	positives := 0.0
	extreme := 0
	for j, y := range all.ref {
		positives += y
		if p := all.score[j]; p == 0 || p == 1 {
			extreme++
		}
	}
	if rare := min(positives, float64(len(all.ref))-positives); rare < fewPositives {
		r.Warnings.add("decisions on %s: only %.3g items are positive or negative by the reference, too few for reliable intervals", d.Positive, rare)
	}
	if extreme > 0 {
		r.Warnings.add("%d items are predicted at exactly 0 or 1: they have no logit and are left out of the calibration intercept and slope", extreme)
	}
	if !d.Slope.Value.Known() {
		r.Warnings.add("the calibration slope cannot be computed: predictions are all equal, or separate positive from negative items")
	}
}

// decisionsBy returns the scores by the levels of columns; items are those of all.
func (s *sample) decisionsBy(items []int, all *decided, o DecisionOptions) (list []DecisionColumn, err error) {
	for _, c := range s.Columns {
		if c.Values == nil { // the predicted spread
			continue
		}
		levels, err := s.levels(c, items, equalBins)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		place := make(map[int]int, len(items))
		for i, j := range items {
			place[j] = i
		}
		x := DecisionColumn{Column: c.Name}
		for _, l := range levels {
			part := s.decided(l.items)
			for i, j := range l.items {
				part.score[i], part.ref[i] = all.score[place[j]], all.ref[place[j]]
			}
			x.Levels = append(x.Levels, DecisionLevel{l.name, part.summary(o.Thresholds)})
		}
		x.compare(o.Thresholds)
		list = append(list, x)
	}
	return list, nil
}

// transform is a scale on which the errors of a score are about normal.
type transform struct {
	name     string
	to, from func(x float64) float64
	slope    func(x float64) float64 // of to
}

var (
	identity = transform{"identity", func(x float64) float64 { return x }, func(x float64) float64 { return x }, func(float64) float64 { return 1 }}
	logs     = transform{"log", math.Log, math.Exp, func(x float64) float64 { return 1 / x }}
	logits   = transform{"logit", func(x float64) float64 { return math.Log(x / (1 - x)) }, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		func(x float64) float64 { return 1 / (x * (1 - x)) }}
)

// compare fits the random-effects models of the scores.
func (c *DecisionColumn) compare(thresholds []float64) {
	add := func(score string, threshold Number, scale transform, of func(l *DecisionSummary) IntervalEstimate) {
		var y, v []float64
		for i := range c.Levels {
			e := of(&c.Levels[i].DecisionSummary)
			x, se := scale.to(float64(e.Value)), float64(e.SE)*scale.slope(float64(e.Value))
			if se > 0 && !math.IsInf(se, 0) && !math.IsInf(x, 0) && !math.IsNaN(x) {
				y, v = append(y, x), append(v, se*se)
			}
		}
		h := Heterogeneity{Score: score, Threshold: threshold, Scale: scale.name, Levels: len(y), Common: unknownInterval, Tau: unknown, I2: unknown, PValue: unknown}
		if len(y) > 0 {
			m := special.DerSimonianLaird(y, v)
			se, mean := math.Sqrt(m.Variance), scale.from(m.Mean)
			h.Common = IntervalEstimate{Estimate{Number(mean), Number(se / scale.slope(mean))},
				Number(scale.from(m.Mean - normal975*se)), Number(scale.from(m.Mean + normal975*se))}
			if k := float64(len(y)); k > 1 {
				h.Tau, h.PValue, h.I2 = Number(math.Sqrt(m.Tau2)), Number(m.P), Number(max(0, (m.Q-(k-1))/m.Q))
			}
		}
		c.Heterogeneity = append(c.Heterogeneity, h)
	}
	add("auc", unknown, logits, func(l *DecisionSummary) IntervalEstimate { return l.AUC })
	add("calibration_intercept", unknown, identity, func(l *DecisionSummary) IntervalEstimate { return l.Intercept })
	add("calibration_slope", unknown, identity, func(l *DecisionSummary) IntervalEstimate { return l.Slope })
	add("observed_expected", unknown, logs, func(l *DecisionSummary) IntervalEstimate { return l.OE })
	for i, t := range thresholds {
		at := func(score string, scale transform, of func(t *DecisionThreshold) IntervalEstimate) {
			add(score, Number(t), scale, func(l *DecisionSummary) IntervalEstimate { return of(&l.Thresholds[i]) })
		}
		at("sensitivity", logits, func(t *DecisionThreshold) IntervalEstimate { return t.Sensitivity })
		at("specificity", logits, func(t *DecisionThreshold) IntervalEstimate { return t.Specificity })
		at("ppv", logits, func(t *DecisionThreshold) IntervalEstimate { return t.PPV })
		at("npv", logits, func(t *DecisionThreshold) IntervalEstimate { return t.NPV })
		at("net_benefit", identity, func(t *DecisionThreshold) IntervalEstimate { return t.NetBenefit })
	}
}
