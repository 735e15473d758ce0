package head

import (
	"math"
	"slices"

	"credence/internal/kernel"
	"credence/internal/special"
)

// twoWork computes the loss of items of two classes: an integral over z by the trapezoidal rule
// ([special.LogitWindow]). Components of about the same width that overlap share a section of a grid, and
// the likelihood of the votes at its nodes. With u the weight of a node, T the likelihood there and L_k = ΣuT/Σu,
//
//	NLL = −log Σ_k w_k L_k,
//	∂ log L_k/∂a = ΣuT log p/ΣuT − Σu log p/Σu,
//
// and likewise for b with log(1−p): the sums normalize the density, and no special function is
// needed.
type twoWork struct {
	h        *raterHead
	voters   []voter
	windows  []special.LogitWindow // [K]
	weights  []float64             // [K]
	like     []float64             // [K] L_k
	slopes   []float64             // [K, 2] ∂ log L_k/∂ log α
	masses   []float64             // [K] Σu
	at       []int                 // [K+1] where the nodes of a component begin
	u        []float32             // of all components
	sections []gridWork            // [K] sections of grids, of which the first `used` are in use
	used     int
	in       []int // [K] index into sections of each component
}

// voter is a vote, and who cast it.
type voter struct {
	odds, guess float64 // e^b, g
	one         bool    // a vote for the second class
}

// gridWork is the likelihood of an item's votes at some nodes of a grid.
type gridWork struct {
	level  int
	lo, hi int
	like   []float64 // p = 0, nodes lo … hi, p = 1
	post   []float64 // posterior mass of the same, up to the likelihood
	prob   []float64 // P(v) by vote and node
	before []float64 // likelihood of the votes before, by vote and node
	spare  []float64
	log    float64 // logarithm of a common factor of like

	unnamed bool // whether like has votes that are not in prob
}

func newTwoWork(h *raterHead) *twoWork {
	k := h.components
	return &twoWork{
		h: h, windows: make([]special.LogitWindow, k), weights: make([]float64, k), like: make([]float64, k),
		slopes: make([]float64, 2*k), masses: make([]float64, k), at: make([]int, k+1),
		sections: make([]gridWork, k), in: make([]int, k),
	}
}

func (w *twoWork) loss(j int) float64 {
	h := w.h
	k, width := h.components, h.Outputs()
	e := h.exps[j*width:][:width]
	s := h.batch.Counts.Item(j)
	ratings := h.batch.Ratings[h.first[j]:h.first[j+1]]
	w.voters = w.voters[:0]
	shift := 0.0
	extra := [2]float64{float64(s[0]), float64(s[1])}
	for _, r := range ratings {
		shift = max(shift, math.Abs(float64(h.bias[r.Rater])))
		known := &h.known[r.Rater]
		w.voters = append(w.voters, voter{known.odds, known.guess, r.Class == 1})
		extra[r.Class]--
	}
	if extra != [2]float64{} {
		shift = max(shift, h.average.shift)
	}
	weigh(w.weights, e[:k], h.out[j*width:][:k])
	shift += reach(max(s[0], s[1]))
	w.place(e[k:], h.out[j*width+k:][:2*k], float64(s[0]), float64(s[1]), shift)
	grids := special.LogitGrids()
	for l := range w.sections[:w.used] {
		g := &w.sections[l]
		g.likelihood(&grids[g.level], w.voters, extra, &h.average)
	}
	common := w.align()
	like := w.components()
	nll := -math.Log(like) - common
	if h.train {
		gradient(h.grad[j*width:][:width], w.weights, w.like, w.slopes, like, h.scale)
		w.score(h.scores[h.first[j]:h.first[j+1]], like)
	}
	return nll
}

// weigh fills w with the weights of components, from their exponentials or, where those leave the
// range of float32, from the raw outputs.
func weigh(w []float64, e, out []float32) {
	sum := 0.0
	for k, x := range e {
		w[k] = float64(x)
		sum += w[k]
	}
	if !(sum > 1e-30) || math.IsInf(sum, 1) {
		sum = expShifted(w, out)
	}
	for k := range w {
		w[k] /= sum
	}
}

// place computes the windows of components with parameters alpha [K, 2], whose logarithms before any
// clamp are logs, the weights of their nodes, and the sections of grids that they need.
func (w *twoWork) place(alpha, logs []float32, for0, for1, shift float64) {
	limit := w.h.limit
	w.used = 0
	n := 0
	for c := range w.windows {
		mode := min(max(logs[2*c+1], -limit), limit) - min(max(logs[2*c], -limit), limit)
		win := special.NewLogitWindow(float64(alpha[2*c+1]), float64(alpha[2*c]), float64(mode), for0, for1, shift)
		w.windows[c] = win
		w.in[c] = w.sectionOf(&win)
		w.at[c] = n
		n += win.Hi - win.Lo + 1
	}
	w.at[len(w.windows)] = n
	w.u = room(w.u, n)
	for c := range w.windows {
		win := &w.windows[c]
		p, q := win.Grid.LogP[win.Lo:win.Hi+1], win.Grid.LogQ[win.Lo:win.Hi+1]
		top := win.A*win.Grid.LogP[win.Top] + win.B*win.Grid.LogQ[win.Top]
		u := w.u[w.at[c]:w.at[c+1]]
		q = q[:len(p)]
		u = u[:len(p)]
		for i, x := range p {
			u[i] = float32(win.A*x + win.B*q[i] - top)
		}
	}
	kernel.Exp(w.u, w.u)
}

// sectionOf returns the index of the grid section for a window: one that it overlaps, extended, or a new one.
func (w *twoWork) sectionOf(win *special.LogitWindow) int {
	for l := range w.sections[:w.used] {
		g := &w.sections[l]
		if g.level == win.Level && win.Lo <= g.hi+1 && win.Hi >= g.lo-1 {
			g.lo, g.hi = min(g.lo, win.Lo), max(g.hi, win.Hi)
			return l
		}
	}
	g := &w.sections[w.used]
	g.level, g.lo, g.hi = win.Level, win.Lo, win.Hi
	w.used++
	return w.used - 1
}

// likelihood fills like with the likelihood of the votes; extra are the votes without a rater, which are
// attributed to the average rater.
func (g *gridWork) likelihood(grid *special.LogitGrid, voters []voter, extra [2]float64, by *average) {
	n := g.hi - g.lo + 3
	g.like = room(g.like, n)
	g.post = room(g.post, n)
	g.prob = room(g.prob, n*len(voters))
	g.before = room(g.before, n*len(voters))
	g.log, g.unnamed = 0, extra != [2]float64{}
	for i := range g.like {
		g.like[i], g.post[i] = 1, 0
	}
	odds := grid.Odds[g.lo : g.hi+1]
	for l, v := range voters {
		v.times(g.prob[l*n:][:n], g.before[l*n:][:n], g.like, odds)
		if l%16 == 15 {
			g.rescale()
		}
	}
	for class, m := range extra {
		if m <= 0 {
			continue
		}
		g.spare = room(g.spare, 4*n)
		prob, one, before, unused := g.spare[:n], g.spare[n:2*n], g.spare[2*n:3*n], g.spare[3*n:4*n]
		clear(g.spare)
		for k, b := range by.odds {
			v := voter{b, by.guess, class == 1}
			v.times(one, before, unused, odds)
			for i, x := range one {
				prob[i] += normalWeights[k] * x
			}
		}
		for i, x := range prob {
			g.like[i] *= math.Pow(x, m)
		}
	}
}

// times fills p with the probability of the vote at p = 0, at nodes with the given odds, and at p = 1,
// before with the likelihood so far, and multiplies that by p.
func (v *voter) times(p, before, like, odds []float64) {
	sure, half := 1-v.guess, v.guess/2
	n := len(odds)
	p, before, like = p[:n+2], before[:n+2], like[:n+2]
	copy(before, like)
	if v.one {
		p[0], p[n+1] = half, sure+half
		for i, o := range odds {
			o *= v.odds
			x := sure*(o/(1+o)) + half
			p[i+1] = x
			like[i+1] *= x
		}
	} else {
		p[0], p[n+1] = sure+half, half
		for i, o := range odds {
			x := sure/(1+o*v.odds) + half
			p[i+1] = x
			like[i+1] *= x
		}
	}
	like[0] *= p[0]
	like[n+1] *= p[n+1]
}

// rescale takes a common factor out of the likelihood, which many votes would make too small.
func (g *gridWork) rescale() {
	if top := slices.Max(g.like); top > 0 {
		for i := range g.like {
			g.like[i] /= top
		}
		g.log += math.Log(top)
	}
}

// align rescales the likelihoods of all grids to one common factor, and returns its logarithm.
func (w *twoWork) align() float64 {
	if len(w.voters) < 16 {
		return 0
	}
	common := math.Inf(-1)
	for l := range w.sections[:w.used] {
		common = max(common, w.sections[l].log)
	}
	for l := range w.sections[:w.used] {
		if g := &w.sections[l]; g.log != common {
			f := math.Exp(g.log - common)
			for i := range g.like {
				g.like[i] *= f
			}
		}
	}
	return common
}

// components fills like, slopes and masses, and returns Σ w_k L_k.
func (w *twoWork) components() float64 {
	sum := 0.0
	for c := range w.windows {
		win := &w.windows[c]
		g := &w.sections[w.in[c]]
		u := w.u[w.at[c]:w.at[c+1]]
		last := len(u) - 1
		t := g.like[win.Lo-g.lo+1:][:len(u)]
		p, q := win.Grid.LogP[win.Lo:][:len(u)], win.Grid.LogQ[win.Lo:][:len(u)]
		var m, mp, mq, l, lp, lq float64
		for i, x := range u {
			y := float64(x)
			m += y
			mp += y * p[i]
			mq += y * q[i]
			y *= t[i]
			l += y
			lp += y * p[i]
			lq += y * q[i]
		}
		if win.Zero > 0 {
			y := win.Zero * float64(u[0])
			ly := y * g.like[0]
			at := p[0] + win.ZeroSlope
			m, mp, l, lp = m+y, mp+y*at, l+ly, lp+ly*at
		}
		if win.One > 0 {
			y := win.One * float64(u[last])
			ly := y * g.like[len(g.like)-1]
			at := q[last] + win.OneSlope
			m, mq, l, lq = m+y, mq+y*at, l+ly, lq+ly*at
		}
		w.masses[c], w.like[c] = m, l/m
		if !(l > 1e-300) {
			l = math.Inf(1) // no slope
		}
		w.slopes[2*c] = win.B * (lq/l - mq/m)
		w.slopes[2*c+1] = win.A * (lp/l - mp/m)
		sum += w.weights[c] * w.like[c]
	}
	return max(sum, 1e-300)
}

// gradient fills in the gradient of the raw outputs, times the scale of the batch, given the components' weights [K],
// likelihoods [K] and slopes [K, d], and the likelihood of the mixture.
func gradient(grad []float32, weights, likes, slopes []float64, like, scale float64) {
	k := len(weights)
	d := len(slopes) / k
	for c, w := range weights {
		r := w * likes[c] / like
		grad[c] = float32(scale * (w - r))
		for i := range d {
			grad[k+c*d+i] = flushed(-scale * r * slopes[c*d+i])
		}
	}
}

// flushed applies flush to a number of either sign.
func flushed(x float64) float32 { return float32(math.Copysign(flush(math.Abs(x)), x)) }

// score fills in the scores of the votes: expectations under the item's posterior.
func (w *twoWork) score(scores []score, like float64) {
	for c := range w.windows {
		win := &w.windows[c]
		g := &w.sections[w.in[c]]
		u := w.u[w.at[c]:w.at[c+1]]
		f := w.weights[c] / (w.masses[c] * like)
		post := g.post[win.Lo-g.lo+1:][:len(u)]
		for i, x := range u {
			post[i] += f * float64(x)
		}
		g.post[0] += f * win.Zero * float64(u[0])
		g.post[len(g.post)-1] += f * win.One * float64(u[len(u)-1])
	}
	clear(scores)
	for l := range w.sections[:w.used] {
		g := &w.sections[l]
		g.others(len(scores))
		n := len(g.like)
		for v := range scores {
			prob, rest := g.prob[v*n:][:n], g.before[v*n:][:n]
			voter := &w.voters[v]
			half := voter.guess / 2
			slope, inverse := 0.0, 0.0
			for i, x := range rest {
				inverse += x
				y := prob[i] - half // (1−g) of σ or 1 − σ
				slope += x * y * (1 - voter.guess - y)
			}
			slope /= 1 - voter.guess
			if !voter.one {
				slope = -slope
			}
			scores[v].bias += slope
			scores[v].guessed += inverse * voter.guess / 2
		}
	}
	for v := range scores {
		scores[v].guess = scores[v].guessed - w.voters[v].guess
	}
}

// others replaces before, for each vote, by the posterior mass of the nodes divided by the likelihood of that
// vote: the likelihood of all other votes times the prior mass. With few votes no division is needed.
func (g *gridWork) others(votes int) {
	n := len(g.like)
	if votes >= 16 || g.unnamed {
		for i, x := range g.like {
			g.post[i] *= x
		}
		for v := range votes {
			rest, prob := g.before[v*n:][:n], g.prob[v*n:][:n]
			for i, x := range g.post {
				rest[i] = x / prob[i]
			}
		}
		return
	}
	after := g.post[:n] // mass times the likelihood of the votes after
	for v := votes - 1; v >= 0; v-- {
		rest, prob := g.before[v*n:][:n], g.prob[v*n:][:n]
		for i, x := range after {
			rest[i] *= x
			after[i] = x * prob[i]
		}
	}
}
