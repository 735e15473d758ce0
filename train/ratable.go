package train

import (
	"math"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/words"
)

// ratable returns why a likelihood with raters cannot be fitted to the data, or no message.
func ratable(ds *dataset.Dataset) evaluate.Message {
	switch {
	case len(ds.Raters) == 0 || len(ds.Ratings) == 0:
		return message(NoNames)
	case len(ds.Raters) == 1:
		return message(OneRater)
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
			return message(FractionalVote, ds.Items[k/d], ds.Counts[k], ds.Classes[k%d], n)
		}
	}
	for j := range each {
		if m := ds.VotesOf(j); m > mostRatings {
			return message(ManyVotes, ds.Items[j], m, mostRatings)
		}
	}
	return evaluate.Message{}
}

// doubtful returns why raters are not tried without being asked for, or no message. It names nobody: the
// reason goes into the model and onto its page.
func doubtful(g *evaluate.RaterGraph) evaluate.Message {
	switch {
	case g.Unnamed > 0:
		return message(UnnamedVotes, words.Thousands(g.Unnamed), words.Plural(g.Votes+g.Unnamed, "vote"))
	case g.Raters < 2:
		return message(OneRater)
	case g.Modelled > 0:
		return evaluate.Message{}
	case g.MeanVotes < evaluate.EnoughVotes:
		return message(FewVotes, float64(g.MeanVotes), evaluate.EnoughVotes)
	}
	return message(ApartGroups, words.Thousands(g.Components), evaluate.EnoughVotes)
}

// crew are the raters whom a likelihood models.
type crew struct {
	names   []string
	ratings []dataset.Rating     // their votes, by numbers in names
	groups  []int                // of each, see head.Task; nil if there is one
	left    *evaluate.LeftRaters // whose votes count as those of average raters; nil if nobody's
}

// newCrew chooses the raters of groups that are large enough, or all if none is.
func newCrew(ds *dataset.Dataset, g *evaluate.RaterGraph) crew {
	c := crew{left: g.Left}
	number := make([]int32, len(ds.Raters))
	for r, name := range ds.Raters {
		group := g.Group(r)
		if number[r] = -1; group < 0 {
			continue
		}
		number[r] = int32(len(c.names))
		c.names = append(c.names, name)
		if g.Groups() > 1 {
			c.groups = append(c.groups, group)
		}
	}
	if c.left == nil {
		c.ratings = ds.Ratings
		return c
	}
	for _, r := range ds.Ratings {
		if r.Rater = number[r.Rater]; r.Rater >= 0 {
			c.ratings = append(c.ratings, r)
		}
	}
	return c
}
