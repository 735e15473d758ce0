package evaluate

import (
	"math"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/internal/words"
)

// RaterReport is what is known of raters: how they vote compared with the others and, where
// training modelled them, what it learned.
type RaterReport struct {
	// Modelled says that training modelled raters; Reason is why it did or did not, in words.
	Modelled bool   `json:"modelled"`
	Reason   string `json:"reason"`
	// Class is that which leans are towards, of two; empty if leans are not modelled.
	Class string `json:"class,omitempty"`
	// LeanSD is the standard deviation of leans between raters, which leans of few votes are
	// drawn to zero by.
	LeanSD Number `json:"lean_sd"`
	// Raters are in the order in which they were first seen, those who are modelled first.
	Raters []RaterEstimate `json:"raters"`
	// Pseudonymous says that names have been replaced.
	Pseudonymous bool `json:"pseudonymous"`
}

// RaterEstimate is what is known of one rater; what is not modelled is not known.
type RaterEstimate struct {
	Name  string `json:"rater"`
	Votes Number `json:"votes"`
	// Lean is how far the logit of the probability that she says Class is shifted, the mean
	// over all votes being 0. Guess is the share of her votes that have nothing to do with the
	// item. Both are with 95% intervals.
	Lean  IntervalEstimate `json:"lean"`
	Guess IntervalEstimate `json:"guess"`
	// Agreement is the mean share of the other votes on an item that equal the rater's,
	// Expected the same for an exchangeable rater; see [Rater].
	Agreement Number `json:"agreement"`
	Expected  Number `json:"expected"`
	// Flags are [FlagLeans] and [FlagGuesses], or [FlagDiffers] where raters are not modelled.
	Flags []string `json:"flags"`
	// Average is whether the rater is not modelled where others are (see [RaterGraph.Group]): votes count
	// as cast by an average rater, and Lean is 0 with the uncertainty of the prior.
	Average bool `json:"average,omitempty"`
	// Like is the name of the first rater that differs from this one only in case, spaces or Unicode form.
	Like string `json:"like,omitempty"`
}

// Marks returns the flags, and "average" for a rater who is not modelled where others are.
func (x *RaterEstimate) Marks() []string {
	if x.Average {
		return append(slices.Clone(x.Flags), "average")
	}
	return x.Flags
}

// MarkAlike fills in [RaterEstimate].Like.
func (r *RaterReport) MarkAlike() {
	names := words.Each(r.Raters, func(x RaterEstimate) string { return x.Name })
	for i, k := range dataset.RatersAlike(names) {
		if k >= 0 {
			r.Raters[i].Like = names[k]
		}
	}
}

// AddAverage adds a rater who is not modelled where others are.
func (r *RaterReport) AddAverage(name string, votes int) {
	r.average(r.add(name), votes)
}

// add adds a rater of whom nothing is known.
func (r *RaterReport) add(name string) *RaterEstimate {
	r.Raters = append(r.Raters, RaterEstimate{Name: name, Lean: unknownInterval, Guess: unknownInterval, Agreement: unknown, Expected: unknown, Flags: []string{}})
	return &r.Raters[len(r.Raters)-1]
}

// average makes an estimate that of an average rater.
func (r *RaterReport) average(x *RaterEstimate, votes int) {
	x.Average, x.Votes = true, Number(votes)
	if r.LeanSD.Known() {
		x.Lean = IntervalEstimate{Estimate{0, r.LeanSD}, -normal975 * r.LeanSD, normal975 * r.LeanSD}
	}
}

// What raters are flagged for.
const (
	// FlagLeans says that the lean is not 0, after Holm among all raters at 5%.
	FlagLeans = "leans"
	// FlagGuesses says that the 95% interval of guessing lies above 5% of the votes.
	FlagGuesses = "guesses"
	// FlagDiffers is [Rater].Differs.
	FlagDiffers = "differs"
)

// muchGuessing is the share of guesses above which the interval of a rater who is flagged lies.
const muchGuessing = 0.05

// DescribeRaters tells what is known of the raters of ds, and of those that a model knows by
// name: crowd is what it learned of them, nil if it did not model raters. Without ds there is
// no agreement.
func DescribeRaters(ds *dataset.Dataset, crowd *head.Crowd, names []string) *RaterReport {
	r := &RaterReport{LeanSD: unknown, Raters: []RaterEstimate{}}
	at := map[string]int{}
	add := func(name string) int {
		k, ok := at[name]
		if !ok {
			k = len(r.Raters)
			at[name] = k
			r.add(name)
		}
		return k
	}
	if crowd != nil {
		r.Modelled = true
		for i := range crowd.Votes {
			x := &r.Raters[add(raterName(names, i))]
			x.Votes = Number(crowd.Votes[i])
			x.Lean, x.Guess = LeanOf(crowd, i), GuessOf(crowd, i)
		}
		if len(crowd.Lean) > 0 {
			r.LeanSD = Number(crowd.LeanSD)
		}
		r.flag()
	}
	if ds == nil {
		return r
	}
	if crowd != nil && len(crowd.Lean) > 0 && len(ds.Classes) == 2 {
		r.Class = ds.Classes[1]
	}
	r.compare(ds, add)
	return r
}

// compare adds how raters vote compared with the others.
func (r *RaterReport) compare(ds *dataset.Dataset, add func(name string) int) {
	place := make([]int, len(ds.Raters))
	votes := make([]float64, len(ds.Raters))
	for _, v := range ds.Ratings {
		votes[v.Rater]++
	}
	modelled := len(r.Raters)
	for i, n := range votes {
		place[i] = -1
		if n > 0 {
			place[i] = add(raterName(ds.Raters, i))
			x := &r.Raters[place[i]]
			switch {
			case !r.Modelled:
				x.Votes = Number(n)
			case place[i] >= modelled:
				r.average(x, int(n))
			}
		}
	}
	for _, x := range compareRaters(ds.Ratings, NewVotes(ds), ds.Raters) {
		e := &r.Raters[place[x.Rater]]
		e.Agreement, e.Expected = x.Agreement, x.Expected
		if x.Differs && !r.Modelled {
			e.Flags = append(e.Flags, FlagDiffers)
		}
	}
}

// LeanOf returns the lean of a rater with its 95% interval, not known where leans are not
// modelled.
func LeanOf(c *head.Crowd, r int) IntervalEstimate {
	if len(c.Lean) == 0 {
		return unknownInterval
	}
	b, se := c.Lean[r], c.LeanSE[r]
	return IntervalEstimate{Estimate{Number(b), Number(se)}, Number(b - normal975*se), Number(b + normal975*se)}
}

// GuessOf returns the share of guesses of a rater with its 95% interval, which is one of its
// logit.
func GuessOf(c *head.Crowd, r int) IntervalEstimate {
	u, se := c.GuessLogit[r], c.GuessLogitSE[r]
	share := func(logit float64) Number { return Number(1 / (1 + math.Exp(-logit))) }
	g := Number(c.Guess[r])
	return IntervalEstimate{Estimate{g, g * (1 - g) * Number(se)}, min(g, share(u-normal975*se)), max(g, share(u+normal975*se))}
}

// flag marks raters who lean or guess.
func (r *RaterReport) flag() {
	ps := make([]float64, len(r.Raters))
	for i, x := range r.Raters {
		ps[i] = math.NaN()
		if x.Lean.SE > 0 {
			ps[i] = twoSidedNormal(float64(x.Lean.Value / x.Lean.SE))
		}
	}
	for i, p := range holm(ps) {
		x := &r.Raters[i]
		if p < 0.05 {
			x.Flags = append(x.Flags, FlagLeans)
		}
		if x.Guess.Lo > muchGuessing {
			x.Flags = append(x.Flags, FlagGuesses)
		}
	}
}
