package special

import "math"

// RandomEffects is a random-effects model of estimates y_l with variances v_l: the
// mean and the variance τ² of the quantities estimated, the variance of that mean,
// Cochran's Q, and its p-value for τ = 0.
type RandomEffects struct{ Mean, Variance, Tau2, Q, P float64 }

// DerSimonianLaird fits the model by moments (DerSimonian and Laird 1986): with
// weights w = 1/v, ȳ the weighted mean and Q = Σ w (y − ȳ)²,
//
//	τ² = max(0, (Q − (k−1)) / (Σw − Σw²/Σw)).
func DerSimonianLaird(y, v []float64) RandomEffects {
	weighted := func(tau2 float64) (mean, total, squares float64) {
		for l := range y {
			w := 1 / (v[l] + tau2)
			mean += w * y[l]
			total += w
			squares += w * w
		}
		return mean / total, total, squares
	}
	mean, total, squares := weighted(0)
	q := 0.0
	for l := range y {
		q += (y[l] - mean) * (y[l] - mean) / v[l]
	}
	e := RandomEffects{Q: q, P: ChiSquareTail(q, len(y)-1)}
	if len(y) > 1 {
		e.Tau2 = max(0, (q-float64(len(y)-1))/(total-squares/total))
	}
	e.Mean, total, _ = weighted(e.Tau2)
	e.Variance = 1 / total
	return e
}

// ChiSquareTail returns P(X > x) of a χ² variable with df ≥ 0 degrees of freedom,
// by its finite sums: with h = x/2,
//
//	e^−h Σ_{i<df/2} hⁱ/i!                        for even df,
//	erfc(√h) + e^−h Σ_{i<(df−1)/2} h^{i+½}/Γ(i+3/2)  for odd df.
func ChiSquareTail(x float64, df int) float64 {
	if df <= 0 || math.IsNaN(x) {
		return math.NaN()
	}
	h := x / 2
	p, term, from := 0.0, math.Exp(-h), 1.0
	if df%2 == 1 {
		p, term, from = math.Erfc(math.Sqrt(h)), math.Exp(-h)*math.Sqrt(h)/math.Gamma(1.5), 1.5
	}
	for i := range df / 2 {
		p += term
		term *= h / (from + float64(i))
	}
	return min(p, 1)
}
