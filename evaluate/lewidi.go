package evaluate

import (
	"math"

	"credence/internal/special"
	"credence/mixture"
)

// LeWiDi are the scores of the shared tasks on learning with disagreements (LeWiDi, Leonardelli et al. 2025), by the
// definitions of their scorer: each is computed per item, and averaged over items. Scores that need classes in order
// are unknown without them.
type LeWiDi struct {
	// Manhattan is Σ_k |p_k − t_k|, t the shares of the votes, for the mean and for its optimum given the number of
	// votes on the item; Wasserstein that between cumulative shares, in steps of one class.
	Manhattan        Estimate `json:"manhattan"`
	ManhattanPoint   Estimate `json:"manhattan_point"`
	Wasserstein      Estimate `json:"wasserstein"`
	WassersteinPoint Estimate `json:"wasserstein_point"`
	CrossEntropy     Estimate `json:"cross_entropy"` // −Σ_k t_k ln p_k
	// ErrorRate is the share of votes other than the one predicted for their rater, AbsoluteDistance the distance of
	// the vote from the median label predicted for the rater, divided by the number of points of the scale.
	ErrorRate        Estimate `json:"error_rate"`
	AbsoluteDistance Estimate `json:"absolute_distance"`
	// The multilabel forms take each class as a question of its own, and average over classes.
	MultilabelManhattan      Estimate `json:"multilabel_manhattan"`
	MultilabelManhattanPoint Estimate `json:"multilabel_manhattan_point"`
	MultilabelErrorRate      Estimate `json:"multilabel_error_rate"`
}

// ScoreRow is a score for a table: its key, its value and what it is.
type ScoreRow struct {
	Key, Name string
	Estimate
}

// Rows returns the scores in the order of a table.
func (l *LeWiDi) Rows() []ScoreRow {
	return []ScoreRow{
		{"manhattan", "soft Manhattan distance of the mean", l.Manhattan},
		{"manhattan_point", "of its optimum (--point manhattan)", l.ManhattanPoint},
		{"wasserstein", "soft Wasserstein distance of the mean", l.Wasserstein},
		{"wasserstein_point", "of its optimum (--point wasserstein)", l.WassersteinPoint},
		{"cross_entropy", "of the mean, in nats", l.CrossEntropy},
		{"error_rate", "per rater: votes for another label", l.ErrorRate},
		{"absolute_distance", "per rater: from the median label, normalized", l.AbsoluteDistance},
		{"multilabel_manhattan", "each class as a question of its own", l.MultilabelManhattan},
		{"multilabel_manhattan_point", "of its optimum", l.MultilabelManhattanPoint},
		{"multilabel_error_rate", "each class as a question of its own", l.MultilabelErrorRate},
	}
}

// OrderedScores are scores of classes that are the points of a scale.
type OrderedScores struct {
	// RPS is the ranked probability score, the mean over votes of Σ_k (C_k − 1{vote ≤ k})² / (d − 1) with C the
	// cumulative probabilities: 0 to 1.
	RPS Estimate `json:"rps"`
	// Kappa is Cohen's kappa with quadratic weights between the predicted class X and a vote Y, in steps of one class, all
	// items counting equally: 1 − E(X−Y)² / (Var X + Var Y + (EX − EY)²).
	Kappa Estimate `json:"quadratic_kappa"`
}

// manhattan returns Σ |p − t|.
func manhattan(p, t []float64) float64 {
	x := 0.0
	for k := range p {
		x += math.Abs(p[k] - t[k])
	}
	return x
}

// wasserstein returns the sum of the distances between cumulative sums.
func wasserstein(p, t []float64) float64 {
	x, c := 0.0, 0.0
	for k := range p {
		c += p[k] - t[k]
		x += math.Abs(c)
	}
	return x
}

// rankedScore returns the sum over votes of the ranked probability score.
func rankedScore(p, votes []float64) float64 {
	total, below, c, x := sum(votes), 0.0, 0.0, 0.0
	for k := range len(p) - 1 {
		c += p[k]
		below += votes[k]
		x += below*(1-c)*(1-c) + (total-below)*c*c
	}
	return x / float64(len(p)-1)
}

// tallyOrdered adds the scores of ordered classes.
func tallyOrdered(t *tally, s *sample, r *Result) {
	if !s.Ordered {
		return
	}
	r.Ordered = &OrderedScores{}
	t.estimate(&r.Ordered.RPS.Value, &r.Ordered.RPS.SE, s.ratio(t, s.itemsWith(anyVotes), func(j int) (score, votes float64) {
		return rankedScore(s.means(j), s.Votes.Item(j)), s.total[j]
	}))
	tallyKappa(t, s, &r.Ordered.Kappa)
}

// tallyKappa adds quadratic kappa, a function of the moments of predicted class and vote.
func tallyKappa(t *tally, s *sample, e *Estimate) {
	first := t.column(6) // Σ 1, x, y, x², y², xy over items, y averaged over votes
	for _, j := range s.itemsWith(anyVotes) {
		x, y, yy := float64(s.top[j]), 0.0, 0.0
		for c, v := range s.Votes.Item(j) {
			y += v / s.total[j] * float64(c)
			yy += v / s.total[j] * float64(c*c)
		}
		t.addAll(s.unit[j], first, 1, x, y, x*x, yy, x*y)
	}
	t.estimate(&e.Value, &e.SE, func(sums []float64) float64 {
		m := sums[first : first+6]
		n, x, y := m[0], m[1]/m[0], m[2]/m[0]
		chance := m[3]/n + m[4]/n - 2*x*y
		if chance <= 0 {
			return math.NaN()
		}
		return 1 - (m[3]/n+m[4]/n-2*m[5]/n)/chance
	})
}

// tallyLeWiDi adds the scores of the LeWiDi tasks.
func tallyLeWiDi(t *tally, s *sample, r *Result) error {
	l := &LeWiDi{}
	r.LeWiDi = l
	for _, e := range []*Estimate{&l.Wasserstein, &l.WassersteinPoint, &l.AbsoluteDistance, &l.ManhattanPoint, &l.MultilabelManhattanPoint} {
		*e = Estimate{unknown, unknown}
	}
	items := s.itemsWith(anyVotes)
	shares := make([][]float64, s.n)
	for _, j := range items {
		shares[j] = append([]float64(nil), s.Votes.Item(j)...)
		special.Normalize(shares[j])
	}
	mean := func(e *Estimate, of func(j int) float64) {
		t.estimate(&e.Value, &e.SE, s.ratio(t, items, func(j int) (float64, float64) { return of(j), 1 }))
	}
	perClass := 2 / float64(s.d) // a class and all others, averaged over classes
	mean(&l.Manhattan, func(j int) float64 { return manhattan(s.means(j), shares[j]) })
	mean(&l.MultilabelManhattan, func(j int) float64 { return perClass * manhattan(s.means(j), shares[j]) })
	mean(&l.CrossEntropy, func(j int) float64 { return independentLoss(s.means(j), shares[j]) })
	if s.Scale != nil {
		mean(&l.Wasserstein, func(j int) float64 { return wasserstein(s.means(j), shares[j]) })
	}
	if s.mixtures != nil {
		point := func(j int, score mixture.Score) []float64 {
			votes := 0 // fractions of votes have no number
			if m := s.total[j]; m == math.Floor(m) && m <= mixture.MostVotesExpected {
				votes = int(m)
			}
			return s.mixtures[j].Point(nil, score, votes)
		}
		near := make([]float64, s.n)
		forItems(s.ctx, s.n, func(j int) {
			if shares[j] != nil {
				near[j] = manhattan(point(j, mixture.ManhattanScore), shares[j])
			}
		})
		mean(&l.ManhattanPoint, func(j int) float64 { return near[j] })
		mean(&l.MultilabelManhattanPoint, func(j int) float64 { return perClass * near[j] })
		if s.Scale != nil {
			mean(&l.WassersteinPoint, func(j int) float64 { return wasserstein(point(j, mixture.WassersteinScore), shares[j]) })
		}
	}
	as, err := s.newRaterVotes()
	if err != nil {
		return err
	}
	wrong, off := make([]float64, s.n), make([]float64, s.n)
	forItems(s.ctx, s.n, func(j int) { wrong[j], off[j] = s.perRater(as, j) })
	mean(&l.ErrorRate, func(j int) float64 { return wrong[j] })
	mean(&l.MultilabelErrorRate, func(j int) float64 { return perClass * wrong[j] })
	if s.Scale != nil {
		mean(&l.AbsoluteDistance, func(j int) float64 { return off[j] })
	}
	return nil
}

// perRater returns the share of the votes on item j that differ from the label predicted for their rater, and the mean
// distance from the median label predicted for the rater, divided by the number of points of the scale. Raters without
// parameters have the same predictions.
func (s *sample) perRater(as raterVotes, j int) (wrong, off float64) {
	add := func(p []float64, class int, votes float64) {
		if argmax(p) != class {
			wrong += votes / s.total[j]
		}
		if s.Scale != nil {
			points := s.Scale[s.d-1] - s.Scale[0] + 1
			off += votes / s.total[j] * math.Abs(s.Scale[class]-s.Scale[mixture.MedianClass(p)]) / points
		}
	}
	if s.RaterModel == nil {
		for c, n := range s.Votes.Item(j) {
			if n > 0 {
				add(s.means(j), c, n)
			}
		}
		return wrong, off
	}
	chances := map[int32][]float64{}
	for _, r := range s.Ratings[j] {
		p := chances[r.Rater]
		if p == nil {
			p = s.chances(as, j, r)
			chances[r.Rater] = p
		}
		add(p, int(r.Class), 1)
	}
	return wrong, off
}
