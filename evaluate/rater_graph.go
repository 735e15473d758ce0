package evaluate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
	mean := by.left.dist.Mean(nil)
	v := mean[0] * mean[1]
	rho := by.left.trace / (2 * v)
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
		say("%s with the same vote on every item, unlikely by chance: %s",
			words.Plural(len(unlikely), "rater"), words.Few(unlikely))
	}
}

// RaterGroup is a set of raters who share items with each other, directly or through others,
// and with no other raters.
type RaterGroup struct {
	Raters int      `json:"raters"`
	Names  []string `json:"names"` // the first of them
	Items  int      `json:"items"`
	Votes  int      `json:"votes"`
	// Modelled reports whether training may model the raters: see [RaterGraph.Group].
	Modelled bool `json:"modelled"`
}

// raterGroups is a union-find structure that joins raters who share an item.
type raterGroups []int32

// root returns the representative of the group of r.
func (c raterGroups) root(r int32) int32 {
	for c[r] != r {
		c[r] = c[c[r]]
		r = c[r]
	}
	return r
}

// join merges two groups; the representative is the rater with the smallest number.
func (c raterGroups) join(a, b int32) {
	a, b = c.root(a), c.root(b)
	c[max(a, b)] = min(a, b)
}

// LeftRaters are raters that training does not model because shared items connect them with too few
// others: their votes count as those of average raters.
type LeftRaters struct {
	Raters int          `json:"raters"`
	Votes  int          `json:"votes"`
	First  []RaterVotes `json:"first"` // the first of them
}

// RaterVotes is the number of votes that a rater cast.
type RaterVotes struct {
	Name  string `json:"rater"`
	Votes int    `json:"votes"`
}

// String returns a sentence on how many raters are not modelled, and why, without their names.
func (l *LeftRaters) String() string {
	return fmt.Sprintf("%s by %s treated as cast by an average rater: no shared items connect them with the others, "+
		"and a separate group is modelled only if it has at least two raters with %d votes each on average",
		words.Plural(l.Votes, "vote"), words.Plural(l.Raters, "rater"), EnoughVotes)
}

// Names lists the first of the raters with their votes.
func (l *LeftRaters) Names() string {
	return firstOf(words.Each(l.First, func(x RaterVotes) string {
		return fmt.Sprintf("%q (%s)", x.Name, words.Plural(x.Votes, "vote"))
	}), l.Raters)
}

// firstOf joins the first of a number of names.
func firstOf(names []string, all int) string {
	text := strings.Join(names, ", ")
	if more := all - len(names); more > 0 {
		text += fmt.Sprintf(" and %s more", words.Thousands(more))
	}
	return text
}

// Group returns the number, from 0, of the connected group in which training models rater r, or −1 if
// the votes of r count as those of an average rater.
//
// Votes compare raters on the items that they share, so a group that shares none with the others is
// modelled by itself, if it meets the requirement for all raters: two or more, with [EnoughVotes] on
// average. Within a group the mean bias is 0; differences between groups are attributed to the
// features. If such groups have less than half of the votes, no rater is modelled, since their average
// rater would represent a majority that may be different. In that case, and if r did not vote, Group
// returns 0.
func (g *RaterGraph) Group(r int) int {
	if g.group == nil {
		return 0
	}
	return int(g.group[r])
}

// ModelledGroups returns the number of connected groups of raters that are modelled.
func (g *RaterGraph) ModelledGroups() int { return g.groups }

// findGroups fills in the connected components of the graph.
func (g *RaterGraph) findGroups(ds *dataset.Dataset) {
	joined := make(raterGroups, len(g.cast))
	for r := range joined {
		joined[r] = int32(r)
	}
	first := make([]int32, ds.Len()) // the first rater of each item, plus one
	for _, r := range ds.Ratings {
		if first[r.Item] == 0 {
			first[r.Item] = r.Rater + 1
		} else {
			joined.join(first[r.Item]-1, r.Rater)
		}
	}
	at := map[int32]int{}
	group := make([]int32, len(g.cast)) // index in list of the group of each rater who voted
	var list []RaterGroup
	for r, n := range g.cast {
		if n == 0 {
			continue
		}
		root := joined.root(int32(r))
		k, ok := at[root]
		if !ok {
			k = len(list)
			at[root] = k
			list = append(list, RaterGroup{})
		}
		group[r] = int32(k)
		list[k].Raters++
		list[k].Votes += n
		if len(list[k].Names) < listed {
			list[k].Names = append(list[k].Names, raterName(ds.Raters, r))
		}
	}
	for _, r := range first {
		if r > 0 {
			list[at[joined.root(r-1)]].Items++
		}
	}
	g.choose(ds, group, list)
	slices.SortStableFunc(list, func(a, b RaterGroup) int { return cmp.Compare(b.Raters, a.Raters) })
	g.Components = len(list)
	g.Groups = append(g.Groups, list[:min(listed, len(list))]...)
}

// choose selects the groups that are large enough to be modelled; see Group. group is the index in list
// of the group of each rater who voted.
func (g *RaterGraph) choose(ds *dataset.Dataset, group []int32, list []RaterGroup) {
	votes, raters, groups := 0, 0, 0                // of large groups
	number := slices.Repeat([]int32{-1}, len(list)) // index among them
	for k, c := range list {
		if c.Raters >= 2 && c.Votes >= EnoughVotes*c.Raters {
			number[k] = int32(groups)
			votes, raters, groups = votes+c.Votes, raters+c.Raters, groups+1
		}
	}
	if votes == 0 || 2*votes < g.Votes {
		return
	}
	g.Modelled, g.groups = raters, groups
	for k := range list {
		list[k].Modelled = number[k] >= 0
	}
	g.group = make([]int32, len(g.cast))
	left := &LeftRaters{Raters: g.Raters - g.Modelled, Votes: g.Votes - votes}
	for r, n := range g.cast {
		if n == 0 {
			continue
		}
		if g.group[r] = number[group[r]]; g.group[r] < 0 && len(left.First) < listed {
			left.First = append(left.First, RaterVotes{raterName(ds.Raters, r), n})
		}
	}
	if left.Raters > 0 {
		g.Left = left
	}
}

// nameGroups names the two largest groups by a few of their raters, considering modelled groups only if any are.
func (g *RaterGraph) nameGroups() string {
	var list []string
	for _, c := range g.Groups {
		if len(list) == 2 || g.Modelled > 0 && !c.Modelled {
			continue
		}
		list = append(list, "{"+firstOf(c.Names[:min(3, len(c.Names))], c.Raters)+"}")
	}
	return strings.Join(list, " and ")
}
