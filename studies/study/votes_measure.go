package study

import (
	"credence/evaluate"
	"credence/internal/par"
	"credence/internal/rng"
	"credence/mixture"
)

// Held-back votes show the probability p of a class with an error of their own: of M votes, S are for
// it, and S/M may lie in an interval that p is outside of, or the other way round. So the share of
// items with S/M in their interval I is not the coverage. The effect of this error is known if the
// distribution F of p is: under F the interval contains p with the probability F(I), and S/M with
//
//	P(S/M ∈ I) = Σ_{s/M ∈ I} ∫ Bin(s; M, p) dF(p),
//
// a sum of beta-binomial probabilities. The observed share is corrected by their difference,
//
//	Ĉ = mean_j [ F_j(I_j) + 1{S_j/M_j ∈ I_j} − P(S/M_j ∈ I_j) ].
//
// If the distributions are right, E Ĉ = mean_j F_j(I_j) is the coverage exactly, whatever M. Otherwise
// the difference of two errors remains, that of the truth and that of F, which is the smaller the better
// S/M shows whether p ∈ I. How informative S/M is in this respect is, under F,
//
//	informativeness = P(S/M ∈ I | p ∈ I) − P(S/M ∈ I | p ∉ I),
//
// 1 if votes show p exactly. Where it is near 0, as for intervals much narrower than √(p(1−p)/M), Ĉ
// is the level that F claims, right or wrong.

// heldBack compares the intervals of a distribution with the votes that were held back on an item.
type heldBack struct {
	Item            int       `json:"item"`
	Class           int       `json:"class"`
	Mean            float64   `json:"mean"`
	Votes           int       `json:"votes"` // held back: M
	For             int       `json:"for"`   // of them for the class: S
	Lo              []float64 `json:"lo"`    // [paperLevels]
	Hi              []float64 `json:"hi"`
	Naive           []float64 `json:"naive"`     // 1 if the share of votes lies in the interval
	Corrected       []float64 `json:"corrected"` // the term of Ĉ
	All             []float64 `json:"all"`       // the mean of such terms over all classes
	Claimed         []float64 `json:"claimed"`   // probability of the interval under the distribution: F(I)
	Informativeness []float64 `json:"informativeness"`
	PIT             float64   `json:"pit"`   // randomized
	Score           float64   `json:"score"` // −ln P(counts), nats
}

// judgeHeldBack evaluates the distributions of items with all their votes, which no fit has seen.
func judgeHeldBack(s *voteSet, dists []mixture.Reported, items []int, r *rng.Stream) ([]heldBack, error) {
	luck := make([]float64, len(items))
	for j := range luck {
		luck[j] = r.Float64()
	}
	votes := evaluate.NewVotes(s.ds)
	list, errs := make([]heldBack, len(items)), make([]error, len(items))
	par.For(len(items), func(j int) {
		list[j], errs[j] = judgeItem(dists[j], votes.Item(items[j]), s.class, luck[j])
		list[j].Item = items[j]
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// judgeItem evaluates the distribution of an item with counts of its votes; a negative class means the one of
// largest mean.
func judgeItem(dist mixture.Reported, counts []float64, class int, luck float64) (heldBack, error) {
	means := dist.Mean(nil)
	if class < 0 {
		class = 0
		for c, m := range means {
			if m > means[class] {
				class = c
			}
		}
	}
	total := 0.0
	for _, n := range counts {
		total += n
	}
	h := heldBack{Class: class, Mean: means[class], Votes: int(total), For: int(counts[class]),
		All: make([]float64, len(paperLevels))}
	for c := range counts {
		m := dist.Class(c)
		chances := m.Dist.VoteCounts(nil, h.Votes)
		for l, level := range paperLevels {
			in := m.Interval(mixture.TwoSided, level).Interval
			naive, term := corrected(m.Dist, in, chances, int(counts[c]))
			h.All[l] += term / float64(len(counts))
			if c == class {
				h.Claimed = append(h.Claimed, m.Dist.CDF(in.Hi)-m.Dist.CDF(in.Lo))
				h.Lo, h.Hi = append(h.Lo, in.Lo), append(h.Hi, in.Hi)
				h.Naive, h.Corrected = append(h.Naive, naive), append(h.Corrected, term)
			}
		}
		if c == class {
			if err := h.informative(m.Dist, chances); err != nil {
				return h, err
			}
			for s := range h.For {
				h.PIT += chances[s]
			}
			h.PIT = min(1, h.PIT+luck*chances[h.For])
		}
	}
	score, err := dist.Dist.LogCounts(counts)
	h.Score = -score
	return h, err
}

// informative computes how well votes show whether p lies in the intervals.
func (h *heldBack) informative(dist *mixture.Beta, chances []float64) error {
	both, seen := make([]float64, len(h.Lo)), make([]float64, len(h.Lo))
	whole := dist.Dirichlet()
	for s, chance := range chances {
		if chance < 1e-9 {
			continue
		}
		after, err := whole.Update([]float64{float64(s), float64(h.Votes - s)})
		if err != nil {
			return err
		}
		p := after.Marginal(0)
		for l := range h.Lo {
			in := mixture.Interval{Lo: h.Lo[l], Hi: h.Hi[l]}
			if in.Contains(float64(s) / float64(h.Votes)) {
				seen[l] += chance
				both[l] += chance * (p.CDF(in.Hi) - p.CDF(in.Lo))
			}
		}
	}
	for l, in := range h.Claimed {
		informative := 1.0 // the interval is certain to contain p, or certain not to
		if in > 0 && in < 1-1e-9 {
			informative = both[l]/in - (seen[l]-both[l])/(1-in)
		}
		h.Informativeness = append(h.Informativeness, informative)
	}
	return nil
}

// corrected returns whether the share of s votes out of len(chances) − 1 lies in an interval, and the
// term of Ĉ. chances are the probabilities of each number of votes under the distribution.
func corrected(dist *mixture.Beta, in mixture.Interval, chances []float64, s int) (naive, term float64) {
	m := float64(len(chances) - 1)
	inside := func(s int) bool { return in.Contains(float64(s) / m) }
	expected := 0.0
	for k, chance := range chances {
		if inside(k) {
			expected += chance
		}
	}
	if inside(s) {
		naive = 1
	}
	return naive, dist.CDF(in.Hi) - dist.CDF(in.Lo) + naive - expected
}
