package head

import (
	"math"

	"credence/internal/special"
)

// twoWork computes the loss of items of two classes: an integral over z by the trapezoidal rule
// ([special.LogitWindow]). Components of about the same width share a grid, and the likelihood of
// the votes at its nodes. With u the weight of a node, T the likelihood there and L_k = ΣuT/Σu,
//
//	NLL = −log Σ_k w_k L_k,
//	∂ log L_k/∂a = ΣuT log p/ΣuT − Σu log p/Σu,
//
// and likewise for b with log(1−p): the sums normalize the density, and no special function is
// needed.
type twoWork struct {
	h       *raterHead
	voters  []voter
	windows []special.LogitWindow // [K]
	weights []float64             // [K]
	like    []float64             // [K] L_k
	slopes  []float64             // [K, 2] ∂ log L_k/∂ log α
	masses  []float64             // [K] Σu
	at      []int                 // [K+1] where the nodes of a component begin
	u       []float32             // of all components
	grids   []gridWork            // by level
}

// voter is a vote, and who cast it.
type voter struct {
	odds, guess float64 // e^b, g
	one         bool    // a vote for the second class
}

// gridWork is the likelihood of an item's votes at nodes of one grid.
type gridWork struct {
	used   bool
	lo, hi int
	like   []float64 // p = 0, nodes lo … hi, p = 1
	post   []float64 // posterior mass of the same, up to the likelihood
	inv    []float64 // 1 − σ(z+b) by vote and node
	prob   []float64 // P(v) by vote and node
	spare  []float64
	log    float64 // logarithm of a common factor of like
}

func newTwoWork(h *raterHead) *twoWork {
	k := h.components
	return &twoWork{
		h: h, windows: make([]special.LogitWindow, k), weights: make([]float64, k), like: make([]float64, k),
		slopes: make([]float64, 2*k), masses: make([]float64, k), at: make([]int, k+1),
		grids: make([]gridWork, len(special.LogitGrids())),
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
		shift = max(shift, math.Abs(float64(h.lean[r.Rater])))
		known := &h.known[r.Rater]
		w.voters = append(w.voters, voter{known.odds, known.guess, r.Class == 1})
		extra[r.Class]--
	}
	weigh(w.weights, e[:k], h.out[j*width:][:k])
	if most := max(s[0], s[1]); most < 7 {
		shift += 2
	} else {
		shift += math.Log1p(float64(most))
	}
	w.place(e[k:], h.out[j*width+k:][:2*k], float64(s[0]), float64(s[1]), shift)
	for l := range w.grids {
		if g := &w.grids[l]; g.used {
			g.likelihood(&special.LogitGrids()[l], w.voters, extra, h.average.guess)
		}
	}
	common := w.align()
	like := w.components()
	nll := -math.Log(like) - common
	if h.train {
		w.gradient(h.grad[j*width:][:width], like)
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
		top := math.Inf(-1)
		for _, x := range out {
			top = max(top, float64(x))
		}
		sum = 0
		for k, x := range out {
			w[k] = math.Exp(float64(x) - top)
			sum += w[k]
		}
	}
	for k := range w {
		w[k] /= sum
	}
}

// place finds the windows of components with parameters alpha [K, 2], whose logarithms before any
// clamp are logs, the weights of their nodes, and what part of which grids they need.
func (w *twoWork) place(alpha, logs []float32, for0, for1, shift float64) {
	limit := w.h.limit
	for l := range w.grids {
		w.grids[l].used = false
	}
	n := 0
	for c := range w.windows {
		mode := min(max(logs[2*c+1], -limit), limit) - min(max(logs[2*c], -limit), limit)
		win := special.NewLogitWindow(float64(alpha[2*c+1]), float64(alpha[2*c]), float64(mode), for0, for1, shift)
		w.windows[c] = win
		g := &w.grids[win.Level]
		if !g.used {
			g.used, g.lo, g.hi = true, win.Lo, win.Hi
		}
		g.lo, g.hi = min(g.lo, win.Lo), max(g.hi, win.Hi)
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
	exp(w.u, w.u)
}

// likelihood fills like with that of the votes, extra of which have no rater's name and are taken to
// be by one who does not lean and guesses as often as is usual.
func (g *gridWork) likelihood(grid *special.LogitGrid, voters []voter, extra [2]float64, guess float64) {
	n := g.hi - g.lo + 3
	g.like = room(g.like, n)
	g.post = room(g.post, n)
	g.inv = room(g.inv, n*len(voters))
	g.prob = room(g.prob, n*len(voters))
	g.log = 0
	for i := range g.like {
		g.like[i], g.post[i] = 1, 0
	}
	odds := grid.Odds[g.lo : g.hi+1]
	for l, v := range voters {
		v.chances(g.prob[l*n:][:n], g.inv[l*n:][:n], odds)
		g.times(g.prob[l*n:][:n], l)
	}
	for class, m := range extra {
		if m <= 0 {
			continue
		}
		v := voter{1, guess, class == 1}
		g.spare = room(g.spare, 2*n)
		v.chances(g.spare[:n], g.spare[n:], odds)
		for i, x := range g.spare[:n] {
			g.like[i] *= math.Pow(x, m)
		}
	}
}

// chances fills p with the probability of the vote at p = 0, at nodes with the given odds, and at
// p = 1, and inv with 1 − σ(z+b).
func (v *voter) chances(p, inv, odds []float64) {
	sure, half := 1-v.guess, v.guess/2
	last := len(p) - 1
	in, pr := inv[1:last], p[1:last]
	odds = odds[:len(pr)]
	in = in[:len(pr)]
	inv[0], inv[last] = 1, 0
	if v.one {
		p[0], p[last] = half, sure+half
		for i, o := range odds {
			o *= v.odds
			y := 1 / (1 + o)
			in[i] = y
			pr[i] = sure*(o*y) + half
		}
		return
	}
	p[0], p[last] = sure+half, half
	for i, o := range odds {
		y := 1 / (1 + o*v.odds)
		in[i] = y
		pr[i] = sure*y + half
	}
}

// times multiplies the likelihood by that of vote l, and takes out a common factor now and then.
func (g *gridWork) times(p []float64, l int) {
	like := g.like[:len(p)]
	for i, x := range p {
		like[i] *= x
	}
	if l%16 != 15 {
		return
	}
	top := 0.0
	for _, x := range like {
		top = max(top, x)
	}
	if top > 0 {
		for i := range like {
			like[i] /= top
		}
		g.log += math.Log(top)
	}
}

// align gives the likelihoods of all grids one common factor, and returns its logarithm.
func (w *twoWork) align() float64 {
	if len(w.voters) < 16 {
		return 0
	}
	common := math.Inf(-1)
	for l := range w.grids {
		if w.grids[l].used {
			common = max(common, w.grids[l].log)
		}
	}
	for l := range w.grids {
		if g := &w.grids[l]; g.used && g.log != common {
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
		g := &w.grids[win.Level]
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

// gradient fills that of the raw outputs, times the scale of the batch.
func (w *twoWork) gradient(grad []float32, like float64) {
	k, scale := len(w.windows), w.h.scale
	for c := range k {
		r := w.weights[c] * w.like[c] / like
		grad[c] = float32(scale * (w.weights[c] - r))
		for i := range 2 {
			grad[k+2*c+i] = flushed(-scale * r * w.slopes[2*c+i])
		}
	}
}

// flushed is flush for either sign.
func flushed(x float64) float32 { return float32(math.Copysign(flush(math.Abs(x)), x)) }

// score fills the scores of the votes: expectations under the item's posterior.
func (w *twoWork) score(scores []score, like float64) {
	for c := range w.windows {
		win := &w.windows[c]
		g := &w.grids[win.Level]
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
	for l := range w.grids {
		g := &w.grids[l]
		if !g.used {
			continue
		}
		n := len(g.like)
		for i, x := range g.like {
			g.post[i] *= x
		}
		for v := range scores {
			prob, inv := g.prob[v*n:][:n], g.inv[v*n:][:n]
			slope, inverse := 0.0, 0.0
			for i, x := range g.post[:n] {
				x /= prob[i]
				inverse += x
				slope += x * inv[i] * (1 - inv[i])
			}
			voter := &w.voters[v]
			slope *= 1 - voter.guess
			if !voter.one {
				slope = -slope
			}
			scores[v].lean += slope
			scores[v].guessed += inverse * voter.guess / 2
		}
	}
	for v := range scores {
		scores[v].guess = scores[v].guessed - w.voters[v].guess
	}
}
