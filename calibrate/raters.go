package calibrate

import (
	"fmt"
	"math"
	"slices"

	"credence/head"
	"credence/internal/special"
)

// Few named raters. Pairs are votes of distinct raters r ≠ s, so they estimate C_rs = E[(p_r−μ)(p_s−μ)] only, where p_r
// is the probability that rater r votes for a class. The squared error of the mean p̄ = Σ π_r p_r over raters who cast
// the shares π_r of the votes also has a diagonal,
//
//	E(p̄−μ)² = Σ_{r≠s} π_r π_s C_rs + Σ_r π_r² C_rr,   C_rr = E(m_r−μ)² + λ_r²,
//
// with m_r the regression of r's votes on μ, and λ_r λ_s the covariances of the residuals of r and s (a one-factor
// model). It is added where raters are few and their regressions differ beyond chance. Where they do not, and for votes
// without names, votes are taken for exchangeable: C_rr = C_rs, which pairs estimate with less noise.
//
// p̄ is the mean of these raters. With S² = mean C_rr − mean C_rs the variance between raters at an item, and
// R_n = 1/Σπ_r² their effective number, the diagonal adds S²/R_n to what pairs show. Raters drawn from a population
// differ from its mean P by as much again, in a direction that votes cannot show,
//
//	E(P−μ)² = E(p̄−μ)² + S²/R_n.

// The populations of raters whose mean intervals are for.
const (
	These     = "these"      // the raters of training, by their shares of the votes: p̄
	LikeThese = "like-these" // the population that they were drawn from: P
)

// Raters describes whose mean intervals are for.
type Raters struct {
	Population string `json:"population"` // These or LikeThese
	// Effective is R_n, the effective number of raters; 0 if votes do not have names. Votes without names are taken
	// for those of many raters of one population.
	Effective float64 `json:"effective,omitempty"`
	// Spread is S²/R_n relative to the mean predicted variance of single networks; 0 where raters are many, or do not differ
	// beyond chance, or too few votes of them overlap.
	Spread float64 `json:"spread,omitempty"`
}

// Few reports whether raters are named, and so few that it matters which ones voted.
func (r *Raters) Few() bool { return r.Effective > 0 && r.Effective <= maxRaters }

func (r *Raters) check() error {
	if r.Population != These && r.Population != LikeThese || !(r.Effective >= 0) || !(r.Spread >= 0) {
		return fmt.Errorf("calibration: expected raters of %q or %q, found %q, %v effective raters and the spread %v",
			These, LikeThese, r.Population, r.Effective, r.Spread)
	}
	return nil
}

// NewRaters describes raters with the given numbers of votes; none if votes do not have names.
func NewRaters(population string, votes []int) *Raters {
	total, squares := 0.0, 0.0
	for _, n := range votes {
		total += float64(n)
		squares += float64(n) * float64(n)
	}
	r := &Raters{Population: population}
	if squares > 0 {
		r.Effective = total * total / squares
	}
	return r
}

// RateBy sets whose mean intervals are for.
func (h *HeldOut) RateBy(r *Raters) { h.raters = r }

// Raters returns whose mean intervals are for, nil if RateBy was not called. Its Spread is known after a Calibration.
func (h *HeldOut) Raters() *Raters { return h.raters }

const (
	// maxRaters is the largest effective number of raters, 1/Σπ_r², for which the diagonal is added.
	maxRaters = 20
	// minRaterVotes is the smallest number of votes of a rater whose regression is fitted.
	minRaterVotes = 20
	// differZ is the number of standard deviations by which raters have to differ.
	differZ = 4
)

// namedVote is the vote of a rater on an item with the predicted means.
type namedVote struct {
	mean  []float64
	rater int32
	class int32
}

// AddNamed adds the votes of named raters on an item with the predicted distribution of one network. It is called in
// addition to Add, for models without raters.
func (h *HeldOut) AddNamed(decoded *head.Decoded, votes []head.Rating) {
	if decoded.Dist == nil {
		return
	}
	for _, v := range votes {
		if v.Rater >= 0 {
			h.named = append(h.named, namedVote{decoded.Mean, v.Rater, v.Class})
		}
	}
	if n := len(h.named); n > 0 {
		h.ends = append(h.ends, n)
	}
}

// diagonal returns the share by which pairs count less, and what is added for the errors of single raters, per item and summed
// over classes: Σπ_r² and Σ_r π_r² C_rr for these raters, and S²/R_n more for the population that they were drawn from.
func (h *HeldOut) diagonal() (share, own float64) {
	_, shown, claimed := h.sum(-1)
	n := float64(len(h.dists))
	like := h.raters != nil && h.raters.Population == LikeThese
	spread := 0.0
	if h.raterModel != nil {
		if like && h.raters.Few() {
			spread = h.modelSpread()
		}
	} else if share, own = h.singleErrors(); share > 0 {
		spread = max(own-share*special.Sum(shown)/n, 0)
	}
	if h.raters != nil {
		h.raters.Spread = spread * n / special.Sum(claimed)
	}
	if like {
		own += spread
	}
	return share, own
}

// spreadItems is the number of items over which the spread between raters of a rater model is averaged.
const spreadItems = 500

// modelSpread returns S²/R_n of a rater model: with m_r the probability that rater r votes for a class, and m̄ their mean,
//
//	S²/R_n = Σ_r π_r (m_r − m̄)² · Σπ_r²/(1 − Σπ_r²).
//
// Its p̄ is that of these raters, so that nothing is added for it.
func (h *HeldOut) modelSpread() float64 {
	c := h.raterModel
	total, share := special.Sum(c.Votes), 0.0
	for _, v := range c.Votes {
		share += v * v / (total * total)
	}
	every := (len(h.dists) + spreadItems - 1) / spreadItems
	sum, items := 0.0, 0
	for j := 0; j < len(h.dists) && share < 1; j += every {
		means := make([][]float64, len(c.Votes))
		average := make([]float64, c.Classes)
		for r, v := range c.Votes {
			var err error
			if means[r], err = c.Chances(h.dists[j], r); err != nil {
				return 0 // cannot occur: all raters are in the model
			}
			for i, m := range means[r] {
				average[i] += v / total * m
			}
		}
		for r, v := range c.Votes {
			for i, m := range means[r] {
				sum += v / total * (m - average[i]) * (m - average[i])
			}
		}
		items++
	}
	return sum / float64(max(items, 1)) * share / (1 - share)
}

// singleErrors computes share = Σπ_r² and own = Σ_r π_r² C_rr, summed over classes; share is 0 if raters are many, do not
// differ, have too few votes, or no three of them overlap.
func (h *HeldOut) singleErrors() (share, own float64) {
	index, count := map[int32]int{}, []int{}
	for _, v := range h.named {
		k, ok := index[v.rater]
		if !ok {
			k = len(count)
			index[v.rater], count = k, append(count, 0)
		}
		count[k]++
	}
	n := len(count)
	pi := make([]float64, n)
	for k, c := range count {
		pi[k] = float64(c) / float64(len(h.named))
		share += pi[k] * pi[k]
	}
	if n < 3 || share < 1./maxRaters {
		return 0, 0
	}
	differ := false
	for c := range h.sums[0].classes {
		x := h.regress(index, n, int32(c))
		differ = differ || x.differ
		lambda, ok := oneFactor(x.products, x.pairs, x.noise)
		if !ok {
			return 0, 0
		}
		for k := range n {
			if count[k] < minRaterVotes {
				return 0, 0
			}
			own += pi[k] * pi[k] * (x.off[k] + lambda[k]*lambda[k])
		}
	}
	if !differ {
		return 0, 0
	}
	return share, own
}

// regression has the regressions of raters' votes for a class on the predicted mean.
type regression struct {
	off             []float64 // E(m_r − μ)² by rater, without its sampling error
	products, pairs []float64 // [n×n] sums of products of residuals of two raters on an item, and their number
	noise           []float64 // mean squared residual by rater
	differ          bool      // whether raters differ from each other beyond chance
}

// regress fits the regressions of votes for a class, m_r = a_r + b_r μ.
func (h *HeldOut) regress(index map[int32]int, n int, class int32) regression {
	type sums struct{ n, x, xx, y, xy, yy, ee, off float64 }
	of := make([]sums, n)
	var all sums
	vote := func(v namedVote) (k int, mu, y float64) {
		if v.class == class {
			y = 1
		}
		return index[v.rater], v.mean[class], y
	}
	for _, v := range h.named {
		k, mu, y := vote(v)
		for _, s := range []*sums{&of[k], &all} {
			s.n, s.x, s.xx, s.y, s.xy, s.yy = s.n+1, s.x+mu, s.xx+mu*mu, s.y+y, s.xy+mu*y, s.yy+y*y
		}
	}
	slopeOf := func(s *sums) float64 {
		if spread := s.xx - s.x*s.x/s.n; spread > 1e-9*s.n {
			return (s.xy - s.x*s.y/s.n) / spread
		}
		return 0
	}
	predict := func(k int, mu float64) float64 {
		s := &of[k]
		return s.y/s.n + slopeOf(s)*(mu-s.x/s.n)
	}
	r := regression{off: make([]float64, n), products: make([]float64, n*n), pairs: make([]float64, n*n), noise: make([]float64, n)}
	from := 0
	residuals := []float64{}
	for _, end := range h.ends {
		item := h.named[from:end]
		residuals = residuals[:0]
		for _, v := range item {
			k, mu, y := vote(v)
			m := predict(k, mu)
			e := y - m
			of[k].ee += e * e
			of[k].off += (m - mu) * (m - mu)
			residuals = append(residuals, e)
		}
		for i, v := range item {
			for j, w := range item {
				if a, b := index[v.rater], index[w.rater]; a != b {
					r.products[a*n+b] += residuals[i] * residuals[j]
					r.pairs[a*n+b]++
				}
			}
		}
		from = end
	}
	residual := 0.0 // squares that are left by regressions of single raters
	for k, s := range of {
		residual += s.ee
		r.noise[k] = s.ee / s.n
		r.off[k] = max(s.off/s.n-2*s.ee/(s.n*max(s.n-2, 1)), 0) // less the variance of two fitted coefficients
	}
	// Against one regression for all raters, their own ones gain about χ² with 2(n−1) degrees of freedom.
	common := all.yy - all.y*all.y/all.n - slopeOf(&all)*(all.xy-all.x*all.y/all.n)
	freedom := float64(2 * (n - 1))
	r.differ = common-residual > residual/all.n*(freedom+differZ*math.Sqrt(2*freedom))
	return r
}

// likeFactors is the standard deviation of the factors of raters, up to their sign and relative to the common one.
const likeFactors = 0.5

// oneFactor fits λ to covariances of the residuals of raters with the given mean squares, by alternating least squares,
//
//	Σ_{r<s} n_rs (products_rs/n_rs − λ_r λ_s)²/(noise_r noise_s) + Σ_r (λ_r − s_r λ₀)²/(λ₀/2)² → min,
//
// where s_r = ±1 is the sign of r's covariances with the others and λ₀² the mean of s_r s_s products. Without the second term one λ
// can grow without bound while the others vanish, if few votes overlap. It reports whether every rater shares items
// with others, and three raters overlap.
func oneFactor(products, pairs, noise []float64) (lambda []float64, ok bool) {
	n := len(noise)
	linked := 0
	for r := range n {
		if special.Sum(pairs[r*n:(r+1)*n]) > 0 && noise[r] > 0 {
			linked++
		}
	}
	if linked < max(n, 3) {
		return nil, false
	}
	sign := slices.Repeat([]float64{1}, n)
	for range n {
		for r := range n {
			sum := 0.0
			for s := range n {
				sum += sign[s] * products[r*n+s]
			}
			sign[r] = math.Copysign(1, sum)
		}
	}
	total := 0.0
	for r := range n {
		for s := range n {
			total += sign[r] * sign[s] * products[r*n+s]
		}
	}
	common := math.Sqrt(max(total/special.Sum(pairs), 0))
	lambda = slices.Clone(sign)
	for r := range lambda {
		lambda[r] *= common
	}
	if common == 0 {
		return lambda, true
	}
	prior := 1 / (likeFactors * likeFactors * common * common)
	for range 200 {
		for r := range n {
			num, den := prior*sign[r]*common, prior
			for s := range n {
				if s != r {
					num += products[r*n+s] * lambda[s] / (noise[r] * noise[s])
					den += pairs[r*n+s] * lambda[s] * lambda[s] / (noise[r] * noise[s])
				}
			}
			lambda[r] = num / den
		}
	}
	return lambda, true
}
