package mixture

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"credence/internal/kernel"
	"credence/internal/special"
)

// Dirichlet is a mixture of Dirichlet distributions on the probabilities p = (p₁, …, p_d) of d ≥ 2 classes,
//
//	f(p) = Σ_k w_k Dirichlet(p; α_k1, …, α_kd).
//
// It is immutable and safe for concurrent use. The zero
// value is not a distribution; use [NewDirichlet].
type Dirichlet struct {
	weights []float64 // [K]
	alpha   []float64 // [K, d]
	classes int
}

// NewDirichlet returns the mixture with K ≥ 1 weights and K rows of d ≥ 2 parameters. Weights are non-negative and
// sum to one within 1e-9, in which case they are rescaled to sum to one exactly; parameters lie between 1e-100 and
// 1e15. The slices are copied.
func NewDirichlet(weights []float64, alpha [][]float64) (*Dirichlet, error) {
	if _, err := checkWeights(weights); err != nil {
		return nil, err
	}
	if len(alpha) != len(weights) {
		return nil, invalid("expected as many rows of alpha as weights (%d), found %d", len(weights), len(alpha))
	}
	d := len(alpha[0])
	if d < 2 {
		return nil, invalid("alpha of component 0: expected at least 2 classes, found %d", d)
	}
	for k, row := range alpha {
		if len(row) != d {
			return nil, invalid("alpha of component %d: expected %d classes, as in component 0, found %d", k, d, len(row))
		}
	}
	m := newDirichlet(len(weights), d)
	copy(m.weights, weights)
	for k, row := range alpha {
		copy(m.row(k), row)
	}
	if err := m.normalize(); err != nil {
		return nil, err
	}
	return m, nil
}

// MakeDirichlets is [NewDirichlet] for n mixtures of k components and the given number of classes, without copies: fill sets the weights [K] and
// the parameters alpha [K, d] of mixture j. The errors are nil if all mixtures are valid, else those of each; n, k and classes − 1 are positive.
func MakeDirichlets(n, k, classes int, fill func(j int, weights, alpha []float64)) (list []Dirichlet, errs []error) {
	list = make([]Dirichlet, n)
	each := k * (1 + classes)
	values := make([]float64, n*each)
	for j := range list {
		room := values[j*each : (j+1)*each]
		m := &list[j]
		*m = Dirichlet{weights: room[:k:k], alpha: room[k:each:each], classes: classes}
		fill(j, m.weights, m.alpha)
		if err := m.normalize(); err != nil {
			if errs == nil {
				errs = make([]error, n)
			}
			errs[j] = err
		}
	}
	return list, errs
}

// normalize checks a mixture, divides its weights by their sum, and drops components without weight.
func (m *Dirichlet) normalize() error {
	sum, err := checkWeights(m.weights)
	if err != nil {
		return err
	}
	for i, a := range m.alpha {
		if !(a >= minParameter && a <= maxParameter) {
			return checkParameter(a, "alpha of component %d, class %d", i/m.classes, i%m.classes)
		}
	}
	for k, w := range m.weights {
		m.weights[k] = w / sum
	}
	m.drop()
	return nil
}

// newDirichlet returns a mixture of k components whose weights and parameters are not set yet.
func newDirichlet(k, classes int) *Dirichlet {
	values := make([]float64, k*(1+classes))
	return &Dirichlet{weights: values[:k:k], alpha: values[k:], classes: classes}
}

// like returns a mixture with the weights of m and parameters that are not set yet.
func (m *Dirichlet) like() *Dirichlet {
	return &Dirichlet{weights: m.weights, alpha: make([]float64, len(m.alpha)), classes: m.classes}
}

// row returns the parameters of component k.
func (m *Dirichlet) row(k int) []float64 {
	return m.alpha[k*m.classes : (k+1)*m.classes : (k+1)*m.classes]
}

// K returns the number of components with positive weight.
func (m *Dirichlet) K() int { return len(m.weights) }

// Classes returns the number of classes, d.
func (m *Dirichlet) Classes() int { return m.classes }

// Component returns the weight of component k, 0 ≤ k < K, and a copy of its
// parameters. Components without weight are not counted.
func (m *Dirichlet) Component(k int) (weight float64, alpha []float64) {
	return m.weights[k], slices.Clone(m.row(k))
}

// Marginal returns the distribution of the probability of class i, 0 ≤ i < d: the one-versus-all Beta mixture
//
//	Σ_k w_k Beta(α_ki, Σ_{j≠i} α_kj).
func (m *Dirichlet) Marginal(i int) *Beta {
	b := &Beta{components: make([]component, 0, len(m.weights))}
	for k, w := range m.weights {
		b.add(w, m.row(k)[i], special.SumExcept(m.row(k), i))
	}
	return b
}

// fewClasses is the largest number of classes for which sums over pairs of classes are computed term by term,
// which keeps their last digits; with more classes, they are computed from sums over classes.
const fewClasses = 16

// sumOthers is a faster [special.SumExcept], given the sum of all: with many classes, only the one that makes
// up more than half of the total, if any, needs a new sum.
func sumOthers(a []float64, i int, total float64) float64 {
	if len(a) > fewClasses && a[i] <= total/2 {
		return total - a[i]
	}
	return special.SumExcept(a, i)
}

// onSimplex is the largest deviation of the sum of a point's coordinates from one.
const onSimplex = 1e-9

// LogPDF returns the log-density at p, a point of the simplex: d non-negative numbers that sum to one within 1e-9.
// The density is with respect to dp₁ … dp_{d−1}; it is −Inf or +Inf on the boundary where some α_ki ≠ 1 makes it so.
func (m *Dirichlet) LogPDF(p []float64) (float64, error) {
	if len(p) != m.Classes() {
		return 0, fmt.Errorf("point: expected as many coordinates as classes (%d), found %d", m.Classes(), len(p))
	}
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return 0, fmt.Errorf("coordinate %d of the point: expected a number from 0 to 1, found %v", i, v)
		}
	}
	if s := special.Sum(p); math.Abs(s-1) > onSimplex {
		return 0, fmt.Errorf("point: expected coordinates that sum to 1 (within %g), found %v", onSimplex, s)
	}
	return m.logPDF(p), nil
}

func (m *Dirichlet) logPDF(p []float64) float64 {
	var l logSum
	for k, w := range m.weights {
		l.add(math.Log(w) + dirichletLogPDF(m.row(k), p))
	}
	return l.value()
}

// dirichletLogPDF returns the log-density of Dirichlet(a) at p,
//
//	ln Γ(Σa) − Σ ln Γ(a_i) + Σ (a_i − 1) ln p_i,
//
// as a product of Beta densities: breaking class after class off the stick, the share t = p_i / (1 − Σ_{j<i} p_j) is
// Beta(a_i, Σ_{j>i} a_j). Each is taken relative to its peak, so that the large logarithms of α = 1e7 never meet.
func dirichletLogPDF(a, p []float64) float64 {
	pole, flat := false, 0
	for i, v := range p {
		if v > 0 {
			continue
		}
		switch {
		case a[i] > 1:
			return math.Inf(-1)
		case a[i] < 1:
			pole = true
		default:
			flat++
		}
	}
	if pole {
		return math.Inf(1)
	}
	l := 0.0
	restA, restP := special.Sum(a)-float64(flat), 1.0
	for ; flat > 0; flat-- { // Beta(0; 1, b) = b
		l += math.Log(restA + float64(flat-1))
	}
	for i, ai := range a {
		if p[i] == 0 {
			continue
		}
		restA, restP = 0, 0
		for j := i + 1; j < len(a); j++ {
			if p[j] > 0 {
				restA += a[j]
				restP += p[j]
			}
		}
		if restP == 0 {
			break
		}
		b := special.NewBeta(ai, restA)
		whole := p[i] + restP
		pt := special.Ratio(p[i], restP)
		l += b.LogFactor(&pt) - math.Log(p[i]) - math.Log(restP) + math.Log(whole)
	}
	return l
}

// extend appends n zeros to dst and returns it, and the values appended.
func extend(dst []float64, n int) (all, added []float64) {
	all = append(dst, make([]float64, n)...)
	return all, all[len(dst):]
}

// Mean appends the d class means to dst and returns it.
func (m *Dirichlet) Mean(dst []float64) []float64 {
	dst, mean := extend(dst, m.Classes())
	if len(mean) == 2 { // the same bits in less time
		mean0, mean1 := 0.0, 0.0
		for k, w := range m.weights {
			a := m.alpha[2*k : 2*k+2]
			s := a[0] + a[1]
			mean0 += w * (a[0] / s)
			mean1 += w * (a[1] / s)
		}
		mean[0], mean[1] = mean0, mean1
		return dst
	}
	var few [fewClasses]float64
	rest := append(few[:0], mean...)
	for k, w := range m.weights {
		row := m.row(k)
		special.SumOthers(rest, row)
		for i, a := range row {
			mean[i] += w * (a / (a + rest[i]))
		}
	}
	return dst
}

// Variance appends the d class variances to dst and returns it.
func (m *Dirichlet) Variance(dst []float64) []float64 {
	_, dst = m.Moments(nil, dst)
	return dst
}

// Moments appends the d class means and the d class variances, as [Dirichlet.Mean] and [Dirichlet.Variance] do, and
// returns both.
func (m *Dirichlet) Moments(means, variances []float64) (mean, variance []float64) {
	// As Beta.Moments of each marginal, to the bit, without the constants of its density.
	if m.classes == 2 {
		return m.momentsOfTwo(means, variances)
	}
	d, n := m.classes, len(m.alpha)
	work := momentsWork.Get().(*[]float64)
	defer momentsWork.Put(work)
	*work = room(*work, 3*n)[:3*n]
	rest, mu, within := (*work)[:n], (*work)[n:2*n], (*work)[2*n:]
	for k := range m.weights {
		special.SumOthers(rest[k*d:(k+1)*d], m.row(k))
	}
	kernel.BetaMoments(mu, within, m.alpha, rest)
	means, mean = extend(means, d)
	for k, w := range m.weights {
		for i, x := range mu[k*d : (k+1)*d] {
			mean[i] += w * x
		}
	}
	variances, variance = extend(variances, d)
	for k, w := range m.weights {
		in := within[k*d : (k+1)*d]
		for i, x := range mu[k*d : (k+1)*d] {
			e := x - mean[i]
			variance[i] += w * (in[i] + e*e)
		}
	}
	return means, variances
}

// momentsOfTwo is Moments for two classes.
func (m *Dirichlet) momentsOfTwo(means, variances []float64) (mean, variance []float64) {
	means = m.Mean(means)
	mean0, mean1 := means[len(means)-2], means[len(means)-1]
	var0, var1 := 0.0, 0.0
	for k, w := range m.weights {
		a := m.alpha[2*k : 2*k+2]
		s := a[0] + a[1]
		mu, nu := a[0]/s, a[1]/s
		within, e, f := mu*nu/(s+1), mu-mean0, nu-mean1
		var0 += w * (within + e*e)
		var1 += w * (within + f*f)
	}
	return means, append(variances, var0, var1)
}

// momentsWork recycles the memory of moments.
var momentsWork = sync.Pool{New: func() any { return new([]float64) }}

// Covariance appends the d × d covariance matrix of the class probabilities to dst, row by row, and returns it: the
// law of total covariance over the components, within each of which, with mean μ and α₀ = Σα,
//
//	Cov(p_i, p_j) = (μ_i 1{i=j} − μ_i μ_j) / (α₀ + 1).
func (m *Dirichlet) Covariance(dst []float64) []float64 {
	d := m.Classes()
	mean := m.Mean(nil)
	dst, cov := extend(dst, d*d)
	mu := make([]float64, d)
	for k, w := range m.weights {
		a := m.row(k)
		total := special.Sum(a)
		for i := range mu {
			mu[i] = a[i] / total
		}
		for i := range d {
			di := mu[i] - mean[i]
			for j := range d {
				within := -mu[i] * mu[j]
				if i == j {
					within = mu[i] * (sumOthers(a, i, total) / total)
				}
				cov[i*d+j] += w * (within/(total+1) + di*(mu[j]-mean[j]))
			}
		}
	}
	return dst
}

// Dirichlet returns m as the distribution of two classes (p, 1 − p).
func (m *Beta) Dirichlet() *Dirichlet {
	d := newDirichlet(len(m.components), 2)
	for k, c := range m.components {
		d.weights[k] = c.weight
		d.row(k)[0], d.row(k)[1] = c.A, c.B
	}
	return d
}

// Mix returns the mixture of distributions with the given weights, which are positive and sum to one. It has the
// components of all of them.
func Mix(weights []float64, dists []*Dirichlet) (*Dirichlet, error) {
	sum, err := checkWeights(weights)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, m := range dists {
		n += m.K()
	}
	all := newDirichlet(n, dists[0].Classes())
	all.weights, all.alpha = all.weights[:0], all.alpha[:0]
	for k, m := range dists {
		if m.Classes() != dists[0].Classes() {
			return nil, invalid("expected %d classes in every distribution, as in the first, found %d", dists[0].Classes(), m.Classes())
		}
		for c, w := range m.weights {
			if w *= weights[k] / sum; w > 0 {
				all.weights, all.alpha = append(all.weights, w), append(all.alpha, m.row(c)...)
			}
		}
	}
	return all, nil
}
