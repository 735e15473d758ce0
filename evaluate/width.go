package evaluate

import (
	"cmp"
	"slices"

	"credence/mixture"
)

// WidthGroup is the width of intervals among items whose votes agree, or do
// not: the width of the two-sided interval of each item's predicted class.
type WidthGroup struct {
	// Group is "unanimous" or "mixed".
	Group string `json:"group"`
	// Class is the one that all votes are for, "" for all classes together.
	Class  string   `json:"class"`
	Items  int      `json:"items"`
	Mean   Estimate `json:"mean"`
	Median Estimate `json:"median"`
}

// widths returns, for every item, the width of the two-sided interval of its predicted class at a
// level, and how many intervals lie within the resolution or are [0, 1].
func (s *sample) widths(level float64) (width []float64, atLeast, vacuous int) {
	width = make([]float64, s.n)
	intervals := make([]mixture.ReportedInterval, s.n)
	forItems(s.ctx, s.n, func(j int) {
		intervals[j] = s.answers[j].Reported().Class(s.top[j]).Interval(mixture.TwoSided, level)
	})
	for j, in := range intervals {
		width[j] = in.Length()
		if in.AtLeast {
			atLeast++
		}
		if in.Lo == 0 && in.Hi == 1 {
			vacuous++
		}
	}
	return width, atLeast, vacuous
}

// tallyWidths adds the width by agreement of the votes, over items with two or
// more.
func tallyWidths(t *tally, s *sample, r *Result, width []float64, b Bootstrap) {
	r.Widths = []WidthGroup{{Group: "unanimous"}, {Group: "mixed"}}
	for _, name := range s.names {
		r.Widths = append(r.Widths, WidthGroup{Group: "unanimous", Class: name})
	}
	members := make([][]int, len(r.Widths))
	for j := range s.n {
		if s.total[j] < 2 {
			continue
		}
		votes := s.votes.Item(j)
		if most := argmax(votes); votes[most] == s.total[j] {
			members[0] = append(members[0], j)
			members[2+most] = append(members[2+most], j)
		} else {
			members[1] = append(members[1], j)
		}
	}
	for g := range r.Widths {
		w := &r.Widths[g]
		w.Items = len(members[g])
		w.Median = s.median(members[g], width, b)
		items, total := t.column(1), t.column(1)
		for _, j := range members[g] {
			t.add(s.unit[j], items, 1)
			t.add(s.unit[j], total, width[j])
		}
		t.ratioOf(w.Items, &w.Mean.Value, &w.Mean.SE, total, items)
	}
}

// median returns the median of a value over some items, and its standard error.
func (s *sample) median(items []int, value []float64, b Bootstrap) Estimate {
	if len(items) == 0 {
		return Estimate{unknown, unknown}
	}
	order := slices.Clone(items)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(value[i], value[j]) })
	sorted := make([]float64, len(order))
	for i, j := range order {
		sorted[i] = value[j]
	}
	median := Number(sortedQuantile(sorted, 0.5))
	if s.units < 2 || len(items) < 2 {
		return Estimate{median, unknown}
	}
	draws := make([]float64, b.replicates(s.units))
	b.each(s.units, func(r int, times []int32) {
		n := int32(0)
		for _, j := range order {
			n += times[s.unit[j]]
		}
		draws[r] = float64(unknown)
		seen := int32(0)
		for i, j := range order {
			if seen += times[s.unit[j]]; n > 0 && 2*seen >= n {
				draws[r] = sorted[i]
				break
			}
		}
	})
	return Estimate{median, Number(deviation(draws))}
}
