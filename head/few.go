package head

import (
	"math"
	"slices"
)

// fewVotes is up to how many votes an item's likelihood is multiplied out. The
// products stay within e^±(20·16) ≈ 1e±139, far from the ends of float64.
const fewVotes = 16

// faintest is the least weight taken from exponentials in float32.
const faintest = 1e-34

// fewWork is the scratch of one worker for items with few votes.
type fewWork struct {
	weights      []float64 // [K]
	like, rising []float64 // likelihood [K] and gradient of its log [K·d]
}

// newFewWork keeps all of it in memory of its own, two cache lines beyond which no other
// worker writes: what two cores write in one line goes back and forth between them.
func newFewWork(k, d int) *fewWork {
	const apart = 16
	n := 2*k + k*d
	all := make([]float64, apart+n+apart)[apart:][:n:n]
	return &fewWork{weights: all[:k:k], like: all[k : 2*k : 2*k], rising: all[2*k:]}
}

// nll returns exp(NLL) of an item with m whole votes, 1 ≤ m ≤ fewVotes, as a
// product of rising factorials, without any special function, and fills g with
// the gradient of the NLL times scale. With u_t = 1/(α₀+t), the likelihood of a component and the
// derivative of its logarithm are
//
//	p = ∏_i ∏_{t<S_i} (α_i+t) · ∏_{t<m} u_t
//	∂ log p/∂ log α_i = Σ_{t<S_i} α_i/(α_i+t)·(α₀−α_i)·u_t − α_i Σ_{t=S_i}^{m−1} u_t
//
// where α₀ − α_i of a large α_i is summed from the other α, so that nothing
// cancels. e holds the unnormalized weights [K] and α [K,d] of the
// item, out its raw outputs.
func (h *fewWork) nll(g, e, out, s []float32, m, scale float64) float64 {
	k, d := len(h.weights), len(s)
	w, alpha, like := h.weights, e[k:], h.like
	if d == 2 && m == 2 {
		h.two(alpha, s)
	} else {
		h.products(alpha, s, int(m))
	}
	faint := false
	for c, x := range e[:k] {
		w[c] = float64(x)
		if x < faintest {
			w[c], faint = 0, true
		}
	}
	weight, total := sums(w, like)
	if faint && !(total > 1e-14) {
		// A component whose weight is beyond the range of float32 may be the
		// only one that explains the votes.
		top := float64(slices.Max(out[:k]))
		for c, x := range out[:k] {
			w[c] = math.Exp(float64(x) - top)
		}
		weight, total = sums(w, like)
	}
	if g == nil {
		return weight / total
	}
	a, b := scale/weight, scale/total
	ga, rising := g[k:], h.rising
	if d == 2 {
		ga, rising = ga[:2*len(w)], rising[:2*len(w)]
		for c, x := range w {
			p, r := flush(x*a), flush(x*like[c]*b)
			g[c] = float32(p - r)
			ga[2*c] = float32(-r * rising[2*c])
			ga[2*c+1] = float32(-r * rising[2*c+1])
		}
		return weight / total
	}
	for c, x := range w {
		p, r := flush(x*a), flush(x*like[c]*b) // weight, responsibility
		g[c] = float32(p - r)
		row := rising[c*d:][:d]
		for i, q := range row {
			ga[c*d+i] = float32(-r * q)
		}
	}
	return weight / total
}

// sums returns Σ w and Σ w·p.
func sums(w, p []float64) (weight, total float64) {
	p = p[:len(w)]
	for c, x := range w {
		weight += x
		total += x * p[c]
	}
	return weight, total
}

// flush returns x ≥ 0, or zero where it is too small to matter. Gradients near
// the smallest float32 make a network's products subnormal, and those take a
// processor a hundred times longer.
func flush(x float64) float64 {
	if x < 1e-30 {
		return 0
	}
	return x
}

// products fills h.like with the likelihood of each component and h.rising
// with the gradient of its logarithm.
func (h *fewWork) products(alpha, s []float32, m int) {
	d := len(s)
	var u, tail [fewVotes + 1]float64
	for c := range h.like {
		al, q := alpha[c*d:][:d], h.rising[c*d:][:d]
		a0 := 0.0
		for _, x := range al {
			a0 += float64(x)
		}
		p := 1.0
		tail[m] = 0
		for t := m - 1; t >= 0; t-- {
			u[t] = 1 / (a0 + float64(t))
			tail[t] = tail[t+1] + u[t]
			p *= u[t]
		}
		for i, x := range al {
			a, si := float64(x), int(s[i])
			if si == 0 {
				q[i] = -a * tail[0]
				continue
			}
			rest := a0 - a
			if a > 0.5*a0 { // cancels; at most one class does
				rest = 0
				for j, y := range al {
					if j != i {
						rest += float64(y)
					}
				}
			}
			p *= a
			up := u[0]
			for t := 1; t < si; t++ {
				at := a + float64(t)
				p *= at
				up += a / at * u[t]
			}
			q[i] = rest*up - a*tail[si]
		}
		h.like[c] = p
	}
}

// two is products for two classes and two votes, the smallest case of
// interest and the one timed most.
func (h *fewWork) two(alpha, s []float32) {
	like := h.like
	alpha = alpha[:2*len(like)]
	rising := h.rising[:2*len(like)]
	if s[0] == 1 {
		for c := range like {
			a, b := float64(alpha[2*c]), float64(alpha[2*c+1])
			a0 := a + b
			a1 := a0 + 1
			inv := 1 / (a0 * a1)
			u, v := a1*inv, a0*inv
			like[c] = a * b * inv
			rising[2*c] = b*u - a*v
			rising[2*c+1] = a*u - b*v
		}
		return
	}
	won := 0 // the class with both votes
	if s[0] == 0 {
		won = 1
	}
	for c := range like {
		a, b := float64(alpha[2*c+won]), float64(alpha[2*c+1-won])
		a0 := a + b
		a1 := a0 + 1
		inv := 1 / (a0 * a1)
		u, v := a1*inv, a0*inv
		like[c] = a * (a + 1) * inv
		rising[2*c+won] = b * (u + a/(a+1)*v)
		rising[2*c+1-won] = -b * (u + v)
	}
}
