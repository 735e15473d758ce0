package evaluate

import (
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/internal/words"
)

// Bounds on the raters among whom groups are searched for.
const (
	groupVotes  = 30 // votes of a rater
	groupRaters = 60 // raters, those with the most votes
	groupCommon = 10 // items that two raters have in common, for their correlation to count
)

// FindSharedErrors searches the named raters of ds for a group that errs together, and returns its test, or nil if there are too few raters
// and votes. A group is found by hierarchical clustering of the raters' correlations on half of the items and tested on the other half, and
// the reverse, so that the search does not affect the test. Judges are left out: they are features. Votes alone do not show whether the group errs together or all others do.
func FindSharedErrors(ds *dataset.Dataset, b Bootstrap) (*SharedErrors, error) {
	x, err := newRatingsTable(ds, false)
	if err != nil {
		return nil, err
	}
	var half [2][]int
	for n, i := range x.voted() {
		half[n%2] = append(half[n%2], i)
	}
	active := x.active()
	if len(active) < 4 {
		return nil, nil
	}
	var found [2]SharedErrors
	var group [2][]bool
	quick := b
	quick.Replicates = 100 // to compare candidates
	for k := range 2 {
		best := math.Inf(-1)
		for _, in := range x.candidates(active, half[k]) {
			if s := x.testGroup(in, half[k], quick); s.Unknown == "" && s.z > best {
				best, group[k] = s.z, in
			}
		}
		if group[k] == nil {
			return nil, nil
		}
		found[k] = x.testGroup(group[k], half[1-k], b)
	}
	s, other := &found[0], &found[1]
	if other.PValue < s.PValue || !s.PValue.Known() {
		s, other = other, s
	}
	switch {
	case !s.PValue.Known():
		return nil, nil
	case !other.PValue.Known():
		s.PValue = min(1, 2*s.PValue)
	default: // the mean of two tests on different items (Stouffer), also where the groups differ by some raters
		s.Items += other.Items
		s.PValue = Number(math.Erfc((s.z+other.z)/2) / 2)
	}
	s.Adjusted = s.PValue
	return s, nil
}

// Warning describes a group that was found among raters.
func (s *SharedErrors) Warning() string {
	return fmt.Sprintf("raters [%s] agree with each other more than their agreement with the others explains (p = %.2g): they or the others err together, "+
		"which makes intervals too narrow; if they are machines, name them with --judges", words.Few(s.Raters), float64(s.PValue))
}

// active returns the raters among whom groups are searched for: those with enough votes.
func (x *ratingsTable) active() []int {
	votes := make([]int, len(x.raters))
	for _, list := range x.items {
		for _, v := range list {
			votes[v.Rater]++
		}
	}
	var active []int
	for r, n := range votes {
		if n >= groupVotes {
			active = append(active, r)
		}
	}
	slices.SortStableFunc(active, func(a, b int) int { return votes[b] - votes[a] })
	return active[:min(len(active), groupRaters)]
}

// candidates returns the groups of average-linkage clustering of the raters by the correlation of their votes, [raters] each: those of two
// raters or more that leave two or more.
func (x *ratingsTable) candidates(active []int, items []int) [][]bool {
	n := len(active)
	at := make(map[int32]int, n)
	all := make([]bool, len(x.raters))
	for k, r := range active {
		at[int32(r)], all[r] = k, true
	}
	means := x.rates(all, items)
	cov, common, variance := make([]float64, n*n), make([]float64, n*n), make([]float64, n)
	for _, i := range items {
		for _, v := range x.items[i] {
			a, ok := at[v.Rater]
			if !ok {
				continue
			}
			for c := range x.d {
				e := residual(v, c, means, x.d)
				variance[a] += e * e
				for _, w := range x.items[i] {
					if b, ok := at[w.Rater]; ok && b != a {
						cov[a*n+b] += e * residual(w, c, means, x.d)
					}
				}
			}
			for _, w := range x.items[i] {
				if b, ok := at[w.Rater]; ok && b != a {
					common[a*n+b]++
				}
			}
		}
	}
	votes := make([]float64, n)
	for _, i := range items {
		for _, v := range x.items[i] {
			if a, ok := at[v.Rater]; ok {
				votes[a]++
			}
		}
	}
	like := make([]float64, n*n)
	for a := range n {
		for b := range n {
			if k := a*n + b; common[k] >= groupCommon && variance[a] > 0 && variance[b] > 0 {
				like[k] = cov[k] / common[k] / math.Sqrt(variance[a]/votes[a]*variance[b]/votes[b])
			}
		}
	}
	clusters := make([][]int, n)
	for a := range clusters {
		clusters[a] = []int{a}
	}
	var list [][]bool
	for len(clusters) > 2 {
		bestA, bestB, best := 0, 1, math.Inf(-1)
		for a := range clusters {
			for b := range clusters[:a] {
				total := 0.0
				for _, i := range clusters[a] {
					for _, j := range clusters[b] {
						total += like[i*n+j]
					}
				}
				if mean := total / float64(len(clusters[a])*len(clusters[b])); mean > best {
					bestA, bestB, best = a, b, mean
				}
			}
		}
		merged := slices.Concat(clusters[bestB], clusters[bestA])
		clusters[bestB] = merged
		clusters = slices.Delete(clusters, bestA, bestA+1)
		if n-len(merged) >= 2 {
			in := make([]bool, len(x.raters))
			for _, k := range merged {
				in[active[k]] = true
			}
			list = append(list, in)
		}
	}
	return list
}
