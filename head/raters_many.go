package head

import (
	"math"

	"credence/internal/special"
)

// manyWork computes the loss of items of more than two classes. The likelihood of the votes is a
// polynomial in p: those for class i are
//
//	Π_l ((1−g_l) p_i + g_l π_li) = Σ_t e_it p_i^t,
//
// and the expectation of Π p_i^t_i under a Dirichlet distribution is Π α_i^(t_i) / α₀^(Σt_i) with
// rising factorials α^(t) = α(α+1)…(α+t−1). The sum over all t is a product of polynomials,
//
//	E = Σ_T C_T/α₀^(T),    Σ_T C_T x^T = Π_i Σ_t e_it α_i^(t) x^t,
//
// exact, with positive terms alone, in m² steps for m votes. Derivatives run the product backwards.
// Rising factorials are divided by powers of α₀ + m, which keeps them in range.
type manyWork struct {
	h       *raterHead
	train   bool      // whether to compute slopes
	alpha   []float64 // [d]
	weights []float64 // [K]
	like    []float64 // [K]
	slopes  []float64 // [K, d] ∂ log L_k/∂ log α
	voted   []votedClass
	whole   []float64 // 1/α₀^(T), [m+1]
	partial []float64 // product of the first classes, then of one more each time
	adjoint []float64 // of the product
	spare   []float64
	leave   []float64
}

// votedClass is a class with votes.
type votedClass struct {
	class  int
	votes  []genuine
	e      []float64 // coefficients, [S+1]
	a      []float64 // e_t α^(t)
	rising []float64 // α^(t)
	back   []float64 // Σ_k w_k ∂L_k/∂e_t
}

// genuine is a vote: the probability that it is not a guess, the probability that it is a guess for this
// class, and the index of the rating, −1 if the rater is not named.
type genuine struct {
	sure, guess float64 // 1 − g, g π
	rating      int
}

func newManyWork(h *raterHead) *manyWork {
	k, d := h.components, h.classes
	return &manyWork{h: h, alpha: make([]float64, d), weights: make([]float64, k), like: make([]float64, k),
		slopes: make([]float64, k*d), voted: make([]votedClass, 0, d)}
}

func (w *manyWork) loss(j int) float64 {
	h := w.h
	k, d, width := h.components, h.classes, h.Outputs()
	e := h.exps[j*width:][:width]
	w.gather(h.batch.Counts.Item(j), h.batch.Ratings[h.first[j]:h.first[j+1]])
	weigh(w.weights, e[:k], h.out[j*width:][:k])
	like := 0.0
	w.train = h.train
	for c := range k {
		for i, x := range e[k+c*d:][:d] {
			w.alpha[i] = float64(x)
		}
		like += w.weights[c] * w.component(c, w.alpha)
	}
	like = max(like, 1e-300)
	if h.train {
		gradient(h.grad[j*width:][:width], w.weights, w.like, w.slopes, like, h.scale)
		w.score(h.scores[h.first[j]:h.first[j+1]], like)
	}
	return -math.Log(like)
}

// gather sorts votes by class and multiplies out their polynomials.
func (w *manyWork) gather(counts []float32, ratings []Rating) {
	h := w.h
	w.voted = w.voted[:0]
	for i, s := range counts {
		if s == 0 {
			continue
		}
		at := len(w.voted)
		w.voted = w.voted[:at+1]
		v := &w.voted[at]
		v.class, v.votes = i, v.votes[:0]
		for l, r := range ratings {
			if int(r.Class) == i {
				g := h.known[r.Rater].guess
				v.votes = append(v.votes, genuine{1 - g, g * float64(h.taste[int(r.Rater)*h.classes+i]), l})
			}
		}
		for len(v.votes) < int(s+0.5) {
			g := h.average.guess
			v.votes = append(v.votes, genuine{1 - g, g * h.usual[i], -1})
		}
		v.ready()
	}
}

// ready computes the coefficients of the class's votes.
func (v *votedClass) ready() {
	n := len(v.votes) + 1
	v.e, v.a, v.rising, v.back = room(v.e, n), room(v.a, n), room(v.rising, n), room(v.back, n)
	multiply(v.e, v.votes, -1)
	clear(v.back)
}

// multiply fills e with the coefficients of Π (sure·x + guess) over all votes but one.
func multiply(e []float64, votes []genuine, but int) {
	clear(e)
	e[0] = 1
	n := 0
	for l, v := range votes {
		if l == but {
			continue
		}
		n++
		for t := n; t > 0; t-- {
			e[t] = e[t]*v.guess + e[t-1]*v.sure
		}
		e[0] *= v.guess
	}
}

// component returns the likelihood under one Dirichlet distribution and, in training, fills in its
// slopes and adds to the derivatives with respect to the classes' coefficients.
func (w *manyWork) component(c int, alpha []float64) float64 {
	m, a0 := 0, special.Sum(alpha)
	for i := range w.voted {
		m += len(w.voted[i].votes)
	}
	unit := 1 / (a0 + float64(m))
	w.whole = room(w.whole, m+1)
	w.whole[0] = 1
	for t := range m {
		w.whole[t+1] = w.whole[t] / ((a0 + float64(t)) * unit)
	}
	// partial holds the products of the first 0, 1, … classes, one behind the other.
	w.partial = append(w.partial[:0], 1)
	from, degree := 0, 0
	for i := range w.voted {
		v := &w.voted[i]
		a := alpha[v.class]
		v.rising[0] = 1
		for t := 1; t < len(v.e); t++ {
			v.rising[t] = v.rising[t-1] * (a + float64(t-1)) * unit
		}
		for t, x := range v.e {
			v.a[t] = x * v.rising[t]
		}
		n := degree + len(v.votes)
		to := len(w.partial)
		w.partial = append(w.partial, make([]float64, n+1)...)
		product, by := w.partial[to:], w.partial[from:][:degree+1]
		for s, x := range by {
			for t, y := range v.a {
				product[s+t] += x * y
			}
		}
		from, degree = to, n
	}
	like, slope0 := 0.0, 0.0
	sum := 0.0 // Σ 1/(α₀+t)
	for t, x := range w.partial[from:][:m+1] {
		x *= w.whole[t]
		like += x
		slope0 += x * sum
		sum += 1 / (a0 + float64(t))
	}
	w.like[c] = like
	if w.train {
		w.backward(c, alpha, from, like, slope0)
	}
	return like
}

// backward fills in the slopes of component c; the product of all classes begins at w.partial[from].
func (w *manyWork) backward(c int, alpha []float64, from int, like, slope0 float64) {
	d := len(alpha)
	slopes := w.slopes[c*d:][:d]
	if !(like > 1e-300) {
		clear(slopes)
		return
	}
	for i, a := range alpha {
		slopes[i] = -a * slope0 / like
	}
	degree := len(w.whole) - 1
	w.adjoint = append(w.adjoint[:0], w.whole...)
	for i := len(w.voted) - 1; i >= 0; i-- {
		v := &w.voted[i]
		degree -= len(v.votes)
		from -= degree + 1
		before := w.partial[from:][:degree+1]
		a := alpha[v.class]
		sum, up := 0.0, 0.0 // h(α, t), Σ ∂L/∂a_t a_t h
		for t, x := range v.a {
			adjoint := 0.0
			for s, y := range before {
				adjoint += y * w.adjoint[s+t]
			}
			v.back[t] += w.weights[c] * adjoint * v.rising[t]
			up += adjoint * x * sum
			sum += 1 / (a + float64(t))
		}
		slopes[v.class] += a * up / like
		w.spare = room(w.spare, degree+1)
		for s := range before {
			w.spare[s] = 0
			for t, x := range v.a {
				w.spare[s] += x * w.adjoint[s+t]
			}
		}
		w.adjoint = append(w.adjoint[:0], w.spare...)
	}
}

// score fills the scores of the votes.
func (w *manyWork) score(scores []score, like float64) {
	for i := range w.voted {
		v := &w.voted[i]
		w.leave = room(w.leave, len(v.e))
		for l, vote := range v.votes {
			if vote.rating < 0 {
				continue
			}
			multiply(w.leave, v.votes, l)
			guessed := 0.0
			for t, x := range w.leave[:len(v.votes)] {
				guessed += x * v.back[t]
			}
			guessed *= vote.guess / like
			scores[vote.rating] = score{guess: guessed - (1 - vote.sure), guessed: guessed}
		}
	}
}
