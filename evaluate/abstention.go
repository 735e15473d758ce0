package evaluate

// AbstentionPoint is the accuracy that is left if the predictions with the
// widest intervals are withheld.
type AbstentionPoint struct {
	Answered   Number `json:"answered"` // share of items answered
	MaxWidth   Number `json:"max_width"`
	Accuracy   Number `json:"accuracy"`
	AccuracySE Number `json:"accuracy_se"`
}

// tallyAbstention adds the curve of accuracy against the share of items
// answered, from the narrowest intervals to all, in at most steps points.
func tallyAbstention(t *tally, s *sample, r *Result, width []float64, steps int) {
	voted := make([]float64, s.n)
	for j := range voted {
		if s.total[j] > 0 {
			voted[j] = 1
		}
	}
	all := sum(voted)
	of, bins := equalMass(width, voted, steps)
	items, credit := t.column(bins), t.column(bins)
	r.Abstention = make([]AbstentionPoint, bins)
	count, widest := make([]float64, bins), make([]float64, bins)
	for j, b := range of {
		if voted[j] == 0 {
			continue
		}
		t.add(s.unit[j], items+b, 1)
		t.add(s.unit[j], credit+b, MajorityCredit(s.top[j], s.votes.Item(j)))
		count[b]++
		widest[b] = max(widest[b], width[j])
	}
	answered := 0.0
	for b := range r.Abstention {
		p := &r.Abstention[b]
		answered += count[b]
		p.Answered, p.MaxWidth = Number(answered/all), Number(widest[b])
		t.estimate(&p.Accuracy, &p.AccuracySE, func(s []float64) float64 {
			return sum(s[credit:credit+b+1]) / sum(s[items:items+b+1])
		})
	}
}
