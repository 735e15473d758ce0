package train

import (
	"fmt"
	"math"

	"credence/dataset"
	"credence/evaluate"
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

// doubtful returns why raters are not tried without being asked for, or "". It names nobody: the reason
// goes into the model and onto its page.
func doubtful(ds *dataset.Dataset) string {
	g := evaluate.CountRaters(ds)
	switch {
	case g.Unnamed > 0:
		return fmt.Sprintf("%s of %s carry no rater's name", words.Thousands(g.Unnamed), words.Plural(g.Votes+g.Unnamed, "vote"))
	case g.Raters < 2:
		return "there is one rater only"
	case g.MeanVotes < evaluate.EnoughVotes:
		return fmt.Sprintf("raters voted %.1f times on average, fewer than %d", float64(g.MeanVotes), evaluate.EnoughVotes)
	case g.Components > 1:
		return fmt.Sprintf("raters fall into %s groups that share no item: leans of one cannot be compared with those of another",
			words.Thousands(g.Components))
	}
	return ""
}
