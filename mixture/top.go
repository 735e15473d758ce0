package mixture

import (
	"context"
	"math"
	"slices"
	"sync"

	"credence/internal/special"
)

// topError bounds the error of TopClass.
const topError = 1e-9

// TopClass appends to dst, for each class, the probability that it is the most
// probable one, P(p_i > p_j for all j ≠ i). The error is below 1e-9, for
// parameters from 1e-3 to 1e7, and they sum to one. A class whose probability is
// smaller than that may be given as 0.
//
// For two classes it is the mass above ½. For more, p is a vector of independent
// Gamma variables over their sum, so with S_i the square roots of these,
//
//	P(i is top) = Σ_k w_k ∫ φ_ki(s) ∏_{j≠i} P(S_kj ≤ s) ds,
//
// φ the density of S. The smaller the weight of a component, the larger the error
// that its integrals may have. Classes that are all but certain to be below the
// component's largest are left out of them.
func (m *Dirichlet) TopClass(dst []float64) []float64 {
	dst, _ = m.TopClassContext(context.Background(), dst)
	return dst
}

// TopClassContext is [Dirichlet.TopClass], which for hundreds of classes and components may take seconds.
// When ctx is done it stops and returns the context's error.
func (m *Dirichlet) TopClassContext(ctx context.Context, dst []float64) ([]float64, error) {
	return m.topClass(ctx, dst, topError)
}

// topClass is TopClassContext with the given error.
func (m *Dirichlet) topClass(ctx context.Context, dst []float64, topError float64) ([]float64, error) {
	d := m.Classes()
	from := len(dst)
	dst = append(dst, make([]float64, d)...)
	top := dst[from:]
	if d == 2 {
		top[1], top[0] = m.Marginal(0).tails(0.5)
	} else {
		t := topWork.Get().(*topIntegral)
		defer topWork.Put(t)
		t.ctx, t.rough = ctx, topError >= sixDigitsTop
		if cap(t.class) < d {
			t.class, t.of = make([]int, 0, d), make([]special.RootGamma, 0, d)
		}
		for k, w := range m.weights {
			if err := ctx.Err(); err != nil {
				return dst, err
			}
			// Σ_k w_k times these is at most topError.
			t.add(top, w, m.alpha[k], max(topError/2, topError/(2*float64(m.K())*w)))
		}
	}
	special.Normalize(top)
	return dst, ctx.Err()
}

// topWork keeps the memory of integrals.
var topWork = sync.Pool{New: func() any { return new(topIntegral) }}

// add adds w times the probabilities of Dirichlet(alpha), with an error below the
// tolerance.
func (t *topIntegral) add(top []float64, w float64, alpha []float64, tolerance float64) {
	best := slices.Index(alpha, slices.Max(alpha))
	// If the classes left out are above the best with the probability e, then so is
	// one of them above whichever of the others is top with at most that, and the
	// error is at most e.
	t.class = t.class[:0]
	most := math.Log(tolerance / 2 / float64(len(alpha)))
	logBest := math.Log(alpha[best])
	for i, a := range alpha {
		if i == best || logAbove(a, alpha[best], logBest) > most {
			t.class = append(t.class, i)
		}
	}
	switch {
	case tolerance >= 1 || len(t.class) == 1:
		top[best] += w
	case len(t.class) == 2:
		i, j := t.class[0], t.class[1]
		b, half := special.NewBeta(alpha[i], alpha[j]), special.At(0.5)
		lower, upper, _ := b.Tails(&half)
		top[i] += w * upper
		top[j] += w * lower
	default:
		for n, p := range t.run(alpha, tolerance/2) {
			top[t.class[n]] += w * p
		}
	}
}

// logAbove returns a bound of ln P(X > Y) for independent Gamma variables X and Y
// with parameters a ≤ b, given ln b. X/(X+Y) is Beta(a, b), and for a ≤ 1
//
//	P = ∫_½^1 xᵃ⁻¹ (1−x)ᵇ⁻¹ dx / B(a, b) ≤ 2¹⁻ᵃ 2⁻ᵇ/b · bᵃ a/Γ(1+a),
//
// because Γ(b+a) ≤ bᵃ Γ(b) (Wendel 1948); Γ(1+a) ≥ 0.8856. For larger a it is
// Chernoff's bound,
//
//	P ≤ E e^{θ(X−Y)} = (1−θ)⁻ᵃ (1+θ)⁻ᵇ   at   θ = (b−a)/(a+b).
func logAbove(a, b, logB float64) float64 {
	if a <= 1 {
		return math.Log(a/0.8856) + (a-1)*logB + (1-a-b)*math.Ln2
	}
	theta := (b - a) / (a + b)
	return -a*math.Log1p(-theta) - b*math.Log1p(theta)
}
