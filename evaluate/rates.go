package evaluate

import (
	"cmp"
	"math"
	"slices"
)

// curvePoints is the number of equal steps of ROC and precision–recall curves.
const curvePoints = 100

// rates are the curves of one set of weights.
type rates struct {
	roc, pr   [curvePoints + 1]float64 // at 0, 0.01, …, 1
	precision float64                  // average
}

// descending are items by decreasing score, in arrays of their own: curves are traced once per bootstrap draw.
type descending struct {
	ref  []float64
	unit []int32
	last []bool // the last item with its score
}

func (d *decided) descending() descending {
	order := ascending(d.score)
	slices.Reverse(order)
	s := descending{make([]float64, len(order)), make([]int32, len(order)), make([]bool, len(order))}
	for i, j := range order {
		s.ref[i], s.unit[i] = d.ref[j], int32(d.unit[j])
		s.last[i] = i+1 == len(order) || d.score[order[i+1]] != d.score[j]
	}
	return s
}

// trace returns the curves with units weighted by weight. The ROC curve is linear between thresholds; precision at a recall is
// that of the highest threshold which reaches it.
func (d *descending) trace(weight []int32) (r rates) {
	p, q := 0.0, 0.0
	for i, y := range d.ref {
		w := float64(weight[d.unit[i]])
		p += w * y
		q += w * (1 - y)
	}
	if p == 0 || q == 0 {
		r.precision = math.NaN()
		return r
	}
	tp, fp := 0.0, 0.0 // at the last threshold
	t, f := 0.0, 0.0   // so far
	nextROC, nextPR := 0, 0
	const rounding = 1 + 1e-12
	for i, y := range d.ref {
		w := float64(weight[d.unit[i]])
		t += w * y
		f += w * (1 - y)
		if !d.last[i] || t == tp && f == fp {
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
	sorted := d.descending()
	all := sorted.trace(slices.Repeat([]int32{1}, d.units))
	r.AveragePrecision = unknownInterval
	r.AveragePrecision.Value = Number(all.precision)
	if math.IsNaN(all.precision) {
		return
	}
	var draws []rates
	if d.units > 1 {
		draws = make([]rates, b.replicates(d.units))
		b.each(d.units, func(r int, times []int32) {
			draws[r] = sorted.trace(times)
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
