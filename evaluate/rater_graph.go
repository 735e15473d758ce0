package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/internal/words"
)

// RaterGraph describes who voted on what: items and raters are the nodes of the graph, votes its
// edges. It shows, before any training, whether raters can be distinguished.
//
// Raters are compared on the items that they share, directly or through other raters and items. If
// the graph is not connected, raters of different groups are never compared: votes cannot show
// whether the raters of one group are biased or their items differ.
type RaterGraph struct {
	Raters int `json:"raters"` // who cast a vote
	Votes  int `json:"votes"`  // with a rater's name
	// Unnamed is the number of votes without a rater's name.
	Unnamed int `json:"unnamed"`
	// MeanVotes, MedianVotes, LeastVotes and MostVotes are votes per rater.
	MeanVotes   Number `json:"mean_votes"`
	MedianVotes Number `json:"median_votes"`
	LeastVotes  int    `json:"least_votes"`
	MostVotes   int    `json:"most_votes"`
	// Components is the number of groups of raters without a common item: 1 if the
	// graph is connected. Groups are the largest of them.
	Components int          `json:"components"`
	Groups     []RaterGroup `json:"camps"`
	// BiasSE is the expected standard error of a rater's bias, a shift of the logit of the
	// probability of the second class, for a rater with the mean number of votes: before
	// shrinkage, if raters are alike and features explain half of the spread between items.
	// BiasSEMost is that of the rater with the fewest votes. Both are for two classes;
	// with more classes, biases are not modelled.
	BiasSE     Number `json:"lean_se"`
	BiasSEMost Number `json:"lean_se_most"`
	// Constant are the raters with ten votes or more who always vote for the same class,
	// the least likely first.
	Constant []ConstantRater `json:"constant"`
	// Modelled is the number of raters that training may model. Left describes the others; it is nil if
	// there are none or if no rater is modelled; see [RaterGraph.Group].
	Modelled int         `json:"modelled"`
	Left     *LeftRaters `json:"left,omitempty"`
	// Separable reports whether training may model raters: all votes are named, and there is a connected group
	// that is large enough. Reasons explain why not, and note other facts about the raters.
	Separable bool     `json:"apart"`
	Reasons   Messages `json:"reasons"`

	cast   []int   // number of votes of each rater
	group  []int32 // of each rater, see Group
	groups int
}

// ConstantRater is a rater who voted for one class only.
type ConstantRater struct {
	Rater int    `json:"rater"`
	Name  string `json:"name"`
	Votes int    `json:"votes"`
	Class string `json:"class"`
	// Chance is the probability that an exchangeable rater does so on the same items.
	Chance Number `json:"chance"`
}

// EnoughVotes is the mean number of votes per rater that is required to model raters.
const EnoughVotes = 30

// newRaterGraph returns the graph of the raters and items of ds. by is nil if the spread between items is unknown.
func newRaterGraph(ds *dataset.Dataset, votes Votes, by *designer) *RaterGraph {
	g := CountRaters(ds)
	g.expectBias(ds, votes, by)
	g.findConstant(ds, votes)
	g.judge(len(ds.Classes))
	if err := ds.AlikeRaters(); err != nil {
		g.Reasons.add("%v", err)
	}
	return g
}

// CountRaters returns the graph with the counts of votes, raters and groups only. It takes far less
// time than [Check]; Separable, Reasons and the standard errors are not set.
func CountRaters(ds *dataset.Dataset) *RaterGraph {
	g := &RaterGraph{MeanVotes: unknown, MedianVotes: unknown, BiasSE: unknown, BiasSEMost: unknown,
		Groups: []RaterGroup{}, Constant: []ConstantRater{}, Reasons: Messages{},
		Votes: len(ds.Ratings), cast: make([]int, len(ds.Raters))}
	g.Unnamed = max(0, int(math.Round(sum(float64s(ds.Counts))))-g.Votes)
	for _, r := range ds.Ratings {
		g.cast[r.Rater]++
	}
	voted := slices.DeleteFunc(slices.Clone(g.cast), func(n int) bool { return n == 0 })
	if g.Raters = len(voted); g.Raters > 0 {
		slices.Sort(voted)
		g.LeastVotes, g.MostVotes = voted[0], voted[len(voted)-1]
		g.MeanVotes = Number(float64(g.Votes) / float64(g.Raters))
		g.MedianVotes = Number(float64(voted[(len(voted)-1)/2]+voted[len(voted)/2]) / 2)
	}
	g.findGroups(ds)
	return g
}

// raterName returns the name of rater r, or its number if there is none.
func raterName(names []string, r int) string {
	if r < len(names) && names[r] != "" {
		return names[r]
	}
	return fmt.Sprintf("rater %d", r)
}

// expectBias predicts the standard error of a bias. The votes v₁ … v_m of different raters on
// an item with p ~ Beta(α, β) of mean μ and correlation ρ = 1/(α+β+1), each cast with the
// probability σ(logit p + b_r), have at b = 0 the score v − E[p | v] and so the information
//
//	J = μ(1−μ)(1−ρ) (I − ρ/c 11ᵀ),   c = 1 + (m−1)ρ,
//
// about their biases. For a rater r among R who shares items with all others equally often, with Σb = 0,
//
//	Var b_r = (1 − 1/R) / (μ(1−μ)(1−ρ) Σ_j [1 − ρ/c_j (1 − (m_j−1)/(R−1))]),
//
// over the rater's items j. It is exact if all raters voted on all items.
func (g *RaterGraph) expectBias(ds *dataset.Dataset, votes Votes, by *designer) {
	if by == nil || votes.Classes != 2 || g.Raters < 2 {
		return
	}
	mean := by.left.Mean(nil)
	v := mean[0] * mean[1]
	rho := by.trace / (2 * v)
	others := float64(g.Raters - 1)
	information := make([]float64, len(g.cast))
	for _, r := range ds.Ratings {
		m := votes.Total(int(r.Item))
		information[r.Rater] += 1 - rho/(1+(m-1)*rho)*max(0, 1-(m-1)/others)
	}
	se := func(information float64) Number {
		return Number(math.Sqrt((1 - 1/float64(g.Raters)) / (v * (1 - rho) * information)))
	}
	least := math.Inf(1)
	for r, n := range g.cast {
		if n > 0 {
			least = min(least, information[r])
		}
	}
	g.BiasSE, g.BiasSEMost = se(sum(information)/float64(g.Raters)), se(least)
}

// findConstant fills in the raters who voted for one class only.
func (g *RaterGraph) findConstant(ds *dataset.Dataset, votes Votes) {
	class := make([]int32, len(g.cast)) // the rater's only class plus one, −1 if there are several
	chance := make([]float64, len(g.cast))
	for _, r := range ds.Ratings {
		switch {
		case class[r.Rater] == 0:
			class[r.Rater], chance[r.Rater] = r.Class+1, 1
		case class[r.Rater] != r.Class+1:
			class[r.Rater] = -1
		}
		item := votes.Item(int(r.Item))
		chance[r.Rater] *= item[r.Class] / sum(item)
	}
	for r, n := range g.cast {
		if n >= informative && class[r] > 0 {
			g.Constant = append(g.Constant, ConstantRater{Rater: r, Name: raterName(ds.Raters, r), Votes: n,
				Class: ds.Classes[class[r]-1], Chance: Number(chance[r])})
		}
	}
	slices.SortStableFunc(g.Constant, func(a, b ConstantRater) int {
		return cmp.Or(cmp.Compare(a.Chance, b.Chance), cmp.Compare(b.Votes, a.Votes))
	})
}

// judge decides whether raters can be modelled, and adds the reasons.
func (g *RaterGraph) judge(classes int) {
	say := g.Reasons.add
	switch {
	case g.Votes == 0:
		say("votes have no rater names")
		return
	case g.Raters == 1:
		say("there is only one rater, and no other to compare with")
	}
	if g.Unnamed > 0 {
		say("%s of %s have no rater name", words.Thousands(g.Unnamed), words.Plural(g.Votes+g.Unnamed, "vote"))
	}
	if g.MeanVotes < EnoughVotes && g.Modelled == 0 {
		say("raters cast %.1f votes on average: at least %d are required", float64(g.MeanVotes), EnoughVotes)
	}
	if g.Components > 1 && g.Modelled == 0 {
		say("raters fall into %s groups without a common item, such as %s: votes cannot show whether their raters or their items differ",
			words.Thousands(g.Components), g.nameGroups())
	}
	g.Separable = len(g.Reasons) == 0
	if g.Left != nil {
		say("%s: %s", g.Left, g.Left.Names())
	}
	if g.groups > 1 {
		say("raters fall into %s groups without a common item, such as %s, each with a mean bias of 0: "+
			"differences between groups are attributed to the features",
			words.Thousands(g.groups), g.nameGroups())
	}
	if g.Separable && classes > 2 {
		say("with more than two classes, raters are modelled by their guess rates only; biases require two classes")
	}
	// Raters for whom a constant vote has a probability below 5%, after Bonferroni's correction.
	var unlikely []string
	for _, x := range g.Constant {
		if float64(x.Chance)*float64(g.Raters) < 0.05 {
			unlikely = append(unlikely, x.Name)
		}
	}
	if len(unlikely) > 0 {
		say("%s with the same vote on every item, unlikely by chance: %s", words.Plural(len(unlikely), "rater"), words.Few(unlikely))
	}
}
