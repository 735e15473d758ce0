package evaluate

import (
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
