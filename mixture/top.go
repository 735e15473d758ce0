package mixture

import (
	"context"
	"math"
	"slices"
	"sync"

	"credence/internal/kernel"
	"credence/internal/special"
)

// topError bounds the error of TopClass.
const topError = 1e-9

// TopClass appends to dst, for each class, the probability that it is the most probable one, P(p_i > p_j for all j ≠
// i). The error is below 1e-9, for parameters from 1e-3 to 1e7, and they sum to one. A class whose probability is
// smaller than that may be returned as 0.
//
// For two classes it is the mass above ½. For more, p is a vector of independent
// Gamma variables over their sum, so with S_i the square roots of these,
//
//	P(i is top) = Σ_k w_k ∫ φ_ki(s) ∏_{j≠i} P(S_kj ≤ s) ds,
//
// φ the density of S. The smaller the weight of a component, the larger the tolerance of its integrals.
// Classes that are almost certain to be below the component's largest are left out.
func (m *Dirichlet) TopClass(dst []float64) []float64 {
	dst, _ = m.TopClassContext(context.Background(), dst)
	return dst
}

// TopClassContext is [Dirichlet.TopClass], which for hundreds of classes and components may take seconds.
// When ctx is done it stops and returns the context's error.
func (m *Dirichlet) TopClassContext(ctx context.Context, dst []float64) ([]float64, error) {
	return m.topClass(ctx, dst, topError, nil)
}

// topClass is TopClassContext with a bound on the error. If that is sixDigitsTop, it takes the logarithms of all marginals.
func (m *Dirichlet) topClass(ctx context.Context, dst []float64, topError float64, of *marginals) ([]float64, error) {
	d := m.Classes()
	dst, top := extend(dst, d)
	if d == 2 {
		top[1], top[0] = m.Marginal(0).tails(0.5)
	} else {
		t := topWork.Get().(*topIntegral)
		defer topWork.Put(t)
		t.ctx, t.rough = ctx, of != nil
		if cap(t.class) < d {
			t.class, t.of, t.lines = make([]int, 0, d), make([]special.RootGamma, 0, d), make([][2]float64, d)
			t.gamma, t.log = make([]float64, d), make([]float64, d)
		}
		t.gamma, t.log = t.gamma[:d], t.log[:d]
		// Σ_k w_k times the tolerances is at most topError.
		even, share := topError/2, topError/(2*float64(m.K()))
		logEven, logShare := math.Log(even), math.Log(share)
		t.logClasses = math.Log(float64(d))
		for k, w := range m.weights {
			if err := ctx.Err(); err != nil {
				return dst, err
			}
			var logW float64
			if of != nil {
				logW = of.parameters(t.gamma, t.log, k)
			} else {
				logW = math.Log(w)
				for i, a := range m.row(k) {
					t.log[i] = math.Log(a)
				}
			}
			t.add(top, w, m.row(k), max(even, share/w), max(logEven, logShare-logW))
		}
	}
	special.Normalize(top)
	return dst, ctx.Err()
}

// topWork recycles the memory of integrals.
var topWork = sync.Pool{New: func() any { return new(topIntegral) }}

// add adds w times the probabilities of Dirichlet(alpha), with an error below the tolerance.
func (t *topIntegral) add(top []float64, w float64, alpha []float64, tolerance, logTolerance float64) {
	best := 0
	for i, a := range alpha {
		if a > alpha[best] {
			best = i
		}
	}
	if tolerance >= 1 {
		top[best] += w
		return
	}
	// If e is the probability that one of the classes left out is above the best, then the probability that one of
	// them is above the largest of the others is at most e, and so is the error.
	t.class = t.class[:0]
	most := logTolerance - math.Ln2 - t.logClasses
	b, logB := alpha[best], t.log[best]
	for i, a := range alpha {
		if i == best || mayExceed(a, b, t.log[i], logB, most) {
			t.class = append(t.class, i)
		}
	}
	switch {
	case len(t.class) == 1:
		top[best] += w
		return
	case t.rough && t.onGrid(alpha, tolerance/2, logTolerance-math.Ln2):
	case len(t.class) == 2:
		i, j := t.class[0], t.class[1]
		b, half := special.NewBeta(alpha[i], alpha[j]), special.At(0.5)
		lower, upper, _ := b.Tails(&half)
		top[i] += w * upper
		top[j] += w * lower
		return
	default:
		t.run(alpha, tolerance/2)
	}
	for n, p := range t.result {
		top[t.class[n]] += w * p
	}
}

// onGrid sets the result by the trapezoidal rule at the points of a grid, where the distributions are tabulated. It reports whether that is
// accurate enough: the sum of the integrands is the derivative of ∏ P(S_j ≤ s), so its integral is one.
func (t *topIntegral) onGrid(alpha []float64, tolerance, logTolerance float64) bool {
	m := len(t.class)
	t.grow(m)
	largest := 0.0
	for j, i := range t.class {
		root := math.Sqrt(alpha[i])
		largest = max(largest, root)
		t.roots[j] = root
		t.variables[j].A, t.variables[j].LogGamma = alpha[i], t.gamma[i]
	}
	lo, hi := t.span(largest, 2*math.Ln2-logTolerance, 1)
	grid := special.NewGammaGrid()
	slope, offset, ok := grid.Window(t.variables, t.roots, lo, hi)
	if !ok {
		return false
	}
	n := len(slope)
	pdf, cdf := t.pdf[:m*n], t.cdf[:m*n]
	kernel.GridGammas(cdf, pdf, slope, offset, grid.Table(), t.variables)
	clear(t.result)
	kernel.LeaveOneOut(t.result, pdf, cdf, ones[:n], t.products)
	excess := -1.0
	for _, p := range t.result {
		excess += p
	}
	return math.Abs(excess) <= tolerance/2
}

// ones are the weights of the points of a grid.
var ones = slices.Repeat([]float64{1}, kernel.PanelPoints)

// mayExceed reports whether a bound of ln P(X > Y) for independent Gamma variables X and Y with parameters a ≤ b is above a limit: that of
// [logAbove] or, for a > 1, Chernoff's with the first terms of
//
//	(1−θ) ln(1−θ) + (1+θ) ln(1+θ) = θ² + θ⁴/6 + θ⁶/15 + θ⁸/28 + …,   θ = (b−a)/(a+b),
//
// which are all positive.
func mayExceed(a, b, logA, logB, most float64) bool {
	if a > 1 {
		whole := a + b
		theta := (b - a) / whole
		u := theta * theta
		return -0.5*whole*u*(1+u*(1./6+u*(1./15+u*(1./28)))) > most
	}
	return logAbove(a, b, logA, logB) > most
}

// logAbove returns a bound of ln P(X > Y) for independent Gamma variables X and Y
// with parameters a ≤ b, given ln a and ln b. X/(X+Y) is Beta(a, b), and for a ≤ 1
//
//	P = ∫_½^1 xᵃ⁻¹ (1−x)ᵇ⁻¹ dx / B(a, b) ≤ 2¹⁻ᵃ 2⁻ᵇ/b · bᵃ a/Γ(1+a),
//
// because Γ(b+a) ≤ bᵃ Γ(b) (Wendel 1948); Γ(1+a) ≥ 0.8856 = e^{−0.12149}. For larger a it is Chernoff's bound,
//
//	P ≤ E e^{θ(X−Y)} = (1−θ)⁻ᵃ (1+θ)⁻ᵇ   at   θ = (b−a)/(a+b).
func logAbove(a, b, logA, logB float64) float64 {
	if a <= 1 {
		return logA + 0.12149 + (a-1)*logB + (1-a-b)*math.Ln2
	}
	theta := (b - a) / (a + b)
	return -a*math.Log1p(-theta) - b*math.Log1p(theta)
}

// topIntegral computes the integrals of TopClass together, because their integrands share all factors. It is the
// workspace of a call, and is reused for each component.
//
// All distributions are nearly normal with the standard deviation ½ on the scale of S, so that one Gauss–Legendre
// rule over the range of the largest resolves them all; distribution functions are the integrals of the densities at its
// nodes, from the right. Near 0 the densities are powers of s, and the integrands a power times a smooth function,
// for which lower has its own rule.
type topIntegral struct {
	ctx         context.Context // once it is done, integration stops and the results are meaningless
	gamma, log  []float64       // [d]: of a component's parameters, ln Γ (only if errors may be larger than rounding) and the logarithms
	class       []int           // [m] the classes that are integrated
	of          []special.RootGamma
	logClasses  float64 // logarithm of the number of all classes
	variables   []kernel.GridVariable
	roots       []float64    // [m]: those of the parameters
	lines       [][2]float64 // [m]: slopes and offsets of the logarithms of densities, if errors may be larger than rounding
	result      []float64    // [m]
	below, mass []float64    // [m]: P(S ≤ the end of a panel), and the mass in it

	pdf, cdf []float64 // [m, n] at n nodes
	right    [topPoints]float64
	s, logS  [topPoints]float64
	rough    bool                              // whether errors of 1e-9 are acceptable
	series   [lowerTerms * lowerPoints]float64 // see lower
	scratch  [special.RuleScratch]float64
	products []float64 // [m, kernel.PanelScratch]
	x, e     [lowerPoints]float64
	end      float64 // of which series, x and e are
}

// topPoints is the number of points of the largest rule.
const topPoints = kernel.PanelPoints

// topRules are the rules by the least tolerance of each. Over thousands of random components of 3 to 30 classes, from
// one end of the parameters' range to the other, the error was at most four tenths of it.
var topRules = sync.OnceValue(func() []accurateRule {
	return []accurateRule{
		{1e-3, special.NewRule(lowerPoints)},
		{1e-5, special.NewRule(24)},
		{1e-7, special.NewRule(32)},
		{1e-8, special.NewRule(36)},
		{0, special.NewRule(topPoints)},
	}
})

// accurateRule is a rule with the least tolerance that it is for.
type accurateRule struct {
	tolerance float64
	*special.Rule
}

// topRule returns the rule for m classes over a span. The last but one also does,
// with an error of 1e-10, if both are small.
func topRule(tolerance float64, m int, span float64) *special.Rule {
	if tolerance > 1e-10 && m <= 10 && span <= 6.25 {
		tolerance = max(tolerance, 1e-8)
	}
	rules := topRules()
	i := 0
	for tolerance < rules[i].tolerance {
		i++
	}
	return rules[i].Rule
}

// run sets the result to the probabilities that each of the classes is the largest.
func (t *topIntegral) run(alpha []float64, tolerance float64) {
	t.resize(alpha)
	lo, hi := t.span(slices.Max(t.roots), -math.Log(tolerance/4), 4)
	rule := topRule(tolerance, len(t.of), hi-max(lo, 1))
	// The sum of the integrands is the derivative of ∏ P(S_j ≤ s), so its integral is one: what is missing betrays a
	// rule that does not do, as may be where hundreds of classes share the mass. Shorter panels then do.
	for cuts := range 6 {
		if t.ctx.Err() != nil {
			break
		}
		t.integrate(rule, lo, hi, cuts)
		if math.Abs(special.Sum(t.result)-1) <= tolerance/2 {
			break
		}
	}
}

// grow makes room for m classes.
func (t *topIntegral) grow(m int) {
	if m > cap(t.result) {
		room := make([]float64, m*(2*topPoints+4+kernel.PanelScratch))
		take := func(n int) (s []float64) { s, room = room[:n:n], room[n:]; return s }
		t.pdf, t.cdf, t.products = take(m*topPoints), take(m*topPoints), take(m*kernel.PanelScratch)
		t.result, t.below, t.mass, t.roots = take(m), take(m), take(m), take(m)
		t.variables = make([]kernel.GridVariable, m)
	}
	t.result, t.below, t.mass, t.roots, t.variables = t.result[:m], t.below[:m], t.mass[:m], t.roots[:m], t.variables[:m]
}

// resize prepares the classes.
func (t *topIntegral) resize(alpha []float64) {
	m := len(t.class)
	t.grow(m)
	t.lines, t.of = t.lines[:m], t.of[:0]
	for j, i := range t.class {
		t.lines[j] = [2]float64{}
		if a := alpha[i]; t.rough && a <= roughMost {
			t.of = append(t.of, special.NewLinearRootGamma(a, t.gamma[i]))
			t.lines[j][0], t.lines[j][1] = t.of[j].Linear()
		} else {
			t.of = append(t.of, special.NewRootGamma(a))
		}
		t.roots[j] = t.of[j].Root
	}
}

// span returns where the largest variable lies but for the probability e^{-y} at either end, given the largest root of a parameter, by Chernoff's
// bounds for a Gamma variable G with the parameter a, r = √a,
//
//	P(√G ≤ s) ≤ exp(−2(r − s)²),   P(√G ≥ r+u) ≤ exp(−(2ru + u² − 2a ln(1 + u/r))) ≤ exp(−u²(1 + 3r/(3r + 2u))),
//
// the first multiplied over the classes with r > s, the second at the largest.
func (t *topIntegral) span(largest, y float64, steps int) (lo, hi float64) {
	// The sum of the squares is convex and decreases, so Newton's method climbs to
	// where it is y/2 from below, and any number of steps will do.
	lo = largest - math.Sqrt(y/2)
	for range steps {
		excess, slope := -y/2, 0.0
		for _, root := range t.roots {
			d := root - lo
			d += math.Abs(d) // 2 max(d, 0), without a branch that is hard to predict
			excess += 0.25 * d * d
			slope += d
		}
		lo += excess / slope
	}
	// u grows with y/(1 + 3r/(3r + 2u)), so that a larger u on the right gives a larger one.
	y += t.logClasses
	u := math.Sqrt(y)
	for range 2 {
		u = math.Sqrt(y / (1 + 3*largest/(3*largest+2*u)))
	}
	return lo, largest + u
}

// integrate sets the result to the integrals from lo to hi: what lies above s = 1 in 2^cuts panels; [2^−cuts, 1] in
// one for every power of two; and the rest in closed form.
func (t *topIntegral) integrate(rule *special.Rule, lo, hi float64, cuts int) {
	clear(t.result)
	for j := range t.below {
		t.below[j] = 1
	}
	n := 1 << cuts
	from := max(lo, 1)
	for i := n - 1; i >= 0 && t.ctx.Err() == nil; i-- {
		width := (hi - from) / float64(n)
		t.panel(rule, from+float64(i)*width, from+float64(i+1)*width, cuts > 0)
	}
	end := 1.0
	for range cuts {
		if lo < end {
			t.panel(rule, max(lo, end/2), end, true)
		}
		end /= 2
	}
	if lo < end {
		t.lower(end * end)
	}
}

// panel adds the integrals from s = lo to s = hi; if there are more panels, it moves below from hi to lo.
func (t *topIntegral) panel(rule *special.Rule, lo, hi float64, more bool) {
	half := (hi - lo) / 2
	n, integrals := rule.Panel(t.s[:], t.right[:], (lo+hi)/2, half)
	m := len(t.of)
	pdf, cdf := t.pdf[:m*n], t.cdf[:m*n]
	t.densities(pdf, n)
	kernel.PanelBelow(cdf, pdf, t.below, integrals, n, half)
	if more {
		kernel.Dots64(t.mass, pdf, t.right[:n])
		for j, mass := range t.mass {
			t.below[j] -= mass
		}
	}
	kernel.LeaveOneOut(t.result, pdf, cdf, t.right[:n], t.products)
}

// roughMost is the largest parameter of which densities may be taken in one exponential, and then have a relative
// error below 1e-9.
const roughMost = 1e5

// densities sets pdf to the densities of the variables at the first n points.
func (t *topIntegral) densities(pdf []float64, n int) {
	s := t.s[:n]
	if t.rough {
		kernel.RootGammas(pdf, s, t.lines)
	}
	ready := false // logS
	for j := range t.of {
		of := &t.of[j]
		if t.rough && of.A <= roughMost {
			continue
		}
		for k := range s {
			if !ready {
				t.logS[k] = math.Log(s[k])
			}
			pdf[j*n+k] = of.Density(s[k], t.logS[k])
		}
		ready = true
	}
}
