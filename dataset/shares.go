package dataset

import (
	"fmt"
	"math"
	"slices"

	"credence/record"
)

// judgeShares are inputs next to the votes of judges: for each label the share of the judges that vote for it,
//
//	share_l = (number of judges with label l) / (number of judges with a vote)
//
// standardized as numbers are. An item without votes of judges has the means. With few items, networks learn from shares sooner
// than from each judge.
type judgeShares struct {
	Labels []string  `json:"labels"`
	Mean   []float64 `json:"mean"`
	SD     []float64 `json:"sd"`
}

// width returns the number of inputs; s may be nil.
func (s *judgeShares) width() int {
	if s == nil {
		return 0
	}
	return len(s.Labels)
}

// names returns the names of the inputs.
func (s *judgeShares) names() []string {
	var names []string
	for i := range s.width() {
		names = append(names, "share of judges="+s.Labels[i])
	}
	return names
}

func (s *judgeShares) check() error {
	if s == nil {
		return nil
	}
	if len(s.Labels) == 0 || len(s.Mean) != len(s.Labels) || len(s.SD) != len(s.Labels) {
		return fmt.Errorf("reading a transform: shares of judges: expected a mean and a standard deviation per label, found %d labels, %d means, %d standard deviations",
			len(s.Labels), len(s.Mean), len(s.SD))
	}
	for i := range s.Mean {
		if !(s.SD[i] >= 0) || math.IsNaN(s.Mean[i]) || math.IsInf(s.Mean[i]+s.SD[i], 0) {
			return fmt.Errorf("reading a transform: shares of judges: invalid mean %v or standard deviation %v", s.Mean[i], s.SD[i])
		}
	}
	return nil
}

// judgeVote is where the vote of a judge is in a raw row, and the label of its value.
type judgeVote struct {
	from   int
	labels []int32         // of each code of a category, −1 for none
	values map[float32]int // of each number
}

// judgeVotes returns the votes of judges among features with the given offsets in a row.
func (s *judgeShares) judgeVotes(schema []Feature, offsets []int) []judgeVote {
	var list []judgeVote
	for k, p := range schema {
		if !p.Judge {
			continue
		}
		v := judgeVote{from: offsets[k]}
		if p.Kind == Categorical {
			v.labels = indexAmong(p.Levels, s.Labels, false)
		} else {
			v.values = map[float32]int{}
			for i, l := range s.Labels {
				if x, ok := record.ParseNumber(l, false); ok {
					v.values[float32(x)] = i
				}
			}
		}
		list = append(list, v)
	}
	return list
}

// countShares adds the votes of a row to shares, which is cleared first, and returns their number.
func countShares(votes []judgeVote, raw, shares []float32) (n float32) {
	clear(shares)
	for _, v := range votes {
		x, label := raw[v.from], -1
		if x != x {
			continue
		}
		if v.values == nil {
			if x >= 0 && int(x) < len(v.labels) {
				label = int(v.labels[int(x)])
			}
		} else if i, ok := v.values[x]; ok {
			label = i
		}
		if label >= 0 {
			shares[label]++
			n++
		}
	}
	return n
}

// fill writes the inputs of a raw row.
func (s *judgeShares) fill(votes []judgeVote, raw, dst []float32) {
	n := countShares(votes, raw, dst)
	for i, m := range dst {
		if n > 0 {
			dst[i] = standardize(m/n, s.Mean[i], s.SD[i])
		}
	}
}

// fitShares returns the shares of the judges of ds, fitted to the given items, or nil if there are fewer than two judges.
func fitShares(ds *Dataset, rows []int) (*judgeShares, error) {
	s, offsets, at, judges := &judgeShares{}, make([]int, len(ds.Features)), 0, 0
	for k, p := range ds.Features {
		offsets[k] = at
		at += p.Width()
		if !p.Judge {
			continue
		}
		judges++
		for _, l := range p.Levels {
			if !slices.Contains(s.Labels, l) {
				s.Labels = append(s.Labels, l)
			}
		}
	}
	if judges < 2 {
		return nil, nil
	}
	if len(s.Labels) == 0 { // numbers
		s.Labels = slices.Clone(ds.Classes)
	}
	votes := s.judgeVotes(ds.Features, offsets)
	shares, sum := make([]float32, len(s.Labels)), summary{channels: make([]moments, len(s.Labels))}
	err := eachRow(ds.Rows, rows, func(_ int, raw []float32) error {
		n := countShares(votes, raw, shares)
		if n == 0 {
			return nil
		}
		for i := range shares {
			shares[i] /= n
		}
		return sum.add(shares)
	})
	f := sum.fit(Feature{Kind: Tensor}, TransformOptions{})
	s.Mean, s.SD = f.Mean, f.SD
	return s, err
}
