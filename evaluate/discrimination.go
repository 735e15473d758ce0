package evaluate

import (
	"cmp"
	"math"
	"slices"
)

// auc returns the probability that a positive opinion on one item and a negative one on another are ranked correctly,
//
//	A = N/D,  N = Σ_{i≠j} y_i (1−y_j) k(s_i, s_j),  D = Σ_{i≠j} y_i (1−y_j),
//
// with k = 1 for s_i > s_j and ½ for ties, in O(n log n). Item i contributes to N as a positive and as a negative,
//
//	ψ_i = [y_i (a_i − A (Q − q_i)) + q_i (b_i − A (P − y_i))] / D,
//
// with q = 1 − y, P = Σy, Q = Σq, a_i = Σ_{j≠i} q_j k(s_i, s_j) and b_i = Σ_{j≠i} y_j k(s_j, s_i). Each of the two
// terms is scaled by its own number of units; if all y are 0 or 1 and units are items, the variance is that of
// DeLong, DeLong and Clarke-Pearson (1988).
func (d *decided) auc() influence {
	n := len(d.ref)
	order := ascending(d.score)
	p, q, own := 0.0, 0.0, 0.0
	for _, y := range d.ref {
		p += y
		q += 1 - y
		own += y * (1 - y)
	}
	pairs := p*q - own
	if !(pairs > 1e-12*float64(n)) {
		return unknownInfluence
	}
	// Below the items with equal scores lie negatives Σq and positives Σy.
	a, b := make([]float64, n), make([]float64, n)
	total, belowP, belowQ := 0.0, 0.0, 0.0
	for i := 0; i < n; {
		k, tiedP, tiedQ := i, 0.0, 0.0
		for ; k < n && d.score[order[k]] == d.score[order[i]]; k++ {
			tiedP += d.ref[order[k]]
			tiedQ += 1 - d.ref[order[k]]
		}
		for ; i < k; i++ {
			j := order[i]
			y := d.ref[j]
			a[j] = belowQ + (tiedQ-(1-y))/2
			b[j] = p - belowP - tiedP + (tiedP-y)/2
			total += y * a[j]
		}
		belowP += tiedP
		belowQ += tiedQ
	}
	e := influence{value: total / pairs, psi: make([]float64, n)}
	sizeP := d.size(func(j int) float64 { return d.ref[j] })
	sizeQ := d.size(func(j int) float64 { return 1 - d.ref[j] })
	e.size = min(sizeP, sizeQ)
	scaleP, scaleQ := unbiased(sizeP)/pairs, unbiased(sizeQ)/pairs
	for j, y := range d.ref {
		z := 1 - y
		e.psi[j] = scaleP*y*(a[j]-e.value*(q-z)) + scaleQ*z*(b[j]-e.value*(p-y))
	}
	return e
}

// at returns the scores of deciding for the positive class from a threshold on.
func (d *decided) at(threshold float64) thresholdInfluence {
	positive := func(j int) float64 {
		if d.score[j] >= threshold {
			return 1
		}
		return 0
	}
	return thresholdInfluence{
		sensitivity: d.ratio(func(j int) (float64, float64) { return d.ref[j] * positive(j), d.ref[j] }),
		specificity: d.ratio(func(j int) (float64, float64) { return (1 - d.ref[j]) * (1 - positive(j)), 1 - d.ref[j] }),
		ppv:         d.ratio(func(j int) (float64, float64) { return d.ref[j] * positive(j), positive(j) }),
		npv:         d.ratio(func(j int) (float64, float64) { return (1 - d.ref[j]) * (1 - positive(j)), 1 - positive(j) }),
		netBenefit:  d.netBenefit(threshold),
	}
}

// netBenefit returns the mean of [s ≥ t] (y − (1−y) t/(1−t)) (Vickers and Elkin 2006).
func (d *decided) netBenefit(threshold float64) influence {
	odds := threshold / (1 - threshold)
	return d.ratio(func(j int) (float64, float64) {
		if d.score[j] < threshold {
			return 0, 1
		}
		return d.ref[j] - (1-d.ref[j])*odds, 1
	})
}

// thresholdInfluence are the scores at a threshold.
type thresholdInfluence struct{ sensitivity, specificity, ppv, npv, netBenefit influence }

// threshold returns the scores at a threshold with their intervals.
func (d *decided) threshold(threshold float64) DecisionThreshold {
	x := d.at(threshold)
	r := DecisionThreshold{Threshold: threshold, Sensitivity: d.share(x.sensitivity), Specificity: d.share(x.specificity),
		PPV: d.share(x.ppv), NPV: d.share(x.npv), NetBenefit: d.plain(x.netBenefit)}
	for j, y := range d.ref {
		if d.score[j] >= threshold {
			r.TP += Number(y)
			r.FP += Number(1 - y)
		} else {
			r.FN += Number(y)
			r.TN += Number(1 - y)
		}
	}
	one := influence{value: 1, psi: make([]float64, len(d.ref)), size: math.Inf(1)}
	r.LRPositive = d.positive(x.sensitivity.log().minus(one.minus(x.specificity).log()))
	r.LRNegative = d.positive(one.minus(x.sensitivity).log().minus(x.specificity.log()))
	return r
}

// benefits returns the decision curve at the thresholds 1%, 2%, …, 99%.
func (d *decided) benefits() []BenefitPoint {
	var points []BenefitPoint
	all := &decided{ref: d.ref, unit: d.unit, units: d.units, score: slices.Repeat([]float64{1}, len(d.ref))}
	for percent := 1; percent < 100; percent++ {
		t := float64(percent) / 100
		points = append(points, BenefitPoint{t, d.plain(d.netBenefit(t)), all.plain(all.netBenefit(t))})
	}
	return points
}

// curvePoints is the number of equal steps of ROC and precision–recall curves.
const curvePoints = 100

// rates are the curves of one set of weights.
type rates struct {
	roc, pr   [curvePoints + 1]float64 // at 0, 0.01, …, 1
	precision float64                  // average
}

// trace returns the curves with items weighted by weight, given their order by decreasing score. The ROC curve is linear
// between thresholds; precision at a recall is that of the highest threshold which reaches it.
func (d *decided) trace(order []int, weight func(j int) float64) (r rates) {
	p, q := 0.0, 0.0
	for j, y := range d.ref {
		w := weight(j)
		p += w * y
		q += w * (1 - y)
	}
	if p == 0 || q == 0 {
		r.precision = math.NaN()
		return r
	}
	tp, fp := 0.0, 0.0 // so far
	nextROC, nextPR := 0, 0
	const rounding = 1 + 1e-12
	for i := 0; i < len(order); {
		t, f := tp, fp
		for s := d.score[order[i]]; i < len(order) && d.score[order[i]] == s; i++ {
			w, y := weight(order[i]), d.ref[order[i]]
			t += w * y
			f += w * (1 - y)
		}
		if t == tp && f == fp {
			continue
		}
		// Sensitivity at a false positive rate is the largest there.
		for ; nextROC <= curvePoints && f > fp && float64(nextROC)/curvePoints*q < f; nextROC++ {
			x := float64(nextROC) / curvePoints * q
			r.roc[nextROC] = (tp + (t-tp)*max(0, x-fp)/(f-fp)) / p
		}
		for ; nextPR <= curvePoints && float64(nextPR)/curvePoints*p <= t*rounding; nextPR++ {
			r.pr[nextPR] = t / (t + f)
		}
		r.precision += (t - tp) / p * t / (t + f)
		tp, fp = t, f
	}
	for ; nextROC <= curvePoints; nextROC++ {
		r.roc[nextROC] = 1
	}
	for ; nextPR <= curvePoints; nextPR++ {
		r.pr[nextPR] = p / (p + q)
	}
	return r
}

// curves returns ROC and precision–recall curves with bootstrap bands, and the average precision.
func (d *decided) curves(b Bootstrap, r *Decisions) {
	order := ascending(d.score)
	slices.Reverse(order)
	all := d.trace(order, func(int) float64 { return 1 })
	r.AveragePrecision = unknownInterval
	r.AveragePrecision.Value = Number(all.precision)
	if math.IsNaN(all.precision) {
		return
	}
	var draws []rates
	if d.units > 1 {
		draws = make([]rates, b.replicates(d.units))
		b.each(d.units, func(r int, times []int32) {
			draws[r] = d.trace(order, func(j int) float64 { return float64(times[d.unit[j]]) })
		})
		// A draw without positives or negatives has no curve; it is also one that was not drawn before a cancellation.
		draws = slices.DeleteFunc(draws, func(x rates) bool { return math.IsNaN(x.precision) || x.precision == 0 })
	}
	column := make([]float64, len(draws))
	ends := func(of func(x *rates) float64) (lo, hi Number) {
		for i := range draws {
			column[i] = of(&draws[i])
		}
		slices.SortFunc(column, cmp.Compare)
		return Number(sortedQuantile(column, 0.025)), Number(sortedQuantile(column, 0.975))
	}
	for k := range all.roc {
		x := Number(float64(k) / curvePoints)
		roc, pr := BandPoint{X: x, Y: Number(all.roc[k])}, BandPoint{X: x, Y: Number(all.pr[k])}
		roc.Lo, roc.Hi = ends(func(x *rates) float64 { return x.roc[k] })
		pr.Lo, pr.Hi = ends(func(x *rates) float64 { return x.pr[k] })
		r.ROC, r.PR = append(r.ROC, roc), append(r.PR, pr)
	}
	r.AveragePrecision.Lo, r.AveragePrecision.Hi = ends(func(x *rates) float64 { return x.precision })
	r.AveragePrecision.SE = Number(deviation(column))
}
