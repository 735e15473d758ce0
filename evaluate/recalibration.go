package evaluate

import (
	"math"
	"slices"
)

// recalibrate fits logit P(y) = a + b logit s by maximum likelihood, with b fixed to 1 or free, and returns a and b.
// Items predicted at 0 or 1 have no logit and are left out. The variance is the sandwich: H⁻¹ (Σ_u g_u g_uᵀ) H⁻¹ with
// H the information and g the score vectors of units.
func (d *decided) recalibrate(free bool) (a, b influence) {
	x, known := make([]float64, len(d.ref)), []int{}
	for j, s := range d.score {
		if x[j] = math.Log(s) - math.Log1p(-s); !math.IsInf(x[j], 0) {
			known = append(known, j)
		}
	}
	fit, ok := fitLogits(x, d.ref, known, free)
	if !ok {
		return unknownInfluence, unknownInfluence
	}
	size := func(weight func(j int) float64) float64 {
		on := make([]float64, len(d.ref))
		for _, j := range known {
			on[j] = 1
		}
		return d.size(func(j int) float64 { return on[j] * weight(j) })
	}
	units := min(size(func(j int) float64 { return d.ref[j] }), size(func(j int) float64 { return 1 - d.ref[j] }))
	scale := unbiased(units)
	a = influence{value: fit.a, psi: make([]float64, len(d.ref)), size: units}
	b = influence{value: fit.b, psi: make([]float64, len(d.ref)), size: units}
	for _, j := range known {
		r := scale * (d.ref[j] - 1/(1+math.Exp(-fit.a-fit.b*x[j])))
		if !free {
			a.psi[j] = r / fit.h00
			continue
		}
		a.psi[j] = r * (fit.h11 - fit.h01*x[j]) / fit.det
		b.psi[j] = r * (fit.h00*x[j] - fit.h01) / fit.det
	}
	return a, b
}

// logitFit are the coefficients and the information matrix h of a logistic regression on one variable.
type logitFit struct{ a, b, h00, h01, h11, det float64 }

// fitLogits finds the maximum of the likelihood by Newton's method. It reports whether there is one: not if y are all
// 0 or all 1, if x separates them, or, for a free slope, if all x are equal.
func fitLogits(x, y []float64, items []int, free bool) (f logitFit, ok bool) {
	f.b = 1
	gain := math.Inf(1)
	for range 100 {
		f.h00, f.h01, f.h11 = 0, 0, 0
		g0, g1 := 0.0, 0.0
		for _, j := range items {
			p := 1 / (1 + math.Exp(-f.a-f.b*x[j]))
			w, r := p*(1-p), y[j]-p
			f.h00 += w
			f.h01 += w * x[j]
			f.h11 += w * x[j] * x[j]
			g0 += r
			g1 += r * x[j]
		}
		f.det = f.h00*f.h11 - f.h01*f.h01
		var da, db float64
		if free {
			da, db = (f.h11*g0-f.h01*g1)/f.det, (f.h00*g1-f.h01*g0)/f.det
		} else {
			da = g0 / f.h00
		}
		// A long step is shortened: far from the maximum the likelihood is not quadratic.
		long := max(1, math.Abs(da)/4, math.Abs(db)/4)
		f.a += da / long
		f.b += db / long
		before := gain
		gain = da*g0 + db*g1 // twice the expected gain in log-likelihood
		if !(math.Abs(f.a) < 1e3 && math.Abs(f.b) < 1e3) || free && f.det < 1e-12*f.h00*f.h11 {
			return f, false
		}
		if gain < 1e-26*float64(len(items)) || gain < 1e-16 && gain >= before {
			return f, true
		}
	}
	return f, false
}

// observedExpected returns ln(Σy / Σs).
func (d *decided) observedExpected() influence {
	observed := d.ratio(func(j int) (float64, float64) { return d.ref[j], 1 })
	expected := d.ratio(func(j int) (float64, float64) { return d.score[j], 1 })
	return observed.log().minus(expected.log())
}

// smoother names the smoother of calibration curves.
const smoother = "lowess, span 2/3, no robustness iterations"

// smooth returns the calibration curve with a pointwise 95% band, and the distances from the prediction.
//
// The curve is linear in y: c(s_i) = Σ_k l_ik y_k. Its variance is that of Σ_k l_ik r_k with the residuals r, summed within
// units; smoothing bias is not part of it. An observed distance |c − s| is too large on average by the noise of c; as for
// the calibration error ([Result.ECE]), with σ_i² the variance of c(s_i) and τ² = max(0, mean(Δ² − σ²)), its mean is corrected by
//
//	√(2/π) mean(√(τ² + σ_i²) − τ).
func (d *decided) smooth() SmoothCalibration {
	r := SmoothCalibration{Smoother: smoother, ICI: Estimate{unknown, unknown}, ICIPlain: unknown, E50: unknown, E90: unknown, EMax: unknown}
	n := len(d.ref)
	order := ascending(d.score)
	x, y := make([]float64, n), make([]float64, n)
	for i, j := range order {
		x[i], y[i] = d.score[j], d.ref[j]
	}
	if n < 3 || x[0] == x[n-1] {
		return r
	}
	l := newLowess(x, 2./3, 0.01*(x[n-1]-x[0]))
	fit := l.at(l.fit(y))
	distance, residual := make([]float64, n), make([]float64, n)
	slope := make([]float64, len(l.points)) // of n × ICI in the curve at each point
	for i := range x {
		distance[i], residual[i] = math.Abs(fit[i]-x[i]), y[i]-fit[i]
		sign := math.Copysign(1, fit[i]-x[i])
		k, share := l.between(i)
		slope[k] += sign * (1 - share)
		slope[min(k+1, len(slope)-1)] += sign * share
	}
	se, total := make([]float64, len(l.points)), make([]float64, n)
	for k := range l.points {
		from, w := l.weights(k)
		sums := make([]float64, d.units)
		for i, v := range w {
			v *= residual[from+i]
			sums[d.unit[order[from+i]]] += v
			total[from+i] += slope[k] * v / float64(n)
		}
		for _, s := range sums {
			se[k] += s * s
		}
		se[k] = math.Sqrt(se[k])
	}
	if d.units < 2 {
		for k := range se {
			se[k] = math.NaN()
		}
	}
	for k, i := range l.points {
		if k > 0 && x[i] == x[l.points[k-1]] {
			continue
		}
		c, e := fit[i], normal975*se[k]
		r.Curve = append(r.Curve, BandPoint{Number(x[i]), Number(c), Number(max(min(c, 0), c-e)), Number(min(max(c, 1), c+e))})
	}
	plain := sum(distance) / float64(n)
	r.ICI = Estimate{Number(plain - noise(distance, l.at(se))), Number(d.se(influence{psi: inOrder(total, order)}))}
	r.ICI.Value = max(0, r.ICI.Value)
	slices.Sort(distance)
	r.ICIPlain, r.EMax = Number(plain), Number(distance[n-1])
	r.E50, r.E90 = Number(sortedQuantile(distance, 0.5)), Number(sortedQuantile(distance, 0.9))
	return r
}

// noise returns how much larger mean distances are for the errors of the curve.
func noise(distance, se []float64) float64 {
	n, tau2 := float64(len(distance)), 0.0
	for i, x := range distance {
		tau2 += (x*x - se[i]*se[i]) / n
	}
	tau, excess := math.Sqrt(max(0, tau2)), 0.0
	for _, s := range se {
		excess += math.Sqrt(2/math.Pi) * (math.Sqrt(tau*tau+s*s) - tau) / n
	}
	return excess
}

// inOrder returns the values of sorted items in the order of items.
func inOrder(sorted []float64, order []int) []float64 {
	x := make([]float64, len(sorted))
	for i, j := range order {
		x[j] = sorted[i]
	}
	return x
}
