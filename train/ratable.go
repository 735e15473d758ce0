package train

import (
	"fmt"
	"math"

	"credence/dataset"
	"credence/internal/words"
)

// ratable returns why a likelihood with raters cannot be fitted to the data, or "".
func ratable(ds *dataset.Dataset) string {
	switch {
	case len(ds.Raters) == 0 || len(ds.Ratings) == 0:
		return noNames
	case len(ds.Raters) == 1:
		return "there is one rater only"
	}
	d := len(ds.Classes)
	named := make([]float32, len(ds.Counts))
	each := make([]int, ds.Len())
	for _, r := range ds.Ratings {
		named[int(r.Item)*d+int(r.Class)]++
		each[r.Item]++
	}
	for k, n := range named {
		if n > ds.Counts[k] || ds.Counts[k] != float32(math.Round(float64(ds.Counts[k]))) {
			return fmt.Sprintf("item %q has %v votes for class %q, %v of them by raters with a name: only whole votes can be told apart",
				ds.Items[k/d], ds.Counts[k], ds.Classes[k%d], n)
		}
	}
	for j := range each {
		if m := ds.VotesOf(j); m > mostRatings {
			return fmt.Sprintf("item %q has %v votes, more than the %d that can be told apart", ds.Items[j], m, mostRatings)
		}
	}
	return ""
}

// doubtful returns why raters are not tried without being asked for, or "".
func doubtful(ds *dataset.Dataset) string {
	votes := 0.0
	for j := range ds.Len() {
		votes += ds.VotesOf(j)
	}
	raters, parts := 0, newParts(ds.Len()+len(ds.Raters))
	seen := make([]bool, len(ds.Raters))
	for _, r := range ds.Ratings {
		if !seen[r.Rater] {
			seen[r.Rater] = true
			raters++
		}
		parts.join(int(r.Item), ds.Len()+int(r.Rater))
	}
	each := float64(len(ds.Ratings)) / float64(raters)
	camps := map[int]bool{}
	for r, s := range seen {
		if s {
			camps[parts.root(ds.Len()+r)] = true
		}
	}
	switch {
	case votes > float64(len(ds.Ratings)):
		return fmt.Sprintf("%s of %s carry no rater's name", words.Count(votes-float64(len(ds.Ratings))), words.Count(votes)+" votes")
	case raters < 2:
		return "there is one rater only"
	case each < raterVotes:
		return fmt.Sprintf("raters voted %.1f times on average, fewer than %d", each, raterVotes)
	case len(camps) > 1:
		return fmt.Sprintf("raters fall into %d groups that share no item: leans of one cannot be compared with those of another", len(camps))
	}
	return ""
}

// parts are disjoint sets.
type parts []int32

func newParts(n int) parts {
	p := make(parts, n)
	for i := range p {
		p[i] = int32(i)
	}
	return p
}

func (p parts) root(i int) int {
	for int(p[i]) != i {
		p[i] = p[p[i]]
		i = int(p[i])
	}
	return i
}

func (p parts) join(i, j int) { p[p.root(i)] = int32(p.root(j)) }
