package calibrate

import (
	"math"

	"credence/head"
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

const (
	// maxRaters is the largest effective number of raters, 1/Σπ_r², for which the diagonal is added.
	maxRaters = 20
	// minRaterVotes is the smallest number of votes of a rater whose regression is fitted.
	minRaterVotes = 20
	// differZ is the number of standard deviations by which raters have to differ.
	differZ = 4
)

// FewRaters reports whether raters with the given numbers of votes are so few that their own errors matter.
func FewRaters(votes []int) bool {
	total, squares := 0.0, 0.0
	for _, n := range votes {
		total += float64(n)
		squares += float64(n) * float64(n)
	}
	return total > 0 && squares*maxRaters >= total*total
}

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

// diagonal computes share = Σπ_r² and own = Σ_r π_r² C_rr, summed over classes; share is 0 if raters are many, do not
// differ, have too few votes, or no three of them overlap.
func (h *HeldOut) diagonal() (share, own float64) {
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
		lambda, ok := oneFactor(x.products, x.pairs, n)
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
	r := regression{off: make([]float64, n), products: make([]float64, n*n), pairs: make([]float64, n*n)}
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
		r.off[k] = max(s.off/s.n-2*s.ee/(s.n*max(s.n-2, 1)), 0) // less the variance of two fitted coefficients
	}
	// Against one regression for all raters, their own ones gain about χ² with 2(n−1) degrees of freedom.
	common := all.yy - all.y*all.y/all.n - slopeOf(&all)*(all.xy-all.x*all.y/all.n)
	freedom := float64(2 * (n - 1))
	r.differ = common-residual > residual/all.n*(freedom+differZ*math.Sqrt(2*freedom))
	return r
}

// oneFactor fits λ to covariances, Σ pairs (products/pairs − λ_r λ_s)² → min, by alternating least squares. It reports
// whether every rater shares items with others, and three raters overlap.
func oneFactor(products, pairs []float64, n int) (lambda []float64, ok bool) {
	total, weight, linked := 0.0, 0.0, 0
	for r := range n {
		own := 0.0
		for s := range n {
			total += products[r*n+s]
			own += pairs[r*n+s]
		}
		if weight += own; own > 0 {
			linked++
		}
	}
	if linked < max(n, 3) {
		return nil, false
	}
	lambda = make([]float64, n)
	for r := range lambda {
		lambda[r] = math.Sqrt(math.Abs(total / weight))
		sign := 0.0
		for s := range n {
			sign += products[r*n+s]
		}
		if sign < 0 {
			lambda[r] = -lambda[r]
		}
	}
	for range 200 {
		for r := range n {
			num, den := 0.0, 1e-12
			for s := range n {
				if s != r {
					num += products[r*n+s] * lambda[s]
					den += pairs[r*n+s] * lambda[s] * lambda[s]
				}
			}
			lambda[r] = num / den
		}
	}
	return lambda, true
}
